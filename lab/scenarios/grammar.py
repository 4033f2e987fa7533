"""The scenario grammar: one YAML file, one lesson.

```yaml
scenario: acks-1                      # its name
title: {en: ..., ko: ...}
text: {en: ..., ko: ...}
teaches: [B3, E1]                     # rows of the feature table
subject: durability                   # `subjects`: the group under which lists show it
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
variants: {safe: {title: {en: ..., ko: ...}, expect: {receipt.lost: 0}}}
predict: ...   moment: ...   stops: ...   fork: ...   see: ...   why: ...         # `lesson`
generations: [zookeeper, kraft]       # in which it holds: `generations`
```
Those that come with the lab stand in `lessons/`, apart from the code, and are read as anybody's file is.
`clusters: [...]` may stand for `cluster`. Errors name file, line and key, and say what was expected.

| part | module |
|---|---|
| cluster, topics, clients | `lab.clusters.spec` |
| steps, conditions, commands | `steps`, `conditions`, `lab.clusters.vocabulary` |
| expect | `expectations` |
| variants | `variants` |
| generations | `generations` |
| predict | `predictions` |
| moment, stops | `moments`, `stops` |
| fork, see, why | `lesson` |
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import problem
from lab.clusters import checks, eras
from lab.clusters.checks import SpecError
from lab.clusters.spec import CONTROLLERS, RunSpec, run_from_dict
from lab.scenarios import generations, spread, variants
from lab.scenarios.conditions import Comparison
from lab.scenarios.expectations import RECEIPT, expectations
from lab.scenarios.lesson import LESSON_KEYS, Lesson, read_lesson
from lab.scenarios.predictions import texts
from lab.scenarios.reading import ScenarioError, line_of, read
from lab.scenarios.steps import Step, check_names, read_steps
from lab.scenarios.subjects import SUBJECTS
from lab.scenarios.times import duration_us

__all__ = ["RECEIPT", "Scenario", "ScenarioError", "Step", "find", "from_dict", "load", "names", "parse", "variant_of"]

HOME = Path(__file__).parent / "lessons"
SPEC_KEYS = ("cluster", "seed", "record_level", "epoch_ms", "topics", "clients")
KEYS = (
    "scenario", "title", "text", "teaches", "subject", "clusters", *SPEC_KEYS, "steps", "duration", "settle", "expect",
    "variants", "variant", generations.KEY, *LESSON_KEYS,
)  # fmt: skip


@dataclass(slots=True)
class Scenario:
    """A checked scenario; `document` is the plain form that it was read from."""

    name: str
    document: dict[str, Any]
    spec: RunSpec
    title: dict[str, str] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    teaches: list[str] = field(default_factory=list)
    subject: str = ""
    steps: list[Step] = field(default_factory=list)
    duration_us: int = 10_000_000
    settle_us: int = 120_000_000
    expect: dict[str, Comparison] = field(default_factory=dict)
    lesson: Lesson = field(default_factory=Lesson)
    variant: str = ""
    variants: dict[str, dict[str, str]] = field(default_factory=dict)
    generations: dict[str, dict[str, str]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    """Keys of figures that somebody wants beside those of the file: questions about its run."""

    @property
    def generation(self) -> str:
        """That of its controllers."""
        return self.spec.cluster.controller


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
    if own.is_file() and own.parent == HOME:
        return own
    raise ScenarioError(name_or_path, 0, "", problem("no_file", expected=checks.expected(name_or_path, names())))


def load(name_or_path: str, variant: str | None = None, cluster: Mapping[str, Any] | None = None) -> Scenario:
    """Read and check, all variants too; raises ScenarioError. `cluster`: keys that take the place of the file's."""
    path = find(name_or_path)
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(path.name, 1, "", what_of(error)) from None
    if path.parent != HOME:
        return parse(source, path.name, variant, cluster)
    scenario: Scenario = pickle.loads(_parsed(source, path.name, json.dumps(dict(cluster or {}))))
    try:
        return variant_of(scenario, variant) if variant else scenario
    except SpecError:
        return parse(source, path.name, variant, cluster)  # which knows the line


@lru_cache(maxsize=512)
def _parsed(source: str, file: str, cluster: str) -> bytes:
    """A lesson that comes with the lab, checked with all its variants, forks and generations: seventy times what a copy
    takes, and a page, its exercises and its questions ask for the same ones again and again."""
    return pickle.dumps(parse(source, file, None, json.loads(cluster)))


def parse(
    source: str, file: str, variant: str | None = None, cluster: Mapping[str, Any] | None = None
) -> Scenario:
    """Check the text of a scenario; raises ScenarioError."""
    tree, document = read(source, file)
    try:
        scenario = from_dict(with_cluster(document, cluster), Path(file).stem)
        return variant_of(scenario, variant) if variant else scenario
    except SpecError as error:
        raise ScenarioError(file, line_of(tree, error.place), error.where, error.problem) from None


def document(name: str) -> dict[str, Any]:
    """A lesson that comes with the lab as its file has it, not checked: for who wants to know what there is."""
    found: dict[str, Any] = read(find(name).read_text(encoding="utf-8"), f"{name}.yaml")[1]
    return found


def first_sight(name: str) -> Scenario:
    """A lesson that comes with the lab as a list of all shows it: what its variants change is not looked at."""
    return from_dict(document(name), name, whole=False)


