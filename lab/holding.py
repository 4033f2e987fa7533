"""A lab of many that has taken more of disk or memory than it may: it holds, until there is room again.

| while it is over | |
|---|---|
| built-in producers and processors, of forks, too | are paused, by commands that are recorded like anybody's |
| clients from outside | are not read from: they wait, as for a broker that is slow |
| what begins something (`limits.BEGIN`, a fork, a run that is opened) | is refused (`limit_disk`, `limit_memory`) |
| deleted files that wait for `file.delete.delay.ms` | go at once, by a recorded command, not a minute later |
| everything else | goes on: deletion of topics and runs, retention, compaction, ... |

Below `ENOUGH` of the limit all of them go on. Disk is what stands below the lab's directory, counted beside the worlds
(`stored`); it is looked at sooner when clients have sent as much as there was room for, and while deleted files go.
Memory is what Python's objects take to which the lab's worlds lead (`lab.weighing`).
"""

from __future__ import annotations

import asyncio
import math
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.drivers.tcp import nobody
from broker_core.kernel.node import PAUSED, RUNNING
from broker_core.kernel.problems import Problem, problem
from lab.faults import disks
from lab.limits import BEGIN, MB, Limits
from lab.weighing import Weighing

if TYPE_CHECKING:
    from lab.live import LiveLab

LOOK_S, HELD_S, SOON_S = 2.0, 0.5, 0.1
GOING_S = 10.0
"""How long files may take to go that were told to: a broker removes them in slices."""
ENOUGH = 0.9
LEAST_ROOM = MB
MANY = 2000
DISK, MEMORY = "disk", "memory"
WRITERS = ("producer", "processor")


