"""A poll of a class from question to answer, quizzes over REST, and who leads whom."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any
from urllib.request import urlopen

import pytest
from tests.conftest import PATIENCE_S

from lab.quizzes.reading import all_questions
from lab.quizzes.recorded import answers
from tests.web.live_rest import Rest, rest
from tests.web.school import Visitor, student

__all__ = ["rest"]
ASKED = "min-isr-blocks-writes.prediction"
RIGHT, WRONG = 0, 1


@pytest.fixture(scope="module")
def code(rest: Rest) -> Iterator[str]:
    made = rest.post("classes", {"title": "Polls"}).json["code"]
    yield made
    rest.delete(f"classes/{made}")


@pytest.fixture(scope="module")
def three(rest: Rest, code: str) -> list[Visitor]:
    return [student(rest.url.rstrip("/"), code, name) for name in ("otter", "heron", "newt")]


def bars(told: Any) -> dict[int, int]:
    return {bar["answer"]: bar["count"] for bar in told["bars"]}


def test_a_question_is_answered_by_a_class_before_anybody_is_told(rest: Rest, code: str, three: list[Visitor]) -> None:
    assert rest.get(f"classes/{code}/poll").json["question"] is None
    assert three[0].post("/api/me/poll", {"answer": 0}).status == 409
    asked = rest.post(f"classes/{code}/poll", {"question": ASKED}).json
    assert (asked["state"], asked["students"], bars(asked)) == ("open", 3, {0: 0, 1: 0})
    for visitor, answer in zip(three, (WRONG, RIGHT, RIGHT), strict=True):
        mine = visitor.post("/api/me/poll", {"answer": answer}).json
        assert (mine["given"], mine["graded"]) == (answer, None)
    assert three[0].post("/api/me/poll", {"answer": 7}).status == 422
    seen = rest.get(f"classes/{code}/poll").json
    assert (bars(seen), [bar["right"] for bar in seen["bars"]]) == ({0: 2, 1: 1}, [None, None])
    page = three[0].get("/class/poll/").text
    assert "data-question" in page and all_questions()[ASKED].why["en"].strip()[:40] not in page
    assert three[0].post("/api/me/poll", {"answer": RIGHT}).json["given"] == RIGHT  # he has changed his mind
    rest.post(f"classes/{code}/poll/state", {"state": "closed"})
    assert three[0].post("/api/me/poll", {"answer": WRONG}).status == 409
    told = rest.post(f"classes/{code}/poll/state", {"state": "told"}).json
    assert [bar["right"] for bar in told["bars"]] == [True, False]
    assert told["told"]["proof"]["t_us"] == answers()[ASKED].t_us
    mine = three[0].get("/api/me/poll").json
    assert (mine["state"], mine["graded"]["grade"]) == ("told", "right")
    assert rest.post(f"classes/{code}/poll/state", {"state": "open"}).status == 409
    rest.post(f"classes/{code}/poll/state", {"state": "ended"})
    assert three[0].get("/api/me/poll").json["question"] is None


def test_whoever_waits_hears_of_an_answer_and_of_the_next_question(rest: Rest, code: str, three: list[Visitor]) -> None:
    before = rest.get(f"classes/{code}/poll").json["version"]
    mine = three[1].get("/api/me/poll").json["version"]
    rest.post(f"classes/{code}/poll", {"question": "order-of-a-loss"})
    assert rest.get(f"classes/{code}/poll?since={before}&wait=20").json["version"] > before
    assert three[1].get(f"/api/me/poll?since={mine}&wait=20").json["question"]["name"] == "order-of-a-loss"
    order = answers()["order-of-a-loss"].value
    three[1].post("/api/me/poll", {"answer": order})
    assert rest.get(f"classes/{code}/poll").json["bars"] == [{"answer": order, "count": 1, "right": None}]
    rest.post(f"classes/{code}/poll/state", {"state": "ended"})


def test_the_teacher_may_ask_every_question(rest: Rest, code: str) -> None:
    with urlopen(f"{rest.url}classes/{code}/poll/", timeout=PATIENCE_S) as answer:
        page = answer.read().decode()
    assert sorted(re.findall(r'<option value="([^"]+)"', page)) == sorted(all_questions())


def test_what_was_answered_is_taken_away_with_the_class(rest: Rest, code: str, three: list[Visitor]) -> None:
    (first, _) = rest.get(f"classes/{code}/export").json["polls"]
    assert (first["question"], first["state"]) == (ASKED, "ended")
    assert [(one["student"], one["grade"]) for one in first["answers"]] == [(1, "right"), (2, "right"), (3, "right")]


def test_a_student_is_led_and_leads_nobody(rest: Rest, code: str, three: list[Visitor]) -> None:
    assert three[0].get("/api/me/lead").json["look"] is None
    look = {"lab": "", "run": "7", "lesson": "acks-1", "t_us": 5_000_000, "playing": True, "speed": 0.5}
    rest.post(f"classes/{code}/lead", look)
    found = three[0].get("/api/me/lead").json
    assert found["look"] == look
    assert "follow=1" in three[0].get("/class/").text
    rest.post(f"classes/{code}/lead", {**look, "t_us": 6_000_000})
    assert three[0].get(f"/api/me/lead?since={found['version']}&wait=20").json["look"]["t_us"] == 6_000_000
    for path in (f"/api/classes/{code}/lead", f"/api/classes/{code}/poll", f"/classes/{code}/poll/"):
        assert three[0].post(path, look).status == 403, path
    assert rest.post(f"classes/{code}/lead", {"lab": "//elsewhere.example"}).status == 422
    assert rest.delete(f"classes/{code}/lead").status == 204
    assert three[0].get("/api/me/lead").json["look"] is None


def test_an_answer_is_graded_at_once_with_the_moment_that_proves_it(rest: Rest, three: list[Visitor]) -> None:
    found = three[0].post("/api/quizzes/answers", {"question": "setting-against-a-loss", "answer": "ACKS: 'all'"}).json
    assert (found["grade"], found["given"]) == ("right", "acks=all")
    assert (found["proof"]["lesson"], found["proof"]["course"]) == ("acks-1", "fork")
    assert found["proof"]["open"] == f"#proof=acks-1/fork/{found['proof']['t_us']}"
    wrong = rest.post("quizzes/answers", {"question": "acks-1.prediction", "answer": 0}).json
    assert (wrong["grade"], wrong["answer"]) == ("wrong", answers()["acks-1.prediction"].value)
    refused = rest.post("quizzes/answers", {"question": "acks-1.prediction", "answer": "all"})
    assert (refused.status, refused.json["place"]) == (422, "answer")
    assert rest.post("quizzes/answers", {"question": "nothing", "answer": 0}).status == 404


def test_no_question_tells_its_answer_before_it_is_asked(rest: Rest) -> None:
    listed = rest.get("quizzes").json["items"]
    assert len(listed) == rest.get("quizzes").json["total"] > 90
    quiz = rest.get("quizzes/acks-1").json
    assert [one["prediction"] for one in quiz["questions"]] == [True, False, False]
    assert all(set(one) == {"name", "lesson", "course", "ask", "way", "texts", "brokers", "prediction"} for one in quiz["questions"])
    assert rest.get("quizzes/nothing").status == 404


@pytest.mark.parametrize("path", ["/quizzes/", "/quizzes/acks-1/", "/quizzes/durability/", "/quizzes/3-log/", "/quizzes/basics-isr/"])
def test_quizzes_are_pages_in_both_languages(three: list[Visitor], path: str) -> None:
    three[0].cookies["django_language"] = "ko"
    korean = three[0].get(path)
    three[0].cookies["django_language"] = "en"
    assert (korean.status, three[0].get(path).status) == (200, 200)
    assert "퀴즈" in korean.text
