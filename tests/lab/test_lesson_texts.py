"""Texts of lessons that name what only a run can tell: held against that run, in each generation."""

from __future__ import annotations

import re
from collections.abc import Mapping

import orjson
import pytest
from tests.shared_runs import run_once

from lab.scenarios import grammar

NUMBERS = {"en": re.compile(r"[Pp]artitions? ((?:\d+(?:, | and )?)+)(?= had| has both| that had)"),
           "ko": re.compile(r"파티션 ((?:\d+(?:와 |과 |, )?)+)(?=[은는이가] 복제본 둘)")}  # fmt: skip


def named(text: Mapping[str, str]) -> dict[str, set[int]]:
    """Language -> the partitions of which the text says that both replicas are gone."""
    found = {}
    for language, pattern in NUMBERS.items():
        match = pattern.search(text[language].replace("\n", " "))
        assert match is not None, text[language]
        found[language] = {int(number) for number in re.findall(r"\d+", match[1])}
    return found


@pytest.mark.parametrize("generation", ["zookeeper", "kraft"])
@pytest.mark.parametrize(("course", "dead"), [("blind", {1, 2}), ("blind/fork", {1, 3}), ("fork", {1, 3})])
def test_the_partitions_that_the_lesson_of_the_racks_names_are_those_that_lost_both_replicas(
    course: str, dead: set[int], generation: str
) -> None:
    scenario = grammar.load("rack-loss", course, {"controller": generation})
    result = run_once("rack-loss", course, generation=generation)
    rows = map(orjson.loads, (result.directory / "journal.jsonl").read_bytes().splitlines())
    assigned = {row[5]["partition"]: set(row[5]["replicas"]) for row in rows if row[3] == "leader_elected" and row[5]["topic"] == "orders"}
    gone = {partition for partition, replicas in assigned.items() if replicas == dead}
    assert gone and named(scenario.lesson.see) == {"en": gone, "ko": gone}
