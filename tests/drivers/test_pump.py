"""The time that viewers see of a world that is on time, late, and asleep for too long."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from broker_core.drivers import pump as pumps
from broker_core.drivers.pump import STALL_US, LivePump
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World

EVERY_US = 50_000


class Clockwork:
    """Does something every `EVERY_US`."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def start(self) -> None:
        self.node.after(EVERY_US, self.start)


class Loop:
    """An event loop that calls nobody by itself."""

    def __init__(self) -> None:
        self.now = 1000.0
        self.wake: Any = None

    def time(self) -> float:
        return self.now

    def call_at(self, when: float, callback: Any) -> Any:
        self.wake = callback
        return SimpleNamespace(cancel=lambda: None)

    def call_soon(self, callback: Any) -> Any:
        return self.call_at(self.now, callback)


@pytest.mark.parametrize("stall_s", [0.2, 2 * STALL_US / 1_000_000])
def test_the_clock_that_is_shown_stands_while_the_world_is_late_and_never_goes_back(
    stall_s: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = Loop()
    monkeypatch.setattr(pumps.time, "monotonic", loop.time)
    world = World(seed=1)
    world.add_node("clock", MemoryStorage(), Clockwork)
    world.start_node("clock")
    pump = LivePump(world, None, lambda: None)
    pump.start(loop)  # type: ignore[arg-type]
    seen = []
    for step_s in (0.02, 0.02, 0.02, stall_s, 0.01, *[0.03] * 20):
        loop.now += step_s
        before = pump.shown_us()
        assert before <= world.next_time_us()
        seen.append(before)
        loop.wake()
        seen.append(pump.shown_us())
    assert seen == sorted(seen) and EVERY_US in seen and seen[-1] > 500_000
