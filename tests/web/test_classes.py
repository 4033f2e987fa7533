"""A class from beginning to end: joined, handed out, handed in, judged by the server, taken away, deleted."""

from __future__ import annotations

import csv
import io
import re
import time
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import connection

from lab.exercises import reading
from lab.experiments.packing import Pack
from lab.experiments.run import run_scenario
from lab.quizzes.reading import all_questions
from lab.quizzes.recorded import answer_of
from tests.conftest import PATIENCE_S, free_ports
from tests.exercises.test_grading import SMALL
from tests.web.live_rest import Rest, ended, rest
from tests.web.school import Visitor, student, teacher
from websockets.exceptions import InvalidStatus
from web import server
from web.api.answers_classes import Everything
from web.live.labs import APART, labs
from web.messages import words_of
from web.pages.class_report import shown_answer
from web.people import classes
from web.people.classes import named, written
from web.people.judging import judge, pack_of
from web.people.models import WAITING, Classroom, HandIn, Seat, Task, Work

__all__ = ["rest"]
ONE = {**SMALL, "seeds": [1, 1], "tries": 3}
GOOD, BAD = {"set": {"acks": "all", "least": "2"}}, {"set": {"acks": "1"}}


@pytest.fixture(scope="module")
def code(rest: Rest) -> Iterator[str]:
    made = rest.post("classes", {"title": "  Distributed\nsystems "}).json
    assert (made["title"], made["open"], made["door"]) == ("Distributed systems", True, f"/join/{made['code']}/")
    assert rest.post(f"classes/{made['code']}/tasks", {"document": ONE}).json["tasks"][0]["most_tries"] == 3
    yield made["code"]
    rest.delete(f"classes/{made['code']}")


def come(rest: Rest, code: str, name: str) -> Visitor:
    return student(rest.url.rstrip("/"), code, name)


def judged(visitor: Visitor, handed: dict[str, Any]) -> dict[str, Any]:
    """The hand-in once it was judged."""
    deadline = time.monotonic() + 2 * PATIENCE_S
    while handed["state"] in WAITING:
        assert time.monotonic() < deadline, handed
        handed = visitor.get(f"/api/me/hand-ins/{handed['id']}?wait=10").json
    return handed


def cell_of(rest: Rest, code: str, name: str) -> dict[str, Any]:
    (found,) = (one for one in rest.get(f"classes/{code}").json["students"] if one["name"] == name)
    return found["cells"]["small"]


def test_a_code_is_taken_as_people_type_it_and_a_name_as_one_line() -> None:
    assert (written("abcd-2345 "), written("ab cd23 45")) == ("ABCD2345", "ABCD2345")
    assert (named("  Ana\u0000 \u202e  b\n"), named("가\u200b나")) == ("Ana b", "가 나")


def test_whoever_has_the_code_joins_under_a_name_of_his_own(rest: Rest, code: str) -> None:
    first = come(rest, code, "otter")
    me = first.get("/api/me").json
    assert (me["level"], me["name"], me["title"], me["lab"]) == ("learn", "otter", "Distributed systems", None)
    assert [task["state"] for task in me["tasks"]] == ["none"]
    again = Visitor(rest.url.rstrip("/"))
    refused = again.join(code, " OTTER ")
    assert (refused.status, "somebody in this class is called OTTER already" in refused.text) == (422, True)
    for wrong in ("", "x" * 61):
        assert again.join(code, wrong).status == 422
    assert "there is no class with this code" in again.join("ABCDEFGH", "heron").text
    (row,) = rest.get(f"classes/{code}").json["students"]
    back = again.get(row["back"])
    assert back.headers["Location"] == "/class/" and again.get("/api/me").json["name"] == "otter"
    assert Visitor(rest.url.rstrip("/")).get(row["back"][:-3] + "x/").headers["Location"] == "/join/"
    assert rest.post(f"classes/{code}", {"open": False}).json["open"] is False
    assert "takes nobody in" in Visitor(rest.url.rstrip("/")).join(code, "late").text
    assert rest.post(f"classes/{code}", {"open": True}).json["title"] == "Distributed systems"


