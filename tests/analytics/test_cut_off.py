"""A leader that nobody reaches: simulated worlds with cut links, and how long their partition took no writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.analytics import queries
from lab.analytics.cut_off import CutOff, Event
from lab.analytics.history import History
from lab.analytics.tables import Tables
from lab.experiments.directory import read_operations
from lab.experiments.run import run_scenario
from lab.scenarios import grammar

HEAL = {"after": "2s", "do": "stop_all_faults"}
COURSES: dict[str, list[dict[str, Any]]] = {
    "isolated": [{"at": "2s", "do": "isolate", "leader_of": "orders-0"}, {**HEAL, "after": "7s"}],
    "clients": [{"at": "2s", "do": "partition_link", "between": ["leader_of:orders-0", "producer-orders"]}, HEAL],
    "followers": [{"at": "2s", "do": "partition_link", "between": ["leader_of:orders-0", "followers_of:orders-0"]}, {**HEAL, "after": "1s"}],
    "one": [{"at": "2s", "do": "partition_link", "between": [1, 2]}, {**HEAL, "after": "1s"}],
    "controller": [{"at": "2s", "do": "partition_link", "between": ["leader_of:orders-0", "zookeeper-1"]}, {**HEAL, "after": "1s"}],
}


def world(course: str) -> grammar.Scenario:
    return grammar.from_dict({
        "scenario": course, "seed": 7, "record_level": "transitions", "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1},
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 3, "assignment": [[1, 2, 3]]}],
        "clients": [{"name": "producer-orders", "kind": "producer", "topic": "orders", "rate": 50, "size": 50, "settings": {"acks": "all"}}],
        "steps": COURSES[course], "duration": "10s",
    })


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Path:
    directory = tmp_path_factory.mktemp("cut")
    for course in COURSES:
        run_scenario(world(course), out=directory / course)
    return directory


@pytest.fixture(scope="module")
def told(spark, home) -> dict[str, list[dict[str, Any]]]:
    """The windows of a leader that was cut off, by run."""
    with Tables(spark, [home]) as tables:
        rows = [row.asDict() for row in queries.find("unavailability").function(tables, History(tables)).collect()]
    return {course: [row for row in rows if row["run"] == course and row["cause"] == "leader cut off"] for course in COURSES}


def acked_between(run: Path, from_us: int, to_us: int) -> int:
    """Answers that producers got inside a stretch of time."""
    return sum(row["op"] == "send" and row["kind"] == "ok" and from_us < row["t"] < to_us for row in read_operations(run))


@pytest.mark.parametrize(("course", "how"), [("isolated", "clients, controller, followers"), ("clients", "clients"), ("followers", "followers")])
def test_a_leader_that_is_cut_off_is_a_cause(told, home, course, how):
    (window,) = told[course]
    assert (window["leader"], window["how"]) == ("broker-1", how)
    assert 2_100_000 < window["from_us"] < 2_200_000, "from the cut on"
    answered = 50_000  # what was under way when the link was cut
    assert acked_between(home / course, window["from_us"] + answered, window["to_us"]) == 0


def test_a_leader_that_is_cut_off_from_all_is_followed_by_another(told, home):
    (window,) = told["isolated"]
    assert window["next_leader"] in ("broker-2", "broker-3") and window["seconds"] > 2, "a session has to expire"
    assert acked_between(home / "isolated", window["to_us"], window["to_us"] + 4_000_000) > 0


@pytest.mark.parametrize(("course", "seconds"), [("clients", 2.0), ("followers", 1.0)])
def test_a_link_that_heals_ends_it(told, course, seconds):
    (window,) = told[course]
    assert window["seconds"] == pytest.approx(seconds) and window["next_leader"] is None


@pytest.mark.parametrize("course", ["one", "controller"])
def test_a_leader_that_others_still_reach_is_not_cut_off(told, course):
    assert told[course] == []


def test_without_its_coordination_tree_a_leader_goes_on_answering(home):
    assert acked_between(home / "controller", 2_200_000, 3_100_000) > 20


def folded(*events: tuple[float, str, str, dict[str, Any]], producers: tuple[str, ...] = ("p",)) -> list[tuple[Any, ...]]:
    """Windows of partition orders-0 that broker-1 leads with broker-2 in the ISR."""
    place = {"topic": "orders", "partition": 0}
    start = [(0.0, "broker-3", "leader_elected", {**place, "isr": [1, 2]}), (0.1, "broker-1", "became_leader", place)]
    rows = [Event(round(seconds * 1e6), seq, node, code, place | params if "became" in code or "isr" in code else params)
            for seq, (seconds, node, code, params) in enumerate([*start, *events], 1)]
    found = CutOff({"orders": set(producers)}).windows(rows)
    return [(one.from_us / 1e6, None if one.to_us is None else one.to_us / 1e6, one.how, one.next_leader) for one in found]


def link(seconds: float, source: str, dest: str, cut: bool = True) -> tuple[float, str, str, dict[str, Any]]:
    return seconds, source, "link_changed", {"source": source, "dest": dest, "partitioned": cut}


@pytest.mark.parametrize(("events", "producers", "wanted"), [
    ([link(1, "p", "broker-1")], ("p",), [(1, None, "clients", None)]),
    ([link(1, "p", "broker-1")], ("p", "q"), []),
    ([link(1, "p", "broker-1")], ("p", "operator"), [(1, None, "clients", None)]),
    ([link(1, "p", "broker-1"), (2, "q", "process_ended", {"how": "shutdown"})], ("p", "q"), [(2, None, "clients", None)]),
    ([link(1, "broker-1", "broker-2"), (3, "broker-1", "isr_shrunk", {"isr": [1]})], ("p",), [(1, 3, "followers", None)]),
    ([link(1, "broker-1", "broker-2"), link(2, "p", "broker-1"), link(3, "p", "broker-1", False), link(4, "broker-1", "broker-2", False)], ("p",),
     [(1, 4, "clients, followers", None)]),
    ([link(1, "p", "broker-1"), (2, "broker-1", "process_paused", {}), (3, "broker-1", "process_resumed", {}), link(4, "p", "broker-1", False)], ("p",),
     [(1, 2, "clients", None), (3, 4, "clients", None)]),
    ([link(1, "p", "broker-1"), (2, "broker-2", "became_leader", {})], ("p",), [(1, 2, "clients", "broker-2")]),
    ([link(1, "p", "broker-1"), link(1, "p", "broker-1", False)], ("p",), []),
])  # fmt: skip
def test_windows_begin_and_end_with_what_is_reached(events, producers, wanted):
    assert folded(*events, producers=producers) == wanted
