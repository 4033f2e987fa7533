"""From the world's thread to all viewers of this process, with one hop for each flush.

The world calls `_on_batch` at most every 50 ms. Batches wait in a deque until the event loop takes
all of them at once; when the loop is stuck and more than BACKLOG wait, they are dropped and every
viewer is cut to a resync. The delta's text is made once and shared by all viewers.

`from` in a delta is the sequence *after which* it continues (the `to` of the delta before), so a
viewer finds a gap by comparing one number, although sequences themselves have holes. The first delta
of a subscription continues from 0: every snapshot of a viewer is taken after it began.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from django.conf import settings

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from lab.feed import Batch
from web.live.lab import Lab, OpenRun
from web.live.viewer import Viewer

BACKLOG = 400


class NoLab(Refusal, RuntimeError):
    """The process serves no lab yet."""


class Hub:
    """One open run and its viewers."""

    def __init__(self) -> None:
        self._run: OpenRun | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._token: Any = None
        self._lock = threading.Lock()
        self._backlog: deque[Batch] = deque()
        self._overflow = False
        self._scheduled = False
        self.viewers: dict[Viewer, None] = {}
        self.seq = 0  # the last event handed to viewers
        self.t = 0  # its virtual time, microseconds

    def attach(self, run: OpenRun) -> None:
        """Serve `run` from now on."""
        self.detach()
        self._run = run

    def detach(self) -> None:
        """Serve nothing."""
        if self._token is not None and self._run is not None:
            self._run.unsubscribe(self._token)
        self._run, self._token = None, None
        self.viewers.clear()

    @property
    def run(self) -> OpenRun:
        """The run; raises NoLab."""
        if self._run is None:
            raise NoLab(problem("no_lab"))
        return self._run

    def add(self, viewer: Viewer) -> None:
        """Deltas for `viewer` from now on; the first viewer starts the subscription."""
        self._loop = asyncio.get_running_loop()
        self.viewers[viewer] = None
        if self._token is None:
            self.seq = 0
            self._token = self.run.subscribe(self._on_batch)

    def remove(self, viewer: Viewer) -> None:
        """No more deltas; after the last viewer the world serialises nothing any more."""
        self.viewers.pop(viewer, None)
        if not self.viewers and self._token is not None and self._run is not None:
            self._run.unsubscribe(self._token)
            self._token = None

    def _on_batch(self, batch: Batch) -> None:
        """In the world's thread: leave the batch for the loop and wake it once."""
        with self._lock:
            if len(self._backlog) >= BACKLOG:
                self._backlog.clear()
                self._overflow = True
            self._backlog.append(batch)
            if self._scheduled or self._loop is None:
                return
            self._scheduled = True
        try:
            self._loop.call_soon_threadsafe(self._deliver)
        except RuntimeError:  # the loop was closed: the process is ending
            self._scheduled = False

    def _deliver(self) -> None:
        with self._lock:
            batches, overflow = list(self._backlog), self._overflow
            self._backlog.clear()
            self._overflow = self._scheduled = False
        if overflow:
            for viewer in self.viewers:
                viewer.cut()
        for batch in batches:
            text = self._delta(batch)
            for viewer in self.viewers:
                viewer.offer(text)

    def _delta(self, batch: Batch) -> str:
        start = self.seq
        self.seq, self.t = batch.last, batch.t1
        return (
            f'{{"v":1,"run":"{self.run.run_id}","epoch":{self.run.epoch},"k":"d","from":{start},"to":{batch.last},'
            f'"t0":{batch.t0},"t1":{batch.t1},"ev":{batch.text}}}'
        )


class LabHub(Hub):
    """A lab of this process: the hub of its live run, and those of the other runs that somebody looks at."""

    def __init__(self, name: str = "") -> None:
        super().__init__()
        self._name = name
        self._lab: Lab | None = None
        self._others: dict[str, Hub] = {}
        self.asked = 0  # requests that are being answered
        self.touched = time.monotonic()  # when somebody last had to do with the lab

    @property
    def watched(self) -> bool:
        """Whether somebody looks at a run of this lab, or asks something about it."""
        return bool(self.asked or self.viewers or any(other.viewers for other in self._others.values()))

    @contextmanager
    def in_use(self) -> Iterator[None]:
        """As long as a request is about this lab."""
        self.asked += 1
        try:
            yield
        finally:
            self.asked -= 1
            self.touched = time.monotonic()

    @property
    def name(self) -> str:
        """In REST's addresses."""
        return self._name or str(settings.LAB_NAME)

    def serve(self, lab: Lab) -> None:
        """Serve `lab` from now on."""
        self.attach(lab)
        self._lab = lab

    def replace(self, lab: Lab) -> None:
        """Serve `lab` in the place of one that is gone, to the same viewers: from a snapshot on."""
        viewers = list(self.viewers)
        self._token = None
        self.serve(lab)
        for viewer in viewers:
            self.add(viewer)
            viewer.cut()

    def detach(self) -> None:
        """Serve nothing."""
        super().detach()
        self._lab = None
        for other in self._others.values():
            other.detach()
        self._others.clear()

    @property
    def serves(self) -> bool:
        """Whether there is a lab."""
        return self._lab is not None

    @property
    def lab(self) -> Lab:
        """The lab; raises NoLab."""
        if self._lab is None:
            raise NoLab(problem("no_lab"))
        return self._lab

    def of(self, run: str | None) -> Hub:
        """The hub of an open run; this one for the lab's own run and for one that is not open."""
        branch = self.lab.branches.get(run) if run is not None else None
        if run == self.lab.run_id or branch is None or branch.ended:
            return self
        found = self._others.get(branch.run_id)
        if found is None or found.run is not branch:
            found = self._others[branch.run_id] = Hub()
            found.attach(branch)
        return found

    def close_others(self) -> None:
        """Forget runs that have ended or that nobody looks at."""
        for run, other in list(self._others.items()):
            if not other.viewers:
                other.detach()
                del self._others[run]


hub = LabHub()
_chosen: ContextVar[LabHub] = ContextVar("chosen", default=hub)


def chosen() -> LabHub:
    """The lab that the request at hand is about: the process's own, or one beside it."""
    return _chosen.get()


def choose(found: LabHub) -> None:
    """From now on in this request, and in tasks that it begins."""
    _chosen.set(found)
