"""What leads where: every row that the core has is taught, asked about and told of, and everything leads back."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from broker_core.kernel.events import REGISTRY
from lab.clusters.metrics_registry import REGISTRY as METRICS
from lab.exercises import reading as exercises
from lab.scenarios import grammar
from lab.scenarios.reading import ScenarioError
from lab.scenarios.subjects import SUBJECTS
from lab.trace.rows import parse, rows
from lab.trace.table import COLUMNS, lacking, trace

COUNTS = {"A": 12, "B": 6, "C": 8, "D": 11, "E": 9}


@cache
def table() -> dict[str, Any]:
    return trace()


def test_the_table_has_every_row_of_a_to_e() -> None:
    assert list(rows()) == [f"{part}{number}" for part, count in COUNTS.items() for number in range(1, count + 1)]


def test_every_row_of_the_core_has_lessons_questions_settings_and_tables() -> None:
    assert {name: lacking(row) for name, row in table()["rows"].items() if row["in_core"] and lacking(row)} == {}
    assert table()["missing"] == []


def test_nobody_teaches_a_row_that_the_core_does_not_have() -> None:
    taught = {row for kind in ("scenarios", "exercises") for one in table()[kind].values() for row in one["rows"]}
    assert taught == {name for name, row in table()["rows"].items() if row["in_core"]}


def test_every_metric_and_all_but_the_sums_of_events_stand_in_a_row() -> None:
    """A sum stands for the events of a second of any row."""
    named = {kind: {name for name, one in table()[kind].items() if one["rows"]} for kind in ("metrics", "events")}
    assert {full.rpartition("name=")[2] for full in METRICS} == named["metrics"]
    assert set(REGISTRY) - named["events"] == {"summed_up"}


def test_each_way_leads_back() -> None:
    found = table()
    for name, row in found["rows"].items():
        for lesson in row["scenarios"]:
            assert name in found["scenarios"][lesson]["rows"]
        for kind in ("metrics", "tables"):
            assert all(name in found[kind][one]["rows"] for one in row[kind])
        for kind in ("settings", "events"):
            for one in row[kind]:
                back = found[kind][one]
                assert name in back["rows"] or set(back["scenarios"]) & set(row["scenarios"])
    assert "acks-all" in found["rows"]["B3"]["scenarios"] and "power-loss" in found["settings"]["flush.messages"]["scenarios"]
    assert "zombie-controller-fenced" in found["events"]["controller_fenced"]["scenarios"]
    used = {"settings": "linger.ms", "events": "response_sent", "metrics": "RequestsPerSec", "tables": "sends"}
    assert {kind for kind, name in used.items() if "fewer-requests" not in found[kind][name]["exercises"]} == set()
    assert {kind for row in found["rows"].values() for kind in row} == {"title", "in_core", *COLUMNS}


def test_lessons_stand_under_their_tracks_and_exercises_under_rows_that_exist() -> None:
    assert [name for group in table()["subjects"] for name in group["scenarios"] if group["subject"]] == [
        name for subject in SUBJECTS for name in grammar.names() if table()["scenarios"][name]["subject"] == subject
    ]
    named = {name: exercises.load(name).teaches for name in exercises.names()}
    assert {name: teaches for name, teaches in named.items() if not set(teaches) <= set(rows())} == {}


@pytest.mark.parametrize(
    ("text", "place"),
    [("A1: {title: {en: a, ko: b}, events: [isr_shrank]}", "A1.events[0]"), ("A1: {title: {en: a, ko: b}, table: []}", "A1.table"),
     ("A1: {title: {en: a, ko: b}, settings: ['nothing.*']}", "A1.settings[0]")],
)  # fmt: skip
def test_a_name_that_nobody_knows_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        parse(text)
    assert caught.value.where == place
