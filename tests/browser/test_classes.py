"""A class in three browsers: a teacher makes it and hands out, two students from other machines join, one of them solves it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser.lab_page import take_picture, violations
from tests.conftest import PATIENCE_S, start_lab
from tests.exercises.test_grading import SMALL
from tests.web.rest import Caller
from tests.web.school import ELSEWHERE

from lab.quizzes.recorded import answers
from web.messages import words_of

Open = Callable[..., Any]
EXERCISE = "lose-what-was-promised"
WORDS = {language: words_of("people", language) for language in ("en", "ko")}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started = start_lab(tmp_path_factory.mktemp("class"), "--preset", "teaching", "--seed", "5", "--labs", "1", web=True)
    yield started
    started.stop()


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """`visit("ko", dark=True, elsewhere=True)`: a browser of its own; nothing may go wrong on its pages."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def start(language: str, dark: bool = False, width: int = 1280, elsewhere: bool = False) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, locale={"en": "en-US", "ko": "ko-KR"}[language],
            color_scheme="dark" if dark else "light", extra_http_headers=ELSEWHERE if elsewhere else {},
        )  # fmt: skip
        context.set_default_timeout(2 * PATIENCE_S * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: dialog.accept())
        return page

    yield start
    for context in contexts:
        context.close()
    refused = ("401", "403", "404", "409", "422")  # the browser tells of each refusal
    assert [one for one in complaints if not any(f"{said} {status}" in one for said in ("status of", "response code:") for status in refused)] == []


def looked_at(page: Any, name: str) -> None:
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(page, f"class-{name}")


def until(page: Any, holds: str) -> None:
    """Asked again and again: the page's policy lets nobody evaluate texts in it."""
    deadline = time.monotonic() + PATIENCE_S
    while not page.evaluate(holds):
        assert time.monotonic() < deadline, holds
        page.wait_for_timeout(50)


def come_in(page: Any, address: str, name: str) -> None:
    page.goto(address)
    page.fill("[name=name]", name)
    page.click("button.main")
    page.wait_for_url("**/class/")


def remembers_lessons(page: Any, address: str) -> None:
    """What a student has made of a lesson is the server's, not this browser's."""
    for was_there in (False, True):
        page.goto(address)
        until(page, "Boolean(globalThis.lab?.app?.online && lab.app.desk.greeted)")
        page.click("[data-panel=scenarios]")
        page.wait_for_selector(f'[data-scenario="acks-1"]{"[data-grade=right]" if was_there else ":not([data-grade])"}')
        if not was_there:
            assert page.evaluate("lab.app.desk.lessons.results.take('acks-1', 'right').then(() => localStorage.getItem('lab-lessons'))") is None


def was_led_to_the_moment(teacher: Any, code: str) -> None:
    """From the grid to where the last try was decided, in a run of it on the page of the lab."""
    grid, button = teacher.url, "td.cell.passed button[id^=moment-]"
    micros = int(teacher.get_attribute(button, "data-job").rpartition("/")[2])
    assert f"{micros / 1e6:.3f}" in teacher.inner_text(button)
    teacher.click(button)
    teacher.wait_for_url("**/#run=*")
    there = f"!lab.app.clock.live && lab.app.desk.run !== lab.app.desk.live && lab.app.clock.t === {micros}"
    until(teacher, f"Boolean(globalThis.lab?.app && {there})")
    looked_at(teacher, "moment")
    teacher.goto(grid)


