"""What the controller says reaches replicas and cache only if it is no zombie, and means this start of the broker."""

from __future__ import annotations

from typing import Any

import pytest
from tests.worlds import do

from broker_core.kernel.world import World
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

S = 1_000_000
KINDS = ["LeaderAndIsr", "StopReplica", "UpdateMetadata"]


@pytest.fixture
def world() -> World:
    """One broker with a topic of one partition, and a controller epoch of 1."""
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching"}, "seed": 3}))
    world.run_until(2 * S)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=1)
    world.run_until(3 * S)
    return world


def told(world: World, kind: str, controller_epoch: int, broker_epoch: int, leader: int = -1) -> Any:
    """Say to broker 1 that `orders-0` has another leader, or is to go; its answer."""
    cluster = world.nodes["broker-1"].machine.cluster  # type: ignore[union-attr]
    answers: list[Any] = []
    fences = {"controller_id": 9, "controller_epoch": controller_epoch, "broker_epoch": broker_epoch}
    if kind == "StopReplica":
        state = m.StopReplicaRequest.StopReplicaPartitionState(partition_index=0, leader_epoch=9, delete_partition=True)
        topic = m.StopReplicaRequest.StopReplicaTopicState(topic_name="orders", partition_states=[state])
        cluster.control.stop_replica(m.StopReplicaRequest(topic_states=[topic], **fences), _keep, answers)
        return answers[0].error_code
    message = getattr(m, f"{kind}Request")
    state = getattr(message, f"{kind}PartitionState")(
        partition_index=0, leader=leader, leader_epoch=9, isr=[1], replicas=[1]
    )
    request = message(
        topic_states=[getattr(message, f"{kind}TopicState")(topic_name="orders", partition_states=[state])], **fences
    )
    if kind == "UpdateMetadata":
        return cluster.control.update_metadata(request)
    cluster.control.leader_and_isr(request, _keep, answers)
    return answers[0].error_code


def _keep(answers: list[Any], response: Any) -> None:
    answers.append(response)


def state(world: World) -> tuple[bool, int | None]:
    """Whether broker 1 leads the partition, and whom its cache names."""
    broker: Any = world.nodes["broker-1"].machine
    partition = broker.partitions.get(("orders", 0))
    return partition is not None and partition.is_leader, broker.cache.leader("orders", 0)


@pytest.mark.parametrize("kind", KINDS)
def test_a_zombie_controller_is_refused(world: World, kind: str) -> None:
    assert told(world, kind, 0, -1) == ErrorCode.STALE_CONTROLLER_EPOCH
    assert state(world) == (True, 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_request_for_an_earlier_start_of_the_broker_is_refused(world: World, kind: str) -> None:
    epoch = world.nodes["broker-1"].machine.broker_epoch()  # type: ignore[union-attr]
    assert told(world, kind, 1, epoch - 1) == ErrorCode.STALE_BROKER_EPOCH
    assert state(world) == (True, 1)


@pytest.mark.parametrize(("kind", "after"), list(zip(KINDS, [(False, 1), (False, 1), (True, None)], strict=True)))
def test_the_controller_of_today_is_believed(world: World, kind: str, after: tuple[bool, int | None]) -> None:
    assert told(world, kind, 2, -1) == ErrorCode.NONE
    assert state(world) == after
    assert told(world, kind, 1, -1) == ErrorCode.STALE_CONTROLLER_EPOCH


def test_leader_minus_two_says_that_a_partition_is_gone(world: World) -> None:
    assert told(world, "UpdateMetadata", 1, -1, leader=-2) == ErrorCode.NONE
    assert world.nodes["broker-1"].machine.cache.topics == {}  # type: ignore[union-attr]
