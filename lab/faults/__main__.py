"""Swarm runs from the command line. One line a seed; exit code 1 if one failed.

    python -m lab.faults 1..500 [DIR] [--kraft | --ensemble | --share | --transactions]
                                             seeds, with ZooKeeper
                                             (one server of the tree, or 3 or 5), or in KRaft, there with
                                             workers of a share group, or with transactions
                                             and groups of both protocols, too;
                                             at the end, in how many runs each rare path was reached
    python -m lab.faults mutants [NAME...]   our own code broken in one place, and how many seeds until it is noticed
                                             (not of a compiled core: BROKERLAB_COMPILED=0)

Each run is executed again from its recording, and from snapshots at three moments of it. What failed stays in DIR
(default: a new temporary directory).
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

import broker_core
from broker_core.kernel.problems import told
from lab.experiments.verify import verify
from lab.faults import probes
from lab.faults.mutant_list import MUTANTS
from lab.faults.mutants import hunt
from lab.faults.swarm import GENERATIONS, ZOOKEEPER, run_swarm
from lab.snapshots.agreement import disagreements

USAGE = (
    "usage: python -m lab.faults FIRST[..LAST] [DIR] [--kraft | --ensemble | --share | --transactions]\n"
    "       python -m lab.faults mutants [NAME...]"
)


def main(arguments: list[str]) -> int:
    """Run the seeds FIRST..LAST, or hunt mutants."""
    if arguments[:1] == ["mutants"]:
        return mutants(arguments[1:])
    generation = next((one for one in GENERATIONS if f"--{one}" in arguments), ZOOKEEPER)
    arguments = [one for one in arguments if one != f"--{generation}"]
    if not arguments or len(arguments) > 2:
        print(USAGE, file=sys.stderr)
        return 2
    first, _, last = arguments[0].partition("..")
    home = Path(arguments[1]) if len(arguments) > 1 else Path(tempfile.mkdtemp(prefix="brokerlab-swarm-"))
    seeds = range(int(first), int(last or first) + 1)
    counts: Counter[str] = Counter()
    failed = sum(not run(seed, home / str(seed), counts, generation) for seed in seeds)
    print("\n".join(probes.told(counts, len(seeds), generation)))
    missed = probes.unreached(counts, len(seeds), generation)
    print(f"{failed} failed" + (f", see {home}" if failed else "") + "".join(f"; never: {probe}" for probe in missed))
    return 1 if failed or missed else 0


def run(seed: int, out: Path, counts: Counter[str], generation: str) -> bool:
    """One seed; its directory is deleted when all was well."""
    result = run_swarm(seed, out, generation=generation)
    verdict = verify(out)
    unmet = [told(one) for one in result.unmet]
    if not verdict.same:
        unmet.append(f"executed again: {verdict.reason}")
    unmet += disagreements(out, Random(f"snapshots/{seed}"))
    print(f"{seed}: {'FAILED ' + '; '.join(unmet) if unmet else 'ok'}  ({result.receipt.total.acked} acked,"
          f" {result.virtual_s:.0f} s of the cluster's time in {result.wall_s:.1f} s)", flush=True)  # fmt: skip
    counts += probes.reached(out)
    if not unmet:
        shutil.rmtree(out)
    return not unmet


def mutants(names: list[str]) -> int:
    """All of them or those of these names; one line each."""
    known = {one.name: one for one in MUTANTS}
    if unknown := [name for name in names if name not in known]:
        print(f"there is no mutant {', '.join(unknown)}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    if broker_core.COMPILED:
        print("the core is compiled, and its functions cannot be replaced: BROKERLAB_COMPILED=0", file=sys.stderr)
        return 2
    alive = 0
    for one in [known[name] for name in names] or MUTANTS:
        seeds = hunt(one)
        alive += seeds is None
        end = f"noticed by {one.by} at seed {seeds}" if seeds is not None else "ALIVE"
        end += f" of {one.seeds}"
        print(f"{one.room:12} {one.name:36} {end}", flush=True)
    print(f"{alive} alive")
    return 1 if alive else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
