"""Swarm runs from the command line. One line a seed; exit code 1 if one failed.

    python -m lab.faults 1..500 [DIR] [--kraft | --ensemble | --share | --transactions | --moves]
                                [--once] [--workers N]
                                             seeds, with ZooKeeper
                                             (one server of the tree, or 3 or 5), or in KRaft, there with
                                             workers of a share group, or with transactions
                                             and groups of both protocols, too; or in either of the two, with
                                             replicas that move to other brokers and directories;
                                             at the end, in how many runs each rare path was reached
    python -m lab.faults mutants [NAME...]   our own code broken in one place, and how many seeds until it is noticed
                                             (not of a compiled core: BROKERLAB_COMPILED=0)

Each run is executed again from its recording, and from snapshots at three moments of it, but for `--once`: that asks
for violations only, in a third of the time. What failed stays in DIR (default: a new temporary directory).
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections import Counter
from functools import partial
from pathlib import Path

import broker_core
from lab.faults import probes
from lab.faults.mutant_list import MUTANTS
from lab.faults.mutants import hunt
from lab.faults.seeds import run, run_all
from lab.faults.swarm import GENERATIONS, ZOOKEEPER


def main(arguments: list[str]) -> int:
    """Run the seeds FIRST..LAST, or hunt mutants."""
    if arguments[:1] == ["mutants"]:
        return mutants(arguments[1:])
    parser = argparse.ArgumentParser(prog="python -m lab.faults", epilog="Or: python -m lab.faults mutants [NAME...]")
    parser.add_argument("seeds", type=seeds_of, metavar="FIRST[..LAST]", help="one seed, or all of them")
    parser.add_argument("home", nargs="?", type=Path, metavar="DIR", help="where runs that failed stay")
    kinds = parser.add_mutually_exclusive_group()
    for one in GENERATIONS:
        kinds.add_argument(f"--{one}", dest="generation", action="store_const", const=one)
    parser.add_argument("--once", action="store_true", help="no run is executed again")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="processes that share the seeds")
    asked = parser.parse_args(arguments)
    generation, home = asked.generation or ZOOKEEPER, asked.home or Path(tempfile.mkdtemp(prefix="brokerlab-swarm-"))
    counts: Counter[str] = Counter()
    failed = 0
    for ran in run_all(asked.seeds, partial(run, home, generation, asked.once), asked.workers):
        print(ran.line, flush=True)
        counts += ran.reached
        failed += not ran.well
    print("\n".join(probes.told(counts, len(asked.seeds), generation)))
    missed = probes.unreached(counts, len(asked.seeds), generation)
    print(f"{failed} failed" + (f", see {home}" if failed else "") + "".join(f"; never: {probe}" for probe in missed))
    return 1 if failed or missed else 0


def seeds_of(text: str) -> range:
    """Raises what argparse tells the user of."""
    found = re.fullmatch(r"(\d+)(?:\.\.(\d+))?", text)
    if found is None or int(found[2] or found[1]) < int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is neither a seed nor FIRST..LAST")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


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
