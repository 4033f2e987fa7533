"""confluent-kafka with `group.protocol=consumer` (KIP-848) against a KRaft lab: it joins, shares, moves on, commits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupType, Producer
from confluent_kafka.admin import AdminClient

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster
from tests.conftest import PATIENCE_S, free_ports

pytestmark = pytest.mark.clients
OWN = {name: value for name, value in SETTINGS.items() if not name.startswith("zookeeper.")} | {
    "group.consumer.heartbeat.interval.ms": "300", "group.consumer.min.heartbeat.interval.ms": "300",
    "group.consumer.assignment.interval.ms": "100",
}  # fmt: skip
PARTITIONS = 6


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    described = {"brokers": 3, "controller": "kraft", "port": free_ports(103), "preset": "teaching", "settings": OWN}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path_factory.mktemp("kip848"))
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


class Reader:
    """A consumer, what it owns and what it has read."""

    def __init__(self, cluster: Cluster, group: str, topics: list[str], **more: str) -> None:
        settings = {"group.id": group, "group.protocol": "consumer", "auto.offset.reset": "earliest", "enable.auto.commit": False}
        self.consumer = Consumer({"bootstrap.servers": cluster.bootstrap, **settings, **more})
        self.consumer.subscribe(topics)
        self.found: list[str] = []

    def poll(self) -> None:
        record = self.consumer.poll(0.05)
        if record is not None and not record.error():
            self.found.append(record.value().decode())

    @property
    def owned(self) -> set[tuple[str, int]]:
        return {(one.topic, one.partition) for one in self.consumer.assignment()}


def until(readers: list[Reader], condition: Any) -> None:
    """All read until it is so."""
    deadline = time.monotonic() + 2 * PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, [(sorted(one.owned), len(one.found)) for one in readers]
        for reader in readers:
            reader.poll()


def write(cluster: Cluster, topic: str, words: range) -> None:
    producer = Producer({"bootstrap.servers": cluster.bootstrap})
    for word in words:
        producer.produce(topic, str(word), partition=word % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def test_members_share_topics_move_on_when_one_leaves_and_outlive_their_coordinator(cluster: Cluster) -> None:
    cluster.create("shared", PARTITIONS)
    everything = {("shared", number) for number in range(PARTITIONS)}
    write(cluster, "shared", range(300))
    first = Reader(cluster, "modern", ["shared"])
    until([first], lambda: len(first.found) == 300)
    first.consumer.commit(asynchronous=False)
    second = Reader(cluster, "modern", ["shared"])
    both = [first, second]
    until(both, lambda: first.owned | second.owned == everything and len(first.owned) == len(second.owned) == 3)
    assert not first.owned & second.owned
    write(cluster, "shared", range(300, 600))
    until(both, lambda: len(first.found) + len(second.found) == 600)
    for reader in both:
        reader.consumer.commit(asynchronous=False)

    view = cluster.until(lambda state: "modern" in state["groups"])["groups"]["modern"]
    assert view["type"] == "consumer" and len(view["members"]) == 2
    shown = cluster.lab.inspect("group", "modern").result(PATIENCE_S)["found"]
    assert shown["generation"] == shown["assignment_epoch"] and {one["epoch"] for one in shown["members"]} == {shown["generation"]}
    assert all(one["target"] == one["assignment"] and one["session_left_ms"] > 0 for one in shown["members"])
    cluster.do(do="kill", broker=view["coordinator"])
    write(cluster, "shared", range(600, 900))
    until(both, lambda: len(set(first.found) | set(second.found)) == 900)
    cluster.heal()

    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    listed = admin.list_consumer_groups(types={ConsumerGroupType.CONSUMER}).result(PATIENCE_S)
    assert [one.group_id for one in listed.valid] == ["modern"]
    second.consumer.close()
    until([first], lambda: first.owned == everything)
    first.consumer.close()
    cluster.until(lambda state: state["groups"]["modern"]["state"] == "Empty")


def test_a_pattern_is_matched_by_the_broker(cluster: Cluster) -> None:
    cluster.create("pattern-1", PARTITIONS)
    reader = Reader(cluster, "by-pattern", ["^pattern-[0-9]+"])
    write(cluster, "pattern-1", range(12))
    until([reader], lambda: len(reader.found) == 12)
    reader.consumer.close()


def test_the_range_assignor_is_asked_for_and_a_pattern_joins_in(cluster: Cluster) -> None:
    cluster.create("ranged-1", PARTITIONS)
    settings = {"group.remote.assignor": "range"}
    both = [Reader(cluster, "ranged", [topics], **settings) for topics in ("ranged-1", "^ranged-[0-9]+")]
    halves = [[("ranged-1", number) for number in numbers] for numbers in ((0, 1, 2), (3, 4, 5))]
    until(both, lambda: sorted(sorted(one.owned) for one in both) == halves)
    for reader in both:
        reader.consumer.close()
