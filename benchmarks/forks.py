"""`fork`: an hour of a lab at 500 records a second, forked at moments that lie all over it.

The lab's own clock runs faster than the wall's, so an hour takes twenty minutes; what a fork costs depends on what has
happened, not on how long that took. `stall` is the longest that the lab's thread did not answer while forks were made.
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from benchmarks.results import Result, median
from benchmarks.sides import free_ports
from lab.branch import Branch
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab

RATE = 500
SPEED = 3.0
FORKS = 20
GOAL_S = 2.0


def fork(quick: bool) -> Iterator[Result]:
    """Seconds until a fork is there; what its snapshots take of disk and processor."""
    age_s = 300 if quick else 3600
    with tempfile.TemporaryDirectory(prefix="brokerlab-forks-") as home:
        spec = run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 1})
        lab = LiveLab(spec, Path(home))
        lab.start()
        try:
            load(lab.main, age_s)
            yield from _measure(lab, age_s)
        finally:
            lab.stop()


def _do(branch: Branch, command: dict[str, Any]) -> None:
    answer = branch.submit(command).result(60)
    assert answer.get("ok"), answer


def load(main: Branch, age_s: int, begin: bool = True) -> None:
    """Write and read until the lab is so old."""
    if begin:
        producer = {"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": RATE}
        _do(main, {"do": "create_topic", "topic": "orders", "partitions": 6, "replication_factor": 3})
        _do(main, {"do": "start_client", **producer})
        _do(main, {"do": "start_client", "name": "consumer-orders", "kind": "consumer", "topic": "orders"})
    _do(main, {"do": "time", "speed": SPEED})
    while main.clock()["t"] < age_s * 1_000_000:
        time.sleep(1)
    _do(main, {"do": "time", "speed": 1})


def _measure(lab: LiveLab, age_s: int) -> Iterator[Result]:
    main, random, took, copied = lab.main, Random(1), [], []
    ping = _Ping(main)
    moments = [random.randrange(1, age_s * 1_000_000) for _ in range(FORKS)]
    for t_us in [*moments, None]:
        began = time.perf_counter()
        at = main.clock()["t"] if t_us is None else t_us
        branch = lab.branch(lab.fork(main.run_id, t_us=at).result(600))
        took.append(time.perf_counter() - began)
        branch.files.wait()
        copied.append(time.perf_counter() - began)
        lab.close_branch(branch.run_id).result(60)
    age, shelf = f"{age_s // 60} min", main.keeper.shelf
    for case, unit, found, goal in (
        (f"{age}, slowest of {FORKS}", "s", max(took[:-1]), GOAL_S), (f"{age}, median", "s", median(took[:-1]), None),
        (f"{age}, at this moment", "s", took[-1], GOAL_S), (f"{age}, until files are whole", "s", max(copied), None),
        ("longest stall of the lab", "ms", ping.end() * 1000, None), ("snapshots", "", len(shelf.numbers()), None),
        ("snapshots on disk", "MiB", shelf.size() / 2**20, None),
    ):  # fmt: skip
        yield Result("fork", case, unit, found, None, False, goal)


class _Ping:
    """Asks the lab's thread again and again how it is."""

    def __init__(self, branch: Branch) -> None:
        self.branch = branch
        self.longest = 0.0
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._over.wait(0.002):
            began = time.perf_counter()
            self.branch.ask(int).result(60)
            self.longest = max(self.longest, time.perf_counter() - began)

    def end(self) -> float:
        """Seconds."""
        self._over.set()
        self._thread.join()
        return self.longest
