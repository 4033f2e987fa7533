"""Swarm runs from the command line: `python -m lab.faults 1..500 [DIR]`. One line a seed; exit code 1 if one failed.

Each run is executed again from its recording. What failed stays in DIR (default: a new temporary directory).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from lab.experiments.verify import verify
from lab.faults.swarm import run_swarm


def main(arguments: list[str]) -> int:
    """Run the seeds FIRST..LAST."""
    if not arguments or len(arguments) > 2:
        print("usage: python -m lab.faults FIRST[..LAST] [DIR]", file=sys.stderr)
        return 2
    first, _, last = arguments[0].partition("..")
    home = Path(arguments[1]) if len(arguments) > 1 else Path(tempfile.mkdtemp(prefix="brokerlab-swarm-"))
    failed = sum(not run(seed, home / str(seed)) for seed in range(int(first), int(last or first) + 1))
    print(f"{failed} failed" + (f", see {home}" if failed else ""))
    return 1 if failed else 0


def run(seed: int, out: Path) -> bool:
    """One seed; its directory is deleted when all was well."""
    result = run_swarm(seed, out)
    verdict = verify(out)
    unmet = [*result.unmet, *([] if verdict.same else [f"executed again: {verdict.reason}, line {verdict.line}"])]
    print(f"{seed}: {'FAILED ' + '; '.join(unmet) if unmet else 'ok'}  ({result.receipt.total.acked} acked,"
          f" {result.virtual_s:.0f} s of the cluster's time in {result.wall_s:.1f} s)", flush=True)  # fmt: skip
    if not unmet:
        shutil.rmtree(out)
    return not unmet


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
