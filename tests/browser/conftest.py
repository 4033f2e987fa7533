"""A real browser before a lab that plays recorded events: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import importlib.util
import os
import shutil
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from tests.browser.lab_page import OPENED, TELL_OF_OTHERS, view_of
from tests.conftest import PATIENCE_S
from tests.web.conftest import Served, run_server
from tests.web.recorded_lab import RecordedLab
from tests.web.recording import Evening

# The levers stand where they will stay: what is drawn above one of them would move it away from under a click.
DRAWN = """document.querySelector('#acks [data-segment]')
    && (Object.keys(lab.app.state.brokers).length === 0 || document.querySelector('#broker-levers [data-do]'))
    && (Object.keys(lab.app.state.topics).length === 0 || document.querySelector('#min-isr [data-segment]'))"""

# Windows that nobody sees need no address bar: its pop-ups are pages, made anew with each window, which takes longer than
# the page of the lab. The option replaces Playwright's own list, so what matters here of that stands first.
WITHOUT = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades", "LensOverlay", "MediaRouter",
    "PaintHolding", "OptimizationHints", "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup", "PreloadTopChromeWebUI", "InitialWebUI", "TabSearchPreload",
)  # fmt: skip

# The same browser without a window to hide takes four fifths of the time.
CHROMIUM = os.environ.get("BROKERLAB_CHROMIUM") or next(
    filter(None, map(shutil.which, ("chromium-headless-shell", "chromium", "chromium-browser"))), None)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything here drives a browser."""
    here = Path(__file__).parent
    for item in items:
        if here in Path(item.path).parents:
            item.add_marker(pytest.mark.browser)
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(6 * PATIENCE_S))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test tells what its pages showed."""
    report = yield
    if report.failed and report.when == "call":
        for number, made in enumerate(one for one in OPENED if not one.left):
            report.sections.append((f"page {number}", made.says()))
    return report


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium; without it the tests skip, in CI they fail."""
    have = importlib.util.find_spec("playwright") is not None
    if not have or CHROMIUM is None:
        reason = "chromium (Debian: apt install chromium) and the Python package playwright are needed"
        if os.environ.get("CI", "").lower() in ("1", "true", "yes"):
            pytest.fail(reason, pytrace=False)
        pytest.skip(reason)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        options = ["--no-sandbox", f"--disable-features={','.join(WITHOUT)}"]
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield found
        found.close()


@dataclass
class Visit:
    """A page, the lab behind it, and everything that the browser complained about."""

    page: Any
    served: Served
    complaints: list[str] = field(default_factory=list)

    @property
    def lab(self) -> RecordedLab:
        return self.served.lab

    @property
    def evening(self) -> Evening:
        assert self.served.evening is not None
        return self.served.evening

    def wait(self, expression: str) -> None:
        """Until an expression holds; the page's policy forbids Playwright's own way, which evaluates in the page."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.page.evaluate(expression):
            assert time.monotonic() < deadline, f"did not come true: {expression}"
            self.page.wait_for_timeout(25)

    def commanded(self, n: int) -> list[dict[str, Any]]:
        """The first commands of the page, once so many have come."""
        deadline = time.monotonic() + PATIENCE_S
        while len(self.lab.commands) < n:
            assert time.monotonic() < deadline, f"only {self.lab.commands} came"
            self.page.wait_for_timeout(25)
        return self.lab.commands

    def caught_up(self) -> None:
        """The page has drawn all that the lab has played."""
        self.wait(f"lab.feed.last >= {self.lab.seq} && !lab.app.dirty && !lab.screen.stale.table && !lab.screen.stale.stage")


Open = Callable[..., Visit]


@pytest.fixture(autouse=True)
def pages_end_with_their_test() -> Iterator[None]:
    """A page that nobody looks at would go on drawing. Those of a fixture for many tests were opened before."""
    before = len(OPENED)
    yield
    with ExitStack() as stack:
        for made in OPENED[before:]:
            stack.callback(made.leave)


@pytest.fixture
def visit(browser: Any) -> Iterator[Open]:
    """`visit(language="ko", dark=True, width=800, lab=...)`: a page that is open and live."""
    servers: list[Iterator[Served]] = []
    contexts: list[Any] = []
    visits: list[Visit] = []

    def start(
        language: str = "en", dark: bool = False, width: int = 1440, lab: RecordedLab | None = None, view: str = "inspect", **more: Any
    ) -> Visit:
        evening = None if lab else Evening()
        servers.append(run_server(lab or evening.lab, evening))  # type: ignore[union-attr]
        served = next(servers[-1])
        context = browser.new_context(
            viewport={"width": width, "height": 900},
            locale={"en": "en-US", "ko": "ko-KR"}[language],
            color_scheme="dark" if dark else "light",
            **more,
        )
        context.set_default_timeout(PATIENCE_S * 1000)
        contexts.append(context)
        made = Visit(context.new_page(), served)
        visits.append(made)
        made.page.on("console", lambda message: _complain(made, message))
        made.page.on("pageerror", lambda error: made.complaints.append(str(error)))
        made.page.add_init_script(TELL_OF_OTHERS)
        made.page.on("framenavigated", lambda frame: _note(made, frame.url))
        made.page.on("websocket", lambda socket: _note(made, socket.url))
        made.page.add_init_script(view_of(view))
        made.page.goto(served.url)
        made.wait("globalThis.lab?.app?.online && lab.feed.run")
        made.wait(DRAWN)
        return made

    yield start
    for context in contexts:
        context.close()
    for server in servers:
        next(server, None)
    for made in visits:
        assert made.complaints == []


def _note(made: Visit, url: str) -> None:
    """Pages and sockets of others; what else is asked of them the page says itself."""
    if not url.startswith((made.served.url, made.served.url.replace("http", "ws"), "about:")):
        made.complaints.append(f"went to another host: {url}")


def _complain(made: Visit, message: Any) -> None:
    """A recorded lab has no REST side (501); everything else that the browser says counts."""
    if message.type != "log" and "501 (Not Implemented)" not in message.text:
        made.complaints.append(message.text)
