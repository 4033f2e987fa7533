"""Transaction coordinators with nothing else of a broker: one replicated `__transaction_state`, data partitions in memory.

`TransactionLab` is a world with two machines that hold a coordinator each. `StateTopic` stands for the replicated topic:
an append is committed after `commit_delay_ms`, or fails with `failure`. `DataPartition` stands for a partition that
producers write to: it keeps records and markers and judges a marker's epochs as a log does. Requests to it take
`marker_delay_ms` each way; a partition in `unreachable` does not answer. Each thing that is done outside of the
coordinator is told to `StateTopic.step` at the moment it is done: a record stored, committed, a marker written, its answer
back, a request answered. What `step` raises ends the process there and then (`test_model_steps`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.records.validate import COORDINATOR
from broker_core.transactions.coordinator import TransactionCoordinator
from broker_core.transactions.decisions import Producer
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode as E

CONFIG: dict[str, Any] = {
    "transaction.max.timeout.ms": 900_000,
    "transactional.id.expiration.ms": 604_800_000,
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": 10_000,
    "transaction.remove.expired.transaction.cleanup.interval.ms": 3_600_000,
    "transaction.state.log.num.partitions": 50,
}
TIMEOUT_MS = 60_000
EPOCH_MS = 1_700_000_000_000


def nothing(step: str) -> None:
    """Nobody looks."""


class StateTopic:
    """`__transaction_state` of the whole cluster, and who leads it."""

    def __init__(self) -> None:
        self.storage = MemoryStorage()
        self.logs: dict[int, PartitionLog] = {}
        self.leader: str | None = None
        self.commit_delay_ms = 0
        self.failure = 0
        self.committed: dict[int, int] = {}
        self.step: Callable[[str], None] = nothing

    def lose_what_is_not_committed(self) -> None:
        """The next leader had not fetched it."""
        for partition, log in self.logs.items():
            log.truncate_to(self.committed.get(partition, 0))

    def log(self, partition: int, now_ms: int = 0) -> PartitionLog:
        if partition not in self.logs:
            name = f"data/__transaction_state-{partition}"
            config = LogConfig(cleanup_policy=["compact"])
            self.logs[partition] = PartitionLog(
                self.storage, name, "__transaction_state", partition, config, now_ms
            )
        return self.logs[partition]


class LogPort:
    """The topic as one broker sees it."""

    def __init__(self, node: Node, topic: StateTopic) -> None:
        self.node = node
        self.topic = topic

    def append(self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any, guard: int | None = None) -> None:
        if self.topic.leader != self.node.name:
            done(context, E.NOT_LEADER_OR_FOLLOWER)
            return
        end = -1
        if not self.topic.failure:
            log = self.topic.log(partition, self.node.wall_ms())
            log.append_as_leader(records, 0, self.node.wall_ms(), origin=COORDINATOR)
            end = log.log_end_offset
            self.topic.step("stored")
        self.node.after(self.topic.commit_delay_ms * 1000, self._committed, partition, end, done, context, self.topic.failure)

    def _committed(self, partition: int, end: int, done: Callable[[Any, int], None], context: Any, failure: int) -> None:
        if end >= 0:
            self.topic.committed[partition] = end
            self.topic.step("committed")
        done(context, failure)

    def read(self, partition: int) -> PartitionLog | None:
        return self.topic.logs.get(partition)

    def failed(self, error: Exception) -> None:
        raise error

    def partition_count(self) -> int | None:
        return 50


class Written(NamedTuple):
    """What stands in a data partition: a record (value), or a marker (commit or abort)."""

    producer_id: int
    epoch: int
    value: str | None
    commit: bool = False


class DataPartition:
    """A partition's log, as far as transactions go."""

    def __init__(self) -> None:
        self.log: list[Written] = []
        self.epochs: dict[int, int] = {}
        self.coordinator_epochs: dict[int, int] = {}

    def write(self, producer: Producer, value: str) -> bool:
        """A record of a producer; False when it is fenced."""
        if producer.epoch < self.epochs.get(producer.producer_id, 0):
            return False
        self.epochs[producer.producer_id] = producer.epoch
        self.log.append(Written(*producer, value))
        return True

    def mark(self, producer: Producer, coordinator_epoch: int, commit: bool) -> E:
        """A marker, judged by both epochs."""
        if producer.epoch < self.epochs.get(producer.producer_id, 0):
            return E.INVALID_PRODUCER_EPOCH
        if coordinator_epoch < self.coordinator_epochs.get(producer.producer_id, 0):
            return E.TRANSACTION_COORDINATOR_FENCED
        self.epochs[producer.producer_id] = producer.epoch
        self.coordinator_epochs[producer.producer_id] = coordinator_epoch
        self.log.append(Written(*producer, None, commit))
        return E.NONE

    def committed(self) -> list[str]:
        """Values that read_committed shows."""
        shown: list[str] = []
        open_values: dict[int, list[str]] = {}
        for one in self.log:
            if one.value is not None:
                open_values.setdefault(one.producer_id, []).append(one.value)
            else:
                values = open_values.pop(one.producer_id, [])
                shown += values if one.commit else []
        return shown

    def open(self) -> list[str]:
        """Values that no marker has decided on."""
        found: dict[int, list[str]] = {}
        for one in self.log:
            if one.value is not None:
                found.setdefault(one.producer_id, []).append(one.value)
            else:
                found.pop(one.producer_id, None)
        return [value for values in found.values() for value in values]


