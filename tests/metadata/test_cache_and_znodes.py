"""What a broker believes, what topics may be called, and what stands in the tree."""

from __future__ import annotations

import uuid

import pytest

from broker_core.controller.zk import znodes
from broker_core.controller.zk.znodes import BrokerInfo, TopicInfo
from broker_core.metadata import topic_names
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.delta import MetadataDelta, TopicDelta
from broker_core.metadata.errors import RequestError
from broker_core.metadata.partition import LeaderAndIsr, ReplicaAssignment
from broker_core.metadata.registration import BrokerRegistration, Endpoint, PartitionRegistration
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

TOPIC_ID = uuid.UUID(int=77)


def update(leader: int | None, alive: list[int], isr: list[int] | None = None, controller: int = 1) -> MetadataDelta:
    """One partition with this leader; None: it is gone."""
    state = None if leader is None else PartitionRegistration([1, 2, 3], isr or [1, 2], leader, 5, 9)
    listeners = {"PLAINTEXT": Endpoint("PLAINTEXT", "h", 9092)}
    brokers = {each: BrokerRegistration(each, listeners) for each in alive}
    return MetadataDelta(controller, brokers, [TopicDelta("orders", TOPIC_ID, {0: state})])


def described(cache: MetadataCache, **options: bool) -> m.MetadataResponse.MetadataResponsePartition:
    topic = cache.describe_topic("orders", "PLAINTEXT", **options)
    assert topic is not None
    partition: m.MetadataResponse.MetadataResponsePartition = topic.partitions[0]
    return partition


def test_a_live_leader_is_named() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 2, 3]))
    part = described(cache)
    assert (part.error_code, part.leader_id, part.leader_epoch, part.isr_nodes) == (ErrorCode.NONE, 2, 5, [1, 2])
    assert cache.topic_names[TOPIC_ID] == "orders"
    assert cache.controller_id == 1


def test_a_dead_leader_is_not_available() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 3]))
    part = described(cache)
    assert (part.error_code, part.leader_id, part.replica_nodes) == (ErrorCode.LEADER_NOT_AVAILABLE, -1, [1, 2, 3])


def test_a_missing_listener_is_named_to_newer_clients_only() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 2, 3]))
    for newer, code in ((True, ErrorCode.LISTENER_NOT_FOUND), (False, ErrorCode.LEADER_NOT_AVAILABLE)):
        topic = cache.describe_topic("orders", "SSL", name_missing_listeners=newer)
        assert topic is not None
        assert topic.partitions[0].error_code == code


def test_version_0_leaves_dead_replicas_out_and_says_so() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 2]))
    assert described(cache).replica_nodes == [1, 2, 3]
    old = described(cache, drop_dead_replicas=True)
    assert (old.error_code, old.replica_nodes) == (ErrorCode.REPLICA_NOT_AVAILABLE, [1, 2])


def test_a_partition_that_is_gone_is_forgotten() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 2, 3]))
    assert cache.apply(update(None, [1, 2, 3])) == [("orders", 0)]
    assert cache.describe_topic("orders", "PLAINTEXT") is None
    assert cache.topic_ids == {}


def test_a_fenced_broker_is_not_alive_and_what_it_holds_is_offline_unless_somebody_knows_better() -> None:
    cache = MetadataCache(1)
    delta = update(2, [1, 2, 3])
    assert delta.brokers is not None
    delta.brokers[3].fenced = True
    cache.apply(delta)
    assert not cache.is_alive(3) and described(cache).offline_replicas == [3]
    told = update(2, [1, 2])
    told.topics[0].partitions[0].offline_replicas = []  # type: ignore[union-attr]
    cache.apply(told)
    assert described(cache).offline_replicas == []


def test_a_delta_without_brokers_leaves_them_as_they_are() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 2, 3]))
    cache.apply(MetadataDelta(1, None, [], offset=7))
    assert sorted(cache.brokers) == [1, 2, 3] and cache.offset == 7


def test_without_an_update_the_cache_goes_on_believing() -> None:
    cache = MetadataCache(1)
    cache.apply(update(2, [1, 2, 3]))
    version = cache.version
    assert cache.leader("orders", 0) == 2
    assert cache.version == version


@pytest.mark.parametrize(("name", "problem"), [
    ("orders.eu_1-x", None), ("", "empty"), (".", "not allowed"), ("..", "not allowed"),
    ("a" * 249, None), ("a" * 250, "249"), ("bestellung€", "ASCII"), ("a b", "ASCII"),
])  # fmt: skip
def test_topic_names_follow_the_rules(name: str, problem: str | None) -> None:
    found = topic_names.problem_with(name)
    assert found is None if problem is None else found is not None and problem in found


def test_hello_dot_kafka_collides_with_hello_underscore_kafka() -> None:
    with pytest.raises(RequestError) as refused:
        topic_names.validate_new("hello.kafka", ["other", "hello_kafka"])
    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    with pytest.raises(RequestError) as refused:
        topic_names.validate_new("other", ["other"])
    assert refused.value.code is ErrorCode.TOPIC_ALREADY_EXISTS


def test_znodes_read_as_kafka_writes_them() -> None:
    info = BrokerInfo(1, [Endpoint("PLAINTEXT", "localhost", 9092)], timestamp_ms=1700000000000)
    assert info.encode() == (
        b'{"features":{},"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"endpoints":'
        b'["PLAINTEXT://localhost:9092"],"jmx_port":-1,"port":9092,"host":"localhost","version":5,'
        b'"timestamp":"1700000000000"}'
    )
    topic = TopicInfo(uuid.UUID(int=1), {0: ReplicaAssignment([1, 2])})
    assert topic.encode() == (
        b'{"partitions":{"0":[1,2]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ",'
        b'"adding_replicas":{},"removing_replicas":{},"version":3}'
    )
    state = LeaderAndIsr(1, [1, 2], 5, 9, 3)
    assert znodes.encode_state(state) == b'{"controller_epoch":3,"leader":1,"version":1,"leader_epoch":5,"isr":[1,2]}'


def test_what_is_written_can_be_read_again() -> None:
    info = BrokerInfo(1, [Endpoint("PLAINTEXT", "::1", 9092), Endpoint("SSL", "h", 1, "SSL")], "rack-a", 40, 5)
    assert BrokerInfo.decode(1, info.encode(), 40) == info
    topic = TopicInfo(TOPIC_ID, {0: ReplicaAssignment([3, 4, 1], [3, 4], [1]), 1: ReplicaAssignment([1])})
    assert TopicInfo.decode(topic.encode()) == topic
    state = LeaderAndIsr(-1, [2], 5, 9, 3)
    assert znodes.decode_state(znodes.encode_state(state), 9) == state
    assert znodes.decode_config_change(znodes.encode_config_change("topics", "orders")) == ("topics", "orders")
    assert znodes.decode_producer_block(znodes.encode_producer_block(2, 0, 999)) == (2, 0, 999)


def test_a_move_begins_with_the_new_replicas_in_front() -> None:
    moved = ReplicaAssignment([1, 2, 3]).reassign_to([3, 4])
    assert (moved.replicas, moved.adding, moved.removing) == ([3, 4, 1, 2], [4], [1, 2])
    assert (moved.target, moved.origin) == ([3, 4], [3, 1, 2])
