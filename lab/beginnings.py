"""How a branch begins: where the recorded run began, or at a snapshot of an open one.

|  | from the beginning | from a snapshot |
|---|---|---|
| world | built from the spec, on the disks that the run began with | restored |
| journal, operations, inputs | written again as they are executed | the parent's own bytes (`experiments.past`) |
| keyframes, figures, ends, the story | seen again | the parent's |
| which | forks, where no snapshot is yet; opened runs | forks; opened runs that have left their end (`endings`) |

Either way a re-execution goes on from there, and what comes out is the same: a directory that is complete in itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.kernel.problems import problem
from lab.branch import Branch, BranchError
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import FILE_LIMIT, INPUTS, JOURNAL, OPERATIONS, RunDirectory, read_facts
from lab.experiments.journal_file import time_before
from lab.experiments.past import Lines, Past
from lab.experiments.start_disks import START, start_storage
from lab.newcomers import disks_of
from lab.reexecution import Reexecution
from lab.seen import Remembered
from lab.snapshots.course import Course
from lab.snapshots.ending import ending_of
from lab.snapshots.shelf import Head

FORKED, OPENED = "fork", "opened"


def opened(source: Path, target: Path, parent: str, loop: asyncio.AbstractEventLoop) -> tuple[Branch, Reexecution]:
    """A run that is to be executed again to its end: in a moment, if it has left that."""
    found = ending_of(source)
    if found is None:
        return from_the_beginning(source, target, parent, loop, OPENED, None, None)
    head, ending = found
    whole = Source(parent, source, read_facts(source), partial(lines_of, source), ending.seen)
    branch = from_a_snapshot(whole, head, ending, target, loop, OPENED)
    return branch, Reexecution(
        branch.world, source / INPUTS, branch.files.recorder, look=branch.seen.look, start=head.inputs
    )


def forked(
    parent: Branch, target: Path, seq: int | None, t_us: int | None, loop: asyncio.AbstractEventLoop
) -> tuple[Branch, Reexecution]:
    """A branch on its way to event `seq`, or to `t_us`, of an open run whose files are flushed."""
    found = parent.keeper.take(seq, t_us)
    if found is None:
        return from_the_beginning(parent.files.path, target, parent.run_id, loop, FORKED, seq, t_us)
    head, course = found
    files = parent.files
    source = Source(parent.run_id, files.path, files.facts, files.journal_lines, parent.seen.remembered(), files.past)
    branch = from_a_snapshot(source, head, course, target, loop, FORKED)
    branch.keeper.inherit(parent.keeper, head)
    before_us = time_before(parent.files.path, seq) if seq is not None else 0
    inputs, recorder = parent.files.path / INPUTS, branch.files.recorder
    return branch, Reexecution(branch.world, inputs, recorder, seq, t_us, branch.seen.look, head.inputs, before_us)


def from_the_beginning(
    source: Path, target: Path, parent: str, loop: asyncio.AbstractEventLoop, kind: str, seq: int | None,
    t_us: int | None,
) -> tuple[Branch, Reexecution]:  # fmt: skip
    """A world that has done nothing yet."""
    facts = read_facts(source)
    if facts.get("start") is False:
        raise BranchError(problem("start_not_kept", run=source.name))
    spec = run_from_dict(facts["spec"])
    world = build_world(spec, partial(start_storage, source))
    files = RunDirectory(target, FILE_LIMIT)
    files.keep_start(disks_of(source / START, spec))
    files.attach(world)
    files.describe(kind=kind, spec=facts["spec"], seed=spec.seed, start=facts.get("start"), parent=parent)
    branch = Branch(target.name, spec, world, files, loop, parent=parent)
    branch.keep_keyframe()  # viewers can go back to the very beginning
    before_us = time_before(source, seq) if seq is not None else 0
    work = Reexecution(world, source / INPUTS, files.recorder, seq, t_us, branch.seen.look, before_us=before_us)
    return branch, work


@dataclass(slots=True, frozen=True)
class Source:
    """The run that a branch goes on from. `lines`: its journal from a byte on; `past`: what it has from another one."""

    run: str
    path: Path
    facts: dict[str, Any]
    lines: Lines
    seen: Remembered
    past: Past | None = None


def from_a_snapshot(
    source: Source, head: Head, course: Course, target: Path, loop: asyncio.AbstractEventLoop, kind: str
) -> Branch:
    """A world that stands at a snapshot of a run, and knows of its past what that run knows."""
    sizes = {JOURNAL: head.journal, OPERATIONS: head.operations, INPUTS: head.inputs}
    files = RunDirectory(target, FILE_LIMIT, Past(source.path, sizes, source.lines, source.past))
    world, facts = course.world, source.facts
    operator: Any = world.operator
    files.keep_start(disks_of(source.path / START, operator.spec))
    files.attach(world)
    files.describe(kind=kind, spec=facts["spec"], seed=facts["seed"], start=facts.get("start"), parent=source.run)
    branch = Branch(target.name, operator.spec, world, files, loop, parent=source.run, course=course)
    branch.seen.inherit(source.seen, head.seq, head.journal)
    return branch


def lines_of(path: Path, start: int) -> Iterator[bytes]:
    """The journal of a run that has ended."""
    with open(path / JOURNAL, "rb") as file:
        file.seek(start)
        yield from file
