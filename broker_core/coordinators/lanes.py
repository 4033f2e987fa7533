"""One decision about a key (a group, a share-partition) at a time: decide, write, replay, answer; the next one waits.

    heartbeat A  decide --- records on their way ---> replay, answer
    heartbeat B                waits                                  decide, ...

So every decision is made from what is in the log, and none has to be taken back. A decision without records is
answered at once. Keys do not wait for each other.

| the write                        | the records                    | then |
|----------------------------------|--------------------------------|---|
| is committed                     | are in the log                 | replayed, answered |
| timed out, too few replicas now  | are in the leader's log, too   | replayed; answered with an error |
| was refused                      | are not                        | nothing has changed; an error |
| ended after the partition moved  | are the next leader's business | NOT_COORDINATOR |

(Kafka replays at once, answers when the records are committed, and takes everything back when they are not written.)
Source: KIP-848's CoordinatorRuntime.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any, Protocol

from broker_core.coordinators.runtime import CoordinatorRuntime, KeyValue
from broker_core.wire.errors import ErrorCode

IN_THE_LOG = (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)
Step = Callable[..., Any]


class Written(Protocol):
    """What a step has decided, as far as a lane needs to know it."""

    def lines(self) -> list[KeyValue]:
        """Its records as bytes; none: it is answered at once."""
        ...


class Lane:
    """A key whose records are on their way, and the steps that wait behind them.

    `appending`: its records are being appended in this moment; an answer that comes at once sets `done`.
    """

    __slots__ = ("key", "outcome", "waiting", "appending", "done")

    def __init__(self, key: str, outcome: Any, waiting: deque[tuple[Step, tuple[Any, ...]]]) -> None:
        self.key = key
        self.outcome = outcome
        self.waiting = waiting
        self.appending = True
        self.done = False


class Lanes:
    """The lanes of a coordinator. `finish(outcome, error code, in the log)` replays and answers."""

    def __init__(self, finish: Callable[[Any, int, bool], None]) -> None:
        self.finish = finish
        self.lanes: dict[str, Lane] = {}

    def busy(self, key: str) -> bool:
        """Whether records of the key are on their way."""
        return key in self.lanes

    def run(self, runtime: CoordinatorRuntime, key: str, step: Step, *args: Any) -> None:
        """`step(*args)` decides, now or when its turn comes; what it returns is None or `Written`."""
        lane = self.lanes.get(key)
        if lane is not None:
            lane.waiting.append((step, args))
        else:
            self._turn(runtime, key, step, args, deque())

    def _turn(
        self, runtime: CoordinatorRuntime, key: str, step: Step, args: tuple[Any, ...], behind: deque[Any]
    ) -> None:
        while True:
            outcome = step(*args)
            lines = [] if outcome is None else outcome.lines()
            if lines:
                lane = self.lanes[key] = Lane(key, outcome, behind)
                runtime.append(key, lines, self._written, (runtime, lane))
                lane.appending = False
                if not lane.done:
                    return
            elif outcome is not None:
                self.finish(outcome, ErrorCode.NONE, False)
            if not behind:
                return
            step, args = behind.popleft()

    def _written(self, context: tuple[CoordinatorRuntime, Lane], code: int) -> None:
        runtime, lane = context
        if self.lanes.get(lane.key) is not lane:
            self.finish(lane.outcome, ErrorCode.NOT_COORDINATOR, False)
            return
        self.finish(lane.outcome, code, code in IN_THE_LOG)  # the lane is still there: who comes meanwhile waits, too
        if self.lanes.get(lane.key) is not lane:
            return
        del self.lanes[lane.key]
        lane.done = True
        if lane.waiting and not lane.appending:
            step, args = lane.waiting.popleft()
            self._turn(runtime, lane.key, step, args, lane.waiting)

    def give_up(self, keys: list[str]) -> None:
        """The keys are another broker's: those who wait are sent there by their own steps."""
        for key in keys:
            lane = self.lanes.pop(key, None)
            for step, args in lane.waiting if lane is not None else ():
                step(*args)
