"""Operations complete once, by whoever is first."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.purgatory.operations import DelayedOperation, DelayedOperationPurgatory


class _Machine:
    def start(self) -> None: ...

    def receive(self, source: str, message: object) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


class _Waits(DelayedOperation):
    """Complete when every key has reached what it needs."""

    __slots__ = ("needs", "reached", "completions", "expirations", "tries")

    def __init__(self, needs: dict[str, int], reached: dict[str, int]) -> None:
        super().__init__()
        self.needs, self.reached = needs, reached
        self.completions = self.expirations = self.tries = 0

    def waits_for(self, key) -> bool:
        return self.reached.get(key, 0) < self.needs[key]

    def try_complete(self) -> bool:
        self.tries += 1
        return not any(self.waits_for(key) for key in self.needs) and self.force_complete()

    def on_complete(self) -> None:
        self.completions += 1

    def on_expiration(self) -> None:
        self.expirations += 1


def _purgatory(in_order: bool = False) -> tuple[World, DelayedOperationPurgatory]:
    world = World(seed=1)
    node = world.add_node("broker-1", MemoryStorage(), lambda node: _Machine())
    world.start_node("broker-1")
    world.run_until(0)
    return world, DelayedOperationPurgatory(node, "Test", in_order)


def test_an_operation_that_is_complete_at_once_is_never_parked():
    _, purgatory = _purgatory()
    operation = _Waits({"a": 1}, {"a": 1})
    assert purgatory.try_complete_else_watch(operation, ["a"], 100)
    assert (operation.completions, purgatory.delayed, purgatory.watched) == (1, 0, 0)


def test_a_check_of_a_watched_key_completes_it_and_clears_every_list():
    world, purgatory = _purgatory()
    reached: dict[str, int] = {}
    operation = _Waits({"a": 1, "b": 1}, reached)
    purgatory.try_complete_else_watch(operation, ["a", "b"], 100)
    assert (purgatory.delayed, purgatory.watched) == (1, 2)
    reached["a"] = 1
    assert purgatory.check_and_complete("a") == 0
    reached["b"] = 1
    assert purgatory.check_and_complete("b") == 1
    world.run_until(1_000_000)
    assert (operation.completions, operation.expirations) == (1, 0)
    assert (purgatory.delayed, purgatory.watched) == (0, 0)


def test_on_expiration_runs_only_when_the_timer_was_first():
    world, purgatory = _purgatory()
    operation = _Waits({"a": 1}, {})
    purgatory.try_complete_else_watch(operation, ["a"], 100)
    world.run_until(99_999)
    assert operation.completions == 0
    world.run_until(100_000)
    assert (operation.completions, operation.expirations, purgatory.watched) == (1, 1, 0)


def test_a_thousand_changes_of_an_instant_make_it_look_once():
    world, purgatory = _purgatory()
    operation = _Waits({"a": 1}, {})
    purgatory.try_complete_else_watch(operation, ["a"], 100)
    for _ in range(1000):
        purgatory.check_soon("a")
    world.run_until(0)
    assert operation.tries == 2


def test_in_order_a_check_stops_at_the_first_that_still_waits_for_the_key():
    _, purgatory = _purgatory(in_order=True)
    reached = {"a": 0}
    operations = [_Waits({"a": need}, reached) for need in range(1, 101)]
    for operation in operations:
        purgatory.try_complete_else_watch(operation, ["a"], 100)
    reached["a"] = 2
    assert purgatory.check_and_complete("a") == 2
    assert operations[2].tries == 2
    assert operations[3].tries == 1


def test_in_order_one_that_waits_elsewhere_does_not_hold_back_those_behind_it():
    _, purgatory = _purgatory(in_order=True)
    reached: dict[str, int] = {}
    both, single = _Waits({"a": 1, "b": 1}, reached), _Waits({"a": 2}, reached)
    purgatory.try_complete_else_watch(both, ["a", "b"], 100)
    purgatory.try_complete_else_watch(single, ["a"], 100)
    reached["a"] = 2
    assert purgatory.check_and_complete("a") == 1
    assert (both.completions, single.completions) == (0, 1)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("park"), st.sampled_from(["a", "b", "ab"]), st.integers(0, 300)),
            st.tuples(st.just("reach"), st.sampled_from(["a", "b"]), st.integers(0, 3)),
            st.tuples(st.just("run"), st.just(""), st.integers(0, 200)),
        ),
        max_size=40,
    ),
    st.booleans(),
)
def test_every_operation_completes_exactly_once(steps, in_order):
    world, purgatory = _purgatory(in_order)
    reached = {"a": 0, "b": 0}
    operations = []
    for verb, keys, number in steps:
        if verb == "park":
            operation = _Waits({key: reached[key] + 1 for key in keys}, reached)
            operations.append(operation)
            purgatory.try_complete_else_watch(operation, list(keys), number)
        elif verb == "reach":
            reached[keys] += number
            purgatory.check_soon(keys)
        else:
            world.run_until(world.now_us + number * 1000)
    world.run_until(world.now_us + 1_000_000)
    assert all(operation.completions == 1 for operation in operations)
    assert (purgatory.delayed, purgatory.watched) == (0, 0)
