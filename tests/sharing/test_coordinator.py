"""The share coordinator alone: what it wrote is what the next one knows, and nothing is answered before it is committed."""

from __future__ import annotations

import functools
import random
import uuid
from collections.abc import Callable
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.records.validate import COORDINATOR
from broker_core.sharing.batches import ACKNOWLEDGED, ARCHIVED, AVAILABLE, StateBatch, combined
from broker_core.sharing.coordinator import ShareCoordinator
from broker_core.sharing.records import ShareKey
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode as E

TOPIC = uuid.UUID(int=5)
PARTITIONS = 4
CONFIG = {
    "share.coordinator.state.topic.num.partitions": 3,
    "share.coordinator.snapshot.update.records.per.snapshot": 4,
    "share.coordinator.cold.partition.snapshot.interval.ms": 300_000,
    "share.coordinator.state.topic.prune.interval.ms": 60_000,
}


class StateTopic:
    """`__share_group_state` of a cluster, and who leads it."""

    def __init__(self) -> None:
        self.logs: dict[int, PartitionLog] = {}
        self.storage = MemoryStorage()
        self.leader = ""
        self.delay_ms = 0
        self.failure = E.NONE

    def log(self, partition: int, now_ms: int) -> PartitionLog:
        if partition not in self.logs:
            name = f"data/__share_group_state-{partition}"
            self.logs[partition] = PartitionLog(self.storage, name, "__share_group_state", partition, LogConfig(), now_ms)
        return self.logs[partition]


class Machine:
    """A broker that is nothing but a share coordinator."""

    def __init__(self, topic: StateTopic, node: Node) -> None:
        self.node = node
        self.topic = topic
        self.coordinator = ShareCoordinator(node, CONFIG, self, lambda topic_id: PARTITIONS if topic_id == TOPIC else None)

    def append(self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any, guard: int | None = None) -> None:
        if self.topic.leader != self.node.name:
            done(context, E.NOT_LEADER_OR_FOLLOWER)
            return
        if not self.topic.failure:
            self.topic.log(partition, self.node.wall_ms()).append_as_leader(records, 0, self.node.wall_ms(), origin=COORDINATOR)
        self.node.after(self.topic.delay_ms * 1000, done, context, self.topic.failure)

    def read(self, partition: int) -> PartitionLog | None:
        return self.topic.logs.get(partition)

    def failed(self, error: Exception) -> None:
        raise error

    def cut(self, partition: int, offset: int) -> None:
        log = self.topic.logs[partition]
        log.update_high_watermark(log.log_end_offset)
        log.delete_records_before(offset)

    def partition_count(self) -> int | None:
        return int(CONFIG["share.coordinator.state.topic.num.partitions"])

    def start(self) -> None: ...

    def receive(self, source: str, message: Any) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


class Lab:
    def __init__(self) -> None:
        self.topic = StateTopic()
        self.world = World(seed=3, epoch_ms=1_700_000_000_000)
        self.epoch = 0
        for name in ("broker-1", "broker-2"):
            self.world.add_node(name, MemoryStorage(), functools.partial(Machine, self.topic))
            self.world.start_node(name)
        self.lead("broker-1")

    def coordinator(self, name: str | None = None) -> ShareCoordinator:
        machine: Any = self.world.nodes[name or self.topic.leader].machine
        found: ShareCoordinator = machine.coordinator
        return found

    def lead(self, name: str) -> None:
        before, self.topic.leader, self.epoch = self.topic.leader, name, self.epoch + 1
        for partition in range(3):
            if before:
                self.coordinator(before).on_resignation(partition, self.epoch)
            self.coordinator(name).on_election(partition, self.epoch)
        self.run(0)

    def run(self, ms: int) -> None:
        self.world.run_until(self.world.now_us + ms * 1000)

    def ask(self, method: str, kind: Any, topic: str, part: Any, broker: str | None = None) -> list[Any]:
        """The answers, when they come: one about one partition."""
        answers: list[Any] = []
        request = kind(group_id="g", topics=[getattr(kind, topic)(topic_id=TOPIC, partitions=[part])])
        getattr(self.coordinator(broker), method)(request, lambda _, answer: answers.append(answer.results[0].partitions[0]), None)
        self.run(0)
        return answers

    def initialize(self, number: int = 0, epoch: int = 1, start: int = -1) -> Any:
        kind = m.InitializeShareGroupStateRequest
        part = kind.PartitionData(partition=number, state_epoch=epoch, start_offset=start)
        return self.ask("initialize", kind, "InitializeStateData", part)[0]

    def write(self, *batches: StateBatch, number: int = 0, start: int = 0, leader: int = 1, broker: str | None = None) -> list[Any]:
        kind = m.WriteShareGroupStateRequest
        told = [kind.StateBatch(first_offset=one[0], last_offset=one[1], delivery_state=one[2], delivery_count=one[3]) for one in batches]
        part = kind.PartitionData(
            partition=number, state_epoch=1, leader_epoch=leader, start_offset=start, delivery_complete_count=0, state_batches=told
        )
        return self.ask("write", kind, "WriteStateData", part, broker)

    def read(self, number: int = 0, leader: int = 1) -> Any:
        kind = m.ReadShareGroupStateRequest
        return self.ask("read", kind, "ReadStateData", kind.PartitionData(partition=number, leader_epoch=leader))[0]


