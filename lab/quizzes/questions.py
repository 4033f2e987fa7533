"""One question, checked: every error names its place."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.meanings import of_clients
from lab.scenarios import grammar
from lab.scenarios.conditions import Comparison
from lab.scenarios.expectations import expectation, expectations
from lab.scenarios.grammar import Scenario
from lab.scenarios.moments import MOMENT_KEYS, Moment, read_moment
from lab.scenarios.predictions import Prediction, texts

WAYS = ("choices", "number", "broker", "order", "setting")
KEYS = ("question", "lesson", "course", "ask", *WAYS, "holds", "proof", "why")
PREDICTION = "prediction"
NEAR_PERCENT = 25
HOLDERS = ("settings", "configs", "set")
"""Keys of a scenario under which settings stand."""

Text = dict[str, str]


@dataclass(slots=True)
class Option:
    """One of several answers. `right`: what must hold in the run for it to be the right one; None: `always` is."""

    text: Text
    right: dict[str, Comparison] | None = None
    always: bool = False


@dataclass(slots=True)
class Item:
    """Something that happens in the run, to be put in order with others."""

    text: Text
    moment: Moment


@dataclass(slots=True, eq=False)
class Question:
    """A checked question. `way`: how it is answered.

    * `options` are of a choice; `items`, in an order that tells nothing, of an order; `figure` is of number and broker,
      `code` of a setting
    * `name` is "LESSON.prediction" for what a lesson asks itself
    """

    name: str
    lesson: str
    ask: Text
    way: str
    why: Text
    course: str | None = None
    proof: Moment | None = None
    options: list[Option] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    figure: str = ""
    near: int = 0
    code: str = ""
    holds: dict[str, Comparison] = field(default_factory=dict)

    @property
    def is_prediction(self) -> bool:
        return self.name == prediction_name(self.lesson)

    def figures(self) -> list[str]:
        """Keys of all figures that the run is asked for."""
        wanted = [key for option in self.options for key in option.right or ()]
        return [*wanted, *([self.figure] if self.figure else []), *self.holds]


@cache
def scenario_of(lesson: str, course: str | None = None) -> Scenario:
    """A lesson, or a course of it, to be read only: many questions are about the same one."""
    return grammar.load(lesson) if course is None else grammar.variant_of(scenario_of(lesson), course)


def prediction_name(lesson: str) -> str:
    """What the question that a lesson asks itself is called."""
    return f"{lesson}.{PREDICTION}"


def of_prediction(scenario: Scenario, predict: Prediction) -> Question:
    """The prediction of a lesson as a question."""
    lesson = scenario.lesson
    name, why = prediction_name(scenario.name), lesson.see or lesson.why
    found = Question(name, scenario.name, predict.ask, "choices", why, proof=lesson.moment)
    found.options = [Option(one.text, one.right) for one in predict.choices]
    if predict.figure is not None:
        found.way, found.figure, found.near = predict.figure.way, predict.figure.key, predict.figure.near
    return found


def read_question(value: Any, place: Place) -> Question:
    """Raises SpecError."""
    data = checks.mapping(value, place, KEYS, ["question", "lesson", "ask", "why"])
    lesson = checks.choice(data["lesson"], (*place, "lesson"), grammar.names())
    scenario, course = scenario_of(lesson), None
    if "course" in data:
        course = checks.choice(data["course"], (*place, "course"), courses(scenario))
        scenario = scenario_of(lesson, course)
    ways = [way for way in WAYS if way in data]
    if len(ways) != 1:
        raise SpecError(place, problem("one_subject", known=list(WAYS), n=len(ways)))
    name = checks.text(data["question"], (*place, "question"))
    ask, why = texts(data["ask"], (*place, "ask")), texts(data["why"], (*place, "why"))
    found = Question(name, lesson, ask, ways[0], why, course)
    found.holds = expectations(data.get("holds"), (*place, "holds"), scenario.spec)
    found.proof = _proof(data, place, scenario)
    READERS[ways[0]](found, data[ways[0]], (*place, ways[0]), scenario)
    return found


def courses(scenario: Scenario) -> list[str]:
    """What a lesson can be run as beside itself."""
    forks = [f"{name}/fork" for name in scenario.variants if name != "fork"]
    return [*scenario.variants, *forks]


def _proof(data: dict[str, Any], place: Place, scenario: Scenario) -> Moment:
    if "proof" in data:
        at = (*place, "proof")
        return read_moment(checks.mapping(data["proof"], at, MOMENT_KEYS, ["event"]), at, len(scenario.steps))
    if scenario.lesson.moment is None:
        raise SpecError(place, problem("no_proof"))
    return scenario.lesson.moment


def _choices(found: Question, value: Any, place: Place, scenario: Scenario) -> None:
    for index, one in enumerate(checks.items(value, place)):
        at = (*place, index)
        given = checks.mapping(one, at, ["text", "right"], ["text"])
        option = Option(texts(given["text"], (*at, "text")))
        if isinstance(given.get("right"), bool):
            option.always = given["right"]
        elif "right" in given:
            option.right = expectations(given["right"], (*at, "right"), scenario.spec)
        found.options.append(option)
    if len(found.options) < 2:
        raise SpecError(place, problem("two_choices", n=len(found.options)))
    always, decided = sum(one.always for one in found.options), sum(one.right is not None for one in found.options)
    if (always, decided) not in ((1, 0), (0, len(found.options))):
        raise SpecError(place, problem("one_right_choice", n=always))
    if always and not found.holds:
        raise SpecError(place, problem("nothing_holds"))


def _figure(found: Question, value: Any, place: Place, scenario: Scenario) -> None:
    data = checks.mapping(value, place, ["of", "near"] if found.way == "number" else ["of"], ["of"])
    found.figure = checks.text(data["of"], (*place, "of"))
    expectation(found.figure, 0, (*place, "of"), scenario.spec)
    found.near = checks.integer(data["near"], (*place, "near"), 0, 100) if "near" in data else NEAR_PERCENT
    if found.way == "broker":
        found.near = 0


def _order(found: Question, value: Any, place: Place, scenario: Scenario) -> None:
    for index, one in enumerate(checks.items(value, place)):
        at = (*place, index)
        given = checks.mapping(one, at, ["text", *MOMENT_KEYS], ["text", "event"])
        moment = read_moment({key: each for key, each in given.items() if key != "text"}, at, len(scenario.steps))
        found.items.append(Item(texts(given["text"], (*at, "text")), moment))
    if len(found.items) < 3:
        raise SpecError(place, problem("three_in_order", n=len(found.items)))
    found.items.sort(key=lambda item: hashlib.sha256(item.text["en"].encode()).digest())


def _setting(found: Question, value: Any, place: Place, scenario: Scenario) -> None:
    data = checks.mapping(value, place, ["name", "value"], ["name"])
    name = checks.text(data["name"], (*place, "name"))
    checks.choice(name, (*place, "name"), [*BROKER_SETTINGS, *TOPIC_SETTINGS, *of_clients()])
    found.code = name
    if "value" in data:
        wanted = checks.setting(data["value"], (*place, "value"))
        found.code = f"{name}={wanted}"
        if wanted not in _values_of(scenario.document, name):
            raise SpecError((*place, "value"), problem("not_set_there", name=name, wanted=wanted))


def _values_of(document: Any, name: str) -> set[str]:
    """All values that a scenario gives to a setting."""
    found: set[str] = set()
    if isinstance(document, dict):
        for key, one in document.items():
            if key in HOLDERS and isinstance(one, dict) and name in one:
                found.add(checks.setting(one[name], (key, name)))
            found |= _values_of(one, name)
    elif isinstance(document, list):
        for one in document:
            found |= _values_of(one, name)
    return found


READERS = {"choices": _choices, "number": _figure, "broker": _figure, "order": _order, "setting": _setting}
