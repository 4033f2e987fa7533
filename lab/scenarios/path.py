"""The way through the lessons: in which order they build on each other, how long each takes, how hard it is.

`paths/lessons.yaml` has a track for each subject, and in it the subject's lessons in order. It is checked as scenarios
are: a lesson that does not exist, stands in another subject's track or stands there twice is refused with its line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.scenarios import grammar
from lab.scenarios.predictions import LANGUAGES
from lab.scenarios.reading import ScenarioError, line_of, read
from lab.scenarios.subjects import SUBJECTS

FILE = Path(__file__).parent / "paths" / "lessons.yaml"
LEVELS = 3
LONGEST_MINUTES = 30


@dataclass(frozen=True, slots=True)
class Leg:
    """One lesson of the way. `minutes` of reading, predicting and watching; `level` 1 (easy) to 3."""

    lesson: str
    track: str
    minutes: int
    level: int


@dataclass(frozen=True, slots=True)
class Track:
    """The lessons of one subject, in order; `text` says in each language what it is about."""

    subject: str
    text: Mapping[str, str]
    legs: tuple[Leg, ...]


@cache
def tracks() -> tuple[Track, ...]:
    """The whole way; raises ScenarioError."""
    return parse(FILE.read_text(encoding="utf-8"))


@cache
def legs() -> dict[str, Leg]:
    """By the lesson's name, in the order of the way."""
    return {leg.lesson: leg for track in tracks() for leg in track.legs}


def parse(source: str) -> tuple[Track, ...]:
    """Check the text of a way; raises ScenarioError."""
    tree, document = read(source, FILE.name)
    try:
        found = [_track(one, (index,)) for index, one in enumerate(checks.items(document, ()))]
        checks.unique([track.subject for track in found], (), "track")
        checks.unique([leg.lesson for track in found for leg in track.legs], (), "lesson")
    except SpecError as error:
        raise ScenarioError(FILE.name, line_of(tree, error.place), error.where, error.problem) from None
    return tuple(found)


def _track(value: Any, place: Place) -> Track:
    keys = ["track", "text", "lessons"]
    data = checks.mapping(value, place, keys, keys)
    subject = checks.choice(data["track"], (*place, "track"), list(SUBJECTS))
    given = checks.mapping(data["text"], (*place, "text"), LANGUAGES, LANGUAGES)
    text = {language: checks.text(one, (*place, "text", language)) for language, one in given.items()}
    at = (*place, "lessons")
    found = [_leg(one, (*at, index), subject) for index, one in enumerate(checks.items(data["lessons"], at))]
    return Track(subject, text, tuple(found))


def _leg(value: Any, place: Place, subject: str) -> Leg:
    keys = ["lesson", "minutes", "level"]
    data = checks.mapping(value, place, keys, keys)
    lesson = checks.choice(data["lesson"], (*place, "lesson"), grammar.names())
    minutes = checks.integer(data["minutes"], (*place, "minutes"), 1, LONGEST_MINUTES)
    return Leg(lesson, subject, minutes, checks.integer(data["level"], (*place, "level"), 1, LEVELS))