class LeadersPort:
    """Data partitions as one coordinator reaches them; broker 1 leads all of them."""

    def __init__(self, node: Node, lab: TransactionLab) -> None:
        self.node = node
        self.lab = lab

    def leader(self, topic: str, partition: int) -> int | None:
        if partition in self.lab.leaderless:
            return -1
        return 1 if partition in self.lab.data else None

    def write_markers(self, broker: int, request: Any, done: Callable[[Any, Any], None], context: Any) -> None:
        self.node.after(self.lab.marker_delay_ms * 1000, self._arrived, request, done, context)

    def _arrived(self, request: Any, done: Callable[[Any, Any], None], context: Any) -> None:
        response = m.WriteTxnMarkersResponse
        markers = []
        for marker in request.markers:
            producer = Producer(marker.producer_id, marker.producer_epoch)
            topics = [
                response.WritableTxnMarkerTopicResult(name=topic.name, partitions=[
                    response.WritableTxnMarkerPartitionResult(
                        partition_index=number, error_code=self._mark(number, producer, marker)
                    )
                    for number in topic.partition_indexes
                ])
                for topic in marker.topics
            ]  # fmt: skip
            markers.append(response.WritableTxnMarkerResult(producer_id=marker.producer_id, topics=topics))
        answer = None if self.lab.silent else response(markers=markers)
        self.node.after(self.lab.marker_delay_ms * 1000, self._back, done, context, answer)

    def _back(self, done: Callable[[Any, Any], None], context: Any, answer: Any) -> None:
        self.lab.topic.step("back")
        done(context, answer)

    def _mark(self, number: int, producer: Producer, marker: Any) -> E:
        if number in self.lab.refusing:
            return self.lab.refusing[number]
        error = self.lab.data[number].mark(producer, marker.coordinator_epoch, marker.transaction_result)
        self.lab.topic.step("marked")
        return error


class Coordinating:
    """A machine with a coordinator."""

    def __init__(self, lab: TransactionLab, node: Node) -> None:
        self.coordinator = TransactionCoordinator(
            node, lab.config, LogPort(node, lab.topic), LeadersPort(node, lab), lab.next_id, lab.version_of
        )

    def start(self) -> None: ...

    def receive(self, source: str, message: Any) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


