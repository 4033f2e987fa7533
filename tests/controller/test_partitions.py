"""Leaders and ISRs of partitions as the controller decides on them, on three skeleton brokers."""

from __future__ import annotations

import pytest

from broker_core.controller.zk import znodes
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p

from .skeleton import Cluster


def test_the_last_member_of_the_isr_is_waited_for() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3]])
    cluster.world.crash("broker-3")
    cluster.run(10)
    assert cluster.leader("orders", 0).isr == [2]
    cluster.world.crash("broker-2")
    cluster.run(10)
    assert (cluster.leader("orders", 0).leader, cluster.leader("orders", 0).isr) == (-1, [2])
    cluster.world.start_node("broker-3")
    cluster.run(5)
    assert cluster.leader("orders", 0).leader == -1
    cluster.world.start_node("broker-2")
    cluster.run(5)
    assert cluster.leader("orders", 0).leader == 2


def test_an_unclean_election_takes_a_replica_that_is_behind() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3]], {"unclean.leader.election.enable": "true"})
    cluster.world.crash("broker-3")
    cluster.run(10)
    cluster.world.crash("broker-2")
    cluster.run(10)
    cluster.world.start_node("broker-3")
    cluster.run(5)
    assert (cluster.leader("orders", 0).leader, cluster.leader("orders", 0).isr) == (3, [3])
    assert cluster.events("leader_elected")[-1]["reason"] == "unclean"


def alter(
    cluster: Cluster, broker: int, isr: list[int], partition_epoch: int, leader_epoch: int = 0
) -> m.AlterPartitionResponse:
    request = m.AlterPartitionRequest(
        broker_id=broker,
        broker_epoch=cluster.broker(broker).registration.broker_epoch,
        topics=[
            m.AlterPartitionRequest.TopicData(
                topic_id=cluster.controller.cache.topic_ids["orders"],
                partitions=[
                    m.AlterPartitionRequest.PartitionData(
                        partition_index=0,
                        leader_epoch=leader_epoch,
                        partition_epoch=partition_epoch,
                        new_isr_with_epochs=[
                            m.AlterPartitionRequest.BrokerState(
                                broker_id=each, broker_epoch=cluster.broker(each).registration.broker_epoch
                            )
                            for each in isr
                        ],
                    )
                ],
            )
        ],
    )
    answer: m.AlterPartitionResponse = cluster.ask(cluster.controller.controller.handle_alter_partition, request)
    return answer


def test_a_leader_changes_its_isr() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    part = alter(cluster, 2, [2, 3], 0).topics[0].partitions[0]
    assert (part.error_code, part.isr, part.partition_epoch) == (ErrorCode.NONE, [2, 3], 1)
    assert cluster.broker(1).cache.topics["orders"][0].isr == [2, 3]
    again = alter(cluster, 2, [2, 3], 0).topics[0].partitions[0]
    assert (again.error_code, again.partition_epoch) == (ErrorCode.NONE, 1)


def test_isr_changes_with_wrong_epochs_are_refused_by_name() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    alter(cluster, 2, [2, 3], 0)
    assert alter(cluster, 2, [2], 0).topics[0].partitions[0].error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert alter(cluster, 2, [2], 9).topics[0].partitions[0].error_code == ErrorCode.NOT_CONTROLLER
    assert alter(cluster, 2, [2], 1, 5).topics[0].partitions[0].error_code == ErrorCode.NOT_CONTROLLER
    assert alter(cluster, 2, [2], 1, -1).topics[0].partitions[0].error_code == ErrorCode.FENCED_LEADER_EPOCH


def test_a_preferred_election_gives_the_partition_back() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    cluster.world.crash("broker-2")
    cluster.run(10)
    cluster.world.start_node("broker-2")
    cluster.run(2)
    state = cluster.leader("orders", 0)
    wish = m.ElectLeadersRequest(
        election_type=0,
        timeout=1000,
        topic_partitions=[m.ElectLeadersRequest.TopicPartitions(topic="orders", partitions=[0])],
    )
    answer = cluster.ask(cluster.controller.controller.elect_leaders, wish)
    result = answer.replica_election_results[0].partition_result[0]
    assert result.error_code == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    alter(cluster, 3, [3, 1, 2], state.partition_epoch, state.leader_epoch)
    answer = cluster.ask(cluster.controller.controller.elect_leaders, wish)
    assert answer.replica_election_results[0].partition_result[0].error_code == ErrorCode.NONE
    assert cluster.leader("orders", 0).leader == 2


