"""Paper: the handout of a lesson or an exercise, and the key to it.

| address | |
|---|---|
| `/paper/lessons/acks-1/`, `/paper/exercises/NAME/` | the handout: text, questions, room to write |
| `/keys/lessons/acks-1/`, `/keys/exercises/NAME/` | the key: answers as runs have shown them; the teacher's |

`?language=ko` and `?language=en` choose the language of one sheet, `?class=CODE` an exercise as it was handed out in a
class. A style sheet makes pages of paper.
"""

from __future__ import annotations

from typing import Any

import yaml
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from lab.exercises.reading import Exercise
from lab.quizzes import reading
from lab.quizzes.questions import Question
from lab.quizzes.recorded import answer_of
from lab.scenarios import grammar
from web.api.exercises import described
from web.language import language_of
from web.messages import LANGUAGES, words_of
from web.pages.exercises import of_class
from web.pages.quizzes import shown
from web.pages.setup import rows_of, steps_of
from web.people import handing
from web.rights import scope_of

PART = "quizzes"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _language(request: HttpRequest) -> str:
    wanted = request.GET.get("language", "")
    return wanted if wanted in LANGUAGES else language_of(request)


def paragraphs(text: str) -> list[str]:
    """Parted by empty lines."""
    return [" ".join(part.split()) for part in text.strip().split("\n\n") if part.strip()]


def _sheet(request: HttpRequest, context: dict[str, Any], is_key: bool, kind: str, name: str) -> HttpResponse:
    language = _language(request)
    words = {**words_of("exercises", language), **words_of(PART, language)}
    common = {"language": language, "languages": LANGUAGES, "words": words, "is_key": is_key, "kind": kind,
              "name": name, "code": request.GET.get("class", "")}  # fmt: skip
    return render(request, "paper.html", {**common, **context})


# -- lessons --------------------------------------------------------------------------------
@require_GET
def lesson(request: HttpRequest, name: str) -> HttpResponse:
    """The handout of a lesson: what is set up, what is asked."""
    return _sheet(request, _lesson(name, _language(request), is_key=False), False, "lesson", name)


@require_GET
def lesson_key(request: HttpRequest, name: str) -> HttpResponse:
    """With all answers, what there is to see and why."""
    return _sheet(request, _lesson(name, _language(request), is_key=True), True, "lesson", name)


def _lesson(name: str, language: str, is_key: bool) -> dict[str, Any]:
    if name not in grammar.names():
        raise Http404
    scenario = grammar.load(name)
    questions = [asked(one, language, is_key) for one in reading.of_lesson(name).questions]
    found = scenario.lesson
    context = {"title": scenario.title[language], "text": paragraphs(scenario.text[language]), "questions": questions,
               "setup": rows_of(scenario), "fork": found.fork.title[language] if found.fork else ""}  # fmt: skip
    if is_key:
        context |= {"see": paragraphs(found.see[language]), "why": paragraphs(found.why[language]),
                    "source": found.source}  # fmt: skip
    return context


def asked(question: Question, language: str, is_key: bool) -> dict[str, Any]:
    """A question as it stands on paper; `answer` and its moment on the key."""
    view = shown(question, language)
    texts = [(LETTERS[index], text) for index, text in view["texts"]]
    found = {**view, "texts": texts}
    answer = answer_of(question)
    if is_key and answer is not None:
        found |= {"answer": _told(question, answer.value, language), "t_s": f"{answer.t_us / 1e6:.3f}",
                  "node": answer.node, "why": " ".join(question.why[language].split())}  # fmt: skip
    return found


def _told(question: Question, value: Any, language: str) -> str:
    if question.way == "choices":
        return f"{LETTERS[value]} · {question.options[value].text[language]}"
    if question.way == "order":
        return " → ".join(LETTERS[index] for index in value)
    if question.way == "broker":
        words = words_of(PART, language)
        return str(words["nobody"]) if value < 0 else f"{words['broker']} {value}"
    return str(value)


# -- exercises ------------------------------------------------------------------------------
@require_GET
def exercise(request: HttpRequest, name: str) -> HttpResponse:
    """The handout of an exercise: as it comes with the lab, or as it was handed out to whoever asks."""
    given = handing.given_to(scope_of(request).get("student", ""), name)
    found = given.exercise if given is not None and given.exercise is not None else of_class(request, name)
    return _sheet(request, _exercise(found, _language(request), is_key=False), False, "exercise", name)


@require_GET
def exercise_key(request: HttpRequest, name: str) -> HttpResponse:
    """Its solution, its wrong attempt, all hints."""
    return _sheet(request, _exercise(of_class(request, name), _language(request), is_key=True), True, "exercise", name)


def _exercise(found: Exercise, language: str, is_key: bool) -> dict[str, Any]:
    facts, start = described(found), found.begins()
    context: dict[str, Any] = {
        "setup": rows_of(start), "happens": steps_of(start),
        "title": found.title[language], "text": paragraphs(found.task[language]), "points": found.points,
        "goals": list(facts["goals"].items()), "levers": facts["levers"], "commands": facts["commands"],
        "most_steps": facts["most_steps"], "hint_prices": [one.price for one in found.hints],
        "seeds": words_of("exercises", language)["seeds"].format(n=len(found.seeds)) if len(found.seeds) > 1 else "",
    }  # fmt: skip
    if is_key:
        context |= {
            "solution": _yaml(found.solution), "wrong": _yaml(found.wrong),
            "why": paragraphs(found.why.get(language, "")), "why_wrong": paragraphs(found.why_wrong.get(language, "")),
            "hints": [(one.price, one.text[language]) for one in found.hints],
        }  # fmt: skip
    return context


def _yaml(attempt: Any) -> str:
    return str(yaml.safe_dump(attempt, allow_unicode=True, sort_keys=False)).rstrip()
