"""Outside clients: what Spark finds in a journal is what the receipt finds, and what one counts oneself."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from lab.analytics.agreement import outside_disagreements
from lab.analytics.outside import FIGURES, Outside
from lab.analytics.tables import Tables
from lab.checkers.receipt import receipt_of
from lab.checkers.receipt_outside import outside

TP: dict[str, Any] = {"topic": "t", "partition": 0}
Rows = list[list[Any]]


def row(seq: int, node: int, code: str, **params: Any) -> list[Any]:
    return [seq, seq * 1000, f"broker-{node}", code, 0, params]


def produce(seq: int, node: int, offset: int, error: str | None = "NONE", source: str = "17", count: int = 2) -> Rows:
    """A request with one batch, and its answer one call later."""
    asked = {"api": "Produce", "correlation": seq}
    rows = [row(seq, node, "request_received", **asked, source=source),
            row(seq, node, "log_appended", **TP, base_offset=offset, last_offset=offset + count - 1, role="leader")]
    return rows if error is None else [*rows, row(seq + 1, node, "response_sent", **asked, to=source, error=error)]


def copy(seq: int, node: int, first: int, last: int) -> list[Any]:
    return row(seq, node, "log_appended", **TP, base_offset=first, last_offset=last, role="follower")


def leads(seq: int, node: int, *followers: int) -> Rows:
    return [row(seq, node, "became_leader", **TP, leader_epoch=seq),
            *(row(seq, one, "became_follower", **TP, leader=node, leader_epoch=seq) for one in followers)]


def cut(seq: int, node: int, after: int) -> list[Any]:
    return row(seq, node, "truncated", **TP, before=99, after=after)


FIRST = [*leads(1, 1, 2, 3), *produce(10, 1, 0), copy(12, 2, 0, 1), *produce(20, 1, 2)]
JOURNALS: dict[str, tuple[Rows, tuple[int, ...], list[int]]] = {
    "nobody": (leads(1, 1, 2), (), []),
    "the next leader has one of two": ([*FIRST, *leads(90, 2, 3)], (2, 4, 2, 4, 1, 2), [2]),
    "the same leader has both": (FIRST, (2, 4, 2, 4, 0, 0), []),
    "a bad answer, none, and the lab's own client": (
        [*leads(1, 1, 2), *produce(10, 1, 0, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"), *produce(20, 1, 2, None),
         *produce(30, 1, 4, source="producer-1"), *leads(90, 2)], (2, 4, 0, 0, 0, 0), []),
    "an offset that was given out twice": (
        [*FIRST, *leads(90, 2, 1), cut(91, 1, 2), *produce(95, 2, 2), copy(97, 1, 2, 3), *leads(99, 1, 2)],
        (3, 6, 3, 6, 1, 2), [2]),
    "a copy of a copy of a copy": (
        [*FIRST, *leads(40, 2, 1, 3), copy(41, 3, 0, 1), *leads(50, 3, 1, 2), cut(51, 1, 0), copy(52, 1, 0, 1),
         *leads(60, 1, 2)], (2, 4, 2, 4, 1, 2), [2]),
    "a copy of something else at the same offset": (
        [*FIRST, *leads(40, 2, 1, 3), *produce(42, 2, 2, source="producer-1"), copy(43, 3, 0, 3), *leads(50, 3)],
        (2, 4, 2, 4, 1, 2), [2]),
    "what was not on the disk after a restart": (
        [*FIRST, row(30, 1, "log_loaded", **TP, start=0, end=1), *leads(40, 1)], (2, 4, 2, 4, 1, 2), [2]),
    "what went with its topic": (
        [*FIRST, row(30, 1, "topic_deleted", topic="t"), *produce(40, 1, 0), *leads(50, 1)], (1, 2, 1, 2, 0, 0), []),
}  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Each journal as the directory of a run; and one that was summed up."""
    directory = tmp_path_factory.mktemp("outside")
    summed = [*FIRST, [99, 99_000, "world", "summed_up", 0, {"counts": {"log_appended": 7}, "second": 0}]]
    for name, rows in {**{name: rows for name, (rows, _, _) in JOURNALS.items()}, "summed up": summed}.items():
        run = directory / name
        run.mkdir()
        (run / "run.json").write_bytes(orjson.dumps({"format": 1, "name": name, "kind": "live"}))
        (run / "journal.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in rows))
        (run / "operations.jsonl").write_bytes(b"")
    return directory


@pytest.fixture(scope="module")
def answers(spark, home):
    """(figures by run, offsets of lost batches by run, disagreements with the receipts)."""
    receipts = {run.name: receipt_of(run) for run in home.iterdir()}
    with Tables(spark, [home]) as tables:
        seen = Outside(tables)
        figures = {one["run"]: one for one in seen.figures.collect()}
        lost: dict[str, list[int]] = {}
        for one in seen.lost.collect():
            lost.setdefault(one["run"], []).append(one["offset"])
        agreed = outside_disagreements(seen, receipts)
        bad = {**receipts, "summed up": {"outside": {**receipts["summed up"]["outside"], "lost": 5, "complete": True}}}
        return figures, lost, agreed, outside_disagreements(seen, bad)


@pytest.mark.parametrize("name", JOURNALS)
def test_figures_of_outside_clients_are_those_counted_by_hand(answers, name):
    rows, wanted, lost = JOURNALS[name]
    told = answers[0].get(name)
    found = () if told is None else tuple(told[figure] for figure in FIGURES)
    assert found == wanted
    assert answers[1].get(name, []) == lost
    receipt = outside(rows)
    assert tuple(receipt[figure] for figure in FIGURES) == (wanted or (0,) * len(FIGURES))
    assert [place["offset"] for place in receipt["places"]] == lost


def test_a_journal_that_was_summed_up_is_not_complete(answers):
    assert not answers[0]["summed up"]["complete"]
    assert answers[0]["the same leader has both"]["complete"]


def test_receipt_and_spark_agree_on_outside_clients_and_say_where_they_do_not(answers):
    assert answers[2] == []
    assert answers[3] == [
        "run summed up: outside: lost: the receipt says 5, Spark says 0",
        "run summed up: outside: complete: the receipt says True, Spark says False",
    ]
