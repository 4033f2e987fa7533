"""`simulation`: virtual seconds per second of a simulated cluster, without any outside client.

A second is one of the processor's: nothing here waits, and what else runs on the machine is left out.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks.results import Result, median
from benchmarks.sides import OURS
from broker_core import COMPILED
from broker_core.kernel.inputs import Command
from lab import heap
from lab.clusters.build import build_world
from lab.clusters.clients import add_client
from lab.clusters.spec import CONTROLLERS, RunSpec, run_from_dict

SECOND_US = 1_000_000
PARTITIONS = 70
RATE = 100


def description(controller: str = CONTROLLERS[0]) -> RunSpec:
    """Three brokers, 70 partitions with three replicas, one producer of 100 one-record batches a second."""
    producer = {"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": RATE, "size": 100,
                "settings": {"acks": "all", "linger.ms": "0", "batch.size": "1"}}
    topic = {"name": "orders", "partitions": PARTITIONS, "replication_factor": 3}
    cluster = {"controller": controller}
    return run_from_dict(
        {"seed": 1, "record_level": "messages", "cluster": cluster, "topics": [topic], "clients": [producer]})


def simulation(quick: bool) -> Iterator[Result]:
    """Under load, and idle, in each generation."""
    virtual_s = 20 if quick else 120
    for controller, more in zip(CONTROLLERS, OURS.values(), strict=True):
        case = f"{more}{', compiled core' if COMPILED else ''}"
        under_load = median([_speed(virtual_s, controller, load=True) for _ in range(1 if quick else 3)])
        yield Result("simulation", f"{RATE} one-record batches/s{case}", "virtual s/s", under_load, None, True, 100.0)
        idle = _speed(virtual_s * 10, controller, load=False)
        yield Result("simulation", f"idle{case}", "virtual s/s", idle, None, True)


def _speed(virtual_s: int, controller: str, *, load: bool) -> float:
    with tempfile.TemporaryFile() as journal:
        world = settled(journal.write, load=load, controller=controller)
        heap.settle()  # as `brokerlab run` does
        started = time.process_time()
        run(world, virtual_s)
        return virtual_s / (time.process_time() - started)


def settled(sink: Callable[[bytes], object], *, load: bool, controller: str = CONTROLLERS[0]) -> Any:
    """The cluster with its topic and, under `load`, its producer; all of them have come to rest."""
    spec = description(controller)
    world = build_world(spec)
    world.journal.sink = sink
    run(world, 5)
    topic = spec.topics[0]
    world.inject(Command({"do": "create_topic", "topic": topic.name, "partitions": topic.partitions,
                          "replication_factor": topic.replication_factor}))
    run(world, 5)
    if load:
        add_client(world, spec, spec.clients[0])
    run(world, 2)
    return world


def run(world: Any, virtual_s: int) -> None:
    """Let so many virtual seconds pass."""
    world.run_until(world.now_us + virtual_s * SECOND_US)
