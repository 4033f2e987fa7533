"""What a run answers: which choice it makes right, what number it shows, in which order things happened in it.

    asked_of("acks-1") -> keys of figures -> the run -> figures + journal -> decided(question) -> Answer
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from lab.quizzes.questions import Question
from lab.quizzes.reading import all_questions
from lab.scenarios.conditions import Comparison

Value = int | str | list[int]
"""Index of a choice; a number; a broker; the items of an order by their indexes; a setting as code."""


class Undecided(Refusal):
    """The run does not answer the question."""


@dataclass(slots=True, frozen=True)
class Answer:
    """The right answer, and where it is seen: virtual time, and the node that tells."""

    value: Value
    t_us: int
    node: str

    def to_dict(self) -> dict[str, Any]:
        """As `answers.json` has it."""
        return {"answer": self.value, "t_us": self.t_us, "node": self.node}


def asked_of(lesson: str, course: str | None = None) -> list[str]:
    """Keys of the figures that questions about this course of a lesson need."""
    keys = [key for one in about(lesson, course) for key in one.figures()]
    return list(dict.fromkeys(keys))


def about(lesson: str, course: str | None = None) -> list[Question]:
    """All questions about a course of a lesson."""
    return [one for one in all_questions().values() if (one.lesson, one.course) == (lesson, course)]


def decided(
    question: Question, figures: Mapping[str, Any], rows: Sequence[Any], steps: list[dict[str, int]]
) -> Answer:
    """The answer of a run. Raises Undecided."""
    for key, wanted in question.holds.items():
        if not wanted.holds(figures[key]):
            raise _undecided(question, problem("unmet", key=key, wanted=str(wanted), found=str(figures[key])))
    proof = question.proof.row(rows, steps) if question.proof is not None else None
    if proof is None:
        raise _undecided(question, problem("no_proof"))
    return Answer(_value(question, figures, rows, steps), proof[1], proof[2])


def _value(question: Question, figures: Mapping[str, Any], rows: Sequence[Any], steps: list[dict[str, int]]) -> Value:
    if question.way == "choices":
        right = [index for index, one in enumerate(question.options)
                 if one.always or (one.right is not None and _all_hold(one.right, figures))]  # fmt: skip
        if len(right) != 1:
            raise _undecided(question, problem("one_right_choice", n=len(right)))
        return right[0]
    if question.way == "setting":
        return question.code
    if question.way == "order":
        return _order(question, rows, steps)
    found = figures[question.figure]
    if not isinstance(found, int):
        raise _undecided(question, problem("found_nothing"))
    return found


def _order(question: Question, rows: Sequence[Any], steps: list[dict[str, int]]) -> list[int]:
    places = [item.moment.find(rows, steps) for item in question.items]
    found = [place[0] for place in places if place is not None]
    if len(set(found)) != len(places):
        raise _undecided(question, problem("no_proof"))
    return sorted(range(len(found)), key=lambda index: found[index])


def _all_hold(wanted: dict[str, Comparison], figures: Mapping[str, Any]) -> bool:
    return all(one.holds(figures[key]) for key, one in wanted.items())


def _undecided(question: Question, what: Any) -> Undecided:
    return Undecided(problem("undecided", name=question.name, what=what), question.name)
