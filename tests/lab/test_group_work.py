"""What groups have made of the records, from a history of acknowledgements, polls, commits and crashes."""

from __future__ import annotations

from typing import Any

import pytest

from lab.checkers.group_work import Reader, group_work
from lab.scenarios import grammar
from lab.scenarios.grammar import ScenarioError

MS = 1000
READER = "reader"


def _sent(count: int) -> dict[str, Any]:
    return {"op": "send", "kind": "ok", "t": 0, "process": "producer-a", "topic": "orders", "partition": 0, "offset": 0,
            "values": [[0, count]]}  # fmt: skip


def _poll(at_ms: int, first: int, count: int, process: str = READER) -> dict[str, Any]:
    return {"op": "poll", "kind": "ok", "t": at_ms * MS, "process": process, "topic": "orders", "partition": 0,
            "runs": [[first, "producer-a", first, count]]}  # fmt: skip


def _commit(kind: str, at_ms: int, offset: int) -> dict[str, Any]:
    return {"op": "commit", "kind": kind, "t": at_ms * MS, "process": READER, "offsets": [["orders", 0, offset]]}


def _work(rows: list[dict[str, Any]], commit: str, crash_ms: int | None = None, until_ms: int = 9000) -> dict[str, int]:
    crashes = {} if crash_ms is None else {READER: [crash_ms * MS]}
    readers = {READER: Reader("billing", 100 * MS, commit), "other": Reader("billing", 0, commit)}
    return group_work(rows, crashes, readers, until_ms * MS)["billing"]


def test_what_was_committed_before_a_crash_and_not_dealt_with_is_missed() -> None:
    rows = [_sent(10), _poll(1000, 0, 10), _commit("invoke", 1000, 10), _commit("ok", 1050, 10)]
    assert _work(rows, "before", crash_ms=1460) == {"processed": 4, "twice": 0, "missed": 6}
    assert _work(rows, "before") == {"processed": 10, "twice": 0, "missed": 0}


def test_what_was_dealt_with_and_not_committed_before_a_crash_is_dealt_with_twice() -> None:
    rows = [_sent(10), _poll(1000, 0, 10), _poll(3000, 0, 10, "other")]
    assert _work(rows, "after", crash_ms=1460) == {"processed": 10, "twice": 4, "missed": 0}


def test_a_commit_that_is_still_under_way_keeps_the_application_waiting() -> None:
    rows = [_sent(10), _poll(1000, 0, 10), _commit("invoke", 1000, 10)]
    assert _work(rows, "before", crash_ms=2500) == {"processed": 0, "twice": 0, "missed": 0}


@pytest.mark.parametrize(("until_ms", "processed"), [(1300, 3), (3000, 10)])
def test_records_that_are_in_hand_at_the_end_are_not_missed(until_ms: int, processed: int) -> None:
    rows = [_sent(10), _poll(1000, 0, 10), _commit("ok", 1000, 10)]
    assert _work(rows, "before", until_ms=until_ms) == {"processed": processed, "twice": 0, "missed": 0}


def test_records_below_the_first_position_are_missed_once_something_is_committed() -> None:
    rows = [_sent(10), _poll(1000, 7, 3, "other")]
    assert _work(rows, "auto")["missed"] == 0
    assert _work([*rows, _commit("ok", 2000, 10)], "auto") == {"processed": 3, "twice": 0, "missed": 7}


def test_what_happens_after_the_moment_does_not_count() -> None:
    rows = [_sent(10), _poll(1000, 0, 10, "other"), _poll(8000, 0, 10, "other")]
    assert _work(rows, "auto", until_ms=7000)["twice"] == 0


def test_a_step_may_name_the_leader_of_an_internal_topic() -> None:
    steps = "steps: [{at: 1s, do: kill, leader_of: TOPIC-4}]\ntopics: [{name: orders}]\n"
    assert grammar.parse(steps.replace("TOPIC", "__consumer_offsets"), "x.yaml").steps[0].command["do"] == "kill"
    with pytest.raises(ScenarioError, match="'clicks': expected one of orders"):
        grammar.parse(steps.replace("TOPIC", "clicks"), "x.yaml")


@pytest.mark.parametrize(("key", "wrong"), [
    ("group.shipping.missed", "'shipping': expected one of billing"), ("group.missed", "expected group.NAME.<figure>"),
    ("group.billing.lost", "'lost': expected one of processed, twice, missed"),
])  # fmt: skip
def test_an_expectation_of_a_group_names_one_that_there_is(key: str, wrong: str) -> None:
    text = "topics: [{name: orders}]\nclients: [{name: reader, kind: consumer, topic: orders, settings: {group.id: billing}}]\n"
    assert grammar.parse(f"{text}expect: {{group.billing.missed: 0}}", "x.yaml").expect
    with pytest.raises(ScenarioError, match=wrong):
        grammar.parse(f"{text}expect: {{{key}: 0}}", "x.yaml")
