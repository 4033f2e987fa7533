"""The lab's side of a run's snapshots: it sends the maker on when enough has happened, and takes from the shelf.

    events      0 . . . . . . . . . 24000 . . . . . . . . . 31000 . . .
    the maker               works up to here ^   (ends)        works on from its last snapshot

`BEHIND_S` is how long the lab would have to execute what no snapshot has yet; how fast that goes the maker has measured
on this very run. Below it no process runs at all: a lab in which nothing happens has no snapshots and needs none. The
first one may wait longer (`FIRST_S`), for a run that is executed from its beginning has nothing to read before: most
lessons are over by then.

Everything is called on the world's thread, which starts a thread that starts the process, and goes on.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import orjson

from broker_core.kernel.world import World
from lab.experiments.directory import RunDirectory
from lab.places import ROOT
from lab.snapshots.course import Course
from lab.snapshots.maker import DIRECTORY
from lab.snapshots.shelf import LIMIT, Head, Shelf, version

BEHIND_S, FIRST_S = 0.6, 1.5
AT_FIRST = 30_000
"""Events a second, before the maker has measured it."""
SECRET = "BROKERLAB_SNAPSHOTS"
KEY = bytes.fromhex(os.environ.pop(SECRET, "")) or secrets.token_bytes(32)
"""Of this process, and of whom it tells: hosts of labs (by `SECRET`), who runs a scenario, who makes snapshots."""
_log = logging.getLogger("brokerlab.lab")


class Keeper:
    """The snapshots of one branch."""

    def __init__(self, files: RunDirectory, world: World, loop: asyncio.AbstractEventLoop, limit: int = LIMIT) -> None:
        self.files = files
        self.world = world
        self.loop = loop
        self.shelf = Shelf(files.path / DIRECTORY, KEY, limit)
        self.reached = 0
        """The event up to which the maker has executed this run."""
        self.events_a_second = AT_FIRST
        self.over = False
        self._process: subprocess.Popen[bytes] | None = None
        self._working = False
        self._leaving: threading.Thread | None = None

    @property
    def at_work(self) -> bool:
        """Whether a process of its own is."""
        return self._working or self._leaving is not None

    # -- making -----------------------------------------------------------------------------
    def look(self) -> None:
        """Send the maker on when it is time to."""
        behind = self.world.seq - self.reached
        enough = (BEHIND_S if self.reached else FIRST_S) * self.events_a_second
        if self._working or self.over or behind < enough:
            return
        if self.files.past is not None and not self.files.past.in_place:
            return
        self.files.flush(self.world)
        if self.files.broken is not None:
            self.over = True
            return
        order = {"path": str(self.files.path.resolve()), "key": KEY.hex(), "version": version(),
                 "until_us": self.world.now_us - 1, "limit": self.shelf.limit}  # fmt: skip
        self._working = True
        threading.Thread(target=self._work, args=(order,), name="snapshots", daemon=True).start()

    def _work(self, order: dict[str, Any]) -> None:
        """On a thread of its own: one process from its start to its end."""
        last: dict[str, Any] = {}
        try:
            self.shelf.directory.mkdir(exist_ok=True)
            self._process = process = subprocess.Popen(
                [sys.executable, "-P", "-m", "lab.snapshots.maker"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(ROOT)},
            )  # fmt: skip
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write(orjson.dumps(order) + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                last = orjson.loads(line)
                self._tell(self._heard, last)
            process.stdin.close()
            process.wait()
        except (OSError, ValueError) as error:
            last = {"error": str(error)}
        self._tell(self._ended, last)

    def _tell(self, what: Any, line: dict[str, Any]) -> None:
        try:
            self.loop.call_soon_threadsafe(what, line)
        except RuntimeError:  # the lab has ended
            return

    def _heard(self, line: dict[str, Any]) -> None:
        if "seq" in line:
            self.reached, self.events_a_second = line["seq"], line["events_a_second"]

    def _ended(self, last: dict[str, Any]) -> None:
        """It has caught up; a run that it cannot execute again is forked from its beginning, as far as that goes."""
        self._working, self._process = False, None
        if self._leaving is not None:
            return
        self.reached = max(self.reached, last.get("done", 0))
        self.over = self.over or "done" not in last or bool(last.get("full"))
        if "done" not in last:
            _log.info("%s has no more snapshots: %s", self.files.path, last.get("error", "their maker has ended"))

    # -- taking -----------------------------------------------------------------------------
    def take(self, seq: int | None, t_us: int | None) -> tuple[Head, Course] | None:
        """The last course from which an event or a time can be reached; None when that is the beginning."""
        head = self.shelf.before(seq, t_us)
        while head is not None:
            found = self.shelf.take(head)
            if found is not None:
                return head, found[0]
            head = self.shelf.before(head.seq, None)  # given back in this moment
        return None

    def inherit(self, parent: Keeper, head: Head) -> None:
        """A fork has the snapshots of its past from its parent: the same files."""
        self.shelf.directory.mkdir()
        for path in parent.shelf.directory.iterdir():
            if path.stem.isdigit() and int(path.stem) <= head.seq and path.suffix != ".tmp":
                try:
                    os.link(path, self.shelf.directory / path.name)
                except OSError:
                    continue  # given back in this moment, or a file system without links: one more is made
        self.reached, self.events_a_second = head.seq, parent.events_a_second

    def end(self) -> None:
        """No more of them, and none of these: they belong to a run that is open."""
        self.over = True
        self._leaving = threading.Thread(target=self._give_back, name="snapshots", daemon=True)
        self._leaving.start()

    def wait(self, seconds: float) -> None:
        """Until all is given back."""
        if self._leaving is not None:
            self._leaving.join(seconds)

    def _give_back(self) -> None:
        process = self._process
        if process is not None:
            process.kill()
            process.wait()
        shutil.rmtree(self.shelf.directory, ignore_errors=True)


def sweep(runs: Path) -> None:
    """Remove what a lab that did not end by itself has left; nobody could read it. Only one lab has these runs."""
    for path in runs.glob(f"*/{DIRECTORY}"):
        shutil.rmtree(path, ignore_errors=True)
