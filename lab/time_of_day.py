"""A lab's clocks and the machine's: who writes from outside is not to be refused for a time that the lab has stood.

The world's clocks stand while it is paused or sleeps, and go slowly at a slow speed. A producer from outside stamps its
records with the machine's time of day, and a broker of 4.x refuses what is more than an hour ahead of its own
(`message.timestamp.after.max.ms`). So before such a request enters a world that is far behind, its clocks are set: one
command of the run like any other, recorded, told, and there when the run is executed again.

Only writing does it: what is kept for a time (`retention.ms`, transactions, offsets of groups) is as much older when
the clocks are set, and a lab that only its own clients use keeps its time for as long as somebody looks at it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from broker_core.kernel.inputs import Command, FrameReceived, Input
from broker_core.kernel.world import World
from broker_core.wire.apis import ApiKey

BEHIND_MS = 30 * 60_000
_PRODUCE = int(ApiKey.PRODUCE).to_bytes(2, "big")


def machine_ms() -> int:
    """What the machine's clock shows."""
    return time.time_ns() // 1_000_000


class TimeOfDay:
    """What is put in front of inputs from outside (`LivePump.before`)."""

    def __init__(self, world: World, now_ms: Callable[[], int] = machine_ms) -> None:
        self._world = world
        self._now_ms = now_ms

    def __call__(self, items: list[Input]) -> list[Input]:
        world = self._world
        behind_ms = self._now_ms() - world.wall.shown_ms(world.now_us)
        if behind_ms <= BEHIND_MS or not any(_writes(item) for item in items):
            return items
        return [Command({"do": "set_clocks", "forward_ms": behind_ms, "outside": True}), *items]


def _writes(item: Input) -> bool:
    return isinstance(item, FrameReceived) and item.frame[:2] == _PRODUCE
