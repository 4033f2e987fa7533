"""A transactional producer and a read_committed consumer of librdkafka; the coordinator dies in between."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from broker_core.coordinators.partitioning import partition_for
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import SETTINGS, Cluster, to_the_end
from tests.conftest import PATIENCE_S, free_ports

pytestmark = pytest.mark.clients
ROUNDS = 12


@pytest.fixture(params=["zookeeper", "kraft"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Cluster]:
    own = {name: value for name, value in SETTINGS.items() if request.param in name or "zookeeper" not in name}
    described = {"brokers": 3, "port": free_ports(3), "preset": "teaching", "settings": own,
                 "controller": request.param}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


def transactional(cluster: Cluster, name: str = "tx") -> Producer:
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "transactional.id": name})
    producer.init_transactions(PATIENCE_S)
    return producer


def read(cluster: Cluster, topic: str, partitions: int, isolation: str) -> list[str]:
    """Everything up to the end that this isolation level shows."""
    return sorted(message.value().decode() for message in to_the_end(cluster.bootstrap, topic, partitions, isolation))


def coordinator(cluster: Cluster, name: str = "tx") -> int:
    number = str(partition_for(name, 50))
    return int(cluster.state()["topics"]["__transaction_state"]["partitions"][number]["leader"])


def test_every_transaction_is_read_whole_or_not_at_all_while_its_coordinator_dies(cluster: Cluster) -> None:
    cluster.create("orders", 3)
    producer, expected = transactional(cluster), []
    for number in range(ROUNDS):
        producer.begin_transaction()
        for partition in range(3):
            producer.produce("orders", f"{number}/{partition}", partition=partition)
        assert producer.flush(PATIENCE_S) == 0
        if number % 3 == 2:
            producer.abort_transaction(PATIENCE_S)
            continue
        if number == ROUNDS // 2:
            dead = coordinator(cluster)
            cluster.do(do="kill", broker=dead)
        producer.commit_transaction(PATIENCE_S)
        expected += [f"{number}/{partition}" for partition in range(3)]
        if number == ROUNDS // 2 + 3:
            cluster.do(do="restart", broker=dead)
    cluster.heal()
    assert read(cluster, "orders", 3, "read_committed") == sorted(expected)
    assert len(read(cluster, "orders", 3, "read_uncommitted")) == 3 * ROUNDS


def test_a_second_producer_with_the_same_id_fences_the_first(cluster: Cluster) -> None:
    cluster.create("orders", 1)
    zombie = transactional(cluster)
    zombie.begin_transaction()
    zombie.produce("orders", "zombie")
    zombie.flush(PATIENCE_S)
    heir = transactional(cluster)
    heir.begin_transaction()
    heir.produce("orders", "heir")
    heir.commit_transaction(PATIENCE_S)
    with pytest.raises(KafkaException) as refused:
        zombie.commit_transaction(PATIENCE_S)
    assert refused.value.args[0].fatal() and refused.value.args[0].name() == "_FENCED"
    assert read(cluster, "orders", 1, "read_committed") == ["heir"]


def test_offsets_of_a_transaction_count_when_it_is_committed(cluster: Cluster) -> None:
    cluster.create("in", 1)
    cluster.create("out", 1)
    plain = Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(10):
        plain.produce("in", str(number))
    assert plain.flush(PATIENCE_S) == 0
    producer = transactional(cluster)
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "etl", "auto.offset.reset": "earliest",
                         "enable.auto.commit": False, "isolation.level": "read_committed"})
    consumer.subscribe(["in"])
    for attempt, commit in enumerate((False, True)):
        producer.begin_transaction()
        values = [record.value().decode() for record in consumer.consume(10, PATIENCE_S)]
        assert values == [str(number) for number in range(10)]
        for value in values:
            producer.produce("out", f"{attempt}:{value}")
        offsets = consumer.position(consumer.assignment())
        producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
        if commit:
            producer.commit_transaction(PATIENCE_S)
        else:
            producer.abort_transaction(PATIENCE_S)
            assert committed(consumer) < 0, "an aborted transaction has moved the group"
            consumer.seek(TopicPartition("in", 0, 0))
    assert committed(consumer) == 10
    consumer.close()
    assert read(cluster, "out", 1, "read_committed") == [f"1:{number}" for number in range(10)]


def committed(consumer: Consumer) -> int:
    (found,) = consumer.committed([TopicPartition("in", 0)], PATIENCE_S)
    offset: Any = found.offset
    return int(offset)
