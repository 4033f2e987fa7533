"""Every dialog from the keyboard: opened, walked through, closed, the focus given back; axe is content with each."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations

FOCUSED = "(document.activeElement?.closest('dialog')?.id ?? null)"


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("dialogs") / "lab")


@pytest.fixture(scope="module")
def first(visit: Open) -> LabPage:
    """A lab with a topic, a load and a branch."""
    seen = visit()
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs={"min.insync.replicas": "2"})
    seen.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    seen.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=10, settings={"acks": "all"})
    seen.wait("lab.app.state.clients['producer-orders']?.acked > 5")
    live = seen.value("lab.feed.run")
    seen.page.keyboard.press("f")
    seen.page.click("[data-fork=begin]")
    seen.wait(f"lab.feed.run !== '{live}' && lab.app.desk.runs.open.length === 2")
    seen.leave()
    return seen


def opened(seen: LabPage, opener: str, dialog: str) -> None:
    """Focus a button, press it with the keyboard: the focus is in the dialog."""
    seen.page.focus(opener)
    seen.page.keyboard.press("Enter")
    seen.see(f"#{dialog}[open]")
    assert seen.value(FOCUSED) == dialog


def closed(seen: LabPage, opener: str, dialog: str) -> None:
    seen.page.keyboard.press("Escape")
    seen.wait(f"!document.getElementById('{dialog}').open")
    assert seen.value(f"document.activeElement.matches({opener!r})"), seen.value("document.activeElement.outerHTML.slice(0, 200)")


def stays_inside(seen: LabPage, dialog: str, steps: int = 10) -> None:
    """Tab goes round in the dialog (or to the browser itself), and each place that it comes to is visible."""
    inside = f"{FOCUSED} === {dialog!r} && document.activeElement.matches(':focus-visible')"
    for _ in range(steps):
        seen.page.keyboard.press("Tab")
        assert seen.value(f"document.activeElement === document.body || ({inside})")


@pytest.mark.parametrize(("language", "dark"), [("en", False), ("ko", True)], ids=["en-light", "ko-dark"])
def test_dialogs_are_used_from_the_keyboard_and_axe_finds_nothing(
    visit: Open, first: LabPage, language: str, dark: bool, require_module: Any
) -> None:
    require_module("axe_playwright_python")
    seen = visit(language, dark, bypass_csp=True)
    for opener, dialog in (("#help-open", "help"), ("#topic-open", "topic-dialog"), ("[data-time=fork]", "fork-dialog")):
        opened(seen, opener, dialog)
        stays_inside(seen, dialog)
        assert violations(seen.page) == []
        closed(seen, opener, dialog)
    seen.page.focus("[data-panel=runs]")
    seen.page.keyboard.press("Enter")
    seen.see("[data-compare]")
    opened(seen, "[data-compare]", "compare-dialog")
    seen.see("#compare-dialog .compare tbody tr")
    stays_inside(seen, "compare-dialog")
    assert violations(seen.page) == []
    closed(seen, "[data-compare]", "compare-dialog")


def test_a_lab_is_worked_with_the_keyboard_alone(visit: Open, first: LabPage) -> None:
    seen = visit()
    seen.page.keyboard.press("Tab")
    assert seen.value("document.activeElement.className") == "skip"
    seen.page.keyboard.press("Enter")
    wanted = {"do", "segment", "slider", "client", "tab", "time", "panel", "fault", "lesson", "fold", "link"}
    for _ in range(400):  # the story has a stop for each thing that happened
        seen.page.keyboard.press("Tab")
        wanted -= set(seen.value("Object.keys(document.activeElement.dataset)"))
        if not wanted:
            break
    assert not wanted
    seen.page.keyboard.press("k")
    seen.page.keyboard.press("3")
    seen.wait("lab.app.state.brokers[3].state === 'stopped'")
    seen.page.focus('[data-do="restart"][data-broker="3"]')
    seen.page.keyboard.press("Enter")
    seen.wait("lab.app.state.brokers[3].state === 'running'")
