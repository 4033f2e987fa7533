"""The clock and the calls of a world.

Order. Calls run by (time, sequence). Those that are due now wait in a deque, later ones in a heap:

    now=5  deque: #7 #8        heap: (6, #3) (6, #5) (9, #2)
    #7 calls soon(...)         -> #9 to the deque
    deque empty                -> now=6, #3 and #5 move to the deque in this order

When a call runs (or an input is injected) it gets the next *id*: the number of its events in the
journal, and the cause of whatever it schedules. So ids grow with time, and a cause is always smaller.

Nearly all calls are messages that are due at once, and nobody cancels them: those are plain tuples
(`node.Call`). A `Timer` is made only for what is called later, or may be cancelled.

A call that fails is a fault of this program. It is told in the journal and everything else goes on: a lab that
somebody works with does not end for one of our mistakes, and the run can be executed again to look for it.
"""

from __future__ import annotations

import heapq
import logging
from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.errors import KernelError
from broker_core.kernel.journal import Journal
from broker_core.kernel.node import PAUSED, Call, Node, Timer
from broker_core.kernel.problems import problem

LIVELOCK = 2_000_000
_log = logging.getLogger("brokerlab.world")


def _of_the_dead() -> None:
    """Stands for what a process that is gone would have called; nobody calls it."""


class EventQueue:
    """What is to happen, in its order; `world.World` is one."""

    def __init__(self, record_level: str) -> None:
        self.now_us = 0
        self.seq = 0
        self.cause = 0
        self.journal = Journal(record_level)
        self.observers: list[Callable[[int], None]] = []
        self.due: deque[Timer | Call] = deque()
        self._later: list[tuple[int, int, Timer]] = []
        self._last_place = 0
        self._injected = 0
        self._passed_over = 0

    @property
    def executed(self) -> int:
        """Calls so far, with those that found their process gone or paused."""
        return self.seq - self._injected + self._passed_over

    def schedule(self, delay_us: int, node: Node | None, method: Callable[..., Any], args: tuple[Any, ...]) -> Timer:
        """Call `method(*args)` in `node` after `delay_us`, unless its process has ended by then."""
        timer = Timer(self.seq, node, method, args)
        if delay_us <= 0:
            self.due.append(timer)
        else:
            self._last_place = place = self._last_place + 1
            heapq.heappush(self._later, (self.now_us + delay_us, place, timer))
        return timer

    def waiting_for(self, node: Node) -> list[Timer]:
        """What this process waits for at a later time, in its order."""
        found = [entry for entry in self._later if entry[2].node is node and entry[2].incarnation == node.incarnation]
        return [timer for _, _, timer in sorted(found, key=lambda entry: entry[:2])]

    def let_go(self, node: Node) -> None:
        """Its process has ended. What it waits for is passed over when it is due, be it in an hour: until then these
        calls hold nothing of what the process had in memory."""
        for _, _, timer in self._later:
            if timer.node is node and timer.method is not None:
                timer.method, timer.args = _of_the_dead, ()

    def run_until(self, time_us: int) -> None:
        """Execute everything that is due up to and including `time_us`; the clock ends there."""
        later = self._later
        self._drain()
        while later and later[0][0] <= time_us:
            self._advance()
            self._drain()
        if time_us > self.now_us:
            self._set_clock(time_us)

    def run_due(self) -> None:
        """Execute what is due in this instant."""
        self._drain()

    def move_clock(self, time_us: int) -> None:
        """Let time pass up to `time_us`, before which nothing is due."""
        following = self.next_time_us()
        if following is not None and following < time_us:
            raise KernelError(problem("due_before", due_us=following, t_us=time_us))
        self._set_clock(max(self.now_us, time_us))

    def _set_clock(self, time_us: int) -> None:
        self.now_us = time_us
        if time_us >= self.journal.second_ends_us:
            self.journal.settle()

    def step(self, until_us: int | None = None) -> bool:
        """Execute one event, moving the clock when nothing is due; False when nothing is left."""
        while True:
            while self.due:
                call = self.due.popleft()
                try:
                    if self._execute(call):
                        return True
                except Exception as error:
                    self._failed(call, error)
                    return True
            if not self._later or (until_us is not None and self._later[0][0] > until_us):
                return False
            self._advance()

    def next_time_us(self) -> int | None:
        """When the next call is due, or None."""
        if self.due:
            return self.now_us
        later = self._later
        while later and later[0][2].method is None:
            heapq.heappop(later)
        return later[0][0] if later else None

    def _advance(self) -> None:
        """Move the clock to the next time in the heap, and what is due then to the deque.

        Observers are told the new time before: what they see then is the same in every execution of the run.
        """
        later, due = self._later, self.due
        for observer in self.observers:
            observer(later[0][0])
        now = later[0][0]
        self._set_clock(now)
        while later and later[0][0] == now:
            timer = heapq.heappop(later)[2]
            if timer.method is not None:
                due.append(timer)

    def _drain(self) -> None:
        """Execute what is due now, and what that makes due."""
        due = self.due
        take = due.popleft
        calls = repeat(None, LIVELOCK)
        while due:
            try:
                for _ in calls:
                    if not due:
                        return
                    call = take()
                    if call.__class__ is tuple:  # as `_execute`, without a frame of its own
                        node, incarnation, cause, method, args = call
                        if node.live == incarnation:
                            self.seq += 1
                            self.cause = cause
                            method(*args)
                            continue
                    self._execute(call)
                raise KernelError(problem("runs_in_circles", n=LIVELOCK, t_us=self.now_us, last=f"#{self.seq}"))
            except KernelError:
                raise
            except Exception as error:
                self._failed(call, error)

    def _failed(self, call: Timer | Call, error: Exception) -> None:
        """A fault of our own code, in this call alone: told in the journal, and everything else goes on."""
        _log.exception("event #%s failed", self.seq)
        at = error.__traceback__
        while at is not None and at.tb_next is not None:
            at = at.tb_next
        place = "" if at is None else f"{at.tb_frame.f_globals['__name__']}.{at.tb_frame.f_code.co_name}"
        node = call.node if isinstance(call, Timer) else call[0]
        emit = self.emit if node is None or node.cluster else node.emit  # never hidden in a neighbour's journal
        emit(events.CALL_FAILED, place=place, error=f"{type(error).__name__}: {error}")

    def _execute(self, call: Timer | Call) -> bool:
        """Run a call if its process runs; False when it was cancelled before."""
        timer = call if isinstance(call, Timer) else None
        node, incarnation, cause, method, args = call.call() if isinstance(call, Timer) else call
        if method is None:
            return False
        if node is not None and node.live != incarnation:
            self._passed_over += 1
            if incarnation == node.incarnation and node.state == PAUSED:
                node.held.append(call)
            return True
        if timer is not None:
            timer.method = None  # no longer active
        self.seq += 1
        self.cause = cause
        method(*args)
        return True

    def emit(self, code: events.EventCode, **params: Any) -> None:
        """An event of no node."""
        self.journal.record(self.seq, self.now_us, "world", code, self.cause, params)
