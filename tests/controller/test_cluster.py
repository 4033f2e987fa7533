"""Three skeleton brokers and a coordination server: elections, failovers, zombies, topics."""

from __future__ import annotations

import pickle

import pytest

from broker_core.cluster.zk.admin import _Growth
from broker_core.controller.zk import znodes
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code

from .skeleton import Cluster


def test_the_first_broker_becomes_controller_and_the_others_know_it() -> None:
    cluster = Cluster()
    assert cluster.controller.id == 1
    assert [each.controller.controller_id for each in cluster.alive()] == [1, 1, 1]
    assert [each.cache.controller_id for each in cluster.alive()] == [1, 1, 1]
    assert [sorted(each.cache.brokers) for each in cluster.alive()] == [[1, 2, 3]] * 3
    assert cluster.tree.nodes[znodes.CONTROLLER_EPOCH].data == b"1"


def test_a_created_topic_has_leaders_everywhere() -> None:
    cluster = Cluster()
    answer = cluster.create_topic("orders", [[1, 2, 3], [2, 3, 1]])
    assert answer.topics[0].error_code == ErrorCode.NONE
    assert [each.cache.leader("orders", 1) for each in cluster.alive()] == [2, 2, 2]
    state = cluster.broker(3).states["orders", 0]
    assert (state.leader, state.isr, state.leader_epoch, state.is_new) == (1, [1, 2, 3], 0, True)
    assert znodes.state_path("orders", 0) in cluster.tree.nodes


@pytest.mark.parametrize("only", [False, True])
def test_twins_of_one_request_collide_where_they_are_written(only: bool) -> None:
    cluster = Cluster()
    wished = [
        m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=1, replication_factor=1)
        for name in ("two_x.1", "two.x_1", "other")
    ]
    request = m.CreateTopicsRequest(topics=wished, timeout=30_000, validate_only=only)
    answer = cluster.ask(cluster.controller.admin.create_topics, request)
    second = ErrorCode.NONE if only else ErrorCode.INVALID_TOPIC_EXCEPTION
    assert [each.error_code for each in answer.topics] == [ErrorCode.NONE, second, ErrorCode.NONE]


def test_a_topic_is_created_once() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1]])
    assert cluster.create_topic("orders", [[1]]).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_a_dead_leader_is_replaced_when_its_session_expires_and_not_before() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    cluster.world.crash("broker-2")
    cluster.run(3)
    assert cluster.leader("orders", 0).leader == 2
    cluster.run(5.5)
    state = cluster.leader("orders", 0)
    assert (state.leader, state.isr) == (3, [3, 1])
    assert cluster.broker(1).cache.leader("orders", 0) == 3
    assert cluster.broker(3).states["orders", 0].leader_epoch == state.leader_epoch


def test_a_dead_controller_is_replaced_with_the_next_epoch() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2, 3]])
    cluster.world.crash("broker-1")
    cluster.run(9)
    assert cluster.controller.controller.epoch == 2
    assert cluster.leader("orders", 0).leader == 2
    assert cluster.events("controller_loaded")[-1] == {"topics": 1, "partitions": 1, "epoch": 2}


def test_a_zombie_controller_is_fenced_and_resigns() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    zombie = cluster.controller
    cluster.world.pause("broker-1")
    cluster.run(9)
    assert cluster.controller.id != 1
    cluster.world.resume("broker-1")
    request = m.ControlledShutdownRequest(broker_id=2, broker_epoch=-1)
    zombie.controller.core.update_metadata([1, 2, 3], [])
    zombie.controller.handle_controlled_shutdown(request, zombie.answered, None)
    cluster.run(3)
    assert cluster.broker(2).stale == [1]
    assert not zombie.controller.is_active
    assert zombie.answers[-1].error_code == ErrorCode.NOT_CONTROLLER
    assert zombie.registration.broker_epoch > 0
    assert cluster.controller.controller.epoch == 2


def test_a_zombies_write_is_refused_by_the_tree() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    zombie = cluster.controller
    cluster.world.nodes["zookeeper-1"]  # the epoch moves on without the zombie's session ending
    node = cluster.tree.nodes[znodes.CONTROLLER_EPOCH]
    node.version += 1
    before = cluster.tree.nodes[znodes.state_path("orders", 0)].version
    request = m.ControlledShutdownRequest(broker_id=2, broker_epoch=-1)
    zombie.controller.handle_controlled_shutdown(request, zombie.answered, None)
    cluster.run(0.5)
    assert zombie.answers[-1].error_code == ErrorCode.NOT_CONTROLLER
    assert cluster.tree.nodes[znodes.state_path("orders", 0)].version == before
    assert "the controller epoch has moved on" in [each["reason"] for each in cluster.events("controller_resigned")]


def test_a_bounced_broker_is_treated_as_dead_and_new() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    cluster.world.crash("broker-2")
    cluster.run(1)
    cluster.world.start_node("broker-2")
    cluster.run(10)
    assert cluster.broker(2).registration.broker_epoch > 0
    assert cluster.leader("orders", 0).leader == 3
    assert cluster.broker(2).states["orders", 0].leader == 3
    assert cluster.broker(2).refusals[0].id == 2


