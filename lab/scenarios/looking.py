"""What conditions look at beside partitions and processes: groups, transactions, znodes, queues, segments, beliefs.

| condition | Kafka's own tool tells it as |
|---|---|
| group_state_of, members_of, generation_of, lag_of | `kafka-consumer-groups --describe --state`, `--members` |
| transaction_state_of | `kafka-transactions describe` |
| znode | `zookeeper-shell get -s`: the data version |
| queued_at | RequestQueueSize |
| segments_of | NumLogSegments |
| believed_by | a Metadata answer of that very broker |

A group or a transactional id that nobody coordinates at this moment, a tree in a cluster that has none: there is no
such thing, and no comparison holds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.names import broker_node, is_broker
from broker_core.kernel.world import World
from broker_core.transactions.states import TransactionState
from broker_core.wire.errors import ErrorCode
from lab.clusters.observe import brokers, log_marks, partitions_of
from lab.clusters.roles import split
from lab.truth import truth_of
from lab.truth.zookeeper import server_of

GROUP_STATES = (
    "Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Assigning", "Reconciling", "Dead",
)  # fmt: skip
"""Of classic groups (KIP-62), and of next-generation ones (KIP-848)."""
TRANSACTION_STATES = tuple(state.value for state in TransactionState)
"""Of transactional ids (KIP-98)."""


def _group(world: World, name: str) -> dict[str, Any] | None:
    """As its coordinator sees it."""
    for _, node in brokers(world):
        machine: Any = node.machine
        view: dict[str, dict[str, Any]] = {} if machine is None else machine.groups_view()
        if name in view:
            return view[name]
    return None


def _group_state(world: World, target: str) -> Any:
    found = _group(world, target)
    return None if found is None else found["state"]


def _members(world: World, target: str) -> Any:
    found = _group(world, target)
    return None if found is None else len(found["members"])


def _generation(world: World, target: str) -> Any:
    found = _group(world, target)
    return None if found is None else found["generation"]


def _lag(world: World, target: str) -> Any:
    """Committed records that the group has not committed its way past, over all partitions that it has offsets for."""
    found = _group(world, target)
    if found is None:
        return None
    behind = 0
    for topic, offsets in found["offsets"].items():
        for number, offset in offsets.items():
            state = truth_of(world).partition_state(topic, int(number))
            marks = log_marks(world, topic, int(number))
            if state is not None and state["leader"] in marks:
                behind += max(0, marks[state["leader"]]["hw"] - offset)
    return behind


def _transaction_state(world: World, target: str) -> Any:
    """As its coordinator knows it, once it has loaded it."""
    for _, node in brokers(world):
        machine: Any = node.machine
        error, found = (None, None) if machine is None else machine.transactions.registry.find(target)
        if error is ErrorCode.NONE and found is not None:
            return found.stored.state.value
    return None


def _znode(world: World, target: str) -> Any:
    """Its version; -1: it is not there."""
    server = server_of(world)
    if server is None:
        return None
    node = server.tree.nodes.get(target)
    return -1 if node is None else node.version


def _queued(world: World, target: str) -> Any:
    node = world.nodes.get(target)
    machine: Any = node.machine if node is not None and is_broker(target) else None
    return None if machine is None else len(machine.pipeline.request_queue)


def _segments(world: World, target: str) -> Any:
    """On the leader."""
    topic, number = split(target)
    state = truth_of(world).partition_state(topic, number)
    node = world.nodes.get(broker_node(state["leader"])) if state is not None else None
    replica = None if node is None else partitions_of(node).get((topic, number))
    return None if replica is None or replica.log is None else len(replica.log.segments)


def _believed(world: World, target: str) -> Any:
    """`orders-0@2`: whom broker 2 tells its clients to be the leader; -1: nobody."""
    place, _, broker = target.partition("@")
    node = world.nodes.get(broker_node(int(broker)))
    machine: Any = None if node is None else node.machine
    known = None if machine is None else machine.cache.partition(*split(place))
    return None if known is None else known.leader


LOOKS: dict[str, Callable[[World, str], Any]] = {
    "group_state_of": _group_state, "members_of": _members, "generation_of": _generation, "lag_of": _lag,
    "transaction_state_of": _transaction_state, "znode": _znode, "queued_at": _queued, "segments_of": _segments,
    "believed_by": _believed,
}  # fmt: skip
