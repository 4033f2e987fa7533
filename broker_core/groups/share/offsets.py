"""Where a share group begins, set and forgotten by an operator: AlterShareGroupOffsets, DeleteShareGroupOffsets.

    alter    the group is empty --> "initializing" --> InitializeShareGroupState, new start --> "initialized"
    delete   the group is empty --> "deleting"     --> DeleteShareGroupState                --> not known any more

Both go by way of the group's own record, so that a coordinator that takes over in between knows what was begun. A group
that does not exist yet comes into being when its offsets are set.
Source: GroupMetadataManager.alterShareGroupOffsets, sharePartitionsEligibleForOffsetDeletion of 4.3.
"""

from __future__ import annotations

import uuid
from functools import partial
from typing import Any, NamedTuple

from broker_core.groups.consumer.member import Partition
from broker_core.groups.member import Reply
from broker_core.groups.registry import SHARE
from broker_core.groups.share import records as r
from broker_core.groups.share.group import Known, ShareGroup, Topics, joined
from broker_core.groups.share.handler import Outcome, ShareGroups
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


class _Deleting(NamedTuple):
    """A deletion under way: the topics that go, the answers that are there already."""

    group: ShareGroup
    topics: dict[uuid.UUID, str]
    responses: list[Any]
    reply: Reply


