"""A newcomer's first five minutes, by what stands on the page alone: from an empty lab over a dead leader to a lesson's verdict.

Nothing is asked of the learner but to press the one button that the page offers, to make a prediction, and to watch. Each
language has an empty lab of its own: in Korean what `up` starts when nothing else is asked for, in English one with ZooKeeper.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations

ENGLISH = re.compile(r"\b(the|is|are|of|and|with|which|will|has|its)\b")
INVITES = "document.querySelectorAll('#coach button.main').length"
LOGS = "Object.values(lab.app.chosenPartition.logs).map(({ leo }) => leo)"


@pytest.fixture(params=["en", "ko"])
def newcomer(request: pytest.FixtureRequest, browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[LabPage]:
    generation = None if request.param == "ko" else "zookeeper"
    pages = open_pages(browser, tmp_path_factory.mktemp("first-minutes") / "lab", generation=generation)
    visit: Open = next(pages)
    seen = visit(request.param, view="learn", bypass_csp=True)
    yield seen
    for _ in pages:
        raise AssertionError("one lab only")


def language_of(seen: LabPage) -> str:
    return str(seen.value("document.documentElement.lang"))


def offered(seen: LabPage, button: str) -> None:
    """The page offers one thing, and it is this; press it."""
    seen.see(button)
    assert seen.value(INVITES) == 1
    in_its_language(seen)
    seen.page.click(button)


def in_its_language(seen: LabPage) -> None:
    said = seen.page.inner_text("#coach") + seen.page.inner_text("#story-list")
    assert bool(ENGLISH.search(said)) == (language_of(seen) == "en"), said


def test_a_newcomer_kills_a_leader_takes_a_lesson_and_knows_a_word_more(newcomer: LabPage, require_module: Any) -> None:
    require_module("axe_playwright_python")
    nothing_is_lost_when_the_leader_dies(newcomer)
    a_lesson_is_predicted_watched_and_judged(newcomer)
    a_word_is_looked_up(newcomer)
    what_was_done_is_remembered(newcomer)


def nothing_is_lost_when_the_leader_dies(seen: LabPage) -> None:
    """Topic, records, a kill, an election, the receipt: five steps, each by the one button above the stage."""
    page = seen.page
    runs, other = ("kraft", "zookeeper") if language_of(seen) == "ko" else ("zookeeper", "kraft")
    seen.see(f"#banners [data-runs={runs}]")  # which generation this is, and how to get the other one
    assert f"--controller {other}" in page.inner_text("#banners [data-runs]")
    offered(seen, "[data-coach=create_topic]")
    seen.wait("!document.querySelector('#banners [data-runs]')")
    offered(seen, "[data-tour=producer]")
    seen.see("#scene-svg .cell.committed")  # records are seen as cells
    seen.see("[data-tour=kill]")
    leader = seen.value("lab.app.chosenPartition.leader")
    assert str(leader) in page.inner_text("[data-tour=kill]")
    offered(seen, "[data-tour=kill]")
    seen.see("#scene-svg .broker.stopped")
    seen.see("[data-tour=receipt]")
    assert seen.value("lab.app.chosenPartition.leader") not in (leader, -1)
    seen.picture(f"first-minutes-elected-{language_of(seen)}")
    assert violations(page) == []
    offered(seen, "[data-tour=receipt]")
    seen.see("[data-figure=lost]")
    assert page.inner_text("[data-figure=lost]") == "0"
    seen.picture(f"first-minutes-receipt-{language_of(seen)}")
    page.keyboard.press("Escape")
    seen.wait("!document.getElementById('drawer').checkVisibility()")
    offered(seen, "[data-coach=restart]")  # the coach goes on where the tour has ended: somebody is still dead
    seen.wait("lab.app.chosenPartition.isr.length === 3")
    ends = seen.value(LOGS)
    assert max(ends) - min(ends) < 20  # it has what it had missed


def a_lesson_is_predicted_watched_and_judged(seen: LabPage) -> None:
    """The first lesson of the way through all of them."""
    page = seen.page
    page.click("[data-panel=scenarios]")
    page.click("[data-course=next]")
    seen.see("[data-lesson=run]")
    assert page.is_disabled("[data-lesson=run]")  # first one says what one expects
    if page.query_selector("[data-guess-number]"):
        page.fill("[data-guess-number]", "0")
    else:
        page.click("[data-choice] >> nth=0, [data-guess-broker] >> nth=0")
    page.click("[data-lesson=run]")
    seen.wait("lab.app.desk.watch.active")
    stops = seen.value("lab.app.desk.watch.stops.length")
    assert 3 <= stops <= 6
    for index in range(stops):
        page.keyboard.press("n")
        seen.see(f'[data-watch="{index}"]')
        in_its_language(seen)
    seen.picture(f"first-minutes-watched-{language_of(seen)}")
    page.click("[data-watch-go]")
    page.keyboard.press("n")
    seen.see("[data-guess]")
    assert page.is_visible("#drawer [data-figure=lost]")
    seen.picture(f"first-minutes-verdict-{language_of(seen)}")
    assert violations(page) == []


def a_word_is_looked_up(seen: LabPage) -> None:
    """A word with a dotted underline says what it means, and the page of all words knows more."""
    page = seen.page
    page.click("#drawer [data-term] >> nth=0")
    seen.see("#term-card")
    assert len(page.inner_text("#term-text")) > 20
    assert bool(ENGLISH.search(page.inner_text("#term-text"))) == (language_of(seen) == "en")
    page.keyboard.press("Escape")


def what_was_done_is_remembered(seen: LabPage) -> None:
    """Another day the page knows the lesson, and asks for the next one."""
    page = seen.page
    page.reload()
    seen.wait("globalThis.lab?.app?.online && lab.app.desk.greeted")
    page.click("[data-panel=scenarios]")
    seen.see("[data-scenario][data-grade]")
    assert page.locator("[data-scenario][data-grade]").count() == 1
    seen.see("[data-course=next]")