def test_a_controlled_shutdown_moves_leaders_before_the_broker_goes() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1], [1, 2, 3]])
    request = m.ControlledShutdownRequest(broker_id=2, broker_epoch=cluster.broker(2).registration.broker_epoch)
    answer = cluster.ask(cluster.controller.controller.handle_controlled_shutdown, request)
    assert (answer.error_code, answer.remaining_partitions) == (ErrorCode.NONE, [])
    assert (cluster.leader("orders", 0).leader, cluster.leader("orders", 0).isr) == (3, [3, 1])
    assert cluster.leader("orders", 1).isr == [1, 3]
    assert ("orders", 1, False) in cluster.broker(2).stopped


def test_a_lone_replica_keeps_its_broker_from_shutting_down() -> None:
    cluster = Cluster()
    cluster.create_topic("lonely", [[2]])
    request = m.ControlledShutdownRequest(broker_id=2, broker_epoch=-1)
    answer = cluster.ask(cluster.controller.controller.handle_controlled_shutdown, request)
    assert answer.remaining_partitions == []


def test_a_deleted_topic_is_gone_everywhere() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    request = m.DeleteTopicsRequest(timeout=5000, topic_names=["orders"])
    answer = cluster.ask(cluster.controller.admin.delete_topics, request)
    assert answer.responses[0].error_code == ErrorCode.NONE
    assert [path for path in cluster.tree.nodes if "orders" in path] == []
    assert ("orders", 0, True) in cluster.broker(3).stopped
    assert [each.cache.contains("orders") for each in cluster.alive()] == [False] * 3
    assert cluster.create_topic("orders", [[1]]).topics[0].error_code == ErrorCode.NONE


def test_deletion_waits_for_a_dead_replica() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2, 3]])
    cluster.world.crash("broker-3")
    cluster.run(10)
    cluster.ask(cluster.controller.admin.delete_topics, m.DeleteTopicsRequest(timeout=0, topic_names=["orders"]))
    assert znodes.topic_path("orders") in cluster.tree.nodes
    cluster.world.start_node("broker-3")
    cluster.run(2)
    assert znodes.topic_path("orders") not in cluster.tree.nodes


def test_partitions_are_added_behind_the_old_ones() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    request = m.CreatePartitionsRequest(
        timeout=5000, topics=[m.CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=3, assignments=None)]
    )
    answer = cluster.ask(cluster.controller.admin.create_partitions, request)
    assert answer.results[0].error_code == ErrorCode.NONE
    assert cluster.broker(1).cache.partition_count("orders") == 3
    assert cluster.controller.controller.context.replicas(("orders", 1)) == [3, 2, 1]


def test_a_topic_that_somebody_else_changes_meanwhile_is_read_and_grown_once_more() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    answers: list[m.CreatePartitionsResponse] = []
    for count in (2, 4):
        grown = m.CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=count, assignments=None)
        request = m.CreatePartitionsRequest(timeout=5000, topics=[grown])
        cluster.controller.admin.create_partitions(request, lambda _, answer: answers.append(answer))
    cluster.run(0.5)
    assert [one.error_code for answer in answers for one in answer.results] == [ErrorCode.NONE] * 2
    assert cluster.broker(1).cache.partition_count("orders") == 4
    assert [sorted(one["assignment"]) for one in cluster.events("topic_grown")] == [[1], [2, 3]]


def test_a_controller_whose_session_has_expired_does_not_know_whether_a_topic_exists() -> None:
    """The operator asks whoever is controller now; that the topic does not exist would be the end of it."""
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    answers: list[m.CreatePartitionsResponse] = []
    grown = m.CreatePartitionsRequest.CreatePartitionsTopic(name="orders", count=3, assignments=None)
    growth = _Growth(m.CreatePartitionsRequest(timeout=5000, topics=[grown]), lambda _, answer: answers.append(answer), None)
    cluster.controller.admin._grow((growth, [grown]), [p.Result(Code.SESSIONEXPIRED)])
    assert [one.error_code for one in answers[0].results] == [ErrorCode.NOT_CONTROLLER]
    cluster.controller.admin._grow((growth, [grown]), [p.Result(Code.NONODE)])
    assert [one.error_code for one in answers[1].results] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_producer_ids_are_given_in_blocks_of_a_thousand() -> None:
    cluster = Cluster()
    request = m.AllocateProducerIdsRequest(broker_id=2, broker_epoch=cluster.broker(2).registration.broker_epoch)
    starts = [
        cluster.ask(cluster.controller.controller.allocate_producer_ids, request).producer_id_start for _ in range(3)
    ]
    assert starts == [0, 1000, 2000]


def test_a_silent_broker_delays_only_itself() -> None:
    cluster = Cluster()
    cluster.broker(3).mute = True
    cluster.create_topic("orders", [[2, 3, 1]])
    assert cluster.broker(1).cache.leader("orders", 0) == 2
    assert cluster.broker(3).cache.leader("orders", 0) is None


