"""read_committed over real replication: how far it sees, what it is told, when it wakes, and that a new leader agrees."""

from __future__ import annotations

from typing import Any

import pytest
from tests.replication.harness import EPOCH_MS, Answers, Cluster

from broker_core.records import encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

COMMITTED = 1


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.assign(1, 3)
    return cluster


def append(cluster: Cluster, records: bytearray, leader: int = 1, acks: int = -1, **more: Any) -> Answers:
    answers = Answers()
    cluster.broker(leader).replicas.append(30_000, acks, [("orders", 0, records)], answers.take, None, **more)
    cluster.run(0)
    return answers


def send(cluster: Cluster, producer: int, sequence: int = 0, epoch: int = 0, **more: Any) -> Answers:
    value = f"{producer}:{sequence}".encode()
    records = encode_batch(
        [(EPOCH_MS, None, value, [])], producer_id=producer, producer_epoch=epoch, base_sequence=sequence,
        transactional=True,
    )  # fmt: skip
    return append(cluster, records, **more)


def end(cluster: Cluster, producer: int, commit: bool, epoch: int = 0, coordinator: int = 0, **more: Any) -> Answers:
    records = transaction_marker_batch(commit, producer, epoch, coordinator, EPOCH_MS)
    return append(cluster, records, origin="coordinator", **more)


def told(answers: Answers) -> list[tuple[int, int]]:
    return [(one.producer_id, one.first_offset) for one in answers.data.aborted_transactions]


def list_end(cluster: Cluster, isolation: int, broker: int = 1) -> int:
    kind = m.ListOffsetsRequest
    asked = kind.ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)
    topic = kind.ListOffsetsTopic(name="orders", partitions=[asked])
    request = kind(replica_id=-1, isolation_level=isolation, topics=[topic])
    answer = cluster.broker(broker).replicas.list_offsets(request, 7).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.NONE
    return int(answer.offset)


def test_readers_wait_at_the_first_open_transaction_and_are_told_what_was_aborted(cluster: Cluster) -> None:
    cluster.produce(1, "plain")
    send(cluster, 7)
    send(cluster, 8)
    cluster.run(1000)
    assert cluster.fetch(1, 0).values == ["plain", "7:0", "8:0"]
    waiting = cluster.fetch(1, 0, isolation=COMMITTED)
    assert (waiting.values, waiting.data.last_stable_offset, waiting.data.high_watermark) == (["plain"], 1, 3)
    assert (list_end(cluster, 0), list_end(cluster, COMMITTED)) == (3, 1)
    end(cluster, 7, False)
    end(cluster, 8, True)
    cluster.run(1000)
    after = cluster.fetch(1, 0, isolation=COMMITTED)
    assert (after.data.last_stable_offset, told(after)) == (5, [(7, 1)])
    assert cluster.fetch(1, 0).data.aborted_transactions is None
    assert told(cluster.fetch(1, 4, isolation=COMMITTED)) == []
    assert list_end(cluster, COMMITTED) == 5


def test_a_marker_counts_once_it_is_replicated_and_wakes_who_waits(cluster: Cluster) -> None:
    send(cluster, 7)
    cluster.run(1000)
    parked = cluster.fetch(1, 0, isolation=COMMITTED, max_wait=20_000)
    assert parked.waiting
    cluster.world.pause("broker-3")
    marker = end(cluster, 7, True)
    cluster.run(1000)
    assert marker.waiting and parked.waiting
    assert cluster.fetch(1, 0, isolation=COMMITTED).data.last_stable_offset == 0
    cluster.world.resume("broker-3")
    cluster.run(1000)
    assert not marker.waiting and parked.data.last_stable_offset == 2
    assert parked.values[0] == "7:0"


def test_a_follower_serves_read_committed_as_its_leader_does(cluster: Cluster) -> None:
    send(cluster, 7)
    end(cluster, 7, False)
    send(cluster, 8)
    cluster.run(2000)
    for broker in (1, 2, 3):
        answer = cluster.fetch(broker, 0, isolation=COMMITTED)
        assert (answer.data.last_stable_offset, told(answer)) == (2, [(7, 0)])


def test_a_new_leader_knows_the_open_transaction_and_fences_late_markers(cluster: Cluster) -> None:
    send(cluster, 7, epoch=4)
    end(cluster, 8, True, epoch=2, coordinator=5)
    cluster.run(1000)
    cluster.world.crash("broker-1")
    cluster.assign(2, 4, isr=[2, 3], to=[2, 3])
    cluster.run(1000)
    assert cluster.fetch(2, 0, isolation=COMMITTED).data.last_stable_offset == 0
    assert [list_end(cluster, one, broker=2) for one in (0, COMMITTED)] == [2, 0], "the open one may be as old as it likes"
    late = end(cluster, 7, False, epoch=3, leader=2)
    assert late.result.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    replaced = end(cluster, 8, True, epoch=2, coordinator=4, leader=2)
    assert replaced.result.error_code == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    end(cluster, 7, False, epoch=4, leader=2)
    cluster.run(1000)
    answer = cluster.fetch(2, 0, isolation=COMMITTED)
    assert (answer.data.last_stable_offset, told(answer)) == (3, [(7, 0)])


def test_a_transaction_begins_with_the_guard_of_its_verification(cluster: Cluster) -> None:
    refused = send(cluster, 7, guards={})
    assert refused.result.error_code == ErrorCode.INVALID_TXN_STATE
    partition = cluster.partition(1)
    guard = partition.start_verification(7, 0, 0, False)
    assert send(cluster, 7, guards={("orders", 0): guard}, acks=1).result.error_code == ErrorCode.NONE
    assert partition.start_verification(7, 1, 0, False) is None
    assert send(cluster, 7, 1, guards={}, acks=1).result.error_code == ErrorCode.NONE
