"""Where a lesson's run stands still: what it declares, else what its journal tells."""

from __future__ import annotations

from typing import Any

from lab.scenarios.moments import Moment
from lab.scenarios.stops import MOST, Stop, stops_of

LOADED_US = 10_000_000


def row(seq: int, s: float, code: str, **params: Any) -> list[Any]:
    """A row of a journal, of broker 1."""
    return [seq, round(s * 1e6), "broker-1", code, 0, params]


ROWS = [
    row(10, 1.0, "leader_elected", topic="orders", partition=0),
    row(20, 2.0, "command", command={"do": "delay_link"}),
    row(21, 2.01, "command", command={"do": "delay_link"}),
    row(30, 3.0, "command", command={"do": "kill", "broker": 1}),
    row(31, 3.0, "process_ended", how="crash"),
    row(40, 5.0, "leader_elected", topic="__consumer_offsets", partition=3),
    row(41, 5.1, "leader_elected", topic="orders", partition=0),
    row(42, 5.9, "leader_elected", topic="orders", partition=1),
    row(45, 6.0, "command", command={"do": "stop_all_faults"}),
    row(50, 10.0, "isr_expanded", topic="orders", partition=0),
    row(51, 10.2, "truncated", topic="orders", partition=0),
]
STEPS = [{"seq": seq, "t_us": 0} for seq in (20, 21, 30, 45)]


def codes(*found: Any) -> list[tuple[int, str]]:
    return [(stop["seq"], stop["event"]) for stop in found]


def test_without_stops_of_its_own_a_lesson_stops_at_its_moment_its_steps_and_what_turns_round() -> None:
    found = stops_of([], Moment("process_ended"), ROWS, STEPS, LOADED_US)
    assert codes(*found) == [(20, "command"), (31, "process_ended"), (41, "leader_elected"), (51, "truncated")]
    assert all("say" not in stop for stop in found) and found[0]["t_us"] == 2_000_000


def test_there_are_never_more_than_can_be_remembered() -> None:
    steps = [row(100 + n, 1 + n, "command", command={"do": "kill", "broker": n}) for n in range(9)]
    at = [{"seq": one[0], "t_us": one[1]} for one in steps]
    assert len(stops_of([], None, steps, at, 20_000_000)) == MOST


def test_declared_stops_come_in_the_order_of_the_run_and_one_that_is_not_there_is_left_out() -> None:
    say = {"en": "It dies.", "ko": "죽는다."}
    declared = [Stop(Moment("leader_elected", {"topic": "orders"}, 1)), Stop(Moment("process_ended"), say), Stop(Moment("isr_shrunk"))]
    found = stops_of(declared, None, ROWS, STEPS, LOADED_US)
    assert codes(*found) == [(31, "process_ended"), (41, "leader_elected")] and found[0]["say"] == say
