"""A broker joins by a click: its levers and its card are there from that moment on, and not before it."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations

BROKERS = "[...document.querySelectorAll('#broker-levers [data-do]')].reduce((found, { dataset }) => found.add(dataset.broker), new Set()).size"
CARDS = "document.querySelectorAll('#scene-svg .broker').length"

BEFORE_IT_JOINED = """() => {
    const { history, clock, app } = lab;
    let position = history.begin;
    while (history.at(position).code !== "broker_added") position += 1;
    clock.go(position);
    app.set({});
}"""


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("joining") / "lab")


def says(page: LabPage, *texts: str) -> None:
    for text in texts:
        page.wait(f"document.body.innerText.includes({json.dumps(text)})")


def test_a_click_adds_a_broker_and_both_languages_tell_of_it(visit: Open) -> None:
    page, korean = visit(), visit("ko")
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    assert (page.value(BROKERS), page.value(CARDS)) == (3, 3)

    page.page.click("#broker-add")
    says(page, "Broker 4 joins. It is empty", "Broker 4 joins the cluster.")
    says(korean, "브로커 4가 클러스터에 들어왔습니다.")
    for one in (page, korean):
        one.wait("lab.app.state.brokers[4]?.registered")
        one.wait(f"{BROKERS} === 4 && {CARDS} === 4")
        assert not violations(one.page)
        one.picture(f"a-broker-joined-{one.value('document.documentElement.lang')}")
    one = page.value("lab.app.state.brokers[4]")
    fresh = visit().value("lab.app.state.brokers[4]")
    assert {key: one.get(key) for key in fresh} == fresh  # by events and by a snapshot the same

    page.command(do="reassign", topic="orders", partition=0, replicas=[4, 1, 2])
    korean.wait("lab.app.state.topics.orders.partitions[0].isr.includes(4)")
    korean.page.click('[data-do="kill"][data-broker="4"]')
    page.wait("lab.app.state.brokers[4].state === 'stopped'")
    page.page.click('[data-do="restart"][data-broker="4"]')
    page.wait("lab.app.state.brokers[4].state === 'running'")

    korean.page.evaluate("lab.app.command({do: 'add_broker', broker: 4})")
    says(korean, "브로커 id 4번은 이미 있습니다")

    page.page.evaluate(BEFORE_IT_JOINED)
    page.wait(f"{BROKERS} === 3 && {CARDS} === 3")
    assert page.value("Object.keys(lab.app.state.brokers)") == ["1", "2", "3"]