def test_all_partitions_of_an_election_are_those_that_brokers_know() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    cluster.create_topic("nobody", [[8, 9]])
    wish = m.ElectLeadersRequest(election_type=0, timeout=1000, topic_partitions=None)
    assert cluster.ask(cluster.controller.controller.elect_leaders, wish).replica_election_results == []
    cluster.world.crash("broker-2")
    cluster.run(10)
    cluster.ask(cluster.controller.admin.delete_topics, m.DeleteTopicsRequest(timeout=0, topic_names=["orders"]))
    assert znodes.topic_path("orders") in cluster.tree.nodes, "deletion waits for broker 2"
    assert cluster.ask(cluster.controller.controller.elect_leaders, wish).replica_election_results == []


def test_the_balance_is_restored_by_itself() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    cluster.world.crash("broker-2")
    cluster.run(10)
    cluster.world.start_node("broker-2")
    cluster.run(2)
    state = cluster.leader("orders", 0)
    alter(cluster, 3, [3, 1, 2], state.partition_epoch, state.leader_epoch)
    cluster.run(310)
    assert cluster.leader("orders", 0).leader == 2


def test_a_partition_moves_to_another_broker() -> None:
    cluster = Cluster(4)
    cluster.create_topic("orders", [[1, 2]])
    request = m.AlterPartitionReassignmentsRequest(
        timeout=5000,
        topics=[
            m.AlterPartitionReassignmentsRequest.ReassignableTopic(
                name="orders",
                partitions=[
                    m.AlterPartitionReassignmentsRequest.ReassignablePartition(partition_index=0, replicas=[3, 4])
                ],
            )
        ],
    )
    answer = cluster.ask(cluster.controller.controller.alter_partition_reassignments, request)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE
    listed = cluster.ask(
        cluster.controller.controller.list_partition_reassignments, m.ListPartitionReassignmentsRequest(topics=None)
    )
    moving = listed.topics[0].partitions[0]
    assert (moving.replicas, moving.adding_replicas, moving.removing_replicas) == ([3, 4, 1, 2], [3, 4], [1, 2])
    state = cluster.leader("orders", 0)
    assert (
        alter(cluster, 1, [1, 2, 3, 4], state.partition_epoch, state.leader_epoch).topics[0].partitions[0].error_code
        == 0
    )
    cluster.run(1)
    assert cluster.controller.controller.context.replicas(("orders", 0)) == [3, 4]
    assert (cluster.leader("orders", 0).leader, cluster.leader("orders", 0).isr) == (3, [3, 4])
    assert ("orders", 0, True) in cluster.broker(2).stopped
    assert b'"partitions":{"0":[3,4]}' in cluster.tree.nodes[znodes.topic_path("orders")].data


def test_a_broker_that_died_on_its_way_to_a_partition_is_not_wished_for_again() -> None:
    """As KafkaController.validateReplicas: it is no replica of the origin, and not alive."""
    cluster = Cluster(4)
    cluster.create_topic("orders", [[1, 2]])
    asked = m.AlterPartitionReassignmentsRequest

    def wish(replicas: list[int]) -> int:
        place = asked.ReassignablePartition(partition_index=0, replicas=replicas)
        request = asked(timeout=5000, topics=[asked.ReassignableTopic(name="orders", partitions=[place])])
        answer = cluster.ask(cluster.controller.controller.alter_partition_reassignments, request)
        return int(answer.responses[0].partitions[0].error_code)

    assert wish([1, 4]) == ErrorCode.NONE
    cluster.world.crash("broker-4")
    cluster.run(9)
    assert wish([2, 4]) == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert wish([2, 3]) == ErrorCode.NONE


@pytest.mark.parametrize("partition", [("orders", 0), ("orders", 9), ("nowhere", 0)])
def test_where_nothing_moves_nothing_is_cancelled(partition: tuple[str, int]) -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2]])
    asked = m.AlterPartitionReassignmentsRequest
    place = asked.ReassignablePartition(partition_index=partition[1], replicas=None)
    request = asked(timeout=5000, topics=[asked.ReassignableTopic(name=partition[0], partitions=[place])])
    answer = cluster.ask(cluster.controller.controller.alter_partition_reassignments, request)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS


def test_the_old_way_to_wish_for_preferred_leaders_works_more_than_once() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[2, 3, 1]])
    for _ in range(2):
        wish = p.Create(znodes.PREFERRED_ELECTION, b'{"version":1,"partitions":[{"topic":"orders","partition":0}]}')
        cluster.broker(3).zk.submit(wish, cluster.broker(3).answered)
        cluster.run(1)
        assert cluster.broker(3).answers.pop().ok
        assert znodes.PREFERRED_ELECTION not in cluster.tree.nodes
