"""The levers on the screen of a real lab: load, links, disks, lessons, refusals."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("levers") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit()
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs={"min.insync.replicas": "1"})
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    page.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=5, settings={"acks": "all"})
    page.see('[data-slider="rate"]')
    return page


def test_a_slider_changes_the_figure_next_to_it_and_the_load(seen: LabPage) -> None:
    seen.page.focus('[data-slider="rate"]')
    seen.page.keyboard.press("End")
    seen.wait("document.querySelector('.slider output').innerText === '1,000 records/s'")
    seen.wait("lab.app.state.clients['producer-orders'].rate === 1000 && lab.app.state.clients['producer-orders'].acked > 500")
    seen.page.keyboard.press("Home")
    seen.wait("lab.app.state.clients['producer-orders'].rate === 0")


def test_a_link_is_cut_shown_and_healed(seen: LabPage) -> None:
    seen.page.click('[data-fault="cut"]')
    seen.wait("lab.app.state.links.length === 2")
    seen.page.click('[data-fault="heal"]')
    seen.wait("lab.app.state.links.length === 0")


def test_disks_fail_and_all_faults_end(seen: LabPage) -> None:
    seen.page.click('[data-fold="disks"]')
    seen.page.click('[data-fault="disk_full"]')
    seen.page.evaluate("lab.app.openBroker(1)")
    seen.wait("document.getElementById('tab-panel').innerText.includes('Faults of its disks: full')")
    seen.page.click('[data-fault="stop_all"]')
    seen.wait("!document.getElementById('tab-panel').innerText.includes('Faults of its disks')")
    if seen.value("lab.app.state.brokers[1].state") == "stopped":  # a write came in between: its only directory was given up
        seen.command(do="restart", broker=1)
    seen.wait("lab.app.state.brokers[1].state === 'running'")


def test_a_refusal_is_told_in_the_viewers_language(seen: LabPage, visit: Open) -> None:
    page = visit("ko")
    page.page.evaluate("lab.app.command({do: 'resume', broker: 1})")
    page.told("브로커 1은 일시 정지된 상태가 아닙니다.")


def test_one_key_shrinks_the_isr(seen: LabPage) -> None:
    seen.wait("lab.app.chosenPartition.isr.length === 3")
    seen.page.evaluate("document.activeElement.blur()")
    seen.page.keyboard.press("x")
    seen.page.keyboard.press("1")
    seen.wait("lab.app.chosenPartition.isr.length === 2 && lab.app.runner.lesson === null")
