"""Who plays a role now: leader, followers, controller. The truth of the cluster says so.

`orders-0` is a partition of the world's own cluster, `payments/invoices-0` one of the neighbour `payments`.
"""

from __future__ import annotations

from broker_core.kernel.errors import CommandError
from broker_core.kernel.names import broker_node, cluster_of, in_cluster
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.clusters.neighbour_spec import ANY
from lab.truth import truth_of_cluster
from lab.truth.port import State


def split(topic_partition: str) -> tuple[str, int]:
    """`orders-0` -> ("orders", 0), and the same of `payments/orders-0`."""
    topic, _, number = topic_partition.rpartition("/")[2].rpartition("-")
    return topic, int(number)


def leader_of(world: World, topic_partition: str) -> str:
    """The node that leads a partition now."""
    state = state_of(world, topic_partition)
    if state is None:
        raise CommandError(problem("no_partition", partition=topic_partition), "leader_of")
    if state["leader"] < 0:
        raise CommandError(problem("no_leader", partition=topic_partition), "leader_of")
    return in_cluster(cluster_of(topic_partition), broker_node(state["leader"]))


def followers_of(world: World, topic_partition: str) -> list[str]:
    """Nodes of the replicas that do not lead, in the order of the assignment."""
    state = state_of(world, topic_partition)
    if state is None:
        raise CommandError(problem("no_partition", partition=topic_partition), "follower_of")
    found = [in_cluster(cluster_of(topic_partition), broker_node(broker))
             for broker in state["replicas"] if broker != state["leader"]]
    if not found:
        raise CommandError(problem("no_follower", partition=topic_partition), "follower_of")
    return found


def controller(world: World, of: str = ANY) -> str:
    """The node of the controller now: of the world's own cluster, or of a neighbour."""
    cluster = "" if of == ANY else of
    truth = truth_of_cluster(world, cluster)
    if truth is None:
        raise CommandError(problem("no_neighbour", name=of), "controller")
    found = truth.controller_node()
    if found is None:
        raise CommandError(problem("no_controller"), "controller")
    return in_cluster(cluster, found)


def state_of(world: World, topic_partition: str) -> State | None:
    """What the truth says of a partition; None when there is none."""
    truth = truth_of_cluster(world, cluster_of(topic_partition))
    return None if truth is None else truth.partition_state(*split(topic_partition))
