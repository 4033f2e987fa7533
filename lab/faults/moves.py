"""Replicas that move while everything else breaks: to other brokers, to other log directories, and back again.

A mover stands beside the nemesis of a swarm run and has a stream of its own, so that the faults of a seed are what
they are without it. Each seed draws which kinds of move there are.

| kind | commands | and then, now and then |
|---|---|---|
| reassign | other brokers, more or fewer, or the same in another order | cancelled, or sent elsewhere on its way |
| drain | the same of every partition of one broker, until it holds nothing | that broker stops, and comes back |
| cancel | whatever is under way ends where it came from | |
| directory | a replica to another log directory of its broker | sent elsewhere, or back, on its way |
| elect | the preferred leader, of one partition or of all | |
| grow | more partitions of a topic | |

No partition is left with less than two replicas, where there are two brokers: one of them may lose its disk.

What Kafka itself loses is not asked for:

* Its controller in KRaft keeps a replica in the ELR that leaves by a move while the ISR is smaller than
  `min.insync.replicas`, deletes it, may elect it, empty, when it is one again, and elects nobody else as long as it is
  in there. So `min.insync.replicas` is 1 with eligible leader replicas (KIP-966), and half of the clusters do without.
* With ZooKeeper it gives up a move though only replicas that were being added are in sync, and deletes those. So one
  is given up, or sent elsewhere, when two of those that stay are in the ISR, and nothing else is on its way.
* A disk that refuses to write between the two renames by which a log changes its directory leaves two logs, and the
  broker does not start until somebody has removed one of them. So nothing changes its directory where disks refuse to
  write.

At the end some of what is under way is cancelled and all the rest has to come to its end. Only what KRaft can never
complete is taken back then: a replica that was being added and is now to go, too, is in both lists, and no ISR is
right for both (`controller.kraft.reassignments`).
"""

from __future__ import annotations

import heapq
from random import Random
from typing import Any

from broker_core.cluster.disks import directory_id
from broker_core.kernel.names import OPERATOR, broker_node
from broker_core.kernel.node import RUNNING, STOPPED
from broker_core.kernel.problems import Problem
from broker_core.kernel.world import World
from broker_core.log.futures import future_of
from broker_core.log.log_manager import CLUSTER_METADATA, partition_of
from lab.clusters import observe
from lab.clusters.brokers import ClusterSpec
from lab.clusters.spec import CONTROLLERS
from lab.faults.nemesis import Nemesis
from lab.truth import truth_of
from lab.truth.kraft import KRaftTruth

S = 1_000_000
KRAFT = CONTROLLERS[1]
Command = dict[str, Any]
Place = tuple[str, int]
KINDS: dict[str, float] = {"reassign": 4, "drain": 1, "cancel": 1, "elect": 1, "grow": 1}
OF_DIRECTORIES: dict[str, float] = {"directory": 4}
TOPIC, MOST_PARTITIONS = "orders", 8
ELR = "eligible.leader.replicas.version"
NO_ELR: Command = {
    "do": "update_feature", "feature": ELR, "level": 0, "downgrade": True,
}  # fmt: skip
REFUSALS = {
    "reassign": ("INVALID_REPLICA_ASSIGNMENT",),
    "cancel_reassignment": ("NO_REASSIGNMENT_IN_PROGRESS", "INVALID_REPLICA_ASSIGNMENT"),
    "move_replica": ("KAFKA_STORAGE_ERROR", "REPLICA_NOT_AVAILABLE", "UNKNOWN_TOPIC_OR_PARTITION"),
    "elect_leaders": (
        "ELECTION_NOT_NEEDED", "PREFERRED_LEADER_NOT_AVAILABLE", "ELIGIBLE_LEADERS_NOT_AVAILABLE",
    ),
    "update_feature": (),
    "add_partitions": ("INVALID_PARTITIONS", "REASSIGNMENT_IN_PROGRESS", "INVALID_REPLICATION_FACTOR"),
}  # fmt: skip
"""What a move may be refused with: a broker that is not there, a directory that has failed, what is over by now, a
broker of KRaft that says so itself (`INVALID_PARTITIONS`: the first try was carried out)."""
LATE = ("TIMEOUT", "REQUEST_TIMED_OUT")


