"""Stories of replicas that move, in which one thing is broken on purpose, for the lights that look at moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.controller.kraft import reassignments
from broker_core.controller.zk.reassignment import Reassignment
from broker_core.log.futures import FutureLogs
from broker_core.metadata.partition import ReplicaAssignment
from lab.checkers.invariants import InvariantMonitor
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of
from tests.worlds import Driven


class MovingLab(Driven):
    """Four brokers with the directories a and b; orders-0 lies on 1, 2 and 3."""

    def __init__(self, controller: str) -> None:
        own = {"metadata.log.dir": "m"} if controller == "kraft" else {}
        self.world = build_world(run_from_dict({
            "cluster": {"brokers": 4, "controller": controller, "preset": "teaching",
                        "settings": {"log.dirs": "a,b", "min.insync.replicas": 2, **own}},
            "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50}],
        }))  # fmt: skip
        self.monitor = InvariantMonitor(self.world)
        self.run(4)
        self.do(do="create_topic", topic="orders", assignment=[[1, 2, 3]])
        self.run(1)
        self.do(do="start_client", name="producer-a")
        self.run(3)

    @property
    def state(self) -> dict[str, Any]:
        found = truth_of(self.world).partition_state("orders", 0)
        assert found is not None
        return found

    def reassign(self, *replicas: int) -> None:
        self.do(do="reassign", topic="orders", partition=0, replicas=list(replicas))

    def move(self, broker: int) -> None:
        """To the other directory."""
        log = self.world.nodes[f"broker-{broker}"].machine.partitions["orders", 0].log
        to = "b" if log.directory.startswith("a/") else "a"
        self.do(do="move_replica", broker=broker, topic="orders", partition=0, directory=to)

    def begin_and_cancel(self) -> None:
        """One that is to come is not there yet."""
        self.do(do="pause", broker=4)
        self.reassign(1, 2, 4)
        self.run(0.5)
        assert set(self.state["replicas"]) == {1, 2, 3, 4}
        self.do(do="cancel_reassignment", topic="orders", partition=0)
        self.run(0.5)
        self.do(do="resume", broker=4)
        self.run(2)


def a_move_ends_elsewhere(lab: MovingLab, patch: Any) -> None:
    """What was asked for is not what is written when it is over."""
    write = Reassignment._write_assignment

    def elsewhere(self: Reassignment, partition: Any, found: ReplicaAssignment, tell: bool) -> None:
        write(self, partition, found if found.being_reassigned else ReplicaAssignment(found.replicas[:1]), tell)

    patch.setattr(Reassignment, "_write_assignment", elsewhere)
    lab.reassign(1, 2)
    lab.run(4)


def a_cancelled_move_keeps_all(lab: MovingLab, patch: Any) -> None:
    patch.setattr(reassignments, "_origin", lambda partition: list(partition.replicas))
    lab.begin_and_cancel()


def the_isr_is_left_behind(lab: MovingLab, patch: Any) -> None:
    """A controller writes what the replicas are now, and nobody takes those that have gone out of the ISR."""
    patch.setattr(Reassignment, "_stop_replicas", lambda *_: None)
    patch.setattr(Reassignment, "_renew_epoch", lambda *_: None)
    lab.reassign(1, 2)
    lab.run(40)


def the_old_log_goes_on(lab: MovingLab, patch: Any) -> None:
    """A replica has moved, and reads and writes where it was."""
    replace = FutureLogs.replace_current

    def forget(self: FutureLogs, topic: str, partition: int, now_ms: int) -> Any:
        before = self.manager.get(topic, partition)
        replace(self, topic, partition, now_ms)
        return before

    patch.setattr(FutureLogs, "replace_current", forget)
    lab.do(do="stop_client", name="producer-a")
    lab.run(2)
    lab.move(2)
    lab.run(2)


MOVES_BROKEN: list[tuple[Callable[[MovingLab, Any], None], str, list[str]]] = [
    (a_move_ends_elsewhere, "zookeeper", ["ReassignmentKeepsReplicas"]),
    (a_cancelled_move_keeps_all, "kraft", ["ReassignmentKeepsReplicas"]),
    (the_isr_is_left_behind, "zookeeper", ["ReassignmentKeepsReplicas"]),
    (the_old_log_goes_on, "zookeeper", ["OneLogPerReplica"]),
    (the_old_log_goes_on, "kraft", ["OneLogPerReplica"]),
]
