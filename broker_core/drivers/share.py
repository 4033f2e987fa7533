"""How much of a core a world's thread may take.

    processor     ####            ##        ##        ##          25 %: what a pass has taken is waited for
    wall          0 . . . . . 1 . . . . . 2 . . . . . 3 s
    allowance     -BURST_S ... 0 ... BURST_S

The allowance grows with the wall clock, by the part of a core that the world may have, up to `BURST_S`; what the thread
takes is taken off it. Below zero the world waits until it is zero again. Its clock falls behind meanwhile, and it sees
that as a machine that stalls (`pump`). What the thread does for others (a fork on its way, pages) counts, too.
"""

from __future__ import annotations

import time
from collections.abc import Callable

BURST_S = 0.25


class Share:
    """`part` of a core, above 0. `used`: seconds of processor of the calling thread; `now`: of the wall clock."""

    def __init__(
        self, part: float, used: Callable[[], float] = time.thread_time, now: Callable[[], float] = time.monotonic
    ) -> None:
        self.part = part
        self._used, self._now = used, now
        self._allowance = BURST_S
        self._used_at, self._now_at = used(), now()

    def wait_s(self) -> float:
        """For how long the world has to wait; 0: it need not."""
        used, now = self._used(), self._now()
        grown = (now - self._now_at) * self.part - (used - self._used_at)
        self._allowance = min(BURST_S, self._allowance + grown)
        self._used_at, self._now_at = used, now
        return max(0.0, -self._allowance / self.part)
