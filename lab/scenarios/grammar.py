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
predict: ...   moment: ...   fork: ...   see: ...   why: ...         # `lesson`
```
`clusters: [...]` may stand for `cluster`. Errors name file, line and key, and say what was expected.

| part | module |
|---|---|
| cluster, topics, clients | `lab.clusters.spec` |
| steps, conditions, commands | `steps`, `conditions`, `lab.clusters.vocabulary` |
| expect | `expectations` |
| variants | `variants` |
| predict, moment, fork, see, why | `lesson` |
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lab.clusters import checks
from lab.clusters.checks import SpecError
from lab.clusters.spec import RunSpec, run_from_dict
from lab.scenarios import variants
from lab.scenarios.conditions import Comparison
from lab.scenarios.expectations import RECEIPT, expectations
from lab.scenarios.lesson import LESSON_KEYS, Lesson, read_lesson, texts
from lab.scenarios.reading import ScenarioError, line_of, read
from lab.scenarios.steps import Step, check_names, read_steps
from lab.scenarios.subjects import SUBJECTS
from lab.scenarios.times import duration_us

__all__ = ["RECEIPT", "Scenario", "ScenarioError", "Step", "find", "from_dict", "load", "names", "parse", "variant_of"]

HOME = Path(__file__).parent
SPEC_KEYS = ("cluster", "seed", "record_level", "epoch_ms", "topics", "clients")
KEYS = (
    "scenario", "title", "text", "teaches", "subject", "clusters", *SPEC_KEYS, "steps", "duration", "settle", "expect",
    "variants", "variant", *LESSON_KEYS,
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
    raise ScenarioError(name_or_path, 0, "", f"no such file or scenario, {checks.expected(name_or_path, names())}")


def load(name_or_path: str, variant: str | None = None) -> Scenario:
    """Read and check, all variants too; raises ScenarioError."""
    path = find(name_or_path)
    try:
        source = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ScenarioError(path.name, 1, "", str(error)) from None
    return parse(source, path.name, variant)


def parse(source: str, file: str, variant: str | None = None) -> Scenario:
    """Check the text of a scenario; raises ScenarioError."""
    tree, document = read(source, file)
    try:
        scenario = from_dict(document, Path(file).stem)
        return variant_of(scenario, variant) if variant else scenario
    except SpecError as error:
        raise ScenarioError(file, line_of(tree, error.place), checks.shown(error.place), error.reason) from None


# -- the document ---------------------------------------------------------------------------
def from_dict(document: Any, default_name: str = "scenario") -> Scenario:
    """Check a plain document and each of its variants; raises SpecError. REST and the screen come in here."""
    data = checks.mapping(document, (), KEYS)
    scenario = _read(data, default_name)
    variants.check_shape(data, KEYS)
    for name, one in checks.mapping(data.get("variants"), ("variants",)).items():
        scenario.variants[name] = texts((one or {}).get("title"), ("variants", name, "title"))
        if variant_of(scenario, name).lesson.fork is not None:
            variant_of(scenario, f"{name}/{variants.FORK}")
    if scenario.lesson.fork is not None:
        scenario.variants[variants.FORK] = scenario.lesson.fork.title
        variant_of(scenario, variants.FORK)
    return scenario


def variant_of(scenario: Scenario, variant: str) -> Scenario:
    """The same scenario with another setting, or another course (`fork`, `VARIANT/fork`); places of errors are
    those of the file."""
    document = variants.applied(scenario.document, variant)
    try:
        found = _read(document, scenario.name)
    except SpecError as error:
        raise SpecError(variants.place_in(scenario.document, variant, error.place), error.reason) from None
    found.variants = scenario.variants
    return found


def _read(data: dict[str, Any], default_name: str) -> Scenario:
    spec = run_from_dict({key: one for key, one in _one_cluster(data).items() if key in SPEC_KEYS})
    scenario = Scenario(default_name, data, spec)
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
    return scenario


def _one_cluster(data: dict[str, Any]) -> dict[str, Any]:
    """`clusters: [one]` is the same as `cluster: one`."""
    if "clusters" not in data:
        return data
    if "cluster" in data:
        raise SpecError(("clusters",), "expected one of cluster, clusters, found both")
    given = checks.items(data["clusters"], ("clusters",))
    if len(given) != 1:
        raise SpecError(("clusters",), f"expected one cluster, found {len(given)}: a world holds one")
    return {**data, "cluster": given[0]}
