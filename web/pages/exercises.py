"""Exercises as pages: all of them, one with its levers, to be tried here, and a place to write one's own.

`/exercises/` needs no script to be read. What the browser has tried and solved it remembers itself; an attempt is a job
of REST's (`web.api.exercises`), and the run of its first seed can be opened in the lab.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_GET

from lab.clusters import eras
from lab.exercises import reading
from lab.exercises.levers import Lever
from lab.exercises.reading import Exercise
from lab.scenarios import grammar, subjects
from web.access import ACT, LEARN
from web.api.classes import rooms_of
from web.api.exercises import described, shipped
from web.language import language_of
from web.messages import words_of
from web.pages.setup import rows_of, steps_of
from web.people import handing
from web.people.models import Task
from web.rights import scope_of

PART = "exercises"
SAMPLE = "keep-what-was-promised"
SAMPLES = {
    "set_client": "name: {client}, set: {{acks: all}}",
    "alter_config": "topic: {topic}, set: {{min.insync.replicas: 2}}",
    "create_topic": "topic: more, partitions: 3, replication_factor: 3",
    "add_partitions": "topic: {topic}, partitions: 6",
    "elect_leaders": "topic: {topic}, partition: 0",
    "reassign": "topic: {topic}, partition: 0, replicas: [1, 2, 3]",
    "verify_reassignment": "topic: {topic}",
    "move_replica": "broker: 1, topic: {topic}, partition: 0, directory: data/b",
    "delete_records": "topic: {topic}, partition: 0",
    "delay_link": "between: [1, 2], delay_ms: 100",
    "partition_link": "between: [1, 2]",
    "heal_link": "between: [1, 2]",
    "stop_client": "name: {client}",
    "start_client": "name: {client}",
    "produce": "topic: {topic}, value: hello",
    "remove_deleted": "",
    "set_clocks": "forward_ms: 86400000",
    "stop_all_faults": "",
    "add_broker": "",
    "random_halves": "",
}
"""Command -> the keys of a step that is put into the form; without one it is about the leader of a partition."""
ABOUT_A_PROCESS = "leader_of: {topic}-0"


def sample(command: str, exercise: Exercise) -> str:
    """A line that somebody can begin from: `- {at: 5s, do: kill, leader_of: orders-0}`."""
    topics, clients = (
        exercise.start.get("topics") or [{"name": "orders"}],
        exercise.start.get("clients") or [{"name": "a"}],
    )
    keys = SAMPLES.get(command, ABOUT_A_PROCESS).format(topic=topics[0]["name"], client=clients[0]["name"])
    return f"- {{at: 5s, do: {command}{', ' if keys else ''}{keys}}}"


@require_GET
def exercises(request: HttpRequest) -> HttpResponse:
    """All of them, by the tracks of the lessons."""
    language = language_of(request)
    found = {name: shipped(name) for name in reading.names()}
    order = sorted(found.values(), key=lambda one: (one.points, one.name))
    grouped = subjects.grouped((one.name, one.subject) for one in order)
    groups = [
        {"title": one["title"][language], "exercises": [_card(found[name], language) for name in one["scenarios"]]}
        for one in grouped
    ]
    level = scope_of(request).get("level", ACT)
    return _page(request, "exercises.html", {
        "groups": groups, "total": len(found), "is_teacher": level == ACT, "is_student": level == LEARN,
    })  # fmt: skip


def _card(exercise: Exercise, language: str) -> dict[str, Any]:
    return {"name": exercise.name, "title": exercise.title[language], "points": exercise.points,
            "task": " ".join(exercise.task[language].strip().partition("\n\n")[0].split())}  # fmt: skip


def then(lever: Lever, exercise: Exercise, words: dict[str, Any]) -> dict[str, str] | None:
    """Beside a lever that is a setting: what it was in each era, and since when it is what it is."""
    where, of = lever.path[0], {"topics": "topic", "cluster": eras.BROKER}
    if where == "clients":
        of[where] = next((one["kind"] for one in exercise.start["clients"] if one["name"] == lever.path[1]), "")
    found = eras.beside(of[where], lever.path[-1]) if lever.path[-2] in ("settings", "configs") else None
    if found is None:
        return None
    values = " · ".join(f"{era}: {eras.shown(value)}" for era, value in found["values"].items())
    return {"values": values, "since": words["since"].format(release=found["since"], by=found["by"])}


@require_GET
@ensure_csrf_cookie
def exercise(request: HttpRequest, name: str) -> HttpResponse:
    """One, with a form for an attempt: as it comes with the lab, to a student as it was handed out, to a teacher who
    comes from a class (`?class=CODE`) as it was handed out there."""
    given = handing.given_to(scope_of(request).get("student", ""), name)
    found = given.exercise if given is not None and given.exercise is not None else of_class(request, name)
    language = language_of(request)
    words = words_of(PART, language)
    facts = described(found)
    lesson = grammar.load(found.lesson) if found.lesson else None
    sets, start = found.levers.sets, found.begins()
    facts["levers"] = [{**fact, "then": then(sets[fact["name"]], found, words)} for fact in facts["levers"]]
    samples = {command: sample(command, found) for command in found.levers.commands}
    context = {
        "exercise": facts, "title": found.title[language], "paragraphs": _paragraphs(found.task[language]),
        "lesson": lesson and {"name": lesson.name, "title": lesson.title[language]},
        "goals": list(facts["goals"].items()), "hints": len(found.hints),
        "setup": rows_of(start), "happens": steps_of(start),
        "seeds": words["seeds"].format(n=len(found.seeds)) if len(found.seeds) > 1 else "",
        "samples": list(samples), "facts": json.dumps({
            "name": name, "points": found.points, "hints": [one.price for one in found.hints], "samples": samples,
            "language": language, "words": words, "student": _student(given),
        }),
        "is_teacher": scope_of(request).get("level", ACT) == ACT, "code": request.GET.get("class", ""),
        "given": given, "is_student": given is not None and scope_of(request).get("level") == LEARN,
    }  # fmt: skip
    return _page(request, "exercise.html", context)


def of_class(request: HttpRequest, name: str) -> Exercise:
    """404 when it neither comes with the lab nor was handed out in the class that a teacher names."""
    code = request.GET.get("class", "") if scope_of(request).get("level", ACT) == ACT else ""
    task = Task.objects.filter(classroom_id=code, name=name).first() if code else None
    if task is not None:
        return handing.exercise_of(task)
    if name not in reading.names():
        raise Http404
    return shipped(name)


def _student(given: handing.Given | None) -> dict[str, Any] | None:
    """What the script knows of a student: hints that he has taken, tries that are left."""
    if given is None or given.task is None:
        return None
    return {"hints": given.hints, "left": given.left, "over": given.is_over}


@require_GET
@ensure_csrf_cookie
def own(request: HttpRequest) -> HttpResponse:
    """A place to write one, with an exercise of the lab to begin from, and the classes that it can be handed out to."""
    language = language_of(request)
    rooms = rooms_of(request) if scope_of(request).get("level", ACT) == ACT else ()
    sample = (reading.HOME / f"{SAMPLE}.yaml").read_text(encoding="utf-8")
    facts = json.dumps({"language": language, "words": words_of(PART, language)})
    return _page(request, "own_exercise.html", {"facts": facts, "sample": sample, "rooms": rooms})


def _paragraphs(text: str) -> Iterable[str]:
    return [" ".join(part.split()) for part in text.strip().split("\n\n")]


def _page(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    language = language_of(request)
    return render(request, template, {**context, "language": language, "words": words_of(PART, language)})
