"""`exercises`, `try`: tasks that the run itself decides."""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from cli.errors import CommandError
from lab.exercises import grading, reading, shown
from lab.exercises.grading import Grade
from lab.exercises.reading import Exercise
from lab.experiments.directory import DirectoryError
from lab.experiments.packing import ENDING, PackError, unpack
from lab.clusters.checks import SpecError
from lab.scenarios.reading import ScenarioError

REACHED, NOT_REACHED = 0, 1


def exercises(arguments: argparse.Namespace) -> int:
    """List all, or show one."""
    language = arguments.speaks
    if arguments.name is None:
        found = [reading.load(name) for name in reading.names()]
        if arguments.json:
            print(json.dumps([described(one) for one in found]))
        else:
            print("\n".join(shown.list_lines(found, language)))
        return REACHED
    one = _loaded(arguments.name)
    if arguments.json:
        print(json.dumps(described(one)))
    else:
        print("\n".join(shown.task_lines(one, language, arguments.hints)))
    return REACHED


def described(exercise: Exercise) -> dict[str, Any]:
    """What `--json` tells of an exercise: not its solution."""
    return {"name": exercise.name, "title": exercise.title, "task": exercise.task, "points": exercise.points,
            "goals": exercise.goals, "seeds": exercise.seeds,
            "subject": exercise.subject, "start": exercise.start}  # fmt: skip


def attempt(arguments: argparse.Namespace) -> int:
    """Exit code 0 when the goals are reached, 1 when not or when a hand-in is forged, 2 when it is no attempt."""
    exercise, given = _loaded(arguments.name), Path(arguments.attempt)
    try:
        grade = _graded(exercise, given, arguments.hints, arguments.out)
    except (DirectoryError, PackError, SpecError, ScenarioError) as error:
        raise _wrong(error) from None
    if arguments.json:
        print(json.dumps(grade.to_dict()))
    else:
        print("\n".join(shown.grade_lines(exercise, grade, arguments.speaks)))
    return REACHED if grade.passed else NOT_REACHED


def _graded(exercise: Exercise, given: Path, hints: int, out: str | None) -> Grade:
    """An attempt's file, a run's directory, or a pack."""
    if given.is_dir():
        return grading.grade_run(exercise, given, hints)
    if given.name.endswith(ENDING):
        with tempfile.TemporaryDirectory(prefix="brokerlab-opened-") as home, _opened(given) as source:
            unpack(source, Path(home) / "run")
            return grading.grade_run(exercise, Path(home) / "run", hints)
    with _opened(given) as source:
        text = source.read()
    try:
        return grading.grade(
            exercise, reading.read_attempt(text.decode(), given.name), hints, Path(out) if out else None
        )
    except UnicodeDecodeError as error:
        raise CommandError(problem("not_readable_file", path=str(given), why=str(error.reason)), 2) from None


def _opened(path: Path) -> Any:
    try:
        return open(path, "rb")
    except OSError as error:
        raise CommandError(problem("not_readable_file", path=str(path), why=error.strerror), 2) from None


def _loaded(name: str) -> Exercise:
    try:
        return reading.load(name)
    except ScenarioError as error:
        raise _wrong(error) from None


def _wrong(error: Refusal) -> CommandError:
    """With its place, where it has one."""
    place = str(error).partition(error.reason)[0].rstrip(": ")
    return CommandError(problem("wrong_in", place=place, what=error.problem) if place else error.problem, 2)
