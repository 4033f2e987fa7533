"""A lesson in both generations of Kafka, side by side on one clock, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.browser.test_lessons import english

LESSON = "anatomy-of-a-failover"


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("beside") / "lab")


def cell(seen: LabPage, figure: str, side: int) -> str:
    return seen.page.inner_text(f"#beside-dialog [data-figure={figure}] td:nth-child({side + 2})")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_lesson_is_laid_side_by_side_on_one_clock(visit: Open, language: str) -> None:
    seen = visit(language)
    page = seen.page
    page.click("[data-panel=scenarios]")
    page.click(f'[data-scenario="{LESSON}"]')
    seen.see("[data-lesson=both]")
    assert page.is_disabled("[data-lesson=both]"), "the prediction comes first"
    page.click('[data-choice="1"]')
    page.click("[data-lesson=both]")
    seen.see("#beside-dialog[open] [data-figure=leader_us]", 120)
    _stands_at_the_first_thing_that_happens(seen)
    seen.picture(f"beside-{language}-first")
    _goes_to_the_crash_on_both_sides_at_once(seen)
    seen.picture(f"beside-{language}-dead")
    _figures_differ_where_the_generations_do(seen)
    assert violations(page) == []
    if language == "ko":
        assert english(seen) == []
    page.keyboard.press("Escape")
    seen.wait("!document.getElementById('beside-dialog').open")


def _stands_at_the_first_thing_that_happens(seen: LabPage) -> None:
    times = seen.value("lab.app.desk.beside.found.runs.flatMap((run) => run.events.map((row) => row[1]))")
    assert seen.value("lab.app.desk.beside.t") == min(t for t in times if t > 0)
    assert seen.value("[...document.querySelectorAll('[data-beside]')].map((one) => one.dataset.beside)") == ["zookeeper", "kraft"]


def _goes_to_the_crash_on_both_sides_at_once(seen: LabPage) -> None:
    """Between the crash and the election no broker that runs leads, in either generation."""
    seen.value("lab.app.desk.beside.seek(2_500_000)")
    seen.wait("document.querySelectorAll('[data-now=leader].none').length === 2")
    seen.value("lab.app.desk.beside.seek(7_500_000)")
    seen.wait("[...document.querySelectorAll('[data-now=leader]')].every((one) => one.textContent === '3')")
    believers = seen.page.inner_text("[data-beliefs=kraft]")
    assert "101" in believers and "102" in believers, "controllers that are not active know it as well"
    assert seen.page.query_selector("[data-events=zookeeper] [data-only=zookeeper]"), "what one generation has alone is marked"
    seen.page.click("[data-beside-do=back]")
    assert seen.value("lab.app.desk.beside.t") < 7_500_000


def _figures_differ_where_the_generations_do(seen: LabPage) -> None:
    found = seen.value("lab.app.desk.beside.found.runs.map((run) => run.figures)")
    assert found[0]["control_requests"] > 0 and found[1]["control_requests"] == 0
    assert int(cell(seen, "control_requests", 0)) == found[0]["control_requests"] and cell(seen, "control_requests", 1) == "–"
    assert int(cell(seen, "metadata_records", 1)) == found[1]["metadata_records"] > 0 and cell(seen, "metadata_records", 0) == "–"
    assert cell(seen, "leader_us", 0) == seen.value(f"lab.app.words.t('time.now', {{ t: '{found[0]['leader_us'] / 1e6:.3f}' }})")
