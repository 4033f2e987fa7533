"""New leaders: fencing, truncation, and what the controller may not do."""

from __future__ import annotations

import uuid

from broker_core.replication.fetcher_manager import fetcher_number, java_hash
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import Cluster


def errors(answer) -> list[int]:
    return [part.error_code for topic in answer.topics for part in topic.partition_errors]


def test_the_uncommitted_tail_of_a_dead_leader_is_cut_when_it_returns():
    cluster = Cluster()
    cluster.assign(1, 0)
    cluster.produce(1, "a")
    cluster.run(1000)
    for other in ("broker-2", "broker-3"):
        cluster.world.pause(other)
    cluster.produce(1, "lost-1", acks=1)
    cluster.produce(1, "lost-2", acks=1)
    cluster.world.crash("broker-1")
    for other in ("broker-2", "broker-3"):
        cluster.world.resume(other)
    cluster.run(1)
    cluster.assign(2, 1, isr=[2, 3], to=[2, 3])
    assert cluster.produce(2, "b").result.error_code == 0
    cluster.restart(1)
    assert len(cluster.broker(1).logs.get("orders", 0).segments) == 1
    cluster.assign(2, 2, isr=[2, 3])
    cluster.run(1)
    assert [cluster.values(broker) for broker in (1, 2, 3)] == [["a", "b"]] * 3
    (event,) = cluster.events("truncated")
    assert (event["before"], event["after"]) == (3, 1)
    assert sorted(cluster.truth["orders", 0]["isr"]) == [1, 2, 3]


def test_a_long_divergence_over_several_epochs_ends_with_equal_logs():
    cluster = Cluster(2)
    for epoch in range(6):
        leader = 1 + epoch % 2
        cluster.assign(leader, epoch, replicas=[1, 2], isr=[1, 2], to=[leader])
        cluster.produce(leader, f"{epoch}-x", f"{epoch}-y", acks=1)
    cluster.assign(2, 7, replicas=[1, 2], isr=[2])
    cluster.run(5000)
    assert cluster.values(1) == cluster.values(2) == [f"{epoch}-{part}" for epoch in (1, 3, 5) for part in "xy"]
    assert cluster.log(1).leader_epochs.entries[:3] == cluster.log(2).leader_epochs.entries[:3]


def test_a_follower_beyond_the_leaders_start_begins_anew_there():
    cluster = Cluster(2)
    cluster.assign(1, 0, replicas=[1, 2], isr=[1], to=[1])
    for number in range(5):
        cluster.produce(1, str(number))
    cluster.log(1).delete_records_before(3)
    cluster.assign(1, 1, replicas=[1, 2], isr=[1])
    cluster.run(10)
    assert cluster.values(2) == ["3", "4"]
    assert cluster.log(2).log_start_offset == 3


def test_an_equal_or_older_leader_epoch_is_ignored():
    cluster = Cluster()
    cluster.assign(1, 3)
    for epoch in (3, 2):
        answers = cluster.assign(2, epoch)
        assert all(answer == [ErrorCode.STALE_CONTROLLER_EPOCH] for answer in answers.values())
    assert cluster.partition(1).is_leader


def test_another_topic_id_is_inconsistent():
    cluster = Cluster(1)
    cluster.assign(1, 0, replicas=[1])
    cluster.partition(1).topic_id = uuid.UUID(int=9)
    assert cluster.assign(1, 1, replicas=[1])[1] == [ErrorCode.INCONSISTENT_TOPIC_ID]


def test_a_broker_that_is_no_replica_refuses():
    cluster = Cluster()
    assert cluster.assign(2, 0, replicas=[2, 3], to=[1])[1] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_leadership_is_told_to_the_listener():
    cluster = Cluster()
    told = []
    cluster.broker(1).replicas.on_leadership = lambda elected, resigned: told.append((elected, resigned))
    cluster.assign(1, 0)
    cluster.assign(2, 1)
    assert told == [([("orders", 0, 0)], []), ([], [("orders", 0, 1)])]


def test_a_partition_without_leader_is_not_fetched():
    cluster = Cluster()
    cluster.assign(-1, 0)
    assert cluster.events("request_sent") == []
    cluster.assign(1, 1)
    assert not cluster.produce(1, "a").waiting


def test_a_follower_that_is_told_first_waits_for_the_leader_to_learn_it():
    cluster = Cluster()
    cluster.assign(1, 0, to=[2, 3])
    cluster.run(100)
    cluster.assign(1, 0, to=[1])
    answer = cluster.produce(1, "a")
    assert answer.waiting
    cluster.run(1000)
    assert answer.result.error_code == 0


def test_several_fetchers_share_the_partitions_as_kafka_does():
    assert java_hash("orders") == -1008770331
    assert fetcher_number("orders", 0, 4) == abs((31 * -1008770331 + 2**31) % 2**32 - 2**31) % 4
    cluster = Cluster(2, num_replica_fetchers=3)
    cluster.assign(1, 0, replicas=[1, 2], partitions=9)
    fetchers = cluster.broker(2).replicas.fetchers.fetchers
    assert sorted(number for _, number in fetchers) == [0, 1, 2]
    assert sorted(len(fetcher.states) for fetcher in fetchers.values()) == [3, 3, 3]
    cluster.produce(1, "a", index=4)
    assert cluster.values(2, index=4) == ["a"]


def test_a_leader_change_moves_the_partition_to_a_fetcher_of_the_new_leader():
    cluster = Cluster()
    cluster.assign(1, 0)
    assert [leader for leader, _ in cluster.broker(3).replicas.fetchers.fetchers] == [1]
    cluster.assign(2, 1)
    assert [leader for leader, _ in cluster.broker(3).replicas.fetchers.fetchers] == [2]
