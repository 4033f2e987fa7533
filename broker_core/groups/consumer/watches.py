"""Deadlines of members: how long one may be silent, and how long it may take to give partitions back.

As with classic members (`groups.sessions`) a heartbeat only moves a number; the timer that fires too early is armed
again for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.node import Node, Timer

Key = tuple[str, str]
"""Group id and member id."""


class _Watch:
    __slots__ = ("deadline_us", "timer", "about")

    def __init__(self, deadline_us: int, timer: Timer, about: Any) -> None:
        self.deadline_us = deadline_us
        self.timer = timer
        self.about = about


class Watches:
    """One kind of deadline; `fire(key, about)` is called when one is reached."""

    def __init__(self, node: Node, fire: Callable[[Key, Any], None]) -> None:
        self.node = node
        self.fire = fire
        self.watches: dict[Key, _Watch] = {}

    def restart(self, key: Key, timeout_ms: int, about: Any = None) -> None:
        """The member's time begins again now."""
        timeout_us = max(timeout_ms, 0) * 1000
        deadline = self.node.now_us() + timeout_us
        watch = self.watches.get(key)
        if watch is not None and watch.deadline_us <= deadline:
            watch.deadline_us, watch.about = deadline, about
            return
        self.stop(key)
        self.watches[key] = _Watch(deadline, self.node.after(timeout_us, self._fired, key), about)

    def stop(self, key: Key) -> None:
        """No longer."""
        watch = self.watches.pop(key, None)
        if watch is not None:
            watch.timer.cancel()

    def _fired(self, key: Key) -> None:
        watch = self.watches[key]
        rest = watch.deadline_us - self.node.now_us()
        if rest > 0:
            watch.timer = self.node.after(rest, self._fired, key)
            return
        del self.watches[key]
        self.fire(key, watch.about)
