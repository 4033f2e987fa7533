"""DescribeShareGroupOffsets (90), AlterShareGroupOffsets (91), DeleteShareGroupOffsets (92): kafka-share-groups.

What a share group has is asked of the share coordinators; how far behind it is, of the leaders:

    lag = high watermark - start offset - records behind it that are done (KIP-1226)

A share-partition that nobody has read yet has no start offset (-1), and no lag. Source: GroupCoordinatorService of 4.3.
"""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext, respond
from broker_core.broker.share_persister import SUMMARIZE, Answers
from broker_core.groups.member import Reply
from broker_core.kernel.names import broker_node
from broker_core.sharing.batches import UNINITIALIZED_START, UNKNOWN_COUNT
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker
    from broker_core.groups.share.offsets import ShareOffsets

Place = tuple[uuid.UUID, int]
NO_LAG = -1
LATEST, LIST_OFFSETS_VERSION = -1, 6


def describe(broker: Broker, context: RequestContext) -> None:
    request = context.body
    state = _Description(context, len(request.groups))
    if not request.groups:
        context.respond(m.DescribeShareGroupOffsetsResponse())
    for number, group in enumerate(request.groups):
        _Group(broker, state, number, group).begin()


def alter(broker: Broker, context: RequestContext) -> None:
    offsets = _offsets(broker, context, m.AlterShareGroupOffsetsResponse)
    if offsets is not None:
        offsets.alter(context.body, Reply(respond, context))


def delete(broker: Broker, context: RequestContext) -> None:
    offsets = _offsets(broker, context, m.DeleteShareGroupOffsetsResponse)
    if offsets is not None:
        offsets.delete(context.body, Reply(respond, context))


def _offsets(broker: Broker, context: RequestContext, form: Any) -> ShareOffsets | None:
    """None where the cluster has no share groups, which is answered with."""
    if broker.share_version() >= 1 and broker.groups.share_offsets is not None:
        return broker.groups.share_offsets
    context.respond(form(error_code=ErrorCode.UNSUPPORTED_VERSION))
    return None


class _Description:
    """An answer whose groups come one by one."""

    def __init__(self, context: RequestContext, count: int) -> None:
        self.context = context
        self.groups: list[Any] = [None] * count

    def came(self, number: int, group: Any) -> None:
        self.groups[number] = group
        if all(one is not None for one in self.groups):
            self.context.respond(m.DescribeShareGroupOffsetsResponse(groups=self.groups))


