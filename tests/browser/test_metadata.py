"""The metadata log on the page: the quorum, each record, what it has changed and where that is; a controller that dies."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from benchmarks.asking import ask
from tests.browser.lab_page import LabPage, Open, open_pages, violations

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey

FACTS = "[...document.querySelectorAll('.tree-fact')].map((one) => one.textContent)"
KRAFT = ("--controller", "kraft", "--controllers", "3")


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("metadata") / "lab", *KRAFT)


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit(bypass_csp=True)
    page.command(do="create_topic", topic="orders", assignment=[[1, 2, 3]])
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    page.value("lab.app.showTab('metadata')")
    page.see("[data-replica='101']")
    return page


def test_the_strip_tells_who_leads_what_is_committed_who_votes_and_who_follows(seen: LabPage) -> None:
    seen.wait("lab.app.state.quorum.high_watermark > 0")
    facts = seen.value(FACTS)
    assert {"epoch", "committed"} <= {fact.split(" ")[0] for fact in facts} and "observers caught up" in facts
    assert "★" in seen.value("document.querySelector(`[data-menu='server:controller-${lab.app.state.quorum.leader}'] text`).textContent")
    marks = seen.value("lab.app.state.quorum.high_watermark")
    seen.wait(f"lab.app.state.quorum.high_watermark > {marks}")  # it goes on by itself
    rows = seen.value("[...document.querySelectorAll('.tab-metadata [data-replica]')].map((one) => one.innerText)")
    assert len(rows) == 6 and sum("voter" in row for row in rows) == 3 and sum("observer" in row for row in rows) == 3


def test_a_record_is_read_and_followed_to_what_it_has_changed(seen: LabPage) -> None:
    seen.wait("[...document.querySelectorAll('button[data-record]')].some((one) => one.textContent.includes('PARTITION_RECORD'))")
    seen.value("[...document.querySelectorAll('button[data-record]')].find((one) => one.textContent.includes('PARTITION_RECORD')).click()")
    seen.see("[data-change=replicas]")
    assert "[1, 2, 3]" in seen.page.inner_text("[data-change=replicas]")
    seen.picture("metadata-en")
    assert violations(seen.page) == []
    seen.page.click("[data-moment]")
    seen.wait("!lab.clock.live && !lab.app.state.topics.orders")
    seen.value("lab.app.goLive()")
    seen.page.click("[data-follow='partition:orders-0']")
    seen.wait("lab.app.tab === 'replicas' && lab.app.chosen === 'orders-0'")


def test_a_broker_that_is_paused_is_shown_behind_and_fenced(seen: LabPage) -> None:
    seen.command(do="pause", broker=3)
    seen.wait("[...document.querySelectorAll('.tree-fact')].some((one) => one.textContent.includes('▽3 by'))")
    seen.value("lab.app.showTab('metadata')")
    seen.wait("document.querySelector('.tab-metadata [data-replica=\"3\"]')?.innerText.includes('fenced')")
    seen.command(do="resume", broker=3)
    seen.wait("document.querySelector('.tab-metadata [data-replica=\"3\"]')?.innerText.includes('in service')")


def test_a_broker_that_was_unregistered_is_no_fenced_one(seen: LabPage) -> None:
    seen.wait("[1, 2, 3].every((id) => lab.app.state.brokers[id].registered)")
    port = seen.value("lab.app.state.brokers[1].port")
    answer = ask(port, ApiKey.UNREGISTER_BROKER, 0, m.UnregisterBrokerRequest(broker_id=3), 20)
    assert answer.error_code == 0
    seen.wait("document.querySelector('.broker.unregistered')?.textContent.includes('not registered')")
    seen.wait("document.querySelector('.tab-metadata [data-replica=\"3\"]')?.innerText.includes('not registered')")
    seen.wait("document.getElementById('story').textContent.includes('no longer knows it')")
    assert not any("fenced" in fact for fact in seen.value(FACTS))
    seen.picture("metadata-unregistered-en")
    seen.command(do="kill", broker=3)
    seen.command(do="restart", broker=3)
    seen.wait("lab.app.state.brokers[3].registered")


def test_the_active_controller_dies_and_its_successor_and_epoch_are_seen(seen: LabPage) -> None:
    before, epoch = seen.value("[lab.app.state.cluster.controller, lab.app.state.cluster.controller_epoch]")
    seen.page.click(f"[data-menu='server:controller-{before}']")
    seen.page.click("[role=menu] [data-menu-do=kill]")
    seen.wait(f"![null, {before}].includes(lab.app.state.cluster.controller) && lab.app.state.cluster.controller_epoch > {epoch}")
    # A voter that is gone is listed as kafka-metadata-quorum lists it, and has no log that could be opened.
    seen.wait(f"document.querySelector('.tab-metadata [data-replica=\"{before}\"]').innerText.includes('✕')")
    assert seen.page.is_disabled(f".tab-metadata [data-replica='{before}'] button")
    told = seen.value("lab.app.story.before(Infinity, 200, false).map((one) => one.code)")
    assert "quorum_state" in told and "controller_elected" in told  # a candidacy, and who won
    seen.wait("document.getElementById('story').textContent.includes('there was no controller')")  # and for how long
    seen.command(do="restart", node=f"controller-{before}")
    seen.wait(f"!document.querySelector('.tab-metadata [data-replica=\"{before}\"]').innerText.includes('✕')")


def test_in_korean(visit: Open, seen: LabPage) -> None:
    page = visit(language="ko")
    page.value("lab.app.showTab('metadata')")
    page.see("[data-replica='101']")
    page.wait("document.querySelector('.tab-metadata').innerText.includes('투표자')")
    assert "관찰자 모두 따라잡음" in page.value(FACTS)
    page.picture("metadata-ko")
