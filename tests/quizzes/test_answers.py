"""The recorded answers are those of the runs: each lesson that is asked about answers as `answers.json` says."""

from __future__ import annotations

import pytest

from lab.quizzes import recorded
from lab.quizzes.deciding import about
from lab.quizzes.questions import Question
from lab.quizzes.reading import all_questions
from tests.shared_runs import run_once

SHIFT_US = 1_000_000
"""A change of a lesson may move its moments a little; what it answers may not change."""


@pytest.mark.parametrize(("lesson", "course"), recorded.courses(), ids=lambda one: str(one or "itself"))
def test_the_run_answers_as_it_is_recorded(lesson: str, course: str | None) -> None:
    found = recorded.found_in(run_once(lesson, course), about(lesson, course))
    for name, answer in found.items():
        kept = recorded.answers()[name]
        assert _same(all_questions()[name], kept.value, answer.value), (name, kept, answer)
        assert (kept.node, abs(kept.t_us - answer.t_us) <= SHIFT_US) == (answer.node, True), (name, kept, answer)


def _same(question: Question, kept: object, found: object) -> bool:
    if question.way == "number" and isinstance(kept, int) and isinstance(found, int):
        return abs(kept - found) * 100 <= question.near * max(kept, found)
    return kept == found
