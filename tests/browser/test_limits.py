"""Limits of the screen: what is bounded, and that nothing is lost. What it costs is measured by `brokerlab bench`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.browser.conftest import Visit
from tests.web.recorded_lab import RecordedLab, start_state, topic_state

from web.live.hub import hub
from web.live.viewer import LIMIT, Viewer

Open = Callable[..., Visit]
pytestmark = pytest.mark.slow
EVENTS_A_SECOND = 20_000
DOTS = 500

COUNT = """() => {
    const add = lab.story.add.bind(lab.story);
    lab.shrunk = 0;
    lab.story.add = (event, at) => { lab.shrunk += event.code === "isr_shrunk" ? 1 : 0; add(event, at); };
}"""
BUSY = "(ms) => { const end = performance.now() + ms; while (performance.now() < end); }"


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


def messages(n: int) -> list[Any]:
    """Requests of as many different kinds and ways, so that none of them can be drawn together with another one."""
    rows: list[Any] = []
    for number in range(n):
        params = {"api": f"Kind{number}", "version": 1, "correlation": number, "connection": "main",
                  "to": f"broker-{number % 3 + 1}"}  # fmt: skip
        rows.append((1000 + number, f"broker-{(number + 1) % 3 + 1}", "request_sent", 0, params))
    return rows


def reach(seen: Visit, seq: int) -> None:
    """Until the page knows an event, however slow this machine is; the test's own limit ends it."""
    while seen.page.evaluate("lab.feed.last") < seq:
        seen.page.wait_for_timeout(25)


def attached(seen: Visit) -> Viewer:
    """The page's queue, once deltas go into it: the page has opened its wire and may not have said hello yet."""
    while not any(not viewer.behind for viewer in hub.viewers):
        seen.page.wait_for_timeout(20)
    (viewer,) = hub.viewers
    return viewer


def test_no_more_messages_are_drawn_than_the_canvas_bears(visit: Open) -> None:
    seen = visit(lab=RecordedLab(start_state({"orders": topic_state(600, 100)})))
    seen.lab.play(*messages(5000))
    reach(seen, seen.lab.seq)
    assert seen.page.evaluate("lab.screen.dots.flights.length") <= DOTS


def test_a_flood_of_events_loses_no_state_transition(visit: Open) -> None:
    """In batches as at 20,000 events a second, as fast as this machine takes them."""
    seen = visit(lab=RecordedLab(start_state({"orders": topic_state(600, 100)})))
    attached(seen)
    seen.page.evaluate(COUNT)
    for piece in range(40):
        seen.lab.play(*flood(piece * 1000, 1000))
        reach(seen, seen.lab.seq - 5000)
    reach(seen, seen.lab.seq)
    assert seen.page.evaluate("[lab.shrunk, lab.feed.gaps]") == [40, 0]


def test_a_page_that_stops_reading_costs_a_bounded_queue_and_is_up_to_date_when_it_reads_again(visit: Open) -> None:
    seen = visit(lab=RecordedLab(start_state({"orders": topic_state(6, 100)})))
    largest, batch = 0, [(1000, "broker-1", "command", 0, {"command": {"do": "produce", "value": "x" * 100_000}})]
    viewer = attached(seen)
    seen.lab.state["cluster"]["controller"] = 3  # what only a snapshot can tell
    seen.page.evaluate(f"() => {{ setTimeout({BUSY}, 0, 3000); }}")
    while viewer.cuts == 0:
        seen.lab.play(*batch)
        largest = max(largest, viewer.size)
    assert largest <= LIMIT + 110_000
    seen.lab.play((2000, "broker-1", "process_paused", 0, {}))
    reach(seen, seen.lab.seq)
    assert seen.page.evaluate("[lab.feed.gaps > 0, lab.app.online, lab.app.state.cluster.controller]") == [True, True, 3]
    assert viewer.size == 0
