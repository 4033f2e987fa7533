"""Which scenario teaches what: rows of the feature table, scenarios, settings and events, both ways, as data.

```
trace()["rows"]["B3"]       {"scenarios": ["acks-0", ...], "settings": ["min.insync.replicas", ...], "events": [...]}
trace()["settings"]["acks"] ["acks-0", "acks-1", ...]
trace()["subjects"]         [{"subject": "durability", "title": {...}, "scenarios": ["acks-0", ...]}, ...]
trace()["missing"]          rows of A to E that no scenario teaches yet
```
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lab.scenarios import grammar
from lab.scenarios.expectations import event_filter
from lab.scenarios.grammar import Scenario
from lab.scenarios.subjects import grouped

COUNTS = {"A": 12, "B": 6, "C": 8, "D": 11, "E": 9}
ROWS = tuple(f"{part}{number}" for part, count in COUNTS.items() for number in range(1, count + 1))


def trace(scenarios: Iterable[Scenario] | None = None) -> dict[str, Any]:
    """The whole table, of the lab's own scenarios or of those given."""
    rows: dict[str, dict[str, list[str]]] = {row: {"scenarios": [], "settings": [], "events": []} for row in ROWS}
    lessons: dict[str, dict[str, Any]] = {}
    used: dict[str, list[str]] = {}
    events: dict[str, list[str]] = {}
    for scenario in scenarios if scenarios is not None else map(grammar.load, grammar.names()):
        lesson: dict[str, Any] = {
            "subject": scenario.subject, "title": scenario.title, "rows": scenario.teaches,
            "generations": list(scenario.generations),
            "settings": list(dict.fromkeys(settings(scenario.document))),
            "events": list(dict.fromkeys(_events(scenario))),
        }  # fmt: skip
        lessons[scenario.name] = lesson
        for row in scenario.teaches:
            _join(rows[row]["scenarios"], [scenario.name])
            _join(rows[row]["settings"], lesson["settings"])
            _join(rows[row]["events"], lesson["events"])
        for setting in lesson["settings"]:
            _join(used.setdefault(setting, []), [scenario.name])
        for code in lesson["events"]:
            _join(events.setdefault(code, []), [scenario.name])
    return {
        "subjects": grouped((name, lesson["subject"]) for name, lesson in lessons.items()),
        "rows": rows, "scenarios": lessons, "settings": dict(sorted(used.items())),
        "events": dict(sorted(events.items())), "missing": [row for row in ROWS if not rows[row]["scenarios"]],
    }  # fmt: skip


def _join(found: list[str], more: Iterable[str]) -> None:
    found.extend(one for one in more if one not in found)


def settings(value: Any) -> Iterator[str]:
    """Names of Kafka's settings anywhere in a document."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("settings", "configs", "set") and isinstance(one, dict):
                yield from one
            else:
                yield from settings(one)
    elif isinstance(value, list):
        for one in value:
            yield from settings(one)


def _events(scenario: Scenario) -> Iterator[str]:
    """Codes of the journal that a scenario looks at."""
    for name in (None, *scenario.variants):
        one = scenario if name is None else grammar.variant_of(scenario, name)
        for key in one.expect:
            if key.startswith("events."):
                yield event_filter(key.removeprefix("events."))[0]
        if one.lesson.moment is not None:
            yield one.lesson.moment.event
        yield from (stop.moment.event for stop in one.lesson.stops)
