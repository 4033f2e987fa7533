"""What a heartbeat, a leave, a silence does to a group: state -> records and an answer. Nothing is changed here.

A heartbeat goes through five steps, each of which may add records; the next one sees what they say (`Draft`):

    1  who is it?      a new member, a known one, a static one that is back under another id
    2  what has it     subscription, timeout, assignor: its record is written again when they are new
       said?
    3  is the group    other wishes, or other topics (their hash): the group epoch grows by one
       another one?
    4  is the target   assignment epoch < group epoch: the assignor runs, unless it has just run
       too old?        (`group.consumer.assignment.interval.ms`, KIP-1263)
    5  its next step   `reconciliation`

Source: GroupMetadataManager.consumerGroupHeartbeat of 4.3, in whose order the records are written.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from broker_core.groups.consumer import records as r
from broker_core.groups.consumer.assignors import ASSIGNORS, Wish, offered
from broker_core.groups.consumer.checks import HeartbeatRefused, check_epoch, member_of, static_member_of
from broker_core.groups.consumer.conversion import allows_downgrade, downgraded, may_downgrade
from broker_core.groups.consumer.group import ConsumerGroup, Resolved
from broker_core.groups.consumer.member import (
    ClassicProtocols,
    JOIN_EPOCH,
    LEAVE_STATIC_EPOCH,
    NO_TIMEOUT,
    ConsumerMember,
    Partition,
    flattened,
    listed,
)
from broker_core.coordinators.pattern import InvalidPattern
from broker_core.groups.consumer.reconciliation import next_step
from broker_core.groups.consumer.records import Record
from broker_core.groups.consumer.subscriptions import TopicsPort, compiled, matching, metadata_hash, shapes
from broker_core.groups.group import CONSUMER_PROTOCOL_TYPE, Group
from broker_core.groups.member import ClientIdentity
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

REFRESH_MS = 10_000
"""Patterns are not resolved more often than that."""


class Draft:
    """A group as it will be when the records that were decided so far are in the log."""

    def __init__(self, group: ConsumerGroup) -> None:
        self.group = group
        self.records: list[Record] = []

    def add(self, *records: Record) -> None:
        """The first one makes a copy: the group itself changes only when they are written."""
        if not self.records and records:
            self.group = copy.copy(self.group)
            for name in ("members", "static_members", "targets", "patterns"):
                setattr(self.group, name, dict(getattr(self.group, name)))
        for record in records:
            self.records.append(record)
            self.group.replay(record)


class Decision(NamedTuple):
    """`refresh`: patterns of the group should be resolved; `into`: the classic group that it becomes."""

    records: list[Record]
    response: Any
    refresh: bool = False
    into: Group | None = None


class Joins(NamedTuple):
    """A JoinGroup of the classic protocol, as far as it concerns such a group. `unknown`: it came without a member
    id; `owned`: what the member says that it has."""

    member_id: str
    instance_id: str | None
    unknown: bool
    client: ClientIdentity
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[tuple[str, bytes], ...]
    topics: tuple[str, ...]
    rack_id: str | None
    owned: list[Partition]


class Decisions:
    """Decides for all groups of a coordinator. `config`: the broker's settings."""

    def __init__(self, config: Mapping[str, Any], topics: TopicsPort) -> None:
        self.topics = topics
        self.config = config
        self.assignors = offered(config["group.consumer.assignors"])

    # --- heartbeat ------------------------------------------------------------------------------

    def heartbeat(
        self, group: ConsumerGroup, request: m.ConsumerGroupHeartbeatRequest, client: ClientIdentity, now_ms: int,
        assignment_interval_ms: int,
    ) -> Decision:  # fmt: skip
        """A member joins or shows life. Raises HeartbeatRefused."""
        draft = Draft(group)
        told = request.topic_partitions
        owned = None if told is None else flattened(told)
        before = self._who(draft, request, owned)
        member = _told(before, request, client)
        self._check_pattern(member)
        if member != before:
            draft.add(r.member_record(group.group_id, member))
        resolved_too = self._patterns(draft, before, member)
        self._bump(draft, before.topics != member.topics or resolved_too)
        self._assign_in_time(draft, now_ms, assignment_interval_ms)
        after = self._step(draft, member, owned, not before.same_subscription(member))
        full = request.rebalance_timeout != NO_TIMEOUT and owned is not None and (
            request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        )  # fmt: skip
        shown = full or after.assigned.keys() != before.assigned.keys()
        kind = m.ConsumerGroupHeartbeatResponse
        answer = kind(member_id=after.member_id, member_epoch=after.epoch)
        if shown:
            answer.assignment = kind.Assignment(topic_partitions=listed(kind.TopicPartitions, after.assigned))
        return Decision(draft.records, answer, self._must_refresh(draft.group, now_ms))

    def join(self, group: ConsumerGroup, joins: Joins, now_ms: int, assignment_interval_ms: int) -> Decision:
        """The same for a member of the classic protocol. One that takes the place of the last static member of the
        newer protocol makes the group a classic one."""
        draft = Draft(group)
        replaced = group.static_members.get(joins.instance_id or "")
        before = self._who_joins(draft, joins, replaced)
        member = replace(
            before, instance_id=joins.instance_id or before.instance_id, rack_id=joins.rack_id or before.rack_id,
            client_id=joins.client.client_id, client_host=joins.client.host, topics=joins.topics, pattern="",
            rebalance_timeout_ms=joins.rebalance_timeout_ms,
            classic=ClassicProtocols(joins.session_timeout_ms, joins.protocols),
        )  # fmt: skip
        if member != before:
            draft.add(r.member_record(group.group_id, member))
        changed = not before.same_subscription(member)
        self._bump(draft, self._patterns(draft, before, member) or before.topics != member.topics)
        into = None
        if replaced is not None and replaced not in draft.group.members and self._only(group, replaced):
            after = member if changed else self._step(draft, member, joins.owned, False)
            into = downgraded(draft.group, (), self.topics, now_ms)
        else:
            self._assign_in_time(draft, now_ms, assignment_interval_ms)
            after = self._step(draft, member, joins.owned, changed)
        answer = m.JoinGroupResponse(
            generation_id=after.epoch, protocol_type=CONSUMER_PROTOCOL_TYPE, protocol_name=joins.protocols[0][0],
            leader="", member_id=after.member_id, members=[],
        )  # fmt: skip
        return Decision(draft.records, answer, self._must_refresh(draft.group, now_ms), into)

    def _who_joins(self, draft: Draft, joins: Joins, replaced: str | None) -> ConsumerMember:
        """A static member that comes without an id replaces its old life, whichever protocol that spoke."""
        group = draft.group
        if replaced is not None and joins.unknown and joins.instance_id is not None:
            return self._replace(draft, group.members[replaced], joins.member_id)
        return group.members.get(joins.member_id) or ConsumerMember(joins.member_id)

    def _only(self, group: ConsumerGroup, replaced: str) -> bool:
        """Whether a member is the only one that speaks the newer protocol, and the group may follow the others."""
        others = [member for member in group.members.values() if member.member_id != replaced]
        return (
            group.members[replaced].classic is None and all(one.classic is not None for one in others)
            and allows_downgrade(self.config) and len(group.members) <= int(self.config["group.max.size"])
        )  # fmt: skip

    def _who(
        self, draft: Draft, request: m.ConsumerGroupHeartbeatRequest, owned: list[Partition] | None
    ) -> ConsumerMember:
        """Step 1: the member before this request; a new one has epoch 0 and nothing else."""
        group, member_id, instance_id = draft.group, request.member_id, request.instance_id
        joins, largest = request.member_epoch == JOIN_EPOCH, int(self.config["group.consumer.max.size"])
        if len(group.members) >= largest and member_id not in group.members:
            raise HeartbeatRefused(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The consumer group has reached its maximum capacity of {largest} members.",
            )
        if instance_id is not None and not joins:
            member = static_member_of(group, member_id, instance_id)
        elif instance_id is not None and instance_id in group.static_members:
            return self._replace_static(draft, member_id, instance_id)
        else:
            member = group.members.get(member_id) or ConsumerMember(member_id) if joins else member_of(group, member_id)
        check_epoch(member, request.member_epoch, owned)
        return member

    def _replace_static(self, draft: Draft, member_id: str, instance_id: str) -> ConsumerMember:
        """The instance is back: it takes over what it had under its old id, if that has said goodbye for now."""
        group = draft.group
        old = group.members[group.static_members[instance_id]]
        if old.classic is None and old.epoch != LEAVE_STATIC_EPOCH:
            raise HeartbeatRefused(
                ErrorCode.UNRELEASED_INSTANCE_ID,
                f"Static member {member_id} with instance id {instance_id} cannot join the group because the instance "
                f"id is owned by {old.member_id} member.",
            )
        return self._replace(draft, old, member_id)

    def _replace(self, draft: Draft, old: ConsumerMember, member_id: str) -> ConsumerMember:
        group = draft.group
        new = replace(old, member_id=member_id, epoch=0, previous_epoch=0)
        target = group.target(old.member_id)
        draft.add(
            *r.member_tombstones(group.group_id, old.member_id), r.member_record(group.group_id, new),
            r.target_record(group.group_id, member_id, target), r.current_record(group.group_id, new),
        )  # fmt: skip
        return new

    # --- the group epoch ------------------------------------------------------------------------

    def _bump(self, draft: Draft, bump: bool) -> None:
        """Step 3: the group epoch grows when wishes or topics have changed."""
        found = metadata_hash(shapes(self.topics, draft.group.subscribed()))
        if bump or found != draft.group.metadata_hash:
            draft.add(r.group_record(draft.group.group_id, draft.group.epoch + 1, found))

    # --- patterns -------------------------------------------------------------------------------

    def _check_pattern(self, member: ConsumerMember) -> None:
        try:
            if member.pattern:
                compiled(member.pattern)
        except InvalidPattern as error:
            raise HeartbeatRefused(
                ErrorCode.INVALID_REGULAR_EXPRESSION,
                f"SubscribedTopicRegex `{member.pattern}` is not a valid regular expression: {error}.",
            ) from None

    def _patterns(self, draft: Draft, before: ConsumerMember, member: ConsumerMember) -> bool:
        """Forgets a pattern that nobody has any more; whether the member has another one that is resolved already."""
        if before.pattern == member.pattern:
            return False
        self._forget_patterns(draft)
        return member.pattern in draft.group.patterns

    def _forget_patterns(self, draft: Draft) -> None:
        wanted = {member.pattern for member in draft.group.members.values()}
        for pattern in [one for one in draft.group.patterns if one not in wanted]:
            draft.add(Record(r.PATTERN, draft.group.group_id, pattern, None))

    def _must_refresh(self, group: ConsumerGroup, now_ms: int) -> bool:
        """Somebody's pattern is new, the cluster's topics have changed, or it is time again; but not all the time."""
        wanted = {member.pattern for member in group.members.values()} - {""}
        if not wanted:
            return False
        if any(one not in group.patterns for one in wanted):
            return True
        last = max(group.patterns[one].at_ms for one in wanted)
        stale = any(group.patterns[one].version != self.topics.version for one in wanted)
        longest_ms = int(self.config["group.consumer.regex.refresh.interval.ms"])
        return now_ms - last >= (REFRESH_MS if stale else longest_ms)

    def refresh(self, group: ConsumerGroup, now_ms: int) -> Decision:
        """Resolves the group's patterns; what they match is written when it is another set than before. Then there is
        something to share out anew, though others may have subscribed all of it by name."""
        draft, other = Draft(group), False
        for pattern in sorted({member.pattern for member in group.members.values()} - {""}):
            found = Resolved(matching(self.topics, pattern), self.topics.version, now_ms)
            known = group.patterns.get(pattern)
            other = other or found.topics != (known.topics if known is not None else ())
            if known is None or known.topics != found.topics:
                draft.add(r.pattern_record(group.group_id, pattern, *found))
            else:
                group.patterns[pattern] = found  # when it was looked at is nobody's business but this coordinator's
        if other:
            self._bump(draft, True)
        return Decision(draft.records, None)

    # --- the target -----------------------------------------------------------------------------

    def _assign_in_time(self, draft: Draft, now_ms: int, interval_ms: int) -> None:
        """Step 4, unless the last target is too young."""
        group = draft.group
        if group.epoch > group.assignment_epoch and now_ms >= group.assigned_at_ms + interval_ms:
            self._assign(draft, now_ms)

    def _assign(self, draft: Draft, now_ms: int) -> None:
        """Step 4: who should have what; only what differs is written."""
        group = draft.group
        name = group.assignor(self.assignors[0])
        found = shapes(self.topics, group.subscribed())
        ids = {topic: shape.topic_id for topic, shape in found.items()}
        wishes = {
            member.member_id: Wish(
                frozenset(ids[topic] for topic in group.topics_of(member) if topic in ids),
                group.target(member.member_id), member.instance_id,
            )
            for member in group.members.values()
        }  # fmt: skip
        assignor = ASSIGNORS[name if name in ASSIGNORS else self.assignors[0]]
        targets = assignor(wishes, {shape.topic_id: shape.partitions for shape in found.values()})
        for member_id, target in targets.items():
            if target != group.targets.get(member_id):
                draft.add(r.target_record(group.group_id, member_id, target))
        draft.add(r.target_epoch_record(group.group_id, group.epoch, now_ms))

    def _step(
        self, draft: Draft, member: ConsumerMember, owned: list[Partition] | None, wishes_changed: bool
    ) -> ConsumerMember:
        """Step 5: the member's way to its target."""
        group = draft.group
        member = group.members.get(member.member_id, member)
        if member.is_reconciled_to(group.assignment_epoch) and not wishes_changed:
            return member
        holders = group.holders()
        for one in member.held:
            holders.pop(one, None)
        topics = {shape.topic_id for shape in shapes(self.topics, group.topics_of(member)).values()}
        after = next_step(
            member, group.assignment_epoch, group.target(member.member_id), holders, owned, topics, wishes_changed
        )
        if after != member:
            draft.add(r.current_record(group.group_id, after))
        return after

    # --- leaving --------------------------------------------------------------------------------

    def leave(self, group: ConsumerGroup, request: m.ConsumerGroupHeartbeatRequest, now_ms: int) -> Decision:
        """A member says goodbye, for good or (epoch -2, static) for now. Raises HeartbeatRefused."""
        if request.instance_id is None:
            member = member_of(group, request.member_id)
        else:
            member = static_member_of(group, request.member_id, request.instance_id)
        answer = m.ConsumerGroupHeartbeatResponse(member_id=request.member_id, member_epoch=request.member_epoch)
        if request.member_epoch == LEAVE_STATIC_EPOCH:
            away = replace(
                member, epoch=LEAVE_STATIC_EPOCH, assigned=dict.fromkeys(member.assigned, 0), revoking={}
            )  # fmt: skip
            return Decision([r.current_record(group.group_id, away)], answer)
        return self.remove(group, [member.member_id], now_ms)._replace(response=answer)

    def remove(self, group: ConsumerGroup, member_ids: list[str], now_ms: int) -> Decision:
        """Members are gone: the next heartbeat of another one computes a target without them. Are all that are left
        of the classic protocol, the group is one of them again."""
        if may_downgrade(group, member_ids, self.config):
            return Decision([], None, into=downgraded(group, member_ids, self.topics, now_ms))
        draft = Draft(group)
        for member_id in member_ids:
            draft.add(*r.member_tombstones(group.group_id, member_id))
        self._forget_patterns(draft)
        self._bump(draft, True)
        return Decision(draft.records, None)


def _told(member: ConsumerMember, request: m.ConsumerGroupHeartbeatRequest, client: ClientIdentity) -> ConsumerMember:
    """Step 2: with what the request says; what it leaves out has not changed."""
    names, pattern = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout = request.rebalance_timeout
    return replace(
        member, client_id=client.client_id, client_host=client.host,
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=member.rebalance_timeout_ms if timeout == NO_TIMEOUT else timeout,
        assignor=member.assignor if request.server_assignor is None else request.server_assignor,
        topics=member.topics if names is None else tuple(sorted(set(names))),
        pattern=member.pattern if pattern is None else pattern, classic=None,
    )  # fmt: skip