def test_those_who_come_at_once_wait_for_each_other(rest: Rest) -> None:
    """Each asks who is there and then writes: at a transaction of SQLite's own kind the second one is refused."""
    room = classes.make("Rush")

    def some(who: str) -> list[int]:
        try:
            return [classes.join(room.code, f"{who} {n}").number for n in range(4)]
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as threads:
        found = threads.map(some, ("otter", "heron", "swan", "duck"))
    assert sorted(number for numbers in found for number in numbers) == list(range(1, 17))
    room.delete()


def test_the_server_judges_counts_tries_and_takes_the_price_of_hints_off(rest: Rest, code: str) -> None:
    visitor = come(rest, code, "heron")
    assert visitor.get("/exercises/small/").status == 200  # from now on it is opened
    assert cell_of(rest, code, "heron")["state"] == "opened"
    bad = visitor.post("/api/me/hand-ins", {"exercise": "small", **BAD})
    assert (bad.status, bad.json["number"]) == (202, 1)
    bad = judged(visitor, bad.json)
    assert (bad["state"], bad["points"], bad["seed"], bad["why"][0]["params"]["key"]) == ("missed", 0, 1, "receipt.lost")
    told = visitor.post("/api/me/hints", {"exercise": "small"}).json
    assert told == {"hints": [{"en": "acks", "ko": "acks"}], "price": 4}
    good = judged(visitor, visitor.post("/api/me/hand-ins", {"exercise": "small", "hints": 0, **GOOD}).json)
    assert (good["state"], good["points"], good["grade"]["attempt"]) == ("passed", 6, GOOD)
    assert judged(visitor, visitor.post("/api/me/hand-ins", {"exercise": "small", **BAD}).json)["state"] == "missed"
    none = visitor.post("/api/me/hand-ins", {"exercise": "small", **GOOD})
    assert (none.status, none.json["problem"]["code"]) == (409, "no_more_tries")
    found = cell_of(rest, code, "heron")
    assert (found["state"], found["points"], found["tries"], found["hints"]) == ("passed", 6, 3, 1)
    assert found["took_s"] >= 0 and found["last"]["state"] == "missed"
    job = rest.post(f"classes/{code}/hand-ins/{found['last']['id']}/run", {}).json
    again = ended(rest, job["id"])
    assert again["run"] and again["result"]["seeds"][0]["moment"] == found["last"]["moment"] == bad["moment"] is not None


def test_an_exercise_that_says_no_why_has_its_sheets_in_both_languages(rest: Rest, code: str) -> None:
    for address in ("paper", "keys"):
        for language in ("en", "ko"):
            url = f"{rest.url}{address}/exercises/small/?language={language}&class={code}"
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                page = answer.read().decode()
            assert SMALL["title"][language] in page
            leads = re.findall(r'href="([^"]*class=[^"]*)"', page)
            assert leads == [f"/exercises/small/?class={code}", *(f"?language={one}&amp;class={code}" for one in ("en", "ko"))]
    assert "why" not in SMALL


