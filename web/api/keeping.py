"""Labs that are begun and ended over REST, beside the one that the process was started for (`web.live.labs`)."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import asdict
from random import SystemRandom
from typing import Annotated, Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from ninja import Router
from pydantic import BaseModel, ConfigDict, Field

from broker_core.kernel.problems import problem
from lab.live import LiveLab
from lab.open_runs import LabError
from web.api import schemas
from web.api.asking import answer, lab_named
from web.api.models import LabRecord
from web.api.problems import Problem
from web.live.hub import chosen, hub
from web.live.lab import Lab
from web.live.described import Described
from web.live.labs import NoRoom, labs
from web.live.remote import RemoteLab
from web.rights import may_see

router = Router(tags=["labs"])
Problems = schemas.Problem
EXAMPLE: dict[str, Any] = {"name": "mine", "cluster": {"brokers": 3}}


class LabLimits(BaseModel):
    """What a lab may take (`lab.limits`); 0 is no limit."""

    model_config = ConfigDict(extra="forbid")
    brokers: Annotated[int, Field(ge=0, le=1000)] = 0
    records: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    disk_mb: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    memory_mb: Annotated[int, Field(ge=0, le=1_000_000_000)] = 0
    processor_percent: Annotated[int, Field(ge=0, le=100)] = 0


class NewLab(BaseModel):
    """A lab's name, its cluster as in a scenario (without host and port), the seed of its random streams, its owner and
    its limits."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [EXAMPLE]})
    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,39}$")]
    cluster: dict[str, Any] = {}
    seed: schemas.Seed | None = None
    owner: Annotated[str, Field(max_length=100)] = ""
    limits: LabLimits = LabLimits()


@router.get("/labs", response={200: schemas.Labs, 503: Problems}, summary="The labs that this process knows")
async def known(request: HttpRequest) -> HttpResponse:
    """Its own comes first; its id is `lab` unless BROKERLAB_LAB says otherwise. `resting`: labs of an earlier life of
    the server, which `POST labs/NAME/start` starts. `room`: how many more can be begun."""
    rows = [one for one in dict.fromkeys([chosen(), hub, *labs.running.values()])
            if may_see(request, labs.owner(one.name))]  # fmt: skip
    items = list(await asyncio.gather(*(told_of(one.name, one.lab) for one in rows if one.serves)))
    resting = [name for name in labs.resting() if may_see(request, labs.owner(name))]
    return answer({"items": items, "total": len(items), "resting": resting, "room": labs.room})


@router.get(
    "/labs/{lab}",
    response={200: schemas.LabView, **dict.fromkeys((404, 409, 503), Problems)},
    summary="A lab in short",
)
async def lab(request: HttpRequest, lab: str) -> HttpResponse:
    """Run, clock, seed, and where its brokers listen. A lab that sleeps (`asleep`) is not woken by that."""
    found = labs.hub(lab)
    return answer(await told_of(lab, await lab_named(lab) if found is None else found.lab))


async def told_of(name: str, found: Lab) -> dict[str, Any]:
    """A lab in short; one that another process of this server holds is asked there."""
    if isinstance(found, RemoteLab) and labs.hosts is not None:
        with suppress(LabError):  # it is being started anew: what was told last
            return await labs.hosts.view(name)
    return view_of(name, found)


def view_of(name: str, found: Lab) -> dict[str, Any]:
    """A lab in short."""
    if isinstance(found, LiveLab) and found.asleep is not None:
        facts = found.asleep
        return {"id": name, "owner": labs.owner(name) or None, "run": facts.run, "epoch": facts.epoch, **facts.clock,
                "open": facts.open, **_described(found)}  # fmt: skip
    view: dict[str, Any] = {"id": name, "owner": labs.owner(name) or None, "run": found.run_id, "epoch": found.epoch,
                            **found.clock()}  # fmt: skip
    if isinstance(found, LiveLab):
        view |= {"open": list(found.branches), **_described(found)}
    return view


def _described(found: LiveLab) -> dict[str, Any]:
    """What stays the same, whether it sleeps or not; and whether it does."""
    spec = found.spec
    bootstrap = ",".join(f"{host}:{port}" for host, port in spec.addresses().values())
    return {"seed": spec.seed, "preset": spec.cluster.preset, "era": spec.cluster.era or None,
            "controller": spec.cluster.controller, "bootstrap": bootstrap,
            "asleep": found.asleep is not None, "limits": asdict(found.limits)}  # fmt: skip


@router.post(
    "/labs",
    response={201: schemas.LabView, **dict.fromkeys((400, 403, 409, 413, 415, 422, 503, 504), Problems)},
    summary="Begin another lab",
)
async def begin(request: HttpRequest, given: NewLab) -> HttpResponse:
    """It answers when all brokers listen (`bootstrap`) and know their controller; from then on the lab is at
    `labs/NAME`. The server has room for as many as `./brokerlab up --labs` has said."""
    if not may_see(request, given.owner):
        raise Problem(403, problem("not_yours"), "owner")
    if given.name == settings.LAB_NAME or given.name in labs.known:
        raise Problem(409, problem("lab_exists", name=given.name), "name")
    seed = SystemRandom().randrange(1 << 31) if given.seed is None else given.seed
    try:
        described = labs.described(given.name, given.cluster, seed, given.owner, given.limits.model_dump())
    except NoRoom as error:
        raise Problem(409, error.problem) from None
    try:
        await _record(described)  # first: whoever ends the lab while it begins finds its record
    except BaseException:
        await labs.remove(given.name)
        raise
    try:
        found = await labs.begin(described)
    except BaseException:
        await labs.remove(given.name)
        await LabRecord.objects.filter(name=given.name).adelete()
        raise
    return answer(await told_of(found.name, found.lab), 201)


@router.post(
    "/labs/{lab}/start",
    response={200: schemas.LabView, **dict.fromkeys((403, 404, 409, 503, 504), Problems)},
    summary="Start a lab that rests",
)
async def start(request: HttpRequest, lab: str) -> HttpResponse:
    """It answers when its brokers listen, with what they had written; of a lab that runs, at once. Not more labs run
    than `./brokerlab up --labs` has said."""
    if lab in labs.known:
        try:
            await labs.start(lab)
        except NoRoom as error:
            raise Problem(409, error.problem) from None
    return answer(await told_of(lab, await lab_named(lab)))


async def _record(described: Described) -> None:
    await LabRecord.objects.acreate(
        name=described.name, place=described.place, cluster=described.cluster, seed=described.seed,
        owner=described.owner, limits=described.limits,
    )  # fmt: skip


@router.delete(
    "/labs/{lab}", response={204: None, **dict.fromkeys((403, 404, 409, 503), Problems)}, summary="End a lab"
)
async def end(request: HttpRequest, lab: str) -> HttpResponse:
    """Its brokers stop, and all that it has written is deleted. The lab that the process was started for stays."""
    if lab == settings.LAB_NAME:
        raise Problem(409, problem("lab_own", name=lab), "lab")
    if lab not in labs.known:
        raise Problem(404, problem("no_such_lab", name=lab, known=", ".join([settings.LAB_NAME, *labs.known])), "lab")
    await LabRecord.objects.filter(name=lab).adelete()
    await labs.remove(lab)
    return HttpResponse(status=204)


def described_before() -> list[Described]:
    """The labs that the database knows."""
    rows = LabRecord.objects.order_by("place")
    return [Described(row.name, row.place, row.cluster, row.seed, row.owner, row.limits) for row in rows]
