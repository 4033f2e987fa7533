"""A small cluster of group coordinators: real records in real batches, requests and answers as bytes.

`GroupLab` is a world with brokers that hold nothing but a coordinator. They share one `OffsetsTopic`, which
stands for a replicated `__consumer_offsets`: an append is committed after `commit_delay_ms`, or fails with
`failure`. Every request and every answer goes through the wire codec in its version.
"""

from __future__ import annotations

import functools
import struct
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from broker_core.groups.consumer.subscriptions import TopicShape
from broker_core.groups.coordinator import GroupCoordinator
from broker_core.groups.member import ClientIdentity
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.records.validate import COORDINATOR
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.codec import (
    decode_request,
    decode_request_header,
    decode_response,
    decode_response_header,
    encode_request,
    encode_response,
)
from tests.groups.share_persister import Persister

EPOCH_MS = 1_700_000_000_000
CONFIG: dict[str, Any] = {
    "group.initial.rebalance.delay.ms": 3000,
    "group.min.session.timeout.ms": 6000,
    "group.max.session.timeout.ms": 1_800_000,
    "group.max.size": 2_147_483_647,
    "offset.metadata.max.bytes": 4096,
    "offsets.retention.minutes": 10080,
    "offsets.retention.check.interval.ms": 600_000,
    "offsets.topic.num.partitions": 50,
    "group.consumer.session.timeout.ms": 45_000,
    "group.consumer.min.session.timeout.ms": 45_000,
    "group.consumer.max.session.timeout.ms": 60_000,
    "group.consumer.heartbeat.interval.ms": 5000,
    "group.consumer.min.heartbeat.interval.ms": 5000,
    "group.consumer.max.heartbeat.interval.ms": 15_000,
    "group.consumer.assignment.interval.ms": 0,
    "group.consumer.min.assignment.interval.ms": 0,
    "group.consumer.max.assignment.interval.ms": 15_000,
    "group.consumer.regex.refresh.interval.ms": 600_000,
    "group.consumer.max.size": 2_147_483_647,
    "group.consumer.migration.policy": "bidirectional",
    "group.consumer.assignors": "uniform,range",
    "group.share.session.timeout.ms": 45_000,
    "group.share.heartbeat.interval.ms": 5000,
    "group.share.assignment.interval.ms": 0,
    "group.share.initialize.retry.interval.ms": 30_000,
    "group.share.max.size": 200,
    "offsets.commit.timeout.ms": 5000,
}


class Topics:
    """The topics of the cluster; `set` creates one, or makes it larger."""

    def __init__(self) -> None:
        self.version = 0
        self.shapes: dict[str, TopicShape] = {}

    def set(self, name: str, partitions: int) -> None:
        self.version += 1
        self.shapes[name] = TopicShape(uuid.UUID(int=int.from_bytes(name.encode(), "big")), partitions)

    def delete(self, name: str) -> None:
        self.version += 1
        del self.shapes[name]

    def shape(self, topic: str) -> TopicShape | None:
        return self.shapes.get(topic)

    def names(self) -> list[str]:
        return list(self.shapes)

    def names_by_id(self) -> dict[uuid.UUID, str]:
        return {shape.topic_id: name for name, shape in self.shapes.items()}



class OffsetsTopic:
    """`__consumer_offsets` of the whole cluster, and who leads it."""

    def __init__(self, rewritten: bool) -> None:
        self.storage = MemoryStorage()
        self.logs: dict[int, PartitionLog] = {}
        self.leader: str | None = None
        self.topics = Topics()
        self.persister = Persister() if rewritten else None
        self.commit_delay_ms = 0
        self.failure = 0

    def append(self, partition: int, records: bytearray, now_ms: int) -> None:
        name = f"data/__consumer_offsets-{partition}"
        if partition not in self.logs:
            config = LogConfig(cleanup_policy=["compact"])
            self.logs[partition] = PartitionLog(self.storage, name, "__consumer_offsets", partition, config, now_ms)
        self.logs[partition].append_as_leader(records, 0, now_ms, origin=COORDINATOR)

    def files(self) -> list[bytes]:
        """The bytes of all segments."""
        paths = [f"{log.directory}/{'0' * 20}.log" for log in self.logs.values()]
        return [bytes(self.storage.open(path).read(0, 1 << 30)) for path in paths]


class LogPort:
    """The topic as one broker sees it."""

    def __init__(self, node: Node, topic: OffsetsTopic) -> None:
        self.node = node
        self.topic = topic

    def append(self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any, guard: int | None = None) -> None:
        if self.topic.leader != self.node.name:
            done(context, 6)
            return
        if not self.topic.failure:
            self.topic.append(partition, records, self.node.wall_ms())
        self.node.after(self.topic.commit_delay_ms * 1000, done, context, self.topic.failure)

    def read(self, partition: int) -> PartitionLog | None:
        return self.topic.logs.get(partition)

    def partition_count(self) -> int | None:
        return 50


