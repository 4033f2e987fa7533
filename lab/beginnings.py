"""How a branch begins: where the recorded run began, or at a snapshot of an open one.

|  | from the beginning | from a snapshot |
|---|---|---|
| world | built from the spec, on the disks that the run began with | restored |
| journal, operations, inputs | written again as they are executed | the parent's own bytes (`experiments.past`) |
| keyframes, figures, ends, the story | seen again | the parent's |

Either way a re-execution goes on from there, and what comes out is the same: a directory that is complete in itself.
"""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from broker_core.kernel.problems import problem
from lab.branch import Branch, BranchError
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import FILE_LIMIT, INPUTS, JOURNAL, OPERATIONS, RunDirectory, read_facts
from lab.experiments.journal_file import time_before
from lab.experiments.past import Past
from lab.experiments.start_disks import START, start_storage
from lab.newcomers import disks_of
from lab.reexecution import Reexecution
from lab.snapshots.course import Course
from lab.snapshots.shelf import Head

FORKED, OPENED = "fork", "opened"


def opened(source: Path, target: Path, parent: str, loop: asyncio.AbstractEventLoop) -> tuple[Branch, Reexecution]:
    """A run that is to be executed again to its end."""
    return from_the_beginning(source, target, parent, loop, OPENED, None, None)


def forked(
    parent: Branch, target: Path, seq: int | None, t_us: int | None, loop: asyncio.AbstractEventLoop
) -> tuple[Branch, Reexecution]:
    """A branch on its way to event `seq`, or to `t_us`, of an open run whose files are flushed."""
    found = parent.keeper.take(seq, t_us)
    if found is None:
        return from_the_beginning(parent.files.path, target, parent.run_id, loop, FORKED, seq, t_us)
    head, course = found
    branch = from_a_snapshot(parent, head, course, target, loop)
    before_us = time_before(parent.files.path, seq) if seq is not None else 0
    inputs, recorder = parent.files.path / INPUTS, branch.files.recorder
    return branch, Reexecution(branch.world, inputs, recorder, seq, t_us, branch.look, head.inputs, before_us)


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
    work = Reexecution(world, source / INPUTS, files.recorder, seq, t_us, branch.look, before_us=before_us)
    return branch, work


def from_a_snapshot(
    parent: Branch, head: Head, course: Course, target: Path, loop: asyncio.AbstractEventLoop
) -> Branch:
    """A world that stands at a snapshot of its parent, and knows of its past what the parent knows."""
    sizes = {JOURNAL: head.journal, OPERATIONS: head.operations, INPUTS: head.inputs}
    past = Past(parent.files.path, sizes, parent.files.journal_lines, parent.files.past)
    files = RunDirectory(target, FILE_LIMIT, past)
    world, facts = course.world, parent.files.facts
    operator: Any = world.operator
    files.keep_start(disks_of(parent.files.path / START, operator.spec))
    files.attach(world)
    files.describe(kind=FORKED, spec=facts["spec"], seed=facts["seed"], start=facts.get("start"), parent=parent.run_id)
    branch = Branch(target.name, operator.spec, world, files, loop, parent=parent.run_id, course=course)
    branch.keyframes = [frame for frame in parent.keyframes if frame.offset <= head.journal and frame.seq <= head.seq]
    branch.figures.rows = [row for row in parent.figures.rows if row[0] <= head.seq]
    branch.stops.rows = {key: row for key, row in parent.stops.rows.items() if key[0] <= head.seq}
    branch.told.inherit(parent.told, head.seq)
    branch.keeper.inherit(parent.keeper, head)
    return branch
