"""`memory` and `idle`: what a cluster costs while nobody uses it, and after it was used."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator

import psutil

from benchmarks import load
from benchmarks.results import Result
from benchmarks.sides import OURS, Kafka, Ours, OursKRaft, kafka_is_there, processor_s, running


def _sides(web: bool) -> Iterator[Ours | Kafka]:
    """One after the other, so that neither pays for the other one."""
    for ours in (Ours, OursKRaft):
        with running(ours(web)) as side:
            yield side
    if kafka_is_there():
        with running(Kafka()) as side:
            yield side


def resident_mib(processes: list[psutil.Process]) -> float:
    found = 0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            found += process.memory_info().rss
    return found / 2**20


def memory(quick: bool) -> Iterator[Result]:
    """Resident MiB of all processes, with the page served, idle and after a load of 1 KB records."""
    idle: dict[str, float] = {}
    loaded: dict[str, float] = {}
    for side in _sides(web=True):
        load.make_topic(side.bootstrap, "bench-memory")
        time.sleep(5)
        idle[side.name] = resident_mib(side.processes())
        load.produce(side.bootstrap, "bench-memory", 1_000, 60_000 if quick else 300_000, "all")
        loaded[side.name] = resident_mib(side.processes())
    for name, more in OURS.items():
        yield Result("memory", f"idle{more}", "MiB", idle[name], idle.get("Kafka"), False, 8.0)
        yield Result("memory", f"after load{more}", "MiB", loaded[name], loaded.get("Kafka"), False, 8.0)


def idle(quick: bool) -> Iterator[Result]:
    """Percent of one core that a cluster without clients takes."""
    shares: dict[str, float] = {}
    for side in _sides(web=False):
        load.make_topic(side.bootstrap, "bench-idle", 50)
        time.sleep(10)
        seconds = 10 if quick else 60
        before, started = processor_s(side), time.perf_counter()
        time.sleep(seconds)
        shares[side.name] = 100 * (processor_s(side) - before) / (time.perf_counter() - started)
    for name, more in OURS.items():
        yield Result("idle", f"three brokers, 50 partitions{more}", "% of a core", shares[name], shares.get("Kafka"),
                     False, 1.0)
