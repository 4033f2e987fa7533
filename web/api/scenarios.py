"""Scenarios over REST: those that come with the lab, and those that a caller brings."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem
from lab.clusters.checks import SpecError
from lab.scenarios import grammar, links, path
from lab.scenarios.export import to_yaml
from lab.scenarios.grammar import Scenario
from lab.scenarios.links import LinkError
from lab.scenarios.subjects import grouped
from web.api import answers_runs, schemas
from web.api.asking import answer, runs_directory
from web.api.problems import Problem
from web.api.work import jobs

router = Router(tags=["scenarios"])
Problems = schemas.Problem
REFUSALS = dict.fromkeys((400, 403, 404, 413, 415, 422, 429, 501, 503), Problems)


def shipped(name: str) -> Scenario:
    """A scenario that comes with the lab; never a file that a caller names."""
    if name not in grammar.names():
        raise Problem(404, problem("no_scenario", name=name), "name")
    return grammar.load(str(grammar.HOME / f"{name}.yaml"))


def described(scenario: Scenario) -> dict[str, Any]:
    """What a list shows; `minutes` and `level` of a lesson that stands on the way through all."""
    leg = path.legs().get(scenario.name)
    return {
        "name": scenario.name, "title": scenario.title, "text": scenario.text, "teaches": scenario.teaches,
        "subject": scenario.subject, "minutes": leg and leg.minutes, "level": leg and leg.level,
        "seed": scenario.spec.seed, "steps": len(scenario.steps), "duration_us": scenario.duration_us,
        "expect": {name: str(wanted) for name, wanted in scenario.expect.items()},
        "variant": scenario.variant, "variants": scenario.variants,
        "generation": scenario.generation, "generations": scenario.generations,
    }  # fmt: skip


@cache
def _listed(name: str) -> dict[str, Any]:
    """Of a scenario that comes with the lab: its file stays what it is, and to read all takes a second."""
    return described(grammar.first_sight(name))


@cache
def _track_texts() -> dict[str, dict[str, str]]:
    return {track.subject: dict(track.text) for track in path.tracks()}


def in_variant(scenario: Scenario, variant: str | None) -> Scenario:
    """In one of its variants; 422 when it has none of this name."""
    if not variant:
        return scenario
    try:
        return grammar.variant_of(scenario, variant)
    except SpecError as error:
        raise Problem(422, error.problem, "variant") from None


def with_controllers(scenario: Scenario, changes: Mapping[str, Any] | None) -> Scenario:
    """With other controllers than the file's, as the scenario is in their generation. Raises SpecError."""
    return grammar.from_dict(grammar.with_cluster(scenario.document, changes), scenario.name) if changes else scenario


def as_asked(scenario: Scenario, options: schemas.RunOptions) -> Scenario:
    """With the controllers and in the variant that a request names. Raises SpecError, Problem."""
    return in_variant(with_controllers(scenario, options.cluster()), options.variant)


def checked(given: schemas.Document, name: str = "scenario") -> Scenario:
    """A scenario that came with a request. Raises ScenarioError, SpecError, Problem."""
    if (given.yaml is None) == (given.document is None):
        raise Problem(422, problem("exactly_one", known=["yaml", "document"]), "yaml")
    try:
        if given.yaml is not None:
            return grammar.parse(given.yaml, f"{name}.yaml")
        return grammar.from_dict(given.document, name)
    except RecursionError:
        raise Problem(422, problem("nested_too_deeply"), "document") from None


@router.get("/scenarios", response=answers_runs.Scenarios, summary="Scenarios that come with the lab")
async def scenarios(request: HttpRequest) -> HttpResponse:
    """Each with its title and text in English and Korean, what it teaches, how many minutes it takes and how hard it is
    (`level` 1 to 3). `subjects` are the tracks of the way through all lessons, each with its lessons in the order in
    which they build on each other; `items` has the same order. Scenarios without a subject come last."""
    names = dict.fromkeys([*path.legs(), *grammar.names()])
    found = await asyncio.to_thread(lambda: {name: _listed(name) for name in names})
    subjects = [{**one, "text": _track_texts().get(one["subject"])} for one in grouped(
        (name, one["subject"]) for name, one in found.items())]
    ordered = [found[name] for group in subjects for name in group["scenarios"]]
    return answer({"items": ordered, "total": len(ordered), "subjects": subjects})


