"""Waiting until something is so in an open run: the conditions of scenarios, for people and scripts that look on.

    wait {leader_of: carts-0, is: changed} --> looked at now, then behind each pass of the clock
    ...                                        the controller elects a leader
    <-- {"met": true, "value": 2, "before": 1, "seq": 4711, "t_us": 9204113, "waited_us": 1840221, "gave_up": null}

Nothing is done to the run but, where that is wanted, the clock is stopped at the moment itself. A wait ends in any
case, and says why:

| gave_up | what is over |
|---|---|
| within | so much of the cluster's time (it passes with the clock's speed, and not while the clock stands) |
| wait | so many seconds of the person's: a clock that stands moves nothing |
| ended | the run |
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.scenarios.conditions import Condition

MOST = 64
Answer = Future[dict[str, Any]]


class TooManyWaits(Refusal):
    """`MOST` of them look at this run already."""


@dataclass(slots=True, frozen=True)
class Wanted:
    """What is waited for, and how long: `within_us` of the cluster's time, `wait_s` of the wall clock's.

    `given`: what a changed value is another than, instead of the value of now; `pause`: stop the clock there.
    """

    condition: Condition
    within_us: int
    wait_s: float
    given: Any = None
    pause: bool = False


@dataclass(slots=True)
class _Wait:
    wanted: Wanted
    answer: Answer
    before: Any
    since_us: int

    def told(self, world: World, gave_up: str | None) -> dict[str, Any]:
        """How it has ended."""
        return {
            "met": gave_up is None, "value": self.wanted.condition.value(world), "before": self.before,
            "seq": world.seq, "t_us": world.now_us, "waited_us": world.now_us - self.since_us, "gave_up": gave_up,
        }  # fmt: skip


class Waits:
    """Those of one run. Lives on the world's thread; `pause` stops its clock."""

    def __init__(self, world: World, loop: asyncio.AbstractEventLoop, pause: Callable[[], None]) -> None:
        self.world = world
        self.loop = loop
        self.pause = pause
        self.open: dict[int, _Wait] = {}
        self._last = 0

    def add(self, answer: Answer, wanted: Wanted) -> None:
        """Look now, and from now on. Raises TooManyWaits."""
        if len(self.open) >= MOST:
            raise TooManyWaits(problem("too_many_waits", n=MOST))
        before = wanted.condition.value(self.world) if wanted.given is None else wanted.given
        self._last += 1
        self.open[self._last] = _Wait(wanted, answer, before, self.world.now_us)
        self.loop.call_later(wanted.wait_s, self._late, self._last)
        self.look()

    def look(self) -> None:
        """Answer those whose condition holds, or whose time is over."""
        world = self.world
        for number, one in list(self.open.items()):
            if one.wanted.condition.holds(world, one.before):
                if one.wanted.pause:
                    self.pause()
                self._end(number, None)
            elif world.now_us - one.since_us >= one.wanted.within_us:
                self._end(number, "within")

    def end(self) -> None:
        """Nothing more will happen."""
        self.look()
        for number in list(self.open):
            self._end(number, "ended")

    def _late(self, number: int) -> None:
        if number in self.open:
            self._end(number, "wait")

    def _end(self, number: int, gave_up: str | None) -> None:
        one = self.open.pop(number)
        if one.answer.set_running_or_notify_cancel():
            one.answer.set_result(one.told(self.world, gave_up))
