"""`transactions`, `rebalance` and `offsets`: what coordinators do, beside Apache Kafka 4.3, both in KRaft with defaults
(but for `group.initial.rebalance.delay.ms`, 0).

| case | from | until |
|---|---|---|
| transactions of one record | begin | commit_transaction returns: decided and written down, one at a time |
| transactions of 100 records in six partitions | | the same |
| records of 100 B, a commit for every 10,000 | the first record | the last commit |
| a member joins a group of so many | its subscription | every partition has one owner, the newcomer is one |
| a member leaves | its close | every partition has one owner again |
| a million offsets are loaded | the next leader's last word as a follower (NOT_COORDINATOR) | it answers for them |

The clients are librdkafka's, all members of a group in one process, the same for both sides; the offsets are committed
for groups without members, a hundred each. What takes minutes tells on standard error how far it is, and ends after
`COMMITTING_S` a side with as many offsets as it has; the case says how many.
"""

from __future__ import annotations

import contextlib
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from confluent_kafka import Consumer, Producer

from benchmarks import load
from benchmarks.asking import ask
from benchmarks.load import LoadError
from benchmarks.results import Result, median
from benchmarks.sides import BROKERS, Kafka, Ours, alone, free_ports, kafka_is_there, running
from broker_core.coordinators.partitioning import partition_for
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E

TOPIC = "bench-coordinators"
PATIENCE_S = 120.0
MEMBERS = (3, 30, 100)
RUNS = {3: 5, 30: 3, 100: 3}
"""How often one more joins and leaves, by the size of the group."""
HEARTBEAT_S = 5.0
"""Of `group.protocol=consumer`. Whoever comes right behind a heartbeat of the others may have to wait for two."""
A_MEMBER_S = 3.0
"""So much longer a group may take to settle for each member."""
COMMITTING_S = 300.0
PROTOCOLS = ("classic", "consumer")
OFFSETS_TOPIC, OFFSETS_PARTITIONS, OF_A_GROUP = "__consumer_offsets", 50, 100
SENDERS = 8

Side = Ours | Kafka


class OursToday(Ours):
    """This lab as it starts by itself: KRaft."""

    def __init__(self) -> None:
        super().__init__(settings=("group.initial.rebalance.delay.ms=0",), more=("--controller", "kraft"))
        first = free_ports(110)
        self.ports = list(range(first, first + BROKERS))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)


class KafkaToday(Kafka):
    """Apache Kafka 4.3."""

    def start(self) -> None:
        self._oracle("up", "newest", "--port", str(self.port), "--timeout", "300")


@contextlib.contextmanager
def both_today() -> Iterator[list[Side]]:
    """Ours, and Apache Kafka 4.3 where it is there."""
    with contextlib.ExitStack() as stack:
        sides: list[Side] = [stack.enter_context(running(OursToday()))]
        if kafka_is_there():
            sides.append(stack.enter_context(running(KafkaToday())))
        yield sides


def result(
    benchmark: str, case: str, unit: str, found: dict[str, list[float]], more_is_better: bool, goal: float | None = 1.0
) -> Result:
    kafka = found.get("Kafka")
    return Result(benchmark, case, unit, median(found["ours"]), median(kafka) if kafka else None, more_is_better, goal)


