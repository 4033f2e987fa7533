"""Keys and time: follow the leader, step by state change, fast forward; what the help leads to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, take_picture, violations
from tests.sampling import every


TRAFFIC = {"request_sent", "request_received", "response_sent", "marks", "progress", "lights", "command"}


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("keys") / "lab")


@pytest.fixture(scope="module")
def first(visit: Open) -> LabPage:
    """A lab with one partition on all brokers."""
    seen = visit()
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    seen.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    seen.leave()
    return seen



def test_g_shows_the_leader_and_goes_on_to_the_next_one(first: LabPage, visit: Open) -> None:
    seen = visit()
    leader = seen.value("lab.app.chosenPartition.leader")
    seen.page.keyboard.press("g")
    seen.see("[data-tab=brokers][aria-selected=true]")
    seen.wait(f"document.querySelector('#tab-panel .look-title')?.innerText.includes('{leader}')")
    seen.told(f"broker {leader}")
    seen.command(do="kill", broker=leader)
    seen.wait(f"lab.app.chosenPartition.leader >= 0 && lab.app.chosenPartition.leader !== {leader}")
    heir = seen.value("lab.app.chosenPartition.leader")
    seen.wait(f"document.querySelector('#tab-panel .look-title')?.innerText.includes('{heir}')")
    seen.page.keyboard.press("g")
    seen.told("not followed")
    seen.command(do="restart", broker=leader)
    seen.wait("lab.app.state.topics.orders.partitions[0].isr.length === 3")


def test_a_button_steps_by_state_change_in_the_past_and_in_a_standing_cluster(first: LabPage, visit: Open) -> None:
    seen = visit()
    seen.page.click("[data-time=play]")
    seen.wait("lab.clock.cluster.paused")
    seen.has_its_past()
    seen.page.click("[data-time=back_state]")
    seen.wait("!lab.clock.live")
    seen.page.click("[data-time=back_state]")
    here = seen.value("lab.clock.viewed")
    assert seen.value("lab.history.at(lab.clock.viewed - 1).code") not in TRAFFIC
    seen.page.click("[data-time=step_state]")
    assert seen.value("lab.clock.live") or seen.value("lab.clock.viewed") > here
    seen.page.click("[data-time=live]")
    before = seen.value("lab.clock.cluster.t")
    seen.page.click("[data-time=step_state]")
    seen.wait(f"lab.clock.cluster.t > {before} && lab.clock.cluster.paused")
    seen.page.click("[data-time=play]")
    seen.wait("!lab.clock.cluster.paused")


def test_fast_forward_makes_the_cluster_faster_than_the_wall(first: LabPage, visit: Open) -> None:
    seen = visit()
    for _ in range(3):
        seen.page.keyboard.press("]")
        seen.page.wait_for_timeout(300)
    seen.wait("lab.clock.cluster.speed === 10")
    here = "[lab.clock.cluster.t / 1_000_000, performance.now() / 1_000]"
    (cluster, wall) = seen.value(here)
    seen.wait(f"lab.clock.cluster.t > {cluster + 60} * 1_000_000")
    now = seen.value(here)
    assert now[0] - cluster > 2 * (now[1] - wall)
    seen.page.select_option("#speed", "1")
    seen.wait("lab.clock.cluster.speed === 1")


@pytest.mark.parametrize(
    ("language", "title", "sentence"),
    every([("ko", "모델에 없는 것", "리더를 따라갑니다"), ("en", "What is not modelled", "Follows the leader")], nth=2), ids=["ko", "en"],
)  # fmt: skip
def test_the_help_leads_to_what_is_not_modelled_and_to_rest(
    first: LabPage, visit: Open, language: str, title: str, sentence: str, require_module: Any
) -> None:
    require_module("axe_playwright_python")
    seen = visit(language, language == "ko", bypass_csp=True)
    seen.page.keyboard.press("?")
    assert sentence in seen.page.inner_text("#help")
    assert seen.value("[...document.querySelectorAll('#help dd')].every((one) => one.innerText.trim().endsWith('.'))")
    assert seen.value("document.getElementById('help').scrollTop") == 0
    seen.picture(f"help-{language}")
    assert violations(seen.page) == []
    for page, expected in (("not_modelled", title), ("trace", "B3"), ("rest", "REST")):
        with seen.page.context.expect_page() as opened:
            seen.page.click(f"[data-page={page}]")
        other = opened.value
        other.wait_for_load_state()
        assert expected in other.inner_text("h1") or expected in other.inner_text("body")
        take_picture(other, f"{page}-{language}")
        assert violations(other, long=True) == []
        other.close()


@pytest.mark.parametrize("width", [1440, 1200, 800])
def test_the_time_bar_fits(first: LabPage, visit: Open, width: int) -> None:
    seen = visit("ko", width=width)
    seen.wait("document.querySelector('[data-time=step_state]')")
    seen.picture(f"timebar-{width}")
    assert seen.value("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    assert seen.value("document.getElementById('scrubber').clientWidth") >= 90
