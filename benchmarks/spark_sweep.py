"""Runs of a sweep a minute, on one core and on two.

    python -m benchmarks.spark_sweep [RUNS]
"""

from __future__ import annotations

import subprocess
import sys
import time

from lab.analytics import grid, session, sweep


def measure(cores: int, runs: int) -> float:
    """Runs a minute with so many tasks at once; the first runs, which load the program, do not count."""
    spark = session.start("bench", f"local[{cores}]")
    cells = grid.cells("acks-1", {"acks": ["1"], "duration": ["7s"], "rate": ["100"]})
    sweep.sweep(spark, "acks-1", cells, range(cores * 2)).collect()
    began = time.perf_counter()
    rows = sweep.sweep(spark, "acks-1", cells, range(100, 100 + runs)).collect()
    took = time.perf_counter() - began
    session.stop(spark)
    assert len(rows) == runs and not any(row["error"] for row in rows)
    return runs / took * 60


def main(runs: int) -> None:
    """Each number of cores in a process of its own."""
    found = []
    for cores in (1, 2):
        told = subprocess.run([sys.executable, "-m", "benchmarks.spark_sweep", "measure", str(cores), str(runs)],
                              capture_output=True, text=True, check=True).stdout
        found.append(float(told))
        print(f"{cores} core{'s' * (cores > 1)}: {found[-1]:.0f} runs a minute", flush=True)
    print(f"two cores do {found[1] / found[0]:.2f} x as many")


if __name__ == "__main__":
    if sys.argv[1:2] == ["measure"]:
        print(measure(int(sys.argv[2]), int(sys.argv[3])))
    else:
        main(int(sys.argv[1]) if len(sys.argv) > 1 else 40)
