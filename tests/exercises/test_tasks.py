"""Every exercise that comes with the lab can be solved, and its wrong attempt is not taken for a solution."""

from __future__ import annotations

import pytest
from tests.sampling import every

from lab.exercises import grading, reading
from lab.exercises.reading import Exercise
from lab.scenarios.subjects import SUBJECTS

EXERCISES = reading.names()


def test_there_are_exercises_for_every_track_of_lessons() -> None:
    assert len(EXERCISES) >= 30
    assert {reading.load(name).subject for name in EXERCISES} == set(SUBJECTS)


@pytest.fixture(scope="module", params=EXERCISES)
def exercise(request: pytest.FixtureRequest) -> Exercise:
    return reading.load(request.param)


def test_its_solution_reaches_the_goals_and_its_wrong_attempt_does_not(exercise: Exercise) -> None:
    solved = grading.grade(exercise, exercise.solution, to_the_end=False)
    assert solved.passed, [one.unmet for one in solved.outcomes]
    assert solved.points == exercise.points
    wrong = grading.grade(exercise, exercise.wrong, to_the_end=False)
    assert not wrong.passed and not wrong.refused
    for graded in (solved, wrong):  # both lead to the moment that decided
        assert graded.decisive is not None and graded.decisive.moment is not None


def test_it_is_told_in_both_languages_and_its_hints_leave_something_to_win(exercise: Exercise) -> None:
    texts = [exercise.title, exercise.task, exercise.why, exercise.why_wrong, *(one.text for one in exercise.hints)]
    assert all(text["en"] != text["ko"] for text in texts)
    assert grading.price_of(exercise, len(exercise.hints)) < exercise.points
    assert exercise.subject in SUBJECTS and exercise.teaches


@pytest.mark.parametrize("name", every(EXERCISES, nth=3))
def test_doing_nothing_is_no_solution(name: str) -> None:
    exercise = reading.load(name)
    if exercise.wrong and exercise.solution:
        assert not grading.grade(exercise, {}, to_the_end=False).passed
