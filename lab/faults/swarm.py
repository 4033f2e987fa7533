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

from lab.checkers.invariants import InvariantMonitor
from lab.clusters import observe
from lab.clusters.build import StorageFactory, memory
from lab.experiments.directory import RunDirectory
from lab.experiments.run import Execution, RunResult
from lab.faults.nemesis import KINDS, Nemesis
from lab.scenarios import grammar
from lab.scenarios.grammar import Scenario

GONE_US = 60_000_000
NEVER = ("lost", "failed_read", "inconsistent")


def draw(seed: int) -> dict[str, Any]:
    """The scenario of a seed, without its faults: those depend on what the cluster looks like by then."""
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


def run_swarm(seed: int, out: Path, losing: bool = False, storage_factory: StorageFactory = memory) -> RunResult:
    """Run a seed. `losing`: several brokers may lose their data at once, so acked records may go, too."""
    scenario = grammar.from_dict(draw(seed))
    return SwarmRun(scenario, RunDirectory(out), losing, storage_factory).run()


class SwarmRun(Execution):
    """A run whose steps are decided as it goes."""

    def __init__(self, scenario: Scenario, files: RunDirectory, losing: bool, storage_factory: StorageFactory) -> None:
        super().__init__(scenario, files, False, storage_factory)
        rng = Random(f"nemesis/{self.spec.seed}")
        chosen = [kind for kind in KINDS if rng.random() < 0.4] or [rng.choice(list(KINDS))]
        self.nemesis = Nemesis(self.world, rng, chosen, losing)
        self.monitor = InvariantMonitor(self.world)

    def _load(self) -> None:
        nemesis, end_us = self.nemesis, self.began_us + self.scenario.duration_us
        nemesis.begin()
        while (at_us := nemesis.next_us()) < end_us:
            self._run_until(max(at_us, self.world.now_us))
            for command in nemesis.act():
                nemesis.done(command, self._try(command))
        super()._load()

    def _try(self, command: dict[str, Any]) -> bool:
        """Inject it; a refusal is no failure of the run."""
        noted = len(self.notes)
        result = self._inject(command, must=False)
        del self.notes[noted:]
        return bool(result.get("ok"))

    def _settle(self) -> None:
        """A broker that has given up a directory takes it back when it starts again."""
        self._try({"do": "stop_all_faults"})
        self._wait(self.nemesis.may_restart, GONE_US)
        for _, node in observe.brokers(self.world):
            machine: Any = node.machine
            if machine is not None and machine.log_manager.offline_dirs:
                self._try({"do": "restart", "node": node.name})
        for name in self.spec.tree_names():
            if self.world.nodes[name].machine is None:
                self._try({"do": "restart", "node": name})
        super()._settle()
        self.monitor.finish()

    def judge(self) -> list[str]:
        """Expectations, rest, invariants."""
        unmet = [*super().judge(), *self.notes]
        for name, light in self.monitor.lights().items():
            if not light["ok"]:
                unmet.append(f"invariant {name}: {light['first']}")
        return unmet