def is_excused(command: Command, refused: Problem) -> bool:
    """Whether this refusal of a move says nothing."""
    return refused["params"].get("error") in (*REFUSALS[command["do"]], *LATE) if command["do"] in REFUSALS else False


def draw_moves(scenario: dict[str, Any], rng: Random) -> None:
    """Directories to move between, how much a fetch brings (moves that take a while can be broken on their way), and
    clients who hear of new partitions soon. In KRaft: with eligible leader replicas, or without."""
    settings = scenario["cluster"]["settings"]
    if rng.random() < 0.5 and scenario["cluster"].get("controller") == KRAFT:
        settings["min.insync.replicas"] = 1
    settings["log.dirs"] = rng.choice(["data", "data1,data2", "data1,data2", "data1,data2,data3"])
    settings["replica.fetch.max.bytes"] = rng.choice([1 << 20, 1 << 20, 2000, 200])
    for client in scenario["clients"]:
        client["settings"] = {**client["settings"], "metadata.max.age.ms": 5000}


class Mover:
    """`next_us` says when it acts next, `act` gives the commands of that moment, `done` tells it what came of each."""

    def __init__(self, world: World, rng: Random, cluster: ClusterSpec, nemesis: Nemesis) -> None:
        self.world = world
        self.rng = rng
        self.nemesis = nemesis
        self.least = min(2, len(cluster.brokers))
        self.is_kraft = cluster.is_kraft
        self.without_elr = cluster.is_kraft and int(cluster.settings["min.insync.replicas"]) > 1
        several = "," in str(cluster.settings["log.dirs"]) and "disk_write_error" not in nemesis.kinds
        weights = {**KINDS, **(OF_DIRECTORIES if several else {})}
        kinds = [kind for kind in weights if rng.random() < 0.6] or ["reassign"]
        self.weights = {kind: weights[kind] for kind in kinds}
        self.mean_us = rng.uniform(0.3, 3) * S
        self._act_us = 0
        self._count = 0
        self._planned: list[tuple[int, int, Command]] = []
        self._leaving: int | None = None
        """The broker from which everything moves away."""
        self._asked: list[int] = []
        """Numbers of the operator's requests."""

    def begin(self) -> None:
        self._act_us = self.world.now_us + self._wait_us()

    def next_us(self) -> int:
        return min(self._act_us, self._planned[0][0] if self._planned else self._act_us)

    def act(self) -> list[Command]:
        """What is planned for now, and perhaps something new."""
        now_us, commands = self.world.now_us, []
        while self._planned and self._planned[0][0] <= now_us:
            command = heapq.heappop(self._planned)[2]
            if self._may(command):
                commands.append(command)
        if self._act_us <= now_us:
            self._act_us = now_us + self._wait_us()
            commands += self._empty() or [command for command in self._new() if self._may(command)]
        return commands

    def _may(self, command: Command) -> bool:
        """With ZooKeeper: nothing that could take the last ones that are in sync away."""
        if self.is_kraft or command["do"] not in ("reassign", "cancel_reassignment"):
            return True
        place = command["topic"], command["partition"]
        state, moving = truth_of(self.world).partition_state(*place), truth_of(self.world).reassignment(*place)
        if state is None or not self.answered():
            return False
        origin = [one for one in state["replicas"] if moving is None or one not in moving["adding"]]
        return moving is None or sum(self._runs(one) for one in state["isr"] if one in origin) > 1

    def _runs(self, broker: int) -> bool:
        return self.world.nodes[broker_node(broker)].state == RUNNING

    def done(self, command: Command, result: dict[str, Any]) -> None:
        """What has begun may be stopped, or sent elsewhere, before it has come anywhere; or long after."""
        rng, do = self.rng, command["do"]
        if do == "stop":  # a fault as any other, with an end
            self.nemesis.done(command, result)
        if not result.get("ok"):
            return
        self._asked += [result["id"]] if "id" in result else []
        soon_us = int(10 ** rng.uniform(-3, 0.5) * S)
        if do == "reassign" and rng.random() < 0.4:
            where = {key: command[key] for key in ("topic", "partition")}
            again = self._reassigned((where["topic"], where["partition"])) if rng.random() < 0.3 else None
            self._plan(soon_us, again or {"do": "cancel_reassignment", **where})
        elif do == "move_replica" and rng.random() < 0.3:
            self._plan(soon_us, {**command, "directory": rng.choice(self._directories(command["broker"]))})

    def answered(self) -> bool:
        """Nothing that was asked for is on its way any more."""
        machine: Any = self.world.nodes[OPERATOR].machine
        return all(number in machine.results for number in self._asked)

    def end(self) -> list[Command]:
        """All is healed: some of what is under way goes back, and all else has to come to its end."""
        chosen = [_cancel(place) for place in under_way(self.world) if self.rng.random() < 0.3]
        return [command for command in chosen if self._may(command)]

    # -- times ------------------------------------------------------------------------------
    def _wait_us(self) -> int:
        return int(self.rng.expovariate(1.0) * self.mean_us) + 1000

    def _plan(self, delay_us: int, command: Command) -> None:
        self._count += 1
        heapq.heappush(self._planned, (self.world.now_us + delay_us, self._count, command))

    # -- moves ------------------------------------------------------------------------------
    def _new(self) -> list[Command]:
        rng = self.rng
        kind = rng.choices(list(self.weights), list(self.weights.values()))[0]
        places = [(topic, number) for topic, parts in truth_of(self.world).topics().items() for number in parts]
        if not places:
            return []
        if kind == "drain":
            return self._drain()
        if kind == "directory":
            return self._moved()
        if kind == "grow":
            count = sum(topic == TOPIC for topic, _ in places) + rng.randint(1, 2)
            return [{"do": "add_partitions", "topic": TOPIC, "partitions": count}] if count <= MOST_PARTITIONS else []
        if kind == "elect":
            topic, number = rng.choice(places)
            one = {"topic": topic, "partition": number} if rng.random() < 0.5 else {}
            return [{"do": "elect_leaders", **one}]
        if kind == "cancel":
            moving = under_way(self.world)
            return [_cancel(rng.choice(moving))] if moving else []
        command = self._reassigned(self._place(places))
        return [] if command is None else [command]

    def _place(self, places: list[Place]) -> Place:
        """Where the clients write is moved as often as all the coordinators' partitions together."""
        own = [place for place in places if place[0] == TOPIC]
        return self.rng.choice(own if own and self.rng.random() < 0.5 else places)

    def _reassigned(self, place: Place) -> Command | None:
        """Any brokers in any order, one more or one less than there are now, but enough of them."""
        state = truth_of(self.world).partition_state(*place)
        brokers = [broker for broker, _ in observe.brokers(self.world)]
        if state is None:
            return None
        factor = len(self._wanted(place, state["replicas"])) + self.rng.choice([-1, 0, 0, 0, 1])
        return _reassign(place, self.rng.sample(brokers, max(self.least, min(factor, len(brokers), 4))))

    def _wanted(self, place: Place, replicas: list[int]) -> list[int]:
        """What it will have when its move is over."""
        moving = truth_of(self.world).reassignment(*place) or {"removing": []}
        return [one for one in replicas if one not in moving["removing"]]

    def _drain(self) -> list[Command]:
        """Everything moves away from one broker: to one that has no replica of it, or to nobody."""
        rng = self.rng
        brokers = [broker for broker, _ in observe.brokers(self.world)]
        self._leaving = rng.choice(brokers)
        commands = []
        for topic, parts in truth_of(self.world).topics().items():
            for number, state in parts.items():
                target = self._wanted((topic, number), state["replicas"])
                if self._leaving not in target:
                    continue
                others = [one for one in brokers if one not in (*target, self._leaving)]
                takes_over = [rng.choice(others)] if others else []
                target = [*[one for one in target if one != self._leaving], *takes_over]
                if len(target) >= self.least:
                    commands.append(_reassign((topic, number), target))
        return commands

    def _empty(self) -> list[Command]:
        """The broker that everything has left goes, while nothing else is broken."""
        leaving = self._leaving
        if leaving is None or self.world.nodes[broker_node(leaving)].state != RUNNING or self.nemesis.bare:
            return []
        states = [state for parts in truth_of(self.world).topics().values() for state in parts.values()]
        if any(leaving in state["replicas"] for state in states):
            return []
        self._leaving = None
        return [{"do": "stop", "broker": leaving}]

    def _moved(self) -> list[Command]:
        """A replica of a broker that runs, to any of its directories: the one where it lies, too."""
        rng = self.rng
        running = [(broker, node) for broker, node in observe.brokers(self.world) if node.state == RUNNING]
        if not running:
            return []
        broker, node = rng.choice(running)
        places = list(observe.partitions_of(node))
        if not places:
            return []
        topic, number = self._place(places)
        directory = rng.choice(self._directories(broker))
        return [{"do": "move_replica", "broker": broker, "topic": topic, "partition": number, "directory": directory}]

    def _directories(self, broker: int) -> list[str]:
        machine: Any = self.world.nodes[broker_node(broker)].machine
        found: list[str] = [] if machine is None else machine.log_manager.log_dirs
        return found or ["data1"]


