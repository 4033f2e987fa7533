"""Who plays a role now: leader, followers, controller. The truth of the cluster says so."""

from __future__ import annotations

from broker_core.kernel.errors import CommandError
from broker_core.kernel.names import broker_node
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.truth import truth_of


def split(topic_partition: str) -> tuple[str, int]:
    """`orders-0` -> ("orders", 0)."""
    topic, _, number = topic_partition.rpartition("-")
    return topic, int(number)


def leader_of(world: World, topic_partition: str) -> str:
    """The node that leads a partition now."""
    state = truth_of(world).partition_state(*split(topic_partition))
    if state is None:
        raise CommandError(problem("no_partition", partition=topic_partition), "leader_of")
    if state["leader"] < 0:
        raise CommandError(problem("no_leader", partition=topic_partition), "leader_of")
    return broker_node(state["leader"])


def followers_of(world: World, topic_partition: str) -> list[str]:
    """Nodes of the replicas that do not lead, in the order of the assignment."""
    state = truth_of(world).partition_state(*split(topic_partition))
    if state is None:
        raise CommandError(problem("no_partition", partition=topic_partition), "follower_of")
    found = [broker_node(broker) for broker in state["replicas"] if broker != state["leader"]]
    if not found:
        raise CommandError(problem("no_follower", partition=topic_partition), "follower_of")
    return found


def controller(world: World) -> str:
    """The node of the controller now."""
    found = truth_of(world).controller_node()
    if found is None:
        raise CommandError(problem("no_controller"), "controller")
    return found
