"""What the processes of a world are called; made and read here only.

| name | process |
|---|---|
| broker-1 | the broker with id 1 |
| controller-101 | the controller with id 101, of a KRaft cluster with dedicated ones |
| zookeeper-1 | the first server of the coordination ensemble |
| machine-1 | a machine that wants the id of a broker that there is; once it has the id it is that broker |
| operator | whoever sits at the screen |
| checker | the consumer that reads a scenario's run back at its end, aborted transactions among it |
| payments/broker-1 | broker 1 of the neighbour `payments`, another cluster on the same ensemble |

Every other name is a client's. Within a cluster its processes call each other by the names without the cluster, so that
the code of a broker never knows in which one it runs:

| who | calls payments/broker-1 | calls zookeeper-1 |
|---|---|---|
| payments/broker-2 | broker-1 | zookeeper-1 |
| zookeeper-1 | payments/broker-1 | |
"""

from __future__ import annotations

OPERATOR = "operator"
CHECKER = "checker"
BROKER, _CONTROLLER, _ZOOKEEPER, _MACHINE = "broker-", "controller-", "zookeeper-", "machine-"


def in_cluster(cluster: str, name: str) -> str:
    """The whole name of a process of a cluster; "" is the world's own."""
    return f"{cluster}/{name}" if cluster else name


def cluster_of(node: str) -> str:
    """The neighbour whose process this is, "" of the world's own cluster."""
    return node.rpartition("/")[0]


def called_by(viewer: str, node: str) -> str:
    """What `viewer` calls this process."""
    cluster = cluster_of(viewer)
    return node.removeprefix(f"{cluster}/") if cluster else node


def broker_node(broker: int) -> str:
    """The process of a broker."""
    return f"{BROKER}{broker}"


def zookeeper_node(server: int) -> str:
    """The process of a coordination server."""
    return f"{_ZOOKEEPER}{server}"


def controller_node(controller: int) -> str:
    """The process of a dedicated controller."""
    return f"{_CONTROLLER}{controller}"


def machine_node(number: int) -> str:
    """The process of the n-th machine that wants the id of another one."""
    return f"{_MACHINE}{number}"


def place_of(node: str, listener: str) -> str:
    """Where outside clients connect: a process, or a listener of it that has a name, "broker-1:CONTROLLER"."""
    return f"{node}:{listener}" if listener else node


def is_broker(node: str) -> bool:
    return node.startswith(BROKER)


def is_zookeeper(node: str) -> bool:
    return node.startswith(_ZOOKEEPER)


def is_controller(node: str) -> bool:
    return node.startswith(_CONTROLLER)


def is_machine(node: str) -> bool:
    return node.startswith(_MACHINE)


def is_keeper(node: str) -> bool:
    """Whether it runs to keep what the cluster has decided, and nothing else."""
    return is_zookeeper(node) or is_controller(node)


def broker_of(node: str) -> int:
    """The id of the broker whose process this is."""
    return int(node.removeprefix(BROKER))


def number_of(node: str) -> int:
    """The id of the broker, or of the controller, whose process this is."""
    return int(node.rpartition("-")[2])
