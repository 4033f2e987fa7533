"""One scenario in both generations, laid side by side: who decided, led and believed what, on one clock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.shared_runs import run_once

from broker_core.kernel import events
from lab.experiments.beside import Looks, NotBeside, _figures, _told, beside


def ran(name: str, generation: str, variant: str | None = None) -> Path:
    return run_once(name, variant, generation=generation).directory


@pytest.fixture(scope="module")
def failover() -> dict[str, Any]:
    pair = [ran("failover-with-1000-partitions", one, "ten") for one in ("kraft", "zookeeper")]
    return beside(*pair)


def test_spans_of_controller_and_leader_cover_the_whole_time_without_a_gap(failover: dict[str, Any]) -> None:
    assert [run["generation"] for run in failover["runs"]] == ["zookeeper", "kraft"]
    for run in failover["runs"]:
        for spans in (run["controller"], run["leader"]):
            assert (spans[0][0], spans[-1][1]) == (0, failover["until_us"])
            assert all(one[1] == other[0] and one[2] != other[2] for one, other in zip(spans, spans[1:], strict=False))
            assert [who for _, _, who in spans].count(None) == 1, "nobody, once, between two"


def test_the_time_without_a_leader_is_that_of_waiting_deciding_and_reading(failover: dict[str, Any]) -> None:
    tree, log = (run["figures"] for run in failover["runs"])
    assert (tree["read_partitions"], log["read_partitions"], log["read_us"]) == (11, None, None)
    assert 0 < tree["read_us"] < tree["leader_us"] - tree["controller_us"]
    for figures in (tree, log):
        assert figures["controller_us"] < figures["leader_us"] <= figures["outage_us"] + 10_000
        assert figures["control_requests"] is None, "its record level keeps no messages"


def test_beliefs_hold_every_controller_broker_and_client_and_say_who_is_behind(failover: dict[str, Any]) -> None:
    tree, log = (run["beliefs"] for run in failover["runs"])
    assert {row["who"] for row in tree[0]["rows"]} == {"tree", "controller", "cache", "replica", "client"}
    last = log[-1]["rows"]
    assert {row["who"] for row in last} == {"log", "controller", "standby", "cache", "replica", "client"}
    assert {row["broker"] for row in last if row["who"] in ("controller", "standby")} < {101, 102, 103}
    behind = [row["behind"] for one in log for row in one["rows"] if row["who"] == "cache"]
    assert max(behind) > 0, "brokers follow the log, and are now and then behind it"
    assert all(row["behind"] is None for one in tree for row in one["rows"])


def test_every_event_that_one_generation_alone_has_is_named(failover: dict[str, Any]) -> None:
    for run, other in zip(failover["runs"], reversed(failover["runs"]), strict=True):
        codes = {row[2] for row in run["events"]}
        assert codes & set(run["only"][run["generation"]])
        assert not codes & set(run["only"][other["generation"]])


def test_two_of_one_generation_or_of_two_lessons_are_refused() -> None:
    one = ran("two-promises", "kraft")
    with pytest.raises(NotBeside) as same:
        beside(one, one)
    assert same.value.problem["code"] == "same_generation"
    with pytest.raises(NotBeside) as other:
        beside(one, ran("acks-1", "zookeeper"))
    assert other.value.problem["code"] == "other_scenario"


def test_a_controller_that_was_elected_before_the_clients_began_has_no_time_of_reading() -> None:
    def row(at_us: int, code: events.EventCode, **params: Any) -> list[Any]:
        return [at_us, at_us, "broker-1", code.name, None, params]

    loaded, again = row(10, events.CONTROLLER_LOADED, partitions=3), row(20, events.CONTROLLER_ELECTED)
    found = _figures([loaded, again], Looks(), True)
    assert (found["read_us"], found["read_partitions"], found["controller_elections"]) == (None, 3, 1)
    found = _figures([row(4, events.CONTROLLER_ELECTED), loaded, again], Looks(), True)
    assert found["read_us"] == 6


def test_records_that_change_nothing_are_counted_and_not_told() -> None:
    told = _told(ran("two-promises", "kraft"))
    written = [row[5] for row in told["events"] if row[2] == events.METADATA_APPENDED.name]
    assert 0 < sum(one["last_offset"] - one["base_offset"] + 1 for one in written) < told["figures"]["metadata_records"] / 2
    assert all(one["role"] == "leader" for one in written)
