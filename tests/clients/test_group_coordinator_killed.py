"""The coordinator of a group is killed in each state of the group under consumers of librdkafka: they read on, all of it.

| protocol | state | what makes it last until the kill |
|---|---|---|
| classic | PreparingRebalance | `group.initial.rebalance.delay.ms` |
| classic | CompletingRebalance | a follower's Fetch is held up: what the leader of the group shared out is not committed |
| consumer (KIP-848) | Assigning | a target was computed just now: the next one has to wait for the group's assignment interval (KIP-1263) |
| consumer (KIP-848) | Reconciling | who has to give partitions up does not poll |
| both | Stable, Empty | |
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer

from broker_core.coordinators.partitioning import partition_for
from lab.testing import cluster
from lab.testing.clusters import Cluster
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.clients
PARTITIONS, LOGS, RECORDS, GROUP = 4, 5, 40, "billing"
COORDINATOR = f"__consumer_offsets-{partition_for(GROUP, LOGS)}"
SETTINGS = {
    "offsets.topic.num.partitions": str(LOGS), "default.replication.factor": "3", "group.initial.rebalance.delay.ms": "1500",
    "group.consumer.heartbeat.interval.ms": "500", "group.consumer.min.heartbeat.interval.ms": "500",
    "broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "300", "group.consumer.max.assignment.interval.ms": "600000",
}  # fmt: skip
INTERVAL = "consumer.assignment.interval.ms"
CLASSIC = {"partition.assignment.strategy": "range", "session.timeout.ms": 6000, "heartbeat.interval.ms": 500}
NEXT_GENERATION = {"group.protocol": "consumer"}
HELD_MS = 60_000
"""A Fetch stays away until the connection on which it waits has gone with the coordinator."""


class Member:
    """One consumer that polls in a thread of its own, but for the time in which it is `idle`. It commits what it has read one
    time after the other: commits of librdkafka that wait for a coordinator may be sent newest first."""

    def __init__(self, bootstrap: str, settings: dict[str, object]) -> None:
        common = {"bootstrap.servers": bootstrap, "group.id": GROUP, "auto.offset.reset": "earliest",
                  "enable.auto.commit": False, "topic.metadata.refresh.interval.ms": 1000}  # fmt: skip
        self.consumer = Consumer({**common, **settings})
        self.consumer.subscribe(["orders"])
        self.read, self.owned = set[str](), 0
        self.idle, self._ended = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)
        self._thread.start()

    def _poll(self) -> None:
        while not self._ended.is_set():
            if self.idle.is_set():
                time.sleep(0.02)
                continue
            message = self.consumer.poll(0.1)
            if message is not None and message.error() is None:
                self.read.add(message.value().decode())
                self._commit()
            self.owned = len(self.consumer.assignment())
        until(self._commit, lambda: "the last commit")
        self.consumer.close()

    def _commit(self) -> bool:
        """Whether all that was read is committed."""
        try:
            self.consumer.commit(asynchronous=False)
        except KafkaException as error:
            return bool(error.args[0].code() == KafkaError._NO_OFFSET)  # nothing new
        return True

    def close(self) -> None:
        self._ended.set()
        self._thread.join(PATIENCE_S)


class Story:
    """A lab, its members, and what was written for them."""

    def __init__(self, kafka: Cluster, settings: dict[str, object]) -> None:
        self.kafka = kafka
        self.settings = settings
        self.members: list[Member] = []
        self.producer = Producer({"bootstrap.servers": kafka.bootstrap})
        self.written = 0

    def join(self) -> Member:
        self.members.append(Member(self.kafka.bootstrap, self.settings))
        return self.members[-1]

    def leave(self) -> set[str]:
        """All of them; returns what they have read."""
        for one in self.members:
            one.close()
        found = set().union(*(one.read for one in self.members))
        self.members = []
        return found

    def coordinator(self) -> int:
        return int(self.kafka.wait(leader_of=COORDINATOR, is_=">= 1", within=PATIENCE_S))

    def kill(self, state: str) -> None:
        """The broker that coordinates, as soon as the group is in this state; then it comes back."""
        self.kafka.wait(group_state_of=GROUP, is_=state, within=PATIENCE_S)
        dead = self.coordinator()
        self.kafka.kill(dead)
        self.kafka.wait(leader_of=COORDINATOR, before=dead, within=PATIENCE_S)
        self.kafka.restart(dead)
        for name in (COORDINATOR, *(f"orders-{number}" for number in range(PARTITIONS))):
            self.kafka.wait(isr_of=name, is_=3, within=PATIENCE_S)

    def hold_a_copy(self) -> None:
        """What is written to the group's log is not committed as long as one follower does not ask for it."""
        here = self.coordinator()
        other = next(broker for broker in (1, 2, 3) if broker != here)
        self.kafka.command({"do": "hold_next", "between": [other, here], "api": "Fetch", "delay_ms": HELD_MS})

    def read_on(self, *owned: int) -> None:
        """The members share the partitions like this, and read what is written now."""
        until(lambda: sorted(one.owned for one in self.members) == sorted(owned), lambda: [one.owned for one in self.members])
        new = [str(self.written + number) for number in range(RECORDS)]
        for number, value in enumerate(new):
            self.producer.produce("orders", value, partition=number % PARTITIONS)
        assert self.producer.flush(PATIENCE_S) == 0
        self.written += RECORDS
        until(lambda: set(new) <= set().union(*(one.read for one in self.members)), lambda: (self.kafka.story(), new))


def until(condition: Callable[[], bool], says: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, says()
        time.sleep(0.05)


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(controller="kraft", controllers=1, settings=SETTINGS, topics={"orders": PARTITIONS}, directory=tmp_path / "lab") as started:
        yield started


def ends_well(story: Story) -> None:
    """Stable and Empty are the same in both protocols; who comes then begins behind what was committed."""
    story.kill("Stable")
    story.read_on(2, 2)
    before = story.leave()
    assert before == set(map(str, range(story.written)))
    story.kill("Empty")
    story.join()
    story.read_on(PARTITIONS)
    assert story.leave() == set(map(str, range(story.written - RECORDS, story.written))), "committed is committed"


def test_a_classic_group_outlives_its_coordinator_in_each_state(kafka: Cluster) -> None:
    story = Story(kafka, CLASSIC)
    story.join()
    story.kill("PreparingRebalance")
    story.read_on(PARTITIONS)
    story.hold_a_copy()
    story.join()
    story.kill("CompletingRebalance")
    story.read_on(2, 2)
    ends_well(story)


def test_a_next_generation_group_outlives_its_coordinator_in_each_state(kafka: Cluster) -> None:
    story = Story(kafka, NEXT_GENERATION)
    kafka.alter_config(group=GROUP, set={INTERVAL: "600000"})
    first = story.join()
    story.read_on(PARTITIONS)
    first.idle.set()
    story.join()
    story.kill("Assigning")
    kafka.alter_config(group=GROUP, set={INTERVAL: "0"})
    story.kill("Reconciling")
    first.idle.clear()
    story.read_on(2, 2)
    ends_well(story)