@router.post(
    "/scenarios/validate", response={200: schemas.Valid, **REFUSALS}, summary="Check a scenario"
)
async def validate(request: HttpRequest, document: schemas.CheckDocument) -> HttpResponse:
    """422 names the place of what is wrong, in YAML also the line, and says what was expected. With `controller` the
    answer is the scenario as it is in that generation of Kafka."""
    found = await asyncio.to_thread(lambda: with_controllers(checked(document), document.cluster()))
    return answer({"valid": True, "scenario": found.name, **described(found), "document": found.document})


@router.post("/scenarios/run", response={202: answers_runs.JobView, **REFUSALS}, summary="Run a scenario of one's own")
async def run_document(request: HttpRequest, document: schemas.RunDocument) -> HttpResponse:
    """As a job, in a process of its own."""
    found = await asyncio.to_thread(lambda: as_asked(checked(document), document))
    asked_for: dict[str, Any] = {"do": "scenario", "name": found.name}
    asked_for |= {"yaml": document.yaml} if document.yaml is not None else {"document": document.document}
    return await _start(asked_for, found, document)


@router.post("/scenarios/link", response={200: schemas.Link, **REFUSALS}, summary="A scenario as a link")
async def make_link(request: HttpRequest, document: schemas.MakeLink) -> HttpResponse:
    """Checked first. The text holds the whole scenario; whoever opens the address sees it and can run it."""
    found = in_variant(await asyncio.to_thread(checked, document), document.variant)
    try:
        packed = links.pack(found.document)
    except LinkError as error:
        raise _no_link(error) from None
    address = request.build_absolute_uri(f"/#scenario={packed}")
    return answer({"link": packed, "address": address, "scenario": found.name, "variant": found.variant})


@router.post(
    "/scenarios/link/read", response={200: schemas.ScenarioView, **REFUSALS}, summary="The scenario behind a link"
)
async def read_link(request: HttpRequest, given: schemas.GivenLink) -> HttpResponse:
    """422 says why a link is refused: `code` is shape, version, checksum, bytes or large when its text is damaged;
    without one the grammar has stumbled, at `place`."""
    try:
        document = await asyncio.to_thread(links.unpack, given.link.rpartition("#scenario=")[2])
        found = await asyncio.to_thread(grammar.from_dict, document)
    except LinkError as error:
        raise _no_link(error) from None
    except RecursionError:
        raise Problem(422, problem("nested_too_deeply"), "link") from None
    return answer({**described(found), "document": document, "yaml": to_yaml(document)})


def _no_link(error: LinkError) -> Problem:
    return Problem(422, error.problem, "link", None, code=error.code)


@router.get(
    "/scenarios/{name}", response={200: schemas.ScenarioView, **REFUSALS}, summary="A scenario and its document"
)
async def scenario(request: HttpRequest, name: str, controller: schemas.Generation | None = None) -> HttpResponse:
    """`document` is what a run or a validation takes, `yaml` the file with its comments. With `controller` all but
    `yaml` is as in that generation of Kafka; 422 when the scenario does not hold there."""
    changes = {"controller": controller} if controller else None
    found = await asyncio.to_thread(lambda: with_controllers(shipped(name), changes))
    text = await asyncio.to_thread((grammar.HOME / f"{name}.yaml").read_text, encoding="utf-8")
    return answer({**described(found), "document": found.document, "yaml": text})


@router.post("/scenarios/{name}/run", response={202: answers_runs.JobView, **REFUSALS}, summary="Run a scenario")
async def run(request: HttpRequest, name: str, options: schemas.RunOptions) -> HttpResponse:
    """As a job, in a process of its own, exactly as `./brokerlab run NAME --variant VARIANT --controller KIND` does it:
    with the same seed its journal is the same, byte for byte. Ask `/api/jobs/{id}?wait=30` until it is done."""
    found = await asyncio.to_thread(lambda: as_asked(shipped(name), options))
    text = await asyncio.to_thread((grammar.HOME / f"{name}.yaml").read_text, encoding="utf-8")
    return await _start({"do": "scenario", "name": name, "yaml": text}, found, options)


async def _start(asked_for: dict[str, Any], found: Scenario, options: schemas.RunOptions) -> HttpResponse:
    seed = found.spec.seed if options.seed is None else options.seed
    asked_for |= {"seed": options.seed, "live": options.live, "variant": options.variant,
                  "cluster": options.cluster()}
    job = await jobs.start(asked_for, runs_directory(), name=found.name[:200], seed=seed, live=options.live)
    response = answer(job.view(), 202)
    response["Location"] = f"/api/jobs/{job.id}"
    return response
