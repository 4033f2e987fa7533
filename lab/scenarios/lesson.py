"""What turns a run into a lesson: a prediction, the moment that mattered, another course, what is seen and why.

```yaml
predict:                                   # asked before the run; the run decides which choice is right
  ask: {en: Is anything lost?, ko: ...}
  choices:
    - {text: {en: No, ko: ...}, right: {receipt.lost: 0}}
    - {text: {en: Yes, ko: ...}, right: {receipt.lost: ">= 1"}}
moment: {event: leader_elected, where: {topic: orders}, step: 1}     # the first one from steps[1] on
fork:                                      # "what if": goes on from right before steps[0], otherwise
  before: 0
  title: {en: With acks=all, ko: ...}
  steps: [{do: set_client, name: producer-orders, set: {acks: all}}, {after: 1s, do: kill, leader_of: orders-0}]
  expect: {receipt.lost: 0}
  see: {en: What you see then, ko: ...}    # without it what is seen is as below
see: {en: What you see, ko: ...}
why: {en: Why it is so, ko: ..., source: [KIP-101, "Kafka documentation, 4.7 Replication"]}
```
`run NAME --variant fork` executes the other course from the start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel.events import REGISTRY
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import RunSpec
from lab.scenarios.conditions import Comparison
from lab.scenarios.expectations import expectations
from lab.scenarios.steps import Step, check_names, read_steps

LANGUAGES = ("en", "ko")
LESSON_KEYS = ("predict", "moment", "fork", "see", "why")


@dataclass(slots=True)
class Choice:
    """One answer to the prediction; it is right when all of `right` hold."""

    text: dict[str, str]
    right: dict[str, Comparison]


@dataclass(slots=True)
class Prediction:
    """What the learner is asked before the run."""

    ask: dict[str, str]
    choices: list[Choice]


@dataclass(slots=True)
class Moment:
    """The `nth` event of this code with these parameters, counted from a step on."""

    event: str
    where: dict[str, str] = field(default_factory=dict)
    step: int = 0
    nth: int = 1

    def find(self, rows: Iterable[Any], steps: list[dict[str, int]]) -> tuple[int, int] | None:
        """(seq, time) in the rows of a journal; `steps`: where each step began ({seq, t_us})."""
        first = steps[self.step]["seq"] if self.step < len(steps) else 0
        left = self.nth
        for row in rows:
            if row[0] >= first and row[3] == self.event and matches(row, self.where):
                left -= 1
                if not left:
                    return row[0], row[1]
        return None


@dataclass(slots=True)
class Fork:
    """Another course from right before `steps[before]`."""

    title: dict[str, str]
    before: int
    steps: list[Step]
    expect: dict[str, Comparison]
    see: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Lesson:
    """The texts and pointers of a scenario."""

    predict: Prediction | None = None
    moment: Moment | None = None
    fork: Fork | None = None
    see: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    source: list[str] = field(default_factory=list)


def matches(row: Any, where: Mapping[str, str]) -> bool:
    """Whether a row of the journal has these parameters (`node`: the node that tells)."""
    return all(
        str(row[2] if name == "node" else row[5].get(name)) == value for name, value in where.items()
    )


def read_lesson(data: dict[str, Any], spec: RunSpec, steps: list[Step]) -> Lesson:
    """The lesson of a document; raises SpecError."""
    lesson = Lesson(see=texts(data.get("see"), ("see",)))
    why = checks.mapping(data.get("why"), ("why",), [*LANGUAGES, "source"])
    lesson.why = texts({key: one for key, one in why.items() if key != "source"}, ("why",))
    for index, one in enumerate(checks.items(why.get("source"), ("why", "source"))):
        lesson.source.append(checks.text(one, ("why", "source", index)))
    if "predict" in data:
        lesson.predict = _prediction(data["predict"], ("predict",), spec)
    if "moment" in data:
        lesson.moment = _moment(data["moment"], ("moment",), len(steps))
    if "fork" in data:
        lesson.fork = _fork(data["fork"], ("fork",), spec, steps)
    return lesson


def texts(value: Any, place: Place) -> dict[str, str]:
    """The same text in each language."""
    given = checks.mapping(value, place, LANGUAGES)
    return {language: checks.text(one, (*place, language)) for language, one in given.items()}


def _prediction(value: Any, place: Place, spec: RunSpec) -> Prediction:
    data = checks.mapping(value, place, ["ask", "choices"], ["ask", "choices"])
    choices = []
    for index, one in enumerate(checks.items(data["choices"], (*place, "choices"))):
        at = (*place, "choices", index)
        given = checks.mapping(one, at, ["text", "right"], ["text", "right"])
        choices.append(Choice(texts(given["text"], (*at, "text")), expectations(given["right"], (*at, "right"), spec)))
    if len(choices) < 2:
        raise SpecError((*place, "choices"), f"expected at least two choices, found {len(choices)}")
    return Prediction(texts(data["ask"], (*place, "ask")), choices)


def _moment(value: Any, place: Place, steps: int) -> Moment:
    data = checks.mapping(value, place, ["event", "where", "step", "nth"], ["event"])
    code = checks.choice(data["event"], (*place, "event"), list(REGISTRY))
    moment = Moment(code)
    for name, wanted in checks.mapping(data.get("where"), (*place, "where")).items():
        checks.choice(name, (*place, "where", name), ["node", *REGISTRY[code].params])
        moment.where[name] = str(wanted)
    if "step" in data:
        moment.step = checks.integer(data["step"], (*place, "step"), 0, max(0, steps - 1))
    if "nth" in data:
        moment.nth = checks.integer(data["nth"], (*place, "nth"), 1)
    return moment


def _fork(value: Any, place: Place, spec: RunSpec, steps: list[Step]) -> Fork:
    data = checks.mapping(value, place, ["title", "before", "steps", "expect", "see"], ["title", "steps"])
    before = checks.integer(data.get("before", 0), (*place, "before"), 0, max(0, len(steps) - 1))
    other = read_steps(data["steps"], (*place, "steps"), follow=True)
    check_names(other, spec, (*place, "steps"), steps[:before])
    expect = expectations(data.get("expect"), (*place, "expect"), spec)
    see = texts(data.get("see"), (*place, "see"))
    return Fork(texts(data["title"], (*place, "title")), before, other, expect, see)
