"""News of classes: a number that grows with everything that happens in one, and somebody who waits for it to grow.

The numbers begin with the clock, so one that a page remembers from an earlier life of the server is never met again.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

WAIT_S = 25.0


class Changes:
    """Of all classes of this process."""

    def __init__(self) -> None:
        self._began = time.time_ns() // 1_000_000
        self._versions: dict[str, int] = {}
        self._waiting: dict[str, dict[asyncio.Event, asyncio.AbstractEventLoop]] = {}

    def version(self, code: str) -> int:
        """The number of a class."""
        return self._versions.get(code, self._began)

    def told(self, code: str) -> None:
        """Something has happened in a class; from whichever thread."""
        self._versions[code] = self.version(code) + 1
        for event, loop in list(self._waiting.get(code, {}).items()):
            with suppress(RuntimeError):  # its loop was closed: nobody waits any more
                loop.call_soon_threadsafe(event.set)

    async def after(self, code: str, since: int, seconds: float) -> None:
        """Until the number of a class is another one than `since`, or so long."""
        event = asyncio.Event()
        waiting = self._waiting.setdefault(code, {})
        waiting[event] = asyncio.get_running_loop()
        try:
            if self.version(code) == since and seconds > 0:  # asked when he waits already: nothing comes in between
                await asyncio.wait_for(event.wait(), min(seconds, WAIT_S))
        except TimeoutError:
            pass
        finally:
            waiting.pop(event, None)


changes = Changes()