def test_what_cannot_be_handed_in_names_the_reason_and_is_no_try(rest: Rest, code: str) -> None:
    visitor = come(rest, code, "crane")
    wrong = visitor.post("/api/me/hand-ins", {"exercise": "small", "set": {"acks": "7"}})
    assert (wrong.status, wrong.json["place"]) == (422, "set.acks")
    assert visitor.post("/api/me/hand-ins", {"exercise": "acks-1"}).status == 404
    assert rest.post(f"classes/{code}/tasks", {"document": ONE, "due": "2020-01-01T00:00:00Z"}).status == 200
    late = visitor.post("/api/me/hand-ins", {"exercise": "small", **GOOD})
    assert (late.status, late.json["problem"]["code"]) == (409, "deadline_over")
    page = visitor.get("/exercises/small/").text
    assert words_of("exercises", "en")["deadline_over"] in page and 'id="try" disabled' in page and 'id="pack"' not in page
    assert f"({words_of('people', 'en')['deadline_over']})" in visitor.get("/class/").text
    assert rest.post(f"classes/{code}/tasks", {"document": ONE, "due": "2020-01-01T00:00:00"}).status == 422  # no zone
    assert rest.post(f"classes/{code}/tasks", {"document": ONE}).json["tasks"][0]["due"] is None
    assert cell_of(rest, code, "crane")["tries"] == 0


