"""The coach looks before it speaks: a world that stands still, brokers that are dead, writes that are refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages

# What each sign of life says of a lab that has taken more than it may.
HOLDS = """{
    const heard = lab.clock.heard.bind(lab.clock);
    lab.clock.heard = (facts, wall) => heard({ ...facts, over: ['disk'] }, wall);
}"""
SAID = "document.getElementById('coach').innerText"


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("coach") / "lab")


def says(seen: LabPage, words: str) -> None:
    seen.wait(f"{SAID}.includes({words!r})")


def test_a_learner_is_led_by_what_is_there(visit: Open) -> None:
    seen = visit()
    seen.page.evaluate("lab.app.desk.tour.finish()")
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs={"min.insync.replicas": "2"})
    seen.page.press("[data-coach=start_client]", "Enter")
    seen.see("[data-coach=kill]")
    assert seen.value("document.activeElement.id") == "coach"  # its button is gone: the keys go on with the next step
    seen.command(do="time", speed="pause")
    says(seen, "stands still")
    seen.page.click("[data-coach=time]")
    seen.see("[data-coach=kill]")
    leader = seen.value("lab.app.chosenPartition.leader")
    first, second = (broker for broker in (1, 2, 3) if broker != leader)
    seen.command(do="kill", broker=first)
    seen.see(f'[data-coach="restart"] >> text="Restart broker {first}"')
    assert not seen.page.query_selector("[data-coach=kill]")
    seen.command(do="kill", broker=second)
    says(seen, "are refused")
    seen.page.click("#coach .protocol summary")
    assert "NOT_ENOUGH_REPLICAS" in seen.page.inner_text("#coach .protocol p")
    seen.picture("coach-refused")
    for broker in (first, second):
        seen.see("[data-coach=restart]")
        seen.page.click("[data-coach=restart]")
        seen.wait(f"lab.app.state.brokers[{broker}].state === 'running'")
    seen.wait("lab.app.chosenPartition.isr.length === 3")
    says(seen, "Nobody reads orders")
    seen.page.click("[data-coach=start_client]")
    seen.see("[data-coach=scenarios]")
    seen.command(do="kill", broker=first)
    newcomer = visit("ko")  # who is asked for nothing else while somebody is dead
    newcomer.see(f'[data-coach="restart"] >> text="브로커 {first} 재시작"')
    newcomer.picture("coach-newcomer-ko")
    seen.page.evaluate(HOLDS)
    seen.see("[data-coach=runs]")
    seen.picture("coach-holds")
