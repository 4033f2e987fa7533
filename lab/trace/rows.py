"""Rows A to E of the table of features (`rows.yaml`), and what the lab has of each.

```yaml
A3:
  title: {en: Election of the controller, ko: 컨트롤러 선출}
  events: [controller_elected, ...]     # codes of the journal: the core tells of it; without any it is not there
  settings: [...]    metrics: [...]     # of brokers, topics, built-in clients; last parts of Kafka's names of metrics
  tables: [control_requests]            # of a replay
```
`*` in a setting's name stands for any part of it. A name that nobody knows is refused with its place.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import Any

from broker_core.kernel.events import REGISTRY
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.analytics.schemas import TABLES
from lab.clusters import checks
from lab.clusters.checks import Place, SpecError
from lab.clusters.meanings import of_clients
from lab.clusters.metrics_registry import REGISTRY as METRICS
from lab.scenarios.predictions import texts
from lab.scenarios.reading import ScenarioError, line_of, read

FILE = Path(__file__).with_suffix(".yaml")
PARTS = {"A": "cluster", "B": "replication", "C": "requests", "D": "storage", "E": "clients"}
KINDS = ("events", "settings", "metrics", "tables")


@dataclass(frozen=True, slots=True)
class Row:
    """A feature. Invariant: all its names are known."""

    id: str
    title: dict[str, str]
    events: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()

    @property
    def in_core(self) -> bool:
        """Whether the core does anything of it: then its journal has words for it."""
        return bool(self.events)


@cache
def rows() -> dict[str, Row]:
    """All rows by their ids; raises ScenarioError."""
    return parse(FILE.read_text(encoding="utf-8"))


def parse(source: str) -> dict[str, Row]:
    """Check the text of the table; raises ScenarioError."""
    tree, document = read(source, FILE.name)
    try:
        return {name: _row(name, one) for name, one in checks.mapping(document, ()).items()}
    except SpecError as error:
        raise ScenarioError(FILE.name, line_of(tree, error.place), error.where, error.problem) from None


def _row(name: str, value: Any) -> Row:
    data = checks.mapping(value, (name,), ["title", *KINDS], ["title"])
    found = {kind: tuple(dict.fromkeys(_names(data.get(kind), (name, kind), known()[kind]))) for kind in KINDS}
    return Row(name, texts(data["title"], (name, "title")), **found)


def _names(value: Any, place: Place, known: Collection[str]) -> Iterator[str]:
    for index, one in enumerate(checks.items(value, place)):
        pattern = checks.text(one, (*place, index))
        matching = [name for name in known if fnmatchcase(name, pattern)]
        yield from matching or [checks.choice(pattern, (*place, index), list(known))]


@cache
def known() -> dict[str, list[str]]:
    """What each kind of name may be."""
    return {
        "events": list(REGISTRY), "settings": list(dict.fromkeys([*BROKER_SETTINGS, *TOPIC_SETTINGS, *of_clients()])),
        "metrics": [full.rpartition("name=")[2] for full in METRICS], "tables": list(TABLES),
    }  # fmt: skip
