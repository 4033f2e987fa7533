"""What a link does to messages, and to the connections that run over it."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.network import BREAK_US
from broker_core.kernel.world import World
from tests.kernel.test_world import seen, world_of


class Call:
    """A message with an API."""

    def __init__(self, api_key: int) -> None:
        self.api_key = api_key


def downs(world: World, node: str) -> list[Any]:
    return [(t, what) for t, what in seen(world, node) if isinstance(what, tuple) and what[0] == "down"]


def cut(world: World, *pairs: tuple[str, str], partitioned: bool = True) -> None:
    for a, b in pairs:
        if partitioned:
            world.change_link(a, b, partitioned=True)
        else:
            world.change_link(a, b)


BOTH = (("a", "b"), ("b", "a"))


def test_a_healed_link_that_lost_something_breaks_the_connection_for_both_ends() -> None:
    world = world_of("a", "b")
    cut(world, *BOTH)
    world.nodes["a"].send("b", "lost")
    world.run_until(1_000)
    assert downs(world, "a") == downs(world, "b") == []
    cut(world, *BOTH, partitioned=False)
    world.run_until(2_000)
    assert downs(world, "a") == [(1_000, ("down", "b"))]
    assert downs(world, "b") == [(1_000, ("down", "a"))]


def test_a_partition_during_which_nobody_spoke_breaks_nothing() -> None:
    world = world_of("a", "b")
    cut(world, *BOTH)
    world.run_until(1_000)
    cut(world, *BOTH, partitioned=False)
    world.run_until(2_000)
    assert downs(world, "a") == downs(world, "b") == []


def test_the_connection_breaks_only_when_both_directions_are_open() -> None:
    world = world_of("a", "b")
    cut(world, *BOTH)
    world.nodes["a"].send("b", "lost")
    cut(world, ("a", "b"), partitioned=False)
    world.run_until(1_000)
    assert downs(world, "a") == []
    cut(world, ("b", "a"), partitioned=False)
    world.run_until(2_000)
    assert downs(world, "a") == [(1_000, ("down", "b"))]


def test_the_end_of_a_process_behind_a_cut_link_is_seen_when_it_heals() -> None:
    world = world_of("a", "b")
    world.nodes["a"].send("b", "hello")
    world.run_due()
    cut(world, *BOTH)
    world.crash("b")
    world.start_node("b")
    world.run_until(1_000)
    assert downs(world, "a") == []
    cut(world, *BOTH, partitioned=False)
    world.run_until(2_000)
    assert downs(world, "a") == [(1_000, ("down", "b"))]


def test_after_a_dropped_message_nothing_passes_until_the_connection_breaks() -> None:
    world = world_of("a", "b")
    world.change_link("a", "b", drop=1.0)
    world.nodes["a"].send("b", "dropped")
    world.change_link("a", "b", drop=0.0)
    world.nodes["a"].send("b", "behind the gap")
    world.nodes["b"].send("a", "the way back works")
    world.run_until(BREAK_US - 1)
    assert len(seen(world, "b")) == 1 and len(seen(world, "a")) == 2
    world.run_until(BREAK_US)
    world.nodes["a"].send("b", "on a new connection")
    world.run_until(BREAK_US + 1)
    assert [what for _, what in seen(world, "b")[1:]] == [("down", "a"), ("a", "on a new connection")]
    assert downs(world, "a") == [(BREAK_US, ("down", "b"))]


def test_one_chosen_message_is_lost_and_nothing_else() -> None:
    world = world_of("a", "b")
    world.network.link("a", "b").lose_next(6)
    calls = [Call(5), Call(6), Call(6)]
    for call in calls:
        world.nodes["a"].send("b", call)
    world.run_until(BREAK_US * 2)
    assert [what[1] for _, what in seen(world, "b")[1:]] == [calls[0], calls[2]]
    assert not world.network.link("a", "b").changed


def test_a_link_that_reorders_lets_messages_be_overtaken_and_one_that_duplicates_brings_two() -> None:
    world = world_of("a", "b")
    world.change_link("a", "b", reorder=0.5)
    for number in range(50):
        world.nodes["a"].send("b", number)
    world.run_until(10_000_000)
    arrived = [what[1] for _, what in seen(world, "b")[1:]]
    assert arrived != list(range(50)) and sorted(arrived) == list(range(50))
    world.change_link("a", "b", reorder=0.0, duplicate=1.0)
    world.nodes["a"].send("b", "twice")
    world.run_until(20_000_000)
    assert [what[1] for _, what in seen(world, "b")[-2:]] == ["twice", "twice"]


def test_nothing_overtakes_what_was_sent_before_a_delay_ended() -> None:
    world = world_of("a", "b")
    world.change_link("a", "b", delay_us=500)
    world.nodes["a"].send("b", 1)
    world.run_until(100)
    world.change_link("a", "b")
    world.nodes["a"].send("b", 2)
    world.run_until(500)
    world.nodes["a"].send("b", 3)
    world.run_until(1_000)
    world.nodes["a"].send("b", 4)
    world.run_due()
    assert seen(world, "b")[1:] == [(500, ("a", 1)), (500, ("a", 2)), (500, ("a", 3)), (1_000, ("a", 4))]
    assert world.network.link("a", "b").direct and not world.network.link("a", "b").changed
