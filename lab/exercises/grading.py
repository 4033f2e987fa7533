"""Grading: an attempt is run here, under each seed of the exercise, and its goals are what the runs are judged by.

A hand-in from elsewhere is a recorded run, in its directory or as a pack. It counts when three things hold:

| | otherwise |
|---|---|
| its scenario is the exercise's start with nothing moved but levers | `not_this_exercise` |
| it comes out again byte for byte (`lab.experiments.verify`) | the differences, each with its place |
| the attempt that stands in it reaches the goals under all seeds | what is not met |

So figures in a hand-in are believed by nobody: a forged one is found, and named.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from broker_core.kernel.problems import Problem, problem, told
from lab.clusters.checks import SpecError
from lab.exercises.levers import Attempt, attempt_in
from lab.exercises.reading import Exercise
from lab.experiments.directory import read_facts
from lab.experiments.driven import RunError
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar

Tell = Callable[[int, int], None]
"""(seeds done, seeds in all)"""


@dataclass(slots=True)
class Outcome:
    """One seed: goals that were not met, of a run that could not go on why; figures of the receipt; where in the run
    the exercise's moment is ({seq, t_us}), when it has come."""

    seed: int
    unmet: list[Problem] = field(default_factory=list)
    receipt: dict[str, Any] = field(default_factory=dict)
    moment: dict[str, int] | None = None

    @property
    def passed(self) -> bool:
        return not self.unmet


@dataclass(slots=True)
class Grade:
    """What an attempt is worth. `refused`: why it was not even looked at (a forged run, another exercise)."""

    exercise: str
    attempt: Attempt
    most: int
    outcomes: list[Outcome] = field(default_factory=list)
    refused: list[Problem] = field(default_factory=list)
    hints: int = 0

    @property
    def passed(self) -> bool:
        return not self.refused and bool(self.outcomes) and all(one.passed for one in self.outcomes)

    @property
    def points(self) -> int:
        """All or nothing, less what the hints cost."""
        return max(0, self.most - self.hints) if self.passed else 0

    @property
    def decisive(self) -> Outcome | None:
        """The first seed under which it fails, else the first one."""
        return next((one for one in self.outcomes if not one.passed), self.outcomes[0] if self.outcomes else None)

    def to_dict(self) -> dict[str, Any]:
        """Plain data; problems with their English text."""
        outcomes = [{"seed": one.seed, "passed": one.passed, "unmet": _texts(one.unmet), "receipt": one.receipt,
                     "moment": one.moment} for one in self.outcomes]  # fmt: skip
        return {
            "exercise": self.exercise, "passed": self.passed, "points": self.points, "most": self.most,
            "attempt": self.attempt, "seeds": outcomes, "refused": _texts(self.refused),
        }  # fmt: skip


def _texts(problems: Iterable[Problem]) -> list[dict[str, Any]]:
    return [{**one, "text": told(one)} for one in problems]


def price_of(exercise: Exercise, hints: int) -> int:
    """What the first so many hints take off."""
    return sum(one.price for one in exercise.hints[:hints])


def grade(
    exercise: Exercise, attempt: Any, hints: int = 0, out: Path | None = None, tell: Tell | None = None,
    to_the_end: bool = True, kept: int | None = None,
) -> Grade:  # fmt: skip
    """Run an attempt and judge it; `out`: where the run of the seed `kept` is left, without it that of the first. Not
    `to_the_end`: no further than the first seed under which it fails. Raises SpecError where the attempt cannot be
    one."""
    first = exercise.scenario(attempt, exercise.seeds[0])
    own = attempt_in(exercise.start, _without_seed(first.document, exercise), exercise.levers)
    found = Grade(exercise.name, own or {}, exercise.points, hints=price_of(exercise, hints))
    with tempfile.TemporaryDirectory(prefix="brokerlab-exercise-") as home:
        kept = kept if kept in exercise.seeds else exercise.seeds[0]
        for number, seed in enumerate(exercise.seeds):
            place = out if out is not None and seed == kept else Path(home) / str(seed)
            found.outcomes.append(_run(exercise.scenario(attempt, seed), seed, place))
            if tell is not None:
                tell(number + 1, len(exercise.seeds))
            if not to_the_end and not found.outcomes[-1].passed:
                break
    return found


def _run(scenario: grammar.Scenario, seed: int, place: Path) -> Outcome:
    try:
        result = run_scenario(scenario, out=place)
    except RunError as error:
        return Outcome(seed, [error.problem])
    return Outcome(seed, result.unmet, result.receipt.total.to_dict(), result.moment)


# -- hand-ins -------------------------------------------------------------------------------
def grade_run(exercise: Exercise, path: Path, hints: int = 0, tell: Tell | None = None) -> Grade:
    """Judge a recorded run that somebody hands in. Raises DirectoryError when it is none."""
    facts = read_facts(path)
    attempt = _attempt_of(exercise, facts.get("scenario"))
    found = Grade(exercise.name, attempt or {}, exercise.points, hints=price_of(exercise, hints))
    if attempt is None:
        found.refused.append(problem("not_this_exercise", name=exercise.name))
        return found
    found.refused += verify(path).differences
    if found.refused:
        return found
    return grade(exercise, attempt, hints, tell=tell)


def _attempt_of(exercise: Exercise, scenario: Any) -> Attempt | None:
    if not isinstance(scenario, dict):
        return None
    try:
        given = grammar.from_dict(scenario, exercise.name).document
    except SpecError:
        return None
    if given.get("seed") not in exercise.seeds:
        return None
    return attempt_in(exercise.start, _without_seed(given, exercise), exercise.levers)


def _without_seed(document: dict[str, Any], exercise: Exercise) -> dict[str, Any]:
    """With the seed of the start, whichever it was run with."""
    rest = {key: one for key, one in document.items() if key != "seed"}
    return {**rest, "seed": exercise.start["seed"]} if "seed" in exercise.start else rest
