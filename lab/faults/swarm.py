"""A swarm run: everything that it does is drawn from its seed. The cluster, its settings, its load, its faults.

    seed ---> scenario (a plain document) ---> form ---> load, with a nemesis ---> heal, settle ---> read back, judge

Each seed draws a cluster of 1 to 7 brokers, and which kinds of fault there are at all: many runs that each have
a few kinds find more than runs that all have every kind ("swarm testing", Groce and others, 2012).

| phase | asks |
|---|---|
| safety: faults come and go while clients write | nothing acked is lost, no invariant is violated |
| liveness: all is healed, dead brokers start | every partition led, every replica in the ISR, every client ended |

Duplicates and changes of order are counted, not forbidden. With retries they may happen even to an idempotent
producer, as in Kafka: the broker accepts any first sequence of a producer that it does not know, and after a restart
it knows the last batch of each producer only.

What is done to the world is recorded as commands, so a run is executed again without this module.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import STOPPED
from broker_core.kernel.problems import Problem, problem
from lab.checkers.invariants import InvariantMonitor
from lab.checkers.invariants_sharing import led_shares
from lab.clusters import observe
from lab.clusters.build import StorageFactory, memory
from lab.clusters.brokers import DYNAMIC, STATIC
from lab.clusters.spec import CONTROLLERS, MOST_CONTROLLERS
from lab.experiments.directory import RunDirectory
from lab.experiments.run import Execution, RunResult, refused_by_brokers
from lab.faults.moves import NO_ELR, Mover, draw_moves, endless, has_no_elr, is_excused, left_over, under_way
from lab.faults.nemesis import STORIES, Nemesis, kinds_of
from lab.scenarios import grammar
from lab.scenarios.grammar import Scenario
from lab.truth import truth_of

ZOOKEEPER = CONTROLLERS[0]
ENSEMBLE = "ensemble"
SHARE = "share"
TRANSACTIONS = "transactions"
MOVES = "moves"
GENERATIONS = (*CONTROLLERS, ENSEMBLE, SHARE, TRANSACTIONS, MOVES)
"""Those of Kafka, ZooKeeper with several servers, and KRaft with workers of a share group, or with transactional
clients and groups of both protocols; and either of the two with replicas that move."""
CONTROLLERS_OF_THEIR_OWN = (0, 0, 1, 2, 3, 3, 4, 5)
"""0: some of the brokers vote, too, up to five of them."""
ENSEMBLES = (3, 3, 5)
OF_VOTERS = ("add_controller", "remove_controller")
GONE_US = 60_000_000
GROUPS_US = 240_000_000
AGAIN_US = 5_000_000
ANSWERED_US = 120_000_000
NEVER = ("lost", "failed_read", "inconsistent")


def draw(seed: int, generation: str = ZOOKEEPER) -> dict[str, Any]:
    """The scenario of a seed, without its faults: those depend on what the cluster looks like by then. In both
    generations it is the same but for the controllers: brokers that vote, too, or controllers of their own, one to five
    voters, who stay or may change. An `ensemble` is that of ZooKeeper, with 3 or 5 servers of the tree. `moves` has
    one generation or the other."""
    scenario = _drawn(seed)
    if generation == ENSEMBLE:
        scenario["cluster"]["ensemble"] = Random(f"ensemble/{seed}").choice(ENSEMBLES)
    elif generation == MOVES:
        rng = Random(f"moves/{seed}")
        if rng.random() < 0.5:
            _to_kraft(scenario, seed)
        draw_moves(scenario, rng)
    elif generation != ZOOKEEPER:
        _to_kraft(scenario, seed)
        if generation == SHARE:
            _add_workers(scenario, Random(f"share/{seed}"))
        elif generation == TRANSACTIONS:
            _add_transactions(scenario, Random(f"transactions/{seed}"))
    return scenario


def _to_kraft(scenario: dict[str, Any], seed: int) -> None:
    cluster, size = scenario["cluster"], scenario["cluster"]["settings"].pop("log.segment.bytes")
    cluster |= {"controller": CONTROLLERS[1], **_quorum(Random(f"controllers/{seed}"), cluster["brokers"])}
    scenario["topics"][0]["configs"] = {"internal.segment.bytes": size}  # 4.x takes no small `segment.bytes`


def _quorum(rng: Random, brokers: int) -> dict[str, Any]:
    """Who votes; voters of a dynamic quorum (KIP-853) come and go among the faults."""
    own, quorum = rng.choice(CONTROLLERS_OF_THEIR_OWN), rng.choice((STATIC, DYNAMIC))
    combined = {} if own else {"combined": rng.randint(1, min(MOST_CONTROLLERS, brokers))}
    return {"controllers": own, "quorum": quorum, **combined}


def _add_workers(scenario: dict[str, Any], rng: Random) -> None:
    """Workers who fail now and then, some of them slower than a lock allows."""
    brokers = scenario["cluster"]["brokers"]
    scenario["cluster"]["settings"] |= {
        "share.coordinator.state.topic.num.partitions": rng.randint(1, 3),
        "share.coordinator.state.topic.replication.factor": min(3, brokers),
        "share.coordinator.state.topic.min.isr": min(2, brokers),
        "group.share.min.record.lock.duration.ms": 1000,
        "group.share.record.lock.duration.ms": rng.choice([1000, 2000, 10_000]),
        "group.share.delivery.count.limit": rng.choice([2, 3, 5]),
        "share.coordinator.snapshot.update.records.per.snapshot": rng.choice([5, 500]),
    }
    for number in range(1, rng.randint(2, 4) + 1):
        explicit = rng.random() < 0.7
        worker = {
            "name": f"worker-{number}", "kind": "worker", "topic": "orders", "commit": rng.choice(["poll", "sync"]),
            "process_ms": rng.choice([0, 1, 5, 40]),
            "settings": {
                "group.id": "mill", "share.acknowledgement.mode": "explicit" if explicit else "implicit",
                "share.acquire.mode": rng.choice(["batch_optimized", "record_limit"]),
                "max.poll.records": rng.choice([5, 50, 500]),
            },
        }
        if explicit:
            worker["fail_share"] = rng.choice([0, 0.05, 0.3])
            worker |= {"on_failure": rng.choice(["release", "release", "reject"]), "renews": rng.random() < 0.3}
        scenario["clients"].append(worker)


def _add_transactions(scenario: dict[str, Any], rng: Random) -> None:
    """A producer that aborts now and then, processors that copy exactly once, careful readers in a group of KIP-848.
    What nobody ends is aborted soon: their transactions time out within seconds."""
    brokers = scenario["cluster"]["brokers"]
    scenario["cluster"]["settings"] |= {
        "transaction.state.log.num.partitions": rng.randint(1, 4),
        "transaction.state.log.replication.factor": min(3, brokers),
        "transaction.state.log.min.isr": min(2, brokers),
        "transaction.abort.timed.out.transaction.cleanup.interval.ms": 1000,
        "group.consumer.assignment.interval.ms": rng.choice([0, 1000]),
    }
    scenario["topics"].append({**scenario["topics"][0], "name": "ledger", "partitions": rng.randint(1, 3)})
    timeout = {"transaction.timeout.ms": rng.choice([5000, 10_000])}
    careful = {"isolation.level": "read_committed", "auto.offset.reset": "earliest"}
    scenario["clients"].append({
        "name": "producer-bank", "kind": "producer", "topic": "orders", "rate": rng.choice([10, 30]),
        "transaction_records": rng.choice([1, 5, 20]), "abort_share": rng.choice([0, 0.1, 0.5]),
        "settings": {"acks": "all", "transactional.id": "bank", **timeout},
    })  # fmt: skip
    for number in range(1, rng.randint(1, 2) + 1):
        own = {"group.id": "copiers", "transactional.id": f"copier-{number}", "max.poll.records": rng.choice([5, 100])}
        protocol = {"group.protocol": "consumer"} if rng.random() < 0.5 else {}
        scenario["clients"].append({
            "name": f"processor-{number}", "kind": "processor", "topic": "orders", "into": "ledger",
            "settings": {**own, **careful, **timeout, **protocol},
        })  # fmt: skip
    for number in range(1, rng.randint(1, 3) + 1):
        settings = {"group.id": "modern", "group.protocol": "consumer", **careful}
        reader = {"name": f"careful-{number}", "kind": "consumer", "topic": "orders", "settings": settings}
        scenario["clients"].append(reader)
    scenario["expect"]["group.copiers.twice"] = 0


def _drawn(seed: int) -> dict[str, Any]:
    rng = Random(f"swarm/{seed}")
    brokers = rng.choice([1, 2, 3, 3, 3, 3, 4, 5, 7])
    factor = min(3, brokers)
    settings = {
        "min.insync.replicas": min(2, factor), "offsets.topic.replication.factor": factor,
        "num.replica.fetchers": rng.choice([1, 1, 2]), "log.dirs": rng.choice(["data", "data", "data1,data2"]),
        "log.segment.bytes": rng.choice([1 << 30, 1 << 16, 1 << 14]), "num.partitions": rng.randint(1, 3),
        "log.flush.interval.messages": rng.choice([9223372036854775807, 100]),
    }  # fmt: skip
    consumer = {"group.id": "g", "auto.offset.reset": "earliest"}
    return {
        "scenario": f"swarm-{seed}",
        "seed": seed,
        "cluster": {
            "brokers": brokers, "preset": "teaching", "settings": settings,
            "link_delay_ms": rng.choice([0, 0, 1, 5, 20, 60]),
        },
        "topics": [{"name": "orders", "partitions": rng.randint(1, 5), "replication_factor": factor}],
        "clients": [
            {"name": "producer-safe", "kind": "producer", "topic": "orders", "rate": rng.choice([10, 30, 60]),
             "keys": rng.choice([0, 20]), "size": rng.choice([10, 100, 1000]), "settings": {"acks": "all"}},
            {"name": "producer-plain", "kind": "producer", "topic": "orders", "rate": rng.choice([5, 20]),
             "settings": {"acks": "all", "enable.idempotence": False}},
            {"name": "consumer-1", "kind": "consumer", "topic": "orders", "settings": consumer},
            {"name": "consumer-2", "kind": "consumer", "topic": "orders", "settings": consumer},
        ],
        "duration": f"{rng.randint(10, 30)}s",
        "settle": "180s",
        "expect": {f"receipt.{figure}": 0 for figure in NEVER},
    }  # fmt: skip


def story_of(seed: int) -> str:
    """Every fifth seed begins with a story (`nemesis.STORIES`), one after the other."""
    return "" if seed % 5 else STORIES[seed // 5 % len(STORIES)]


class Enough(Exception):
    """The light that somebody waits for is red."""


def run_swarm(
    seed: int, out: Path, losing: bool = False, storage_factory: StorageFactory = memory, generation: str = ZOOKEEPER,
    until: str = "",
) -> RunResult:  # fmt: skip
    """Run a seed. `losing`: several brokers may lose their data at once, so acked records may go, too. `until`: an
    invariant; raises Enough as soon as it does not hold."""
    scenario = grammar.from_dict(draw(seed, generation))
    run = SwarmRun(scenario, RunDirectory(out), losing, storage_factory, generation == MOVES)
    if until:
        run.end_when_red(until)
    return run.run()


class SwarmRun(Execution):
    """A run whose steps are decided as it goes."""

    steps_by = "nemesis"

    def __init__(
        self, scenario: Scenario, files: RunDirectory, losing: bool, storage_factory: StorageFactory,
        moves: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(scenario, files, False, storage_factory)
        rng = Random(f"nemesis/{self.spec.seed}")
        kinds = list(kinds_of(self.spec.cluster))
        chosen = [kind for kind in kinds if rng.random() < 0.4] or [rng.choice(kinds)]
        self.nemesis = Nemesis(self.world, rng, chosen, losing, story_of(self.spec.seed))
        own = Random(f"mover/{self.spec.seed}")
        self.mover = Mover(self.world, own, self.spec.cluster, self.nemesis) if moves else None
        self.monitor = InvariantMonitor(self.world)
        self._leaving: dict[str, int] = {}
        """Brokers that were asked to stop, and the incarnation that was."""

    def end_when_red(self, name: str) -> None:
        """What follows is of no interest, and a program that is broken may go on for very long."""

        def look(until_us: int) -> None:
            if self.monitor.counts[name]:
                raise Enough(name)

        self.world.observers.append(look)

    def _load(self) -> None:
        if self.mover and self.mover.without_elr:
            self._try(NO_ELR)
            self._wait(has_no_elr, GONE_US, self.world)
        end_us = self.began_us + self.scenario.duration_us
        actors: list[Nemesis | Mover] = [self.nemesis, *([self.mover] if self.mover else [])]
        for actor in actors:
            actor.begin()
        for group in self._share_groups():
            self._try({"do": "alter_config", "group": group, "set": {"share.auto.offset.reset": "earliest"}})
        while (at_us := min(actor.next_us() for actor in actors)) < end_us:
            self._run_until(max(at_us, self.world.now_us))
            for actor in actors:
                for command in actor.act():
                    actor.done(command, self._try(command))
        super()._load()

    def _try(self, command: dict[str, Any]) -> dict[str, Any]:
        """Inject it; a refusal is no failure of the run."""
        noted = len(self.notes)
        result = self._inject(command, must=False)
        del self.notes[noted:]
        if command["do"] == "stop" and result.get("ok"):
            name = broker_node(command["broker"])
            self._leaving[name] = self.world.nodes[name].incarnation
        return result

    def _settle(self) -> None:
        """A broker that has given up a directory takes it back when it starts again."""
        self._try({"do": "stop_all_faults"})
        self._wait(self.nemesis.may_restart, GONE_US)
        self._wait(self._nobody_leaves, GONE_US)
        for _, node in observe.brokers(self.world):
            machine: Any = node.machine
            if machine is not None and machine.log_manager.offline_dirs:
                self._try({"do": "restart", "node": node.name})
        for name in self.spec.keeper_names():
            if self.world.nodes[name].machine is None:
                self._try({"do": "restart", "node": name})
        if self.mover is not None:
            self._end_moves(self.mover)
        self._let_groups_read()
        super()._settle()
        if self.mover is not None:
            self.notes += [problem("moves_left", what=one) for one in left_over(self.world)]
        self.monitor.finish()

    def _end_moves(self, mover: Mover) -> None:
        for name in self._stopped_brokers():
            self._try({"do": "restart", "node": name})
        self._wait(mover.answered, ANSWERED_US)
        for command in mover.end():
            self._try(command)
        self._wait(self._only_endless, GONE_US)
        until = self.world.now_us + GONE_US
        while endless(self.world) and self.world.now_us < until:  # refused while only those that were added are in sync
            for command in endless(self.world):
                self._try(command)
            self._wait(self._none_endless, AGAIN_US)

    def _none_endless(self) -> bool:
        return not endless(self.world)

    def _only_endless(self) -> bool:
        return len(under_way(self.world)) == len(endless(self.world))

    def _at_rest(self) -> bool:
        """Nothing moves any more, either."""
        return super()._at_rest() and (self.mover is None or not left_over(self.world))

    def _nobody_leaves(self) -> bool:
        """Who was told to stop has stopped: what looks at rest meanwhile is not."""
        nodes = self.world.nodes
        return all(nodes[name].state == STOPPED or nodes[name].incarnation != which
                   for name, which in self._leaving.items())  # fmt: skip

    def _let_groups_read(self) -> None:
        """Writers end, and the groups read all there is, as `EveryGroupReads` demands: the wait is longer than its
        patience."""
        kinds = {client.name: client.kind for client in self.spec.clients}
        running = self._running_clients()
        for name, kind in kinds.items():
            if kind == "producer" and name in running:
                self._try({"do": "stop_client", "name": name})
            elif kind in ("consumer", "worker") and name not in running:
                self._try({"do": "restart", "node": name})
        until = self.world.now_us + GROUPS_US
        while self.world.now_us < until and not self._groups_have_read():
            for name in self._stopped_brokers():
                self._try({"do": "restart", "node": name})
            self._wait(self._groups_may_go_on, until - self.world.now_us)

    def _groups_may_go_on(self) -> bool:
        return bool(self._stopped_brokers()) or self._groups_have_read()

    def _groups_have_read(self) -> bool:
        """Every partition has a member that stands at its end, and nobody writes any more."""
        world, spec = self.world, self.spec
        kinds = {client.name: client.kind for client in spec.clients}
        if any(kinds.get(name) == "producer" for name in self._running_clients()) or not self._at_rest():
            return False
        reached: dict[tuple[str, int], int] = {}
        for name in kinds:
            machine: Any = world.nodes[name].machine
            for place, position in (machine.positions.of if kinds[name] == "consumer" and machine else {}).items():
                reached[place] = max(reached.get(place, -1), position.offset)
        return self._all_read(reached) and self._all_ended()

    def _all_ended(self) -> bool:
        """What workers took is acknowledged or archived up to the end of each partition."""
        starts = {shared: entry.share.start for _, shared, entry in led_shares(self.world)}
        for number, state in truth_of(self.world).topics().get("orders", {}).items():
            end = observe.log_marks(self.world, "orders", number)[state["leader"]]["hw"]
            if any(starts.get((group, "orders", number), -1) < end for group in self._share_groups()):
                return False
        return True

    def _share_groups(self) -> list[str]:
        return sorted({client.settings["group.id"] for client in self.spec.clients if client.kind == "worker"})

    def _all_read(self, reached: dict[tuple[str, int], int]) -> bool:
        world = self.world
        for number, state in truth_of(world).topics().get("orders", {}).items():
            marks = observe.log_marks(world, "orders", number)
            if state["leader"] not in marks or reached.get(("orders", number), -1) < marks[state["leader"]]["hw"]:
                return False
        return True

    def _doubtful(self) -> list[Problem]:
        """Notes of refusals that say nothing: of what was sent again because the first try was not answered (a topic
        that "already exists" then is the one that was asked for: the run has gone on with it), and of voters that have
        come or gone by another command meanwhile."""
        rows = self.world.operations.rows
        unknown = [_asked(row) for row in rows if row["op"] == "admin" and row["kind"] == "info"]
        refused = [(row, row[5]["command"]) for row in self.findings.rows if row[3] == events.COMMAND_REFUSED.name]
        said = [row for row, asked in refused if asked in unknown or asked["do"] in OF_VOTERS]
        said += [row for row, asked in refused if row not in said and is_excused(asked, row[5]["problem"])]
        return refused_by_brokers(said)

    def judge(self) -> list[Problem]:
        """Expectations, rest, invariants."""
        doubtful = self._doubtful()
        unmet = [*super().judge(), *(note for note in self.notes if note not in doubtful)]
        for name, light in self.monitor.lights().items():
            if not light["ok"]:
                unmet.append(problem("invariant_broken", name=name, first=str(light["first"])))
        return unmet


def _asked(row: dict[str, Any]) -> dict[str, Any]:
    """The command of a row of the history, without what came of it."""
    return {key: value for key, value in row.items() if key in ("do", "topic", "partition", "group", "broker")}
