"""One message of those under way arrives now, and nothing else happens."""

from __future__ import annotations

import pickle

import pytest
from broker_core.kernel.errors import CommandError
from broker_core.kernel.in_flight import deliver_next, drop_next, under_way
from broker_core.kernel.world import World
from tests.kernel.test_world import seen, world_of


def delayed() -> World:
    world = world_of("a", "b", "c")
    world.network.link("a", "b").change(delay_us=400)
    for number in range(3):
        world.nodes["a"].send("b", number)
    world.nodes["c"].send("b", "at once")
    return world


def test_what_is_under_way_is_listed_by_its_arrival() -> None:
    found = under_way(delayed())
    assert [(one.source, one.dest, one.message, one.at_us) for one in found] == [
        ("c", "b", "at once", 0), ("a", "b", 0, 400), ("a", "b", 1, 400), ("a", "b", 2, 400),
    ]  # fmt: skip
    assert [one.message for one in under_way(delayed(), "a")] == [0, 1, 2]
    assert under_way(delayed(), dest="c") == []


def test_the_first_of_a_link_arrives_before_everything_else_and_alone() -> None:
    world = delayed()
    before = world.executed
    assert deliver_next(world, "a", "b").message == 0
    assert world.executed == before + 1
    assert seen(world, "b")[1:] == [(0, ("a", 0))]
    world.run_until(1000)
    assert seen(world, "b")[1:] == [(0, ("a", 0)), (0, ("c", "at once")), (400, ("a", 1)), (400, ("a", 2))]


def test_the_end_of_a_connection_comes_behind_what_was_sent_before_it() -> None:
    world = delayed()
    world.crash("a")
    assert [one.message for one in under_way(world, "a", "b")] == [0, 1, 2, None]
    for _ in range(4):
        deliver_next(world, "a", "b")
    assert seen(world, "b")[-1] == (0, ("down", "a"))


def test_nothing_under_way_and_a_process_that_does_not_hear_are_refused() -> None:
    world = delayed()
    with pytest.raises(CommandError, match="nothing is under way from b to c"):
        deliver_next(world, "b", "c")
    world.pause("b")
    with pytest.raises(CommandError, match="b is paused"):
        deliver_next(world, "a", "b")
    assert len(under_way(world)) == 4


def test_messages_to_an_earlier_start_of_a_process_are_not_under_way() -> None:
    world = delayed()
    world.crash("b")
    world.start_node("b")
    assert under_way(world, "a", "b") == []


def test_a_message_delivered_early_is_gone_from_a_copy_of_the_world_too() -> None:
    world = delayed()
    deliver_next(world, "a", "b")
    copy = pickle.loads(pickle.dumps(world))
    copy.run_until(1000)
    assert [message for _, (_, message) in seen(copy, "b")[1:]] == [0, "at once", 1, 2]


def test_a_message_that_is_dropped_never_arrives_and_what_is_behind_it_does() -> None:
    world = delayed()
    before = world.executed
    assert drop_next(world, "a", "b").message == 0
    assert world.executed == before
    dropped = [row for row in world.journal.tail if row[3] == "message_dropped"]
    assert [(row[2], row[5]["dest"], row[5]["reason"]) for row in dropped] == [("a", "b", "chosen")]
    world.crash("a")
    drop_next(world, "a", "b")
    drop_next(world, "a", "b")
    with pytest.raises(CommandError, match="the end of a connection"):
        drop_next(world, "a", "b")
    world.run_until(1000)
    assert [what for _, what in seen(world, "b")[1:]] == [("c", "at once"), ("down", "a")]
