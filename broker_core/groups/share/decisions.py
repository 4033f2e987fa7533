"""What a heartbeat, a leave, a silence does to a share group: state -> records and an answer. Nothing is changed here.

    1  who is it?           a new member, or a known one at its epoch (or the one before: the answer was lost)
    2  what has it said?    its record is written again when it is new
    3  is the group         other wishes, other topics, or partitions that the share coordinator knows by now:
       another one?         the group epoch grows by one
    4  is the target old?   the assignor runs, unless it has just run (`group.share.assignment.interval.ms`)
    5  the member           is at its target at once
    6  partitions that      the share coordinator is told of them (`group.share.initialize.retry.interval.ms`)
       nobody knows yet

Source: GroupMetadataManager.shareGroupHeartbeat of 4.3, in whose order the records are written.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from broker_core.groups.consumer.assignors import Wish
from broker_core.groups.consumer.checks import HeartbeatRefused
from broker_core.groups.consumer.member import JOIN_EPOCH, LEAVE_EPOCH, Partition, listed
from broker_core.groups.consumer.records import Record
from broker_core.groups.consumer.subscriptions import TopicsPort, metadata_hash, shapes
from broker_core.groups.member import ClientIdentity
from broker_core.groups.share import records as r
from broker_core.groups.share.assignor import simple
from broker_core.groups.share.group import Known, ShareGroup, ShareMember, Topics, joined, without
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode


class Draft:
    """A group as it will be when the records that were decided so far are in the log."""

    def __init__(self, group: ShareGroup) -> None:
        self.group = copy.copy(group)
        self.group.members, self.group.targets = dict(group.members), dict(group.targets)
        self.records: list[Record] = []

    def add(self, *records: Record, now_ms: int = 0) -> None:
        for record in records:
            self.records.append(record)
            self.group.replay(record, now_ms)


class Decision(NamedTuple):
    """`initialize`: what the share coordinator is to be told of when the records are written."""

    records: list[Record]
    response: Any
    initialize: list[Partition]


class Decisions:
    """Decides for all share groups of a coordinator. `config`: the broker's settings."""

    def __init__(self, config: Mapping[str, Any], topics: TopicsPort) -> None:
        self.topics = topics
        self.config = config

    def heartbeat(
        self, group: ShareGroup, request: m.ShareGroupHeartbeatRequest, client: ClientIdentity, now_ms: int,
        assignment_interval_ms: int,
    ) -> Decision:  # fmt: skip
        """A member joins or shows life. Raises HeartbeatRefused."""
        draft = Draft(group)
        before = self._who(group, request)
        names = request.subscribed_topic_names
        member = replace(
            before, client_id=client.client_id, client_host=client.host,
            rack_id=before.rack_id if request.rack_id is None else request.rack_id,
            topics=before.topics if names is None else tuple(sorted(set(names))),
        )  # fmt: skip
        if member != before or member.member_id not in group.members:
            draft.add(r.member_record(group.group_id, member))
        bump = before.topics != member.topics
        bump |= group.assignment_epoch >= group.epoch and self._unassigned(group)
        bumped = self._bump(draft, bump)
        now = draft.group
        if now.epoch > now.assignment_epoch and now_ms >= now.assigned_at_ms + assignment_interval_ms:
            self._assign(draft, now_ms)
        after = self._step(draft, member, bumped)
        kind = m.ShareGroupHeartbeatResponse
        answer = kind(member_id=after.member_id, member_epoch=after.epoch)
        if request.member_epoch == JOIN_EPOCH or names is not None or after.assigned != before.assigned:
            answer.assignment = kind.Assignment(topic_partitions=listed(kind.TopicPartitions, after.assigned))
        return Decision(draft.records, answer, self._initialize(draft, now_ms))

    def _who(self, group: ShareGroup, request: m.ShareGroupHeartbeatRequest) -> ShareMember:
        """Step 1: the member before this request."""
        member_id, epoch, largest = request.member_id, request.member_epoch, int(self.config["group.share.max.size"])
        if len(group.members) >= largest and member_id not in group.members:
            raise HeartbeatRefused(
                ErrorCode.GROUP_MAX_SIZE_REACHED,
                f"The share group has reached its maximum capacity of {largest} members.",
            )
        member = group.members.get(member_id)
        if epoch == JOIN_EPOCH:
            return member or ShareMember(member_id)
        if member is None:
            raise _unknown(group, member_id)
        if epoch > member.epoch:
            raise HeartbeatRefused(
                ErrorCode.FENCED_MEMBER_EPOCH,
                f"The share group member has a greater member epoch ({epoch}) than the one known by the group "
                f"coordinator ({member.epoch}). The member must abandon all its partitions and rejoin.",
            )
        if epoch < member.epoch and epoch != member.previous_epoch:
            raise HeartbeatRefused(
                ErrorCode.FENCED_MEMBER_EPOCH,
                f"The share group member has a smaller member epoch ({epoch}) than the one known by the group "
                f"coordinator ({member.epoch}), and it does not match the previous member epoch "
                f"({member.previous_epoch}). The member must abandon all its partitions and rejoin.",
            )
        return member

    def _unassigned(self, group: ShareGroup) -> bool:
        """Whether partitions of a topic that is read are known by now, and not what is assigned."""
        given: dict[uuid.UUID, set[int]] = {}
        for target in group.targets.values():
            for topic, number in target:
                given.setdefault(topic, set()).add(number)
        subscribed = group.subscribed()
        return any(
            known.name in subscribed and given.get(topic, set()) ^ known.partitions
            for topic, known in group.initialized.items()
        )

    def _bump(self, draft: Draft, bump: bool) -> bool:
        """Step 3."""
        found = metadata_hash(shapes(self.topics, draft.group.subscribed()))
        if not bump and found == draft.group.metadata_hash:
            return False
        draft.add(r.group_record(draft.group.group_id, draft.group.epoch + 1, found))
        return True

    def _assign(self, draft: Draft, now_ms: int) -> None:
        """Step 4: only what differs is written."""
        group = draft.group
        found = shapes(self.topics, group.subscribed())
        ids = {topic: shape.topic_id for topic, shape in found.items()}
        wishes = {
            member.member_id: Wish(
                frozenset(ids[topic] for topic in member.topics if topic in ids), group.target(member.member_id)
            )
            for member in group.members.values()
        }
        there = {(shape.topic_id, number) for shape in found.values() for number in range(shape.partitions)}
        for member_id, target in simple(wishes, sorted(group.assignable() & there)).items():
            if target != group.targets.get(member_id):
                draft.add(r.target_record(group.group_id, member_id, target))
        draft.add(r.target_epoch_record(group.group_id, group.epoch, now_ms))

    def _step(self, draft: Draft, member: ShareMember, wishes_changed: bool) -> ShareMember:
        """Step 5: the member has its target, but for topics that it no longer wants."""
        group = draft.group
        before = group.members.get(member.member_id, member)
        if before.epoch == group.assignment_epoch and not wishes_changed:
            return before
        wanted = {shape.topic_id for shape in shapes(self.topics, member.topics).values()}
        target = frozenset(one for one in group.target(member.member_id) if one[0] in wanted)
        after = replace(before, assigned=target)
        if before.epoch != group.assignment_epoch:
            after = replace(after, epoch=group.assignment_epoch, previous_epoch=before.epoch)
        if after != before:
            draft.add(r.current_record(group.group_id, after))
        return after

    def _initialize(self, draft: Draft, now_ms: int) -> list[Partition]:
        """Step 6: what is neither initialized nor being so for a short while."""
        group = draft.group
        least_ms = int(self.config["offsets.commit.timeout.ms"])
        retry_ms = max(int(self.config["group.share.initialize.retry.interval.ms"]), least_ms)
        fresh = {topic: one for topic, one in group.initializing.items() if now_ms - one.at_ms < retry_ms}
        known = joined(group.initialized, fresh)
        new: Topics = {}
        for name, shape in shapes(self.topics, group.subscribed()).items():
            there = known[shape.topic_id].partitions if shape.topic_id in known else frozenset()
            missing = frozenset(range(shape.partitions)) - there
            if missing:
                new[shape.topic_id] = Known(name, missing, now_ms)
        if not new:
            return []
        deleting = {topic: name for topic, name in group.deleting.items() if topic not in new}
        initializing = joined(group.initializing, new)
        draft.add(r.known_record(group.group_id, initializing, group.initialized, deleting), now_ms=now_ms)
        return sorted((topic, number) for topic, one in new.items() for number in one.partitions)

    # --- what the share coordinator has answered -------------------------------------------------

    def initialized(self, group: ShareGroup, partitions: Iterable[Partition]) -> list[Record]:
        """These are known to the share coordinator now."""
        told = list(partitions)
        names = self.topics.names_by_id()
        new: Topics = {}
        for topic, number in told:
            if topic in names:
                new = joined(new, {topic: Known(names[topic], frozenset([number]))})
        if not new:
            return []
        rest = without(group.initializing, told)
        return [r.known_record(group.group_id, rest, joined(group.initialized, new), group.deleting)]

    def not_initialized(self, group: ShareGroup, partitions: Iterable[Partition]) -> list[Record]:
        """These it could not be told of; a later heartbeat tries again."""
        if not group.initializing:
            return []
        rest = without(group.initializing, partitions)
        return [r.known_record(group.group_id, rest, group.initialized, group.deleting)]

    def topics_deleted(self, group: ShareGroup, topics: Collection[uuid.UUID]) -> list[Record]:
        """Nothing of these topics is there any more; their share coordinators know that by themselves."""
        if not any(topic in one for topic in topics for one in (group.initializing, group.initialized, group.deleting)):
            return []
        initializing = {topic: known for topic, known in group.initializing.items() if topic not in topics}
        initialized = {topic: known for topic, known in group.initialized.items() if topic not in topics}
        deleting = {topic: name for topic, name in group.deleting.items() if topic not in topics}
        return [r.known_record(group.group_id, initializing, initialized, deleting)]

    # --- leaving --------------------------------------------------------------------------------

    def leave(self, group: ShareGroup, member_id: str) -> Decision:
        """A member says goodbye. Raises HeartbeatRefused."""
        if member_id not in group.members:
            raise _unknown(group, member_id)
        answer = m.ShareGroupHeartbeatResponse(member_id=member_id, member_epoch=LEAVE_EPOCH)
        return Decision(self.remove(group, [member_id]), answer, [])

    def remove(self, group: ShareGroup, member_ids: list[str]) -> list[Record]:
        """Members are gone: the next heartbeat of another one computes a target without them."""
        draft = Draft(group)
        for member_id in member_ids:
            draft.add(*r.member_tombstones(group.group_id, member_id))
        self._bump(draft, True)
        return draft.records

    def begin_deletion(self, group: ShareGroup) -> list[Record]:
        """All its share-partitions are to be forgotten."""
        doomed = {topic: one.name for topic, one in joined(group.initialized, group.initializing).items()}
        return [r.known_record(group.group_id, {}, {}, {**group.deleting, **doomed})]


def _unknown(group: ShareGroup, member_id: str) -> HeartbeatRefused:
    message = f"Member {member_id} is not a member of group {group.group_id}."
    return HeartbeatRefused(ErrorCode.UNKNOWN_MEMBER_ID, message)
