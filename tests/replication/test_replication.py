"""Copying, committing, acknowledging."""

from __future__ import annotations

import pytest

from broker_core.log.config import LogConfig
from broker_core.records.batch import assemble, encode_batch
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import EPOCH_MS, Answers, Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.assign(1, 0)
    return cluster


def test_acks_all_is_answered_when_every_replica_has_the_batch(cluster):
    answer = cluster.produce(1, "a", "b")
    assert answer.result.error_code == 0
    assert answer.result.base_offset == 0
    assert [cluster.values(broker) for broker in (1, 2, 3)] == [["a", "b"]] * 3
    assert cluster.log(1).high_watermark == 2


def test_acks_all_waits_for_a_paused_follower_and_is_answered_once_when_it_goes_on(cluster):
    cluster.world.pause("broker-3")
    answer = cluster.produce(1, "a")
    cluster.run(2000)
    assert answer.waiting
    assert cluster.log(1).high_watermark == 0
    cluster.world.resume("broker-3")
    cluster.run(1)
    assert answer.result.error_code == 0
    cluster.run(60_000)
    assert len(answer.all) == 1


def test_acks_all_times_out_with_the_record_still_in_the_log(cluster):
    cluster.world.pause("broker-3")
    answer = cluster.produce(1, "a", timeout_ms=1500)
    cluster.run(1499)
    assert answer.waiting
    cluster.run(1)
    assert answer.result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert cluster.values(1) == ["a"]


@pytest.mark.parametrize("acks", [0, 1])
def test_acks_0_and_1_are_answered_before_anybody_has_a_copy(cluster, acks):
    cluster.world.pause("broker-2")
    cluster.world.pause("broker-3")
    answer = cluster.produce(1, "a", acks=acks)
    assert answer.result.error_code == 0
    assert cluster.log(1).high_watermark == 0


@pytest.mark.parametrize("fault", [False, True])
def test_batches_that_decompress_to_much_leave_turns_to_others_between_them(cluster, fault):
    """Four batches of 9 MiB in 10 KB each; `fault`: each ends in a lie that is seen only at its end."""
    large = encode_batch([(EPOCH_MS, None, bytes(9 << 20), [])], compression=1)
    if fault:
        large = assemble(large[61:] + b"\1", 0, -1, 1, 0, EPOCH_MS, EPOCH_MS, -1, -1, -1, 1)
    answers = Answers()
    entries = [("orders", 0, bytearray(large)) for _ in range(4)]
    cluster.broker(1).replicas.append(30_000, -1, entries, answers.take, None)
    turns = []
    while answers.waiting:
        assert cluster.world.step(cluster.world.now_us + 1_000_000)
        if cluster.world.now_us not in turns:
            turns.append(cluster.world.now_us)
            cluster.produce(1, "small", acks=1)
    assert len(turns) >= 3
    assert [bool(result.error_code) for result in answers.all[0]] == [fault] * 4
    assert cluster.values(1).count("small") == len(turns)


def test_other_acks_are_refused(cluster):
    assert cluster.produce(1, "a", acks=2).result.error_code == ErrorCode.INVALID_REQUIRED_ACKS


def test_followers_learn_the_high_watermark_one_round_later(cluster):
    cluster.produce(1, "a")
    assert [cluster.log(broker).high_watermark for broker in (1, 2, 3)] == [1, 0, 0]
    cluster.run(500)
    assert [cluster.log(broker).high_watermark for broker in (1, 2, 3)] == [1, 1, 1]


def test_a_follower_and_a_stranger_refuse_to_append(cluster):
    assert cluster.produce(2, "a").result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert cluster.produce(2, "a", topic="other").result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_thousand_batches_of_one_instant_reach_the_followers_in_a_few_events(cluster):
    answers = []
    before = cluster.world.executed
    cluster.run = lambda ms=0: None
    for number in range(1000):
        answers.append(cluster.produce(1, str(number)))
    del cluster.run
    cluster.run(0)
    assert all(answer.result.error_code == 0 for answer in answers)
    assert cluster.world.executed - before < 40


def test_one_record_with_acks_all_costs_at_most_twelve_events(cluster):
    cluster.run(3)
    before = cluster.world.executed
    assert not cluster.produce(1, "a").waiting
    assert cluster.world.executed - before <= 12


def test_a_record_reaches_followers_over_a_link_with_delay():
    cluster = Cluster(link_delay_us=5000)
    cluster.assign(1, 0)
    cluster.run(20)
    answer = cluster.produce(1, "a")
    cluster.run(9)
    assert answer.waiting
    cluster.run(2)
    assert answer.result.error_code == 0


def test_not_enough_replicas_is_said_before_anything_is_appended():
    cluster = Cluster()
    cluster.topic_configs["orders"] = LogConfig(min_insync_replicas=2)
    cluster.assign(1, 0, isr=[1], to=[1])
    answer = cluster.produce(1, "a")
    assert answer.result.error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert cluster.values(1) == []


def test_below_min_isr_acks_1_appends_but_nothing_is_committed():
    cluster = Cluster()
    cluster.topic_configs["orders"] = LogConfig(min_insync_replicas=2)
    cluster.assign(1, 0, isr=[1], to=[1])
    assert cluster.produce(1, "a", acks=1).result.error_code == 0
    assert cluster.log(1).high_watermark == 0