def test_a_topic_that_is_deleted_while_a_replica_is_dead_is_gone_for_clients_at_once() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2], [2, 1]])
    cluster.world.crash("broker-2")
    cluster.run(10)
    wish = m.DeleteTopicsRequest(timeout=1000, topic_names=["orders"])
    answer = cluster.ask(cluster.controller.admin.delete_topics, wish, seconds=2)
    assert answer.responses[0].error_code == ErrorCode.NONE
    assert not any(each.cache.contains("orders") for each in cluster.alive())
    assert ("orders", 0, True) in cluster.broker(1).stopped
    assert znodes.topic_path("orders") in cluster.tree.nodes, "what is left waits for broker 2"
    assert cluster.create_topic("orders", [[1]]).topics[0].error_code == ErrorCode.TOPIC_ALREADY_EXISTS
    cluster.world.start_node("broker-2")
    cluster.run(10)
    assert znodes.topic_path("orders") not in cluster.tree.nodes
    assert ("orders", 0, True) in cluster.broker(2).stopped


def test_topics_survive_the_whole_cluster() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    for name in list(cluster.world.nodes):
        cluster.world.power_loss(name)
    for name in cluster.world.nodes:
        cluster.world.start_node(name)
    cluster.run(15)
    assert cluster.controller.controller.epoch == 2
    assert cluster.broker(1).cache.leader("orders", 0) is not None


def test_a_world_can_be_pickled_in_the_middle_of_a_failover() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2, 3]])
    cluster.world.crash("broker-1")
    while not cluster.broker(2).controller.thread._waiting:
        assert cluster.world.step()
    cluster.world = pickle.loads(pickle.dumps(cluster.world))
    cluster.run(10)
    assert cluster.leader("orders", 0).leader == 2


def test_two_runs_of_one_seed_have_the_same_journal() -> None:
    journals = []
    for _ in range(2):
        cluster = Cluster(seed=7)
        cluster.create_topic("orders", [[1, 2, 3]])
        cluster.world.crash("broker-1")
        cluster.run(12)
        journals.append([row[1:] for row in cluster.world.journal.tail])
    assert journals[0] == journals[1]


def test_a_controller_that_is_cut_off_from_the_tree_is_replaced_and_comes_back_as_a_broker() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2, 3]])
    for ends in (("broker-1", "zookeeper-1"), ("zookeeper-1", "broker-1")):
        cluster.world.network.link(*ends).change(partitioned=True)
    cluster.run(12)
    assert sorted(each.id for each in cluster.alive() if each.controller.is_active) == [1, 2]
    assert cluster.leader_at(2, "orders", 0).leader == 2
    for ends in (("broker-1", "zookeeper-1"), ("zookeeper-1", "broker-1")):
        cluster.world.network.link(*ends).reset()
    cluster.run(10)
    assert cluster.controller.id == 2
    assert sorted(cluster.broker(3).cache.brokers) == [1, 2, 3]
    assert cluster.broker(1).cache.controller_id == 2


def test_a_lossy_link_to_the_tree_loses_nothing_but_time() -> None:
    cluster = Cluster()
    for broker in (1, 2, 3):
        for ends in ((f"broker-{broker}", "zookeeper-1"), ("zookeeper-1", f"broker-{broker}")):
            cluster.world.network.link(*ends).change(drop=0.05, duplicate=0.05)
    cluster.create_topic("orders", [[1, 2, 3], [2, 3, 1], [3, 1, 2]])
    cluster.run(60)
    for broker in (1, 2, 3):
        for ends in ((f"broker-{broker}", "zookeeper-1"), ("zookeeper-1", f"broker-{broker}")):
            cluster.world.network.link(*ends).reset()
    cluster.run(30)
    assert cluster.controller
    context = cluster.controller.controller.context
    for partition, state in context.leadership.items():
        stored = cluster.tree.nodes[znodes.state_path(*partition)]
        assert znodes.decode_state(stored.data, stored.version) == state
    assert sorted(cluster.broker(2).cache.brokers) == [1, 2, 3]


def test_what_a_failover_says_to_the_brokers() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1], [3, 1, 2]])
    for broker in (1, 3):
        cluster.broker(broker).requests.clear()
    cluster.world.crash("broker-2")
    cluster.run(10)
    told = [kind for kind, _ in cluster.broker(3).requests]
    assert told == ["LEADER_AND_ISR", "UPDATE_METADATA", "LEADER_AND_ISR", "UPDATE_METADATA"]


def test_a_failover_takes_longer_the_more_partitions_there_are() -> None:
    durations = []
    for partitions in (10, 100):
        cluster = Cluster(cost_us=1000)
        cluster.create_topic("orders", [[2, 3, 1]] * partitions)
        cluster.run(2)
        cluster.world.crash(cluster.controller.node.name)
        cluster.run(12)
        times = {row[3]: row[1] for row in cluster.world.journal.tail if row[3].startswith("controller_")}
        durations.append(times["controller_loaded"] - times["controller_elected"])
    assert durations[1] - durations[0] == 90 * 1000
