"""The wheel against a sorted list."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.purgatory.timing_wheel import TimerTask, WheelTimer


class _Machine:
    def start(self) -> None: ...

    def receive(self, source: str, message: object) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


class _Task(TimerTask):
    __slots__ = ("name", "fired", "world", "others", "timer")

    def __init__(self, name: int, fired: list[tuple[int, int]], world: World) -> None:
        super().__init__()
        self.name, self.fired, self.world = name, fired, world
        self.others: list[_Task] = []
        self.timer: WheelTimer | None = None

    def expire(self) -> None:
        self.fired.append((self.world.now_us, self.name))
        for other in self.others:
            assert self.timer is not None
            self.timer.cancel(other)


def _world() -> tuple[World, WheelTimer]:
    world = World(seed=1)
    node = world.add_node("broker-1", MemoryStorage(), lambda node: _Machine())
    world.start_node("broker-1")
    world.run_until(0)
    return world, WheelTimer(node)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(0, 10_000_000)),
        st.tuples(st.just("add"), st.integers(0, 50)),
        st.tuples(st.just("cancel"), st.integers(0, 60)),
        st.tuples(st.just("run"), st.integers(0, 3_000_000)),
        st.tuples(st.just("run"), st.integers(0, 9_000_000_000)),
    ),
    max_size=60,
)


@settings(max_examples=150, deadline=None)
@given(STEPS)
def test_every_task_fires_once_in_the_millisecond_of_its_deadline_and_cancelled_ones_never(steps):
    world, timer = _world()
    fired: list[tuple[int, int]] = []
    tasks: list[_Task] = []
    model: dict[int, int] = {}
    expected: list[tuple[int, int]] = []
    for verb, number in steps:
        if verb == "add":
            task = _Task(len(tasks), fired, world)
            tasks.append(task)
            timer.add(task, number)
            due_ms = (world.now_us + 999) // 1000 + number
            model[task.name] = due_ms * 1000 if number else world.now_us
        elif verb == "cancel" and number < len(tasks):
            timer.cancel(tasks[number])
            model.pop(number, None)
        elif verb == "run":
            until = world.now_us + number
            world.run_until(until)
            due = sorted((at, name) for name, at in model.items() if at <= until)
            expected += due
            for _, name in due:
                del model[name]
    assert sorted(fired) == sorted(expected)
    assert [at for at, _ in fired] == sorted(at for at, _ in fired)
    assert timer.size == len(model)


def test_an_empty_wheel_schedules_nothing():
    world, timer = _world()
    assert world.next_time_us() is None
    task = _Task(1, [], world)
    timer.add(task, 500)
    world.run_until(10_000_000)
    assert world.next_time_us() is None
    assert task.fired == [(500_000, 1)]


def test_a_timeout_of_thirty_seconds_costs_a_handful_of_events_not_one_a_tick():
    world, timer = _world()
    timer.add(_Task(1, [], world), 30_000)
    before = world.executed
    world.run_until(31_000_000)
    assert world.executed - before <= 4


def test_ten_thousand_cancelled_timeouts_leave_one_timer():
    world, timer = _world()
    for number in range(10_000):
        task = _Task(number, [], world)
        timer.add(task, 30_000)
        timer.cancel(task)
    before = world.executed
    world.run_until(60_000_000)
    assert world.executed - before <= 1
    assert timer.size == 0


def test_a_task_may_cancel_another_that_expires_with_it():
    world, timer = _world()
    fired: list[tuple[int, int]] = []
    first, second = _Task(1, fired, world), _Task(2, fired, world)
    first.others, first.timer = [second], timer
    timer.add(first, 20)
    timer.add(second, 20)
    world.run_until(1_000_000)
    assert fired == [(20_000, 1)]
    assert timer.size == 0


def test_a_node_that_was_paused_runs_what_expired_meanwhile_in_order():
    world, timer = _world()
    fired: list[tuple[int, int]] = []
    for name, delay in ((1, 700), (2, 30), (3, 9_000)):
        timer.add(_Task(name, fired, world), delay)
    world.pause("broker-1")
    world.run_until(5_000_000)
    assert fired == []
    world.resume("broker-1")
    world.run_until(5_000_000)
    assert [name for _, name in fired] == [2, 1]
    world.run_until(20_000_000)
    assert fired[-1] == (9_000_000, 3)