class Holding:
    """Of all branches of a lab, on the world's thread. `taken`: bytes by what is limited, when last looked at."""

    def __init__(self, lab: LiveLab, limits: Limits) -> None:
        self.lab = lab
        self.limits = limits
        self.most = {DISK: limits.disk_mb * MB, MEMORY: limits.memory_mb * MB}
        self.taken = dict.fromkeys(self.most, 0)
        self.over: list[str] = []
        self.held: dict[tuple[str, str], None] = {}
        self.weighing = Weighing(lab)
        self._counted_at = self._removed_at = -math.inf
        self._looking: asyncio.TimerHandle | None = None
        self._counting: asyncio.Task[None] | None = None

    # -- looking ----------------------------------------------------------------------------
    def go_on(self) -> None:
        """Look from time to time, where there is a limit."""
        self.lab.server.full = self.look_now
        if any(self.most.values()) and self._looking is None:
            self._look_in(LOOK_S)

    def _look_in(self, seconds: float) -> None:
        self._looking = self.lab.main.loop.call_later(seconds, self._look)

    def stand(self) -> None:
        """Do not look for a while."""
        self.lab.server.full = nobody
        if self._looking is not None:
            self._looking.cancel()
        if self._counting is not None:
            self._counting.cancel()
        self._looking = self._counting = None
        self.weighing.give_up()

    def look_now(self) -> None:
        """Clients have sent as much as there was room for: they wait until it is known how much there is now."""
        self.lab.server.stall(True)
        if self._looking is not None:
            self._looking.cancel()
            self._look()

    def _look(self) -> None:
        self._looking = None
        if self._counting is None:
            self._counting = self.lab.main.loop.create_task(self._count())

    async def _count(self) -> None:
        now = time.monotonic()
        is_due = now - self._counted_at >= LOOK_S or now - self._removed_at < GOING_S
        if self.most[DISK] and (self.lab.server.room < 0 or is_due):
            self._counted_at = now
            self.taken[DISK] = await asyncio.to_thread(stored, self.lab.data)
        self._counting = None
        if self.most[MEMORY]:
            self._weigh()
        self.judge()
        self._look_in(SOON_S if self.weighing.under_way else HELD_S if self.over else LOOK_S)

    def _weigh(self) -> None:
        most = self.most[MEMORY]
        if not self.weighing.under_way and self.weighing.due(most, MEMORY in self.over):
            self.weighing.begin()
        if self.weighing.under_way and self.weighing.advance(most):
            self.taken[MEMORY] = self.weighing.size

    # -- holding ----------------------------------------------------------------------------
    def judge(self) -> None:
        """Hold, or go on, by what was counted last."""
        self.over = [what for what in self.most if self._is_over(what)]
        server = self.lab.server
        server.room = max(LEAST_ROOM, self._left()) if self.most[DISK] else math.inf
        server.stall(bool(self.over))
        if self.over:
            self._hold()
        else:
            self._release()

    def _is_over(self, what: str) -> bool:
        most, taken = self.most[what], self.taken[what]
        return bool(most) and taken > (most * ENOUGH if what in self.over else most)

    def _left(self) -> float:
        """Bytes that clients may send until the next look: each stands on every broker, and among what is recorded."""
        return (self.most[DISK] - self.taken[DISK]) / (len(self.lab.spec.cluster.brokers) + 1)

    def _hold(self) -> None:
        """Every writer that runs, and what was deleted goes; a writer that somebody has paused himself stays his."""
        for run, branch in self.lab.branches.items():
            operator: Any = branch.world.operator
            for name, client in operator.clients.items():
                node = branch.world.nodes.get(name)
                if client.kind in WRITERS and node is not None and node.state == RUNNING:
                    branch.pump.command({"do": "pause", "node": name})
                    self.held[run, name] = None
            if disks.with_deleted(branch.world):
                branch.pump.command({"do": "remove_deleted"})
                self._removed_at = time.monotonic()

    def _release(self) -> None:
        held, self.held = self.held, {}
        for run, name in held:
            branch = self.lab.branches.get(run)
            node = branch.world.nodes.get(name) if branch is not None else None
            if branch is not None and node is not None and node.state == PAUSED:
                branch.pump.command({"do": "resume", "node": name})

    # -- refusing ---------------------------------------------------------------------------
    def refused(self, run: str, command: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a command of a branch that asks for too much, or would take more while the lab has taken too
        much; None for all others."""
        do = command.get("do")
        if self.over and (do in BEGIN or (do == "resume" and (run, command.get("node")) in self.held)):
            return {"ok": False, "problem": self.problem(), "place": "do"}
        return self.limits.refused(self.lab.branches[run].world, command)

    def problem(self) -> Problem:
        """What it has taken too much of."""
        what = self.over[0]
        taken, most = -(-self.taken[what] // MB), self.most[what] // MB
        if what == DISK:
            return problem("limit_disk", n=taken, most=most)
        return problem("limit_memory", n=taken, most=most)


def stored(directory: Path) -> int:
    """Bytes on disk below a directory: a file that has several names once. What goes away meanwhile is not counted.

    Each question to the disk gives the interpreter to another thread, so beside busy worlds it takes half a millisecond
    a file: more than `MANY` are left to `du`, a process of its own.
    """
    total, left, seen, below = 0, MANY, set(), [str(directory)]
    while below:
        try:
            entries = list(os.scandir(below.pop()))
        except OSError:
            continue
        left -= len(entries)
        if left < 0 and (found := _by_du(directory)) is not None:
            return found
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                    continue
                facts = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if facts.st_ino not in seen:
                seen.add(facts.st_ino)
                total += facts.st_blocks * 512
    return total


def _by_du(directory: Path) -> int | None:
    """What POSIX's `du` says, in units of 1024 bytes, with the directories themselves; None where there is none."""
    program = shutil.which("du")
    if program is None:
        return None
    done = subprocess.run([program, "-sk", str(directory)], capture_output=True, text=True, check=False)
    size = done.stdout.split("\t")[0]
    return int(size) * 1024 if size.isdigit() else None
