"""Outside clients: what Spark finds in a journal is what the receipt finds, and what one counts oneself."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson
import pytest

from lab.analytics.agreement import outside_disagreements
from lab.analytics.outside import FIGURES, Outside
from lab.analytics.tables import Tables
from lab.checkers.receipt import receipt_of
from lab.checkers.lineage import Lineage
from lab.checkers.receipt_outside import KeptOutside, outside

TP: dict[str, Any] = {"topic": "t", "partition": 0}
Rows = list[list[Any]]


def row(seq: int, node: int, code: str, **params: Any) -> list[Any]:
    return [seq, seq * 1000, f"broker-{node}", code, 0, params]


def produce(seq: int, node: int, offset: int, error: str | None = "NONE", source: str = "17", crc: int | None = None) -> Rows:
    """A request with one batch, and its answer one call later."""
    asked = {"api": "Produce", "correlation": seq}
    batch = {"base_offset": offset, "last_offset": offset + 1, "bytes": 80, "crc": seq if crc is None else crc}
    rows = [row(seq, node, "request_received", **asked, source=source, client_id="one"),
            row(seq, node, "log_appended", **TP, **batch, role="leader")]
    return rows if error is None else [*rows, row(seq + 1, node, "response_sent", **asked, to=source, error=error)]


def sent(seq: int, node: int, first: int, last: int) -> list[Any]:
    """An answer with these records leaves for a consumer outside."""
    return row(seq, node, "records_sent", **TP, base_offset=first, last_offset=last, to="18")


def leads(seq: int, node: int, *followers: int, leo: int = 0) -> Rows:
    return [row(seq, node, "became_leader", **TP, leader_epoch=seq, leo=leo),
            *(row(seq, one, "became_follower", **TP, leader=node, leader_epoch=seq, leo=leo) for one in followers)]


def cut(seq: int, node: int, after: int, before: int = 4) -> list[Any]:
    return row(seq, node, "truncated", **TP, before=before, after=after)


def polled(seq: int, first: int, count: int) -> dict[str, Any]:
    """A consumer of the lab reads what it cannot explain."""
    runs = [[first + step, None, "strange", 1] for step in range(count)]
    return {"seq": seq, "t": seq * 1000, "kind": "ok", "op": "poll", "process": "checker", **TP, "runs": runs}


def disks(*ends: int, epochs: tuple[int, ...] = (1, 0)) -> list[dict[str, Any]]:
    """So many copies are promised, with these ends."""
    brokers = {str(at): {"start": 0, "end": end, "epochs": [[*epochs]], "damaged": []} for at, end in enumerate(ends, 1)}
    return [{**TP, "promised": len(ends), "brokers": brokers}]


FIRST = [*leads(1, 1, 2, 3), *produce(10, 1, 0), *produce(20, 1, 2)]
AGAIN = [*leads(1, 1, 2), *produce(10, 1, 0, None, crc=7), *produce(20, 1, 2, source="18", crc=7)]
JOURNALS: dict[str, tuple[Rows, tuple[int, ...], list[int]]] = {
    "nobody": (leads(1, 1, 2), (), []),
    "the next leader has one of two": ([*FIRST, *leads(90, 2, 3, leo=2)], (2, 4, 2, 4, 1, 2, 2, 0, 0, 0), [2]),
    "the same leader has both": (FIRST, (2, 4, 2, 4, 0, 0, 4, 0, 0, 0), []),
    "a bad answer, none, and the lab's own client": (
        [*leads(1, 1, 2), *produce(10, 1, 0, "NOT_ENOUGH_REPLICAS_AFTER_APPEND"), *produce(20, 1, 2, None),
         *produce(30, 1, 4, source="producer-1"), *leads(90, 2)], (2, 4, 0, 0, 0, 0, 0, 0, 0, 0), []),
    "an offset that was given out twice": (
        [*FIRST, *leads(90, 2, 1, leo=2), cut(91, 1, 2), *produce(95, 2, 2), *leads(99, 1, 2, leo=4)],
        (3, 6, 3, 6, 1, 2, 4, 0, 0, 0), [2]),
    "a copy of a copy of a copy": (
        [*FIRST, *leads(40, 2, 1, 3, leo=2), cut(41, 1, 2), *leads(50, 3, 1, 2, leo=2), *leads(60, 1, 2, leo=2)],
        (2, 4, 2, 4, 1, 2, 2, 0, 0, 0), [2]),
    "a copy of something else at the same offset": (
        [*FIRST, *leads(40, 2, 1, 3, leo=2), *produce(42, 2, 2, source="producer-1"), *leads(50, 3, leo=4)],
        (2, 4, 2, 4, 1, 2, 2, 0, 0, 0), [2]),
    "what was not on the disk after a restart": (
        [*FIRST, row(30, 1, "log_loaded", **TP, start=0, end=2), *leads(40, 1, leo=2)],
        (2, 4, 2, 4, 1, 2, 2, 0, 0, 0), [2]),
    "what went with its topic": (
        [*FIRST, row(30, 1, "topic_deleted", topic="t"), *leads(40, 1), *produce(50, 1, 0)],
        (1, 2, 1, 2, 0, 0, 2, 0, 0, 0), []),
    "what left for a consumer outside is read": ([*FIRST, sent(30, 1, 0, 1)], (2, 4, 2, 4, 0, 0, 2, 0, 0, 0), []),
    "what a consumer of the lab polled is read": (FIRST, (2, 4, 2, 4, 0, 0, 0, 0, 0, 0), []),
    "what was read at an offset is not what is there now": (
        [*FIRST, sent(30, 1, 0, 3), *leads(90, 2, 1, leo=2), cut(91, 1, 2), *produce(95, 2, 2)],
        (3, 6, 3, 6, 1, 2, 2, 0, 0, 0), [2]),
    "one of two disks has it": (FIRST, (2, 4, 2, 4, 0, 0, 4, 2, 0, 0), []),
    "sent again over another connection": (AGAIN, (2, 4, 1, 2, 0, 0, 2, 0, 2, 0), []),
    "the same bytes over one connection that was answered": (
        [*leads(1, 1, 2), *produce(10, 1, 0, crc=7), *produce(20, 1, 2, crc=7)], (2, 4, 2, 4, 0, 0, 4, 0, 0, 0), []),
    "sent again, and the first one is gone": (
        [*leads(1, 1, 2), *produce(10, 1, 0, None, crc=7), *leads(15, 2, 1), *produce(20, 2, 0, source="18", crc=7)],
        (2, 4, 1, 2, 0, 0, 2, 0, 0, 0), []),
    "deleted before anybody read it": (
        [*FIRST, sent(25, 1, 0, 1), row(30, 1, "log_start_moved", **TP, offset=4, reason="retention")],
        (2, 4, 2, 4, 0, 0, 0, 0, 0, 2), []),
}  # fmt: skip
POLLS = {"what a consumer of the lab polled is read": [polled(30, 0, 3), polled(31, 3, 1)]}
DISKS = {"one of two disks has it": disks(4, 2)}


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Each journal as the directory of a run; and one that was summed up."""
    directory = tmp_path_factory.mktemp("outside")
    summed = [*FIRST, [99, 99_000, "world", "summed_up", 0, {"counts": {"log_appended": 7}, "second": 0}]]
    for name, rows in {**{name: rows for name, (rows, _, _) in JOURNALS.items()}, "summed up": summed}.items():
        run = directory / name
        run.mkdir()
        facts = {"format": 1, "name": name, "kind": "live"} | ({"copies": DISKS[name]} if name in DISKS else {})
        (run / "run.json").write_bytes(orjson.dumps(facts))
        (run / "journal.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in rows))
        (run / "operations.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in POLLS.get(name, ())))
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


def kept(rows: Rows, polls: Iterable[dict[str, Any]], copies: list[dict[str, Any]] | None) -> dict[str, Any]:
    """The same, kept as it happened."""
    lineage = Lineage()
    found = KeptOutside(lineage)
    for one in rows:
        lineage.take(one)
    for one in rows:
        found.take(orjson.dumps(one) + b"\n")
    for poll in polls:
        found.operation(poll)
    told = found.told(copies)
    assert told is not None
    return told


@pytest.mark.parametrize("name", JOURNALS)
def test_figures_of_outside_clients_are_those_counted_by_hand(answers, name):
    rows, wanted, lost = JOURNALS[name]
    told = answers[0].get(name)
    found = () if told is None else tuple(told[figure] or 0 for figure in FIGURES)
    assert told is None or (told["at_risk_records"] is None) == (name not in DISKS)
    assert found == wanted
    assert answers[1].get(name, []) == lost
    copies = DISKS.get(name)
    for receipt in (outside(rows, POLLS.get(name, ()), copies), kept(rows, POLLS.get(name, ()), copies)):
        assert tuple(receipt[figure] or 0 for figure in FIGURES) == (wanted or (0,) * len(FIGURES))
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
