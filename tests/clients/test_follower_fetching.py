"""A real consumer that names its rack reads from the follower there, over TCP (KIP-392)."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster, whole
from tests.conftest import PATIENCE_S, free_ports

pytestmark = pytest.mark.clients
COUNT = 500


@pytest.fixture(scope="module")
def racked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three brokers in racks a, b and c, with a selector; `orders-0` is led by broker 1."""
    cluster = {
        "brokers": [{"id": number, "rack": rack} for number, rack in ((1, "a"), (2, "b"), (3, "c"))],
        "port": free_ports(3), "preset": "teaching",
        "settings": {**SETTINGS, "replica.selector.class": RACK_AWARE_SELECTOR, "replica.fetch.wait.max.ms": "100"},
    }  # fmt: skip
    spec = run_from_dict({"cluster": cluster, "epoch_ms": time.time_ns() // 1_000_000})
    lab = LiveLab(spec, tmp_path_factory.mktemp("racked-lab"))
    found = Cluster(lab, lab.start().bootstrap)
    found.do(do="create_topic", topic="orders", assignment=[[1, 2, 3]])
    found.until(lambda state: whole(state, "orders"))
    yield found
    lab.stop()


class Reader:
    """librdkafka with a rack; `fetches`: requests by broker, from its statistics."""

    def __init__(self, cluster: Cluster, rack: str, topic: str = "orders") -> None:
        self.fetches: dict[str, int] = {}
        self.statistics = threading.Event()
        self.consumer = Consumer({
            "bootstrap.servers": cluster.bootstrap, "group.id": f"near-{rack}", "client.rack": rack,
            "auto.offset.reset": "earliest", "statistics.interval.ms": 100, "stats_cb": self._take,
        })  # fmt: skip
        self.consumer.assign([TopicPartition(topic, 0, 0)])

    def _take(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self.fetches = {str(one["nodeid"]): one["req"].get("Fetch", 0) for one in brokers if one["nodeid"] >= 0}
        self.statistics.set()

    def read(self, count: int) -> list[str]:
        found: list[str] = []
        deadline = time.monotonic() + PATIENCE_S
        while len(found) < count:
            assert time.monotonic() < deadline, f"{len(found)} of {count}, fetches {self.fetches}"
            message = self.consumer.poll(0.2)
            if message is not None:
                assert message.error() is None, message.error()
                found.append(message.value().decode())
        return found

    def until(self, condition: Any) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition(self.fetches):
            assert time.monotonic() < deadline, self.fetches
            assert self.consumer.poll(0.1) is None


def write(cluster: Cluster, first: int, count: int) -> list[str]:
    values = [f"v{number}" for number in range(first, first + count)]
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all", "linger.ms": 1})
    for value in values:
        producer.produce("orders", value.encode(), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    return values


def test_librdkafka_reads_from_the_replica_of_its_rack_and_from_the_leader_when_that_is_gone(racked: Cluster) -> None:
    values = write(racked, 0, COUNT)
    reader = Reader(racked, "b")
    assert reader.read(COUNT) == values
    reader.until(lambda fetches: fetches.get("2", 0) >= 5)  # it goes on waiting there
    assert reader.fetches["1"] < reader.fetches["2"] and reader.fetches.get("3", 0) == 0, reader.fetches
    racked.do(do="kill", broker=2)
    values += write(racked, COUNT, COUNT)
    assert reader.read(COUNT) == values[COUNT:]
    assert reader.fetches.get("3", 0) == 0
    reader.consumer.close()
    racked.heal()


def test_a_consumer_in_the_leaders_rack_or_in_none_stays_with_the_leader(racked: Cluster) -> None:
    for rack in ("a", "nowhere"):
        reader = Reader(racked, rack)
        leader = str(racked.state()["topics"]["orders"]["partitions"]["0"]["leader"])
        assert len(reader.read(1)) == 1
        reader.consumer.seek(TopicPartition("orders", 0, 0))
        reader.statistics.clear()
        deadline = time.monotonic() + PATIENCE_S
        while not (reader.statistics.is_set() and reader.fetches.get(leader, 0) > 0):
            reader.consumer.poll(0.1)
            assert time.monotonic() < deadline, reader.fetches
        assert [broker for broker, count in reader.fetches.items() if count > 0] == [leader]
        reader.consumer.close()
