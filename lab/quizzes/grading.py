"""An answer that somebody gives: right, near or wrong, with the right one, why it is so, and where it is seen."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem
from lab.quizzes.deciding import Answer, Value
from lab.quizzes.questions import Question
from lab.quizzes.recorded import answer_of

RIGHT, NEAR, WRONG = "right", "near", "wrong"
LONGEST_CODE = 200
LARGEST = 10**12


class NoAnswer(Refusal):
    """What was given is no answer to this question."""


@dataclass(slots=True, frozen=True)
class Graded:
    """What became of an answer; `given` as it was understood."""

    grade: str
    given: Value
    answer: Answer


def graded(question: Question, given: Any) -> Graded:
    """Raises NoAnswer."""
    answer = answer_of(question)
    if answer is None:
        raise _refusal(problem("not_recorded", name=question.name))
    value = understood(question, given)
    if value == answer.value:
        return Graded(RIGHT, value, answer)
    is_near = question.way == "number" and _is_near(value, answer.value, question.near)
    return Graded(NEAR if is_near else WRONG, value, answer)


def understood(question: Question, given: Any) -> Value:
    """An answer in the form in which answers are compared. Raises NoAnswer."""
    if question.way == "setting":
        if not isinstance(given, str) or not 0 < len(given.strip()) <= LONGEST_CODE:
            raise _refusal(problem("code_expected", most=LONGEST_CODE))
        return code(given)
    if question.way == "order":
        wanted = list(range(len(question.items)))
        if not isinstance(given, list) or any(type(one) is not int for one in given) or sorted(given) != wanted:
            raise _refusal(problem("order_expected", n=len(wanted)))
        return [int(one) for one in given]
    last = len(question.options) - 1 if question.way == "choices" else LARGEST
    least = -1 if question.way == "broker" else 0
    if type(given) is not int or not least <= given <= last:
        raise _refusal(problem("number_expected", least=least, most=last))
    return given


def code(given: str) -> str:
    """`acks = "ALL";` as it stands in an answer: acks=all."""
    name, equals, value = re.sub(r"[\s\"'`;]", "", given).replace(":", "=", 1).partition("=")
    return f"{name.lower()}={value.lower()}" if equals else name.lower()


def _is_near(given: Value, right: Value, percent: int) -> bool:
    """As a prediction: within so many percent of the right number."""
    if not isinstance(given, int) or not isinstance(right, int):
        return False
    return abs(given - right) * 100 <= percent * abs(right)


def _refusal(what: Problem) -> NoAnswer:
    return NoAnswer(what, "answer")
