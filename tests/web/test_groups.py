"""Groups that share a lab, and teachers with accounts: what they reach, and what the wrong person does not."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from tests.web.live_rest import Rest, rest
from tests.web.school import TOKEN, Visitor, enter, student, teacher

from web.live.labs import Described, labs
from web.pages.teaching import throttle
from web.people import teachers
from web.people.changes import changes
from web.people.models import Seat

__all__ = ["rest"]


@pytest.fixture
def code(rest: Rest) -> Iterator[str]:
    made = rest.post("classes", {"title": "Systems"}).json["code"]
    yield made
    rest.delete(f"classes/{made}")


@pytest.fixture
def of_group() -> Iterator[dict[str, Described]]:
    """Labs that nobody has to start for a question of rights."""
    found: dict[str, Described] = {}
    yield found
    for name in found:
        labs.known.pop(name, None)


def test_a_group_shares_a_lab_and_nobody_else_of_the_class_reaches_it(rest: Rest, code: str, of_group: dict[str, Described]) -> None:
    ann, bob, eve = (student(rest.url.rstrip("/"), code, name) for name in ("ann", "bob", "eve"))
    grid = rest.post(f"classes/{code}/groups", {"students": [1, 2]}).json
    assert grid["groups"] == [{"number": 1, "students": [1, 2], "lab": None}]
    assert [one["group"] for one in grid["students"]] == [1, 1, None]
    assert rest.get(f"classes/{code}/export").json["groups"] == [{"number": 1, "students": [1, 2]}]
    labs.known["shared-1"] = of_group["shared-1"] = Described("shared-1", 97, {}, 1, f"{code}/g1")
    for visitor, name in ((ann, "ann"), (bob, "bob")):
        assert visitor.get("/api/me").json["group"] == {"number": 1, "names": ["ann", "bob"], "lab": "shared-1"}, name
        assert visitor.get("/api/labs/shared-1/snapshot").status == 409, "it rests, and may be looked at"
        assert visitor.post("/api/labs/shared-1/commands", {"do": "pause", "broker": 1}).status == 409
        assert "shared-1" in visitor.get("/api/labs").json["resting"] and "shared-1" in visitor.get("/class/").text
        assert visitor.post("/api/me/lab", {"shared": True}).json["problem"]["code"] == "lab_exists"
    assert eve.get("/api/labs/shared-1/snapshot").status == eve.get("/labs/shared-1/").status == 403
    assert eve.post("/api/labs/shared-1/commands", {"do": "pause", "broker": 1}).status == 403
    assert eve.get("/api/labs").json["resting"] == [] and eve.get("/api/me").json["group"] is None
    assert eve.post("/api/me/lab", {"shared": True}).json["problem"]["code"] == "in_no_group"
    assert ann.post(f"/api/classes/{code}/groups", {"students": [3]}).status == 403
    assert rest.post(f"classes/{code}/groups/1", {"students": [2, 3]}).json["groups"][0]["students"] == [2, 3]
    assert ann.get("/api/labs/shared-1/snapshot").status == 403, "who has left reaches it no more"
    assert eve.get("/api/labs/shared-1/snapshot").status == 409


def test_groups_are_made_of_all_who_are_in_none_and_what_is_not_there_is_named(rest: Rest, code: str) -> None:
    for name in ("a", "b", "c", "d", "e"):
        student(rest.url.rstrip("/"), code, name)
    rest.post(f"classes/{code}/groups", {"students": [2]})
    groups = rest.post(f"classes/{code}/groups", {"size": 3}).json["groups"]
    assert [one["students"] for one in groups] == [[2], [1, 3, 4], [5]]
    assert rest.post(f"classes/{code}/groups", {"students": [1, 9]}).json["problem"] == {"code": "no_student", "params": {"n": 9}}
    assert len(rest.get(f"classes/{code}").json["groups"]) == 3, "nothing is left of what was refused"
    assert rest.post(f"classes/{code}/groups", {}).status == 422 and rest.post(f"classes/{code}/groups/7", {"students": []}).status == 404
    assert rest.delete(f"classes/{code}/groups/2").status == 204
    assert [one["group"] for one in rest.get(f"classes/{code}").json["students"]] == [None, 1, None, None, 3]


def test_who_is_told_of_groups_finds_them(rest: Rest, code: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that looked before all of it is written would have the old groups under the new number, and keep them."""
    for name in ("a", "b", "c"):
        student(rest.url.rstrip("/"), code, name)
    found: list[set[int | None]] = []

    def look(_: str) -> None:
        with ThreadPoolExecutor(1) as elsewhere:  # with a connection of its own to the database
            found.append(elsewhere.submit(lambda: {seat.group_id for seat in Seat.objects.filter(classroom_id=code)}).result())

    monkeypatch.setattr(changes, "told", look)
    rest.post(f"classes/{code}/groups", {"size": 2})
    assert found and all(None not in groups for groups in found), "told before it was so"


