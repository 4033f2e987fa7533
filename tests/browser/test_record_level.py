"""A lab that records details shows how long a request stood in each stage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import Open, open_pages


@pytest.fixture
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("details") / "lab", "--record-level", "details")


def test_the_stages_of_a_request_are_shown(visit: Open) -> None:
    page = visit()
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    page.wait("lab.app.state.topics.orders")
    page.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=20, settings={"acks": "all"})
    page.page.click("[data-tab=request]")
    answered = "lab.history.at(n).code === 'response_sent' && lab.history.at(n).params.api === 'Produce'"
    found = f"[...Array(lab.history.end - lab.history.begin).keys()].map((n) => n + lab.history.begin).findLast((n) => {answered})"
    page.wait(f"{found} !== undefined", 30)
    page.page.evaluate(f"lab.app.lookAt({found})")
    page.wait("document.querySelectorAll('#tab-panel .stage-bars li').length > 3", 30)
    shown = page.page.inner_text("#tab-panel")
    assert "Produce" in shown and "recorded only" not in shown
