"""How much memory a lab's worlds take: the sizes of all Python objects to which its open runs lead.

Objects are followed in slices of some milliseconds between the passes of the worlds, so nobody stands still for it;
what changes meanwhile makes the sum a little wrong. It ends as soon as it is more than what is allowed: by how much
does not matter. It costs processor, so it is made seldom:

| when | the next one begins after |
|---|---|
| nothing special | `FIRST_S`, or `SELDOM` times what the last one took |
| the process has grown by a tenth of the limit meanwhile | `FIRST_S`, or `GROWN` times |
| the lab is over | `OVER_S`, or `OVER` times: it does little else, and waits for room |
"""

from __future__ import annotations

import gc
import sys
import time
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from lab.live import LiveLab

SLICE_S = 0.02
AT_ONCE = 256
FIRST_S, SELDOM, GROWN = 10.0, 200, 10
OVER_S, OVER = 2.0, 2
PAGE = 4096
_CODE = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)


class Weighing:
    """`size`: bytes found so far, or by the last one that came to its end. On the world's thread."""

    def __init__(self, lab: LiveLab) -> None:
        self.lab = lab
        self.size = 0
        self._todo: list[Any] = []
        self._seen: set[int] = set()
        self._took_s = 0.0
        self._ended_at = 0.0
        self._resident = 0

    @property
    def under_way(self) -> bool:
        return bool(self._todo)

    def due(self, most: int, over: bool) -> bool:
        """Whether it is time for the next one."""
        since = time.monotonic() - self._ended_at
        if over:
            return since >= max(OVER_S, OVER * self._took_s)
        grown = resident() - self._resident > most // 10
        return since >= max(FIRST_S, (GROWN if grown else SELDOM) * self._took_s)

    def begin(self) -> None:
        """Neither code nor whoever looks on is weighed."""
        lab = self.lab
        self._seen = {id(thing) for thing in (self, lab, lab.server, lab.spec, lab.data)}
        for one in lab.branches.values():
            onlookers = (one.loop, one.files, one.feed, one.waits, one.outcomes, one.pump, one.keeper)
            self._seen |= {id(thing) for thing in onlookers}
        self._todo = [lab.branches]
        self.size, self._took_s = 0, 0.0

    def advance(self, most: int, seconds: float = SLICE_S) -> bool:
        """A slice; True when it has come to its end, or found more than `most` bytes."""
        began = now = time.thread_time()
        while self._todo and self.size <= most and now - began < seconds:
            self._some()
            now = time.thread_time()
        self._took_s += now - began
        if self._todo and self.size <= most:
            return False
        self.give_up()
        self._ended_at, self._resident = time.monotonic(), resident()
        return True

    def _some(self) -> None:
        todo, seen = self._todo, self._seen
        some = todo[-AT_ONCE:]
        del todo[-AT_ONCE:]
        for thing in gc.get_referents(*some):
            if id(thing) not in seen and not isinstance(thing, _CODE):
                seen.add(id(thing))
                self.size += sys.getsizeof(thing)
                todo.append(thing)

    def give_up(self) -> None:
        """Refer to nothing of the worlds."""
        self._todo, self._seen = [], set()


def weigh(lab: LiveLab) -> int:
    """All of it, at one go."""
    weighing = Weighing(lab)
    weighing.begin()
    weighing.advance(sys.maxsize, sys.maxsize)
    return weighing.size


def resident() -> int:
    """Bytes of memory of this process; 0 where the machine does not tell."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE
    except (OSError, IndexError, ValueError):
        return 0