def test_a_heading_over_figures_stands_where_they_do() -> None:
    told = {key: {"en": "", "ko": ""} for key in ("title", "reading", "doc")}
    rows = [{"exercise": "small", "lost": None}, {"exercise": "small", "lost": 4}]
    found = shown_answer({"query": "loss", "columns": ["exercise", "lost"], "rows": rows, "count": 2, **told}, "ko")
    assert [is_number for _, is_number in found["heads"]] == [False, True]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of the solution, as a laptop has made it."""
    path = tmp_path_factory.mktemp("laptop") / "run"
    run_scenario(reading.from_dict(ONE).scenario(GOOD, 1), out=path)
    return path


def test_a_packed_run_is_believed_only_when_it_comes_out_again(rest: Rest, code: str, run: Path) -> None:
    visitor = come(rest, code, "swan")

    def hand_in(content: bytes) -> dict[str, Any]:
        told = visitor.ask("POST", "/api/me/packs/small", content, "application/gzip")
        assert told.status == 202, told.text
        return judged(visitor, told.json)

    honest = hand_in(b"".join(Pack.of(run).pieces()))
    assert (honest["state"], honest["points"], honest["packed"], honest["attempt"]) == ("passed", 10, True, GOOD)
    facts = orjson.loads((run / "run.json").read_bytes())
    (run / "run.json").write_bytes(orjson.dumps({**facts, "receipt": {**facts["receipt"], "acked": 10**6}}))
    forged = hand_in(b"".join(Pack.of(run).pieces()))
    assert (forged["state"], forged["points"]) == ("forged", 0) and forged["why"]
    assert cell_of(rest, code, "swan")["last"]["state"] == "forged"
    torn = hand_in(b"\x1f\x8b no pack")
    assert (torn["state"], torn["error"]["problem"]["code"]) == ("refused", "no_pack")
    assert not [one for one in (honest, forged, torn) if pack_of(one["id"]).exists()]  # nothing is left of them


def test_what_a_server_has_left_unjudged_the_next_one_judges_in_order(rest: Rest, code: str) -> None:
    visitors = [come(rest, code, f"duck {n}") for n in range(3)]
    task = Task.objects.get(classroom_id=code)
    for number in range(len(visitors)):
        seat = Seat.objects.get(classroom_id=code, name=f"duck {number}")
        HandIn.objects.create(id=f"left-{number}", seat=seat, task=task, number=1, attempt=GOOD, state="running")
    judge._loop = None  # a new life
    found = [judged(visitor, visitor.get(f"/api/me/hand-ins/left-{n}").json) for n, visitor in enumerate(visitors)]
    assert [one["state"] for one in found] == ["passed"] * 3
    ends = list(HandIn.objects.filter(id__startswith="left-").order_by("id").values_list("ended", flat=True))
    assert ends[2] > min(ends[:2])  # two at a time: the last one waited for a place


def test_news_of_a_class_come_when_there_are_some(rest: Rest, code: str) -> None:
    version = rest.get(f"classes/{code}").json["version"]
    assert rest.get(f"classes/{code}?since={version}").json["version"] == version
    come(rest, code, "gull")
    began = time.monotonic()
    assert rest.get(f"classes/{code}?since={version}&wait=25").json["version"] > version
    assert time.monotonic() - began < PATIENCE_S


def test_grades_are_taken_away_as_csv_and_everything_as_json(rest: Rest, code: str) -> None:
    come(rest, code, "=1+1")
    answer = rest.get(f"classes/{code}/grades.csv")
    assert (answer.media, answer.body[:3]) == ("text/csv", b"\xef\xbb\xbf")
    rows = {row["name"]: row for row in csv.DictReader(io.StringIO(answer.body.decode("utf-8-sig")))}
    assert (rows["heron"]["state"], rows["heron"]["points"], rows["heron"]["most"], rows["heron"]["tries"]) == ("passed", "6", "10", "3")
    assert float(rows["heron"]["moment_s"]) > 2
    assert "'=1+1" in rows  # a spreadsheet takes it for text
    found = rest.get(f"classes/{code}/export").json
    Everything.model_validate(found)
    assert found["exercises"]["small"]["title"] == ONE["title"]
    tried = {(one["student"], one["number"]): one["attempt"] for one in found["hand_ins"] if not one["packed"]}
    heron = next(one["number"] for one in found["students"] if one["name"] == "heron")
    assert [tried[heron, number] for number in (1, 2, 3)] == [{**BAD, "steps": []}, {**GOOD, "steps": []}, {**BAD, "steps": []}]


def test_what_a_student_has_made_of_lessons_is_there_in_his_other_browser(rest: Rest, code: str) -> None:
    first = come(rest, code, "owl")
    assert first.get("/api/me/lessons").json == {"results": {}}
    for grade, kept in (("wrong", "wrong"), ("near", "near"), ("seen", "near")):
        assert first.post("/api/me/lessons", {"name": "acks-1", "grade": grade}).json["results"] == {"acks-1": kept}
    assert first.post("/api/me/lessons", {"name": "../secret", "grade": "seen"}).status == 404
    assert first.post("/api/me/lessons", {"name": "acks-1", "grade": "great"}).status == 422
    (row,) = (one for one in rest.get(f"classes/{code}/export").json["students"] if one["name"] == "owl")
    assert row["lessons"] == {"acks-1": "near"}
    other = Visitor(rest.url.rstrip("/"))
    (seat,) = (one for one in rest.get(f"classes/{code}").json["students"] if one["name"] == "owl")
    other.get(seat["back"])
    assert other.get("/api/me/lessons").json["results"] == {"acks-1": "near"}
    assert come(rest, code, "lark").get("/api/me/lessons").json["results"] == {}
    assert other.ask("DELETE", "/api/me/lessons").status == 204
    assert first.get("/api/me/lessons").json["results"] == {} and rest.get("me/lessons").status == 403


def test_what_a_student_answers_is_kept_with_the_first_grade(rest: Rest, code: str) -> None:
    visitor = come(rest, code, "finch")
    question = next(one for one in all_questions().values() if one.way == "choices" and answer_of(one) is not None)
    right = answer_of(question).value
    for answer in ((right + 1) % len(question.options), right):
        assert visitor.post("/api/quizzes/answers", {"question": question.name, "answer": answer}).status == 200
    assert visitor.get("/api/me/questions").json["results"] == {question.name: {"grade": "right", "first": "wrong", "tries": 2}}
    assert visitor.post("/api/me/lessons", {"name": "acks-1", "grade": "wrong"}).status == 200
    assert visitor.post("/api/me/lessons", {"name": "acks-1", "grade": "right"}).status == 200
    assert " right<" in visitor.get("/quizzes/").text
    (row,) = (one for one in rest.get(f"classes/{code}/export").json["students"] if one["name"] == "finch")
    assert (row["lessons"], row["first_lessons"]) == ({"acks-1": "right"}, {"acks-1": "wrong"})
    assert row["questions"][question.name]["first"] == "wrong"
    assert come(rest, code, "robin").get("/api/me/questions").json == {"results": {}} and rest.get("me/questions").status == 403


def test_each_student_has_a_lab_that_only_he_and_the_teacher_reach(rest: Rest, code: str, tmp_path: Path) -> None:
    first = free_ports(APART + 4)
    server.hold(1, tmp_path / "labs", "127.0.0.1", first - APART)
    try:
        owner, other = come(rest, code, "tern"), come(rest, code, "kite")
        cluster = {"brokers": 1, "preset": "teaching", "controller": "kraft"}
        begun = owner.post("/api/me/lab", {"cluster": cluster})
        assert begun.status == 201, begun.text
        name = begun.json["id"]
        assert owner.get("/api/me").json["lab"] == name and code not in name
        assert owner.post("/api/me/lab", {"cluster": cluster}).status == 409
        assert owner.post(f"/api/labs/{name}/commands", {"do": "create_topic", "topic": "mine", "partitions": 1}).status == 200
        assert owner.post("/api/labs/lab/commands", {"do": "kill", "broker": 1}).status == 403
        assert other.get(f"/api/labs/{name}/snapshot").status == other.get(f"/labs/{name}/").status == 403
        stranger = teacher(rest, "Stranger")
        for visitor in (other, stranger, Visitor(owner.url)):
            with pytest.raises(InvalidStatus):
                visitor.socket(f"/labs/{name}/live/")
        with owner.socket(f"/labs/{name}/live/") as socket:
            socket.send('{"k": "hello", "run": "", "epoch": 0, "last": 0}')
            assert '"k":"snap"' in socket.recv(timeout=PATIENCE_S)
            socket.send('{"k": "cmd", "id": 1, "do": "create_topic", "topic": "by-socket", "partitions": 1}')
            assert any('"ok": true' in socket.recv(timeout=PATIENCE_S) for _ in range(200))
        assert 'data-may="act"' in owner.get(f"/labs/{name}/").text and 'data-may="look"' in owner.get("/").text
        assert owner.post(f"/labs/{name}/api/me/lessons", {"name": "acks-1", "grade": "seen"}).status == 200  # as his page asks
        assert f'data-student="{code}/' in owner.get(f"/labs/{name}/").text
        assert "mine" in rest.get(f"labs/{name}/snapshot").json["state"]["topics"]
        number = owner.get("/api/me").json["number"]
        (taken,) = Everything.model_validate(rest.get(f"classes/{code}/export").json).labs
        assert (taken.name, taken.student, taken.group, taken.cluster["brokers"]) == (name, number, None, 1)
        assert rest.delete(f"classes/{code}/students/{number}").status == 204
        assert name not in labs.known and not (tmp_path / "labs" / name).exists()
        rest.delete("teachers/Stranger")
    finally:
        server.hold(0, tmp_path, "127.0.0.1", 0)


def test_nothing_is_left_of_a_class_that_is_deleted(rest: Rest, code: str) -> None:
    users = set(Seat.objects.filter(classroom_id=code).values_list("user_id", flat=True))
    other = rest.post("classes", {"title": "stays"}).json["code"]
    stays = come(rest, other, "stays")
    assert len(users) > 5 and rest.delete(f"classes/{code}").status == 204
    assert rest.get(f"classes/{code}").status == 404
    assert not User.objects.filter(id__in=users).exists() and not Classroom.objects.filter(code=code).exists()
    for table in (Seat, Task):
        assert not table.objects.filter(classroom_id=code).exists()
    assert not HandIn.objects.filter(seat__user_id__in=users).exists() and not Work.objects.filter(seat__user_id__in=users).exists()
    assert not HandIn.objects.filter(id__startswith="left-").exists()
    assert not users & {int(one.get_decoded().get("_auth_user_id", 0)) for one in Session.objects.all()}
    assert stays.get("/api/me").json["name"] == "stays"
    rest.delete(f"classes/{other}")
