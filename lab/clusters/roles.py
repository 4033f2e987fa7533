"""Who plays a role now: leader, followers, controller. It stands in the coordination tree."""

from __future__ import annotations

from broker_core.kernel.errors import CommandError
from broker_core.kernel.world import World
from lab.clusters.observe import controller_id, partition_state


def split(topic_partition: str) -> tuple[str, int]:
    """`orders-0` -> ("orders", 0)."""
    topic, _, number = topic_partition.rpartition("-")
    return topic, int(number)


def leader_of(world: World, topic_partition: str) -> str:
    """The node that leads a partition now."""
    state = partition_state(world, *split(topic_partition))
    if state is None:
        raise CommandError(f"there is no partition {topic_partition}", "leader_of")
    if state["leader"] < 0:
        raise CommandError(f"{topic_partition} has no leader", "leader_of")
    return f"broker-{state['leader']}"


def followers_of(world: World, topic_partition: str) -> list[str]:
    """Nodes of the replicas that do not lead, in the order of the assignment."""
    state = partition_state(world, *split(topic_partition))
    if state is None:
        raise CommandError(f"there is no partition {topic_partition}", "follower_of")
    found = [f"broker-{broker}" for broker in state["replicas"] if broker != state["leader"]]
    if not found:
        raise CommandError(f"{topic_partition} has no follower", "follower_of")
    return found


def controller(world: World) -> str:
    """The node of the controller now."""
    found = controller_id(world)
    if found is None:
        raise CommandError("there is no controller", "controller")
    return f"broker-{found}"
