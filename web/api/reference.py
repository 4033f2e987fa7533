"""What can be looked up: settings, codes of events, commands. Nothing of it depends on a lab."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Annotated, Any, Literal

from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.events import LEVEL_NAMES, REGISTRY
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS
from broker_core.metadata.configs_topic import SYNONYMS
from broker_core.metadata.configs_types import KRAFT, ZOOKEEPER, Setting
from lab.clusters import eras
from lab.clusters.meanings import korean
from lab.clusters.vocabulary import KINDS
from lab.trace.table import trace
from web.api import answers_reference, schemas
from web.api.asking import answer

router = Router(tags=["reference"])


@router.get(
    "/settings", response={200: answers_reference.SettingsPage, 422: schemas.Problem},
    summary="Settings of brokers and topics",
)
async def settings(
    request: HttpRequest, name: str = "", of: Literal["broker", "topic"] | None = None,
    limit: Annotated[int, Field(ge=1, le=1000)] = 1000, offset: Annotated[int, Field(ge=0, le=1 << 31)] = 0,
) -> HttpResponse:  # fmt: skip
    """Kafka's names, defaults (of 3.9, and of 4.x where they differ), limits, meaning (`ko`: in Korean). `name`: a part
    of it."""
    found = [one for one in _settings() if name in one["name"] and of in (None, one["of"])]
    return answer({"items": found[offset : offset + limit], "total": len(found)})


@cache
def _settings() -> list[dict[str, Any]]:
    broker = [_setting("broker", one) for one in BROKER_SETTINGS.values()]
    topic = [_setting("topic", one) for one in TOPIC_SETTINGS.values()]
    return [*broker, *topic]


def _setting(of: str, setting: Setting) -> dict[str, Any]:
    checks = [str(check) for era in (ZOOKEEPER, KRAFT) if (check := setting.check_in(era)) is not None]
    found: dict[str, Any] = {
        "name": setting.name, "of": of, "type": setting.type.name, "default": setting.default_in(ZOOKEEPER),
        "default_4": setting.default_in(KRAFT), "accepts": list(dict.fromkeys(checks)), "only_in": setting.era,
        "doc": setting.doc, "ko": korean()[setting.name], "eras": eras.beside(of, setting.name),
    }  # fmt: skip
    if of == "broker":
        return {**found, "changes": str(setting.mode)}
    return {**found, "broker_settings": [name for name, _ in SYNONYMS.get(setting.name, ())]}


@router.get("/eras", response=answers_reference.Eras, summary="Then and now")
async def eras_told(request: HttpRequest) -> HttpResponse:
    """What was otherwise: for each setting of a broker, a producer or a consumer whose default has changed, its value
    in each era, the release and the KIP that changed it, and what that means, in both languages."""
    rows = eras.told()
    return answer({"items": rows, "total": len(rows)})


@router.get("/events-registry", response=answers_reference.EventsRegistry, summary="Codes of the journal's events")
async def events_registry(request: HttpRequest) -> HttpResponse:
    """Level, parameters with their meaning, and the one-line rendering: `{name}` stands for a parameter."""
    rows = [
        {"code": code.name, "level": LEVEL_NAMES[code.level], "render": code.render, "params": code.params}
        for code in REGISTRY.values()
    ]
    return answer({"items": rows, "total": len(rows)})


@router.get("/commands", response=answers_reference.CommandsPage, summary="The vocabulary of commands")
async def commands(request: HttpRequest) -> HttpResponse:
    """For each `do`: the keys that it takes, those that must be there, and those of which there is exactly one."""
    rows: list[dict[str, Any]] = [
        {"do": name, "keys": list(kind.keys), "required": list(kind.required), "one_of": list(kind.one_of)}
        for name, kind in KINDS.items()
    ]
    rows.append({"do": "time", "keys": ["speed"], "required": ["speed"], "one_of": []})
    return answer({"items": rows, "total": len(rows)})


@cache
def traced() -> dict[str, Any]:
    """Made once: it reads all lessons, exercises and questions."""
    return trace()


@router.get("/trace", response=answers_reference.Trace, summary="What leads where")
async def trace_of(request: HttpRequest) -> HttpResponse:
    """From each row A to E of the table of features to the lessons, exercises and questions that teach it, to settings,
    metrics, events and tables of a replay; and from each of these back to rows and lessons. `in_core` is false of a row
    that the lab does not have."""
    return answer(await asyncio.to_thread(traced))
