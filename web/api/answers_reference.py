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
