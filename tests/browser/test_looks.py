"""Languages, themes, sizes and access: nothing left in English, nothing that scrolls sideways, axe is content."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import cycle, product

import pytest
from tests.browser.conftest import Visit
from tests.browser.lab_page import take_picture, violations
from tests.sampling import every

Open = Callable[..., Visit]
TABS = ("partitions", "brokers", "groups", "tree", "attach")

# Names that are the same in every language: settings, protocol terms, names of the lab's things, keys.
NAMES = {
    "acks", "all", "min", "insync", "replicas", "ISR", "HW", "LEO", "orders", "billing", "Fetch", "Produce", "English",
    "controller", "brokers", "ids", "P", "L", "s", "x", "Esc", "K", "G", "znode", "NONE", "broker", "zookeeper",
    "confluent", "kafka", "kcat", "b", "t", "echo", "hello", "X", "C", "o", "beginning", "sh", "console", "consumer",
    "bootstrap", "H", "F", "D", "Spark", "ms", "linger", "recorded", "server", "servers", "topic", "group", "demo", "Producer", "KIP", "e", "w", "REST", "c",
    "ZooKeeper", "Apache", "Java", "Python", "ID", "v", "N",
}  # fmt: skip


def words_of(text: str) -> set[str]:
    return {word for word in re.findall(r"[A-Za-z]+", text) if not re.fullmatch(r"[0-9a-f]{4}", word)}


def test_the_korean_page_leaves_no_english(visit: Open) -> None:
    seen = visit("ko")
    seen.evening.traffic(0.5)
    seen.page.click('[data-do="kill"][data-broker="1"]')
    seen.commanded(1)
    seen.page.click('[data-segment="story:all"]')
    seen.caught_up()
    text = seen.page.inner_text("body")
    assert "브로커 2가" in text
    for tab in ("brokers", "groups", "tree"):
        seen.page.evaluate("(tab) => lab.app.showTab(tab)", tab)
        seen.caught_up()
        text += seen.page.inner_text("#tab-panel")
    seen.page.click("#help-open")
    text += seen.page.inner_text("#help")
    text += seen.page.evaluate(
        "[...document.querySelectorAll('[aria-label], [title]')].map((e) => (e.ariaLabel ?? '') + ' ' + (e.title ?? '')).join(' ')"
    )
    crcs = re.compile(r"#?[0-9a-f]{4}")
    found = {word for word in words_of(crcs.sub(" ", text)) if word not in NAMES}
    allowed = {"NodeChildrenChanged", "UnderReplicatedPartitions", "OfflinePartitionsCount", "UnderMinIsrPartitionCount", "Kafka", "kill",
               "kraft", "version"}  # kraft.version, a feature
    assert found - allowed == set()


def test_the_language_changes_without_losing_the_moment(visit: Open) -> None:
    seen = visit()
    seen.evening.traffic(0.3)
    seen.caught_up()
    seen.page.keyboard.press("ArrowLeft")
    position = seen.page.evaluate("lab.clock.viewed")
    seen.page.select_option("#language", "ko")
    seen.wait("document.querySelector('h1').innerText === 'Kafka 클러스터 실험실'")
    assert seen.page.evaluate("[lab.clock.viewed, document.documentElement.lang]") == [position, "ko"]
    seen.page.wait_for_timeout(200)
    seen.page.reload()
    seen.wait("globalThis.lab?.app?.online")
    assert seen.page.inner_text("h1") == "Kafka 클러스터 실험실"


@pytest.mark.parametrize(("language", "dark", "width"), every(product(("en", "ko"), (False, True), (800, 1100, 1280, 1440)), nth=5))
def test_the_page_fits(visit: Open, language: str, dark: bool, width: int) -> None:
    seen = visit(language, dark, width)
    seen.evening.traffic(0.6)
    seen.page.click('[data-do="kill"][data-broker="1"]')
    seen.commanded(1)
    seen.evening.traffic(0.6, alive=(2, 3))
    seen.caught_up()
    assert seen.page.evaluate("document.documentElement.scrollWidth") <= width
    too_wide = """[...document.querySelectorAll('button, .chip, h1, h2, h3, th, td')].filter((e) =>
        e.offsetParent && !e.matches('.unseen') && e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).overflow !== 'visible'
        && getComputedStyle(e).textOverflow !== 'ellipsis' && !e.querySelector('.unseen')).map((e) => e.outerHTML.slice(0, 120))"""
    assert seen.page.evaluate(too_wide) == []
    seen.page.keyboard.press("ArrowLeft")
    seen.caught_up()
    chips = "[document.getElementById('lights').scrollWidth, document.getElementById('lights').clientWidth]"
    needed, there = seen.page.evaluate(chips)
    assert needed <= there
    take_picture(seen.page, f"{language}-{'dark' if dark else 'light'}-{width}", full_page=width < 1080)


@pytest.mark.parametrize("forced", ["none", "active"])
@pytest.mark.parametrize("motion", ["no-preference", "reduce"])
def test_forced_colours_and_reduced_motion_work(visit: Open, forced: str, motion: str) -> None:
    seen = visit(forced_colors=forced, reduced_motion=motion)
    seen.evening.traffic(0.3)
    seen.caught_up()
    assert seen.page.locator("#scene-svg .broker").count() == 3


@pytest.mark.parametrize(("tab", "dark"), every(product(TABS, (False, True)), keep=[*zip(TABS, cycle((False, True)))]))
def test_axe_finds_nothing(visit: Open, tab: str, dark: bool, require_module: Callable[[str], None]) -> None:
    require_module("axe_playwright_python")
    seen = visit(dark=dark, bypass_csp=True)
    seen.evening.traffic(0.3)
    seen.page.click('[data-do="kill"][data-broker="1"]')
    seen.commanded(1)
    seen.page.evaluate("(tab) => lab.app.showTab(tab)", tab)
    seen.caught_up()
    seen.page.wait_for_timeout(200)
    assert violations(seen.page) == []
