"""Exercises over REST: those that come with the lab, attempts at them, and exercises that a teacher writes.

An attempt is run as a job, in a process of its own, exactly as `./brokerlab try` runs it; the run of its first seed
stays among the lab's runs, to be looked at and packed. Solutions are told to nobody.
"""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from ninja import Router

from broker_core.kernel.problems import problem
from lab.clusters.checks import SpecError
from lab.exercises import reading
from lab.exercises.levers import Lever
from lab.exercises.reading import Exercise
from lab.scenarios.subjects import SUBJECTS
from web.api import answers_exercises as answers
from web.api import answers_runs, schemas
from web.api.asking import answer, runs_directory
from web.api.problems import Problem
from web.api.work import jobs

router = Router(tags=["exercises"])
Problems = schemas.Problem
REFUSALS = dict.fromkeys((400, 403, 404, 413, 415, 422, 429, 501, 503), Problems)


@cache
def shipped(name: str) -> Exercise:
    """An exercise that comes with the lab; never a file that a caller names."""
    if name not in reading.names():
        raise Problem(404, problem("no_exercise", name=name), "name")
    return reading.load(str(reading.HOME / f"{name}.yaml"))


def described(exercise: Exercise, hints: int = 0) -> dict[str, Any]:
    """What whoever is to solve it may know: of hints their prices, and the text of the first so many."""
    levers = exercise.levers
    return {
        "name": exercise.name, "title": exercise.title, "task": exercise.task, "subject": exercise.subject,
        "teaches": exercise.teaches, "lesson": exercise.lesson, "points": exercise.points, "tries": exercise.tries,
        "goals": {key: str(wanted) for key, wanted in exercise.goals.items()}, "seeds": exercise.seeds,
        "levers": [_lever(one, exercise) for one in levers.sets.values()],
        "commands": list(levers.commands), "most_steps": levers.most_steps,
        "hints": [{"price": one.price, "text": one.text if index < hints else None}
                  for index, one in enumerate(exercise.hints)],
        "start": exercise.start,
    }  # fmt: skip


def _lever(lever: Lever, exercise: Exercise) -> dict[str, Any]:
    stands = lever.standing(exercise.start)
    limits = (None, None) if lever.choices else (lever.least, lever.most)
    return {
        "name": lever.name, "label": lever.label, "choices": [str(one) for one in lever.choices], "least": limits[0],
        "most": limits[1], "start": None if stands is None else str(stands),
    }  # fmt: skip


@cache
def _listed() -> list[dict[str, Any]]:
    order = [*SUBJECTS, ""]
    found = [described(shipped(name)) for name in reading.names()]
    return sorted(found, key=lambda one: (order.index(one["subject"]), one["points"], one["name"]))


def checked(given: schemas.Document) -> Exercise:
    """An exercise that came with a request. Raises ScenarioError, SpecError, Problem."""
    if (given.yaml is None) == (given.document is None):
        raise Problem(422, problem("exactly_one", known=["yaml", "document"]), "yaml")
    try:
        if given.yaml is not None:
            return reading.parse(given.yaml, "exercise.yaml")
        return reading.from_dict(given.document)
    except RecursionError:
        raise Problem(422, problem("nested_too_deeply"), "document") from None


@router.get("/exercises", response=answers.Exercises, summary="Exercises that come with the lab")
async def exercises(request: HttpRequest) -> HttpResponse:
    """By the tracks of the lessons, the easiest first. What an attempt may do stands in `levers`, `commands` and
    `most_steps`."""
    found = await asyncio.to_thread(_listed)
    return answer({"items": found, "total": len(found)})


@router.post("/exercises/validate", response={200: answers.ValidExercise, **REFUSALS}, summary="Check an exercise")
async def validate(request: HttpRequest, document: schemas.Document) -> HttpResponse:
    """One of one's own; its solution and its wrong attempt are checked, too. 422 names the place of what is wrong, in
    YAML also the line."""
    found = await asyncio.to_thread(checked, document)
    return answer({"valid": True, "exercise": found.name, **described(found, len(found.hints))})


@router.post(
    "/exercises/attempts", response={202: answers_runs.JobView, **REFUSALS}, summary="Try an exercise of one's own"
)
async def try_own(request: HttpRequest, given: schemas.OwnAttempt) -> HttpResponse:
    """As an attempt at one that comes with the lab. `attempt` may be `solution` or `wrong`: those of the file."""
    found = await asyncio.to_thread(checked, given)
    own = {"solution": found.solution, "wrong": found.wrong}
    return await _start(found, own[given.attempt] if isinstance(given.attempt, str) else given.attempt.plain())


@router.get(
    "/exercises/{name}", response={200: answers.ExerciseView, 404: Problems, 422: Problems}, summary="An exercise"
)
async def exercise(request: HttpRequest, name: str, hints: schemas.HintCount = 0) -> HttpResponse:
    """`start` is the scenario that an attempt begins with. Hints have their price; `hints` tells the first so many."""
    found = await asyncio.to_thread(shipped, name)
    return answer(described(found, hints))


@router.post("/exercises/{name}/attempts", response={202: answers_runs.JobView, **REFUSALS}, summary="Try an exercise")
async def attempt(request: HttpRequest, name: str, given: schemas.Attempt) -> HttpResponse:
    """As a job: the attempt is run under each seed of the exercise. `result` of the job says under which the goals were
    not reached, and how many points it is worth; its `run` is that of the first seed. 422 names the place of what an
    attempt may not do."""
    found = await asyncio.to_thread(shipped, name)
    return await _start(found, given.plain(), given.hints)


async def _start(exercise: Exercise, attempt: dict[str, Any], hints: int = 0) -> HttpResponse:
    try:
        await asyncio.to_thread(exercise.scenario, attempt, exercise.seeds[0])
    except SpecError as error:
        raise Problem(422, error.problem, error.where) from None
    asked_for = {
        "do": "attempt",
        "document": exercise.document,
        "name": exercise.name,
        "attempt": attempt,
        "hints": hints,
    }
    job = await jobs.start(asked_for, runs_directory(), name=exercise.name[:200], seed=exercise.seeds[0])
    response = answer(job.view(), 202)
    response["Location"] = f"/api/jobs/{job.id}"
    return response
