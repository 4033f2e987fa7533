"""ListOffsets, OffsetsForLeaderEpoch, DeleteRecords."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.log.config import LogConfig
from broker_core.records.batch import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import EPOCH_MS, Answers, Cluster


def list_offset(cluster: Cluster, timestamp: int, *, replica_id: int = -1, epoch: int = -1, version: int = 9) -> Any:
    asked = m.ListOffsetsRequest.ListOffsetsPartition(
        partition_index=0, current_leader_epoch=epoch, timestamp=timestamp
    )
    topic = m.ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[asked])
    request = m.ListOffsetsRequest(replica_id=replica_id, isolation_level=0, topics=[topic])
    return cluster.broker(1).replicas.list_offsets(request, version).topics[0].partitions[0]


def delete(cluster: Cluster, offset: int, timeout: int = 10_000) -> Answers:
    asked = m.DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=offset)
    topic = m.DeleteRecordsRequest.DeleteRecordsTopic(name="orders", partitions=[asked])
    answers = Answers()
    cluster.broker(1).replicas.delete_records(
        m.DeleteRecordsRequest(topics=[topic], timeout=timeout), answers.take, None
    )
    cluster.run(0)
    return answers


def one(answers: Answers) -> Any:
    (response,) = answers.all
    return response.topics[0].partitions[0]


@pytest.fixture
def cluster() -> Cluster:
    """Timestamps 0, 10, 20, 30, 40 from the epoch; the last two are not committed."""
    cluster = Cluster()
    cluster.assign(1, 4)
    for number in range(5):
        if number == 3:
            cluster.run(600)
            cluster.world.pause("broker-3")
        records = encode_batch([(EPOCH_MS + 10 * number, None, b"x", [])])
        cluster.broker(1).replicas.append(30_000, 1, [("orders", 0, records)], Answers().take, None)
        cluster.run(0)
    return cluster


@pytest.mark.parametrize(
    ("timestamp", "replica_id", "offset"),
    [
        (-1, -1, 3), (-1, 2, 5), (-1, -2, 5), (-2, -1, 0), (-4, -1, 0), (EPOCH_MS, -1, 0), (EPOCH_MS + 11, -1, 2),
        (EPOCH_MS + 20, -1, 2), (EPOCH_MS + 21, -1, -1), (EPOCH_MS + 21, 2, 3), (EPOCH_MS + 41, 2, -1),
    ],
)  # fmt: skip
def test_offsets_are_found_by_name_and_by_time_below_the_readers_end(cluster, timestamp, replica_id, offset):
    answer = list_offset(cluster, timestamp, replica_id=replica_id)
    assert answer.error_code == 0
    assert answer.offset == offset
    assert answer.leader_epoch == (-1 if offset < 0 else 4)


def test_the_largest_timestamp_is_found(cluster):
    cluster.world.resume("broker-3")
    cluster.run(10)
    answer = list_offset(cluster, -3)
    assert (answer.offset, answer.timestamp) == (4, EPOCH_MS + 40)


def test_version_0_answers_with_a_list(cluster):
    assert list_offset(cluster, -1, version=0).old_style_offsets == [3]


def test_the_leader_epoch_is_checked(cluster):
    assert list_offset(cluster, -1, epoch=3).error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert list_offset(cluster, -1, epoch=5).error_code == ErrorCode.UNKNOWN_LEADER_EPOCH


@pytest.mark.parametrize(("version", "error"), [(7, "OFFSET_NOT_AVAILABLE"), (4, "LEADER_NOT_AVAILABLE")])
def test_a_new_leader_does_not_know_the_end_before_its_mark_reaches_its_epoch(cluster, version, error):
    cluster.world.pause("broker-2")
    cluster.assign(1, 5, to=[1])
    assert list_offset(cluster, -1, version=version).error_code == ErrorCode[error]
    assert list_offset(cluster, -2, version=version).error_code == 0


def test_the_end_of_an_epoch_is_answered(cluster):
    cluster.assign(1, 7, to=[1])
    cluster.produce(1, "y", acks=1)
    found = []
    for epoch in (3, 4, 5, 7, 8):
        asked = m.OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
            partition=0, current_leader_epoch=7, leader_epoch=epoch
        )
        topic = m.OffsetForLeaderEpochRequest.OffsetForLeaderTopic(topic="orders", partitions=[asked])
        request = m.OffsetForLeaderEpochRequest(topics=[topic])
        answer = cluster.broker(1).replicas.offsets_for_leader_epoch(request).topics[0].partitions[0]
        found.append((answer.leader_epoch, answer.end_offset))
    assert found == [(3, 0), (4, 5), (4, 5), (7, 6), (-1, -1)]


def test_delete_records_waits_until_every_replica_has_moved_its_log_start(cluster):
    cluster.world.resume("broker-3")
    cluster.run(1000)
    answers = delete(cluster, 2)
    assert answers.waiting
    cluster.run(1100)
    assert one(answers).error_code == 0
    assert one(answers).low_watermark == 2
    assert [cluster.log(broker).log_start_offset for broker in (1, 2, 3)] == [2, 2, 2]


def test_delete_records_times_out_when_a_follower_is_silent(cluster):
    answers = delete(cluster, 2, timeout=2000)
    cluster.run(2000)
    assert one(answers).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_delete_records_does_not_wait_for_a_broker_that_is_known_to_be_dead(cluster):
    cluster.broker(1).replicas.isr_changes.broker_eligible = lambda broker: broker != 3
    answers = delete(cluster, 2)
    cluster.run(1100)
    assert (one(answers).error_code, one(answers).low_watermark) == (0, 2)


def test_delete_records_up_to_the_high_watermark_and_not_beyond(cluster):
    assert one(delete(cluster, 4)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    cluster.world.resume("broker-3")
    cluster.run(1000)
    answers = delete(cluster, -1)
    cluster.run(1100)
    assert one(answers).low_watermark == 5


def test_a_topic_that_is_only_compacted_loses_no_records_by_request(cluster):
    cluster.log(1).config = LogConfig(cleanup_policy=["compact"])
    assert one(delete(cluster, 2)).error_code == ErrorCode.POLICY_VIOLATION
