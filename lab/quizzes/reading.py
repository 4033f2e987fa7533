"""The files of questions: each is checked whole. A lesson's questions begin with its prediction."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters import checks
from lab.clusters.checks import SpecError
from lab.glossary import catalogue
from lab.glossary.basics import basics
from lab.quizzes.questions import Question, Text, of_prediction, read_question, scenario_of
from lab.scenarios import path
from lab.scenarios.reading import ScenarioError, line_of, read
from lab.scenarios.subjects import SUBJECTS

HOME = Path(__file__).parent / "questions"
OF_TEXTS = "basics-"


@dataclass(slots=True)
class Quiz:
    """Questions that are asked together: those of a lesson, or those of a heading."""

    name: str
    title: Text
    questions: list[Question] = field(default_factory=list)


def headings() -> dict[str, Text]:
    """What stands over all that teaches: the tracks of lessons, the parts of the glossary, the texts at /basics/."""
    sections = zip(sorted(catalogue.HOME.glob("*.yaml")), catalogue.sections(), strict=True)
    parts = {file.stem: dict(section.title) for file, section in sections}
    return {**SUBJECTS, **parts, **{heading_of(text.id): dict(text.title) for text in basics()}}


def heading_of(text: str) -> str:
    """What the heading of a text at /basics/ is called here: `basics-isr`."""
    return f"{OF_TEXTS}{text}"


def text_of(heading: str) -> str:
    """The text at /basics/ under this heading; nothing when it is another one."""
    return heading.removeprefix(OF_TEXTS) if heading.startswith(OF_TEXTS) else ""


def parse(source: str, file: str) -> Quiz:
    """Check the text of a file of questions; raises ScenarioError."""
    tree, document = read(source, file)
    try:
        return from_dict(document)
    except SpecError as error:
        raise ScenarioError(file, line_of(tree, error.place), error.where, error.problem) from None


def from_dict(document: Any) -> Quiz:
    """Check a plain document; raises SpecError."""
    data = checks.mapping(document, (), ["quiz", "questions"], ["quiz", "questions"])
    known = headings()
    name = checks.choice(data["quiz"], ("quiz",), known)
    found = Quiz(name, known[name])
    for index, one in enumerate(checks.items(data["questions"], ("questions",))):
        found.questions.append(read_question(one, ("questions", index)))
    names = [one.name for one in found.questions]
    for index, own in enumerate(names):
        if own in names[:index]:
            raise SpecError(("questions", index, "question"), problem("question_twice", name=own))
    return found


@cache
def shipped() -> dict[str, Quiz]:
    """The files that come with the lab: heading -> its questions. Raises ScenarioError."""
    found = [parse(file.read_text(encoding="utf-8"), file.name) for file in sorted(HOME.glob("*.yaml"))]
    return {quiz.name: quiz for quiz in found}


@cache
def all_questions() -> dict[str, Question]:
    """By their names: predictions, and all that stands in files."""
    found: dict[str, Question] = {}
    for name in path.legs():
        scenario = scenario_of(name)
        if scenario.lesson.predict is not None:
            one = of_prediction(scenario, scenario.lesson.predict)
            found[one.name] = one
    for quiz in shipped().values():
        found |= {one.name: one for one in quiz.questions}
    return found


@cache
def of_lesson(name: str) -> Quiz:
    """Its prediction, and what its track asks about it."""
    scenario = scenario_of(name)
    about = shipped().get(scenario.subject)
    own = [one for one in (about.questions if about else []) if one.lesson == name]
    first = all_questions().get(f"{name}.prediction")
    return Quiz(name, scenario.title, [*([first] if first else []), *own])


@cache
def of_heading(name: str) -> Quiz:
    """All that stands under a heading; of a track that is what is asked about its lessons."""
    return shipped().get(name) or Quiz(name, headings()[name])


@cache
def standing_in() -> dict[str, str]:
    """Question -> the quiz that has it: of a lesson; of a heading when no lesson's has it."""
    parts = [quiz for quiz in shipped().values() if quiz.name not in SUBJECTS]
    found = {one.name: quiz.name for quiz in parts for one in quiz.questions}
    return {name: found.get(name, one.lesson) for name, one in all_questions().items()}


def find(name: str) -> Quiz | None:
    """The questions of a lesson or a heading; None when there is neither."""
    if name in path.legs():
        return of_lesson(name)
    return of_heading(name) if name in headings() else None
