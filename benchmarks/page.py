"""`page`: what the page of a running lab costs its browser, from the first paint to a client at 2,000 records a second.

The limits are those of the page's design: painted within a second on the loopback, 5 % of its main thread while nothing
happens, 30 % beside the built-in producer, and 60 frames a second beside an outside client.
"""

from __future__ import annotations

import statistics
import threading
from collections.abc import Callable, Iterator
from typing import Any

from benchmarks import load
from benchmarks.browser import MainThread, browser, page_of, until
from benchmarks.results import Result
from benchmarks.sides import Ours, running
from benchmarks.watched import RECORDS_A_SECOND, write

TOPIC = "watched"
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"
FRAMES = """(seconds) => new Promise((done) => {
    let frames = 0;
    const began = performance.now();
    const next = (now) => {
        if (now - began >= seconds * 1000) return done(frames / seconds);
        frames += 1;
        requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
})"""
PRODUCE = "(topic) => lab.app.command({ do: 'start_client', kind: 'producer', name: 'producer', topic })"
IDLE, BUSY, PAINT_MS, RATE = 5.0, 30.0, 1000.0, 60.0


def page(quick: bool) -> Iterator[Result]:
    """First paint, then the share of the main thread that idle, a built-in producer and an outside client take."""
    seconds = 5 if quick else 20
    with running(Ours(web=True)) as lab, browser() as chromium:
        assert isinstance(lab, Ours)
        load.make_topic(lab.bootstrap, TOPIC)
        url = f"http://127.0.0.1:{lab.page_port}/"
        painted = [first_paint(chromium, url) for _ in range(3 if quick else 7)]
        yield Result("page", "first paint, nothing cached", "ms", statistics.median(painted), None, False, PAINT_MS)
        with page_of(chromium, url) as view:
            view.wait_for_timeout(3000)  # what came with opening it is done
            yield main_thread(view, "idle", seconds, IDLE)
            view.evaluate(PRODUCE, TOPIC)
            until(view, "lab.app.state.clients.producer?.acked > 20")
            yield main_thread(view, "a producer", seconds, BUSY)
            view.evaluate("() => lab.app.command({ do: 'stop_client', name: 'producer' })")
            yield from outside(view, seconds, lambda: write(lab.bootstrap, seconds + 2))


def first_paint(chromium: Any, url: str) -> float:
    """Milliseconds from the click to the first contents, with nothing in the browser's cache."""
    context = chromium.new_context(viewport={"width": 1440, "height": 900})
    view = context.new_page()
    view.goto(url)
    until(view, f"({PAINTED}) !== null")
    found = float(view.evaluate(PAINTED))
    context.close()
    return found


def main_thread(view: Any, case: str, seconds: int, goal: float | None) -> Result:
    """Percent of its time in which the main thread works."""
    main = MainThread(view)
    view.wait_for_timeout(seconds * 1000)
    return Result("page", f"main thread, {case}", "%", main.worked_ms() / seconds / 10, None, False, goal)


def outside(view: Any, seconds: int, produce: Callable[[], int]) -> Iterator[Result]:
    """Frames a second, and the main thread, while an outside client produces."""
    case = f"{RECORDS_A_SECOND:,} records/s"
    writer = threading.Thread(target=produce)
    writer.start()
    view.wait_for_timeout(1000)
    main = MainThread(view)
    frames = float(view.evaluate(FRAMES, seconds))
    worked = main.worked_ms() / seconds / 10
    writer.join()
    yield Result("page", f"frames, {case}", "frames/s", frames, None, True, RATE * 0.95)
    yield Result("page", f"main thread, {case}", "%", worked, None, False)