def test_a_teacher_sees_a_class_come_and_solve_an_exercise(visit: Open, lab: Any) -> None:
    teacher, first, second = visit("en"), visit("ko", dark=True, width=390, elsewhere=True), visit("en", elsewhere=True)
    teacher.goto(f"{lab.page}classes/")
    teacher.fill("[name=title]", "Distributed systems")
    teacher.click("form button.main")
    teacher.wait_for_url("**/classes/*/")
    code = teacher.inner_text("h1 code")
    teacher.click("#to-own")
    teacher.fill("[name=text]", json.dumps({**SMALL, "seeds": [1, 1]}))
    teacher.select_option("[name=room]", code)
    teacher.fill("[name=tries]", "2")
    looked_at(teacher, "own-exercise")
    teacher.click("#hand-out:not([disabled])")
    teacher.wait_for_url(f"**/classes/{code}/")
    teacher.wait_for_selector("#task-small")
    teacher.click("#to-door")
    teacher.wait_for_selector(".door .code")
    assert teacher.inner_text(".door .code").replace("-", "") == code
    until(teacher, "document.querySelector('.picture img').naturalWidth > 0")
    looked_at(teacher, "door")
    come_in(first, f"{lab.page}join/{code}/", "수달")
    teacher.wait_for_selector(".names li:has-text('수달')")
    second.goto(f"{lab.page}join/")
    second.fill("[name=code]", f"{code[:4]}-{code[4:]}".lower())
    second.fill("[name=name]", "수달")
    second.click("button.main")
    second.wait_for_selector(".why")  # the name is taken
    second.fill("[name=name]", "heron")
    second.click("button.main")
    second.wait_for_url("**/class/")
    teacher.goto(f"{lab.page}classes/{code}/")
    first.click("#task-small")
    teacher.wait_for_selector("td.cell.opened")
    teacher.select_option("#group-some [name=students]", label="수달")
    first.click("#hint")
    first.wait_for_selector("#hints li")
    first.select_option("[name='set.acks']", "1")
    first.click("#try")
    first.wait_for_selector(".verdict.missed")
    assert first.inner_text("#left") == "1"
    teacher.wait_for_selector("td.cell.missed .why:has-text('receipt.lost')")
    assert teacher.locator("#group-some option:checked").all_inner_texts() == ["수달"]  # the page was renewed beside it
    first.select_option("[name='set.acks']", "all")
    first.fill("[name='set.least']", "2")
    first.click("#try")
    first.wait_for_selector(".verdict.reached")
    looked_at(first, "exercise-ko")
    teacher.wait_for_selector("td.cell.passed")
    assert "6" in teacher.inner_text("td.cell.passed strong")
    looked_at(teacher, "grid")
    first.goto(f"{lab.page}class/")
    first.wait_for_selector(".card.passed")
    assert WORDS["ko"]["state.passed"] in first.inner_text(".card.passed")
    looked_at(first, "seat-ko")
    second.wait_for_selector("#task-small")
    assert "수달" not in second.inner_text("body") and second.goto(f"{lab.page}classes/{code}/").status == 403
    remembers_lessons(second, lab.page)
    with teacher.expect_download() as saved:
        teacher.click("#csv")
    assert saved.value.suggested_filename == f"grades-{code}.csv"
    was_led_to_the_moment(teacher, code)
    teacher.click("td.cell.passed a")
    teacher.wait_for_selector("pre.attempt")
    looked_at(teacher, "hand-in")
    teacher.goto(f"{lab.page}classes/{code}/")
    teacher.click("#delete")
    teacher.wait_for_url("**/classes/")
    first.wait_for_selector("[name=token]")  # nobody any more: by itself it becomes the page that asks for the token


def test_a_class_is_asked_before_the_run_is_played_and_follows_its_teacher(visit: Open, lab: Any) -> None:
    rest = Caller(lab.page)
    code = rest.post("classes", {"title": "Polls"}).json["code"]
    teacher, first, second = visit("en"), visit("ko", dark=True, width=390, elsewhere=True), visit("en", elsewhere=True)
    for page, name in ((first, "수달"), (second, "heron")):
        come_in(page, f"{lab.page}join/{code}/", name)
    teacher.goto(f"{lab.page}classes/{code}/poll/")
    teacher.select_option("[name=question]", "acks-all.prediction")
    teacher.click("#ask button.main")
    for page, guess in ((first, "50"), (second, "0")):
        page.fill("#poll [name=answer]", guess)
        page.click("#poll button.main")
    teacher.wait_for_selector(".bars li:nth-child(2)")
    looked_at(teacher, "poll")
    looked_at(first, "poll-ko")
    teacher.click("#poll-tell")
    teacher.wait_for_selector(".bars li.right")
    second.wait_for_selector("#poll .graded.right")
    first.wait_for_selector("#poll .graded.wrong")
    looked_at(teacher, "poll-told")
    looked_at(first, "poll-told-ko")

    teacher.click("#to-lead")
    teacher.wait_for_selector("[data-follow=lead]")
    second.wait_for_selector("#to-follow:not([hidden])")
    second.click("#to-follow a")
    second.wait_for_selector("[data-follow=follow]")
    assert rest.post("labs/lab/commands", {"do": "create_topic", "topic": "followed", "partitions": 1}).status == 200
    until(teacher, "lab.history.end > lab.history.begin + 9")
    teacher.evaluate("lab.app.clock.go(lab.history.begin + 3)")
    stands = teacher.evaluate("Math.round(lab.app.clock.t)")
    until(second, f"!lab.app.clock.live && Math.abs(lab.app.clock.t - {stands}) < 1000")
    teacher.evaluate("lab.app.clock.goLive()")
    until(second, "lab.app.clock.live")
    teacher.evaluate("(lab.app.desk.show('scenarios'), lab.app.desk.lessons.pick('acks-1'))")
    until(second, "lab.app.desk.lessons.one?.name === 'acks-1'")
    teacher.evaluate("lab.app.desk.close()")
    until(second, "lab.app.desk.panel === null")


