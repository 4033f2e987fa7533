"""`frame`, `flood`: what the screen costs in a browser, and whether it keeps up.

The limits are those of the design: under 10 ms of main thread for a frame with 500 messages and 600 partitions, and
20,000 events a second with no state transition dropped, at the rate that is printed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

from benchmarks.browser import MEASURE, MainThread, browser, page_of, served, until
from benchmarks.results import Result, median, percentile
from tests.web.recorded_lab import RecordedLab, start_state, topic_state

PARTITIONS = 600
DOTS = 500
FRAME_MS = 10.0
RATE = 20_000
FLUSH_S = 0.05

KEEP_DOTS = """(wanted) => {
    const ends = ["broker-1", "broker-2", "broker-3"], { dots } = lab.screen;
    setInterval(() => {
        while (dots.flights.length < wanted) {
            const n = dots.flights.length;
            dots.flights.push({ from: ends[n % 3], to: ends[(n + 1) % 3], label: "Fetch", count: 1, quiet: false,
                                start: performance.now() - n % 600, answer: n % 2 === 0 });
        }
        lab.app.dirty = true;
    }, 50);
}"""
COUNT = """() => {
    const add = lab.story.add.bind(lab.story), onevents = lab.feed.onevents;
    Object.assign(lab, { shrunk: 0, seen: 0 });
    lab.story.add = (event, at) => { lab.shrunk += event.code === "isr_shrunk" ? 1 : 0; add(event, at); };
    lab.feed.onevents = (events, first) => { lab.seen += events.length; onevents(events, first); };
}"""


def new_lab() -> RecordedLab:
    return RecordedLab(start_state({"orders": topic_state(PARTITIONS, 100)}))


def frame(quick: bool) -> Iterator[Result]:
    """500 messages on their way over 600 partitions, everything drawn anew."""
    with browser() as chromium, served(new_lab()) as url, page_of(chromium, url) as page:
        page.evaluate(KEEP_DOTS, DOTS)
        page.wait_for_timeout(1000)
        main = MainThread(page)
        times = page.evaluate(MEASURE, 5 if quick else 20)
        worked = main.worked_ms() / max(1, len(times))
    case = f"{DOTS} dots, {PARTITIONS} partitions"
    yield Result("frame", f"{case}, script p50", "ms a frame", median(times), None, False, FRAME_MS)
    yield Result("frame", f"{case}, script p95", "ms a frame", percentile(times, 0.95), None, False)
    yield Result("frame", f"{case}, main thread", "ms a frame", worked, None, False, FRAME_MS)


def rows_of(number: int, count: int, began: int) -> list[Any]:
    """`count` events: high watermarks, and each hundredth a state transition."""
    rows: list[Any] = []
    for index in range(number, number + count):
        t = began + index * 1_000_000 // RATE
        partition = index // 100 % PARTITIONS
        if index % 100 == 99:
            isr = {"topic": "orders", "partition": partition, "isr": [1, 2], "before": [1, 2, 3], "removed": [3]}
            rows.append((t, "broker-1", "isr_shrunk", 0, isr))
        else:
            mark = {"topic": "orders", "partition": index % PARTITIONS, "before": index, "after": index + 1}
            rows.append((t, f"broker-{index % 3 + 1}", "high_watermark", 0, mark))
    return rows


def play(lab: RecordedLab, seconds: float) -> None:
    """20,000 events a second of wall clock, in a thread of its own."""
    count, each, began = int(RATE * seconds), int(RATE * FLUSH_S), time.monotonic()
    for number in range(0, count, each):
        rows = rows_of(number, min(each, count - number), lab.t)
        wait = began + number / RATE - time.monotonic()
        if wait > 0:
            time.sleep(wait)
        lab.play(*rows)


def flood(quick: bool) -> Iterator[Result]:
    """Events a second that arrive in the page, what a frame costs meanwhile, transitions dropped, resyncs."""
    seconds, lab = (5 if quick else 20), new_lab()
    with browser() as chromium, served(lab) as url, page_of(chromium, url) as page:
        page.evaluate(COUNT)
        main = MainThread(page)
        before, started = lab.seq, time.perf_counter()
        player = threading.Thread(target=play, args=(lab, seconds))
        player.start()
        times = page.evaluate(MEASURE, seconds)
        worked = main.worked_ms() / max(1, len(times))
        while player.is_alive():
            page.wait_for_timeout(20)
        until(page, f"lab.feed.last >= {lab.seq}")
        took = time.perf_counter() - started
        seen, shrunk, resyncs = (page.evaluate(f"lab.{name}") for name in ("seen", "shrunk", "feed.gaps"))
    sent = lab.seq - before
    yield Result("flood", f"{sent:,} events, in the page", "events/s", seen / took, None, True, RATE * 0.95)
    yield Result("flood", "state transitions dropped", "events", sent // 100 - shrunk, None, False, 0.0)
    yield Result("flood", "resyncs", "", resyncs, None, False, 0.0)
    yield Result("flood", "main thread meanwhile", "ms a frame", worked, None, False)
