"""What the compiled core brings: the simulation with the wheel `brokerlab-compiled`, beside the same without it.

    python -m compiled DIRECTORY && pip install DIRECTORY/brokerlab_compiled-*.whl
    python -m benchmarks.compiled

The sides take turns. Exit code 1 when their journals differ.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks.results import median
from broker_core.drivers.native import SWITCH

SLICE_S, SLICES, RUNS = 2, 40, 3
SIDES = {"interpreted": "0", "compiled": "1"}


def main() -> int:
    """Virtual seconds a second of both sides, and whether they wrote the same."""
    found: dict[str, list[dict[str, Any]]] = {side: [] for side in SIDES}
    for _ in range(RUNS):
        for side, runs in found.items():
            runs.append(_measured(side))
    speeds = {side: median([run["speed"] for run in runs]) for side, runs in found.items()}
    for side, speed in speeds.items():
        print(f"{side:<12} {speed:6.1f} virtual s/s")
    print(f"{speeds['compiled'] / speeds['interpreted']:.2f} x")
    same = len({run["journal"] for runs in found.values() for run in runs}) == 1
    print("the journals are the same" if same else "the journals DIFFER")
    return 0 if same else 1


def _measured(side: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-c", "from benchmarks.compiled import measure; measure()"]
    done = subprocess.run(command, env=os.environ | {SWITCH: SIDES[side]}, check=True, stdout=subprocess.PIPE)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def measure() -> None:
    """Prints the speed of the best slices (whatever else runs only slows some down) and the journal's fingerprint."""
    from benchmarks.simulation import run, settled
    from lab import heap

    journal = hashlib.sha256()
    world = settled(journal.update, load=True)
    heap.settle()
    speeds = []
    for _ in range(SLICES):
        started = time.process_time()
        run(world, SLICE_S)
        speeds.append(SLICE_S / (time.process_time() - started))
    world.journal.flush()
    print(json.dumps({"speed": sorted(speeds)[SLICES * 3 // 4], "journal": journal.hexdigest()}))


if __name__ == "__main__":
    sys.exit(main())
