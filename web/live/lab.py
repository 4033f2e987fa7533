"""What the web asks of a lab: the only thing it knows about one.

Every method may be called from any thread; answers come as futures, because the world runs on a
thread of its own and answers between two events.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Protocol


class Batch(Protocol):
    """Events of at most 50 ms, serialised once for all viewers."""

    first: int  # sequence of the first event
    last: int  # sequence of the last event
    t0: int  # virtual microseconds; every `dt` counts from here
    t1: int
    text: str  # JSON: [[seq, dt, code, node, cause, {params}], ...]
    count: int


class Lab(Protocol):
    """A running lab."""

    run_id: str
    epoch: int  # grows with each fork

    def snapshot(self) -> Future[tuple[int, str]]:
        """(sequence, JSON of {"run", "epoch", "t", "state"}), taken between two events."""

    def subscribe(self, callback: Callable[[Batch], None]) -> Any:
        """Call `callback(batch)` from the world's thread from now on; the answer ends it."""

    def unsubscribe(self, token: Any) -> None:
        """No batches any more."""

    def submit(self, command: dict[str, Any]) -> Future[dict[str, Any]]:
        """{"ok": true, "seq": n, ...} or {"ok": false, "error": ..., "place": ...}."""

    def events_since(self, seq: int) -> Future[str | None]:
        """JSON rows after `seq` with absolute times, or None when they are no longer in memory."""
