"""What the web asks of a lab: the only thing it knows about one.

Every method may be called from any thread; answers come as futures, because the world runs on a
thread of its own and answers between two events.

| who is a `Lab` | its runs |
|---|---|
| `lab.live.LiveLab` | its world is in this process: files and disks can be read, too (`web.api.asking.hosted`) |
| `web.live.remote.RemoteLab` | another process hosts it; what is asked goes there over Redis |
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any, Protocol

from lab.feed import Batch


class OpenRun(Protocol):
    """A run that goes on, or could: the live one, a fork, one that was executed again."""

    @property
    def run_id(self) -> str:
        """Name of its directory."""
        ...

    @property
    def epoch(self) -> int:
        """Grows with each fork."""
        ...

    @property
    def ended(self) -> bool:
        """Whether it answers nothing any more."""
        ...

    def clock(self) -> dict[str, Any]:
        """{"seq", "t", "speed", "paused", "over"}, without asking the world."""
        ...

    def view(self) -> dict[str, Any]:
        """What a list of open runs shows: the clock, and whose fork it is."""
        ...

    def snapshot(self) -> Future[tuple[int, str]]:
        """(sequence, JSON of {"run", "epoch", "t", "state"}), taken between two events."""
        ...

    def subscribe(self, callback: Callable[[Batch], None], /) -> Any:
        """Call `callback(batch)` from the world's thread from now on; the answer ends it."""
        ...

    def unsubscribe(self, token: Any, /) -> None:
        """No batches any more."""
        ...

    def submit(self, command: dict[str, Any], /) -> Future[dict[str, Any]]:
        """{"ok": true, "seq": n, ...} or {"ok": false, "error": ..., "place": ...}."""
        ...

    def events_since(self, seq: int, /) -> Future[str | None]:
        """JSON rows after `seq` with absolute times, or None when they are no longer in memory."""
        ...

    def story(self, seq: int, /) -> Future[str]:
        """JSON rows of the newest state transitions of each kind up to `seq`, with absolute times."""
        ...

    def history(self, seq: int, after: int = 0, /) -> Future[dict[str, Any]]:
        """{"seq", "t", "snap", "ev", "last", "whole"}: a keyframe at or before `seq` and the rows behind it."""
        ...

    def inspect(self, what: str, name: str, /) -> Future[dict[str, Any]]:
        """One object looked at closely. Fails with CommandError when there is none."""
        ...


class Lab(OpenRun, Protocol):
    """The runs of a lab that are open; asked itself, it is the live one."""

    @property
    def branches(self) -> Mapping[str, OpenRun]:
        """By name."""
        ...

    def branch(self, run: str | None = None, /) -> OpenRun:
        """An open run, the live one without a name. Raises BranchError."""
        ...
