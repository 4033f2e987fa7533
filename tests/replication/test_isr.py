"""Who is in sync: the two ways out, the way in, and what the controller may answer."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.replication.isr import SHRUNK_BUCKETS, InSyncReplicas, buckets_for, by_buckets
from broker_core.replication.protections import Protections
from broker_core.replication.replica import Replica
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import Cluster


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster()
    cluster.assign(1, 0)
    cluster.run(1000)
    return cluster


def test_a_paused_follower_leaves_between_one_and_one_and_a_half_lag_times_after_it_was_last_caught_up(cluster):
    cluster.world.pause("broker-3")
    paused_ms = cluster.world.now_us // 1000
    answer = cluster.produce(1, "a", timeout_ms=60_000)
    cluster.run(29_000)
    assert answer.waiting
    cluster.run(17_000)
    assert answer.result.error_code == 0
    (event,) = cluster.events("isr_shrunk")
    assert event["removed"] == [3] and event["isr"] == [1, 2]
    assert event["reason"] == "no fetch"
    assert 30_000 <= event["lag_ms"]["3"] <= 46_000
    at_ms = next(row[1] for row in cluster.world.journal.tail if row[3] == "isr_shrunk") / 1000
    assert 29_500 <= at_ms - paused_ms <= 45_000


def test_a_silent_follower_that_lacks_nothing_stays(cluster):
    cluster.world.pause("broker-3")
    cluster.run(120_000)
    assert cluster.events("isr_shrunk") == []


def test_a_follower_that_was_idle_at_the_end_for_hours_does_not_leave_at_the_next_append(cluster):
    cluster.run(3_600_000)
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(25_000)
    assert cluster.events("isr_shrunk") == []


def test_a_follower_that_fetches_but_never_reaches_the_end_leaves(cluster):
    cluster.broker(3).replicas.fetch_max_bytes = 1
    cluster.broker(3).replicas.fetchers.fetchers[1, 0].session.restart(0)
    link = cluster.world.network.link("broker-1", "broker-3")
    link.change(delay_us=400_000)
    for number in range(300):
        for part in range(4):
            cluster.produce(1, f"{number}.{part}", acks=1)
        cluster.run(200)
    (event,) = cluster.events("isr_shrunk")
    assert event["removed"] == [3]
    assert event["reason"] == "never at the end"


def test_a_follower_that_caught_up_while_its_removal_was_decided_comes_back_without_new_data(cluster):
    cluster.controller_answers = False
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(60_000)
    cluster.world.resume("broker-3")
    cluster.run(5_000)
    assert cluster.log(3).log_end_offset == 1
    assert cluster.truth["orders", 0]["isr"] == [1, 2, 3], "not decided yet"
    cluster.answer_late()
    assert cluster.truth["orders", 0]["isr"] == [1, 2]
    cluster.run(1_000)
    assert cluster.truth["orders", 0]["isr"] == [1, 2, 3]


def test_an_idle_follower_that_is_registered_anew_is_proposed_with_its_new_epoch(cluster):
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(60_000)
    cluster.broker(2).registrations = 10
    cluster.run(1_000)
    cluster.asked.clear()
    cluster.world.resume("broker-3")
    cluster.run(2_000)
    (partition,) = [data for request in cluster.asked for topic in request.topics for data in topic.partitions]
    assert {one.broker_id: one.broker_epoch for one in partition.new_isr_with_epochs} == {1: 1, 2: 11, 3: 1}


def test_it_comes_back_when_it_has_caught_up(cluster):
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(60_000)
    assert cluster.truth["orders", 0]["isr"] == [1, 2]
    cluster.world.resume("broker-3")
    cluster.run(2000)
    assert cluster.truth["orders", 0]["isr"] == [1, 2, 3]
    (event,) = cluster.events("isr_expanded")
    assert event["added"] == [3]
    assert cluster.partition(1).isr.committed == [1, 2, 3]


def test_while_a_shrink_is_pending_the_high_watermark_still_waits_for_the_follower(cluster):
    cluster.controller_answers = False
    cluster.world.pause("broker-3")
    answer = cluster.produce(1, "a")
    cluster.run(60_000)
    partition = cluster.partition(1)
    assert partition.isr.proposed == [1, 2]
    assert sorted(partition.isr.maximal) == [1, 2, 3]
    assert answer.result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert partition.log.high_watermark == 0


def test_a_change_that_was_certainly_not_applied_is_withdrawn(cluster):
    cluster.refuse = ErrorCode.INELIGIBLE_REPLICA
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(46_000)
    assert not cluster.partition(1).isr.pending
    assert cluster.events("isr_change_refused")[0]["error"] == "INELIGIBLE_REPLICA"


def test_a_change_with_an_old_partition_epoch_waits_for_the_controller_and_is_not_sent_again(cluster):
    cluster.truth["orders", 0]["partition_epoch"] = 99
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(120_000)
    assert cluster.partition(1).isr.pending
    assert len(cluster.asked) == 1


def test_an_error_that_passes_is_tried_again_every_50_ms(cluster):
    cluster.refuse = ErrorCode.UNKNOWN_SERVER_ERROR
    cluster.world.pause("broker-3")
    cluster.produce(1, "a")
    cluster.run(46_000)
    asked = len(cluster.asked)
    assert asked >= 2
    cluster.run(1000)
    assert len(cluster.asked) - asked == 20
    cluster.refuse = None
    cluster.run(100)
    assert cluster.partition(1).isr.committed == [1, 2]


def test_the_request_names_the_broker_epoch_of_every_member(cluster):
    cluster.world.crash("broker-3")
    cluster.restart(3)
    cluster.world.pause("broker-2")
    cluster.assign(1, 1)
    cluster.produce(1, "a")
    cluster.run(60_000)
    (asked,) = cluster.asked
    states = asked.topics[0].partitions[0].new_isr_with_epochs
    epochs = {broker: cluster.world.nodes[f"broker-{broker}"].incarnation for broker in (1, 3)}
    assert epochs[3] > epochs[1]
    assert {state.broker_id: state.broker_epoch for state in states} == epochs


def test_many_partitions_change_their_isr_in_one_request():
    cluster = Cluster()
    cluster.assign(1, 0, partitions=50)
    cluster.run(1000)
    cluster.world.pause("broker-3")
    for index in range(50):
        cluster.produce(1, "a", index=index)
    cluster.run(60_000)
    assert len(cluster.asked) == 1
    assert len(cluster.asked[0].topics[0].partitions) == 50


def test_caught_up_time_follows_the_table():
    replica = Replica(2)
    seen = []
    for t, leader_end, offset in ((0, 100, 100), (500, 180, 140), (1000, 260, 180), (1500, 340, 200)):
        replica.fetched(offset, 0, t, leader_end)
        seen.append(replica.last_caught_up_ms)
    assert seen == [0, 0, 500, 500]


@given(st.lists(st.integers(1, 7), unique=True, min_size=1), st.lists(st.integers(1, 7), unique=True, min_size=1))
def test_the_maximal_isr_holds_both_sets_until_the_answer(committed, proposed):
    isr = InSyncReplicas(Protections())
    isr.commit(committed)
    isr.propose(proposed)
    assert sorted(isr.maximal) == sorted({*committed, *proposed})
    assert isr.committed == committed
    isr.withdraw()
    assert sorted(isr.maximal) == sorted(committed)


@given(st.dictionaries(st.integers(2, 6), st.integers(-1, 30), min_size=1), st.integers(0, 30), st.data())
def test_the_high_watermark_is_the_smallest_log_end_of_the_maximal_isr(ends, own_end, data):
    cluster = Cluster(1)
    cluster.assign(1, 0, isr=[1, *ends], replicas=[1, *ends], to=[1])
    partition = cluster.partition(1)
    members = data.draw(st.lists(st.sampled_from(sorted(ends)), unique=True))
    partition.isr.commit([1, *members])
    if own_end:
        cluster.produce(1, *[str(number) for number in range(own_end)], acks=1)
    before = partition.log.high_watermark
    for broker, end in ends.items():
        partition.remote[broker].log_end_offset = end
        partition.remote[broker].last_caught_up_ms = -1_000_000
    partition.maybe_increment_high_watermark()
    expected = min([own_end, *(ends[broker] for broker in members)])
    assert partition.log.high_watermark == max(before, expected)


@pytest.mark.parametrize(
    ("isr", "joins", "written"),
    [([3], 1, [1, 3]), ([3, 2], 1, [1, 2, 3]), ([7], 8, [8, 7]), ([1, 9, 17, 8], 20, [8, 1, 9, 17, 20]),
     ([1, 9, 17, 8, 3], 20, [1, 17, 3, 20, 8, 9]), ([2, 3], 1001, [1001, 2, 3])],
)  # fmt: skip
def test_a_grown_isr_is_written_as_the_hash_table_of_kafka_4_3_gives_it(isr, joins, written):
    """Found out from the classes that Kafka 4.3 brings along: Set.copyOf, JSetWrapper.map, `+`, toList."""
    grown = [*isr, joins]
    assert by_buckets(grown, buckets_for(len(grown))) == written


@pytest.mark.parametrize(
    ("rest", "written"), [([2, 1], [1, 2]), ([7, 8], [7, 8]), ([7, 17, 16], [16, 17, 7]), ([70_000, 2], [70_000, 2])]
)
def test_a_shrunk_isr_is_written_as_the_hash_table_of_kafka_4_3_gives_it(rest, written):
    assert by_buckets(rest, SHRUNK_BUCKETS) == written
