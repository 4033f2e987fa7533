"""The transaction coordinator is killed in each of its states under a producer of librdkafka, and of aiokafka: nothing is lost
or doubled.

What makes a state last is that the marker for one partition is held up on its way; then the condition of the grammar
says when it is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer
from confluent_kafka import Producer

from broker_core.coordinators.partitioning import partition_for
from lab.testing import cluster
from lab.testing.clusters import Cluster
from tests.clients.conftest import to_the_end
from tests.conftest import PATIENCE_S

pytestmark = pytest.mark.clients
PARTITIONS, LOGS = 3, 5
SETTINGS = {
    "transaction.state.log.num.partitions": str(LOGS), "min.insync.replicas": "2", "default.replication.factor": "3",
    "broker.session.timeout.ms": "1000", "broker.heartbeat.interval.ms": "300",
}  # fmt: skip
COORDINATOR = f"__transaction_state-{partition_for('tx', LOGS)}"
HELD_MS = 60_000
"""A marker stays away until the connection on which it waits has gone with the coordinator."""


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(controller="kraft", controllers=1, settings=SETTINGS, topics={"orders": PARTITIONS}, directory=tmp_path / "lab") as started:
        yield started


def written(kafka: Cluster, isolation: str) -> list[str]:
    """Everything up to the end that this isolation level shows."""
    return sorted(message.value().decode() for message in to_the_end(kafka.bootstrap, "orders", PARTITIONS, isolation))


def coordinator(kafka: Cluster) -> int:
    return int(kafka.wait(leader_of=COORDINATOR, is_=">= 1", within=PATIENCE_S))


def kill(kafka: Cluster, state: str) -> None:
    """The broker that coordinates, as soon as the id is in this state; the last one that was killed is back by then."""
    kafka.wait(transaction_state_of="tx", is_=state, within=PATIENCE_S)
    dead = coordinator(kafka)
    kafka.kill(dead)
    kafka.wait(leader_of=COORDINATOR, before=dead, within=PATIENCE_S)
    kafka.restart(dead)
    for name in (COORDINATOR, *(f"orders-{number}" for number in range(PARTITIONS))):
        kafka.wait(isr_of=name, is_=3, within=PATIENCE_S)


def hold_a_marker(kafka: Cluster) -> None:
    """On its way to the leader of a partition that does not coordinate."""
    leaders = [kafka.value(leader_of=f"orders-{number}") for number in range(PARTITIONS)]
    here = coordinator(kafka)
    other = next(leader for leader in leaders if leader != here)
    kafka.command({"do": "hold_next", "between": [here, other], "api": "WriteTxnMarkers", "delay_ms": HELD_MS})


def seen(kafka: Cluster, committed: list[str], aborted: list[str]) -> None:
    """Each transaction whole, or not at all."""
    assert written(kafka, "read_committed") == sorted(f"{word}/{number}" for word in committed for number in range(PARTITIONS))
    everything = sorted(f"{word}/{number}" for word in (*committed, *aborted) for number in range(PARTITIONS))
    assert written(kafka, "read_uncommitted") == everything


def test_nothing_is_lost_or_doubled_whatever_the_coordinator_was_doing_when_it_was_killed(kafka: Cluster) -> None:
    producer = Producer({"bootstrap.servers": kafka.bootstrap, "transactional.id": "tx"})
    committed, aborted = list[str](), list[str]()

    def write(word: str) -> None:
        producer.begin_transaction()
        for number in range(PARTITIONS):
            producer.produce("orders", f"{word}/{number}", partition=number)
        assert producer.flush(PATIENCE_S) == 0

    producer.init_transactions(PATIENCE_S)
    kill(kafka, "Empty")
    write("ongoing")
    kill(kafka, "Ongoing")
    producer.commit_transaction(PATIENCE_S)
    committed.append("ongoing")
    kill(kafka, "CompleteCommit")
    with ThreadPoolExecutor(1) as pool:
        for word, state, end, told in (
            ("committed", "PrepareCommit", producer.commit_transaction, committed),
            ("aborted", "PrepareAbort", producer.abort_transaction, aborted),
        ):
            write(word)
            hold_a_marker(kafka)
            ending = pool.submit(end, PATIENCE_S)
            kill(kafka, state)
            ending.result(PATIENCE_S)
            told.append(word)
    kill(kafka, "CompleteAbort")
    write("last")
    producer.commit_transaction(PATIENCE_S)
    committed.append("last")
    seen(kafka, committed, aborted)


def test_a_producer_of_aiokafka_outlives_its_coordinator_too(kafka: Cluster) -> None:
    async def story() -> None:
        producer = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id="tx")
        await producer.start()

        async def write(word: str, *numbers: int) -> None:
            for number in numbers:
                await producer.send_and_wait("orders", f"{word}/{number}".encode(), partition=number)

        await producer.begin_transaction()
        await write("ongoing", 0)
        await asyncio.to_thread(kill, kafka, "Ongoing")
        await write("ongoing", *range(1, PARTITIONS))
        await asyncio.wait_for(producer.commit_transaction(), PATIENCE_S)
        for word, state, end in (("committed", "PrepareCommit", producer.commit_transaction), ("aborted", "PrepareAbort", producer.abort_transaction)):
            await producer.begin_transaction()
            await write(word, *range(PARTITIONS))
            hold_a_marker(kafka)
            ending = asyncio.ensure_future(end())
            await asyncio.to_thread(kill, kafka, state)
            await asyncio.wait_for(ending, PATIENCE_S)
        async with producer.transaction():
            await write("last", *range(PARTITIONS))
        await producer.stop()

    asyncio.run(story())
    seen(kafka, ["ongoing", "committed", "last"], ["aborted"])