# -- transactions ---------------------------------------------------------------------------
def transactions(quick: bool) -> Iterator[Result]:
    """Transactions a second, and records a second of a producer that commits."""
    cases = (("of 1 record", "tx/s", 1, 500), ("of 100 records", "tx/s", 100, 200),
             ("records of 100 B", "records/s", 10_000, 30))  # fmt: skip
    with both_today() as sides:
        for side in sides:
            load.make_topic(side.bootstrap, TOPIC)
        for case, unit, records, full in cases:
            count, runs = (full // 5, 1) if quick else (full, 5)
            found: dict[str, list[float]] = {}
            for run in range(-1, runs):  # the first one warms up
                for side in sides if run % 2 else sides[::-1]:
                    load.settle()
                    with alone(side, sides):
                        rate = committed_a_second(side.bootstrap, count, records)
                    if run >= 0:
                        found.setdefault(side.name, []).append(rate * (records if unit == "records/s" else 1))
            yield result("transactions", case, unit, found, True)


def committed_a_second(bootstrap: str, count: int, records: int) -> float:
    """Transactions a second of one producer, each of so many records of 100 B."""
    producer = Producer({
        "bootstrap.servers": bootstrap, "transactional.id": f"bench-{records}", "log_level": 0,
        "linger.ms": 5 if records > 1 else 0, "queue.buffering.max.messages": 1_000_000,
    })  # fmt: skip
    producer.init_transactions(PATIENCE_S)
    value = load.payload(100)
    started = time.perf_counter()
    for _ in range(count):
        producer.begin_transaction()
        for _ in range(records):
            producer.produce(TOPIC, value)
        producer.commit_transaction(PATIENCE_S)
    return count / (time.perf_counter() - started)


# -- rebalance ------------------------------------------------------------------------------
def rebalance(quick: bool) -> Iterator[Result]:
    """Seconds until a group of 3, 30, 100 members has settled again, in both protocols.

    What they wait for are heartbeats, whose intervals are Kafka's: to be quicker is no goal.
    """
    with both_today() as sides:
        for members in MEMBERS[:2] if quick else MEMBERS:
            for side in sides:
                load.make_topic(side.bootstrap, f"{TOPIC}-{members}", members + 1)
            for protocol in PROTOCOLS:
                joined: dict[str, list[float]] = {}
                left: dict[str, list[float]] = {}
                for side in sides:
                    moments = random.Random(members)
                    with Group(side.bootstrap, f"{TOPIC}-{members}", protocol, members + 1) as group:
                        for _ in range(members):
                            group.join()
                        group.settled()
                        for run in range(1 if quick else RUNS[members]):
                            progress(f"{side.name}: {protocol}, {members} members, run {run + 1}")
                            group.go_on(moments.uniform(0, HEARTBEAT_S))
                            joined.setdefault(side.name, []).append(group.joined_s())
                            group.go_on(moments.uniform(0, HEARTBEAT_S))
                            left.setdefault(side.name, []).append(group.left_s())
                yield result("rebalance", f"{protocol}, {members}: one more", "s", joined, False, None)
                yield result("rebalance", f"{protocol}, {members}: one leaves", "s", left, False, None)


class Group:
    """Members of one group, polled in turns by this thread."""

    def __init__(self, bootstrap: str, topic: str, protocol: str, partitions: int) -> None:
        self.topic, self.partitions, self.members = topic, partitions, list[Consumer]()
        self.settings = {"bootstrap.servers": bootstrap, "group.id": f"{topic}-{protocol}", "group.protocol": protocol,
                         "log_level": 0, "enable.auto.commit": False}  # fmt: skip
        if protocol == "classic":
            self.settings["partition.assignment.strategy"] = "cooperative-sticky"

    def __enter__(self) -> Group:
        return self

    def __exit__(self, *_: object) -> None:
        with ThreadPoolExecutor(SENDERS) as pool:
            list(pool.map(lambda one: one.close(), self.members))

    def join(self) -> None:
        self.members.append(Consumer(self.settings))
        self.members[-1].subscribe([self.topic])

    def settled(self) -> None:
        """Until each partition has one owner, and each member has one."""
        patience_s = PATIENCE_S + A_MEMBER_S * len(self.members)
        deadline = time.perf_counter() + patience_s
        while time.perf_counter() < deadline:
            self._poll()
            owned = [[part.partition for part in one.assignment()] for one in self.members]
            owners = Counter(number for numbers in owned for number in numbers)
            if all(owned) and len(owners) == self.partitions == owners.total():
                return
        raise LoadError(f"{self.topic}: the group did not settle within {patience_s:g} s")

    def _poll(self) -> None:
        for one in self.members:
            one.poll(0)
        time.sleep(0.005)

    def go_on(self, seconds: float) -> None:
        """Let them consume."""
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            self._poll()

    def joined_s(self) -> float:
        started = time.perf_counter()
        self.join()
        self.settled()
        return time.perf_counter() - started

    def left_s(self) -> float:
        started = time.perf_counter()
        self.members.pop().close()
        self.settled()
        return time.perf_counter() - started


# -- offsets --------------------------------------------------------------------------------
def offsets(quick: bool) -> Iterator[Result]:
    """A million offsets of one partition of `__consumer_offsets`, loaded by the broker that leads it next."""
    groups = groups_of_one_partition((100_000 if quick else 1_000_000) // OF_A_GROUP)
    loaded: dict[str, list[float]] = {}
    committed: dict[str, list[float]] = {}
    with both_today() as sides:
        for side in sides[::-1]:
            load.make_topic(side.bootstrap, TOPIC, OF_A_GROUP, 1)
            coordinator = Coordinator(side, groups[0])
            started = time.perf_counter()
            groups = groups[: committed_within(side, coordinator, groups)]  # the other side loads as many
            committed[side.name] = [len(groups) * OF_A_GROUP / (time.perf_counter() - started)]
            loaded[side.name] = [moved_s(side, groups[-1]) for _ in range(1 if quick else 3)]
    yield result("offsets", "committed, 100 a request", "offsets/s", committed, True)
    yield result("offsets", f"{len(groups) * OF_A_GROUP:,} loaded", "s", loaded, False)


def committed_within(side: Side, coordinator: Coordinator, groups: list[str]) -> int:
    """For how many of the groups offsets were committed before the time was over."""
    until, done = time.perf_counter() + COMMITTING_S, 0
    with ThreadPoolExecutor(SENDERS) as pool:
        while done < len(groups) and time.perf_counter() < until:
            part = groups[done : done + max(SENDERS, len(groups) // 20)]
            list(pool.map(lambda group: commit(coordinator, group), part))
            done += len(part)
            progress(f"{side.name}: {done * OF_A_GROUP:,} of {len(groups) * OF_A_GROUP:,} offsets committed")
    return done


def progress(text: str) -> None:
    """How far it is: not among the results."""
    print(text, file=sys.stderr, flush=True)


def groups_of_one_partition(count: int) -> list[str]:
    """Names that have the same coordinator."""
    found: list[str] = []
    number = 0
    while len(found) < count:
        name, number = f"bench-{number}", number + 1
        if partition_for(name, OFFSETS_PARTITIONS) == 0:
            found.append(name)
    return found


def asked(port: int, key: ApiKey, version: int, request: object, fine: Callable[[Any], bool]) -> Any:
    """The first answer that is fine."""
    deadline = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < deadline:
        answer = ask(port, key, version, request, PATIENCE_S)
        if fine(answer):
            return answer
        time.sleep(0.002)
    raise LoadError(f"{key.name}: not within {PATIENCE_S:g} s: {answer}")


def coordinator_of(side: Side, group: str) -> int:
    """The port of the broker that coordinates the group."""
    request = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
    answer = asked(side.ports[0], ApiKey.FIND_COORDINATOR, 4, request, lambda one: not one.coordinators[0].error_code)
    return int(answer.coordinators[0].port)


PASSING = (E.COORDINATOR_LOAD_IN_PROGRESS, E.COORDINATOR_NOT_AVAILABLE, E.NOT_COORDINATOR, E.UNKNOWN_TOPIC_OR_PARTITION)
"""What a broker says that has not heard yet of what it leads, or leads it no more."""


class Coordinator:
    """Where the groups of one partition are coordinated; on a busy machine it may move."""

    def __init__(self, side: Side, group: str) -> None:
        self.side, self.group = side, group
        self.port = coordinator_of(side, group)

    def commits(self, request: object) -> int:
        """The error of a commit, once it is none that passes."""
        deadline = time.perf_counter() + PATIENCE_S
        while (error := self._asked(request)) in PASSING and time.perf_counter() < deadline:
            time.sleep(0.01)
            self.port = coordinator_of(self.side, self.group)
        return error

    def _asked(self, request: object) -> int:
        answer = ask(self.port, ApiKey.OFFSET_COMMIT, 8, request, PATIENCE_S)
        return int(answer.topics[0].partitions[0].error_code)


def commit(coordinator: Coordinator, group: str) -> None:
    """An offset in each partition, by nobody's member."""
    r = m.OffsetCommitRequest
    parts = [
        r.OffsetCommitRequestPartition(
            partition_index=number, committed_offset=number, committed_leader_epoch=-1, committed_metadata=""
        )
        for number in range(OF_A_GROUP)
    ]  # fmt: skip
    request = r(group_id=group, generation_id_or_member_epoch=-1, member_id="", group_instance_id=None,
                topics=[r.OffsetCommitRequestTopic(name=TOPIC, partitions=parts)])  # fmt: skip
    if error := coordinator.commits(request):
        raise LoadError(f"{group}: error {error}")


def fetched(port: int, group: str) -> int:
    """The error of OffsetFetch for the group."""
    r = m.OffsetFetchRequest
    request = r(groups=[r.OffsetFetchRequestGroup(group_id=group, topics=None)], require_stable=False)
    answer = ask(port, ApiKey.OFFSET_FETCH, 8, request, PATIENCE_S).groups[0]
    if not answer.error_code and sum(len(topic.partitions) for topic in answer.topics) != OF_A_GROUP:
        raise LoadError(f"{group}: offsets are missing")
    return int(answer.error_code)


def moved_s(side: Side, group: str) -> float:
    """Another replica is preferred and elected: seconds between its last word as a follower and its first answer."""
    before = side.ports.index(coordinator_of(side, group))
    order = [(before + 1 + step) % BROKERS + 1 for step in range(BROKERS)]
    port, topic = side.ports[order[0] - 1], OFFSETS_TOPIC
    a = m.AlterPartitionReassignmentsRequest
    part = a.ReassignableTopic(name=topic, partitions=[a.ReassignablePartition(partition_index=0, replicas=order)])
    ask(port, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, a(timeout=30_000, topics=[part]), PATIENCE_S)
    parts = [m.ElectLeadersRequest.TopicPartitions(topic=topic, partitions=[0])]
    elected = m.ElectLeadersRequest(election_type=0, timeout=30_000, topic_partitions=parts)
    deadline = time.perf_counter() + PATIENCE_S
    with ThreadPoolExecutor(1) as pool:
        began = pool.submit(ask, port, ApiKey.ELECT_LEADERS, 2, elected, PATIENCE_S)
        since = time.perf_counter()
        while (now := time.perf_counter()) < deadline:
            error = fetched(port, group)
            if error == E.NONE:
                began.result()
                return time.perf_counter() - since
            if error == E.NOT_COORDINATOR:
                since = now
                if began.done():
                    began = pool.submit(ask, port, ApiKey.ELECT_LEADERS, 2, elected, PATIENCE_S)
            time.sleep(0.001)
    raise LoadError(f"{side.name}: {topic}-0 did not move")