def test_an_isr_that_shrinks_after_the_append_gives_not_enough_replicas_after_append(cluster):
    cluster.topic_configs["orders"] = LogConfig(min_insync_replicas=2)
    for broker in (1, 2, 3):
        cluster.log(broker).config = cluster.topic_configs["orders"]
    partition = cluster.partition(1)
    cluster.world.pause("broker-2")
    cluster.world.pause("broker-3")
    answer = cluster.produce(1, "a")
    partition.isr.commit([1])
    partition.log.update_high_watermark(1)
    cluster.broker(1).replicas.produce_purgatory.check_and_complete(partition)
    assert answer.result.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


def test_min_isr_is_never_more_than_the_replicas_that_there_are():
    cluster = Cluster(1)
    cluster.topic_configs["orders"] = LogConfig(min_insync_replicas=3)
    cluster.assign(1, 0, replicas=[1])
    assert cluster.produce(1, "a").result.error_code == 0


def test_a_leader_that_resigns_answers_what_waits_with_not_leader(cluster):
    cluster.world.pause("broker-3")
    answer = cluster.produce(1, "a")
    cluster.assign(2, 1, to=[1, 2])
    assert answer.result.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_the_world_can_be_pickled_in_the_middle_and_both_copies_go_on_alike(cluster):
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    copy = cluster.copy()
    for one in (cluster, copy):
        one.world.resume("broker-3")
        one.produce(1, "b")
        one.run(2000)
    assert copy.values(3) == cluster.values(3) == ["a", "b"]
    assert copy.log(2).high_watermark == 2
    assert copy.world.seq == cluster.world.seq


def test_a_follower_that_returns_copies_what_it_missed(cluster):
    cluster.world.crash("broker-3")
    cluster.assign(1, 1, isr=[1, 2], to=[1, 2])
    for number in range(20):
        cluster.produce(1, str(number))
    cluster.restart(3)
    cluster.assign(1, 2, isr=[1, 2])
    cluster.run(100)
    assert cluster.values(3) == [str(number) for number in range(20)]
    assert sorted(cluster.truth["orders", 0]["isr"]) == [1, 2, 3]


def test_a_follower_of_a_dead_leader_tries_again_after_the_backoff(cluster):
    cluster.world.crash("broker-1")
    sent = len(cluster.events("request_sent"))
    cluster.run(1)
    assert len(cluster.events("request_sent")) == sent
    cluster.run(3100)
    assert 4 <= len(cluster.events("request_sent")) - sent <= 8


def test_idle_replication_costs_a_few_events_a_second(cluster):
    cluster.run(1000)
    before = cluster.world.executed
    cluster.run(10_000)
    assert cluster.world.executed - before < 10 * 2 * 2 * 8


def test_high_watermarks_survive_a_crash_by_their_checkpoint(cluster):
    cluster.produce(1, "a", "b")
    cluster.run(6000)
    cluster.world.crash("broker-2")
    cluster.restart(2)
    cluster.world.pause("broker-1")
    cluster.assign(1, 1, to=[2])
    assert cluster.log(2).high_watermark == 2


def _story(through_codec: bool) -> list[tuple]:
    """Copy, lose a tail, truncate, delete; what happened to the logs."""
    cluster = Cluster()
    cluster.through_codec = through_codec
    cluster.assign(1, 0, partitions=3)
    assert cluster.produce(1, "a", index=1).result.error_code == 0
    cluster.run(600)
    cluster.world.pause("broker-2")
    cluster.world.pause("broker-3")
    cluster.produce(1, "lost", index=1, acks=1)
    cluster.world.pause("broker-1")
    cluster.world.resume("broker-2")
    cluster.world.resume("broker-3")
    cluster.assign(2, 1, isr=[2, 3], to=[2, 3], partitions=3)
    assert cluster.produce(2, "b", index=1).result.error_code == 0
    cluster.world.resume("broker-1")
    cluster.assign(2, 2, isr=[2, 3], partitions=3)
    cluster.run(1100)
    assert [cluster.values(broker, index=1) for broker in (1, 2, 3)] == [["a", "b"]] * 3
    return [row[:4] for row in cluster.world.journal.tail if row[3] in ("log_appended", "high_watermark", "truncated")]


def test_followers_copy_commit_and_truncate_alike_by_reference_and_through_the_codec():
    assert _story(through_codec=True) == _story(through_codec=False)


@pytest.mark.parametrize("start", [2, 3, 5])
def test_a_new_follower_of_a_log_that_starts_within_a_batch_gets_the_whole_batch(start):
    cluster = Cluster()
    cluster.assign(1, 0, replicas=[1, 2])
    cluster.produce(1, "a", "b")
    cluster.produce(1, "c", "d", "e")
    cluster.run(1000)
    cluster.log(1).delete_records_before(start)
    cluster.assign(1, 1, isr=[1, 2], replicas=[1, 2, 3])
    cluster.run(5000)
    cluster.produce(1, "f")
    cluster.run(1000)
    assert cluster.partition(1).isr.committed == [1, 2, 3]
    assert cluster.values(3) == cluster.values(1) == ["a", "b", "c", "d", "e", "f"][start:]
    assert (cluster.log(3).log_start_offset, cluster.log(3).high_watermark) == (start, 6)
    cluster.world.crash("broker-3")
    cluster.restart(3)
    cluster.assign(1, 2, replicas=[1, 2, 3])
    cluster.run(5000)
    assert cluster.values(3) == cluster.values(1)
