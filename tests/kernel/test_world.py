"""The world runs calls by (time, sequence), and nothing of an ended process runs."""

from __future__ import annotations

import gc
import pickle
import weakref
from typing import Any

import pytest

from broker_core.kernel.errors import CommandError, KernelError
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World


class Scribe:
    """A machine that writes down what reaches it."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.seen: list[tuple[int, Any]] = []

    def note(self, what: Any) -> None:
        self.seen.append((self.node.now_us(), what))

    def start(self) -> None:
        self.note("start")

    def receive(self, source: str, message: Any) -> None:
        self.note((source, message))

    def peer_down(self, peer: str) -> None:
        self.note(("down", peer))

    def shut_down(self) -> None:
        self.note("shut down")
        self.node.exit()


def world_of(*names: str, **options: Any) -> World:
    world = World(seed=1, **options)
    for name in names:
        world.add_node(name, MemoryStorage(), Scribe)
        world.start_node(name)
    world.run_due()
    return world


def seen(world: World, name: str) -> list[tuple[int, Any]]:
    machine: Any = world.nodes[name].machine
    return machine.seen


def note(world: World, name: str) -> Any:
    machine: Any = world.nodes[name].machine
    return machine.note


def test_calls_run_by_time_and_then_by_sequence() -> None:
    world = world_of("a")
    node = world.nodes["a"]
    node.after(20, note(world, "a"), "late")
    node.after(10, note(world, "a"), "first")
    node.after(10, note(world, "a"), "second")
    node.soon(note(world, "a"), "now")
    world.run_until(100)
    assert seen(world, "a") == [(0, "start"), (0, "now"), (10, "first"), (10, "second"), (20, "late")]
    assert world.now_us == 100


def test_a_cancelled_timer_does_not_run_and_keeps_nothing() -> None:
    world = world_of("a")
    timer = world.nodes["a"].after(5, note(world, "a"), "never")
    timer.cancel()
    world.run_until(10)
    assert not timer.active and timer.args == ()
    assert seen(world, "a") == [(0, "start")]


def test_nothing_of_an_ended_process_runs_after_its_restart() -> None:
    world = world_of("a")
    world.nodes["a"].after(5, note(world, "a"), "old life")
    world.crash("a")
    world.start_node("a")
    world.run_until(10)
    assert seen(world, "a") == [(0, "start")]
    assert world.nodes["a"].incarnation == 2


def test_what_an_ended_process_had_in_memory_is_gone_long_before_its_last_call_was_due() -> None:
    world = world_of("a")
    node = world.nodes["a"]
    node.after(3_600_000_000, note(world, "a"), "in an hour")
    memory = weakref.ref(node.machine)
    world.crash("a")
    world.run_until(10)
    gc.collect()
    assert memory() is None
    executed = world.executed
    world.start_node("a")
    world.run_until(3_600_000_000)
    assert seen(world, "a") == [(10, "start")] and world.executed == executed + 2  # the start, and the call that is passed over


def test_a_paused_process_catches_up_in_its_old_order() -> None:
    world = world_of("a", "b")
    world.pause("a")
    world.nodes["b"].send("a", "one")
    world.nodes["b"].send("a", "two")
    world.run_until(50)
    assert seen(world, "a") == [(0, "start")]
    world.resume("a")
    world.run_due()
    assert seen(world, "a")[1:] == [(50, ("b", "one")), (50, ("b", "two"))]


def test_peers_see_a_crash_but_not_a_power_loss_until_the_machine_is_back() -> None:
    world = world_of("a", "b")
    world.nodes["b"].send("a", "hello")
    world.run_due()
    world.power_loss("a")
    world.nodes["b"].send("a", "lost")
    world.run_until(10)
    assert seen(world, "b") == [(0, "start")]
    world.start_node("a")
    world.run_until(20)
    assert seen(world, "b")[1:] == [(10, ("down", "a"))]
    world.crash("a")
    world.run_until(30)
    assert seen(world, "b")[-1] == (20, ("down", "a"))


def test_a_message_to_a_stopped_process_is_refused() -> None:
    world = world_of("a", "b")
    world.crash("a")
    world.nodes["b"].send("a", "hello")
    world.run_due()
    assert seen(world, "b")[-1] == (0, ("down", "a"))


def test_a_link_with_random_delays_keeps_the_order_unless_it_may_reorder() -> None:
    world = world_of("a", "b")
    world.network.link("a", "b").change(delay_us=100, jitter_us=1000)
    for number in range(50):
        world.nodes["a"].send("b", number)
    world.run_until(1_000_000)
    assert [message[1] for _, message in seen(world, "b")[1:]] == list(range(50))


def test_a_partitioned_link_loses_everything_one_way() -> None:
    world = world_of("a", "b")
    world.network.link("a", "b").change(partitioned=True)
    world.nodes["a"].send("b", "lost")
    world.nodes["b"].send("a", "kept")
    world.run_until(10)
    assert seen(world, "b") == [(0, "start")]
    assert seen(world, "a")[-1] == (0, ("b", "kept"))


class Circle(Scribe):
    def start(self) -> None:
        self.node.soon(self.start)


def test_a_loop_without_delay_is_an_error_and_not_a_hang(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("broker_core.kernel.event_queue.LIVELOCK", 1000)
    world = World(seed=1)
    world.add_node("a", MemoryStorage(), Circle)
    world.start_node("a")
    with pytest.raises(KernelError, match="events at 0 us"):
        world.run_until(1)


def test_a_message_to_a_node_that_is_not_there_is_refused_until_it_has_been_added() -> None:
    world = world_of("a")
    world.nodes["a"].send("b", "hello")
    world.run_until(world.now_us + 10_000)
    assert seen(world, "a")[-1][1] == ("down", "b")
    world.add_node("b", MemoryStorage(), Scribe)
    world.start_node("b")
    world.nodes["a"].send("b", "hello again")
    world.run_until(world.now_us + 10_000)
    assert seen(world, "b")[-1][1] == ("a", "hello again")


def test_stopping_twice_is_refused_with_a_reason() -> None:
    world = world_of("a")
    world.stop("a")
    world.run_due()
    with pytest.raises(CommandError, match="a is stopped"):
        world.crash("a")


def test_a_world_that_was_pickled_goes_on_as_the_original() -> None:
    world = world_of("a", "b", link_delay_us=70)
    world.nodes["a"].send("b", "on its way")
    world.nodes["a"].after(100, note(world, "a"), "timer")
    copy = pickle.loads(pickle.dumps(world))
    for one in (world, copy):
        one.run_until(500)
    assert seen(copy, "b") == seen(world, "b") == [(0, "start"), (70, ("a", "on its way"))]
    assert seen(copy, "a") == seen(world, "a")
    assert copy.nodes["a"].random("x").random() == world.nodes["a"].random("x").random()


class Faulty(Scribe):
    """A machine with a fault."""

    def note(self, what: Any) -> None:
        if what == "bad":
            raise ValueError("a fault of ours")
        super().note(what)


@pytest.mark.faulty
@pytest.mark.parametrize("by_step", [False, True])
def test_a_call_that_fails_is_told_and_everything_else_goes_on(by_step: bool) -> None:
    world = World(seed=1)
    node = world.add_node("a-1", MemoryStorage(), Faulty)
    world.start_node("a-1")
    for delay_us, what in ((0, "one"), (0, "bad"), (0, "two"), (5, "bad"), (5, "three")):
        node.after(delay_us, node.machine.note, what)
    while by_step and world.step():
        pass
    world.run_until(10)
    assert [what for _, what in node.machine.seen if what != "start"] == ["one", "two", "three"]
    failed = [row for row in world.journal.tail if row[3] == "call_failed"]
    assert [(row[1], row[2], row[5]["place"]) for row in failed] == [(0, "a-1", f"{__name__}.note"), (5, "a-1", f"{__name__}.note")]
    assert failed[0][5]["error"] == "ValueError: a fault of ours"
