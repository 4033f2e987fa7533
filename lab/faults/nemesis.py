"""Who breaks things in a swarm run, and mends them after a while.

Faults come at random times, each with its end already planned. A crash, a pause, a cut link take nothing from
a disk: any number of them may come together. What loses data (a power loss, a wiped disk) is different: with
acks=all and `min.insync.replicas` 2 Kafka promises to survive *one* such loss. So

* it hits only when nothing else is broken and every partition of that broker has another replica in its ISR
* until it has left all ISRs it stays down, and nothing else is broken
* the next one waits until it is back in every ISR, with everything

Without the second rule records are lost, and in Kafka with ZooKeeper, too: a broker that starts again with less
than it had, before a controller has seen it go (the controller may have died with it), is still in the ISR, and may
lead. KIP-966 is the answer to that, in KRaft.
"""

from __future__ import annotations

import heapq
from random import Random
from typing import Any

from broker_core.kernel.names import broker_node, broker_of, number_of, zookeeper_node
from broker_core.kernel.node import PAUSED, RUNNING, STOPPED, Node
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.brokers import DYNAMIC, ClusterSpec
from lab.clusters.spec import MOST_CONTROLLERS
from lab.truth import truth_of

S = 1_000_000
Command = dict[str, Any]
KINDS: dict[str, float] = {
    "kill": 3, "stop": 2, "pause": 3, "power_loss": 2, "wipe": 1, "partition_link": 3, "isolate": 2,
    "random_halves": 1, "delay_link": 2, "drop_link": 2, "bandwidth_link": 1, "clock_skew": 1, "expire_session": 1,
    "disk_full": 1, "disk_write_error": 1, "disk_read_error": 1, "lost_fsync": 1, "tree_kill": 1, "tree_pause": 1,
    "client_kill": 1, "produce": 1, "slow_disk": 1, "swizzle": 1,
}  # fmt: skip
OF_ZOOKEEPER = ("expire_session",)
OF_SEVERAL: dict[str, float] = {"tree_isolate": 1, "tree_restart": 1}
OF_ENSEMBLE: dict[str, float] = {"tree_apart": 4}
"""A server of the tree that clients reach and its ensemble does not."""
OF_DYNAMIC: dict[str, float] = {"voter_joins": 2, "voter_leaves": 2}
"""A controller that comes and goes again, and a voter that loses its vote and gets it back (KIP-853)."""
LOSES = ("power_loss", "wipe")
FORGETS = ("wipe", "lost_fsync")
"""What a voter may not forget: a majority has promised to keep it, and this one may be needed for a majority (KIP-853).
"""
STORIES = ("zombie", "laggard")
"""Told at the beginning of the load, when nothing else is broken: what random faults come to once in a hundred runs."""


def kinds_of(cluster: ClusterSpec) -> dict[str, float]:
    """The faults of a generation; `tree_` ones hit whoever keeps what the cluster has decided: voters, or servers of
    the tree. The last ones hit one of several."""
    if not cluster.is_kraft:
        return {**KINDS, **OF_SEVERAL, **OF_ENSEMBLE} if cluster.ensemble > 1 else KINDS
    kinds = {**KINDS, **OF_SEVERAL, **(OF_DYNAMIC if cluster.quorum == DYNAMIC else {})}
    return {name: weight for name, weight in kinds.items() if name not in OF_ZOOKEEPER}