def told(answer: Any) -> list[tuple[int, int, int, int]]:
    return [(one.first_offset, one.last_offset, one.delivery_state, one.delivery_count) for one in answer.state_batches]


def test_what_was_written_is_what_the_next_coordinator_knows() -> None:
    chance, lab = random.Random(4), Lab()
    for number in range(PARTITIONS):
        assert lab.initialize(number, start=0).error_code == 0
        assert lab.read(number).error_code == 0
    wanted: dict[int, tuple[StateBatch, ...]] = dict.fromkeys(range(PARTITIONS), ())
    starts = dict.fromkeys(range(PARTITIONS), 0)
    for turn in range(60):
        number = chance.randrange(PARTITIONS)
        first = starts[number] + chance.randrange(10)
        batch = StateBatch(first, first + chance.randrange(5), chance.choice((AVAILABLE, ACKNOWLEDGED, ARCHIVED)), chance.randrange(1, 6))
        starts[number] += chance.randrange(3)
        assert lab.write(batch, number=number, start=starts[number])[0].error_code == 0
        wanted[number] = combined(wanted[number], [batch], starts[number])
        if turn % 20 == 19:
            lab.lead("broker-2" if lab.topic.leader == "broker-1" else "broker-1")
        found = lab.read(number)
        assert (found.start_offset, told(found)) == (starts[number], [tuple(one) for one in wanted[number]])


def test_every_so_many_updates_there_is_a_snapshot() -> None:
    lab = Lab()
    lab.initialize(start=0)
    for offset in range(10):
        lab.write(StateBatch(offset, offset, ACKNOWLEDGED, 1))
    key = ShareKey("g", TOPIC, 0)
    state = lab.coordinator().partitions[lab.coordinator().partition_for(key.name)].states[key]
    assert state.snapshot_epoch == 2
    assert state.batches == (StateBatch(0, 9, ACKNOWLEDGED, 1),)


def test_a_write_that_was_sent_again_and_comes_late_moves_no_start_back() -> None:
    for updates in range(1, 6):  # the late one is an update, or the snapshot behind four of them
        lab = Lab()
        lab.initialize(start=0)
        for offset in range(updates):
            lab.write(StateBatch(offset, offset, ACKNOWLEDGED, 1), start=offset + 1)
        lab.write(StateBatch(8, 9, ACKNOWLEDGED, 1), start=0)
        lab.lead("broker-2")
        assert (lab.read().start_offset, told(lab.read())) == (updates, [(8, 9, ACKNOWLEDGED, 1)])
        lab.initialize(epoch=2, start=0)  # as when somebody alters the offsets of the group
        assert lab.read().start_offset == 0


def test_an_answer_waits_for_the_commit_and_the_next_decision_for_both() -> None:
    lab = Lab()
    lab.initialize(start=0)
    lab.topic.delay_ms = 50
    first, second = lab.write(StateBatch(0, 0, ACKNOWLEDGED, 1)), lab.write(StateBatch(1, 1, ACKNOWLEDGED, 1))
    assert (first, second) == ([], [])
    lab.run(50)
    assert len(first) == 1 and second == []
    lab.run(50)
    assert second[0].error_code == 0


