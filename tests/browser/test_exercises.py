"""An exercise as a learner takes it: from the lab's help to the list, a hint, an attempt that fails, one that reaches the goals."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, open_pages, take_picture, violations
from tests.sampling import every

from lab.exercises import reading
from web.messages import words_of

Open = Callable[..., LabPage]
NAME = "lose-what-was-promised"


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("exercises"))


@pytest.mark.parametrize(("language", "dark", "width"), every([("en", False, 1280), ("ko", True, 390)], keep=[("ko", True, 390)]))
def test_an_exercise_is_failed_and_then_solved(visit: Open, language: str, dark: bool, width: int) -> None:
    seen = visit(language, dark=dark, width=width)
    page, words, exercise = seen.page, words_of("exercises", language), reading.load(NAME)
    page.goto(f"{seen.lab.page}exercises/")
    assert page.locator("[data-exercise]").count() == len(reading.names())
    assert violations(page) == []
    page.click(f"[data-exercise={NAME}]")
    page.wait_for_selector("#hint:not([hidden])")
    page.click("#hint")
    page.wait_for_selector("#hints li")
    assert page.inner_text("#hints li") == exercise.hints[0].text[language]
    page.click("[data-add=kill]")
    page.click("#try")
    seen.see(".verdict.missed")
    assert "receipt.lost" in page.inner_text(".verdict li >> nth=0")
    page.select_option("[name='set.acks']", "1")
    page.click("#try")
    seen.see(".verdict.reached")
    told = page.inner_text(".verdict")
    assert f"{words['reached']}: {words['points_of'].format(n=8, most=10)}" in told and exercise.why[language].split()[0] in told
    assert re.fullmatch(r"/#run=[\w.-]+/\d+", page.get_attribute(".verdict a", "href"))  # the moment that decided
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert violations(page) == []
    take_picture(page, f"exercise-{language}")
    page.goto(f"{seen.lab.page}exercises/")
    assert "8" in page.inner_text(f"[data-exercise={NAME}].solved .done")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_teacher_writes_an_exercise_and_sees_at_once_what_is_wrong_with_it(visit: Open, language: str) -> None:
    seen = visit(language, view="learn")
    page, words = seen.page, words_of("exercises", language)
    page.goto(f"{seen.lab.page}exercises/own/")
    page.wait_for_selector("#state.good")
    assert words["valid"] in page.inner_text("#state") and violations(page) == []
    text = page.input_value("[name=text]")
    page.fill("[name=text]", text.replace("least", "lest").replace("receipt.lost: 0", "receipt.lots: 0"))
    page.wait_for_selector("#state.bad")
    assert "goals.receipt.lots" in page.inner_text("#state") and page.is_disabled("[data-run=solution]")
    page.fill("[name=text]", text)
    page.wait_for_selector("#state.good")
    page.click("[data-run=wrong]")
    seen.see(".verdict.missed")
    page.click("[data-run=solution]")
    seen.see(".verdict.reached")
    with page.expect_download() as saved:
        page.click("#save")
    assert saved.value.suggested_filename == "keep-what-was-promised.yaml"
    seen.complaints[:] = [one for one in seen.complaints if "422" not in one]  # the browser tells of each refusal
