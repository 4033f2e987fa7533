"""Four words, one meaning: small histories with known answers, held against every surface that says them.

Receipt, kept receipt, Spark, and the page's verdict in English and Korean judge the same five records, of which exactly
one is lost, unread, at risk or duplicated; by a producer of the lab, or by a client from outside.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.analytics.agreement import outside_disagreements
from lab.analytics.history import History
from lab.analytics.tables import Tables
from lab.checkers.kept import Kept
from lab.checkers.kept_receipt import kept_receipt
from lab.checkers.receipt import receipt_of

TP: dict[str, Any] = {"topic": "t", "partition": 0}
STATIC = Path(__file__).parents[2]
WORDS = ("lost", "unread", "at_risk", "duplicated")
VERDICTS = {"lost": "lost", "unread": "so_far", "at_risk": "at_risk", "duplicated": "duplicated"}
SCRIPT = """
import { readFileSync } from "node:fs";
import { judgement, outsideFigures, figures } from "ROOT/static/views/receipt.js";
const found = JSON.parse(readFileSync(0, "utf8"));
const said = Object.fromEntries(Object.entries(found).map(([name, one]) => [name, { ...judgement(one), mine: figures(one), theirs: outsideFigures(one) }]));
process.stdout.write(JSON.stringify(said));
"""


def row(seq: int, node: int, code: str, **params: Any) -> list[Any]:
    return [seq, seq * 1000, f"broker-{node}", code, 0, params]


def sent(seq: int, first: int, count: int, offset: int) -> dict[str, Any]:
    return {"seq": seq, "t": seq * 1000, "kind": "ok", "op": "send", "process": "p", "label": "p", **TP, "broker": "broker-1",
            "values": [[first, count]], "offset": offset}


def polled(seq: int, *runs: list[Any]) -> dict[str, Any]:
    return {"seq": seq, "t": seq * 1000, "kind": "ok", "op": "poll", "process": "c", **TP, "runs": list(runs)}


def produced(seq: int, first: int, count: int, crc: int, connection: str = "17", error: str | None = "NONE") -> list[list[Any]]:
    asked = {"api": "Produce", "correlation": seq}
    rows = [row(seq, 1, "request_received", **asked, source=connection, client_id="kcat"),
            row(seq, 1, "log_appended", **TP, base_offset=first, last_offset=first + count - 1, bytes=70 * count, role="leader", crc=crc)]
    return rows if error is None else [*rows, row(seq + 1, 1, "response_sent", **asked, to=connection, error=error)]


def answered(seq: int, first: int, last: int) -> list[Any]:
    return row(seq, 1, "records_sent", **TP, base_offset=first, last_offset=last, to="18")


def disks(follower: int) -> list[dict[str, Any]]:
    brokers = {str(at): {"start": 0, "end": end, "epochs": [[0, 0]], "damaged": []} for at, end in ((1, 5), (2, follower))}
    return [{**TP, "promised": 2, "brokers": brokers}]


LED = [row(1, 1, "became_leader", **TP, leader_epoch=0, leo=0), row(1, 2, "became_follower", **TP, leader=1, leader_epoch=0, leo=0)]
GONE = row(90, 2, "became_leader", **TP, leader_epoch=1, leo=4)
OURS, ALL = [sent(10, 0, 5, 0)], [0, "p", 0, 5]
THEIRS = [*produced(10, 0, 4, 1), *produced(20, 4, 1, 2)]
Case = tuple[list[list[Any]], list[dict[str, Any]], list[dict[str, Any]] | None]
CASES: dict[str, Case] = {
    "lost": ([*LED, GONE], [*OURS, polled(30, ALL)], None),
    "unread": (LED, [*OURS, polled(30, [0, "p", 0, 4])], None),
    "at_risk": (LED, [*OURS, polled(30, ALL)], disks(4)),
    "duplicated": (LED, [*OURS, polled(30, ALL, [5, "p", 2, 1])], None),
    "lost outside": ([*LED, *THEIRS, answered(30, 0, 4), GONE], [], None),
    "unread outside": ([*LED, *THEIRS, answered(30, 0, 3)], [], None),
    "at_risk outside": ([*LED, *THEIRS, answered(30, 0, 4)], [], disks(4)),
    "duplicated outside": (
        [*LED, *produced(10, 0, 3, 1), *produced(20, 3, 1, 2, error=None), *produced(25, 4, 1, 2, "19"), answered(30, 0, 4)], [], None),
}  # fmt: skip


def known(name: str) -> dict[str, int]:
    """One of the word that the case is about, none of the others."""
    return {word: int(word == name.split()[0]) for word in WORDS}


def of_words(found: Any, tail: str = "") -> dict[str, int]:
    return {word: found[word + tail] or 0 for word in WORDS}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("words")
    for name, (journal, operations, copies) in CASES.items():
        run = directory / name
        run.mkdir()
        facts = {"format": 1, "name": name, "kind": "simulated"} | ({"copies": copies} if copies is not None else {})
        (run / "run.json").write_bytes(orjson.dumps(facts))
        (run / "journal.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in journal))
        (run / "operations.jsonl").write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in operations))
    return directory


@pytest.mark.parametrize("name", CASES)
def test_the_receipt_says_each_word_of_exactly_one_record(home: Path, name: str) -> None:
    found = receipt_of(home / name)
    outside = name.endswith("outside")
    assert of_words(found["outside"], "_records") == (known(name) if outside else dict.fromkeys(WORDS, 0))
    assert of_words(found) == (dict.fromkeys(WORDS, 0) if outside else known(name))
    journal, operations, copies = CASES[name]
    kept = Kept()
    merged = [(one[0], kept.row, one) for one in journal] + [(one["seq"], kept.operation, one) for one in operations]
    for _, take, one in sorted(merged, key=lambda each: each[0]):
        take(one)
    assert of_words(kept_receipt(kept, copies).to_dict()) == of_words(found)


def test_the_page_says_of_each_history_what_its_receipt_says(home: Path, require_program: Any) -> None:
    receipts = {name: receipt_of(home / name) for name in CASES}
    script = SCRIPT.replace("ROOT", STATIC.as_uri())
    done = subprocess.run([require_program("node"), "--input-type=module", "-e", script], input=json.dumps(receipts),
                          capture_output=True, text=True, timeout=60, check=True)  # fmt: skip
    for name, said in json.loads(done.stdout).items():
        word = name.split()[0]
        assert (said["key"], said["n"]) == (VERDICTS[word], 1), name
        figures = dict(said["theirs" if name.endswith("outside") else "mine"])
        assert {one: figures[one] or 0 for one in WORDS} == known(name), name
    for language in ("en", "ko"):
        texts = json.loads((STATIC / f"web/messages/desk.{language}.json").read_text())
        assert len({texts[f"receipt.{word}.tip"] for word in WORDS} | {texts[f"receipt.verdict.{VERDICTS[word]}"] for word in WORDS}) == 8


def test_spark_says_of_each_history_what_its_receipt_says(spark: Any, home: Path) -> None:
    with Tables(spark, [home]) as tables:
        history = History(tables)
        ours = {one["run"]: of_words(one) for one in history.counts.collect()}
        theirs = {one["run"]: of_words(one, "_records") for one in history.outside.figures.collect()}
        assert outside_disagreements(history.outside, {name: receipt_of(home / name) for name in CASES}) == []
    for name in CASES:
        assert (theirs if name.endswith("outside") else ours)[name] == known(name), name