class Broker:
    """A machine with a coordinator."""

    def __init__(self, topic: OffsetsTopic, config: dict[str, Any], node: Node) -> None:
        self.coordinator = GroupCoordinator(node, int(node.name[-1]), config, LogPort(node, topic), topic.topics, topic.persister)

    def start(self) -> None: ...

    def receive(self, source: str, message: Any) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


class Answer:
    """An answer that may not be there yet."""

    def __init__(self) -> None:
        self.body: Any = None

    def __bool__(self) -> bool:
        return self.body is not None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        assert self.body is not None, "not answered yet"
        return getattr(self.body, name)


PARKED = {ApiKey.JOIN_GROUP: "join_group", ApiKey.SYNC_GROUP: "sync_group", ApiKey.OFFSET_COMMIT: "commit_offsets",
          ApiKey.CONSUMER_GROUP_HEARTBEAT: "consumer_heartbeat", ApiKey.SHARE_GROUP_HEARTBEAT: "share_heartbeat"}
IDENTIFIED = {ApiKey.LEAVE_GROUP: "leave_group", ApiKey.OFFSET_FETCH: "fetch_offsets"}
PLAIN = {
    ApiKey.HEARTBEAT: "heartbeat",
    ApiKey.OFFSET_DELETE: "delete_offsets",
    ApiKey.DELETE_GROUPS: "delete_groups",
    ApiKey.LIST_GROUPS: "list_groups",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "describe_consumer_groups",
}


