"""The next step of one member towards its target.

    assigned  = what it has and should have
    revoking  = what it has and should not have       first it must say that it no longer owns these
    pending   = what it should have and has not       of these it gets what nobody holds

| it must give back                        | it is then            | its epoch | and |
|------------------------------------------|-----------------------|-----------|-----|
| something, and still owns it             | UNREVOKED_PARTITIONS  | stays     | it is told what it keeps |
| nothing; all of `pending` is free        | STABLE                | the assignment epoch | it has its target |
| nothing; others hold some of `pending`   | UNRELEASED_PARTITIONS | the assignment epoch | it gets the rest later |

A partition of a topic that the member no longer subscribes counts as one that it should not have, whatever the target
says, which may be older than its wish.
Source: CurrentAssignmentBuilder of 4.3.
"""

from __future__ import annotations

import uuid
from collections.abc import Collection, Container
from dataclasses import replace

from broker_core.groups.consumer.member import ConsumerMember, MemberState, Owned, Partition, Target


def next_step(
    member: ConsumerMember, epoch: int, target: Target, others: Container[Partition],
    owned: Collection[Partition] | None, topics: Container[uuid.UUID], wishes_changed: bool,
) -> ConsumerMember:  # fmt: skip
    """The member after this step, the same one when it has to wait.

    `epoch`, `target`: of the target assignment; `others`: what other members hold; `owned`: what the member says that
    it owns, None when it does not say; `topics`: what it subscribes; `wishes_changed`: that is new.
    """
    if member.state is MemberState.STABLE and member.epoch == epoch:
        return _without_unwanted(member, owned, topics) if wishes_changed else member
    if member.state is MemberState.UNREVOKED_PARTITIONS and _still_owns(member.revoking, owned):
        return _without_unwanted(member, owned, topics) if wishes_changed else member
    return _towards(member, epoch, target, others, owned, topics)


def _towards(
    member: ConsumerMember, epoch: int, target: Target, others: Container[Partition],
    owned: Collection[Partition] | None, topics: Container[uuid.UUID],
) -> ConsumerMember:  # fmt: skip
    wanted = {one for one in target if one[0] in topics}
    assigned = {one: since for one, since in member.assigned.items() if one in wanted}
    revoking = {one: since for one, since in member.assigned.items() if one not in wanted}
    if revoking and _still_owns(revoking, owned):
        return replace(
            member, state=MemberState.UNREVOKED_PARTITIONS, previous_epoch=member.epoch, assigned=assigned,
            revoking=revoking,
        )  # fmt: skip
    missing = wanted - assigned.keys()
    free = {one for one in missing if one not in others}
    assigned.update(dict.fromkeys(sorted(free), epoch))
    state = MemberState.STABLE if free == missing else MemberState.UNRELEASED_PARTITIONS
    return replace(
        member, state=state, epoch=epoch, previous_epoch=member.epoch, assigned=assigned, revoking={}
    )  # fmt: skip


def _without_unwanted(
    member: ConsumerMember, owned: Collection[Partition] | None, topics: Container[uuid.UUID]
) -> ConsumerMember:
    """It has changed its subscription: what it no longer wants it gives back before there is a new target."""
    unwanted = {one: since for one, since in member.assigned.items() if one[0] not in topics}
    if not unwanted:
        return member
    assigned = {one: since for one, since in member.assigned.items() if one not in unwanted}
    revoking = {**member.revoking, **unwanted}
    if _still_owns(revoking, owned):
        return replace(
            member, state=MemberState.UNREVOKED_PARTITIONS, previous_epoch=member.epoch, assigned=assigned,
            revoking=revoking,
        )  # fmt: skip
    return replace(member, previous_epoch=member.epoch, assigned=assigned)


def _still_owns(revoking: Owned, owned: Collection[Partition] | None) -> bool:
    """A member that does not say what it owns may own it all."""
    return owned is None or any(one in revoking for one in owned)