def test_a_teacher_with_an_account_has_his_own_classes_and_no_others(rest: Rest, code: str, of_group: dict[str, Described]) -> None:
    ada, bea = teacher(rest, "Ada"), teacher(rest, "Bea")
    made = ada.post("/api/classes", {"title": "Ada's"})
    own = made.json["code"]
    student(rest.url.rstrip("/"), own, "otter")
    for name, owner in (("of-ada", f"{own}/1"), ("of-nobody", f"{code}/1")):
        labs.known[name] = of_group[name] = Described(name, 90 + len(name), {}, 1, owner)
    assert (made.status, [one["code"] for one in ada.get("/api/classes").json["items"]]) == (201, [own])
    assert bea.get("/api/classes").json["items"] == [] and own not in bea.get("/classes/").text
    assert ada.get(f"/classes/{own}/").status == ada.get(f"/api/classes/{own}/export").status == 200
    assert ada.get("/api/labs/of-ada/snapshot").status == 409 and ada.get("/api/labs").json["resting"] == ["of-ada"]
    for visitor, address in ((bea, own), (ada, code)):
        for path in (f"/classes/{address}/", f"/api/classes/{address}", f"/api/classes/{address}/export", f"/classes/{address}/report/",
                     f"/exercises/lose-what-was-promised/?class={address}", f"/paper/exercises/small/?class={address}"):
            assert visitor.get(path).status == 403, path
        assert visitor.ask("DELETE", f"/api/classes/{address}", b"{}").status == 403
    assert bea.get("/labs/of-ada/").status == bea.post("/api/labs/of-ada/commands", {"do": "pause", "broker": 1}).status == 403
    assert bea.post("/api/labs", {"name": "trick", "cluster": {}, "owner": f"{own}/1"}).status == 403
    for path in ("/teachers/", "/api/teachers"):
        assert ada.get(path).status == 403 and rest.get("teachers").status == 200
    assert ada.post("/api/teachers", {"name": "Mallory"}).status == 403
    assert ada.get("/keys/lessons/acks-1/").status == 200
    assert own in {one["code"] for one in rest.get("classes").json["items"]}
    for name in of_group:
        del labs.known[name]  # whose processes nobody has started
    assert rest.delete("teachers/Ada").status == 204
    assert ada.get(f"/api/classes/{own}").status == 401 and rest.get(f"classes/{own}").json["title"] == "Ada's"
    assert rest.delete("teachers/Ada").status == 404 and rest.delete(f"classes/{own}").status == 204
    rest.delete("teachers/Bea")


def test_only_the_right_password_lets_in_and_a_new_one_ends_what_the_old_one_began(rest: Rest) -> None:
    cara = teacher(rest, "Cara")
    assert "Cara" in {one["name"] for one in rest.get("teachers").json["items"]}
    assert "Cara" not in User.objects.get(username="teacher:Cara").password
    for name, password in (("Cara", "wrong"), ("cara2", "x"), ("", "")):
        assert enter(Visitor(rest.url.rstrip("/")), name, password).status == 422
    assert rest.post("teachers", {"name": "Cara", "password": "short"}).json["problem"]["code"] == "password_short"
    assert rest.post("teachers", {"name": "Cara", "password": "long enough"}).json["password"] == "long enough"
    assert cara.get("/classes/").status == 401
    assert enter(cara, "Cara", "long enough").status == 302 and cara.get("/classes/").status == 200
    token = TOKEN.search(cara.get("/classes/").text)
    assert token is not None
    cara.ask("POST", "/teach/leave/", urlencode({"csrfmiddlewaretoken": token[1]}).encode(), "application/x-www-form-urlencoded")
    assert cara.get("/classes/").status == 401
    (peer,) = throttle._wrong
    for _ in range(20):
        throttle.count(peer)
    assert enter(cara, "Cara", "long enough").status == 429, "who guesses is not listened to for a while"
    throttle._wrong.clear()
    assert rest.delete("teachers/Cara").status == 204 and teachers.entered("Cara", "long enough") is None
