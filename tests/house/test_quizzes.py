"""Every lesson and every heading is asked about, and no answer is missing or left over.

A new lesson needs a question in `lab/quizzes/questions/SUBJECT.yaml` and `python -m lab.quizzes LESSON` (docs/quizzes.md); a
new text at /basics/ needs one in `lab/quizzes/questions/basics-TEXT.yaml`.
"""

from __future__ import annotations

from lab.glossary import catalogue
from lab.glossary.basics import basics
from lab.quizzes import reading, recorded
from lab.quizzes.reading import all_questions, of_lesson
from lab.scenarios import path
from lab.scenarios.subjects import SUBJECTS


def test_every_lesson_has_a_question_beyond_its_prediction_and_every_heading_has_one() -> None:
    assert [name for name in path.legs() if len(of_lesson(name).questions) < 2] == []
    assert [name for name in reading.headings() if not reading.of_heading(name).questions] == []
    assert {one.way for one in all_questions().values()} == {"choices", "number", "broker", "order", "setting"}


def test_all_that_stands_over_a_text_that_teaches_is_a_heading() -> None:
    texts = [f"basics-{text.id}" for text in basics()]
    parts = [file.stem for file in sorted(catalogue.HOME.glob("*.yaml"))]
    assert list(reading.headings()) == [*SUBJECTS, *parts, *texts] and not set(reading.headings()) & set(path.legs())


def test_every_question_stands_in_a_quiz_that_can_be_opened() -> None:
    for name, quiz in reading.standing_in().items():
        found = reading.find(quiz)
        assert found is not None and name in [one.name for one in found.questions], (name, quiz)


def test_every_question_has_an_answer_that_some_run_has_shown() -> None:
    assert set(recorded.answers()) == set(all_questions())
