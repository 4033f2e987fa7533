"""The trace: rows, lessons, exercises, questions, settings, events, metrics and tables, each with what it leads to.

```
trace()["rows"]["B3"]        {"title": {...}, "in_core": True, "scenarios": ["acks-0", ...], "exercises": [...],
                              "questions": [...], "settings": ["min.insync.replicas", ...], "events": [...],
                              "metrics": [...], "tables": ["isr_changes"]}
trace()["settings"]["acks"]  {"rows": ["C3", "E1"], "scenarios": ["acks-0", ...], "exercises": [...]}
trace()["metrics"]["IsrShrinksPerSec"]  {"rows": ["B3"], "scenarios": [...], "exercises": [...]}
trace()["subjects"]          [{"subject": "durability", "title": {...}, "scenarios": ["acks-0", ...]}, ...]
trace()["missing"]           rows of the core without a lesson, an exercise or question, an event or a table
```
A row's settings and events are those of its own and those that its lessons look at; a question is about what its lesson
is about.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from lab.clusters.spec import PROTECTIONS
from lab.exercises import reading as exercises
from lab.exercises.reading import Exercise
from lab.quizzes.questions import scenario_of
from lab.quizzes.reading import all_questions, standing_in
from lab.scenarios import grammar
from lab.scenarios.expectations import event_filter
from lab.scenarios.grammar import Scenario
from lab.scenarios.subjects import grouped
from lab.trace.rows import KINDS, Row, known, rows

TAUGHT_BY = ("scenarios", "exercises", "questions")
COLUMNS = (*TAUGHT_BY, *KINDS)

Plain = dict[str, Any]


def trace(scenarios: Iterable[Scenario] | None = None) -> Plain:
    """The whole table, of the lab's own scenarios or of those given."""
    lessons = {one.name: _lesson(one) for one in scenarios or map(scenario_of, grammar.names())}
    tasks = {name: _exercise(exercises.load(name)) for name in exercises.names()}
    asked = {one.name: _question(lessons[one.lesson], one.lesson, standing_in()[one.name])
             for one in all_questions().values() if one.lesson in lessons}  # fmt: skip
    table = {name: _row(row, lessons, tasks, asked) for name, row in rows().items()}
    return {
        "subjects": grouped((name, lesson["subject"]) for name, lesson in lessons.items()),
        "rows": table, "scenarios": lessons, "exercises": tasks, "questions": asked,
        **{kind: _back(kind, table, lessons, tasks) for kind in KINDS},
        "missing": [name for name, row in table.items() if row["in_core"] and lacking(row)],
    }  # fmt: skip


def lacking(row: Plain) -> list[str]:
    """What a row of the core ought to lead to and does not."""
    wanted = {"scenarios": row["scenarios"], "exercises or questions": row["exercises"] + row["questions"],
              "settings or metrics": row["settings"] + row["metrics"], "tables": row["tables"]}  # fmt: skip
    return [name for name, found in wanted.items() if not found]


def _row(row: Row, lessons: Plain, tasks: Plain, asked: Plain) -> Plain:
    """All that a row leads to."""
    taught = {kind: [name for name, one in of.items() if row.id in one["rows"]]
              for kind, of in zip(TAUGHT_BY, (lessons, tasks, asked), strict=True)}  # fmt: skip
    found: Plain = {"title": row.title, "in_core": row.in_core, **taught}
    by_lessons = [lessons[name] for name in taught["scenarios"]]
    for kind in KINDS:
        own = list(getattr(row, kind))
        found[kind] = _once([*own, *(name for one in by_lessons for name in one.get(kind, ()))])
    return found


def _back(kind: str, table: Plain, lessons: Plain, tasks: Plain) -> Plain:
    """From a setting, an event, a metric, a table to the rows that have it and to what uses it."""
    found: dict[str, Plain] = defaultdict(lambda: {"rows": [], "scenarios": [], "exercises": []})
    for row in rows().values():
        for name in getattr(row, kind):
            found[name]["rows"].append(row.id)
    for used_by, of in (("scenarios", lessons), ("exercises", tasks)):
        for user, one in of.items():
            for name in one.get(kind, ()):
                found[name][used_by].append(user)
    if kind in ("metrics", "tables"):  # lessons and exercises name none: those that teach the row show it
        for back in found.values():
            for used_by in ("scenarios", "exercises"):
                back[used_by] = _once(name for each in back["rows"] for name in table[each][used_by])
    order = {name: index for index, name in enumerate(known()[kind])}
    return {name: found[name] for name in sorted(found, key=lambda name: (order.get(name, len(order)), name))}


def _once(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))


# -- what is taught -------------------------------------------------------------------------
def _lesson(scenario: Scenario) -> Plain:
    return {
        "subject": scenario.subject, "title": scenario.title, "rows": scenario.teaches,
        "generations": list(scenario.generations),
        "settings": _once(settings(scenario.document)), "events": _once(_events(scenario)),
    }  # fmt: skip


def _exercise(exercise: Exercise) -> Plain:
    moved = [lever.path[-1] for lever in exercise.levers.sets.values() if lever.path[-2] in ("settings", "configs")]
    return {"title": exercise.title, "rows": exercise.teaches, "lesson": exercise.lesson,
            "settings": _once([*moved, *settings(exercise.start)]),
            "events": _once([*_expected(exercise.goals), *_decided(exercise.start)])}  # fmt: skip


def _question(lesson: Plain, name: str, quiz: str) -> Plain:
    return {"lesson": name, "quiz": quiz, "rows": lesson["rows"]}


def settings(value: Any) -> Iterator[str]:
    """Names of Kafka's settings anywhere in a document (a protection that is set is none)."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key in ("settings", "configs", "set") and isinstance(one, dict):
                yield from (name for name in one if name not in PROTECTIONS)
            else:
                yield from settings(one)
    elif isinstance(value, list):
        for one in value:
            yield from settings(one)


def _events(scenario: Scenario) -> Iterator[str]:
    """Codes of the journal that a scenario looks at."""
    for name in (None, *scenario.variants):
        one = scenario if name is None else grammar.variant_of(scenario, name)
        yield from _expected(one.expect)
        if one.lesson.moment is not None:
            yield one.lesson.moment.event
        yield from (stop.moment.event for stop in one.lesson.stops)


def _expected(goals: Iterable[str]) -> Iterator[str]:
    for key in goals:
        if key.startswith("events."):
            yield event_filter(key.removeprefix("events."))[0]


def _decided(start: Plain) -> Iterator[str]:
    if "moment" in start:
        yield start["moment"]["event"]
