"""Executing a recorded run again, in slices, up to any moment: the way to a fork and to an opened run.

Inputs are taken from the recording at their places in the order (`drivers.recording`). A target is an
event number or a time; the world then stands right behind that event, or at the end of that instant.

    |  whole instants, LEAP_US at a time  |  event by event  |
    start                    an input, `before_us`        target

A world that was restored from a snapshot goes on from `start`, the place of its next input in the recording.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from broker_core.drivers.recording import Recording
from broker_core.kernel.inputs import Input
from broker_core.kernel.world import World

CHECK_EVERY = 256
LEAP_US = 20_000
FOREVER_US = 1 << 62


class Records(Protocol):
    """Who is told of inputs, in front of each."""

    def record(self, world: World, item: Input) -> None: ...


class Nobody:
    """For what is not to be recorded."""

    def record(self, world: World, item: Input) -> None:
        return


class Reexecution:
    """Brings a world to a target. `advance` does a slice of the work; now and then somebody may `look` on, at the
    latest in front of the next input.

    * `before_us`: a time that is known to be at or before the target event's; on the way there nobody counts events
    """

    def __init__(
        self, world: World, inputs: Path, recorder: Records, target_seq: int | None = None,
        target_us: int | None = None, look: Callable[[], None] | None = None, start: int = 0, before_us: int = 0,
    ) -> None:  # fmt: skip
        self.world = world
        self.recorder = recorder
        self.target_seq = FOREVER_US if target_seq is None else target_seq
        self.target_us = FOREVER_US if target_us is None else target_us
        self.safe_us = FOREVER_US if target_seq is None else before_us - 1
        self.look = look
        self.bounded = False
        self.position = start
        """Where the next input that has not been injected stands in the recording."""
        self._inputs = Recording(inputs, start)
        self._next: tuple[dict[str, Any], Input | None] | None = None
        self._exhausted = False

    @property
    def rest(self) -> tuple[Path, int]:
        """The recording, and where in it what was not carried out again begins."""
        return self._inputs.path, self.position

    def advance(self, budget_s: float) -> bool:
        """Work for about `budget_s`; True when the target, or the end of the recording, is reached."""
        deadline = time.monotonic() + budget_s
        while time.monotonic() < deadline:
            if self._slice():
                return True
        return False

    def _slice(self) -> bool:
        world = self.world
        if self._next is None and not self._exhausted:
            self.position = self._inputs.position
            self._next = next(self._inputs, None)
            self._exhausted = self._next is None
        if self._next is None and self.target_us == self.target_seq == FOREVER_US:
            return True
        limit_us, limit_n = self._limits()
        if self._leap(limit_us):
            return False
        for _ in range(CHECK_EVERY):
            if world.seq >= self.target_seq:
                return True
            if world.executed >= limit_n or not world.step(limit_us):
                break
            if self.look is not None:
                self.look()
        else:
            return False
        return self._arrived(limit_us)

    def _leap(self, limit_us: int) -> bool:
        """Execute whole instants before `limit_us`, if there are any; nothing that is looked for lies in them."""
        world = self.world
        following = world.next_time_us()
        until_us = min(limit_us - 1, self.safe_us)
        if following is None or following > until_us:
            return False
        world.run_until(min(until_us, following + LEAP_US))
        if self.look is not None:
            self.look()
        return True

    def _limits(self) -> tuple[int, int]:
        """Up to which time, and inside that instant up to which count of events, to run now."""
        if self._next is None:
            return min(self.target_us, FOREVER_US), 1 << 62
        head = self._next[0]
        if head["t"] > self.target_us:
            return self.target_us, 1 << 62
        return head["t"], head["n"]

    def _arrived(self, limit_us: int) -> bool:
        """Everything before the next input has run: inject it, or stop at the target."""
        world = self.world
        if self._next is None:
            if limit_us < FOREVER_US:
                world.move_clock(limit_us)
            return True
        head, item = self._next
        if head["t"] > self.target_us:
            world.move_clock(self.target_us)
            return True
        world.move_clock(head["t"])
        self._next, self.position = None, self._inputs.position
        if item is None:
            self.bounded = head["kind"] == "bounded"
            return True
        self.recorder.record(world, item)
        world.inject(item)
        return False
