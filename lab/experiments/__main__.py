"""Digests of the journals of what is shipped: `python -m lab.experiments [NAME...] [--seeds 1..2] [--swarm 1..8]`.

A change that is to change nothing (another structure, something made quicker) is tried so: every lesson in each of its
settings, and some swarm runs, print one line each, and the lines are the same before and after.

    python -m lab.experiments > before      (in the checkout without the change)
    python -m lab.experiments --against before

| line | is |
|---|---|
| acks-1 1 9c1f... | SHA-256 of the journal of acks-1 with seed 1 |
| acks-1/fork 1 77ab... | the same from the fork of its lesson |
| swarm 5 e03d... | a swarm run with seed 5 |
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from lab.experiments.directory import JOURNAL
from lab.experiments.driven import RunError
from lab.experiments.run import run_scenario
from lab.faults.swarm import run_swarm
from lab.scenarios import grammar, variants


def main(arguments: list[str]) -> int:
    """Exit code 1 when a line of `--against` comes out differently."""
    parser = argparse.ArgumentParser(prog="python -m lab.experiments")
    parser.add_argument("names", nargs="*", help="lessons; all of them without names")
    parser.add_argument("--seeds", default="1..2")
    parser.add_argument("--swarm", default="1..8", help="seeds of swarm runs; 0 for none")
    parser.add_argument("--against", type=Path, help="lines to compare with")
    chosen = parser.parse_args(arguments)
    expected = _expected(chosen.against)
    different = 0
    swarm = [] if chosen.names else _range(chosen.swarm)
    for what, digest in digests(chosen.names or grammar.names(), _range(chosen.seeds), swarm):
        same = expected.get(what, digest) == digest
        different += not same
        print(f"{what} {digest}{'' if same else '  DIFFERS'}", flush=True)
    if expected:
        print(f"{different} differ", file=sys.stderr)
    return 1 if different else 0


def _expected(file: Path | None) -> dict[str, str]:
    lines = file.read_text().splitlines() if file is not None else []
    return {what: digest for what, _, digest in (line.rpartition(" ") for line in lines)}


def _range(text: str) -> list[int]:
    first, _, last = text.partition("..")
    return [seed for seed in range(int(first), int(last or first) + 1) if seed]


def digests(names: list[str], seeds: list[int], swarm: list[int]) -> Iterator[tuple[str, str]]:
    """(`acks-1/fork 2`, digest of its journal) one after the other."""
    for name in names:
        for course in variants.courses(grammar.load(name).document):
            for seed in seeds:
                yield f"{name}{f'/{course}' if course else ''} {seed}", _of_lesson(name, course, seed)
    for seed in swarm:
        with tempfile.TemporaryDirectory() as out:
            run_swarm(seed, Path(out))
            yield f"swarm {seed}", _digest(Path(out))


def _of_lesson(name: str, course: str | None, seed: int) -> str:
    with tempfile.TemporaryDirectory() as out:
        with contextlib.suppress(RunError):  # its journal ends there, in each execution
            run_scenario(name, seed, out=out, variant=course)
        return _digest(Path(out))


def _digest(run: Path) -> str:
    return hashlib.sha256((run / JOURNAL).read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
