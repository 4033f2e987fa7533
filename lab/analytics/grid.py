"""The grid of a sweep: settings with several values, put into a scenario one combination at a time.

| key | goes to |
|---|---|
| `acks`, `linger.ms`, ... | settings of every producer |
| `max.poll.records`, ... | settings of every consumer |
| `min.insync.replicas`, ... | settings of the cluster's brokers |
| `retention.ms`, ... (only topics have it) | configs of every topic |
| `rate`, `size`, `keys` | every producer |
| `controller` (or `cluster.controller`) | the scenario as it is in that generation of Kafka |
| `era` (or `cluster.era`) | the scenario with the defaults of that time (2.x, 3.9, 4.3): `lab.clusters.eras` |
| `cluster.link_delay_ms`, `duration`, `topics.0.partitions` | that place of the file |

Underscores stand for dots in the names of settings: `min_insync_replicas`.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from broker_core.clients.settings import ConsumerSettings, ProducerSettings, names
from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import problem
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from lab.analytics.errors import AnalyticsError
from lab.clusters.checks import SpecError
from lab.scenarios import generations, grammar, reading
from lab.scenarios.grammar import ScenarioError

MOST_CELLS = 100
GENERATION = "cluster.controller"
ERA = "cluster.era"
SHORT = {"controller": GENERATION, "era": ERA}
"""What `run` calls them."""
GRID, SEEDS = "--grid", "--seeds"  # options of the shell, where others have keys of a body
_CLIENT_FIELDS = ("rate", "size", "keys")
MOST_SEEDS = 100_000
LARGEST_SEED = (1 << 62) - 1


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination: its values by key, and the scenario's document with them in it."""

    values: dict[str, str]
    document: dict[str, Any]

    @property
    def name(self) -> str:
        """`acks=1,min.insync.replicas=2`, or `all` for a grid without keys."""
        return ",".join(f"{key}={value}" for key, value in self.values.items()) or "all"


def parse_grid(given: Sequence[str]) -> dict[str, list[str]]:
    """`["acks=0,1,all"]` as {"acks": ["0", "1", "all"]}; raises AnalyticsError."""
    grid: dict[str, list[str]] = {}
    for text in given:
        key, equals, values = text.partition("=")
        chosen = list(dict.fromkeys(value.strip() for value in values.split(",") if value.strip()))
        key = SHORT.get(key.strip(), key.strip())
        if not equals or not key or not chosen:
            raise AnalyticsError(problem("expected_grid", given=text), GRID)
        if key in grid:
            raise AnalyticsError(problem("grid_key_twice", given=text, key=key), GRID)
        grid[key] = chosen
    return grid


def parse_seeds(text: str, most: int = MOST_SEEDS) -> list[int]:
    """`1..500`, `3,7,9` or both; raises AnalyticsError. Seeds are counted before they are made."""
    try:
        parts = [[int(end) for end in part.split("..", 1)] for part in text.split(",")]
    except ValueError:
        raise AnalyticsError(problem("expected_seeds", given=text), SEEDS) from None
    for part in parts:
        if part[0] > part[-1]:
            raise AnalyticsError(problem("seeds_backwards", given=text, begin=part[0], end=part[-1]), SEEDS)
        if not 0 <= part[0] <= part[-1] <= LARGEST_SEED:
            raise AnalyticsError(problem("seed_too_large", given=text), SEEDS)
    count = sum(part[-1] - part[0] + 1 for part in parts)
    if count > most:
        raise AnalyticsError(problem("too_many_seeds", given=text, n=count, most=most), SEEDS)
    return list(dict.fromkeys(seed for part in parts for seed in range(part[0], part[-1] + 1)))


def cells(scenario: str, grid: dict[str, list[str]]) -> list[Cell]:
    """Every combination, each checked as a scenario; raises AnalyticsError. They are counted before they are made."""
    _count(grid)
    try:
        document = grammar.load(scenario).document
    except ScenarioError as error:
        raise AnalyticsError(what_of(error)) from None
    return cells_of(document, grid)


def _count(grid: dict[str, list[str]]) -> None:
    count = math.prod(map(len, grid.values()))
    if count > MOST_CELLS:
        raise AnalyticsError(problem("too_many_cells", n=count, most=MOST_CELLS), f"{GRID}:")


def cells_of(document: dict[str, Any], grid: dict[str, list[str]]) -> list[Cell]:
    """The same of a scenario's document that was checked already."""
    _count(grid)
    grid = {SHORT.get(key, key): values for key, values in grid.items()}
    found = []
    for combination in itertools.product(*grid.values()):
        values = dict(zip(grid, combination))
        try:
            changed = _in_generation(document, values)
            grammar.from_dict(copy.deepcopy(changed))
        except SpecError as error:
            named = ", ".join(f"{key}={value}" for key, value in values.items())
            raise AnalyticsError(problem("wrong_in", place=named, what=what_of(error))) from None
        found.append(Cell(values, changed))
    return found


def _in_generation(document: dict[str, Any], values: dict[str, str]) -> dict[str, Any]:
    """A copy with all values in it; generation and era come first, since they bring settings of their own."""
    changes = {key.partition(".")[2]: values[key] for key in (GENERATION, ERA) if key in values}
    changed: dict[str, Any] = generations.alone(copy.deepcopy(grammar.with_cluster(document, changes)))
    changed.pop("expect", None)
    for key, value in values.items():
        if key not in (GENERATION, ERA):
            put(changed, key, value)
    return changed


def put(document: dict[str, Any], key: str, value: str) -> None:
    """Put a value where its key belongs; raises AnalyticsError for a key that belongs nowhere."""
    setting = key.replace("_", ".")
    clients = document.get("clients") or []
    producers = [one for one in clients if one.get("kind") == "producer"]
    consumers = [one for one in clients if one.get("kind") == "consumer"]
    if setting in names(ProducerSettings) and producers:
        _into(producers, "settings", setting, value)
    elif setting in names(ConsumerSettings) and consumers:
        _into(consumers, "settings", setting, value)
    elif setting in BROKER_SETTINGS:
        _into([document.setdefault("cluster", {})], "settings", setting, value)
    elif setting in TOPIC_SETTINGS:
        _into(document.get("topics") or [], "configs", setting, value)
    elif key in _CLIENT_FIELDS:
        for client in producers:
            client[key] = reading.value(value)
    else:
        _at(document, key, value)


def _into(places: list[dict[str, Any]], under: str, setting: str, value: str) -> None:
    for place in places:
        place.setdefault(under, {})[setting] = value


def _at(document: dict[str, Any], key: str, value: str) -> None:
    *path, last = key.split(".")
    here: Any = document
    try:
        for part in path:
            here = here[int(part)] if isinstance(here, list) else here.setdefault(part, {})
        if path or last in grammar.KEYS:
            here[int(last) if isinstance(here, list) else last] = reading.value(value)
            return
    except (IndexError, ValueError, TypeError, AttributeError):
        pass
    raise AnalyticsError(problem("no_place_of_grid", key=key), GRID)
