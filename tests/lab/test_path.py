"""The way through the lessons: every lesson stands on it once, under its own subject, and a wrong one is refused."""

from __future__ import annotations

import pytest

from lab.scenarios import grammar, path
from lab.scenarios.reading import ScenarioError, read
from lab.scenarios.subjects import SUBJECTS

TRACK = "- track: durability\n  text: {en: T, ko: 글}\n  lessons:\n    - %s\n"
GOOD = "{lesson: acks-1, minutes: 5, level: 1}"


def test_every_lesson_stands_on_the_way_in_the_track_of_its_subject() -> None:
    assert sorted(grammar.names()) == sorted(path.legs()), "place new lessons in lab/scenarios/paths/lessons.yaml"
    for name, leg in path.legs().items():
        document = read(grammar.find(name).read_text("utf-8"), name)[1]
        assert document["subject"] == leg.track, name
    assert [track.subject for track in path.tracks()] == list(SUBJECTS)


def test_a_track_begins_with_what_is_easy() -> None:
    for track in path.tracks():
        assert track.legs[0].level == 1, track.subject
        assert 3 <= sum(leg.minutes for leg in track.legs) <= 130


@pytest.mark.parametrize(
    ("source", "line", "place"),
    [
        (TRACK % "{lesson: acks-7, minutes: 5, level: 1}", 4, "[0].lessons[0].lesson"),
        (TRACK % "{lesson: acks-1, minutes: 5, level: 4}", 4, "[0].lessons[0].level"),
        (TRACK % "{lesson: acks-1, level: 1}", 4, "[0].lessons[0]"),
        ("- track: cooking\n  text: {en: T, ko: 글}\n  lessons: []\n", 1, "[0].track"),
        ("- track: durability\n  text: {en: T}\n  lessons: []\n", 2, "[0].text"),
        (TRACK % GOOD + f"    - {GOOD}\n", 1, "[1]"),
    ],
)
def test_what_is_wrong_on_the_way_is_named_with_its_line(source: str, line: int, place: str) -> None:
    with pytest.raises(ScenarioError) as refused:
        path.parse(source)
    assert str(refused.value).startswith(f"lessons.yaml:{line}: {place}")
