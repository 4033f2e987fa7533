"""Every address as the wrong person. The addresses are those of the description and of the URL conf, so a new one is tried
without being listed here; what nobody else may see has a mark in it, which no answer to a wrong person may hold."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.urls import URLPattern
from tests.web.live_rest import Rest, rest
from tests.web.school import Visitor, student, teacher

from web import rights, urls
from web.access import ACT, LEARN, LOOK
from web.api.api import api
from web.live.labs import Described, labs
from web.people.models import HandIn, Seat, Task
from web.rights import CHANGES_NO_LAB, SAFE, Person

__all__ = ["rest"]
MARK = "xyzzy"
EXERCISE = "lose-what-was-promised"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
EVERYBODYS = ("/join/", "/teach/", "/api/docs.css")
OWN = ("/api/me", "/class/", "/join/", *CHANGES_NO_LAB)
HOLE = re.compile(r"\{(\w+)\}|<(?:\w+:)?(\w+)>")


@dataclass
class School:
    """Class `code` has a marked title, student, hand-in and lab; the visitors are from another one, or from none.
    `stranger` is a teacher with an account and a class of his own."""

    code: str
    hand_in: str
    nobody: Visitor
    looker: Visitor
    other: Visitor
    own: Visitor
    stranger: Visitor


@pytest.fixture(scope="module")
def school(rest: Rest) -> Iterator[School]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROKERLAB_TOKEN", "teacher")
        patch.setenv("BROKERLAB_CLASS_TOKEN", "look")
        codes = [rest.post("classes", {"title": title}).json["code"] for title in (f"{MARK} title", "another")]
        url = rest.url.rstrip("/")
        own, other = student(url, codes[0], f"{MARK} name"), student(url, codes[1], "somebody else")
        stranger = teacher(rest, "Stranger")
        assert stranger.post("/api/classes", {"title": "his own"}).status == 201
        for code in codes:
            assert rest.post(f"classes/{code}/tasks", {"exercise": EXERCISE}).status == 200
        seat = Seat.objects.get(classroom_id=codes[0])
        task = Task.objects.get(classroom_id=codes[0])
        one = HandIn.objects.create(id="f" * 16, seat=seat, task=task, number=1, attempt={MARK: 1}, state="missed")
        labs.known[f"{MARK}-lab"] = Described(f"{MARK}-lab", 99, {}, 1, seat.owner)
        labs.known[f"{MARK}-theirs"] = Described(f"{MARK}-theirs", 98, {}, 1, f"{codes[1]}/1")
        yield School(codes[0], one.id, Visitor(url), Visitor(url, "look"), other, own, stranger)
        for name in ("lab", "theirs"):
            del labs.known[f"{MARK}-{name}"]
        rest.delete("teachers/Stranger")
        for code in [one["code"] for one in rest.get("classes").json["items"]]:
            rest.delete(f"classes/{code}")


def templates() -> list[str]:
    """Of all addresses, as they are written."""
    pages = [f"/{one.pattern}" for one in urls.urlpatterns if isinstance(one, URLPattern)]
    return sorted({*pages, *api.get_openapi_schema()["paths"]})


def addresses(school: School) -> list[tuple[str, str]]:
    """(as it is written, with the marked class, student, hand-in and lab in its places)."""
    values = {"code": school.code, "number": school.hand_in, "lab": f"{MARK}-lab", "exercise": EXERCISE, "name": EXERCISE,
              "language": "en", "run": "9999", "text": "x"}  # fmt: skip
    found = []
    for template in templates():
        if template == "/api/<path:rest>":
            continue
        path = HOLE.sub(lambda hole: values.get(hole[1] or hole[2], "1"), template)
        found.append((template, path.replace(school.hand_in, "1") if "students" in template else path))
        if "{lab}" in template:
            found.append((template, path.replace(f"{MARK}-lab", "lab")))
    return found


def below(path: str, places: tuple[str, ...]) -> bool:
    return any(path == place or path.startswith(place.rstrip("/") + "/") for place in places)


def test_there_are_addresses_to_try(school: School) -> None:
    found = {template: path for template, path in addresses(school) if "/labs/lab" not in path}
    assert len(found) > 90
    assert found["/api/classes/{code}/hand-ins/{number}"] == f"/api/classes/{school.code}/hand-ins/{school.hand_in}"
    assert found["/classes/<str:code>/"] == f"/classes/{school.code}/"


def tried(visitor: Visitor, method: str, path: str) -> Any:
    return visitor.get(path) if method == "GET" else visitor.ask(method, path, b"{}")


def test_nobody_gets_anything_but_the_door(school: School) -> None:
    for _, path in addresses(school):
        for method in METHODS:
            told = tried(school.nobody, method, path)
            assert below(path, EVERYBODYS) or told.status == 401, (method, path, told.status)
            assert below(path, EVERYBODYS) or MARK not in told.text.replace(path, ""), (method, path)
    assert school.own.get(f"/join/{school.code}/").status == 200


@pytest.mark.parametrize("who", ["looker", "other", "stranger"])
def test_whoever_looks_or_is_from_another_class_learns_nothing_of_this_one(school: School, who: str) -> None:
    visitor: Visitor = getattr(school, who)
    for template, path in addresses(school):
        told = tried(visitor, "GET", path)
        assert below(path, ("/join/",)) or MARK not in told.text.replace(path, "").replace(f"{MARK}-theirs", ""), path
        if HOLE.search(template) and school.code in path and not below(path, ("/join/",)):
            assert told.status in (403, 404), (path, told.status)
        if f"{MARK}-lab" in path:
            assert told.status == 403, (path, told.status)


@pytest.mark.parametrize("who", ["looker", "other", "own"])
def test_nobody_but_the_teacher_changes_what_is_not_his(school: School, who: str) -> None:
    visitor: Visitor = getattr(school, who)
    mine = (*OWN, f"/api/labs/{MARK}-lab") if who == "own" else OWN
    for _, path in addresses(school):
        for method in METHODS:
            if method in SAFE or (below(path, mine) and who != "looker") or below(path, ("/join/", "/teach/", *CHANGES_NO_LAB)):
                continue
            told = tried(visitor, method, path)
            assert told.status == 403, (who, method, path, told.status, told.text[:200])


def test_a_teacher_changes_nothing_of_a_class_that_is_not_his(school: School) -> None:
    theirs = [path for _, path in addresses(school) if (school.code in path or f"{MARK}-lab" in path) and not below(path, ("/join/",))]
    assert len(theirs) > 20
    for path in theirs:
        for method in METHODS:
            told = tried(school.stranger, method, path)
            assert told.status == 403, (method, path, told.status, told.text[:200])


def test_a_student_does_not_reach_what_is_the_teachers(school: School) -> None:
    reached = [path for _, path in addresses(school) if below(path, ("/classes", "/api/classes", "/keys", "/teachers", "/api/teachers")) and school.own.get(path).status != 403]
    assert reached == []
    assert school.own.get("/api/me").json["name"] == f"{MARK} name"
    assert school.own.get(f"/api/labs/{MARK}-lab/snapshot").status == 409  # his own: it rests
    assert [one["id"] for one in school.own.get("/api/labs").json["items"]] == ["lab"]
    assert school.own.get("/api/labs").json["resting"] == [f"{MARK}-lab"] and school.other.get("/api/labs").json["resting"] == [f"{MARK}-theirs"]


def test_hints_are_told_to_students_only_where_they_are_counted(school: School) -> None:
    for visitor in (school.own, school.looker):
        assert visitor.get(f"/api/exercises/{EXERCISE}").status == 200
        assert visitor.get(f"/api/exercises/{EXERCISE}?hints=1").status == visitor.get(f"/api/exercises/{EXERCISE}?hints").status == 403
    assert school.own.post("/api/me/hints", {"exercise": EXERCISE}).json["price"] == 2
    assert school.looker.post("/api/me/hints", {"exercise": EXERCISE}).status == 403


def test_a_socket_of_a_students_lab_is_his_and_the_teachers(school: School) -> None:
    owner = labs.owner(f"{MARK}-lab")
    people = {"teacher": Person(ACT), "own": Person(LEARN, owner), "other": Person(LEARN, "ZZZZZZZZ/1"), "looker": Person(LOOK), "nobody": Person(None)}
    assert {name: rights.in_lab(one, {"path": "/live/", "lab": f"{MARK}-lab"}) for name, one in people.items()} == {
        "teacher": ACT, "own": ACT, "other": None, "looker": None, "nobody": None}  # fmt: skip
    assert {name: rights.in_lab(one, {"path": "/live/", "lab": ""}) for name, one in people.items()} == {
        "teacher": ACT, "own": LOOK, "other": LOOK, "looker": LOOK, "nobody": None}  # fmt: skip


@pytest.mark.parametrize("who", ["looker", "other", "stranger"])
def test_a_line_feed_in_an_address_hides_no_lab(school: School, who: str) -> None:
    visitor: Visitor = getattr(school, who)
    for path in (f"/api/labs/{MARK}-lab/topics/a%0Ab/records", f"/labs/{MARK}-lab/api/labs/{MARK}-lab/topics/a%0Ab/records"):
        assert visitor.get(path).status == 403, path


@pytest.mark.parametrize("who", ["looker", "other"])
def test_below_a_labs_own_address_nothing_is_for_others(school: School, who: str) -> None:
    visitor: Visitor = getattr(school, who)
    for _, path in addresses(school):
        for method in ("GET", "POST"):
            if not below(path, EVERYBODYS):
                told = tried(visitor, method, f"/labs/{MARK}-lab{path}")
                assert (told.status, MARK in told.text.replace(path, "").replace(f"{MARK}-lab", "")) == (403, False), (method, path)
    for theirs in ("theirs", "none"):
        assert visitor.get(f"/labs/{MARK}-{theirs}/api/labs/{MARK}-lab/snapshot").status == 403


def test_who_has_a_lab_reaches_no_other_by_its_address(school: School) -> None:
    own = f"/labs/{MARK}-lab"
    assert school.own.get(f"{own}/api/labs/{MARK}-lab/snapshot").status == 409  # it rests
    for path in ("/api/labs/lab/commands", f"/api/labs/{MARK}-theirs/commands", "/api/labs", "/api/spark/install",
                 "/api/sweeps", f"/api/exercises/{EXERCISE}/attempts", f"/api/classes/{school.code}"):  # fmt: skip
        assert school.own.post(own + path).status == 403, path
    assert school.own.post(f"{own}/api/labs/{MARK}-lab/commands", {"do": "kill", "broker": 1}).status == 409
    assert school.own.post(f"{own}/api/scenarios/acks-1/run").status == 409


def test_whoever_is_removed_or_leaves_is_nobody_at_once(school: School, rest: Rest) -> None:
    code = rest.post("classes", {"title": "short"}).json["code"]
    url = rest.url.rstrip("/")
    first, second = student(url, code, "first"), student(url, code, "second")
    assert first.get("/api/me").status == second.get("/api/me").status == 200
    assert rest.delete(f"classes/{code}/students/1").status == 204
    assert (first.get("/api/me").status, second.get("/api/me").status) == (401, 200)
    assert rest.delete(f"classes/{code}").status == 204
    assert second.get("/api/me").status == 401
