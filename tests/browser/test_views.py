"""Learn, Explore, Inspect; the stage's menus and the walk through it; a phone: what a newcomer meets first, in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every

SHOWN = "['levers', 'inspector', 'lanes', 'ledger'].filter((id) => document.getElementById(id).offsetParent !== null)"
APART = """(one, other) => {
    const [a, b] = [one, other].map((selector) => document.querySelector(selector).getBoundingClientRect());
    return a.right <= b.left + 1 || b.right <= a.left + 1 || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
}"""
SMALL = """[...document.querySelectorAll('body *')].filter((one) => (one.offsetParent !== null || one instanceof SVGElement) && !one.closest('.unseen')
    && [...one.childNodes].some((child) => child.nodeType === 3 && child.textContent.trim()) && parseFloat(getComputedStyle(one).fontSize) < 11.49)
    .map((one) => `${one.tagName}.${one.getAttribute('class')} ${getComputedStyle(one).fontSize} ${one.textContent.slice(0, 20)}`)"""
TABS = ("partitions", "replicas", "brokers", "groups", "files", "config", "request", "metrics", "lights", "tree", "attach", "log")
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"

ABOVE_THE_SHEET = """(() => {
    const [scene, sheet] = ['scene', 'drawer'].map((id) => document.getElementById(id));
    const below = () => scene.getBoundingClientRect().bottom - sheet.getBoundingClientRect().top;
    scrollBy(0, below());
    return below() <= 1 && sheet.getBoundingClientRect().left <= 1;
})()"""
"""The page can be scrolled until the foot of the picture stands above a drawer that is a sheet."""

SENDABLE = "document.getElementById('produce-send').getBoundingClientRect().bottom <= document.getElementById('levers').getBoundingClientRect().bottom"
"""The button that writes a record is in sight, without scrolling."""

@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("views") / "lab", "--controller", "kraft", "--controllers", "3")


def work(seen: LabPage) -> None:
    """A topic, somebody who writes to it."""
    if not seen.value("Boolean(lab.app.state.topics.orders)"):
        seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
        seen.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
        seen.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=5, settings={"acks": "all"})
    seen.wait("lab.app.state.clients['producer-orders']?.acked > 3")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_first_visit_shows_the_stage_its_story_and_one_next_step(visit: Open, language: str, require_module: Any) -> None:
    require_module("axe_playwright_python")
    seen = visit(language, view="learn", bypass_csp=True)
    seen.see("#coach button.main")
    assert seen.value(SHOWN) == []
    assert seen.page.locator("#coach button.main").count() == 1
    work(seen)
    for view, panels in (("explore", ["levers"]), ("inspect", ["levers", "inspector", "lanes", "ledger"]), ("learn", [])):
        seen.page.click(f'[data-segment="mode:{view}"]')
        seen.wait(f"JSON.stringify({SHOWN}) === JSON.stringify({panels})")
        assert violations(seen.page) == []
        assert not panels or seen.value(SENDABLE)
    seen.page.click("[data-record] >> nth=1")
    seen.wait(f"JSON.stringify({SHOWN}) === '[\"ledger\"]'")
    assert violations(seen.page) == []
    seen.page.keyboard.press("Escape")
    seen.wait(f"{SHOWN}.length === 0")


def test_no_text_of_the_page_is_smaller_than_its_scale_allows(visit: Open) -> None:
    seen = visit(view="learn")
    work(seen)
    assert seen.value(SMALL) == []
    for tab in TABS:
        seen.page.evaluate("(tab) => lab.app.showTab(tab)", tab)
        seen.page.wait_for_timeout(150)
        assert seen.value(SMALL) == [], tab
    seen.page.evaluate("lab.app.showTab('brokers'); lab.app.openBroker(1); lab.app.showBytes(1)")
    seen.see("#ledger .hex-piece")
    assert seen.value(SMALL) == []


def test_a_drawer_moves_the_stage_aside_and_covers_none_of_it(visit: Open) -> None:
    seen = visit(view="learn")
    seen.page.click("[data-panel=scenarios]")
    seen.see("#drawer [data-course]")
    for width, view in ((1440, "learn"), (1024, "inspect"), (800, "explore")):
        seen.page.set_viewport_size({"width": width, "height": 900})
        seen.page.click(f'[data-segment="mode:{view}"]')
        seen.wait(f"document.body.dataset.mode === '{view}' && {OVERFLOW} === 0")
        seen.wait("document.getElementById('stage').getBoundingClientRect().right <= document.getElementById('drawer').getBoundingClientRect().left + 1")
        assert seen.value("document.getElementById('stage').clientWidth") >= 400
    for width, height in ((779, 900), (640, 900), (720, 450), (390, 844)):  # below it, where there is no room beside it
        seen.page.set_viewport_size({"width": width, "height": height})
        seen.wait(f"innerWidth === {width} && {OVERFLOW} === 0")
        seen.wait(ABOVE_THE_SHEET)


def test_a_controller_dies_and_comes_back_by_the_menu_in_the_quorum_strip(visit: Open) -> None:
    seen = visit(view="learn")
    seen.wait("lab.app.state.cluster.controller !== null")
    leader = seen.value("lab.app.state.cluster.controller")
    seen.page.click(f'[data-menu="server:controller-{leader}"]')
    seen.page.click("[data-menu-do=kill]")
    seen.wait(f"lab.app.state.servers['controller-{leader}'].state === 'stopped'")
    seen.wait(f"![null, {leader}].includes(lab.app.state.cluster.controller)")
    seen.page.click(f'[data-menu="server:controller-{leader}"]')
    seen.see("[data-menu-do=restart]")
    seen.page.click("[data-menu-do=restart]")
    seen.wait(f"lab.app.state.servers['controller-{leader}'].state === 'running'")


def test_the_stage_is_walked_by_keys_into_a_record_and_a_menu(visit: Open) -> None:
    seen = visit(view="learn")
    work(seen)
    keyboard = seen.page.keyboard
    seen.page.focus("#scene-svg")
    keyboard.press("ArrowDown")
    seen.wait("document.getElementById('stage-spot').innerText.includes('orders-0')")
    keyboard.press("ArrowLeft")
    offset = seen.value("lab.app.spot.offset")
    keyboard.press("ArrowLeft")
    assert seen.value("lab.app.spot.offset") == offset - 1
    seen.wait("document.querySelector('#scene-svg .cell.spot')")
    seen.page.evaluate("document.activeElement.blur()")  # who has left the stage does not hold the record in sight
    seen.wait("!document.querySelector('#scene-svg .cell.spot')")
    seen.page.focus("#scene-svg")
    seen.wait("document.querySelector('#scene-svg .cell.spot')")
    keyboard.press("Enter")
    seen.wait(f"lab.app.record?.offset === {offset - 1}")
    keyboard.press("ArrowUp")
    keyboard.press("Enter")
    seen.wait("document.activeElement.dataset.menuDo === 'kill'")
    keyboard.press("ArrowDown")
    seen.wait("document.activeElement.dataset.menuDo === 'pause'")
    keyboard.press("Escape")
    seen.wait("document.activeElement.id === 'scene-svg' && !document.querySelector('.menu')")


@pytest.mark.parametrize("language", every(["en", "ko"], keep=["ko"]))
def test_a_phone_has_everything_and_scrolls_one_way_only(visit: Open, language: str, require_module: Any) -> None:
    require_module("axe_playwright_python")
    seen = visit(language, width=390, view="explore", bypass_csp=True, has_touch=True)
    work(seen)
    assert seen.value(OVERFLOW) == 0
    assert seen.value("[...document.querySelectorAll('#scene-svg rect')].every((one) => Number(one.getAttribute('width')) >= 0)")
    assert seen.page.locator("#broker-levers [data-do=kill]").first.is_hidden()
    seen.page.tap("#sheet-toggle")
    seen.wait("document.getElementById('sheet-toggle').ariaExpanded === 'true'")
    assert seen.page.locator("#broker-levers [data-do=kill]").first.is_visible()
    assert violations(seen.page) == []
    seen.page.tap("#sheet-toggle")
    for view in ("inspect", "learn"):
        seen.page.tap(f'[data-segment="mode:{view}"]')
        seen.wait(f"document.body.dataset.mode === '{view}'")
        assert seen.value(OVERFLOW) == 0
        assert violations(seen.page) == []


@pytest.mark.parametrize("language", every(["en", "ko"], keep=["ko"]))
def test_at_twice_the_size_nothing_covers_anything(visit: Open, language: str) -> None:
    seen = visit(language, view="inspect", width=720, device_scale_factor=2)
    seen.page.set_viewport_size({"width": 720, "height": 450})
    work(seen)
    seen.wait("document.querySelector('.tree rect') && document.querySelector('#cell-text option')")
    for view in ("inspect", "explore", "learn"):
        seen.page.click(f'[data-segment="mode:{view}"]')
        seen.wait(f"document.body.dataset.mode === '{view}' && {OVERFLOW} === 0")
        seen.wait(f"({APART})('#cell-text', '.tree')")
        seen.wait(f"({APART})('#scrubber', '#time-facts')")
        seen.wait("document.getElementById('moment').getBoundingClientRect().width > 100")
    seen.picture(f"views-twice-{language}")