def test_a_write_that_is_not_committed_when_the_partition_moves_is_refused() -> None:
    lab = Lab()
    lab.initialize(start=0)
    lab.topic.delay_ms = 50
    first, second = lab.write(StateBatch(0, 0, ACKNOWLEDGED, 1)), lab.write(StateBatch(1, 1, ACKNOWLEDGED, 1))
    lab.lead("broker-2")
    lab.run(60)
    assert [first[0].error_code, second[0].error_code] == [E.NOT_COORDINATOR] * 2
    lab.topic.delay_ms = 0
    assert told(lab.read()) == [(0, 0, ACKNOWLEDGED, 1)]  # it is in the log: the answer was ambiguous, as a timeout is
    assert lab.write(StateBatch(2, 2, ACKNOWLEDGED, 1), broker="broker-1")[0].error_code == E.NOT_COORDINATOR


def test_a_write_that_is_refused_changes_nothing() -> None:
    lab = Lab()
    lab.initialize(start=0)
    lab.topic.failure = E.NOT_ENOUGH_REPLICAS
    assert lab.write(StateBatch(0, 0, ACKNOWLEDGED, 1))[0].error_code == E.COORDINATOR_NOT_AVAILABLE
    lab.topic.failure = E.NONE
    assert told(lab.read()) == []


def test_a_leader_that_has_been_replaced_is_fenced() -> None:
    lab = Lab()
    lab.initialize(start=0)
    assert lab.read(leader=3).error_code == 0
    assert lab.write(StateBatch(0, 0, ACKNOWLEDGED, 1), leader=2)[0].error_code == E.FENCED_LEADER_EPOCH
    lab.lead("broker-2")
    assert lab.read(leader=2).error_code == E.FENCED_LEADER_EPOCH


def test_share_partitions_of_a_topic_that_is_deleted_are_forgotten() -> None:
    lab = Lab()
    lab.initialize()
    lab.coordinator().topics_deleted([TOPIC])
    lab.run(0)
    lab.lead("broker-2")
    assert lab.read().error_code == E.INVALID_REQUEST


def test_what_is_quiet_is_written_whole_now_and_then() -> None:
    lab = Lab()
    lab.initialize()
    before = sum(log.log_end_offset for log in lab.topic.logs.values())
    lab.run(300_000)
    assert sum(log.log_end_offset for log in lab.topic.logs.values()) == before + 1
    lab.run(900_000)
    assert sum(log.log_end_offset for log in lab.topic.logs.values()) == before + 1


def starts(lab: Lab) -> dict[int, int]:
    return {partition: log.log_start_offset for partition, log in lab.topic.logs.items()}


def test_what_stands_before_the_last_snapshot_of_all_is_cut_off_and_the_next_coordinator_knows_the_same() -> None:
    lab = Lab()
    for number in (0, 1):
        lab.initialize(number)
    for offset in range(40):  # after four updates comes a snapshot
        lab.write(StateBatch(offset, offset, ACKNOWLEDGED, 1), start=offset)
    known = told(lab.read())
    assert not any(starts(lab).values())
    lab.run(60_000)
    place, other = (lab.coordinator().partition_for(ShareKey("g", TOPIC, number).name) for number in (0, 1))
    assert place != other
    log = lab.topic.logs[place]
    assert 0 < log.log_end_offset - log.log_start_offset <= 5
    assert starts(lab)[other] == 0
    lab.lead("broker-2")
    assert told(lab.read(leader=2)) == known
    lab.run(60_000)
    assert log.log_end_offset - log.log_start_offset <= 6, "the next coordinator knows what it may cut by what it has read"


def test_a_share_partition_that_stands_still_keeps_what_stands_behind_its_last_snapshot() -> None:
    lab = Lab()
    keys = {number: lab.coordinator().partition_for(ShareKey("g", TOPIC, number).name) for number in range(PARTITIONS)}
    one, still = next((a, b) for a in keys for b in keys if a != b and keys[a] == keys[b])
    lab.initialize(still)
    lab.initialize(one)
    for offset in range(40):
        lab.write(StateBatch(offset, offset, ACKNOWLEDGED, 1), number=one, start=offset)
    lab.run(60_000)
    assert starts(lab)[keys[one]] == 0
    lab.run(300_000)  # long enough for a snapshot of what nobody writes to
    assert starts(lab)[keys[one]] > 30
