"""One viewer's queue: bounded, coalescing, and cut to a resync when the viewer does not read.

    batches -> offer() -> pending messages -> take() -> one WebSocket message

While a message is being written, what arrives is collected and leaves as **one** message next
time: a JSON list of deltas. When more than `LIMIT` characters wait, all of it is dropped and the
viewer gets a fresh snapshot once it reads again, so a browser that sleeps costs LIMIT and no more.

Invariants
    * `size` is the sum of the lengths of `pending` and at most LIMIT plus one batch
    * while `behind` is true nothing is pending
"""

from __future__ import annotations

import asyncio

LIMIT = 4_000_000


class Viewer:
    """What waits for one WebSocket."""

    def __init__(self, limit: int = LIMIT) -> None:
        self.limit = limit
        self.pending: list[str] = []
        self.size = 0
        self.behind = True  # nothing is known to the viewer yet
        self.cuts = 0  # how often this viewer was cut to a resync
        self.wake = asyncio.Event()

    def offer(self, text: str) -> None:
        """Queue one delta, already serialised for everybody."""
        if self.behind:
            return
        self.pending.append(text)
        self.size += len(text)
        if self.size > self.limit:
            self.cuts += 1
            self.cut()
        self.wake.set()

    def cut(self) -> None:
        """Forget everything that waits; the next message is a snapshot."""
        self.pending.clear()
        self.size = 0
        self.behind = True
        self.wake.set()

    def caught_up(self) -> None:
        """A snapshot or a list of missed events is on its way: deltas count again from here."""
        self.behind = False

    def take(self) -> str | None:
        """All that waits as one message: a delta, or a JSON list of deltas; None when nothing waits."""
        self.wake.clear()
        if not self.pending:
            return None
        text = self.pending[0] if len(self.pending) == 1 else f"[{','.join(self.pending)}]"
        self.pending.clear()
        self.size = 0
        return text
