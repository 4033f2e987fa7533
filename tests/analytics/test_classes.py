"""A class's export asked with Spark: where records were lost, which prediction was wrong, how long to the first success."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from pyarrow import parquet

from lab.analytics import classes
from lab.analytics.errors import AnalyticsError
from tests.analytics.test_report import shown


def tried(student: int, number: int, acks: str, lost: list[int], exercise: str = "promise") -> dict[str, Any]:
    seeds = [{"seed": seed, "passed": not n, "unmet": [], "receipt": {"acked": 100, "lost": n, "unread": 0, "duplicated": 0, "reordered": 0}}
             for seed, n in enumerate(lost, 1)]  # fmt: skip
    return {"student": student, "exercise": exercise, "number": number, "state": "missed" if any(lost) else "passed",
            "attempt": {"set": {"acks": acks}, "steps": [{"at": "1s", "do": "kill", "broker": 1}]}, "grade": {"seeds": seeds}}  # fmt: skip


def sat(number: int, state: str, took_s: int | None, **known: dict[str, Any]) -> dict[str, Any]:
    cell = {"state": state, "took_s": took_s, "hints": 0, "points": 0}
    return {"number": number, "name": f"student {number}", "cells": {"promise": cell}, "lessons": {}, "first_lessons": {},
            "questions": {}, **known}  # fmt: skip


EXPORT = {
    "class": "ABCD2345", "title": "Systems", "exercises": {"promise": {"title": {"en": "Promise", "ko": "약속"}}},
    "students": [
        sat(1, "passed", 60, lessons={"acks-1": "right"}, first_lessons={"acks-1": "wrong"}, questions={"q-isr": {"first": "right", "grade": "right", "tries": 1}}),
        sat(2, "passed", 180, lessons={"acks-1": "wrong"}, first_lessons={"acks-1": "wrong"}),
        sat(3, "opened", None, lessons={"acks-1": "seen"}),
        sat(4, "none", None),
    ],
    "hand_ins": [tried(1, 1, "1", [3, 5]), tried(1, 2, "all", [0, 0]), tried(2, 1, "all", [0, 0]), tried(3, 1, "1", [0, 4]),
                 {**tried(3, 2, "0", []), "state": "forged", "grade": None}],
    "polls": [{"question": "q-hw", "state": "told", "answers": [{"student": 1, "answer": 7, "grade": "right"}, {"student": 2, "answer": [1], "grade": "wrong"}]}],
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark, tmp_path_factory) -> dict[str, list[dict[str, Any]]]:
    home = tmp_path_factory.mktemp("class")
    (home / "class.json").write_bytes(orjson.dumps(EXPORT))
    answers = {one.name: one.rows for one in classes.replay(spark, [home / "class.json"], home / "out")}
    return {**answers, "home": [{"path": home / "out"}]}


def test_where_records_were_lost_is_counted_by_exercise_and_by_setting(found) -> None:
    (row,) = found["class_losses"]
    assert (row["tries"], row["losing_tries"], row["losing_students"], row["lost"]) == (4, 2, 2, 12)
    assert (row["most_lost"], row["worst_seed"], row["acked"]) == (5, 2, 800)
    settings = {row["value"]: (row["tries"], row["losing_tries"], row["lost"]) for row in found["class_settings"]}
    assert settings == {"1": (2, 2, 12), "all": (2, 0, 0)}, "what was not judged has lost nothing that is known"


def test_the_first_answer_counts_as_the_prediction(found) -> None:
    rows = {(row["kind"], row["asked"]): (row["answered"], row["right"], row["wrong"]) for row in found["class_predictions"]}
    assert rows == {("lesson", "acks-1"): (2, 0, 2), ("poll", "q-hw"): (2, 1, 1), ("quiz", "q-isr"): (1, 1, 0)}
    assert found["class_predictions"][0]["asked"] == "acks-1", "what was wrong most often stands first"


def test_how_long_it_took_is_of_those_who_got_there(found) -> None:
    (row,) = found["class_first_success"]
    assert (row["began"], row["reached"], row["fastest_s"], row["median_s"], row["slowest_s"]) == (3, 2, 60, 120.0, 180)
    assert (row["tries_p50"], row["most_tries"]) == (1.5, 2)


def test_a_report_in_both_languages_and_tables_are_left_and_no_name_is_in_them(found) -> None:
    out: Path = found["home"][0]["path"]
    page = (out / classes.REPORT).read_text()
    assert "Where records were lost" in shown(page, "en") and "어디에서 레코드가 유실되었나" in shown(page, "ko")
    assert "wrong" not in shown(page, "ko") and "수업" in shown(page, "ko")
    assert "student 1" not in page
    rows = parquet.read_table(out / "class_tries").to_pylist()
    assert len(rows) == 8 and sum(row["lost"] for row in rows) == 12


def test_a_file_that_is_no_export_is_named(tmp_path: Path) -> None:
    (tmp_path / "no.json").write_text("[]")
    for path in (tmp_path / "no.json", tmp_path / "nowhere.json"):
        with pytest.raises(AnalyticsError, match=path.name):
            next(classes.replay(None, [path]))
