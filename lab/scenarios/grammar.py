"""The scenario grammar: one YAML file, one lesson.

```yaml
scenario: acks-1                      # its name
title: {en: ..., ko: ...}
text: {en: ..., ko: ...}
teaches: [B3, E1]                     # rows of the feature table
cluster: {brokers: 3, preset: teaching}
seed: 7
topics: [{name: orders, partitions: 1, replication_factor: 3}]
clients: [{name: producer-orders, kind: producer, topic: orders, rate: 200, settings: {acks: 1}}]
steps:
  - {at: 5s, do: kill, leader_of: orders-0}
  - {when: {leader_of: orders-0, is: changed}, do: restart, broker: 1}
  - {after: 2s, do: stop_all_faults}
duration: 20s
expect: {receipt.lost: ">= 1"}
```
Steps follow one another. `at` counts from the start of the clients, `after` from the step before, `when` waits
for a condition (at most `within`, 60 s if it does not say). Errors name file, line and key.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.spec import RunSpec, run_from_dict
from lab.clusters.vocabulary import check_command
from lab.scenarios.conditions import Comparison, Condition, comparison, condition

HOME = Path(__file__).parent
LANGUAGES = ("en", "ko")
SPEC_KEYS = ("cluster", "seed", "record_level", "epoch_ms", "topics", "clients")
KEYS = ("scenario", "title", "text", "teaches", *SPEC_KEYS, "steps", "duration", "settle", "expect")
STEP_KEYS = ("at", "after", "when", "within")
WITHIN_US = 60_000_000
LONGEST = 1_000_000
_TIME = re.compile(r"^(\d+(?:\.\d+)?)\s*(us|ms|s|m|)$")
_UNITS = {"us": 1, "ms": 1_000, "s": 1_000_000, "": 1_000_000, "m": 60_000_000}
RECEIPT = ("acked", "read", "lost", "duplicated", "reordered")
RECEIPT_MORE = ("lost_writes", "unseen", "inconsistent", "failed_read", "unknown", "unknown_read")


class _Loader(yaml.SafeLoader):
    """Plain data only. Aliases are refused: a few lines of them can stand for gigabytes."""

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            event = self.peek_event()
            raise yaml.composer.ComposerError(None, None, "aliases are not allowed", event.start_mark)
        return super().compose_node(parent, index)


class ScenarioError(ValueError):
    """A scenario file that is not one: `file:line: key: what was expected`."""

    def __init__(self, file: str, line: int, place: str, reason: str) -> None:
        super().__init__(f"{file}:{line}: {place}: {reason}" if place else f"{file}:{line}: {reason}")
        self.file = file
        self.line = line
        self.place = place
        self.reason = reason


@dataclass(slots=True)
class Step:
    """When, and which command. Exactly one of `at_us`, `after_us`, `when` counts."""

    command: dict[str, Any]
    at_us: int | None = None
    after_us: int | None = None
    when: Condition | None = None
    within_us: int = WITHIN_US


@dataclass(slots=True)
class Scenario:
    """A checked scenario; `document` is the plain form that it was read from."""

    name: str
    document: dict[str, Any]
    spec: RunSpec
    title: dict[str, str] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    teaches: list[str] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    duration_us: int = 10_000_000
    settle_us: int = 120_000_000
    expect: dict[str, Comparison] = field(default_factory=dict)


# -- files ----------------------------------------------------------------------------------
def names() -> list[str]:
    """Scenarios that come with the lab."""
    return sorted(path.stem for path in HOME.glob("*.yaml"))


def find(name_or_path: str) -> Path:
    """A file, or one that comes with the lab by its name."""
    path = Path(name_or_path)
    if path.is_file():
        return path
    own = HOME / f"{name_or_path}.yaml"
    if own.is_file():
        return own
    raise ScenarioError(name_or_path, 1, "", f"no such file or scenario, {checks.expected(name_or_path, names())}")


def load(name_or_path: str) -> Scenario:
    """Read and check; raises ScenarioError."""
    path = find(name_or_path)
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(path.name, 1, "", str(error)) from None
    return parse(source, path.name)


def parse(source: str, file: str) -> Scenario:
    """Check the text of a scenario; raises ScenarioError."""
    if len(source) > LONGEST:
        raise ScenarioError(file, 1, "", f"{len(source)} characters, expected at most {LONGEST}")
    try:
        tree = yaml.compose(source, Loader=_Loader)
        document = yaml.load(source, Loader=_Loader)
    except RecursionError:
        raise ScenarioError(file, 1, "", "nested too deeply") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ScenarioError(file, mark.line + 1 if mark else 1, "", f"not YAML: {error.problem}") from None
    except yaml.YAMLError as error:
        raise ScenarioError(file, 1, "", f"not YAML: {error}") from None
    if tree is not None:
        _no_key_twice(tree, (), file)
    try:
        return from_dict(document, Path(file).stem)
    except SpecError as error:
        raise ScenarioError(file, line_of(tree, error.place), checks.shown(error.place), error.reason) from None


def line_of(tree: yaml.Node | None, place: Place) -> int:
    """The line of a place, or of the innermost part of it that is there."""
    line = 1
    node = tree
    for part in place:
        found: tuple[yaml.Node, yaml.Node] | None = None
        if isinstance(node, yaml.MappingNode):
            found = next((pair for pair in node.value if pair[0].value == str(part)), None)
        elif isinstance(node, yaml.SequenceNode) and isinstance(part, int) and part < len(node.value):
            found = (node.value[part], node.value[part])
        if found is None:
            break
        line = found[0].start_mark.line + 1
        node = found[1]
    return line


def _no_key_twice(node: yaml.Node, place: Place, file: str) -> None:
    if isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _no_key_twice(item, (*place, index), file)
    elif isinstance(node, yaml.MappingNode):
        seen: dict[str, None] = {}
        for key, value in node.value:
            name = str(key.value)
            at = (*place, name)
            if name in seen:
                raise ScenarioError(file, key.start_mark.line + 1, checks.shown(at), f"key {name!r} is there twice")
            seen[name] = None
            _no_key_twice(value, at, file)


# -- the document ---------------------------------------------------------------------------
def from_dict(document: Any, default_name: str = "scenario") -> Scenario:
    """Check a plain document; raises SpecError. REST and the screen come in here."""
    data = checks.mapping(document, (), KEYS)
    spec = run_from_dict({key: data[key] for key in SPEC_KEYS if key in data})
    scenario = Scenario(default_name, data, spec)
    if "scenario" in data:
        scenario.name = checks.text(data["scenario"], ("scenario",))
    scenario.title = _texts(data.get("title"), ("title",))
    scenario.text = _texts(data.get("text"), ("text",))
    for index, row in enumerate(checks.items(data.get("teaches"), ("teaches",))):
        scenario.teaches.append(checks.text(row, ("teaches", index)))
    for index, one in enumerate(checks.items(data.get("steps"), ("steps",))):
        scenario.steps.append(_step(one, ("steps", index)))
    if "duration" in data:
        scenario.duration_us = duration_us(data["duration"], ("duration",))
    if "settle" in data:
        scenario.settle_us = duration_us(data["settle"], ("settle",))
    for key, value in checks.mapping(data.get("expect"), ("expect",)).items():
        scenario.expect[key] = _expectation(key, value, spec)
    _check_names(scenario)
    return scenario


def _texts(value: Any, place: Place) -> dict[str, str]:
    """The same text in each language."""
    given = checks.mapping(value, place, LANGUAGES)
    return {language: checks.text(one, (*place, language)) for language, one in given.items()}


def _step(value: Any, place: Place) -> Step:
    given = checks.mapping(value, place)
    if "do" not in given:
        raise SpecError(place, "key 'do' is missing")
    step = Step(check_command({key: one for key, one in given.items() if key not in STEP_KEYS}, place))
    found = [key for key in ("at", "after", "when") if key in given]
    if len(found) != 1:
        raise SpecError(place, f"expected exactly one of at, after, when, found {len(found)}")
    if "at" in given:
        step.at_us = duration_us(given["at"], (*place, "at"))
    elif "after" in given:
        step.after_us = duration_us(given["after"], (*place, "after"))
    else:
        step.when = condition(given["when"], (*place, "when"))
    if "within" in given:
        step.within_us = duration_us(given["within"], (*place, "within"))
    return step


def duration_us(value: Any, place: Place) -> int:
    """`5s`, `500ms`, `2m`; a bare number is seconds."""
    match = _TIME.match(str(value)) if not isinstance(value, bool) else None
    if match is None:
        raise SpecError(place, f"{value!r}: expected a time, as in 500ms, 5s or 2m")
    return int(float(match[1]) * _UNITS[match[2]])


def _expectation(key: str, value: Any, spec: RunSpec) -> Comparison:
    """`receipt.lost`, `receipt.lost_writes`, `receipt.producers.NAME.lost`."""
    place: Place = ("expect", key)
    parts = key.split(".")
    if parts[0] != "receipt":
        raise SpecError(place, f"unknown expectation {key!r}, expected receipt.<figure>")
    if len(parts) == 2:
        checks.choice(parts[1], place, (*RECEIPT, *RECEIPT_MORE))
    elif len(parts) == 4 and parts[1] == "producers":
        started = [step for step in spec.clients if step.kind == "producer"]
        checks.choice(parts[2], place, [client.name for client in started])
        checks.choice(parts[3], place, RECEIPT)
    else:
        raise SpecError(place, f"{key!r}: expected receipt.<figure> or receipt.producers.NAME.<figure>")
    return comparison(value, place)


def _check_names(scenario: Scenario) -> None:
    """Commands that name a broker, a client or a topic name one that can be there."""
    brokers = [broker.id for broker in scenario.spec.cluster.brokers]
    clients = [client.name for client in scenario.spec.clients]
    topics = [topic.name for topic in scenario.spec.topics]
    for index, step in enumerate(scenario.steps):
        command, place = step.command, ("steps", index)
        name = command["do"]
        if name == "create_topic":
            topics.append(command["topic"])
        elif name == "start_client" and len(command) > 2:
            clients.append(command["name"])
        elif name in ("start_client", "stop_client", "set_client"):
            checks.choice(command["name"], (*place, "name"), clients)
        elif name in ("delete_topic", "add_partitions"):
            checks.choice(command["topic"], (*place, "topic"), topics)
        if "broker" in command and command["broker"] not in brokers:
            expected = checks.expected(str(command["broker"]), [str(one) for one in brokers])
            raise SpecError((*place, "broker"), f"there is no broker {command['broker']}, {expected}")
        if "leader_of" in command:
            checks.choice(command["leader_of"].rpartition("-")[0], (*place, "leader_of"), topics)