class Nemesis:
    """`next_us` says when it acts next, `act` gives the commands of that moment, `done` tells it what came of each."""

    def __init__(self, world: World, rng: Random, kinds: list[str], losing: bool, story: str = "") -> None:
        self.world = world
        self.rng = rng
        self.kinds = kinds
        self.weights = {**KINDS, **OF_SEVERAL, **OF_ENSEMBLE, **OF_DYNAMIC}
        self.losing = losing
        self.story = story
        self._scripted: list[Command] = []
        """Commands of the story: it plans their ends itself."""
        self.mean_us = rng.uniform(0.3, 3) * S
        self.bare: str | None = None
        self._cut: list[str] = []
        """The voter that was just isolated, by no swizzle."""
        self._promised: set[str] = set()
        """Who has been a voter: whether a removal holds is not known yet when it is asked for."""
        self._planned: list[tuple[int, int, Command]] = []
        self._count = 0
        self._attack_us = 0

    def begin(self) -> None:
        """The load has begun."""
        self._attack_us = self.world.now_us + self._wait_us()

    def next_us(self) -> int:
        return min(self._attack_us, self._planned[0][0] if self._planned else self._attack_us)

    def act(self) -> list[Command]:
        """What is planned for now, and perhaps something new."""
        now_us = self.world.now_us
        commands = []
        while self._planned and self._planned[0][0] <= now_us:
            command = heapq.heappop(self._planned)[2]
            waits = command["do"] == "restart" and not self.may_restart(command)
            if waits or (command["do"] == "remove_controller" and not self._may_leave()):
                self._plan(S // 2, command)
            else:
                commands.append(command)
        if self._attack_us <= now_us:
            self._attack_us = now_us + self._wait_us()
            if self.story:
                self._attack_us += self._tell()
                return commands
            kind = self.rng.choices(self.kinds, [self.weights[name] for name in self.kinds])[0]
            if kind in ("swizzle", "tree_apart"):
                self._swizzle() if kind == "swizzle" else self._apart()
                return commands
            attack = self._attack(kind)
            if attack is not None and not commands:
                commands.append(attack)
        return commands

    def _tell(self) -> int:
        """Plan the story; until when (microseconds from now) nothing else is broken."""
        names = [node.name for _, node in observe.brokers(self.world) if node.state == RUNNING]
        active = truth_of(self.world).controller_id()
        controller = "" if active is None else broker_node(active)
        others = [name for name in names if name != controller]
        story, self.story = self.story, ""
        if controller not in names or len(others) < 2:
            return 0
        one, other = self.rng.sample(others, 2)
        return self._zombie(controller, one, other) if story == "zombie" else self._laggard(one, other)

    def _zombie(self, controller: str, one: str, other: str) -> int:
        """What a controller has told a broker about a death comes when another controller has told it more."""
        late = int(self.rng.uniform(7, 9) * S)
        link: Command = {"between": [controller, one], "one_way": True}
        self._script(0, {"do": "delay_link", **link, "delay_ms": late // 1000})
        self._script(S // 2, {"do": "kill", "node": other})
        self._script(int(self.rng.uniform(4.2, 5.2) * S), {"do": "pause", "node": controller})
        self._script(late + S, {"do": "resume", "node": controller})
        self._script(late + S, {"do": "restart", "node": other})
        self._script(late + 2 * S, {"do": "heal_link", **link})
        return late + 3 * S

    def _laggard(self, one: str, other: str) -> int:
        """Two brokers that cannot reach each other, while both reach everybody else."""
        apart = int(self.rng.uniform(8, 12) * S)
        self._script(0, {"do": "partition_link", "between": [one, other]})
        self._script(apart, {"do": "heal_link", "between": [one, other]})
        return apart

    def _script(self, delay_us: int, command: Command) -> None:
        self._scripted.append(command)
        self._plan(delay_us, command)

    def _swizzle(self) -> None:
        """Plan to cut off some brokers one by one, and to let them back in another order (FoundationDB's swizzle)."""
        rng = self.rng
        names = [node.name for _, node in observe.brokers(self.world) if node.state == RUNNING]
        if not names or not self._may_break("isolate", broker_of(names[0])):
            return
        chosen = rng.sample(names, rng.randint(1, len(names)))
        times = sorted(int(rng.uniform(0.01, 4) * S) for _ in range(2 * len(chosen)))
        for delay_us, name in zip(times, chosen):
            self._plan(delay_us, {"do": "isolate", "node": name})
        rng.shuffle(chosen)
        for delay_us, name in zip(times[len(chosen) :], chosen):
            for other in self.world.nodes:
                if other != name:
                    self._plan(delay_us, {"do": "heal_link", "between": [name, other]})

    def _apart(self) -> None:
        """Plan to cut a server of the ensemble off from the others alone; each link heals in its own time."""
        keepers = truth_of(self.world).keepers()
        one = self.rng.choice(keepers)
        for other in keepers:
            if other != one:
                self._plan(0, {"do": "partition_link", "between": [one, other]})

    def done(self, command: Command, result: dict[str, Any]) -> None:
        """Plan the end of what was begun; a new controller has its number now."""
        do = command["do"]
        if command in self._scripted:
            self._scripted.remove(command)
            return
        if not result.get("ok"):
            return
        if do == "add_controller" and "controller" not in command:
            leaves = {"do": "remove_controller", "controller": result["controller"]}
            self._plan(int(self.rng.uniform(1, 12) * S), leaves)
        if do in LOSES:
            self.bare = broker_node(command["broker"])
        for delay_us, end in self._ends(command):
            self._plan(delay_us, end)

    # -- times ------------------------------------------------------------------------------
    def _wait_us(self) -> int:
        return int(self.rng.expovariate(1.0) * self.mean_us) + 1000

    def _plan(self, delay_us: int, command: Command) -> None:
        self._count += 1
        heapq.heappush(self._planned, (self.world.now_us + delay_us, self._count, command))

    def _ends(self, command: Command) -> list[tuple[int, Command]]:
        """The commands that undo a fault, and when."""
        do, rng = command["do"], self.rng
        later = int(rng.uniform(0.1, 8) * S)
        who: Command = {key: command[key] for key in ("broker", "node") if key in command}
        if do in ("kill", "stop", "power_loss", "wipe"):
            return [(later, {"do": "restart", **who})]
        if do == "pause":
            return [(later, {"do": "resume", **who})]
        if do.endswith("_link") and do != "heal_link":
            between: Command = {key: command[key] for key in ("between", "one_way") if key in command}
            return [(later, {"do": "heal_link", **between})]
        of_its_own = do == "isolate" and ("broker" in command or command["node"] in self._cut)
        if do == "random_halves" or of_its_own:  # a swizzle has planned its own end
            return [(later, {"do": "stop_all_faults"})]
        if do == "remove_controller":
            return [(later, {"do": "add_controller", "controller": command["controller"]})]
        if do == "slow_disk":
            return [(later, {"do": "repair_disk", **who})]
        if do in ("disk_full", "disk_write_error", "disk_read_error", "lost_fsync"):
            return [(later, {"do": "repair_disk", **who}), (later + 1000, {"do": "restart", **who})]
        if do == "clock_skew" and command["ms"]:
            return [(later, {**command, "ms": 0})]
        return []

    # -- attacks ----------------------------------------------------------------------------
    def _attack(self, kind: str) -> Command | None:
        """A command of this kind, or None when it must not be now."""
        rng, command = self.rng, Command()
        names = [node.name for _, node in observe.brokers(self.world) if node.state == RUNNING]
        broker = broker_of(rng.choice(names)) if names else 0
        if not names or not self._may_break(kind, broker):
            return None
        if kind.endswith("_link"):
            return self._link(kind, broker, names)
        if kind.startswith("tree_"):
            command = {"do": kind[5:], "node": self._keeper()}
            self._cut = [command["node"]] if kind == "tree_isolate" else []
            return command
        if kind in OF_DYNAMIC:
            return self._voter(kind)
        if kind == "client_kill":
            workers = [name for name in self.world.nodes if name.startswith("worker-")]
            return {"do": "kill", "node": rng.choice(["producer-plain", "consumer-1", "consumer-2", *workers])}
        if kind == "produce":
            return {"do": "produce", "topic": "orders", "value": f"by hand {self._count} {self.world.now_us}"}
        if kind == "random_halves":
            return {"do": kind} if len(names) > 1 else None
        command = {"do": kind, "broker": broker}
        if kind in FORGETS and broker_node(broker) in self._voters():
            return None
        if kind == "clock_skew":
            command["ms"] = rng.choice([-3_600_000, -1000, 1000, 3_600_000])
        elif kind == "power_loss":
            command["torn"] = rng.random() < 0.5
        elif kind == "isolate":
            command["one_way"] = rng.random() < 0.3
        elif kind == "slow_disk":
            command["latency_ms"] = rng.choice([1, 20, 100, 500])
        elif kind.startswith("disk_"):
            self._disk(command, broker)
        return command

    def _voters(self) -> set[str]:
        self._promised.update(truth_of(self.world).keepers())
        return self._promised

    def _voter(self, kind: str) -> Command | None:
        """One more, as long as there are few; or one less of three or more."""
        known = self._voters()
        if kind == "voter_joins":
            return {"do": "add_controller"} if len(known) < MOST_CONTROLLERS else None
        if not self._may_leave():
            return None
        leaves = self.rng.choice(truth_of(self.world).keepers())
        return {"do": "remove_controller", "controller": number_of(leaves)}

    def _may_leave(self) -> bool:
        """Of two voters the one that goes may be the only one to know of it, when the other is down just then: it votes
        for nobody who has less, and is no voter any more. Kafka leaves it to its operators to see to that."""
        return len(truth_of(self.world).keepers()) > 2

    def _keeper(self) -> str:
        """The coordination server, or one of the voters."""
        names = truth_of(self.world).keepers() or [zookeeper_node(1)]
        return names[0] if len(names) == 1 else self.rng.choice(names)

    def _disk(self, command: Command, broker: int) -> None:
        machine: Any = self.world.nodes[broker_node(broker)].machine
        command["directory"] = self.rng.choice(machine.log_manager.log_dirs)
        command["on_call"] = self.rng.choice([1, 1, 10, 100])

    def _link(self, kind: str, broker: int, names: list[str]) -> Command:
        rng = self.rng
        others = [name for name in names if name != broker_node(broker)]
        keepers = [name for name in truth_of(self.world).keepers() if name != broker_node(broker)]
        other = rng.choice([*others, *others, *keepers, "producer-safe", "consumer-1"])
        command: Command = {"do": kind, "between": [broker_node(broker), other], "one_way": rng.random() < 0.3}
        if kind == "delay_link":
            command |= {"delay_ms": rng.choice([1, 20, 100, 1000]), "jitter_ms": rng.choice([0, 10, 100])}
        elif kind == "drop_link":
            command["probability"] = rng.choice([0.01, 0.1, 0.3])
        elif kind == "bandwidth_link":
            command["bytes_per_s"] = rng.choice([1_000, 10_000, 1_000_000])
        return command

    # -- at least one good copy -------------------------------------------------------------
    def _may_break(self, kind: str, broker: int) -> bool:
        if self.losing:
            return True
        if self.bare is not None and self._has_everything(self.bare):
            self.bare = None
        if kind in LOSES:
            return self.bare is None and self._calm() and self._has_copies(broker)
        return self.bare is None or not self._in_an_isr(self.bare)

    def may_restart(self, command: Command | None = None) -> bool:
        """Whether the broker that lost its data has left all ISRs (another one may start any time)."""
        if self.losing or self.bare is None or self.world.nodes[self.bare].state != STOPPED:
            return True
        if command is not None and command.get("broker") != broker_of(self.bare):
            return True
        return not self._in_an_isr(self.bare)

    def _calm(self) -> bool:
        """Nothing is broken, and each broker is registered as the process that it is: until the session of its former
        life ends one stands in ISRs that leads nothing and copies nothing."""
        world = self.world
        return (
            all(node.state not in (PAUSED, STOPPED) and _is_registered(node) for _, node in observe.brokers(world))
            and not any(link.changed for link in world.network.links.values())
            and not self._planned
        )

    def _states(self, name: str) -> list[tuple[str, int, dict[str, Any]]]:
        """Partitions with a replica there."""
        broker = broker_of(name)
        return [
            (topic, number, state) for topic, partitions in truth_of(self.world).topics().items()
            for number, state in partitions.items() if broker in state["replicas"]
        ]  # fmt: skip

    def _has_copies(self, broker: int) -> bool:
        return all(len([one for one in state["isr"] if one != broker]) > 0
                   for _, _, state in self._states(broker_node(broker)))  # fmt: skip

    def _in_an_isr(self, name: str) -> bool:
        return any(broker_of(name) in state["isr"] for _, _, state in self._states(name))

    def _has_everything(self, name: str) -> bool:
        """In every ISR, with all that the leader has committed."""
        broker = broker_of(name)
        if self.world.nodes[name].state != RUNNING:
            return False
        for topic, number, state in self._states(name):
            marks = observe.log_marks(self.world, topic, number)
            if broker not in state["isr"] or broker not in marks or state["leader"] not in marks:
                return False
            if marks[broker]["leo"] < marks[state["leader"]]["hw"]:
                return False
        return True


def _is_registered(node: Node) -> bool:
    machine: Any = node.machine
    return machine is not None and machine.cluster.broker_epoch() >= 0
