"""Clients of a KRaft cluster with controllers of its own: whoever dies, what was acknowledged is read, once."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from lab.open_runs import LabError
from tests.clients.conftest import SETTINGS, Cluster
from tests.conftest import PATIENCE_S, free_ports

pytestmark = pytest.mark.clients
OWN = {name: value for name, value in SETTINGS.items() if not name.startswith("zookeeper.")}


def _lab(data: Path, **cluster: object) -> LiveLab:
    described = {"brokers": 3, "port": free_ports(3), "preset": "teaching", "settings": OWN, **cluster}
    return LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), data)


def _write(bootstrap: str, words: range) -> None:
    failed = []
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    for word in words:
        producer.produce("orders", str(word), on_delivery=lambda error, record: failed.append(error) if error else None)
    assert producer.flush(PATIENCE_S) == 0
    assert not failed


def _read(bootstrap: str, count: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["orders"])
    found: list[int] = []
    until = time.monotonic() + PATIENCE_S
    while len(found) < count and time.monotonic() < until:
        record = consumer.poll(0.2)
        if record is not None and not record.error():
            found.append(int(record.value()))
    consumer.close()
    return sorted(found)


def test_a_leader_and_the_active_controller_die_and_the_disks_are_no_other_generations(tmp_path):
    lab = _lab(tmp_path, controller="kraft", controllers=3)
    cluster = Cluster(lab, lab.start().bootstrap)
    try:
        cluster.do(do="create_topic", topic="orders", partitions=1)
        _write(cluster.bootstrap, range(100))
        killed = cluster.do(do="kill", controller="any")["node"]
        assert killed.startswith("controller-10")
        leader = cluster.do(do="kill", leader_of="orders-0")["node"]
        _write(cluster.bootstrap, range(100, 200))
        cluster.do(do="restart", node=leader)
        assert _read(cluster.bootstrap, 200) == list(range(200))
        assert cluster.state()["quorum"]["leader"] not in (None, int(killed[-3:]))
    finally:
        lab.stop()
    for other in ({}, {"controller": "kraft"}):
        with pytest.raises(LabError):
            _lab(tmp_path, **other).begin()
