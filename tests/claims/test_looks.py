"""Sentences under the word Invariants are looked at while clusters of both generations break and recover. That there is a
look or a test for each of them is a rule of the house (`tests/house/test_claims.py`)."""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

from tests.claims import looks_brokers, looks_clients  # noqa: F401  registers the looks
from tests.claims.bullets import LOOKS, Look
from tests.worlds import do, run

from broker_core.kernel.world import World
from lab.checkers.invariants import InvariantMonitor
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

EVERY_US = 140_000
READ = {"auto.offset.reset": "earliest"}
ONE = {"offsets.topic.num.partitions": 1, "transaction.state.log.num.partitions": 1, "log.index.interval.bytes": 300,
       "share.coordinator.state.topic.num.partitions": 1, "log.cleaner.backoff.ms": 500}  # fmt: skip
CONSUMER = {"kind": "consumer", "topic": "orders"}
ZOOKEEPER: dict[str, Any] = {
    "cluster": {"brokers": 3, "preset": "teaching", "ensemble": 3, "settings": ONE | {"log.segment.bytes": 3000}},
    "topics": [{"name": "orders", "partitions": 2, "replication_factor": 3}],
    "clients": [
        {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100, "settings": {"acks": "all", "linger.ms": 20}},
        {"name": "consumer-a", **CONSUMER, "settings": {"group.id": "old", "group.instance.id": "a", **READ}},
        {"name": "consumer-b", **CONSUMER, "settings": {"group.id": "old", **READ}},
    ],
}
KRAFT: dict[str, Any] = {
    "cluster": {"brokers": 3, "controller": "kraft", "controllers": 3, "preset": "teaching", "settings": ONE},
    "topics": [{"name": "orders", "partitions": 2, "replication_factor": 3, "configs": {"internal.segment.bytes": 3000}}],
    "clients": [
        {"name": "producer-bank", "kind": "producer", "topic": "orders", "rate": 60, "transaction_records": 5, "abort_share": 0.3,
         "settings": {"acks": "all", "transactional.id": "bank", "transaction.timeout.ms": 3000}},
        {"name": "consumer-a", **CONSUMER, "settings": {"group.id": "new", "group.protocol": "consumer", **READ}},
        {"name": "consumer-b", **CONSUMER, "settings": {"group.id": "new", "group.protocol": "consumer", "group.instance.id": "b"}},
        {"name": "worker-a", "kind": "worker", "topic": "orders", "process_ms": 5, "fail_share": 0.2, "on_failure": "release",
         "settings": {"group.id": "mill", "share.acknowledgement.mode": "explicit"}},
        {"name": "worker-b", "kind": "worker", "topic": "orders", "settings": {"group.id": "mill"}},
    ],
}  # fmt: skip
FAULTS: list[dict[str, Any]] = [
    {"do": "kill", "leader_of": "orders-0"},
    {"do": "create_topic", "topic": "carts", "partitions": 3, "replication_factor": 2},
    {"do": "restart", "broker": 1},
    {"do": "restart", "broker": 2},
    {"do": "restart", "broker": 3},
    {"do": "stop_client", "name": "consumer-b"},
    {"do": "isolate", "leader_of": "orders-1"},
    {"do": "stop_all_faults"},
    {"do": "power_loss", "broker": 2},
    {"do": "delete_topic", "topic": "carts"},
    {"do": "start_client", "name": "consumer-b"},
    {"do": "restart", "broker": 2},
    {"do": "pause", "broker": 3},
    {"do": "stop_all_faults"},
]


class Watch:
    """Looks at every object of a world for which there are looks."""

    def __init__(self) -> None:
        self.seen: Counter[tuple[str, str]] = Counter()
        self.broken: dict[tuple[str, str], str] = {}
        self._memories: dict[int, tuple[Any, list[dict[str, Any]]]] = {}
        self._looks: dict[type, list[tuple[str, str, Look]]] = {}

    def _looks_at(self, kind: type) -> list[tuple[str, str, Look]]:
        if kind not in self._looks:
            self._looks[kind] = [one for base in kind.__mro__ for one in LOOKS.get(base, ())]
        return self._looks[kind]

    def look(self, world: World) -> None:
        for one in gc.get_objects():
            looks = self._looks_at(type(one))
            if not looks:
                continue
            _, memories = self._memories.setdefault(id(one), (one, [{} for _ in looks]))
            for (place, sentence, holds), memory in zip(looks, memories, strict=True):
                self.seen[place, sentence] += 1
                if not holds(one, memory):
                    self.broken.setdefault((place, sentence), f"at {world.now_us / 1e6:.3f} s")

    def forget(self) -> None:
        """Of a process that has ended nothing is looked at again."""
        self._memories.clear()
        gc.collect()


def lived_through(spec: dict[str, Any], watch: Watch) -> None:
    gc.freeze()
    world = build_world(run_from_dict(spec | {"seed": 11}))
    monitor = InvariantMonitor(world)
    run(world, 4)
    for topic in spec["topics"]:
        do(world, do="create_topic", topic=topic["name"], **{key: one for key, one in topic.items() if key != "name"})
    run(world, 1)
    for client in spec["clients"]:
        do(world, do="start_client", name=client["name"])
    for fault in [None] * 3 + FAULTS + [None] * 4:
        if fault is not None:
            do(world, **fault)
            watch.forget()
        for _ in range(5):
            world.run_until(world.now_us + EVERY_US)
            watch.look(world)
    monitor.detach()


def test_what_docstrings_claim_holds_in_clusters_that_break_and_recover() -> None:
    watch = Watch()
    for spec in (ZOOKEEPER, KRAFT):
        lived_through(spec, watch)
        watch.forget()
    assert watch.broken == {}
    never = [f"{place}: {sentence}" for looks in LOOKS.values() for place, sentence, _ in looks if not watch.seen[place, sentence]]
    assert not never, "nothing of this kind was there to look at:\n" + "\n".join(never)


def test_a_claim_that_does_not_hold_is_found() -> None:
    gc.freeze()
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching"}}))
    world.run_until(2_000_000)
    tree = next(node.machine.tree for node in world.nodes.values() if node.name == "zookeeper-1")  # type: ignore[union-attr]
    watch = Watch()
    watch.look(world)
    assert watch.broken == {}
    tree.nodes["/brokers/lost/child"] = tree.nodes["/brokers"]
    tree.nodes["/brokers/lost"] = tree.nodes["/brokers"]
    watch.look(world)
    assert [sentence for _, sentence in watch.broken] == ["every znode but the root is in the children of its parent"]
