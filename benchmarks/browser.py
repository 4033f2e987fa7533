"""A browser before a lab: Debian's Chromium, driven by Playwright; and a lab that plays events written beforehand."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import threading
from collections.abc import Iterator
from typing import Any

CHROMIUM = os.environ.get("BROKERLAB_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
MEASURE = """(seconds) => new Promise((done) => {
    const { screen } = lab, frame = screen.frame.bind(screen), found = [];
    screen.frame = (wall) => { const start = performance.now(); frame(wall); found.push(performance.now() - start); };
    setTimeout(() => { delete screen.frame; done(found); }, seconds * 1000);
})"""


@contextlib.contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    if CHROMIUM is None:
        raise RuntimeError("there is no chromium (Debian: apt install chromium)")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        try:
            yield found
        finally:
            found.close()


@contextlib.contextmanager
def page_of(chromium: Any, url: str) -> Iterator[Any]:
    """The page, open and live."""
    page = chromium.new_page(viewport={"width": 1440, "height": 900})
    page.goto(url)
    until(page, "globalThis.lab?.app?.online && lab.feed.run")
    yield page
    page.close()


def until(page: Any, expression: str, seconds: float = 120) -> None:
    """The page's policy forbids Playwright's own way of waiting, which evaluates in the page."""
    for _ in range(int(seconds * 20)):
        if page.evaluate(expression):
            return
        page.wait_for_timeout(50)
    raise RuntimeError(f"did not come true in the page: {expression}")


class MainThread:
    """CPU time of the page's main thread between two looks: scripts, style, layout, painting, garbage."""

    def __init__(self, page: Any) -> None:
        self._session = page.context.new_cdp_session(page)
        self._session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self._before = self._seconds()

    def _seconds(self) -> float:
        rows = self._session.send("Performance.getMetrics")["metrics"]
        return float(next(row["value"] for row in rows if row["name"] == "TaskDuration"))

    def worked_ms(self) -> float:
        """Milliseconds since the last look."""
        before, self._before = self._before, self._seconds()
        return (self._before - before) * 1000


@contextlib.contextmanager
def served(lab: Any) -> Iterator[str]:
    """The address of the page of a recorded lab, served by the product's own server in this process."""
    os.environ.setdefault("BROKERLAB_DATA", tempfile.mkdtemp(prefix="brokerlab-bench-"))
    from web import server

    listener = server.listen("127.0.0.1", 0)
    started = threading.Event()
    built = server.build(lab, listener, lambda url: started.set())
    thread = threading.Thread(target=built.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    if not started.wait(60):
        raise RuntimeError("the page's server did not start")
    try:
        yield built.url
    finally:
        built.should_exit = True
        thread.join(10)
        listener.close()
