"""Limits of the screen, measured in the browser: what a frame costs, what a flood of events loses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.browser.conftest import Visit
from tests.web.recorded_lab import RecordedLab, start_state, topic_state

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow
FRAME_MS = 10
EVENTS_A_SECOND = 20_000

MEASURE = """(seconds) => new Promise((done) => {
    const { screen } = lab, frame = screen.frame.bind(screen), found = [];
    screen.frame = (wall) => { const start = performance.now(); frame(wall); found.push(performance.now() - start); };
    setTimeout(() => { delete screen.frame; found.sort((a, b) => a - b); done(found); }, seconds * 1000);
})"""


def flood(first: int, n: int) -> list[Any]:
    """High watermarks, and after each thousand of them a state transition."""
    rows: list[Any] = []
    for number in range(first, first + n):
        t = number * 1_000_000 // EVENTS_A_SECOND
        if number % 1000 == 999:
            isr = {"topic": "orders", "partition": number // 1000 % 600, "isr": [1, 2], "before": [1, 2, 3], "removed": [3]}
            rows.append((t, "broker-1", "isr_shrunk", 0, isr))
        else:
            mark = {"topic": "orders", "partition": number % 600, "before": number, "after": number + 1}
            rows.append((t, f"broker-{number % 3 + 1}", "high_watermark", 0, mark))
    return rows


def test_a_frame_with_600_partitions_and_500_messages_is_short(visit: Open) -> None:
    seen = visit(lab=RecordedLab(start_state({"orders": topic_state(600, 100)})))
    seen.page.evaluate("""() => {
        const ends = ["broker-1", "broker-2", "broker-3"];
        setInterval(() => {
            const { dots } = lab.screen;
            while (dots.flights.length < 500) {
                const n = dots.flights.length;
                dots.flights.push({ from: ends[n % 3], to: ends[(n + 1) % 3], label: "Fetch", start: performance.now() - n % 600, count: 1, answer: n % 2 === 0, quiet: false });
            }
            lab.app.dirty = true;
        }, 50);
    }""")
    times = seen.page.evaluate(MEASURE, 3)
    median = times[len(times) // 2]
    print(f"frames {len(times)}, median {median:.1f} ms, 90 % {times[int(len(times) * 0.9)]:.1f} ms")
    assert median < FRAME_MS


def test_20000_events_a_second_lose_no_state_transition(visit: Open) -> None:
    seen = visit(lab=RecordedLab(start_state({"orders": topic_state(600, 100)})))
    seen.page.evaluate("""() => {
        const add = lab.story.add.bind(lab.story);
        lab.shrunk = 0;
        lab.story.add = (event, at) => { lab.shrunk += event.code === "isr_shrunk" ? 1 : 0; add(event, at); };
    }""")
    for piece in range(40):
        seen.lab.play(*flood(piece * 1000, 1000))
        seen.page.wait_for_timeout(50)
    seen.wait(f"lab.feed.last >= {seen.lab.seq}")
    assert seen.page.evaluate("lab.shrunk") == 40
