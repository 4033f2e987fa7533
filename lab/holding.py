"""A lab of many that has taken more of disk or memory than it may: it holds, until there is room again.

| while it is over | |
|---|---|
| built-in producers and processors | are paused, by commands that are recorded like anybody's |
| clients from outside | are not read from: they wait, as for a broker that is slow |
| what begins something (`limits.BEGIN`, a fork, a run that is opened) | is refused (`limit_disk`, `limit_memory`) |
| everything else | goes on: deletion of topics and runs, retention, compaction, ... |

Below `ENOUGH` of the limit all of them go on. Disk is what stands below the lab's directory, counted on a thread.
Memory is what Python's objects take to which the lab's worlds lead (`weigh`). While it is weighed the worlds stand
still, so that is done seldom: for one part in `SELDOM` of the time at most. Both are looked at from time to time, so a
lab may be over for some seconds.
"""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

from broker_core.kernel.node import PAUSED, RUNNING
from broker_core.kernel.problems import Problem, problem
from lab.limits import BEGIN, Limits

if TYPE_CHECKING:
    from lab.live import LiveLab

MB = 1_000_000
LOOK_S = 2.0
SELDOM = 200
FIRST_WEIGHED_S = 10.0
ENOUGH = 0.9
DISK, MEMORY = "disk", "memory"
WRITERS = ("producer", "processor")
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)


class Holding:
    """Of the live branch of a lab, on the world's thread. `taken`: bytes by what is limited, when last looked at."""

    def __init__(self, lab: LiveLab, limits: Limits) -> None:
        self.lab = lab
        self.most = {DISK: limits.disk_mb * MB, MEMORY: limits.memory_mb * MB}
        self.taken = dict.fromkeys(self.most, 0)
        self.over: list[str] = []
        self.held: dict[str, None] = {}
        self._weighed_at = 0.0
        self._pause_s = FIRST_WEIGHED_S
        self._looking: asyncio.TimerHandle | None = None
        self._counting: asyncio.Task[None] | None = None

    # -- looking ----------------------------------------------------------------------------
    def go_on(self) -> None:
        """Look from time to time, where there is a limit."""
        loop = self.lab.main.loop
        if any(self.most.values()) and self._looking is None:
            self._looking = loop.call_later(LOOK_S, self._look)

    def stand(self) -> None:
        """Do not look for a while."""
        if self._looking is not None:
            self._looking.cancel()
        if self._counting is not None:
            self._counting.cancel()
        self._looking = self._counting = None

    def _look(self) -> None:
        self._looking = None
        self._counting = self.lab.main.loop.create_task(self._count())

    async def _count(self) -> None:
        if self.most[DISK]:
            self.taken[DISK] = await asyncio.to_thread(stored, self.lab.data)
        self._counting = None
        if self.most[MEMORY] and time.monotonic() - self._weighed_at >= self._pause_s:
            began = time.monotonic()
            self.taken[MEMORY] = weigh(self.lab)
            self._weighed_at = time.monotonic()
            self._pause_s = max(FIRST_WEIGHED_S, SELDOM * (self._weighed_at - began))
        self.judge()
        self.go_on()

    # -- holding ----------------------------------------------------------------------------
    def judge(self) -> None:
        """Hold, or go on, by what was counted last."""
        self.over = [what for what in self.most if self._is_over(what)]
        self.lab.server.stall(bool(self.over))
        if self.over:
            self._hold()
        else:
            self._release()

    def _is_over(self, what: str) -> bool:
        most, taken = self.most[what], self.taken[what]
        return bool(most) and taken > (most * ENOUGH if what in self.over else most)

    def _hold(self) -> None:
        """Every writer that runs; one that somebody has paused himself stays his."""
        main = self.lab.main
        operator: Any = main.world.operator
        for name, client in operator.clients.items():
            node = main.world.nodes.get(name)
            if client.kind in WRITERS and node is not None and node.state == RUNNING:
                main.pump.command({"do": "pause", "node": name})
                self.held[name] = None

    def _release(self) -> None:
        held, self.held = self.held, {}
        main = self.lab.main
        for name in held:
            node = main.world.nodes.get(name)
            if node is not None and node.state == PAUSED:
                main.pump.command({"do": "resume", "node": name})

    # -- refusing ---------------------------------------------------------------------------
    def refused(self, command: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to a command that would take more while the lab has taken too much; None for all others."""
        do = command.get("do")
        if self.over and (do in BEGIN or (do == "resume" and command.get("node") in self.held)):
            return {"ok": False, "problem": self.problem(), "place": "do"}
        return None

    def problem(self) -> Problem:
        """What it has taken too much of."""
        what = self.over[0]
        taken, most = -(-self.taken[what] // MB), self.most[what] // MB
        if what == DISK:
            return problem("limit_disk", n=taken, most=most)
        return problem("limit_memory", n=taken, most=most)


def weigh(lab: LiveLab) -> int:
    """Bytes of all objects to which the lab's open runs lead; neither code nor whoever looks on."""
    seen = {id(thing) for thing in (lab, lab.server, lab.spec, lab.data)}
    for one in lab.branches.values():
        seen |= {id(thing) for thing in (one.loop, one.files, one.feed, one.waits, one.outcomes, one.pump, one.keeper)}
    todo: list[Any] = [lab.branches]
    size = 0
    while todo:
        found = [thing for thing in gc.get_referents(*todo) if not isinstance(thing, _CODE)]
        todo = []
        for thing in found:
            if id(thing) not in seen:
                seen.add(id(thing))
                size += sys.getsizeof(thing)
                todo.append(thing)
    return size


def stored(directory: Path) -> int:
    """Bytes on disk below a directory: a file that has several names once. What goes away meanwhile is not counted."""
    total, seen, below = 0, set(), [str(directory)]
    while below:
        try:
            entries = list(os.scandir(below.pop()))
        except OSError:
            continue
        for entry in entries:
            try:
                if entry.is_dir(follow_symlinks=False):
                    below.append(entry.path)
                    continue
                found = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if found.st_ino not in seen:
                seen.add(found.st_ino)
                total += found.st_blocks * 512
    return total