# -- the document ---------------------------------------------------------------------------
def from_dict(document: Any, default_name: str = "scenario", *, whole: bool = True) -> Scenario:
    """Check a plain document, each of its variants, and all that in each generation (unless it is not to be `whole`);
    raises SpecError. REST and the screen come in here."""
    data = checks.mapping(document, (), KEYS)
    scenario = _read(data, default_name)
    for name in scenario.generations:
        if whole and name != scenario.generation:
            _check_generation(data, name, default_name)
    variants.check_shape(data, KEYS)
    for name, one in checks.mapping(data.get("variants"), ("variants",)).items():
        scenario.variants[name] = texts((one or {}).get("title"), ("variants", name, "title"))
        if whole and variant_of(scenario, name).lesson.fork is not None:
            variant_of(scenario, f"{name}/{variants.FORK}")
    if scenario.lesson.fork is not None:
        scenario.variants[variants.FORK] = scenario.lesson.fork.title
        if whole:
            variant_of(scenario, variants.FORK)
    return scenario


def _check_generation(data: dict[str, Any], generation: str, default_name: str) -> None:
    try:
        from_dict(generations.applied(data, generation, KEYS), default_name)
    except SpecError as error:
        raise SpecError(generations.place_in(data, generation, error.place), error.problem) from None


def with_cluster(document: Any, changes: Mapping[str, Any] | None) -> Any:
    """The document with other keys of its cluster: `{"controller": "kraft"}` for today's generation of Kafka, with all
    that the document says of it. Raises SpecError where it does not hold there."""
    if not changes:
        return document
    if "era" in changes and "controller" not in changes:
        era = checks.choice(changes["era"], ("cluster", "era"), eras.NAMES)
        changes = {"controller": eras.controller(era), **changes}
    one = {key: value for key, value in _one_cluster(checks.mapping(document, ())).items() if key != "clusters"}
    checks.mapping(one.get("cluster"), ("cluster",))
    if "controller" in changes:
        generation = checks.choice(changes["controller"], ("cluster", "controller"), CONTROLLERS)
        one = generations.applied(one, generation, KEYS)
    return {**one, "cluster": {**(one.get("cluster") or {}), **changes}}


def variant_of(scenario: Scenario, variant: str) -> Scenario:
    """The same scenario with another setting, or another course (`fork`, `VARIANT/fork`); places of errors are
    those of the file."""
    document = generations.alone(variants.applied(scenario.document, variant))
    try:
        found = _read(document, scenario.name)
    except SpecError as error:
        raise SpecError(variants.place_in(scenario.document, variant, error.place), error.problem) from None
    found.variants, found.generations = scenario.variants, scenario.generations
    return found


def drawn(scenario: Scenario) -> tuple[Scenario, dict[str, Any]]:
    """The scenario with the values that its seed gives to what has a spread, and these values by their places; the
    document keeps the spreads."""
    document, values = spread.drawn(scenario.document, scenario.spec.seed)
    if not values:
        return scenario, values
    found = _read(document, scenario.name)
    found.document, found.variants, found.spec.seed = scenario.document, scenario.variants, scenario.spec.seed
    found.asked = scenario.asked
    return found, values


def _read(document: dict[str, Any], default_name: str) -> Scenario:
    data = spread.middle(document)
    for edge in spread.edges(document):
        _spec_of(edge)
        read_steps(edge.get("steps"), ("steps",))
    spec = _spec_of(data)
    scenario = Scenario(default_name, document, spec)
    if "scenario" in data:
        scenario.name = checks.text(data["scenario"], ("scenario",))
    if "variant" in data:
        scenario.variant = checks.text(data["variant"], ("variant",))
    scenario.title = texts(data.get("title"), ("title",))
    scenario.text = texts(data.get("text"), ("text",))
    for index, row in enumerate(checks.items(data.get("teaches"), ("teaches",))):
        scenario.teaches.append(checks.text(row, ("teaches", index)))
    if "subject" in data:
        scenario.subject = checks.choice(data["subject"], ("subject",), SUBJECTS)
    scenario.steps = read_steps(data.get("steps"), ("steps",))
    if "duration" in data:
        scenario.duration_us = duration_us(data["duration"], ("duration",))
    if "settle" in data:
        scenario.settle_us = duration_us(data["settle"], ("settle",))
    scenario.expect = expectations(data.get("expect"), ("expect",), spec)
    check_names(scenario.steps, spec, ("steps",))
    scenario.lesson = read_lesson(data, spec, scenario.steps)
    scenario.generations = generations.told(generations.declared(_one_cluster(data), KEYS))
    return scenario


def _spec_of(data: dict[str, Any]) -> RunSpec:
    return run_from_dict({key: one for key, one in _one_cluster(data).items() if key in SPEC_KEYS})


def _one_cluster(data: dict[str, Any]) -> dict[str, Any]:
    """`clusters: [one]` is the same as `cluster: one`."""
    if "clusters" not in data:
        return data
    if "cluster" in data:
        raise SpecError(("clusters",), problem("cluster_and_clusters"))
    given = checks.items(data["clusters"], ("clusters",))
    if len(given) != 1:
        raise SpecError(("clusters",), problem("one_cluster", n=len(given)))
    return {**data, "cluster": given[0]}
