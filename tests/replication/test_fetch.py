"""Fetch at every border, with every limit, and waiting."""

from __future__ import annotations

import pytest

from broker_core.log.config import LogConfig
from broker_core.metadata.delta import ReplicaStop
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import Cluster


@pytest.fixture
def cluster() -> Cluster:
    """Broker 1 leads; 0..4 are committed, 5..6 only on the leader; everything below 2 is deleted."""
    cluster = Cluster()
    cluster.assign(1, 3)
    for number in range(5):
        cluster.produce(1, str(number))
    cluster.run(1000)
    for broker in (1, 2, 3):
        cluster.log(broker).delete_records_before(2)
    cluster.world.pause("broker-3")
    cluster.produce(1, "5", acks=1)
    cluster.produce(1, "6", acks=1)
    return cluster


@pytest.mark.parametrize(
    ("offset", "error", "values"),
    [
        (0, ErrorCode.OFFSET_OUT_OF_RANGE, []),
        (1, ErrorCode.OFFSET_OUT_OF_RANGE, []),
        (2, ErrorCode.NONE, ["2", "3", "4"]),
        (4, ErrorCode.NONE, ["4"]),
        (5, ErrorCode.NONE, []),
        (6, ErrorCode.NONE, []),
        (7, ErrorCode.NONE, []),
        (8, ErrorCode.OFFSET_OUT_OF_RANGE, []),
        (-1, ErrorCode.OFFSET_OUT_OF_RANGE, []),
    ],
)
def test_a_consumer_reads_between_log_start_and_high_watermark(cluster, offset, error, values):
    answer = cluster.fetch(1, offset)
    assert answer.data.error_code == error
    assert answer.values == values
    marks = (answer.data.high_watermark, answer.data.last_stable_offset, answer.data.log_start_offset)
    assert marks == ((-1, -1, -1) if error else (5, 5, 2))


def test_a_follower_may_be_read_up_to_its_own_high_watermark_from_version_11_on(cluster):
    assert cluster.fetch(2, 2, version=11).values == ["2", "3", "4"]
    assert cluster.fetch(2, 2, version=10).data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


@pytest.mark.parametrize(
    ("epoch", "error"), [(2, "FENCED_LEADER_EPOCH"), (3, "NONE"), (4, "UNKNOWN_LEADER_EPOCH"), (-1, "NONE")]
)
def test_the_epoch_of_a_request_must_be_the_leaders(cluster, epoch, error):
    assert cluster.fetch(1, 2, leader_epoch=epoch).data.error_code == ErrorCode[error]


def test_a_fenced_consumer_is_told_who_leads(cluster):
    data = cluster.fetch(1, 2, version=16, leader_epoch=2).data
    assert (data.current_leader.leader_id, data.current_leader.leader_epoch) == (1, 3)


def test_an_unknown_partition_is_unknown(cluster):
    assert cluster.fetch(1, 0, index=7).data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_the_first_batch_comes_whole_even_when_it_is_larger_than_the_limits(cluster):
    assert cluster.fetch(1, 2, partition_max_bytes=1).values == ["2"]
    assert cluster.fetch(1, 2, max_bytes=1).values == ["2"]


def test_version_2_gets_nothing_when_the_first_batch_does_not_fit(cluster):
    assert cluster.fetch(1, 2, version=2, partition_max_bytes=1).values == []


def test_a_partition_limit_ends_at_a_whole_batch(cluster):
    size = cluster.fetch(1, 2, partition_max_bytes=1).data.records[0].size
    assert cluster.fetch(1, 2, partition_max_bytes=2 * size + 1).values == ["2", "3"]


def test_a_diverging_reader_is_told_where_the_logs_part(cluster):
    cluster.assign(1, 6)
    cluster.produce(1, "7", acks=1)
    data = cluster.fetch(1, 7, last_fetched_epoch=4).data
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (3, 7)
    data = cluster.fetch(1, 8, last_fetched_epoch=3).data
    assert (data.diverging_epoch.epoch, data.diverging_epoch.end_offset) == (3, 7)
    assert cluster.fetch(1, 7, last_fetched_epoch=3).data.diverging_epoch.end_offset == -1
    assert cluster.fetch(1, 7, last_fetched_epoch=9).data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_fetch_waits_for_its_max_wait_and_then_answers_with_nothing(cluster):
    answer = cluster.fetch(1, 5, max_wait=700)
    cluster.run(699)
    assert answer.waiting
    cluster.run(1)
    assert answer.values == []


def test_a_parked_consumer_is_woken_by_the_high_watermark_not_by_the_append(cluster):
    answer = cluster.fetch(1, 5, max_wait=5000)
    cluster.produce(1, "7", acks=1)
    assert answer.waiting
    cluster.world.resume("broker-3")
    cluster.run(1)
    assert answer.values[0] == "5"


def test_min_bytes_holds_a_fetch_back_until_there_is_enough():
    cluster = Cluster(1)
    cluster.assign(1, 0, replicas=[1])
    cluster.produce(1, "a")
    size = cluster.fetch(1, 0).data.records[0].size
    answer = cluster.fetch(1, 0, max_wait=5000, min_bytes=3 * size)
    cluster.produce(1, "b")
    assert answer.waiting
    cluster.produce(1, "c")
    assert answer.values == ["a", "b", "c"]
    answer = cluster.fetch(1, 3, max_wait=800, min_bytes=3 * size)
    cluster.produce(1, "d")
    cluster.run(800)
    assert answer.values == ["d"]


def test_a_parked_fetch_is_answered_when_leadership_goes(cluster):
    answer = cluster.fetch(1, 5, version=10, max_wait=60_000)
    cluster.assign(2, 4, to=[1])
    assert answer.data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_parked_fetch_is_answered_when_its_replica_is_stopped(cluster):
    answer = cluster.fetch(1, 5, max_wait=60_000)
    errors = cluster.broker(1).replicas.stop_replicas([ReplicaStop("orders", 0, -2, delete=True)])
    cluster.run(0)
    assert errors == [ErrorCode.NONE]
    assert answer.data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.broker(1).logs.get("orders", 0) is None
    assert cluster.fetch(1, 5).data.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_segments_are_crossed_by_a_following_fetch():
    cluster = Cluster(1)
    cluster.topic_configs["orders"] = LogConfig(segment_bytes=200)
    cluster.assign(1, 0, replicas=[1])
    for number in range(10):
        cluster.produce(1, str(number))
    found: list[str] = []
    while len(found) < 10:
        values = cluster.fetch(1, len(found)).values
        assert values
        found += values
    assert found == [str(number) for number in range(10)]
