"""What the reference answers, as the description (OpenAPI) shows it: settings, codes of events, commands."""

from __future__ import annotations

from typing import Literal

from web.api.answers_broker import ThenAndNow
from web.api.answers_bytes import Closed


class SettingMeant(Closed):
    """A setting of brokers or topics: `default` of 3.9, `default_4` of 4.x; `changes` of a broker's, `broker_settings`
    (those that it stands in for) of a topic's; `eras`: what it was and is, where they differ."""

    name: str
    of: Literal["broker", "topic"]
    type: str
    default: str | None
    default_4: str | None
    accepts: list[str]
    only_in: str | None
    doc: str
    ko: str
    eras: ThenAndNow | None
    changes: str | None = None
    broker_settings: list[str] | None = None


class SettingsPage(Closed):
    """One page of settings."""

    items: list[SettingMeant]
    total: int


class EraDifference(ThenAndNow):
    """What is otherwise in one era than in another one; `of`: broker, producer, consumer, controller."""

    of: str
    name: str


class Eras(Closed):
    """All differences."""

    items: list[EraDifference]
    total: int


class EventMeant(Closed):
    """A code of the journal; `params`: name -> meaning."""

    code: str
    level: str
    render: str
    params: dict[str, str]


class EventsRegistry(Closed):
    """All codes."""

    items: list[EventMeant]
    total: int


class CommandMeant(Closed):
    """A command of the vocabulary; exactly one of `one_of` must be there."""

    do: str
    keys: list[str]
    required: list[str]
    one_of: list[str]


class CommandsPage(Closed):
    """All commands."""

    items: list[CommandMeant]
    total: int


class TraceRow(Closed):
    """A feature and all that it leads to: names. `in_core`: whether the lab has it."""

    title: dict[str, str]
    in_core: bool
    scenarios: list[str]
    exercises: list[str]
    questions: list[str]
    events: list[str]
    settings: list[str]
    metrics: list[str]
    tables: list[str]


class TracedLesson(Closed):
    """A lesson: its rows, the settings that it sets, the events that it looks at."""

    subject: str
    title: dict[str, str]
    rows: list[str]
    generations: list[str]
    settings: list[str]
    events: list[str]


class TracedExercise(Closed):
    """An exercise: its rows, the lesson that it begins with, its settings, the events that decide it."""

    title: dict[str, str]
    rows: list[str]
    lesson: str
    settings: list[str]
    events: list[str]


class TracedQuestion(Closed):
    """A question: its lesson, whose rows it has, and the quiz in which it stands."""

    lesson: str
    quiz: str
    rows: list[str]


class TracedBack(Closed):
    """Where a setting, an event, a metric or a table is met."""

    rows: list[str]
    scenarios: list[str]
    exercises: list[str]


class TracedSubject(Closed):
    """The lessons of a track."""

    subject: str
    title: dict[str, str]
    scenarios: list[str]


class Trace(Closed):
    """The whole table, by names. `missing`: rows of the core that lack a lesson, a question, a setting or a table."""

    subjects: list[TracedSubject]
    rows: dict[str, TraceRow]
    scenarios: dict[str, TracedLesson]
    exercises: dict[str, TracedExercise]
    questions: dict[str, TracedQuestion]
    events: dict[str, TracedBack]
    settings: dict[str, TracedBack]
    metrics: dict[str, TracedBack]
    tables: dict[str, TracedBack]
    missing: list[str]
