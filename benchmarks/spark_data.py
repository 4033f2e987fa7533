"""What the benchmarks of Spark share: segment files, the time of an action, a process of its own for each session."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from broker_core.records import encode_batch

BATCH = 140


def write_segments(home: Path, records: int, files: int = 2, value: int = 100) -> int:
    """Partitions of a topic with records of about 119 bytes, 16 KB a batch; bytes written."""
    total = 0
    for partition in range(files):
        directory = home / "broker-1" / "data" / f"orders-{partition}"
        directory.mkdir(parents=True)
        with open(directory / f"{0:020d}.log", "wb") as file:
            for offset in range(0, records // files, BATCH):
                rows = [
                    (1_700_000_000_000 + number, b"key-%06d" % (number % 1000), b"%0*d" % (value, number), ())
                    for number in range(offset, offset + BATCH)
                ]
                total += file.write(encode_batch(rows, offset, leader_epoch=1))
    return total


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