class TransactionLab:
    """Two coordinators; broker-1 leads all partitions of `__transaction_state` at first, with epoch 0."""

    def __init__(self, version: int = 0, **settings: Any) -> None:
        self.config = {**CONFIG, **settings}
        self.version = version
        self.topic = StateTopic()
        self.data = {number: DataPartition() for number in range(3)}
        self.leaderless: set[int] = set()
        self.refusing: dict[int, E] = {}
        self.silent = False
        self.marker_delay_ms = 0
        self.ids = 0
        self.epoch = 0
        self.world = World(seed=7, epoch_ms=EPOCH_MS, record_level="details")
        for name in ("broker-1", "broker-2"):
            self.world.add_node(name, MemoryStorage(), functools.partial(Coordinating, self))
            self.world.start_node(name)
        self.lead("broker-1")
        self.run(0)

    def next_id(self) -> int | None:
        self.ids += 1
        return 1000 + self.ids

    def version_of(self) -> int:
        return self.version

    @property
    def coordinator(self) -> TransactionCoordinator:
        machine: Any = self.world.nodes[self.topic.leader or ""].machine
        found: TransactionCoordinator = machine.coordinator
        return found

    def lead(self, name: str) -> None:
        """Makes a broker leader of all partitions; the other one resigns."""
        before, self.topic.leader = self.topic.leader, name
        for partition in range(50):
            if before is not None and before != name:
                machine: Any = self.world.nodes[before].machine
                machine.coordinator.on_resignation(partition, self.epoch)
            self.coordinator.on_election(partition, self.epoch)
        self.epoch += 1

    def crash(self) -> None:
        """The coordinator's process dies with all that it knew; the other broker takes over; the dead one comes back."""
        before = self.topic.leader or ""
        self.world.end_process(self.world.nodes[before], "killed")
        self.topic.leader = None
        self.lead("broker-2" if before == "broker-1" else "broker-1")
        self.world.start_node(before)

    def run(self, ms: int) -> None:
        self.world.run_until(self.world.now_us + ms * 1000)

    def journal(self, code: str) -> list[dict[str, Any]]:
        return [row[5] for row in self.world.journal.tail if row[3] == code]

    # --- requests -----------------------------------------------------------------------------------

    def ask(self, method: str, *args: Any) -> Answer:
        """An answer, perhaps not there yet."""
        answer = Answer(self.topic)
        getattr(self.coordinator, method)(*args, answered, answer)
        return answer

    def init(self, name: str = "tx", expected: Producer | None = None, timeout_ms: int = TIMEOUT_MS) -> Answer:
        return self.ask("init_producer_id", name, timeout_ms, expected)

    def producer(self, name: str = "tx") -> Producer:
        """An initialised producer, however often it has to ask."""
        for _ in range(100):
            answer = self.init(name)
            self.run(100)
            if answer.error is E.NONE:
                return Producer(answer.producer_id, answer.epoch)
        raise AssertionError(f"no producer: {answer.error}")

    def add(self, producer: Producer, *partitions: int, name: str = "tx") -> Answer:
        return self.ask("add_partitions", name, producer, [("t", one) for one in partitions], self.version)

    def end(self, producer: Producer, commit: bool = True, name: str = "tx") -> Answer:
        return self.ask("end", name, producer, commit, self.version)

    def write(self, producer: Producer, *partitions: int, value: str = "v") -> None:
        for one in partitions:
            self.data[one].write(producer, value)

    def state(self, name: str = "tx") -> str:
        return str(self.coordinator.transactions()[name]["state"])


class Answer:
    """What was answered: None until then."""

    def __init__(self, topic: StateTopic) -> None:
        self.error: E | None = None
        self.producer_id = self.epoch = -1
        self.topic = topic


def answered(answer: Answer, error: E, producer_id: int = -1, epoch: int = -1) -> None:
    assert answer.error is None, "answered twice"
    answer.error, answer.producer_id, answer.epoch = error, producer_id, epoch
    answer.topic.step("answered")
