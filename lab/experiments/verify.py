"""Executes a recorded run again, and compares its journal byte for byte.

A world is built from the spec in run.json, on the disks as the run found them, and given the recorded
inputs at their places in the order. Nothing else decides: what differs has come from outside the rules
(a clock, a set's order, a file), and is a defect.
"""

from __future__ import annotations

import platform
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO

from broker_core.drivers.recording import execute_recording
from broker_core.kernel.errors import KernelError
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import INPUTS, JOURNAL, DirectoryError, read_facts, start_storage


@dataclass(slots=True)
class Verdict:
    """Whether the journal came out the same, and if not, where it went apart."""

    same: bool
    events: int
    reason: str = ""
    line: int = 0
    recorded: str = ""
    executed: str = ""


class _Comparison:
    """Takes the new journal in pieces and compares it with the recorded one."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file
        self.line = 0
        self.difference: tuple[str, str] | None = None

    def take(self, lines: bytes) -> None:
        if self.difference is not None:
            return
        recorded = self.file.read(len(lines))
        if recorded == lines:
            self.line += lines.count(b"\n")
            return
        recorded += self.file.readline()
        for mine, theirs in zip(lines.split(b"\n"), [*recorded.split(b"\n"), b""], strict=False):
            self.line += 1
            if mine != theirs:
                self.difference = (theirs.decode(errors="replace"), mine.decode(errors="replace"))
                return


def execute_again(path: Path) -> World:
    """The world of a run, built anew and not yet run. Raises DirectoryError."""
    facts = read_facts(path)
    if facts.get("start") is False:
        raise DirectoryError(f"{path}: the disks that the run began with are not kept: too large, or old")
    try:
        spec = run_from_dict(facts["spec"])
    except (KeyError, SpecError) as error:
        raise DirectoryError(f"{path}: run.json: {error}") from None
    return build_world(spec, partial(start_storage, path))


def verify(directory: Path | str) -> Verdict:
    """Execute again; raises DirectoryError when this is no run that can be."""
    path = Path(directory)
    facts = read_facts(path)
    world = execute_again(path)
    with open(path / JOURNAL, "rb") as file:
        comparison = _Comparison(file)
        world.journal.sink = comparison.take
        world.operations.keep = False
        try:
            whole = execute_recording(world, path / INPUTS)
        except (OSError, KernelError) as error:
            raise DirectoryError(f"{path}: {error}") from None
        world.journal.flush()
        rest = file.readline()
    count = world.journal.count
    if comparison.difference is not None:
        recorded, executed = comparison.difference
        return Verdict(False, count, _reason(facts, "the journal differs"), comparison.line, recorded, executed)
    if not whole:
        return Verdict(False, count, "the recording of inputs was bounded, or is not complete")
    if rest:
        return Verdict(False, count, "the recorded journal is longer", comparison.line + 1, rest.decode(), "")
    return Verdict(True, count)


def _reason(facts: dict[str, object], text: str) -> str:
    here = ".".join(platform.python_version_tuple()[:2])
    if facts.get("python") != here:
        return f"{text}; the run was made with Python {facts.get('python')}, this is {here}: equality is not promised"
    return text
