"""One swarm run for each of many seeds, in this process or shared out to several."""

from __future__ import annotations

import multiprocessing
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

from broker_core.kernel.problems import told
from lab.experiments.verify import verify
from lab.faults import probes
from lab.faults.swarm import run_swarm
from lab.snapshots.agreement import disagreements

LIFE = 50
"""Runs that a process makes, about, before others take the place of all: what they leave in memory goes with it."""


class Ran(NamedTuple):
    """What is told of one seed, whether all was well, and the rare paths that it reached."""

    line: str
    well: bool
    reached: Counter[str]


def run(home: Path, generation: str, once: bool, seed: int) -> Ran:
    """One seed, executed again unless `once`; its directory below `home` is deleted when all was well."""
    out = home / str(seed)
    result = run_swarm(seed, out, generation=generation)
    unmet = [told(one) for one in result.unmet]
    if not once:
        verdict = verify(out)
        if not verdict.same:
            unmet.append(f"executed again: {verdict.reason}")
        unmet += disagreements(out, Random(f"snapshots/{seed}"))
    line = (f"{seed}: {'FAILED ' + '; '.join(unmet) if unmet else 'ok'}  ({result.receipt.total.acked} acked,"
            f" {result.virtual_s:.0f} s of the cluster's time in {result.wall_s:.1f} s)")  # fmt: skip
    reached = probes.reached(out)
    if not unmet:
        shutil.rmtree(out)
    return Ran(line, not unmet, reached)


def run_all(seeds: range, one: Callable[[int], Ran], workers: int) -> Iterator[Ran]:
    """In the order of the seeds, by `workers` processes; 1: by this one."""
    if workers == 1:
        yield from map(one, seeds)
        return
    for first in range(0, len(seeds), LIFE * workers):  # `max_tasks_per_child` may hang (CPython issue 115634)
        with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn")) as pool:
            yield from pool.map(one, seeds[first : first + LIFE * workers])
