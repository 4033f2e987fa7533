"""What the benchmarks of Spark share: segment files, the time of an action, a process of its own for each session."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

from broker_core.records import encode_batch

BATCH = 140


def write_segments(home: Path, records: int, files: int = 2, value: int = 100, batch: int = BATCH) -> int:
    """Partitions of a topic with records of `value` bytes and a key (19 bytes more), 16 KB a batch; bytes written."""
    total = 0
    for partition in range(files):
        directory = home / "broker-1" / "data" / f"orders-{partition}"
        directory.mkdir(parents=True)
        with open(directory / f"{0:020d}.log", "wb") as file:
            for offset in range(0, records // files, batch):
                rows = [
                    (1_700_000_000_000 + number, b"key-%06d" % (number % 1000), b"%0*d" % (value, number), ())
                    for number in range(offset, offset + batch)
                ]
                total += file.write(encode_batch(rows, offset, leader_epoch=1))
    return total


def spent(action: Callable[[], Any], least: int = 4, most: int = 12) -> tuple[float, float]:
    """(seconds of the clock, seconds of the processors) of an action, the least of some runs: of as many as it takes
    until three in a row were hardly better than the best before, for Java compiles what it has run often.

    Java compiles and Python decodes at the same time, so on more than one core the clock says less than the work.
    """
    clocks: list[float] = []
    works: list[float] = []
    while len(works) < least or (len(works) < most and min(works[-3:]) < 0.97 * min(works[:-3])):
        before, began = cpu_seconds(), time.perf_counter()
        action()
        clock, after = time.perf_counter() - began, cpu_seconds()
        clocks.append(clock)
        works.append(sum(used - before.get(process, 0.0) for process, used in after.items()))
    return min(clocks), min(works)


def cpu_seconds() -> dict[int, float]:
    """What this process, its Java and their Python workers have used of the processors so far."""
    used = {}
    me = psutil.Process()
    for process in [me, *me.children(recursive=True)]:
        with contextlib.suppress(psutil.NoSuchProcess):
            used[process.pid] = sum(process.cpu_times()[:2])
    return used


def best(action: Callable[[], Any], times: int = 3) -> float:
    """Seconds of the quickest of some runs."""
    found = []
    for _ in range(times):
        began = time.perf_counter()
        action()
        found.append(time.perf_counter() - began)
    return min(found)


def consume(frame: Any) -> None:
    """Make every row, keep none."""
    frame.write.format("noop").mode("overwrite").save()


def apart(module: str, *arguments: object, timeout_s: float = 600) -> dict[str, float]:
    """What `python -m MODULE ARGUMENTS` prints as its last line, JSON: one session of Spark and its Java each."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=timeout_s)
    if done.returncode:
        raise RuntimeError(f"{module}: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
    return found
