"""The time of day in a world: what its clocks show at a virtual time, and the other way round.

They show when the world began, and as much more as has passed in it. From outside they can be set forward, all at once:
a world that has stood is behind the machine it lives on. Never back: no moment has two virtual times.

    virtual time   0 -------------- 9 s -------------- 12 s
    clocks show    10:00:00    10:00:09 | 12:30:00     12:30:03      steps: [(0, 10:00:00), (9 s, 12:29:51)]
"""

from __future__ import annotations


class WallClock:
    """`steps`: from which virtual time (microseconds) on the clocks count from which `epoch_ms`, the first at 0."""

    def __init__(self, epoch_ms: int) -> None:
        self.epoch_ms = epoch_ms
        self.steps: list[tuple[int, int]] = [(0, epoch_ms)]

    def set_forward(self, now_us: int, by_ms: int) -> None:
        """From now on the clocks show so much more. The steps are a new list: a snapshot may hold the one of before."""
        self.epoch_ms += by_ms
        self.steps = [*(step for step in self.steps if step[0] < now_us), (now_us, self.epoch_ms)]

    def shown_ms(self, t_us: int) -> int:
        """What they showed at a virtual time, milliseconds since 1970."""
        epoch_ms = self.steps[0][1]
        for since_us, step_ms in self.steps:
            if since_us <= t_us:
                epoch_ms = step_ms
        return epoch_ms + t_us // 1000

    def time_us(self, wall_ms: int) -> int:
        """When they showed this, virtual microseconds: below 0 before the world began; of a time that was left out, the
        moment they were set."""
        until_us: int | None = None
        for since_us, epoch_ms in reversed(self.steps):
            t_us = (wall_ms - epoch_ms) * 1000
            if since_us == 0 or wall_ms >= epoch_ms + since_us // 1000:
                return t_us if until_us is None else min(t_us, until_us)
            until_us = since_us
        raise AssertionError("the first step begins at 0")
