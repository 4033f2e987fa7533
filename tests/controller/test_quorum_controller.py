"""The KRaft controller on a quorum: brokers come and go, topics are made, and a standby takes over."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from broker_core.metadata import records as r
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from tests.controller.kraft_clusters import ControllerQuorum


def test_a_new_cluster_begins_with_its_feature_levels():
    quorum = ControllerQuorum()
    quorum.run(1)
    assert {quorum.controller(one).image.features["metadata.version"] for one in quorum.ids} == {30}
    assert [quorum.controller(one).is_active for one in quorum.ids].count(True) == 1


def test_a_broker_is_fenced_until_it_has_read_its_own_registration():
    quorum = ControllerQuorum()
    answer = quorum.register(1)
    quorum.epochs[1] = answer.broker_epoch
    assert answer.error_code == 0 and quorum.image.brokers[1].fenced
    behind = m.BrokerHeartbeatRequest(broker_id=1, broker_epoch=answer.broker_epoch, current_metadata_offset=answer.broker_epoch - 1)
    found = quorum.call(ApiKey.BROKER_HEARTBEAT, behind)
    assert (found.is_caught_up, found.is_fenced) == (False, True)
    found = quorum.heartbeat(1)
    assert (found.is_caught_up, found.is_fenced) == (True, False)
    assert not quorum.image.brokers[1].fenced


def test_the_broker_epoch_is_the_offset_of_its_registration():
    quorum = ControllerQuorum()
    epoch = quorum.register(1).broker_epoch
    log = quorum[quorum.leader or 0].raft.log
    assert epoch == log.end_offset - 1 or quorum.active.committed >= epoch
    assert quorum.image.brokers[1].epoch == epoch
    assert quorum.register(1).broker_epoch == epoch, "the same start asks again"


def test_a_second_broker_with_a_living_id_is_refused_and_a_dead_one_s_id_can_be_taken():
    quorum = ControllerQuorum()
    quorum.start_brokers(1)
    assert quorum.register(1, incarnation=2).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    quorum.run(10)
    answer = quorum.register(1, incarnation=2)
    assert answer.error_code == 0 and answer.broker_epoch > quorum.epochs[1]
    stale = m.BrokerHeartbeatRequest(broker_id=1, broker_epoch=quorum.epochs[1], current_metadata_offset=10**6)
    assert quorum.call(ApiKey.BROKER_HEARTBEAT, stale).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_that_stopped_in_order_waits_for_its_session_unless_a_new_controller_took_over():
    """As Apache Kafka 4.3 answers: 101 for nine seconds after should_shut_down, and none from a controller that came later."""
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2)
    assert quorum.heartbeat(1, want_shut_down=True).should_shut_down and quorum.image.brokers[1].fenced
    quorum.pass_time(6, 2)
    assert quorum.register(1, incarnation=2, previous=quorum.epochs[1]).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    assert quorum.heartbeat(2, want_shut_down=True).should_shut_down
    quorum.world.crash(quorum.node(quorum.leader or 0))
    quorum.wait_for_leader()
    for broker in (1, 2):
        assert quorum.register(broker, incarnation=3, previous=quorum.epochs[broker]).error_code == 0


def test_a_new_controller_keeps_the_id_of_a_living_broker_from_others():
    quorum = ControllerQuorum()
    quorum.start_brokers(1)
    quorum.world.crash(quorum.node(quorum.leader or 0))
    quorum.wait_for_leader()
    assert quorum.register(1, incarnation=2).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION


def test_a_broker_of_another_cluster_or_too_old_for_this_one_is_refused():
    quorum = ControllerQuorum()
    kind = m.BrokerRegistrationRequest
    assert quorum.call(ApiKey.BROKER_REGISTRATION, kind(broker_id=1, cluster_id="other")).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    old = kind.Feature(name="metadata.version", min_supported_version=1, max_supported_version=3)
    body = kind(broker_id=1, cluster_id=quorum[1].raft.cluster_id, features=[old])
    assert quorum.call(ApiKey.BROKER_REGISTRATION, body).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_topics_are_placed_on_living_brokers_and_known_to_every_controller():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    assert quorum.create("orders", partitions=4, min_insync_replicas="2").error_code == 0
    quorum.run(1)
    for one in quorum.ids:
        image = quorum.controller(one).image
        topic = image.topics[image.topic_ids["orders"]]
        assert [sorted(each.replicas) for each in topic.partitions.values()] == [[1, 2, 3]] * 4
        assert [each.leader for each in topic.partitions.values()] == [each.replicas[0] for each in topic.partitions.values()]
        assert image.configs[2, "orders"] == {"min.insync.replicas": "2"}


@pytest.mark.parametrize(("values", "error"), [
    ({"factor": 4}, ErrorCode.INVALID_REPLICATION_FACTOR), ({"partitions": 0}, ErrorCode.INVALID_PARTITIONS),
    ({"retention_hours": "1"}, ErrorCode.INVALID_CONFIG), ({"assignment": [[1, 9]]}, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
])
def test_a_topic_that_cannot_be_is_refused_and_leaves_nothing(values: dict[str, Any], error: ErrorCode):
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    assert quorum.create("orders", **values).error_code == error
    assert quorum.image.topics == {}


def test_names_that_are_taken_or_collide_are_refused():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("hello.kafka")
    assert quorum.create("hello.kafka").error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    assert quorum.create("hello_kafka").error_code == ErrorCode.INVALID_TOPIC_EXCEPTION


def test_a_silent_broker_is_fenced_after_its_session_and_its_leaderships_move():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    begun = quorum.world.now_us
    quorum.pass_time(20, 2, 3)
    assert quorum.image.brokers[1].fenced and not quorum.image.brokers[2].fenced
    found = quorum.partition("orders")
    assert (found.leader, found.isr, found.leader_epoch) == (2, [2, 3], 1)
    gone = [row for row in quorum.world.journal.tail if row[3] == "broker_gone"]
    assert 7_500_000 < gone[0][1] - begun < 10_125_000, "9 s after its last heartbeat, looked at every 1.125 s"


def test_a_broker_that_returns_leads_what_had_no_leader():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2)
    quorum.create("orders", [[1]])
    quorum.pass_time(12, 2)
    assert (quorum.partition("orders").leader, quorum.partition("orders").isr) == (-1, [])
    assert quorum.partition("orders").elr == [1]
    quorum.heartbeat(1)
    assert (quorum.partition("orders").leader, quorum.partition("orders").isr) == (1, [1])


def test_a_broker_that_lost_its_unflushed_records_is_in_neither_isr_nor_elr():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2)
    quorum.create("orders", [[1, 2]], min_insync_replicas="2")
    quorum.pass_time(12, 2)
    assert quorum.partition("orders").elr == [1]
    quorum.start_brokers(1, incarnation=2, previous=-1)
    assert quorum.partition("orders").elr == []
    quorum.pass_time(12, 2)
    quorum.start_brokers(1, incarnation=3, previous=quorum.epochs[1])


def test_a_controlled_shutdown_moves_leaders_first():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    first = quorum.heartbeat(1, want_shut_down=True)
    assert (first.should_shut_down, first.is_fenced) == (False, False)
    assert quorum.partition("orders").leader == 2 and quorum.image.brokers[1].in_controlled_shutdown
    quorum.heartbeat(2)
    quorum.heartbeat(3)
    last = quorum.heartbeat(1, want_shut_down=True)
    assert (last.should_shut_down, last.is_fenced) == (True, True)
    assert quorum.image.brokers[1].fenced


def alter(quorum: ControllerQuorum, broker: int, isr: list[int], **values: Any) -> Any:
    kind = m.AlterPartitionRequest
    now = quorum.partition("orders")
    partition = kind.PartitionData(**{
        "partition_index": 0, "leader_epoch": now.leader_epoch, "partition_epoch": now.partition_epoch,
        "new_isr_with_epochs": [kind.BrokerState(broker_id=one, broker_epoch=quorum.epochs.get(one, -1)) for one in isr],
        **values,
    })
    topic = kind.TopicData(topic_id=quorum.image.topic_ids["orders"], partitions=[partition])
    answer = quorum.call(ApiKey.ALTER_PARTITION, kind(broker_id=broker, broker_epoch=quorum.epochs[broker], topics=[topic]))
    return answer.topics[0].partitions[0] if answer.topics else answer


def test_a_leader_s_isr_is_taken_over_and_answered_with_the_new_partition_epoch():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    answer = alter(quorum, 1, [1, 2])
    assert (answer.error_code, answer.isr, answer.partition_epoch, answer.leader_epoch) == (0, [1, 2], 1, 0)
    assert quorum.partition("orders").isr == [1, 2]


def test_isrs_that_must_not_be_are_refused():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    quorum.pass_time(12, 1, 2)
    assert alter(quorum, 1, [1, 2, 3]).error_code == ErrorCode.INELIGIBLE_REPLICA, "3 is fenced"
    assert alter(quorum, 2, [1, 2]).error_code == ErrorCode.INVALID_REQUEST, "2 does not lead"
    assert alter(quorum, 1, [1], leader_epoch=9).error_code == ErrorCode.NOT_CONTROLLER
    assert alter(quorum, 1, [1], partition_epoch=0).error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert alter(quorum, 1, [2]).error_code == ErrorCode.INVALID_REQUEST, "without its leader"
    quorum.epochs[2] += 1
    assert alter(quorum, 1, [1, 2]).error_code == ErrorCode.INELIGIBLE_REPLICA, "2 has restarted since (KIP-903)"


def test_preferred_leaders_take_over_when_asked():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    quorum.pass_time(12, 2, 3)
    quorum.heartbeat(1)
    alter(quorum, 2, [2, 3, 1])
    body = m.ElectLeadersRequest(election_type=0, topic_partitions=None, timeout=1000)
    assert quorum.call(ApiKey.ELECT_LEADERS, body).replica_election_results[0].partition_result[0].error_code == 0
    assert quorum.partition("orders").leader == 1
    assert quorum.call(ApiKey.ELECT_LEADERS, body).replica_election_results[0].partition_result == [], "there is nothing to do"


def test_topics_grow_and_go():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", retention_ms="5")
    topic = m.CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=3, assignments=None)
    assert quorum.call(ApiKey.CREATE_PARTITIONS, m.CreatePartitionsRequest(topics=[topic], timeout=1)).results[0].error_code == 0
    assert len(quorum.image.topics[quorum.image.topic_ids["orders"]].partitions) == 3
    kind = m.DeleteTopicsRequest
    body = kind(topics=[kind.DeleteTopicState(name="orders"), kind.DeleteTopicState(name="none")], timeout=1)
    assert [one.error_code for one in quorum.call(ApiKey.DELETE_TOPICS, body).responses] == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert (quorum.image.topics, list(quorum.image.configs)) == ({}, [(4, "")])


def test_producer_ids_come_in_blocks_that_nobody_else_has():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2)
    found = [quorum.call(ApiKey.ALLOCATE_PRODUCER_IDS, m.AllocateProducerIdsRequest(broker_id=one, broker_epoch=quorum.epochs[one])) for one in (1, 2)]
    assert [(one.producer_id_start, one.producer_id_len) for one in found] == [(0, 1000), (1000, 1000)]


def test_a_standby_takes_over_with_everything_that_was_committed():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    first = quorum.leader
    assert first is not None
    before = quorum.image.topics
    quorum.world.crash(quorum.node(first))
    quorum.wait_for_leader()
    quorum.run(1)
    assert quorum.leader != first and quorum.image.topics == before
    for broker in (1, 2, 3):
        assert not quorum.heartbeat(broker).is_fenced
    assert quorum.create("more").error_code == 0
    quorum.world.start_node(quorum.node(first))
    quorum.run(5)
    assert quorum.controller(first).image.topics == quorum.image.topics


def test_only_the_active_controller_decides():
    quorum = ControllerQuorum()
    standby = next(one for one in quorum.ids if one != quorum.leader)
    body = m.BrokerHeartbeatRequest(broker_id=1, broker_epoch=1)
    assert quorum.ask(standby, ApiKey.BROKER_HEARTBEAT, 1, body).error_code == ErrorCode.NOT_CONTROLLER


def test_nothing_is_answered_that_is_not_committed_and_what_was_not_is_forgotten():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    old = quorum.leader
    assert old is not None
    quorum.isolate(old)
    kind = m.CreateTopicsRequest
    body = kind(topics=[kind.CreatableTopic(name="lost", num_partitions=1, replication_factor=1)], timeout=1)
    with pytest.raises(AssertionError, match="no answer"):
        quorum.ask(old, ApiKey.CREATE_TOPICS, 7, body, 1)
    assert "lost" in quorum.controller(old).image.topic_ids, "the next decision would build on it"
    quorum.run(8)
    quorum.isolate(old, False)
    quorum.run(5)
    assert not quorum.controller(old).is_active
    assert "lost" not in quorum.controller(old).image.topic_ids
    assert quorum.controller(old).image.brokers == quorum.image.brokers


def test_time_passes_in_the_log_twice_a_second():
    quorum = ControllerQuorum()
    quorum.run(2)
    end = quorum.active.committed
    quorum.run(10)
    assert 18 <= quorum.active.committed - end <= 21


def test_an_unregistered_broker_is_forgotten_and_its_partitions_find_other_leaders():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]])
    body = m.UnregisterBrokerRequest(broker_id=1)
    assert quorum.call(ApiKey.UNREGISTER_BROKER, body).error_code == 0
    assert 1 not in quorum.image.brokers and quorum.partition("orders").leader == 2
    assert quorum.call(ApiKey.UNREGISTER_BROKER, body).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED


def test_a_controller_that_starts_again_begins_with_its_snapshot():
    quorum = ControllerQuorum()
    quorum.start_brokers(1, 2, 3)
    quorum.create("orders", [[1, 2, 3]], min_insync_replicas="2")
    quorum.run(1)
    standby = next(one for one in quorum.ids if one != quorum.leader)
    written = quorum.controller(standby).write_snapshot(quorum[standby].node.wall_ms())
    assert written is not None
    quorum.create("later", [[1]])
    quorum.world.crash(quorum.node(standby))
    quorum.world.start_node(quorum.node(standby))
    quorum.run(5)
    image = quorum.controller(standby).image
    assert (image.topics, image.brokers, image.configs, image.features) == (
        quorum.image.topics, quorum.image.brokers, quorum.image.configs, quorum.image.features)


def test_a_world_with_controllers_can_be_pickled_and_goes_on_the_same():
    import pickle

    quorum = ControllerQuorum()
    quorum.start_brokers(1)
    nodes = {name: node.factory for name, node in quorum.world.nodes.items()}
    for node in quorum.world.nodes.values():
        node.factory = None  # type: ignore[assignment]
    again = pickle.loads(pickle.dumps(quorum.world))
    for name, factory in nodes.items():
        quorum.world.nodes[name].factory = again.nodes[name].factory = factory
    rows = []
    for world in (quorum.world, again):
        world.run_until(world.now_us + 15_000_000)
        rows.append([row for row in world.journal.tail if row[1] > world.now_us - 15_000_000])
    assert rows[0] == rows[1] and rows[0]


def update_features(quorum: ControllerQuorum, **levels: int) -> Any:
    kind = m.UpdateFeaturesRequest
    updates = [kind.FeatureUpdateKey(feature=name.replace("_", "."), max_version_level=level, upgrade_type=1) for name, level in levels.items()]
    return quorum.call(ApiKey.UPDATE_FEATURES, kind(feature_updates=updates))


def test_static_voters_become_records_once_all_have_said_who_they_are():
    quorum = ControllerQuorum()
    assert update_features(quorum, kraft_version=1).error_code == ErrorCode.INVALID_UPDATE_VERSION
    quorum.run(10)
    assert update_features(quorum, kraft_version=1).error_code == 0
    quorum.run(1)
    for one in quorum.ids:
        history = quorum[one].raft.history
        assert history.last_version == 1
        assert [node.key for node in history.last_voters] == [quorum[each].raft.own.key for each in quorum.ids]
    first = quorum.leader
    assert first is not None
    quorum.world.crash(quorum.node(first))
    quorum.wait_for_leader()
    quorum.world.start_node(quorum.node(first))
    quorum.run(5)
    assert quorum[first].raft.history.last_version == 1, "whatever the static setting says"


def test_snapshots_are_written_after_so_many_bytes_and_so_much_time():
    quorum = ControllerQuorum(metadata_log_max_record_bytes_between_snapshots=5_000)
    quorum.run(60)
    by_size = quorum.events("metadata_snapshot")
    assert len({name for name, _ in by_size}) == 3, "each process by itself"
    hourly = ControllerQuorum(metadata_log_max_snapshot_interval_ms=20_000)
    hourly.run(61)
    ends = [values["offset"] for name, values in hourly.events("metadata_snapshot") if name == "controller-1"]
    assert len(ends) == 3 and ends[1] - ends[0] == pytest.approx(40, abs=2), "two no-op records a second"


def test_a_transaction_that_its_controller_did_not_end_never_was():
    quorum = ControllerQuorum()
    quorum.start_brokers(1)
    first, raft = quorum.leader, quorum.active.raft
    assert first is not None
    begun = [r.BeginTransactionRecord(name="half"), r.TopicRecord(name="half", topic_id=uuid.UUID(int=500))]
    raft.append(raft.quorum.epoch, [r.encode(record) for record in begun])
    quorum.run(0.4)
    assert all(quorum.controller(one).image.in_transaction for one in quorum.ids if one != first)
    quorum.world.crash(quorum.node(first))
    quorum.wait_for_leader()
    quorum.run(1)
    assert not quorum.image.in_transaction and "half" not in quorum.image.topic_ids
    assert quorum.create("whole", [[1]]).error_code == 0
