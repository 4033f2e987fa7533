"""What the clocks of a world show, and when they did."""

from __future__ import annotations

import pickle
from typing import Any

from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.wall import WallClock
from broker_core.kernel.world import World


class Idle:
    """Does nothing."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def start(self) -> None:
        pass


def test_clocks_that_were_set_forward_are_read_in_both_directions() -> None:
    wall = WallClock(10_000)
    wall.set_forward(9_000_000, 60_000)
    wall.set_forward(12_000_000, 500)
    shown: dict[int, Any] = {t: wall.shown_ms(t) for t in (0, 8_999_000, 9_000_000, 11_999_000, 12_000_000, 20_000_000)}
    assert list(shown.values()) == [10_000, 18_999, 79_000, 81_999, 82_500, 90_500]
    assert {t: wall.time_us(ms) for t, ms in shown.items()} == {t: t for t in shown}
    assert wall.time_us(4_000) == -6_000_000, "before the world began"
    assert [wall.time_us(ms) for ms in (19_001, 50_000, 78_999)] == [9_000_000] * 3, "a time that no clock has shown"


def test_set_twice_in_one_instant_they_have_one_step() -> None:
    wall = WallClock(0)
    wall.set_forward(0, 5)
    wall.set_forward(0, 5)
    wall.set_forward(1_000, 5)
    wall.set_forward(1_000, 5)
    assert wall.steps == [(0, 10), (1_000, 20)] and wall.epoch_ms == 20


def test_every_node_sees_it_a_wrong_clock_stays_as_wrong_and_a_copy_of_the_world_goes_on_alike() -> None:
    world = World(seed=1, epoch_ms=1_000)
    nodes = [world.add_node(name, MemoryStorage(), Idle) for name in ("right", "wrong")]
    nodes[1].clock_skew_ms = -200
    world.wall.set_forward(world.now_us, 7_000)
    assert [node.wall_ms() for node in nodes] == [8_000, 7_800]
    copy: World = pickle.loads(pickle.dumps(world))
    assert [node.wall_ms() for node in copy.nodes.values()] == [8_000, 7_800]
