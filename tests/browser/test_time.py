"""Runs, the past, forks and receipts on the screen of a real lab."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("time") / "lab")


@pytest.fixture(scope="module")
def first(visit: Open) -> LabPage:
    """The first visit: a newcomer follows the line above the stage, and nothing else, to the receipt."""
    seen = visit()
    seen.page.click('[data-coach="create_topic"]')
    seen.page.click('[data-tour="producer"]')
    seen.page.click('[data-tour="kill"]')
    seen.see('[data-tour="receipt"]')
    seen.picture("first-visit")
    seen.page.click('[data-tour="receipt"]')
    seen.see("[data-figure=acked]")
    return seen



def test_a_newcomer_kills_a_leader_and_sees_within_a_minute_that_nothing_was_lost(first: LabPage) -> None:
    """Four clicks, and what the cluster takes in between of that minute, by its own clock."""
    events = "[...lab.history.between(lab.history.begin, lab.history.end)]"
    killed = first.value(f"{events}.find(({{ code }}) => code === 'process_ended').t")
    led = first.value(f"{events}.find(({{ code, t }}) => code === 'became_leader' && t > {killed}).t")
    assert led - killed < 20_000_000
    assert int(first.page.inner_text("[data-figure=acked]").replace(",", "")) >= 10
    assert first.page.inner_text("[data-figure=lost]") == "0"
    chain = first.page.inner_text(".chain")
    parts = ["has crashed", "session of", "is gone", "becomes leader of"]
    places = [chain.find(part) for part in parts]
    assert -1 not in places and places == sorted(places), chain
    first.picture("receipt")


def test_a_page_that_comes_later_gets_the_past_with_its_story(first: LabPage, visit: Open) -> None:
    seen = visit()
    seen.has_its_past()
    assert seen.value("lab.history.begin") < -200
    assert "topic_created" in seen.value("lab.story.items.map((item) => item.code)")
    assert seen.value("lab.story.items.filter((item) => item.code === 'process_ended').length") >= 1
    seen.go_to("process_ended")
    seen.page.keyboard.press("ArrowRight")
    stopped = "Object.values(lab.app.state.brokers).filter((one) => one.state === 'stopped').length"
    assert seen.value(stopped) == 1
    seen.page.keyboard.press("ArrowLeft")
    assert seen.value(stopped) == 0
    seen.page.wait_for_selector(".coach.turn")
    assert "You are looking at" in seen.page.inner_text("#coach")
    seen.page.keyboard.press("Shift+ArrowLeft")
    assert seen.value("lab.clock.live") is False


def test_a_fork_goes_on_with_other_settings_and_the_old_branch_stays(first: LabPage, visit: Open) -> None:
    seen = visit()
    live = seen.value("lab.feed.run")
    seen.go_to("process_ended")
    victim = seen.value("lab.history.at(lab.clock.viewed).node.slice(7)")
    seen.page.keyboard.press("f")
    seen.see("#fork-dialog[open]")
    other = str(int(victim) % 3 + 1)
    seen.page.click(f'[data-segment="fork-broker:{other}:kill"]')
    assert "Kill: broker " + other in seen.page.inner_text("#fork-dialog .commands")
    seen.picture("fork-dialog")
    seen.page.click("[data-fork=begin]")
    seen.wait(f"lab.feed.run !== '{live}'")
    seen.wait(f"lab.app.state.brokers[{other}].state === 'stopped'")
    assert seen.value("lab.clock.live") is True
    assert seen.value(f"lab.app.state.brokers[{victim}].state") == "running"
    seen.has_its_past()
    assert "topic_created" in seen.value("lab.story.items.map((item) => item.code)")
    assert seen.value("location.hash") == f"#run={seen.value('lab.feed.run')}"
    branch = seen.value("lab.feed.run")
    again = visit(path=f"#run={branch}")
    again.wait(f"lab.feed.run === '{branch}'")
    seen.page.click("[data-panel=runs]")
    seen.page.click(f'[data-run="{live}"]')
    seen.wait(f"lab.feed.run === '{live}'")
    assert seen.value(f"lab.app.state.brokers[{victim}].state") == "stopped"
    seen.page.click(f'[data-compare="{branch}"]')
    seen.see("#compare-dialog .compare tbody tr.differs")
    text = seen.page.inner_text("#compare-dialog")
    assert "orders-0" in text and "What happened since" in text
    assert seen.page.locator("#compare-dialog .lane-mark").count() >= 2
    seen.picture("compare")
    assert "They part at" in text
    assert all(text in seen.page.inner_text(f'[data-outage-of="{run}"]') for run, text in ((live, "records for orders-"), (branch, "s")))
    assert f"Kill: broker {other}" in seen.page.inner_text("[data-parting] .parting >> nth=1")
    seen.page.click(f'[data-parting-of="{branch}"]')
    seen.wait(f"lab.feed.run === '{branch}' && !lab.clock.live")
    forked = seen.value("lab.app.desk.forks.compared.beside.parting.seq")
    assert seen.value("lab.history.seqAt(lab.clock.viewed)") == forked
    seen.page.click(f'[data-run="{live}"]')
    seen.wait(f"lab.feed.run === '{live}'")
    seen.page.click(f'[data-close="{branch}"]')
    seen.wait("lab.app.desk.runs.open.length === 1")
    again.wait(f"lab.feed.run === '{live}'")
    seen.page.click(f'[data-open="{branch}"]')
    seen.wait(f"lab.feed.run.startsWith('{branch}-')")
    seen.wait("lab.clock.cluster.paused")


@pytest.fixture(scope="module")
def still(first: LabPage) -> None:
    """From here on the clusters stand: what goes on in them would only cost."""
    first.command(do="time", speed="pause")


def test_an_offset_of_the_receipt_leads_to_its_moment(still: None, visit: Open) -> None:
    seen = visit()
    seen.has_its_past()
    seen.page.evaluate("lab.app.desk.receipts.goTo({topic: 'orders', partition: 0, offset: 3})")
    seen.wait("!lab.clock.live")
    event = seen.value("lab.history.at(lab.clock.viewed - 1)")
    assert event["code"] == "log_appended"
    assert event["params"]["base_offset"] <= 3 <= event["params"]["last_offset"]


def test_escape_closes_the_drawer_and_gives_the_focus_back(visit: Open, still: None) -> None:
    seen = visit()
    seen.page.focus("[data-panel=runs]")
    seen.page.keyboard.press("Enter")
    seen.see("#drawer .run")
    seen.page.keyboard.press("Escape")
    seen.wait("document.querySelector('#drawer').hidden")
    assert seen.value("document.activeElement.dataset.panel") == "runs"


@pytest.mark.parametrize(
    ("language", "dark", "width"),
    every([("en", False, 1440), ("ko", True, 1440), ("ko", False, 800), ("en", True, 800)], keep=[("en", True, 800)]),
    ids=["en-light-1440", "ko-dark-1440", "ko-light-800", "en-dark-800"],
)
def test_drawer_and_dialogs_fit_and_axe_finds_nothing(
    visit: Open, still: None, language: str, dark: bool, width: int, require_module: Any
) -> None:
    require_module("axe_playwright_python")
    seen = visit(language, dark, width, bypass_csp=True)
    name = f"{language}-{'dark' if dark else 'light'}-{width}"
    for panel, wanted in (("scenarios", "[data-scenario]"), ("runs", "#drawer .run"), ("receipt", "[data-figure=acked]")):
        seen.page.click(f"[data-panel={panel}]")
        seen.see(wanted)
        seen.picture(f"{panel}-{name}")
        assert seen.value("document.documentElement.scrollWidth") <= width
        assert violations(seen.page) == []
        if width < 1000:
            seen.page.click("[data-drawer=close]")
    seen.page.click("[data-time=fork]")
    seen.see("#fork-dialog[open]")
    seen.picture(f"fork-{name}")
    assert violations(seen.page) == []
    assert seen.value("document.querySelector('#fork-dialog').scrollWidth <= document.querySelector('#fork-dialog').clientWidth")