class GroupLab:
    """A world with two coordinators; broker-1 leads all partitions at first. Not `rewritten`: those of 3.9."""

    def __init__(self, rewritten: bool = True, **settings: Any) -> None:
        self.config = {**CONFIG, **{name.replace("_", "."): value for name, value in settings.items()}}
        self.topic = OffsetsTopic(rewritten)
        self.persister = self.topic.persister
        self.world = World(seed=7, epoch_ms=EPOCH_MS, record_level="details")
        for name in ("broker-1", "broker-2"):
            self.world.add_node(name, MemoryStorage(), functools.partial(Broker, self.topic, self.config))
            self.world.start_node(name)
        self.lead("broker-1", 0)

    def coordinator(self, name: str | None = None) -> GroupCoordinator:
        machine: Any = self.world.nodes[name or self.topic.leader or ""].machine
        coordinator: GroupCoordinator = machine.coordinator
        return coordinator

    def lead(self, name: str, epoch: int) -> None:
        """Makes a broker leader of all partitions; the other one resigns."""
        before, self.topic.leader = self.topic.leader, name
        for partition in range(50):
            if before is not None and before != name:
                self.coordinator(before).on_resignation(partition, epoch)
            self.coordinator(name).on_election(partition, epoch)
        self.run(0)

    def run(self, ms: int) -> None:
        self.world.run_until(self.world.now_us + ms * 1000)

    def journal(self, code: str) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == code]

    # --- requests ---------------------------------------------------------------------------------

    def send(
        self, key: ApiKey, version: int, request: Any, client: str = "consumer", broker: str | None = None
    ) -> Answer:
        """Sends a request as bytes; the answer comes back as bytes, now or later."""
        frame = b"".join(map(bytes, encode_request(key, version, 1, client, request)))[4:]
        header = decode_request_header(frame)
        body = decode_request(key, version, header.body)
        identity = ClientIdentity(client, "/127.0.0.1", version)
        coordinator, answer = self.coordinator(broker), Answer()
        context = (key, version, answer)
        if key in PARKED:
            getattr(coordinator, PARKED[key])(body, identity, self._answered, context)
        elif key in IDENTIFIED:
            self._answered(context, getattr(coordinator, IDENTIFIED[key])(body, identity))
        elif key == ApiKey.DESCRIBE_GROUPS:
            self._answered(context, coordinator.describe_groups(body, version))
        else:
            self._answered(context, getattr(coordinator, PLAIN[key])(body))
        return answer

    def _answered(self, context: tuple[ApiKey, int, Answer], response: Any) -> None:
        key, version, answer = context
        assert answer.body is None, "answered twice"
        frame = b"".join(map(bytes, encode_response(key, version, 1, response)))[4:]
        answer.body = decode_response(key, version, decode_response_header(key, version, frame).body)

    def join(
        self,
        member: str = "",
        group: str = "g",
        version: int = 5,
        client: str = "consumer",
        instance: str | None = None,
        protocols: dict[str, bytes] | None = None,
        session_ms: int = 10_000,
        rebalance_ms: int = 60_000,
        kind: str = "consumer",
    ) -> Answer:
        chosen = protocols if protocols is not None else {"range": subscription("orders")}
        request = m.JoinGroupRequest(
            group_id=group,
            session_timeout=session_ms,
            rebalance_timeout=rebalance_ms,
            member_id=member,
            group_instance_id=instance,
            protocol_type=kind,
            protocols=[m.JoinGroupRequest.JoinGroupRequestProtocol(name=n, metadata=b) for n, b in chosen.items()],
        )
        return self.send(ApiKey.JOIN_GROUP, version, request, client)

    def sync(
        self,
        member: str,
        generation: int,
        shares: dict[str, bytes] | None = None,
        group: str = "g",
        version: int = 3,
        instance: str | None = None,
        protocol: str | None = "range",
        kind: str | None = "consumer",
    ) -> Answer:
        assignments = [
            m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=one, assignment=share)
            for one, share in (shares or {}).items()
        ]
        request = m.SyncGroupRequest(
            group_id=group,
            generation_id=generation,
            member_id=member,
            group_instance_id=instance,
            protocol_type=kind,
            protocol_name=protocol,
            assignments=assignments,
        )
        return self.send(ApiKey.SYNC_GROUP, version, request)

    def heartbeat(self, member: str, generation: int, group: str = "g", instance: str | None = None) -> int:
        return int(self.heartbeat_answer(member, generation, group, instance).error_code)

    def heartbeat_answer(self, member: str, generation: int, group: str = "g", instance: str | None = None) -> Answer:
        request = m.HeartbeatRequest(
            group_id=group, generation_id=generation, member_id=member, group_instance_id=instance
        )
        return self.send(ApiKey.HEARTBEAT, 3, request)

    def commit(
        self,
        offsets: dict[tuple[str, int], int],
        member: str = "",
        generation: int = -1,
        group: str = "g",
        metadata: str | None = "",
        version: int = 7,
        instance: str | None = None,
        **more: Any,
    ) -> Answer:
        request = m.OffsetCommitRequest(
            group_id=group,
            generation_id_or_member_epoch=generation,
            member_id=member,
            group_instance_id=instance,
            topics=[
                m.OffsetCommitRequest.OffsetCommitRequestTopic(
                    name=topic,
                    partitions=[
                        m.OffsetCommitRequest.OffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=offset, committed_metadata=metadata
                        )
                    ],
                )
                for (topic, partition), offset in offsets.items()
            ],
            **more,
        )
        return self.send(ApiKey.OFFSET_COMMIT, version, request)

    def committed(self, group: str = "g", stable: bool = False) -> dict[tuple[str, int], tuple[int, str | None]]:
        """All offsets of a group with their metadata (OffsetFetch 7, topics null)."""
        request = m.OffsetFetchRequest(group_id=group, topics=None, require_stable=stable)
        answer = self.send(ApiKey.OFFSET_FETCH, 7, request)
        assert answer.error_code == 0
        return {
            (topic.name, one.partition_index): (one.committed_offset, one.metadata)
            for topic in answer.topics
            for one in topic.partitions
        }

    def describe(self, group: str = "g", version: int = 5) -> Any:
        return self.send(ApiKey.DESCRIBE_GROUPS, version, m.DescribeGroupsRequest(groups=[group])).groups[0]

    # --- groups that are there already ------------------------------------------------------------

    def new_member_id(self, **settings: Any) -> str:
        answer = self.join(**settings)
        assert answer.error_code == 79
        return str(answer.member_id)

    def stable_group(self, count: int = 1, **settings: Any) -> tuple[list[str], int]:
        """A group in Stable with `count` dynamic members (leader first) and its generation."""
        ids = [self.new_member_id(**settings) for _ in range(count)]
        joins = [self.join(one, **settings) for one in ids]
        self.run(3000)
        while not joins[0]:
            self.run(3000)
        self.settle(joins, settings.get("group", "g"))
        return ids, joins[0].generation_id

    def settle(self, joins: list[Answer], group: str = "g") -> list[Answer]:
        """All whose joins are answered sync; member number i gets partition i of orders."""
        shares = {join.member_id: assignment("orders", [number]) for number, join in enumerate(joins)}
        syncs = [
            self.sync(join.member_id, join.generation_id, shares if join.leader == join.member_id else None, group)
            for join in joins
        ]
        self.run(self.topic.commit_delay_ms)
        assert [sync.error_code for sync in syncs] == [0] * len(syncs)
        return syncs


def subscription(*topics: str) -> bytes:
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", 0, len(topics)) + names + struct.pack(">i", -1)


def assignment(topic: str, partitions: list[int]) -> bytes:
    name = struct.pack(">h", len(topic)) + topic.encode()
    numbers = struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
    return struct.pack(">hi", 0, 1) + name + numbers + struct.pack(">i", -1)


@pytest.fixture
def lab() -> GroupLab:
    return GroupLab()


@pytest.fixture
def make_lab() -> type[GroupLab]:
    """For labs with other settings: `make_lab(group_max_size=2)`."""
    return GroupLab
