"""Four words, one meaning: small histories with known answers, held against every surface that says them.

Receipt, kept receipt, Spark, and the page's verdict in English and Korean judge the same five records, of which exactly
one is lost, unread, at risk or duplicated; by a producer of the lab, or by a client from outside.

Coach, story and invariants speak before the end of a run is known. What they say at the election that decides it is held
against the receipt at its end, in lessons whose answer is known.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.analytics.agreement import outside_disagreements
from lab.analytics.history import History
from lab.analytics.tables import Tables
from lab.checkers.committed import add_committed
from lab.checkers.kept import Kept
from lab.checkers.kept_receipt import kept_receipt
from lab.checkers.receipt import receipt_of
from lab.clusters.build import memory
from lab.clusters.observe import observe
from lab.experiments.directory import RunDirectory
from lab.experiments.run import Execution
from lab.scenarios import grammar
from web.messages import LANGUAGES, catalogue

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
    merged: list[tuple[int, Callable[[Any], None], Any]] = [(one[0], kept.row, one) for one in journal]
    merged += [(one["seq"], kept.operation, one) for one in operations]
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


# -- those that speak before the end is known -----------------------------------------------
TALK = """
import { readFileSync } from "node:fs";
import { advice } from "ROOT/static/model/coach.js";
import { Catalogue } from "ROOT/static/i18n/catalogue.js";
const { state, acks, row, catalogues } = JSON.parse(readFileSync(0, "utf8"));
const found = advice(state, "orders", "0", acks);
const said = Object.fromEntries(Object.entries(catalogues).map(([language, told]) => {
  const words = new Catalogue(told);
  return [language, { coach: words.t(found.key, found.params), story: told.story[row[3]].why_by.reason[row[5].reason] }];
}));
process.stdout.write(JSON.stringify({ key: found.key, said }));
"""
PROMISED = {"en": "none of it is lost", "ko": "하나도 잃지 않았습니다"}
COMMITTED = {"en": "it has every committed record", "ko": "커밋된 레코드를 모두 가지고 있습니다"}
ELECTIONS = {
    "acks-all": ("coach.moved.all", "all", False), "acks-1": ("coach.moved.1", "1", True), "unclean-election": ("coach.unclean", "all", True),
}  # fmt: skip
"""Lesson -> what the coach says at its election, acks of its producer, whether acknowledged records are lost in it."""


def at_the_election(name: str, home: Path) -> tuple[Execution, dict[str, Any], list[Any]]:
    """A run of a lesson, the state right behind the first election that a death has led to, and that election's row."""
    run = Execution(grammar.load(name), RunDirectory(home / f"run-{name}"), False, memory)
    found: list[list[Any]] = []
    states: list[dict[str, Any]] = []

    def look(row: Any) -> None:
        if found and not states and row[3] != "leader_elected" and row[1] > found[0][1]:
            state = observe(run.world, run.spec)
            add_committed(state["topics"], run.monitor.view)
            states.append(json.loads(orjson.dumps(state, option=orjson.OPT_NON_STR_KEYS)))
        elif not found and row[3] == "leader_elected" and row[5]["topic"] == "orders" and row[5]["reason"] in ("broker gone", "unclean"):
            found.append(list(row))

    run.world.journal.transition_watchers.append(look)
    run.run()
    return run, states[0], found[0]


@pytest.mark.parametrize("name", ELECTIONS)
def test_coach_story_and_invariants_promise_no_more_than_the_receipt_keeps(name: str, tmp_path: Path, require_program: Any) -> None:
    key, acks, loses = ELECTIONS[name]
    run, state, row = at_the_election(name, tmp_path)
    assert run.findings.receipt is not None
    assert (run.findings.receipt.total.lost > 0) == loses, "the known answer"
    given = {"state": state, "acks": acks, "row": row, "catalogues": {one: catalogue(one) for one in LANGUAGES}}
    script = TALK.replace("ROOT", STATIC.as_uri())
    done = subprocess.run([require_program("node"), "--input-type=module", "-e", script], input=json.dumps(given, default=str),
                          capture_output=True, text=True, timeout=120, check=True)  # fmt: skip
    told = json.loads(done.stdout)
    assert told["key"] == key
    for language, said in told["said"].items():
        assert (PROMISED[language] in said["coach"]) == (not loses), said
        assert (COMMITTED[language] in said["story"]) == (row[5]["reason"] != "unclean"), said
    # Lost are acknowledged records; what was committed is gone in an unclean election only, for which the invariant allows.
    assert run.monitor.counts.get("NoCommittedRecordLost", 0) == 0


def test_the_invariant_is_red_where_committed_records_are_lost_without_an_unclean_election(tmp_path: Path) -> None:
    run = Execution(grammar.load("power-loss"), RunDirectory(tmp_path / "run"), False, memory)
    run.run()
    assert run.findings.receipt is not None
    assert run.findings.receipt.total.lost > 0
    assert run.monitor.counts["NoCommittedRecordLost"] > 0
