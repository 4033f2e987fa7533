"""Terms where they stand: a mouse, a finger and the keyboard reach a term's card; the page of all terms leads into the lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, open_pages, violations

from lab.glossary.catalogue import terms
from web.messages import catalogue

Open = Callable[..., LabPage]
LESSON = "#lesson=acks-1"
TERM = '#drawer [data-term="isr"]'
# Cells of a table that are one word or figure and stand in more than one line.
BROKEN = """[...document.querySelectorAll('td')].filter((cell) => !cell.querySelector('code') && !/\\s/.test(cell.textContent.trim()))
    .filter((cell) => { const all = document.createRange(); all.selectNodeContents(cell); return all.getClientRects().length > 1; })
    .map((cell) => cell.textContent)"""


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("glossary"))


@pytest.mark.parametrize(("language", "dark"), [("en", False), ("ko", True)])
def test_a_term_of_a_lesson_opens_its_card_with_mouse_and_keyboard(visit: Open, language: str, dark: bool) -> None:
    seen = visit(language, dark=dark, path=LESSON)
    page = seen.page
    seen.see(TERM)
    assert page.locator(TERM).count() == 1  # the lesson's text tells of the ISR once more
    page.click(TERM)
    seen.see("#term-card")
    assert page.inner_text("#term-name") == "ISR"
    text = next(term for term in terms() if term.id == "isr").wording[language].text
    assert page.inner_text("#term-text") == text
    seen.wait("document.querySelector('#term-card img').naturalWidth === 200")
    assert page.evaluate("document.activeElement.id") == "term-card"
    seen.picture(f"term-{language}")
    assert violations(page) == []
    page.click('#term-card [data-see="high-watermark"]')
    assert page.get_attribute("#term-card img", "src") == "/glossary/high-watermark.svg"
    page.keyboard.press("Escape")
    assert page.is_hidden("#term-card") and page.is_visible("#drawer")
    assert page.evaluate("document.activeElement.dataset.term") == "isr"
    page.keyboard.press("Enter")
    seen.see("#term-card")
    page.click("#stage-title")
    assert page.is_hidden("#term-card")


def test_a_resting_mouse_shows_the_card_and_leaves_the_focus(visit: Open) -> None:
    seen = visit(path=LESSON)
    seen.see(TERM)
    seen.page.hover(TERM)
    seen.see("#term-card")
    assert seen.page.evaluate("document.activeElement.id") != "term-card"
    seen.page.hover("#term-card")
    seen.page.wait_for_timeout(400)
    assert seen.page.is_visible("#term-card")
    seen.page.hover("#stage-title")
    seen.page.wait_for_selector("#term-card", state="hidden")


def test_settings_and_the_story_have_terms_and_a_narrow_page_holds_the_card(visit: Open) -> None:
    seen = visit("ko", width=800, path="#setting=min.insync.replicas")
    seen.wait("lab.app.tab === 'config' && lab.app.configFind === 'min.insync.replicas'")
    seen.wait("document.querySelectorAll('#tab-panel .setting-meaning [data-term]').length > 0")
    seen.page.locator("#tab-panel .setting-meaning [data-term]").first.click()
    box = seen.page.locator("#term-card").bounding_box()
    assert box and box["x"] >= 0 and box["x"] + box["width"] <= 800
    seen.picture("term-800")
    seen.page.keyboard.press("Escape")
    seen.page.evaluate("location.hash = '#setting=replica.lag.time.max.ms'")  # no topic has it: the brokers do
    seen.see("#tab-panel [data-setting='replica.lag.time.max.ms']")
    then = seen.page.inner_text("#tab-panel [data-eras]")
    assert "2.x: 10000 · 3.9: 30000 · 4.3: 30000" in then and "KIP-537" in then
    seen.page.fill("#tab-panel .config-find [type=search]", "no.such.setting")
    seen.see(f"#tab-panel .hint:has-text('{catalogue('ko')['page']['config.nothing']}')")


@pytest.mark.parametrize(("language", "dark", "width"), [("en", True, 1440), ("ko", False, 390)])
def test_the_page_of_all_terms_leads_into_the_lab(visit: Open, language: str, dark: bool, width: int) -> None:
    seen = visit(language, dark=dark)
    page = seen.page
    page.goto(seen.lab.page + "glossary/#purgatory")
    page.set_viewport_size({"width": width, "height": 900})
    assert page.locator("article").count() == len(list(terms()))
    assert page.locator("article:target h3").inner_text() in ("purgatory", "퍼거토리")
    assert violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen.picture(f"glossary-{language}-{width}")
    left = "[...document.querySelectorAll('.glossary main section')].every((one) => one.querySelector('article').offsetLeft === one.offsetLeft)"
    assert seen.value(left)  # the first term stands first, with nothing beside it that would leave a hole
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(seen.lab.page + "eras/")
    assert page.locator("td").count() > 50 and page.evaluate(BROKEN) == []
    page.set_viewport_size({"width": width, "height": 900})
    assert page.evaluate(BROKEN) == [] and page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    seen.picture(f"eras-{language}-{width}")
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(seen.lab.page + "glossary/#purgatory")
    page.click('article:target a[href$="#lesson=waiting-in-purgatory"]')
    seen.wait("globalThis.lab?.app?.desk.lessons.one?.name === 'waiting-in-purgatory'")
