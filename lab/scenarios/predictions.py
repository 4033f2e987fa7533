"""What a learner is asked before the run: one of several answers, a number, or a broker.

```yaml
predict:                                          # the run decides which choice is right
  ask: {en: Is anything lost?, ko: ...}
  choices:
    - {text: {en: No, ko: ...}, right: {receipt.lost: 0}}
    - {text: {en: Yes, ko: ...}, right: {receipt.lost: ">= 1"}}

predict: {ask: {...}, number: {of: receipt.lost, near: 25}}        # 25: a guess within 25 % counts as close
predict: {ask: {...}, broker: {of: leader_of.orders-0}}            # -1 is nobody
```
`of` is a figure of `expectations`, and its value in the run is the answer: a guess that two choices would give away
has to be made in full.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel.problems import problem
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import RunSpec
from lab.scenarios.conditions import Comparison
from lab.scenarios.expectations import expectation, expectations

LANGUAGES = ("en", "ko")
WAYS = ("choices", "number", "broker")
NEAR_PERCENT = 25


@dataclass(slots=True)
class Choice:
    """One answer to the prediction; it is right when all of `right` hold."""

    text: dict[str, str]
    right: dict[str, Comparison]


@dataclass(slots=True)
class Figure:
    """A guess in full: the run's `key` is the answer. `way`: "number" | "broker"."""

    way: str
    key: str
    near: int = NEAR_PERCENT


@dataclass(slots=True)
class Prediction:
    """What the learner is asked before the run: `choices`, or else a `figure`."""

    ask: dict[str, str]
    choices: list[Choice] = field(default_factory=list)
    figure: Figure | None = None


def texts(value: Any, place: Place) -> dict[str, str]:
    """The same text in each language."""
    given = checks.mapping(value, place, LANGUAGES)
    return {language: checks.text(one, (*place, language)) for language, one in given.items()}


def read_prediction(value: Any, place: Place, spec: RunSpec) -> Prediction:
    """A checked prediction; raises SpecError."""
    data = checks.mapping(value, place, ["ask", *WAYS], ["ask"])
    ask = texts(data["ask"], (*place, "ask"))
    ways = [way for way in WAYS if way in data]
    if len(ways) != 1:
        raise SpecError(place, problem("one_prediction", n=len(ways)))
    if ways[0] == "choices":
        return Prediction(ask, _choices(data["choices"], (*place, "choices"), spec))
    return Prediction(ask, figure=_figure(ways[0], data[ways[0]], (*place, ways[0]), spec))


def _choices(value: Any, place: Place, spec: RunSpec) -> list[Choice]:
    found = []
    for index, one in enumerate(checks.items(value, place)):
        at = (*place, index)
        given = checks.mapping(one, at, ["text", "right"], ["text", "right"])
        found.append(Choice(texts(given["text"], (*at, "text")), expectations(given["right"], (*at, "right"), spec)))
    if len(found) < 2:
        raise SpecError(place, problem("two_choices", n=len(found)))
    return found


def _figure(way: str, value: Any, place: Place, spec: RunSpec) -> Figure:
    data = checks.mapping(value, place, ["of", "near"] if way == "number" else ["of"], ["of"])
    key = checks.text(data["of"], (*place, "of"))
    expectation(key, 0, (*place, "of"), spec)
    near = checks.integer(data["near"], (*place, "near"), 0, 100) if "near" in data else NEAR_PERCENT
    return Figure(way, key, near)
