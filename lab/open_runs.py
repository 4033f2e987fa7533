"""The open runs of a lab: the live one, those that were forked from it, finished ones that were opened.

The live branch owns the ports. A branch lives in memory: from the recorded inputs of its past, or from a snapshot
(`beginnings`). On its way it is worked on in slices, in turn with everything else on the world's thread; whoever asked
is told which share is done, and may give it up by cancelling the future that he got.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from broker_core.kernel.errors import KernelError, Refusal, what_of
from broker_core.kernel.problems import problem
from lab import beginnings
from lab.beginnings import OPENED
from lab.branch import Branch, BranchError, settle
from lab.clusters.checks import SpecError
from lab.experiments.directory import DirectoryError, read_facts
from lab.reexecution import Reexecution

SLICE_S = 0.02
MAX_BRANCHES = 12
Progress = Callable[[float], None]
"""Is told which share of a re-execution is done."""
T = TypeVar("T")


class LabError(Refusal):
    """The lab cannot start, or does not answer."""


class OpenRuns:
    """`main` is the live branch. Methods without an underscore may be called from any thread."""

    main: Branch
    branches: dict[str, Branch]
    data: Path
    worked = 0.0
    """When a run was last on its way (`time.monotonic`)."""
    stopped: threading.Event
    _loop: asyncio.AbstractEventLoop | None

    def branch(self, run_id: str | None = None) -> Branch:
        """The branch of this name, the live one without a name. Raises BranchError."""
        found = self.main if run_id is None else self.branches.get(run_id)
        if found is None:
            raise BranchError(problem("no_open_run", run=run_id, known=list(self.branches)))
        return found

    def fork(
        self, run_id: str, seq: int | None = None, t_us: int | None = None, progress: Progress | None = None,
    ) -> Future[str]:  # fmt: skip
        """A new branch that begins right behind event `seq` (or at `t_us`) of a run, paused there.

        Cancelling the future gives the branch up, as long as it is not there yet.
        """
        answer: Future[str] = Future()
        return self._begin(answer, self._fork, run_id, seq, t_us, answer, progress)

    def open_run(self, name: str, progress: Progress | None = None) -> Future[str]:
        """A finished run of this lab, or any run directory, executed again to its end and paused there."""
        answer: Future[str] = Future()
        return self._begin(answer, self._open_run, name, answer, progress)

    def close_branch(self, run_id: str) -> Future[None]:
        """Forget a branch; its directory stays. The live one cannot be closed."""
        return self._ask(self._close_branch, run_id)

    def _begin(self, answer: Future[T], function: Callable[..., None], *arguments: Any) -> Future[T]:
        if self._loop is None or self.stopped.is_set():
            answer.set_exception(LabError(problem("lab_stopped")))
            return answer
        self._loop.call_soon_threadsafe(self._guarded, answer, function, arguments)
        return answer

    def _guarded(self, answer: Future[Any], function: Callable[..., None], arguments: tuple[Any, ...]) -> None:
        try:
            function(*arguments)
        except (BranchError, DirectoryError, SpecError, KernelError, OSError) as error:
            answer.set_exception(error if isinstance(error, BranchError) else BranchError(what_of(error)))

    def _fork(
        self, run_id: str, seq: int | None, t_us: int | None, answer: Future[str], progress: Progress | None,
    ) -> None:  # fmt: skip
        parent, loop = self.branch(run_id), self._loop
        assert loop is not None
        parent.files.flush(parent.world)
        if seq is not None and seq > parent.world.seq:
            raise BranchError(problem("come_to_event", run=run_id, seq=parent.world.seq))
        inputs = parent.files.recorder
        until = inputs.bounded_at_us
        if until is not None and (t_us > until if t_us is not None else (seq or 0) > inputs.bounded_at_seq):
            raise BranchError(problem("inputs_bounded", run=run_id, s=until // 1_000_000))
        past = parent.files.past
        if past is not None and not past.whole.is_set():  # a fork of a fork that has only just begun
            loop.call_later(SLICE_S, self._guarded, answer, self._fork, (run_id, seq, t_us, answer, progress))
            return
        self._room_for_one()
        branch, work = beginnings.forked(parent, self._next_of(parent.run_id.split("-", 1)[0]), seq, t_us, loop)
        end_us = t_us if t_us is not None else max(work.safe_us, branch.world.now_us)
        self._continue(branch, work, answer, progress, (branch.world.now_us, end_us))

    def _open_run(self, name: str, answer: Future[str], progress: Progress | None) -> None:
        if name in self.branches:
            answer.set_result(name)
            return
        assert self._loop is not None
        self._room_for_one()
        path = Path(name) if os.sep in name else self.data / "runs" / name
        branch, work = beginnings.opened(path, self._next_of(path.name), path.name, self._loop)
        self._continue(branch, work, answer, progress, (0, read_facts(path).get("end_us", 1)))

    def _next_of(self, root: str) -> Path:
        """Where the next branch of a run is kept."""
        paths = (self.data / "runs" / f"{root}-{number}" for number in count(1))
        return next(path for path in paths if not path.exists())

    def _room_for_one(self) -> None:
        if len(self.branches) >= MAX_BRANCHES and not self._make_room():
            raise BranchError(problem("runs_open", n=MAX_BRANCHES))
        if self.main.holding is not None and self.main.holding.over:
            raise BranchError(self.main.holding.problem())

    def _continue(
        self, branch: Branch, work: Reexecution, answer: Future[str], progress: Progress | None, way: tuple[int, int]
    ) -> None:
        """One slice of a re-execution, then back to the loop. `way`: from which time to which it goes."""
        if answer.cancelled():
            branch.give_up()
            return
        self.worked = time.monotonic()
        try:
            done = work.advance(SLICE_S)
            branch.keep_keyframe()
        except Exception as error:
            branch.end()
            answer.set_exception(error)
            return
        if progress is not None:
            progress(min(1.0, (branch.world.now_us - way[0]) / max(1, way[1] - way[0])))
        assert self._loop is not None
        if not done and not self.stopped.is_set():
            self._loop.call_soon(self._continue, branch, work, answer, progress, way)
            return
        if not answer.set_running_or_notify_cancel():
            branch.give_up()
            return
        branch.forked_at_us = branch.world.now_us
        branch.rest = work.rest
        branch.files.describe(forked_at_us=branch.world.now_us, forked_at_seq=branch.world.seq)
        branch.pump.paused = True
        branch.pump.share = self.main.pump.share
        if self.main.holding is not None:
            branch.pump.admit = partial(self.main.holding.refused, branch.run_id)
        self.branches[branch.run_id] = branch
        branch.pump.start(self._loop)
        answer.set_result(branch.run_id)

    def _make_room(self) -> bool:
        """Close the oldest run that was only opened, has not gone on and is not looked at; it can be opened again."""
        for run_id, branch in self.branches.items():
            facts = branch.files.facts
            rests = facts.get("kind") == OPENED and branch.world.seq == facts.get("forked_at_seq")
            if rests and not branch.feed.watched:
                self._close_branch(run_id)
                return True
        return False

    def _close_branch(self, run_id: str) -> None:
        branch = self.branch(run_id)
        if branch is self.main:
            raise BranchError(problem("live_stays"))
        del self.branches[run_id]
        branch.end()

    def _ask(self, function: Callable[..., T], *arguments: Any) -> Future[T]:
        answer: Future[T] = Future()
        return self._begin(answer, settle, answer, function, arguments)
