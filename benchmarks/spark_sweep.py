"""`sweep`: simulated runs a minute inside Spark's tasks, on one core and on two."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator

from benchmarks.results import Result
from benchmarks.spark_data import apart
from lab.analytics import grid, session
from lab.analytics import sweep as sweeps

GOAL = 1.8


def sweep(quick: bool) -> Iterator[Result]:
    """Each number of cores in a process of its own."""
    runs = 12 if quick else 60
    one, two = (apart("benchmarks.spark_sweep", cores, runs)["a_minute"] for cores in (1, 2))
    yield Result("sweep", "one core", "runs/minute", one, None, True)
    yield Result("sweep", "two cores", "runs/minute", two, None, True)
    yield Result("sweep", "two cores against one", "x", two / one, None, True, GOAL)


def measure(cores: int, runs: int) -> dict[str, float]:
    """Runs a minute with so many tasks at once; the first runs, which load the program, do not count."""
    spark = session.start("bench", f"local[{cores}]")
    cells = grid.cells("acks-1", {"acks": ["1"], "duration": ["7s"], "rate": ["100"]})
    sweeps.sweep(spark, "acks-1", cells, range(cores * 2)).collect()
    began = time.perf_counter()
    rows = sweeps.sweep(spark, "acks-1", cells, range(100, 100 + runs)).collect()
    took = time.perf_counter() - began
    session.stop(spark)
    assert len(rows) == runs and not any(row["error"] for row in rows)
    return {"a_minute": runs / took * 60}


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
