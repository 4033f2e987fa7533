"""Every assignor of librdkafka's classic groups: a member is killed, then the coordinator; the rest reads on, and no record is left out."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable

import pytest
from confluent_kafka import Producer

from tests.clients.conftest import Cluster, Running, program
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.clients
ASSIGNORS = ("range", "roundrobin", "cooperative-sticky")
PARTITIONS, RECORDS = 4, 80


def owned(cluster: Cluster, assignor: str, topic: str) -> list[int]:
    """Partitions of each member, fewest first."""
    found = cluster.state()["groups"].get(f"by-{assignor}", {}).get("members", [])
    return sorted(len((one.get("assignment") or {}).get(topic, [])) for one in found)


def until(condition: Callable[[], bool], says: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, says()
        time.sleep(0.1)


def test_members_of_each_assignor_outlive_a_killed_one_and_their_coordinator(cluster: Cluster, running: Callable[..., Running]) -> None:
    topic = "assigned"
    cluster.create(topic, PARTITIONS)
    members = {one: [running(*program("confluent_member.py"), cluster.bootstrap, topic, f"by-{one}", one) for _ in range(2)] for one in ASSIGNORS}
    producer = Producer({"bootstrap.servers": cluster.bootstrap})

    def each_reads(first: int) -> None:
        for number in range(first, first + RECORDS):
            producer.produce(topic, str(number), partition=number % PARTITIONS)
        assert producer.flush(PATIENCE_S) == 0
        for assignor, both in members.items():
            until(lambda both=both: set(map(str, range(first + RECORDS))) <= {line for one in both for line in one.lines},
                  lambda assignor=assignor: (assignor, owned(cluster, assignor, topic)))  # fmt: skip

    for assignor in ASSIGNORS:
        until(lambda assignor=assignor: owned(cluster, assignor, topic) == [2, 2], lambda assignor=assignor: (assignor, owned(cluster, assignor, topic)))
    each_reads(0)
    for first, _ in members.values():
        os.killpg(first.process.pid, signal.SIGKILL)
    for assignor in ASSIGNORS:
        until(lambda assignor=assignor: owned(cluster, assignor, topic) == [PARTITIONS], lambda assignor=assignor: (assignor, owned(cluster, assignor, topic)))
    each_reads(RECORDS)
    cluster.do(do="kill", broker=int(cluster.state()["groups"][f"by-{ASSIGNORS[-1]}"]["coordinator"]))
    each_reads(2 * RECORDS)
