"""A lesson is watched: played, paused, stepped and skipped by the page's own clock; a number is guessed, and graded."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import Open, open_pages, violations


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("watching") / "lab")


def test_a_run_is_played_from_stop_to_stop_and_judged_at_its_end(visit: Open) -> None:
    seen = visit("ko", bypass_csp=True)
    page = seen.page
    page.click("[data-panel=scenarios]")
    page.click('[data-scenario="session-expiry"]')
    page.click('[data-guess-broker="3"]')
    seen.picture("predict-broker")
    page.click("[data-lesson=run]")
    seen.wait("lab.clock.playing")
    seen.wait("!document.getElementById('drawer').checkVisibility()")
    seen.wait("document.activeElement?.matches('[data-watch]')")  # the space bar plays, and presses no button
    page.evaluate("lab.app.setSpeed(0.01)")
    page.keyboard.press(" ")
    seen.wait("!lab.clock.playing")
    at = seen.value("lab.clock.t")
    page.keyboard.press("ArrowRight")
    assert at <= seen.value("lab.clock.t") < at + 1_000_000
    page.keyboard.press("n")
    seen.see('[data-watch="0"]')
    stops = seen.value("lab.app.desk.watch.ended.facts.stops")
    assert stops[0]["say"]["ko"] in page.inner_text("[data-watch]")
    seen.picture("watch-stop")
    assert violations(page) == []
    for index in range(1, len(stops)):
        page.click("[data-watch-go]")
        page.click("[data-watch-skip]")
        seen.see(f'[data-watch="{index}"]')
    page.click('[data-stop="1"]')
    seen.see('[data-watch="1"]')
    assert not page.query_selector("[data-guess]")
    page.click("[data-watch-verdict]")
    seen.see("[data-guess=right]")
    seen.picture("watch-verdict")
    page.click("[data-lesson=watch]")
    seen.wait("lab.clock.playing")
    page.keyboard.press("n")
    seen.see('[data-watch="0"]')
