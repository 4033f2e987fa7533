"""What turns a run into a lesson: a prediction, the moment that mattered, another course, what is seen and why.

```yaml
predict: {ask: {...}, choices: [...]}       # asked before the run, which decides what is right: `predictions`
moment: {event: leader_elected, where: {topic: orders}, step: 1}     # the first one from steps[1] on: `moments`
stops: [{event: isr_shrunk, say: {en: ..., ko: ...}}, ...]           # where its playing stands still: `stops`
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

from dataclasses import dataclass, field
from typing import Any

from lab.clusters import checks
from lab.clusters.checks import Place
from lab.clusters.spec import RunSpec
from lab.scenarios.conditions import Comparison
from lab.scenarios.expectations import expectations
from lab.scenarios.moments import MOMENT_KEYS, Moment, read_moment
from lab.scenarios.predictions import LANGUAGES, Prediction, read_prediction, texts
from lab.scenarios.steps import Step, check_names, read_steps
from lab.scenarios.stops import Stop, read_stops

LESSON_KEYS = ("predict", "moment", "stops", "fork", "see", "why")


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
    stops: list[Stop] = field(default_factory=list)
    fork: Fork | None = None
    see: dict[str, str] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    source: list[str] = field(default_factory=list)


def read_lesson(data: dict[str, Any], spec: RunSpec, steps: list[Step]) -> Lesson:
    """The lesson of a document; raises SpecError."""
    lesson = Lesson(see=texts(data.get("see"), ("see",)))
    why = checks.mapping(data.get("why"), ("why",), [*LANGUAGES, "source"])
    lesson.why = texts({key: one for key, one in why.items() if key != "source"}, ("why",))
    for index, one in enumerate(checks.items(why.get("source"), ("why", "source"))):
        lesson.source.append(checks.text(one, ("why", "source", index)))
    if "predict" in data:
        lesson.predict = read_prediction(data["predict"], ("predict",), spec)
    if "moment" in data:
        at = checks.mapping(data["moment"], ("moment",), MOMENT_KEYS, ["event"])
        lesson.moment = read_moment(at, ("moment",), len(steps))
    lesson.stops = read_stops(data.get("stops"), ("stops",), len(steps))
    if "fork" in data:
        lesson.fork = _fork(data["fork"], ("fork",), spec, steps)
    return lesson


def _fork(value: Any, place: Place, spec: RunSpec, steps: list[Step]) -> Fork:
    data = checks.mapping(value, place, ["title", "before", "steps", "expect", "see"], ["title", "steps"])
    before = checks.integer(data.get("before", 0), (*place, "before"), 0, max(0, len(steps) - 1))
    other = read_steps(data["steps"], (*place, "steps"), follow=True)
    check_names(other, spec, (*place, "steps"), steps[:before])
    expect = expectations(data.get("expect"), (*place, "expect"), spec)
    see = texts(data.get("see"), (*place, "see"))
    return Fork(texts(data["title"], (*place, "title")), before, other, expect, see)
