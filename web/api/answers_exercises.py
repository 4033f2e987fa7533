"""What exercises look like over REST."""

from __future__ import annotations

from typing import Any

from web.api.answers_bytes import Closed, Coded

Titles = dict[str, str]


class LeverView(Closed):
    """What may be set: to one of `choices`, or to a whole number from `least` to `most`. `start`: as it stands now."""

    name: str
    label: str
    choices: list[str]
    least: int | None
    most: int | None
    start: str | None


class HintView(Closed):
    """Its price in points; the text of one that was asked for."""

    price: int
    text: Titles | None


class ExerciseView(Closed):
    """An exercise, without its solution."""

    name: str
    title: Titles
    task: Titles
    subject: str
    teaches: list[str]
    lesson: str
    points: int
    tries: int | None
    goals: dict[str, str]
    seeds: list[int]
    levers: list[LeverView]
    commands: list[str]
    most_steps: int
    hints: list[HintView]
    start: dict[str, Any]


class Exercises(Closed):
    """All of them."""

    items: list[ExerciseView]
    total: int


class ValidExercise(ExerciseView):
    """One that was checked."""

    valid: bool
    exercise: str


class Reason(Coded):
    """With its text in English."""

    text: str


class SeedView(Closed):
    """What came of one seed: goals that were not met, the figures of the receipt, and where in the run the exercise's
    moment is, when it names one and it has come."""

    seed: int
    passed: bool
    unmet: list[Reason]
    receipt: dict[str, int | None]
    moment: dict[str, int] | None = None


class GradeView(Closed):
    """What an attempt is worth. `refused`: why a handed-in run was not even looked at. `why`: once it is solved."""

    exercise: str
    passed: bool
    points: int
    most: int
    attempt: dict[str, Any]
    seeds: list[SeedView]
    refused: list[Reason]
    why: Titles
