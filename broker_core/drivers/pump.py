"""The live pump: a world driven by the wall clock times a speed.

Inputs enter at a boundary only: run everything that is due by now, set the clock, record the input,
inject it, run until nothing is due. One pass takes all frames of a wake-up, and all answers of a
connection leave in one write.

| time control | what the pump does                                              |
|--------------|-----------------------------------------------------------------|
| speed x      | virtual time runs x times as fast as the wall, 1/1000 to 100     |
| pause        | the clock stands; commands still change the world, frames wait   |
| step_event   | one event                                                        |
| step_state   | on to the next state transition in the journal                   |

What is on the `agenda`, commands with a virtual time, is carried out at that time, also between two steps.

A pass moves the clock at most 100 ms; between passes the sockets are read, so that after a stall a
session does not expire before the heartbeats that already wait in the socket. A stall of seconds
(a laptop that slept) is not made up for: the clock goes on from where it stood. A world that may take only a `share` of
a core rests between passes; frames that come then wait for the next one.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Any

from broker_core.drivers.recording import Recorder
from broker_core.drivers.share import Share
from broker_core.kernel.errors import CommandError
from broker_core.kernel.events import REGISTRY, TRANSITION
from broker_core.kernel.inputs import Command, Input
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World

PASS_US = 100_000
STALL_US = 3_000_000
SLOWEST, FASTEST = 1 / 1000, 100.0
STEP_LIMIT = 100_000
LOOK_AHEAD_US = 60_000_000


def _admitted(command: dict[str, Any]) -> dict[str, Any] | None:
    """Every command may be tried."""
    return None


def _as_they_are(items: list[Input]) -> list[Input]:
    """Inputs from outside need nothing in front of them."""
    return items


class LivePump:
    """Keeps a world in step with the wall clock; runs on the world's own thread."""

    def __init__(self, world: World, recorder: Recorder | None, after_pass: Callable[[], None]) -> None:
        self.world = world
        self.recorder = recorder
        self.after_pass = after_pass
        self.speed = 1.0
        self.paused = False
        self.share: Share | None = None
        self.loop: asyncio.AbstractEventLoop | None = None
        self._base_wall = 0.0
        self._base_us = 0
        self._timer: asyncio.TimerHandle | asyncio.Handle | None = None
        self._timer_at = 0.0
        self._following_us: int | None = None
        self._waiting: list[Input] = []
        self.agenda: deque[tuple[int, dict[str, Any]]] = deque()
        self.admit: Callable[[dict[str, Any]], dict[str, Any] | None] = _admitted
        self.before: Callable[[list[Input]], list[Input]] = _as_they_are

    def start(self, loop: asyncio.AbstractEventLoop) -> None:
        """Begin to follow the wall clock."""
        self.loop = loop
        self._rebase()
        self._wake()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.loop = None

    # -- the clock --------------------------------------------------------------------------
    def _rebase(self) -> None:
        self._base_wall = time.monotonic()
        self._base_us = self.world.now_us

    def _due_us(self) -> int:
        """Virtual time that the wall clock has reached."""
        return self._base_us + int((time.monotonic() - self._base_wall) * self.speed * 1_000_000)

    def shown_us(self) -> int:
        """Virtual time as a viewer sees it: it goes on between events, too, and never beyond what has not happened yet,
        however late the machine is. Any thread may ask."""
        if self.paused or self.loop is None:
            return self.world.now_us
        following, due = self._following_us, self._due_us()
        return max(self.world.now_us, due if following is None else min(due, following))

    def _catch_up(self) -> bool:
        """Run what is due by now, at most one pass; True when the world is up to date.

        Time in which nothing was to happen passes at once. Being late for a call by more than `STALL_US` means that
        the machine slept: that time has not been for the world.
        """
        world = self.world
        due = self._due_us()
        following = self._next_us()
        first = due if following is None else max(world.now_us, min(due, following))
        late = due - first
        if late > STALL_US * max(1.0, self.speed):
            self._base_us -= late - PASS_US
            due = first + PASS_US
        limit = first + int(PASS_US * max(1.0, self.speed))
        self._run_until(max(world.now_us, min(due, limit)))
        return due <= limit

    def _next_us(self) -> int | None:
        """When something happens next; None: nothing is to come."""
        following = self.world.next_time_us()
        if not self.agenda:
            return following
        planned = max(self.world.now_us, self.agenda[0][0])
        return planned if following is None else min(following, planned)

    def _run_until(self, time_us: int) -> None:
        """On to a time, with what is on the agenda until then: behind all events of its instant."""
        while self.agenda and self.agenda[0][0] <= time_us:
            self.world.run_until(max(self.world.now_us, self.agenda[0][0]))
            self._do_next()
        self.world.run_until(time_us)

    def _do_next(self) -> None:
        """What comes next on the agenda, now."""
        self._inject(Command(self.agenda.popleft()[1]))

    def _wake(self) -> None:
        self._timer = None
        if self.paused:
            self.after_pass()
            return
        if self._rests():
            return
        up_to_date = self._catch_up()
        if self._waiting:
            self._admit_waiting()
            self.world.run_due()
        self.after_pass()
        self._arm(soon=not up_to_date)

    def _rests(self) -> bool:
        """Whether the world has taken more than its share; it is woken when it may go on."""
        wait_s = self.share.wait_s() if self.share is not None else 0.0
        if not wait_s or self.loop is None:
            return False
        if self._timer is not None:
            self._timer.cancel()
        self._timer_at = self.loop.time() + wait_s
        self._timer = self.loop.call_at(self._timer_at, self._wake)
        return True

    def _arm(self, soon: bool = False) -> None:
        """Wake up when the next call of the world is due."""
        loop = self.loop
        if loop is None or self.paused:
            return
        following = self._following_us = self._next_us()
        if following is None:
            return
        at = loop.time() + max(0.0, (following - self._due_us()) / (1_000_000 * self.speed))
        if self._timer is not None:
            if at >= self._timer_at - 0.0002 and not soon:
                return
            self._timer.cancel()
        self._timer_at = at
        self._timer = loop.call_soon(self._wake) if soon else loop.call_at(at, self._wake)

    # -- inputs -----------------------------------------------------------------------------
    def take(self, items: list[Input]) -> None:
        """Inputs of one wake-up, in order."""
        self._waiting.extend(items)
        if self.paused or self._rests():
            return
        up_to_date = self._catch_up()
        self._admit_waiting()
        self.world.run_due()
        self.after_pass()
        self._arm(soon=not up_to_date)

    def _inject(self, item: Input) -> None:
        if self.recorder is not None:
            self.recorder.record(self.world, item)
        self.world.inject(item)

    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """Carry out a command at once, also while the clock stands.

        `admit` is asked first: what the machine cannot give (a port) is refused before it becomes part of the run.
        """
        if command.get("do") == "time":
            return self.control(command)
        if not self.paused:
            self._catch_up()
        refused = self.admit(command)
        if refused is not None:
            return refused
        item = Command(command)
        self._inject(item)
        if not self.paused:
            self.world.run_due()
        self.after_pass()
        self._arm()
        return item.result or {"ok": False, "problem": problem("not_carried_out"), "place": ""}

    # -- time control -----------------------------------------------------------------------
    def control(self, command: dict[str, Any]) -> dict[str, Any]:
        """`{"do": "time", "speed": 0.1 | "pause" | "play" | "step_event" | "step_state"}`.

        A step that found nothing within `LOOK_AHEAD_US` answers how far it went: `nothing_for_us`.
        """
        wanted, before = command.get("speed"), self.world.now_us
        try:
            found = self._control(wanted)
        except CommandError as error:
            return {"ok": False, "problem": error.problem, "place": error.place}
        self.after_pass()
        answer = {"ok": True, "seq": self.world.seq, "speed": self.speed, "paused": self.paused}
        return answer if found else {**answer, "nothing_for_us": self.world.now_us - before}

    def _control(self, wanted: Any) -> bool:
        """Whether what was wanted has happened; only a step may have found nothing."""
        if wanted == "pause":
            self._pause()
        elif wanted == "play":
            self._play()
        elif wanted in ("step_event", "step_state"):
            self._pause()
            self._admit_waiting()
            return self._step(to_transition=wanted == "step_state")
        elif isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
            if not SLOWEST <= wanted <= FASTEST:
                raise CommandError(problem("speed_range", least=SLOWEST, most=FASTEST), "speed")
            if not self.paused:
                self._catch_up()
            self.speed = float(wanted)
            self._rebase()
            self._restart_timer()
        else:
            raise CommandError(problem("speed_unknown"), "speed")
        return True

    def _pause(self) -> None:
        if not self.paused:
            self._catch_up()
            self.paused = True

    def stand(self) -> None:
        """Go no further than here: the clock stands, and what is due by the wall clock is not caught up with."""
        self.paused = True

    def _play(self) -> None:
        if self.paused:
            self.paused = False
            self._admit_waiting()
            self.world.run_due()
            self._rebase()
            self._restart_timer()

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._arm()

    def _admit_waiting(self) -> None:
        """What clients sent while the clock stood enters now, in this instant."""
        waiting, self._waiting = self._waiting, []
        for item in self.before(waiting):
            self._inject(item)

    def _step(self, to_transition: bool) -> bool:
        """On until the journal tells of something: what leaves no row is no step to somebody who looks on.

        False when it told of nothing within `LOOK_AHEAD_US` or `STEP_LIMIT` events.
        """
        world = self.world
        limit = world.now_us + LOOK_AHEAD_US
        for _ in range(STEP_LIMIT):
            before = world.journal.count
            if not self._one(limit):
                return False
            if self._transition_since(before) if to_transition else world.journal.count > before:
                return True
        return False

    def _one(self, limit_us: int) -> bool:
        """One event up to a time, or one command of the agenda; False when there is none."""
        following = self.world.next_time_us()
        if self.agenda and self.agenda[0][0] <= limit_us and (following is None or following > self.agenda[0][0]):
            self.world.move_clock(max(self.world.now_us, self.agenda[0][0]))
            self._do_next()
            return True
        return self.world.step(limit_us)

    def _transition_since(self, count: int) -> bool:
        journal = self.world.journal
        added = journal.count - count
        return any(REGISTRY[journal.tail[-1 - index][3]].level == TRANSITION for index in range(added))
