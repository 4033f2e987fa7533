"""A class in three browsers: a teacher makes it and hands out, two students from other machines join, one of them solves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser.lab_page import take_picture, violations
from tests.conftest import PATIENCE_S, start_lab
from tests.exercises.test_grading import SMALL
from tests.web.rest import Caller
from tests.web.school import ELSEWHERE

from web.messages import words_of

Open = Callable[..., Any]
WORDS = {language: words_of("people", language) for language in ("en", "ko")}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    started = start_lab(tmp_path_factory.mktemp("class"), "--preset", "teaching", "--seed", "5", web=True)
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
    assert [one for one in complaints if not any(f"status of {status}" in one for status in refused)] == []


def looked_at(page: Any, name: str) -> None:
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    take_picture(page, f"class-{name}")


def come_in(page: Any, address: str, name: str) -> None:
    page.goto(address)
    page.fill("[name=name]", name)
    page.click("button.main")
    page.wait_for_url("**/class/")


def test_a_teacher_sees_a_class_come_and_solve_an_exercise(visit: Open, lab: Any) -> None:
    teacher, first, second = visit("en"), visit("ko", dark=True, width=390, elsewhere=True), visit("en", elsewhere=True)
    teacher.goto(f"{lab.page}classes/")
    teacher.fill("[name=title]", "Distributed systems")
    teacher.click("form button.main")
    teacher.wait_for_url("**/classes/*/")
    code = teacher.inner_text("h1 code")
    rest = Caller(lab.page)
    assert rest.post(f"classes/{code}/tasks", {"document": {**SMALL, "seeds": [1, 1], "tries": 2}}).status == 200
    teacher.wait_for_selector("#task-small")
    teacher.click("#to-door")
    teacher.wait_for_selector(".door .code")
    assert teacher.inner_text(".door .code").replace("-", "") == code
    assert teacher.evaluate("document.querySelector('.picture img').naturalWidth") > 0
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
    first.click("#hint")
    first.wait_for_selector("#hints li")
    first.select_option("[name='set.acks']", "1")
    first.click("#try")
    first.wait_for_selector(".verdict.missed")
    assert first.inner_text("#left") == "1"
    teacher.wait_for_selector("td.cell.missed .why:has-text('receipt.lost')")
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
    with teacher.expect_download() as saved:
        teacher.click("#csv")
    assert saved.value.suggested_filename == f"grades-{code}.csv"
    teacher.click("td.cell.passed a")
    teacher.wait_for_selector("pre.attempt")
    looked_at(teacher, "hand-in")
    teacher.goto(f"{lab.page}classes/{code}/")
    teacher.click("#delete")
    teacher.wait_for_url("**/classes/")
    first.goto(f"{lab.page}class/")
    assert first.locator("[name=token]").count() == 1  # nobody any more: the page that asks for the token