def test_a_teacher_with_an_account_makes_a_group_that_shares_a_lab(visit: Open, lab: Any) -> None:
    operator, teacher = visit("en"), visit("ko", elsewhere=True)
    first, second = visit("ko", dark=True, width=390, elsewhere=True), visit("en", elsewhere=True)
    operator.goto(f"{lab.page}teachers/")
    operator.fill("#new-teacher [name=name]", "Ada")
    operator.click("#new-teacher button")
    operator.wait_for_selector("#told:not([hidden])")
    name, password = operator.inner_text("#told").split(": ")
    teacher.goto(f"{lab.page}teach/")
    teacher.fill("[name=name]", name)
    teacher.fill("[name=password]", password)
    teacher.click("button.main")
    teacher.wait_for_url("**/classes/")
    assert teacher.locator("#to-teachers").count() == 0 and teacher.goto(f"{lab.page}teachers/").status == 403
    teacher.goto(f"{lab.page}classes/")
    teacher.fill("[name=title]", "Pairs")
    teacher.click("form button.main")
    teacher.wait_for_url("**/classes/*/")
    code = teacher.inner_text("h1 code")
    for page, student in ((first, "수달"), (second, "heron")):
        come_in(page, f"{lab.page}join/{code}/", student)
    teacher.wait_for_selector("tfoot th:has-text('학생 2명')")
    teacher.fill("#group-all [name=size]", "2")
    teacher.click("#group-all button")
    teacher.wait_for_selector("#group-1:has-text('heron')")
    first.select_option("form:has(#begin-group-lab) [name='cluster.era']", "2.x")
    first.click("#begin-group-lab")
    second.click("#to-group-lab")  # it comes by itself
    second.wait_for_url("**/labs/*/")
    until(second, "Boolean(globalThis.lab?.app?.online)")
    assert "2.x" in {one.get("era") for one in Caller(lab.page).get("labs").json["items"]}  # as it was chosen
    looked_at(first, "group-ko")
    looked_at(teacher, "groups-ko")
    until(second, "lab.app.desk.live !== null")
    assert second.locator("[data-runs]").count() == 0  # no command for a shell that no student has
    operator.goto(f"{second.url}?lead={code}")
    second.goto(f"{lab.page}?follow=1")
    second.wait_for_url("**/labs/*/?follow=1")
    teacher.click("#dissolve-1")
    teacher.wait_for_selector("#group-1", state="detached")
    first.wait_for_selector("#to-group-lab", state="detached")
    operator.goto(f"{lab.page}?lead={code}")
    second.wait_for_url(f"{lab.page}?follow=1")  # away from a lab that is gone
    operator.goto(f"{lab.page}teachers/")
    operator.click("button[data-delete]")
    operator.wait_for_selector("button[data-delete]", state="detached")
    teacher.wait_for_selector("input[name=token]")  # the page that was theirs renews itself, and is theirs no longer
    assert teacher.request.get(f"{lab.page}classes/{code}/").status == 401 and Caller(lab.page).delete(f"classes/{code}").status == 204


@pytest.mark.parametrize("language", ["en", "ko"])
def test_questions_are_answered_and_printed(visit: Open, lab: Any, language: str) -> None:
    words = words_of("quizzes", language)
    page = visit(language, dark=language == "ko", width=390 if language == "ko" else 1280)
    page.goto(f"{lab.page}quizzes/")
    looked_at(page, f"quizzes-{language}")
    page.goto(f"{lab.page}basics/#isr")
    page.click("#isr a[href$='/quizzes/basics-isr/']")
    page.check("#q-next-from-the-isr [value='2']")
    page.click("#q-next-from-the-isr button.main")
    page.wait_for_selector("#q-next-from-the-isr .graded.right .proof")
    looked_at(page, f"quiz-of-a-text-{language}")
    page.click("#to-text")
    page.wait_for_url("**/basics/#isr")
    page.goto(f"{lab.page}quizzes/acks-1/")
    page.fill("#q-setting-against-a-loss [name=answer]", "acks: 'all'")
    page.click("#q-setting-against-a-loss button.main")
    page.wait_for_selector("#q-setting-against-a-loss .graded.right")
    assert words["proof"] in page.inner_text("#q-setting-against-a-loss .proof")
    page.click("#q-order-of-a-loss [data-move='1'] >> nth=0")
    page.click("#q-order-of-a-loss button.main")
    page.wait_for_selector("#q-order-of-a-loss .graded ol")
    looked_at(page, f"quiz-{language}")
    if language == "en":
        shown = answers()["order-of-a-loss"].t_us
        page.click("#q-order-of-a-loss .proof")
        until(page, f"globalThis.lab.app && lab.app.desk.run !== lab.app.desk.live && Math.abs(lab.app.clock.t - {shown}) < 100000")
        take_picture(page, "proof")
    for address in ("paper/lessons/acks-1/", "keys/lessons/replication-factor/", f"keys/exercises/{EXERCISE}/"):
        page.goto(f"{lab.page}{address}")
        looked_at(page, f"{address.replace('/', '-')}{language}")
    page.goto(f"{lab.page}projector/")
    page.wait_for_selector("#scene-svg .broker")
    assert page.is_hidden("#desk") and page.is_visible("#story")
    take_picture(page, f"projector-{language}")
