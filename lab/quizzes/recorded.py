"""The answers as runs have shown them: `answers.json`, which `python -m lab.quizzes` writes.

    {"acks-1.prediction": {"answer": 48, "t_us": 9412000, "node": "broker-2"}, ...}
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from lab.experiments.directory import JOURNAL, read_facts
from lab.experiments.findings import read_rows
from lab.experiments.run import RunResult, run_scenario
from lab.quizzes.deciding import Answer, about, asked_of, decided
from lab.quizzes.questions import Question
from lab.quizzes.reading import all_questions
from lab.scenarios import grammar

FILE = Path(__file__).parent / "answers.json"


@cache
def answers() -> dict[str, Answer]:
    """By the questions' names."""
    found: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return {name: Answer(one["answer"], one["t_us"], one["node"]) for name, one in found.items()}


def answer_of(question: Question) -> Answer | None:
    """The right answer; None for a question that was written since."""
    return answers().get(question.name)


def courses() -> list[tuple[str, str | None]]:
    """Every course of a lesson that somebody asks about."""
    return list(dict.fromkeys((one.lesson, one.course) for one in all_questions().values()))


def found_in(result: RunResult, questions: Iterable[Question]) -> dict[str, Answer]:
    """What a run that has left its directory answers. Raises Undecided."""
    facts = read_facts(result.directory)
    rows = read_rows(result.directory / JOURNAL, facts["began_us"])
    return {one.name: decided(one, result.figures, rows, facts["steps"]) for one in questions}


def run(lesson: str, course: str | None = None) -> dict[str, Answer]:
    """The answers to all questions about a course of a lesson, by a run of it. Raises Undecided."""
    scenario = grammar.load(lesson, course)
    scenario.asked = asked_of(lesson, course)
    with tempfile.TemporaryDirectory(prefix="brokerlab-quiz-") as home:
        return found_in(run_scenario(scenario, out=Path(home) / "run"), about(lesson, course))


def write(found: dict[str, Answer]) -> None:
    """The file, one answer a line, in the order of the questions."""
    lines = [f"  {json.dumps(name)}: {json.dumps(found[name].to_dict())}" for name in all_questions() if name in found]
    FILE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")