class _Group:
    """One group that is asked for: first its share coordinators, then the leaders."""

    def __init__(self, broker: Broker, state: _Description, number: int, asked: Any) -> None:
        self.broker = broker
        self.state = state
        self.number = number
        self.asked = asked
        self.unknown: list[Any] = []
        self.summaries: Answers = {}
        self.ends: dict[Place, int] = {}
        self.missing = 0

    def begin(self) -> None:
        kind = m.DescribeShareGroupOffsetsResponse
        places, error = self._places()
        if error is not ErrorCode.NONE:
            group = kind.DescribeShareGroupOffsetsResponseGroup(
                group_id=self.asked.group_id, error_code=error, error_message=error.message
            )
            self.state.came(self.number, group)
        elif not places:
            self._answer()
        else:
            api = SUMMARIZE()
            asked = {one: api.request.PartitionData(partition=one[1], leader_epoch=0) for one in places}
            self.broker.share_persister.ask(api, self.asked.group_id, asked, self._summarized, None)

    def _places(self) -> tuple[list[Place], ErrorCode]:
        """The share-partitions that are meant; all that are known where none is named."""
        broker, kind = self.broker, m.DescribeShareGroupOffsetsResponse
        share = broker.groups.share
        if broker.share_version() < 1 or share is None:
            return [], ErrorCode.UNSUPPORTED_VERSION
        if self.asked.topics is None and not self.asked.group_id:
            return [], ErrorCode.NONE  # a group without a name has nothing
        if self.asked.topics is None:
            error = broker.groups.registry.status(self.asked.group_id)
            group = share.groups.get(self.asked.group_id)
            known = set() if group is None else group.assignable()
            return [one for one in sorted(known) if one[0] in broker.cache.topic_names], error
        places: list[Place] = []
        for topic in self.asked.topics:
            topic_id = broker.cache.topic_ids.get(topic.topic_name)
            if topic_id is not None:
                places += [(topic_id, index) for index in topic.partitions]
                continue
            parts = [
                kind.DescribeShareGroupOffsetsResponsePartition(partition_index=index, start_offset=UNINITIALIZED_START)
                for index in topic.partitions
            ]
            self.unknown.append(
                kind.DescribeShareGroupOffsetsResponseTopic(topic_name=topic.topic_name, partitions=parts)
            )
        return places, ErrorCode.NONE

    def _summarized(self, context: None, answers: Answers) -> None:
        """The start offsets are there: the ends are asked for."""
        self.summaries = answers
        broker = self.broker
        wanted: dict[int, list[Place]] = {}
        for place, part in answers.items():
            leader = broker.cache.leader(broker.cache.topic_names.get(place[0], ""), place[1])
            if _has_lag(part) and leader is not None:
                wanted.setdefault(leader, []).append(place)
        self.missing = len(wanted)
        if not wanted:
            self._answer()
        for leader, places in wanted.items():
            self._ask_end(leader, places)

    def _ask_end(self, leader: int, places: list[Place]) -> None:
        kind, broker = m.ListOffsetsRequest, self.broker
        topics: dict[str, list[Any]] = {}
        for topic_id, index in places:
            one = kind.ListOffsetsPartition(partition_index=index, current_leader_epoch=-1, timestamp=LATEST)
            topics.setdefault(broker.cache.topic_names[topic_id], []).append(one)
        asked = [kind.ListOffsetsTopic(name=name, partitions=parts) for name, parts in topics.items()]
        request = kind(replica_id=-1, isolation_level=0, topics=asked)
        timeout_us = int(broker.config["request.timeout.ms"]) * 1000
        rpc = broker.rpc("share-offsets")
        rpc.call(broker_node(leader), ApiKey.LIST_OFFSETS, LIST_OFFSETS_VERSION, request, timeout_us, self._ended)

    def _ended(self, context: None, response: Any) -> None:
        ids = self.broker.cache.topic_ids
        for topic in () if response is None else response.topics:
            for part in topic.partitions:
                if not part.error_code and topic.name in ids:
                    self.ends[ids[topic.name], part.partition_index] = part.offset
        self.missing -= 1
        if not self.missing:
            self._answer()

    def _answer(self) -> None:
        kind = m.DescribeShareGroupOffsetsResponse
        topics: dict[uuid.UUID, list[Any]] = {}
        for place, part in self.summaries.items():
            topics.setdefault(place[0], []).append(self._part(place, part))
        names = self.broker.cache.topic_names
        found = [
            kind.DescribeShareGroupOffsetsResponseTopic(topic_id=one, topic_name=names.get(one, ""), partitions=parts)
            for one, parts in topics.items()
        ]
        self.state.came(self.number, kind.DescribeShareGroupOffsetsResponseGroup(
            group_id=self.asked.group_id, topics=[*found, *self.unknown]
        ))  # fmt: skip

    def _part(self, place: Place, part: Any) -> Any:
        kind = m.DescribeShareGroupOffsetsResponse.DescribeShareGroupOffsetsResponsePartition
        if part.error_code:
            return kind(partition_index=place[1], start_offset=UNINITIALIZED_START, leader_epoch=0, lag=NO_LAG)
        found = kind(
            partition_index=place[1], start_offset=part.start_offset, leader_epoch=part.leader_epoch, lag=NO_LAG
        )
        if _has_lag(part) and place in self.ends:
            found.lag = self.ends[place] - part.start_offset - part.delivery_complete_count
        elif _has_lag(part):
            error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            return kind(partition_index=place[1], error_code=error, error_message=error.message)
        return found


def _has_lag(part: Any) -> bool:
    counted = part.delivery_complete_count != UNKNOWN_COUNT and part.start_offset != UNINITIALIZED_START
    return not part.error_code and counted