class ShareOffsets:
    """Decides about the offsets of the share groups of a coordinator."""

    def __init__(self, groups: ShareGroups) -> None:
        self.groups = groups

    # --- alter ----------------------------------------------------------------------------------

    def alter(self, request: m.AlterShareGroupOffsetsRequest, reply: Reply) -> None:
        """AlterShareGroupOffsets 0; later an answer."""
        self.groups.lanes.run(self.groups.registry.runtime, request.group_id, self._alter, request, reply)

    def _alter(self, request: m.AlterShareGroupOffsetsRequest, reply: Reply) -> Outcome | None:
        kind = m.AlterShareGroupOffsetsResponse
        group = self._empty_group(request.group_id, True, kind, reply)
        if group is None:
            return None
        starts: dict[Partition, int] = {}
        new: Topics = {}
        now_ms = self.groups.node.wall_ms()
        responses = [self._one(topic, starts, new, now_ms) for topic in request.topics]
        answer = kind(responses=responses)
        if not starts:
            reply.send(answer)
            return None
        deleting = {topic: name for topic, name in group.deleting.items() if topic not in new}
        record = r.known_record(group.group_id, joined(group.initializing, new), group.initialized, deleting)
        return Outcome(group, [record], then=partial(self._initialize, starts, (group, answer, reply)))

    def _initialize(
        self, starts: dict[Partition, int], context: tuple[ShareGroup, Any, Reply], written: bool
    ) -> None:
        group, _, reply = context
        if written:
            self.groups.persister.initialize(group.group_id, starts, group.epoch, self._altered, context)
        else:
            reply.send(m.AlterShareGroupOffsetsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _one(self, topic: Any, starts: dict[Partition, int], new: Topics, now_ms: int) -> Any:
        """The answer about a topic, as far as it can be given; what is to be set goes into `starts` and `new`."""
        kind = m.AlterShareGroupOffsetsResponse
        shape = self.groups.topics.shape(topic.topic_name)
        parts = []
        for asked in topic.partitions:
            there = shape is not None and 0 <= asked.partition_index < shape.partitions
            part = kind.AlterShareGroupOffsetsResponsePartition(partition_index=asked.partition_index)
            if not there:
                part.error_code, part.error_message = UNKNOWN, UNKNOWN.message
            elif shape is not None:
                starts[shape.topic_id, asked.partition_index] = asked.start_offset
            parts.append(part)
        if shape is None:
            return kind.AlterShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=parts)
        numbers = frozenset(one.partition_index for one in parts if not one.error_code)
        if numbers:
            new[shape.topic_id] = Known(topic.topic_name, numbers, now_ms)
        return kind.AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name, topic_id=shape.topic_id, partitions=parts
        )

    def _altered(self, context: tuple[ShareGroup, Any, Reply], errors: dict[Partition, ErrorCode]) -> None:
        group, answer, reply = context
        for topic in answer.responses:
            for part in topic.partitions:
                error = errors.get((topic.topic_id, part.partition_index), ErrorCode.NONE)
                if error is not ErrorCode.NONE:
                    part.error_code, part.error_message = error, error.message
        if all(error is ErrorCode.NONE for error in errors.values()):
            self.groups.told(group, errors)
        reply.send(answer)

    # --- delete ---------------------------------------------------------------------------------

    def delete(self, request: m.DeleteShareGroupOffsetsRequest, reply: Reply) -> None:
        """DeleteShareGroupOffsets 0; later an answer."""
        self.groups.lanes.run(self.groups.registry.runtime, request.group_id, self._delete, request, reply)

    def _delete(self, request: m.DeleteShareGroupOffsetsRequest, reply: Reply) -> Outcome | None:
        kind = m.DeleteShareGroupOffsetsResponse
        group = self._empty_group(request.group_id, False, kind, reply)
        if group is None:
            return None
        responses: list[Any] = []
        gone: list[Partition] = []
        topics: dict[uuid.UUID, str] = {}
        for topic in request.topics:
            shape = self.groups.topics.shape(topic.topic_name)
            if shape is not None and (shape.topic_id in group.initialized or shape.topic_id in group.deleting):
                known = group.initialized.get(shape.topic_id)
                numbers = range(shape.partitions) if known is None else sorted(known.partitions)
                gone += [(shape.topic_id, number) for number in numbers]
                topics[shape.topic_id] = topic.topic_name
                continue
            words = UNKNOWN.message if shape is None else "There is no offset information to delete."
            responses.append(kind.DeleteShareGroupOffsetsResponseTopic(
                topic_name=topic.topic_name, error_code=UNKNOWN, error_message=words,
            ))  # fmt: skip
        deletion = _Deleting(group, topics, responses, reply)
        if not gone:
            reply.send(kind(responses=responses))
            return None
        rest = {topic: one for topic, one in group.initialized.items() if topic not in topics}
        record = r.known_record(group.group_id, group.initializing, rest, {**group.deleting, **topics})
        return Outcome(group, [record], then=partial(self._delete_state, gone, deletion))

    def _delete_state(self, gone: list[Partition], deletion: _Deleting, written: bool) -> None:
        if written:
            self.groups.persister.delete(deletion.group.group_id, gone, self._forgotten, deletion)
        else:
            deletion.reply.send(m.DeleteShareGroupOffsetsResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _forgotten(self, deletion: _Deleting, errors: dict[Partition, ErrorCode]) -> None:
        failed = {topic: error for (topic, _), error in errors.items() if error is not ErrorCode.NONE}
        kind = m.DeleteShareGroupOffsetsResponse.DeleteShareGroupOffsetsResponseTopic
        for topic, name in deletion.topics.items():
            error = failed.get(topic, ErrorCode.NONE)
            deletion.responses.append(kind(
                topic_name=name, topic_id=topic, error_code=error, error_message=error.message if error else None
            ))  # fmt: skip
        done = [topic for topic in deletion.topics if topic not in failed]
        runtime, group_id = self.groups.registry.runtime, deletion.group.group_id
        self.groups.lanes.run(runtime, group_id, self._end, deletion, done)

    def _end(self, deletion: _Deleting, done: list[uuid.UUID]) -> Outcome | None:
        group = deletion.group
        if self.groups.groups.get(group.group_id) is not group:  # deleted meanwhile, or another broker's
            deletion.reply.send(m.DeleteShareGroupOffsetsResponse(responses=deletion.responses))
            return None
        rest = {topic: name for topic, name in group.deleting.items() if topic not in done}
        record = r.known_record(group.group_id, group.initializing, group.initialized, rest)
        return Outcome(group, [record], then=partial(_send, deletion))

    def _empty_group(self, group_id: str, new: bool, kind: Any, reply: Reply) -> ShareGroup | None:
        """The group, which must have no members; `new`: it may come into being. None: `kind` has said why not."""
        registry = self.groups.registry
        error = registry.status(group_id)
        words = error.message
        group = self.groups.groups.get(group_id)
        if error is ErrorCode.NONE and group is None and (not new or registry.other_kind(group_id, SHARE)):
            error, words = ErrorCode.GROUP_ID_NOT_FOUND, registry.absent(group_id, SHARE)
        elif error is ErrorCode.NONE and group is not None and group.members:
            error, words = ErrorCode.NON_EMPTY_GROUP, ErrorCode.NON_EMPTY_GROUP.message
        if error is not ErrorCode.NONE:
            reply.send(kind(error_code=error, error_message=words))
            return None
        return group or ShareGroup(group_id)


def _send(deletion: _Deleting, written: bool) -> None:
    """Whether the group's record was written or not: the share coordinator has forgotten them."""
    deletion.reply.send(m.DeleteShareGroupOffsetsResponse(responses=deletion.responses))
