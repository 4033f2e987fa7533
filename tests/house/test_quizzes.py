"""Every lesson and every heading is asked about, and no answer is missing or left over.

A new lesson needs a question in `lab/quizzes/questions/SUBJECT.yaml` and `python -m lab.quizzes LESSON` (docs/quizzes.md).
"""

from __future__ import annotations

from lab.quizzes import reading, recorded
from lab.quizzes.reading import all_questions, of_lesson
from lab.scenarios import path


def test_every_lesson_has_a_question_beyond_its_prediction_and_every_heading_has_one() -> None:
    assert [name for name in path.legs() if len(of_lesson(name).questions) < 2] == []
    assert [name for name in reading.headings() if not reading.of_heading(name).questions] == []
    assert {one.way for one in all_questions().values()} == {"choices", "number", "broker", "order", "setting"}


def test_every_question_has_an_answer_that_some_run_has_shown() -> None:
    assert set(recorded.answers()) == set(all_questions())
