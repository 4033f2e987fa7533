"""Invariants of replicas that move: to other brokers (KIP-455), and to other log directories (KIP-113).

    replicas 1 2 3                                     somebody asks for 3 4
    replicas 3 4 1 2    adding 4    removing 1 2       on the way: everybody's list names old and new ones
    replicas 3 4        or    1 2 3                    as asked, or as before when it was cancelled

Who asks through the operator is heard (a command says which replicas). While a client from outside is connected, who
may ask for anything, only what a list says of itself is judged.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import cluster_of
from broker_core.kernel.world import World
from broker_core.log.futures import future_of
from broker_core.metadata.partition import NO_LEADER
from broker_core.replication.partition import FAILED
from lab.checkers.invariants_base import Invariant, Violation, is_whole
from lab.checkers.invariants_view import PartitionLook, Place
from lab.truth.kraft import KRaftTruth

GRACE_US = 30_000_000
"""With ZooKeeper replicas and ISR stand in two znodes, and a move that is given up writes the one before the other. The
controller may die in between; a leader takes who is no replica out of its ISR when it has lagged long enough."""
Replicas = frozenset[int]


class ReassignmentKeepsReplicas(Invariant):
    """A move to other brokers names old and new replicas until it ends, ends as asked or as before, and leaves neither
    leader nor ISR outside the replicas (KIP-455)."""

    meaning = {
        "en": "A move to other brokers ends as asked or as before, and leader and ISR are replicas all the time.",
        "ko": "다른 브로커로의 이동은 요청한 대로 또는 이전대로 끝나고, 그동안 리더와 ISR은 늘 복제본입니다.",
    }
    codes = (events.ASSIGNMENT_CHANGED.name, events.COMMAND.name, events.TOPIC_DELETED.name)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._asked: dict[Place, list[Replicas]] = {}
        self._ends: dict[Place, set[Replicas]] = {}
        """Of partitions that move: what their replicas may be afterwards."""
        self._settled: dict[Place, Replicas] = {}
        self._told: dict[Place, Replicas] = {}
        """Of partitions that have moved: the last replicas while nothing moved, and the last of all."""
        self._watched: dict[Place, int | None] = {}
        """Partitions that have moved, and since when leader or ISR are outside the replicas."""
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        params = row[5]
        if row[3] == events.COMMAND.name:
            command = params["command"]
            if command.get("do") == "reassign":
                place = command["topic"], command["partition"]
                self._asked.setdefault(place, []).append(frozenset(command["replicas"]))
        elif cluster_of(row[2]):
            return
        elif row[3] == events.TOPIC_DELETED.name:
            for known in (self._asked, self._ends, self._settled, self._told, self._watched):
                for place in [one for one in known if one[0] == params["topic"]]:
                    del known[place]
        else:
            self._changed(row)

    def _changed(self, row: Row) -> None:
        params = row[5]
        place = params["topic"], params["partition"]
        said = {key: params[key] for key in ("topic", "partition", "replicas", "adding", "removing")}
        replicas, adding, removing = (frozenset(params[key]) for key in ("replicas", "adding", "removing"))
        self._watched[place] = None
        if len(replicas) < len(params["replicas"]) or not adding | removing <= replicas or removing == replicas:
            self._found.append(self.found(row[0], row[1], "move_is_wrong", (*place, row[0]), **said))
        before, self._told[place] = self._told.get(place), replicas
        if params["moving"]:
            self._ends[place] = {replicas - adding, replicas - removing}
            self._settled.setdefault(place, replicas - adding)
            return
        asked, ends = self._asked.get(place, []), self._ends.pop(place, set())
        was, self._settled[place] = self._settled.get(place), replicas
        if before is None or was is None or replicas in {*ends, *asked, was} or self.view.world.connections:
            return
        if len(asked) < 2 or not replicas <= before.union(was, *asked):  # several may be carried out between two rows
            self._found.append(self.found(row[0], row[1], "moved_elsewhere", (*place, row[0]), **said))

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        for place in list(self._watched):
            found += self._outside(world, place)
        return found

    def _outside(self, world: World, place: Place) -> list[Violation]:
        state = self.view.cluster.partition_state(*place)
        if state is None or {*state["isr"], state["leader"]} <= {*state["replicas"], NO_LEADER}:
            if place in self._ends:
                self._watched[place] = None
            else:
                del self._watched[place]
            return []
        t = self.view.now()[1]
        since = self._watched[place]
        if since is None or not is_whole(world):
            since = self._watched[place] = t
        if t - since < (0 if isinstance(self.view.cluster, KRaftTruth) else GRACE_US):
            return []
        params = {"topic": place[0], "partition": place[1]}
        params |= {key: state[key] for key in ("leader", "isr", "replicas")}
        return [self.found_now("not_a_replica", (*place, state["leader_epoch"]), **params)]


class OneLogPerReplica(Invariant):
    """A replica of a broker with several log directories has one current log, which is what it reads and writes; a copy
    that moves lies elsewhere, and is served to nobody (KIP-113)."""

    meaning = {
        "en": "A replica has one log that is read and written; a copy that moves is another one, elsewhere.",
        "ko": "복제본이 읽고 쓰는 로그는 하나입니다. 옮기는 사본은 다른 디렉터리에 있는 다른 로그입니다.",
    }

    codes = (events.REPLICA_MOVE_BEGUN.name, events.REPLICA_MOVED.name, events.REPLICA_MOVE_ENDED.name)

    def row(self, row: Row) -> None:
        """No log has changed by that, and yet there is something to look at."""
        if not cluster_of(row[2]):
            self.view.touch((row[5]["topic"], row[5]["partition"]), (row[0], row[1]))

    def check(self, world: World) -> list[Violation]:
        machines = dict(self.view.running)
        return [one for look in self.view.looks for broker in look.replicas
                for one in self._judge(look, broker, machines[broker].replicas.log_manager)]  # fmt: skip

    def _judge(self, look: PartitionLook, broker: int, logs: Any) -> list[Violation]:
        replica, place = look.replicas[broker], (look.topic, look.index)
        if len(logs.log_dirs) < 2 or replica.role == FAILED:
            return []
        served, current, future = replica.log, logs.get(*place), logs.futures.get(*place)
        others = [served.directory] if served is not current or future_of(served.directory.rpartition("/")[2]) else []
        if current is not None and future is not None and logs.dir_of(future) == logs.dir_of(current):
            others.append(future.directory)
        for log_dir in logs.live_dirs():
            path = f"{log_dir}/{look.topic}-{look.index}"
            if current is not None and path != current.directory and logs.storage.exists(path):
                others.append(path)
        if not others:
            return []
        params = {"broker": broker, "file": "" if current is None else current.directory, "other": others[0]}
        return [self.found_in(look, "two_logs", (broker, others[0]), **params)]
