"""Worlds that a test drives by hand: commands that must be taken, virtual seconds that pass."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.inputs import Command
from broker_core.kernel.world import World

S = 1_000_000


def do(world: World, **command: Any) -> dict[str, Any]:
    """Carry a command out; its result."""
    item = Command(command)
    world.inject(item)
    world.run_due()
    assert item.result is not None and item.result["ok"], item.result
    return item.result


def run(world: World, seconds: float) -> None:
    """Let virtual time pass."""
    world.run_until(world.now_us + int(seconds * S))


class Driven:
    """Whatever has a world."""

    world: World

    def do(self, **command: Any) -> dict[str, Any]:
        return do(self.world, **command)

    def run(self, seconds: float) -> None:
        run(self.world, seconds)
