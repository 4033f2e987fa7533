"""The receipt on the screen of a real lab: clients from outside, producers, and how a record was lost."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages
from tests.conftest import PATIENCE_S


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("receipt") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit()
    page.command(do="create_topic", topic="orders", partitions=3, replication_factor=3, configs={"min.insync.replicas": "2"})
    page.wait("lab.app.state.topics.orders?.partitions[2]?.isr.length === 3")
    return page



def open_receipt(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.desk.panel === 'receipt' ? lab.app.desk.receipts.load() : lab.app.desk.show('receipt')")
    seen.see("[data-figure=acked]")


def fits(seen: LabPage) -> bool:
    found: bool = seen.value("(({scrollWidth, clientWidth}) => scrollWidth <= clientWidth)(document.querySelector('.drawer-body'))")
    return found


def test_records_of_kcat_stand_in_the_receipt_and_in_its_verdict(
    seen: LabPage, visit: Open, require_program: Callable[[str], str]
) -> None:
    text = "".join(f"{number}\n" for number in range(300))
    subprocess.run([require_program("kcat"), "-b", seen.lab.bootstrap, "-t", "orders", "-p", "2", "-P", "-X", "acks=all"],
                   input=text, text=True, check=True, timeout=PATIENCE_S)
    open_receipt(seen)
    seen.wait("document.querySelector('[data-outside-figure=acked]')?.innerText === '300'")
    assert seen.page.inner_text("[data-outside-figure=lost]") == "0"
    told = seen.page.inner_text(".verdict")
    assert "Nothing is lost; 300 records were not read by anybody yet" in told and "300 acknowledged, 0 lost" in told, told
    seen.wait("document.getElementById('coach').innerText.includes(' leads orders-2 and takes all its records')")  # the others are empty
    assert seen.value("lab.app.chosen") == "orders-2"
    korean = visit("ko")
    korean.wait("document.getElementById('coach').innerText.includes('쓰는 것과 읽는 것을 시작하세요')")  # it has seen nobody write
    open_receipt(korean)
    korean.see("[data-outside]")
    assert "외부 클라이언트" in korean.page.inner_text(".verdict")
    assert "brokers" not in korean.page.inner_text("#drawer")
    seen.picture("receipt-outside")
    korean.picture("receipt-outside-ko")


@pytest.fixture(scope="module")
def lossy(seen: LabPage) -> LabPage:
    """Two producers wrote, the first of the lessons that lose records was taken, and all was read back."""
    seen.page.evaluate("lab.app.desk.close()")
    for name in ("producer-orders", "producer-of-many-payments"):
        seen.command(do="start_client", name=name, kind="producer", topic="orders", rate=20, settings={"acks": "1"})
    seen.wait("lab.app.state.clients['producer-of-many-payments']?.acked > 20")
    seen.page.click("[data-lesson=unclean]")
    seen.wait("lab.app.runner.lesson === 'unclean'")
    seen.wait("lab.app.runner.lesson === null && lab.app.chosenPartition.unclean")
    seen.told("min.insync.replicas=2")
    seen.wait("JSON.stringify(lab.app.topic.configs) === JSON.stringify({'min.insync.replicas': '2'})")
    seen.picture("lesson-unclean")
    return seen


def test_a_loss_leads_to_the_unclean_election_and_each_producer_is_counted_as_the_total(lossy: LabPage, visit: Open) -> None:
    open_receipt(lossy)
    lossy.page.click("[data-receipt=read]")
    lossy.wait("(lab.app.desk.receipts.load(), lab.app.desk.receipts.found?.lost > 0)")
    lossy.wait(r"/How orders-\d offset \d+ was lost/.test(document.getElementById('drawer').innerText)")
    assert "One that may lack records was chosen" in lossy.page.inner_text(".chain")
    counts = lossy.value("""(() => {
        const numbers = (selector) => [...document.querySelectorAll(selector)].map((one) => Number(one.innerText.replaceAll(',', '')));
        return {total: numbers('[data-figure=lost]')[0], each: numbers('[data-count=lost]')};
    })()""")
    assert counts["total"] == sum(counts["each"]) > 0 and len(counts["each"]) >= 2
    assert fits(lossy)
    lossy.picture("receipt-lost")
    lossy.command(do="time", speed="pause")  # so that those who come later have little to load
    for language, width in (("ko", 1440), ("en", 800), ("ko", 800)):
        other = visit(language, width=width)
        open_receipt(other)
        other.see("[data-count=lost]")
        other.see(".chain li:nth-child(8)")
        other.page.evaluate("document.querySelector('.chain').scrollIntoView()")
        assert fits(other)
        other.picture(f"receipt-lost-{language}-{width}")
        other.leave()
    lossy.command(do="time", speed="play")