def _reassign(place: Place, replicas: list[int]) -> Command:
    return {"do": "reassign", "topic": place[0], "partition": place[1], "replicas": replicas}


def _cancel(place: Place) -> Command:
    return {"do": "cancel_reassignment", "topic": place[0], "partition": place[1]}


def has_no_elr(world: World) -> bool:
    """The controller has gone over to doing without (KRaft)."""
    truth = truth_of(world)
    return isinstance(truth, KRaftTruth) and not truth.image.features.get(ELR)


# -- what is left of moves --------------------------------------------------------------------
def under_way(world: World) -> list[Place]:
    """Partitions that are being reassigned."""
    truth = truth_of(world)
    return [(topic, number) for topic, parts in truth.topics().items() for number in parts
            if truth.reassignment(topic, number) is not None]  # fmt: skip


def endless(world: World) -> list[Command]:
    """The commands that take back what no controller can complete."""
    found = []
    for place in under_way(world):
        moving = truth_of(world).reassignment(*place)
        if moving is not None and set(moving["adding"]) & set(moving["removing"]):
            found.append(_cancel(place))
    return found


def left_over(world: World) -> list[str]:
    """What a cluster at rest has none of: moves under way, replicas and copies where none belong, and a directory that
    the controller believes another one to be."""
    found = [f"{topic}-{number} is being reassigned" for topic, number in under_way(world)]
    for broker, node in observe.brokers(world):
        machine: Any = node.machine
        if machine is not None and node.state != STOPPED and not found:
            found += _left_on(world, broker, machine)
    return found


