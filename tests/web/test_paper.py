"""Handouts and keys: every lesson and every exercise has both, in both languages; the key says what the runs have shown, and
the handout none of it. Who may read a key is asked in `test_rights`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.http import Http404
from django.test import RequestFactory, override_settings

from lab.exercises import reading as exercises
from lab.quizzes.reading import of_lesson
from lab.quizzes.recorded import answers
from lab.scenarios import grammar
from web.pages import paper

PLAIN = {"staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}}
TAGS = re.compile(r"<[^>]+>")


@pytest.fixture(autouse=True)
def files_under_their_own_names() -> Iterator[None]:
    """The names with a hash are made by a server that starts."""
    with override_settings(STORAGES=PLAIN):
        yield


def sheet(view: Any, name: str, language: str) -> str:
    """What is read on it."""
    request = RequestFactory().get("/", {"language": language})
    page = view(request, name).content.decode()
    assert f'<html lang="{language}">' in page
    return " ".join(unescape(TAGS.sub(" ", page)).split())


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_lesson_has_a_handout_without_answers_and_a_key_with_them(language: str) -> None:
    for name in grammar.names():
        lesson = grammar.load(name).lesson
        handout, key = sheet(paper.lesson, name, language), sheet(paper.lesson_key, name, language)
        why = " ".join(lesson.why[language].split())[:80]
        assert why in key and why not in handout, name
        for question in of_lesson(name).questions:
            answer = answers()[question.name]
            assert " ".join(question.ask[language].split()) in handout
            assert f"{answer.t_us / 1e6:.3f} s" in key and f"{answer.t_us / 1e6:.3f} s" not in handout
            assert " ".join(question.why[language].split())[:60] in key


@pytest.mark.parametrize("language", ["en", "ko"])
def test_every_exercise_has_a_handout_and_a_key_with_its_solution(language: str) -> None:
    for name in exercises.names():
        found = exercises.load(name)
        handout, key = sheet(paper.exercise, name, language), sheet(paper.exercise_key, name, language)
        why = " ".join(found.why[language].split())[:60]
        assert why in key and why not in handout, name
        assert all(goal in handout for goal in found.goals)
        start = found.begins()
        assert all(one.name in handout for one in (*start.spec.topics, *start.spec.clients)), name
        assert all(step["do"] in handout for step in found.start.get("steps", ()) if "do" in step), name
        hints = [" ".join(one.text[language].split()) for one in found.hints]
        assert all(hint in key and hint not in handout for hint in hints), name


def test_an_answer_on_a_key_is_one_that_can_be_read() -> None:
    key = sheet(paper.lesson_key, "replication-factor", "en")
    assert "nobody" in key and "B · two and three" in key
    assert re.search(r"[A-D] → [A-D] → [A-D] → [A-D]", sheet(paper.lesson_key, "acks-1", "en"))


def test_what_is_set_up_can_be_read() -> None:
    handout = sheet(paper.exercise, "wait-for-the-right-one", "en")
    assert "assignment=[1,2] unclean.leader.election.enable=true" in handout
    assert "producer topic=orders rate=100 size=100 acks=all" in handout
    assert "{after: 2800ms ± 200ms, do: kill, broker: 1}" in handout and "check:" not in handout


def test_there_is_no_paper_about_nothing() -> None:
    for view in (paper.lesson, paper.lesson_key, paper.exercise, paper.exercise_key):
        with pytest.raises(Http404):
            view(RequestFactory().get("/"), "nothing")
