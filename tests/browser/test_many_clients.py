"""A stage with more clients than it has room for: each can be told from the others, none covers another, none is left out."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every

PRODUCERS, GROUPS = 12, 11
SIDES = """[...document.querySelectorAll('#scene-svg .side')].map((side) => ({
    name: side.querySelector('.side-name').textContent, title: side.querySelector('title').textContent,
    box: side.querySelector('rect').getBoundingClientRect().toJSON(), texts: [...side.querySelectorAll('text')].map((one) => one.getBoundingClientRect().toJSON())}))"""

# The card that has the focus: its heading is to be seen, below the header and the tabs, above the time bar.
IN_SIGHT = """(() => {
    const { top, bottom } = document.activeElement.querySelector('h3').getBoundingClientRect();
    const above = Math.max(...['top', 'tabs'].map((id) => document.getElementById(id).getBoundingClientRect().bottom));
    return top >= above - 1 && bottom <= document.getElementById('timebar').getBoundingClientRect().top;
})()"""


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("many") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit()
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    for number in range(PRODUCERS):
        page.command(do="start_client", name=f"producer-{number}", kind="producer", topic="orders", rate=1, settings={"acks": "all"})
    for number in range(GROUPS):
        page.command(do="start_client", name=f"consumer-{number}", kind="consumer", topic="orders", settings={"group.id": f"team-{number}"})
    page.wait(f"Object.values(lab.app.state.groups).filter(({{members}}) => members.length).length === {GROUPS}")
    page.command(do="time", speed="pause")  # all of them are there; what they do meanwhile would only cost
    page.leave()
    return page


@pytest.mark.parametrize(("language", "width"), every([("en", 1440), ("ko", 1280), ("en", 800), ("ko", 800)], nth=3))
def test_boxes_stand_apart_and_stand_for_all(seen: LabPage, visit: Open, language: str, width: int) -> None:
    page = visit(language, width=width, bypass_csp=True)
    page.wait(f"Object.keys(lab.app.state.clients).length === {PRODUCERS + GROUPS} && document.querySelectorAll('#scene-svg .side').length > 4")
    page.picture(f"many-{language}-{width}")
    sides = page.value(SIDES)
    for index, one in enumerate(sides):
        for other in sides[:index]:
            apart = one["box"]["top"] >= other["box"]["bottom"] or one["box"]["bottom"] <= other["box"]["top"]
            assert apart or one["box"]["left"] >= other["box"]["right"] or one["box"]["right"] <= other["box"]["left"]
        assert all(text["left"] >= one["box"]["left"] - 1 and text["right"] <= one["box"]["right"] + 1 for text in one["texts"]), one["name"]
    assert len({one["name"] for one in sides}) == len(sides) and "undefined" not in str(sides)
    told = " ".join(one["title"] for one in sides)
    assert all(f"team-{number}" in told for number in range(GROUPS))
    assert violations(page.page) == []
    page.leave()


@pytest.mark.parametrize(("language", "width", "dark"), every([("en", 1280, False), ("ko", 1280, True), ("ko", 800, False), ("en", 800, True)], keep=[("ko", 1280, True), ("en", 800, True)]))
def test_those_without_room_are_listed_and_one_is_chosen_for_the_inspector(seen: LabPage, visit: Open, language: str, width: int, dark: bool) -> None:
    page = visit(language, width=width, dark=dark, bypass_csp=True)
    page.wait(f"Object.keys(lab.app.state.clients).length === {PRODUCERS + GROUPS} && document.querySelectorAll('[data-folded]').length === 2")
    tell = page.page.evaluate("lab.app.words.t('clients.kind.group')")
    for side, box in (("left", "more-senders"), ("right", "more-readers")):
        page.page.focus(f"[data-folded={box}]")
        page.page.keyboard.press("Enter")
        page.see("#clients-dialog[open]")
        folded = f"lab.app.scene.{side}.filter(({{ rest }}) => rest).flatMap(({{ rest }}) => rest.map(({{ name }}) => name))"
        listed = "[...document.querySelectorAll('[data-folded-client]')].map((one) => one.dataset.foldedClient)"
        page.wait(f"{folded}.length > 0 && JSON.stringify({folded}) === JSON.stringify({listed})")  # how many have room is found once all is drawn
        names = page.value(folded)
        assert (tell in page.page.locator("[data-folded-client]").first.inner_text()) == (box == "more-readers")
        page.picture(f"folded-{language}-{width}-{box}")
        assert violations(page.page) == []
        page.page.keyboard.press("Escape")
        page.wait("!document.querySelector('dialog[open]')")
        assert page.value("document.activeElement.dataset.folded") == box
        page.page.click(f"[data-folded={box}]")
        page.page.focus(f"[data-folded-client='{names[-1]}']")
        page.page.keyboard.press("Enter")
        kind = "group" if box == "more-readers" else "producer"
        page.wait(f"document.activeElement.dataset.inspected === '{kind}:{names[-1]}' && !document.querySelector('dialog[open]')")
        assert names[-1].removeprefix("producer-") in page.value("document.activeElement.querySelector('h3').innerText")
        page.picture(f"inspected-{language}-{width}-{kind}")
        assert page.value(IN_SIGHT) and (width == 800 or page.value("document.documentElement.scrollTop === 0"))
    assert violations(page.page) == []
    assert "(broker.rack)" in page.page.inner_text("#tab-panel") and page.page.locator("[data-rack-of]").count() == 0
    page.leave()


def test_a_client_on_the_stage_is_chosen_for_the_inspector_too(seen: LabPage, visit: Open) -> None:
    page = visit()
    page.wait("document.querySelectorAll('#scene-svg .side.group').length > 1")
    page.page.click("#scene-svg .side.group >> nth=1")
    page.wait(f"document.activeElement.dataset.inspected === {'lab.app.scene.right[1].kind + `:` + lab.app.scene.right[1].name'}")
    page.leave()
