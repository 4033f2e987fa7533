"""Incremental fetch sessions: what travels, what is looked at, and every error."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from broker_core.metadata.delta import ReplicaStop
from broker_core.replication.fetch_session import IDS_PER_SHARD, SHARDS
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import Answers, Cluster, topic_id


class Client:
    """A consumer of `orders` that keeps its session by hand."""

    def __init__(self, cluster: Cluster, version: int = 12) -> None:
        self.cluster, self.version = cluster, version
        self.id = 0

    def fetch(
        self, epoch: int, positions: dict[int, int] | None = None, forget: list[int] | None = None, max_wait: int = 0,
        topic: Any = None,
    ) -> Any:  # fmt: skip
        by_id = self.version >= 13
        asked = [
            m.FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
            for index, offset in (positions or {}).items()
        ]
        named = {"topic_id": topic or topic_id("orders")} if by_id else {"topic": topic or "orders"}
        request = m.FetchRequest(
            replica_id=-1, max_wait=max_wait, min_bytes=1, session_id=self.id, session_epoch=epoch,
            topics=[m.FetchRequest.FetchTopic(partitions=asked, **named)] if asked else [],
            forgotten_topics_data=[m.FetchRequest.ForgottenTopic(partitions=forget, **named)] if forget else [],
        )  # fmt: skip
        answers = Answers()
        self.cluster.broker(1).replicas.fetch(request, self.version, answers.take, None)
        self.cluster.run(0)
        if max_wait:
            return answers
        (response,) = answers.all
        return response

    def begin(self, positions: dict[int, int]) -> Any:
        response = self.fetch(0, positions)
        self.id = response.session_id
        return response


def named(response: Any) -> list[int]:
    return [data.partition_index for topic in response.responses for data in topic.partitions]


@pytest.fixture
def cluster() -> Cluster:
    cluster = Cluster(1)
    cluster.assign(1, 0, replicas=[1], partitions=5)
    cluster.produce(1, "a", index=2)
    return cluster


def test_a_full_fetch_names_every_partition_and_gives_a_session(cluster):
    client = Client(cluster)
    assert named(client.begin(dict.fromkeys(range(5), 0))) == [0, 1, 2, 3, 4]
    assert client.id > 0


def test_an_incremental_answer_names_only_partitions_with_news(cluster):
    client = Client(cluster)
    client.begin(dict.fromkeys(range(5), 0))
    assert named(client.fetch(1, {2: 1})) == []
    cluster.produce(1, "b", index=4)
    assert named(client.fetch(2)) == [4]
    assert named(client.fetch(3, {4: 1})) == []


def test_what_was_not_taken_is_sent_again(cluster):
    client = Client(cluster)
    client.begin(dict.fromkeys(range(5), 0))
    assert named(client.fetch(1)) == [2]
    assert named(client.fetch(2)) == [2]


def test_a_forgotten_partition_is_silent(cluster):
    client = Client(cluster)
    client.begin(dict.fromkeys(range(5), 0))
    assert named(client.fetch(1, forget=[2, 3])) == []
    cluster.produce(1, "b", index=3)
    assert named(client.fetch(2)) == []
    assert not cluster.partition(1, index=3).consumer_positions


def test_a_wrong_epoch_and_an_unknown_session_are_refused(cluster):
    client = Client(cluster)
    client.begin({0: 0})
    assert client.fetch(2).error_code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    client.id += 1
    assert client.fetch(1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_the_final_epoch_closes_the_session(cluster):
    client = Client(cluster)
    client.begin({0: 0})
    assert named(client.fetch(-1, {0: 0})) == [0]
    assert client.fetch(1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert cluster.broker(1).replicas.sessions.sessions == {}


def test_epoch_0_with_an_id_replaces_the_session(cluster):
    client = Client(cluster)
    client.begin({0: 0})
    before = client.id
    client.begin({1: 0})
    assert client.id != before
    assert list(cluster.broker(1).replicas.sessions.sessions) == [client.id]


def test_a_session_without_partitions_ends(cluster):
    client = Client(cluster)
    client.begin({0: 0})
    response = client.fetch(1, forget=[0])
    assert response.session_id == 0
    assert cluster.broker(1).replicas.sessions.sessions == {}


def test_topic_ids_and_names_do_not_mix_in_a_session(cluster):
    client = Client(cluster, version=13)
    client.begin({0: 0})
    client.version = 12
    assert client.fetch(1).error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_with_topic_ids_the_answer_carries_the_id(cluster):
    client = Client(cluster, version=13)
    response = client.begin({2: 0})
    assert response.responses[0].topic_id == topic_id("orders")
    assert named(response) == [2]
    unknown = client.fetch(1, {0: 0}, topic=uuid.UUID(int=77))
    assert unknown.responses[-1].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


def test_a_deleted_and_recreated_topic_has_another_id(cluster):
    client = Client(cluster, version=13)
    client.begin({0: 0})
    cluster.broker(1).replicas.stop_replicas([ReplicaStop("orders", 0, -2, delete=True)])
    assert client.fetch(1).responses[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    cluster.assign(1, 1, replicas=[1])
    cluster.partition(1).topic_id = uuid.UUID(int=5)
    assert client.fetch(2).responses[0].partitions[0].error_code == ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_parked_incremental_fetch_is_woken_by_one_append_and_looks_at_one_partition(cluster):
    cluster = Cluster(1)
    cluster.assign(1, 0, replicas=[1], partitions=100)
    client = Client(cluster)
    client.begin(dict.fromkeys(range(100), 0))
    answer = client.fetch(1, max_wait=5000)
    session = cluster.broker(1).replicas.sessions.sessions[client.id]
    assert session.dirty == {}
    cluster.produce(1, "a", index=42)
    assert named(answer.all[0]) == [42]
    assert [position.index for position in session.dirty] == [42]


@pytest.mark.interpreted
def test_followers_name_one_partition_of_a_hundred_when_one_has_moved():
    cluster = Cluster(2)
    cluster.assign(1, 0, replicas=[1, 2], partitions=100)
    sent: list[int] = []
    replicas = cluster.broker(1).replicas
    fetch = replicas.fetch

    def counting(request: Any, version: int, done: Any, context: Any) -> None:
        sent.append(sum(len(topic.partitions) for topic in request.topics))
        fetch(request, version, done, context)

    replicas.fetch = counting
    cluster.run(600)
    cluster.produce(1, "a", index=42)
    assert sent == [0, 1]
    assert cluster.values(2, index=42) == ["a"]


def sessions_of(cluster, count):
    """New clients with a session each, if there is room for it."""
    clients = [Client(cluster) for _ in range(count)]
    for client in clients:
        client.begin({0: 0})
    return clients


@pytest.mark.parametrize(("slots", "had"), [(7, 0), (8, 8), (15, 8), (16, 16), (17, 16)])
def test_each_shard_has_an_eighth_of_the_slots_and_without_one_there_is_still_an_answer(slots, had):
    cluster = Cluster(1, max_incremental_fetch_session_cache_slots=slots)
    cluster.assign(1, 0, replicas=[1])
    clients = sessions_of(cluster, 20)
    assert [bool(client.id) for client in clients] == [True] * had + [False] * (20 - had)
    assert [number // IDS_PER_SHARD for number in (client.id for client in clients[:had])] == [n % SHARDS for n in range(had)]


def test_a_stale_session_gives_way_after_two_minutes():
    cluster = Cluster(1, max_incremental_fetch_session_cache_slots=8)
    cluster.assign(1, 0, replicas=[1])
    cache = cluster.broker(1).replicas.sessions
    before = sessions_of(cluster, 8)
    cluster.run(120_001)
    after = sessions_of(cluster, 7)
    assert sorted(cache.sessions) == sorted(client.id for client in [*after, before[7]])
    assert before[0].fetch(1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_a_follower_displaces_a_consumer_of_its_shard():
    cluster = Cluster(2, max_incremental_fetch_session_cache_slots=8)
    cluster.assign(1, 0, replicas=[1, 2], to=[1])
    clients = sessions_of(cluster, 8)
    cluster.assign(1, 1, replicas=[1, 2], to=[2])
    cluster.assign(1, 2, replicas=[1, 2])
    cluster.run(1)
    gone = [client.fetch(1).error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND for client in clients]
    assert gone == [True] + [False] * 7


def test_a_follower_whose_session_was_evicted_goes_on_with_a_new_one():
    cluster = Cluster(2)
    cluster.assign(1, 0, replicas=[1, 2])
    cache = cluster.broker(1).replicas.sessions
    (old,) = cache.sessions
    cache.remove(old)
    cluster.run(600)
    assert not cluster.produce(1, "a").waiting
    assert list(cache.sessions) != [old]


def test_a_follower_forgets_what_came_back_and_went_again_before_it_could_say_so():
    """It led, followed and led again while one request was parked: its session names the partition no more. If it did,
    the leader would answer every request at once, of a partition that nobody here takes."""
    cluster = Cluster(2)
    for topic in ("orders", "bills"):
        cluster.assign(1, 0, topic=topic, replicas=[1, 2])
    cluster.run(600)
    (session,) = cluster.broker(1).replicas.sessions.sessions.values()
    assert sorted(one.partition.topic for one in session.positions.values()) == ["bills", "orders"]
    for leader, epoch in ((2, 1), (1, 2), (2, 3)):
        cluster.assign(leader, epoch, replicas=[1, 2], to=[2])
    cluster.run(600)
    assert [one.partition.topic for one in session.positions.values()] == ["bills"]