def _left_on(world: World, broker: int, machine: Any) -> list[str]:
    """With ZooKeeper nobody tells a broker later that its replica was removed while it was away: it keeps that, and
    the files, as Kafka's does."""
    truth, logs = truth_of(world), machine.log_manager
    holds = {(topic, number) for topic, parts in truth.topics().items() for number, state in parts.items()
             if broker in state["replicas"]}  # fmt: skip
    has = set(machine.partitions)
    found = [f"broker {broker} lacks {topic}-{number}" for topic, number in sorted(holds - has)]
    if isinstance(truth, KRaftTruth):
        found += [f"broker {broker} still has {topic}-{number}" for topic, number in sorted(has - holds)]
    for log_dir in logs.live_dirs():
        for name in logs.storage.list(log_dir):
            place = partition_of(future_of(name) or name)
            if place is None or place[0] == CLUSTER_METADATA:
                continue
            if place not in holds and not isinstance(truth, KRaftTruth):
                continue
            log = logs.get(*place)
            if log is None or log.directory != f"{log_dir}/{name}":
                found.append(f"broker {broker} has {log_dir}/{name}")
    if isinstance(truth, KRaftTruth):
        found += _misplaced(truth, broker, machine)
    return found


def _misplaced(truth: KRaftTruth, broker: int, machine: Any) -> list[str]:
    """Replicas that lie elsewhere than the controller knows (KIP-858)."""
    found, logs = [], machine.log_manager
    for topic in truth.image.topics.values():
        for number, one in topic.partitions.items():
            log = logs.get(topic.name, number)
            held = dict(zip(one.replicas, one.directories, strict=False)).get(broker)
            if log is not None and held is not None and held != directory_id(logs.storage, logs.dir_of(log)):
                found.append(f"broker {broker} has {log.directory}, the controller says {held}")
    return found
