"""Brokers with a replica selector on the screen: the banner, also in the past, and where a consumer reads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations

from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR

BANNER = "document.querySelector('#banners [data-selector]')"


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    options = [("--set", f"{number}:broker.rack={rack}") for number, rack in ((1, "a"), (2, "b"), (3, "c"))]
    options += [("--set", f"{number}:replica.selector.class={RACK_AWARE_SELECTOR}") for number in (2, 3)]
    given = [word for option in options for word in option]
    yield from open_pages(browser, tmp_path_factory.mktemp("selector") / "lab", *given)


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    """Broker 2 leads `orders-0` and has a selector; a consumer in rack c reads it."""
    page = visit()
    page.command(do="create_topic", topic="orders", assignment=[[2, 3, 1]])
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    page.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=20, settings={"acks": "all"})
    page.command(do="start_client", name="consumer-near", kind="consumer", topic="orders",
                 settings={"group.id": "near", "client.rack": "c", "auto.offset.reset": "earliest"})
    page.wait("lab.app.state.clients['consumer-near']?.reads_from?.orders?.[0] === 3")
    return page


def test_the_banner_names_the_brokers_that_have_a_selector(seen: LabPage, visit: Open) -> None:
    seen.wait(f"{BANNER}?.dataset.selector === '2 3'")
    assert "Consumers may read from followers" in seen.value(f"{BANNER}.innerText")
    page = visit("ko")
    page.wait(f"{BANNER}?.innerText.includes('팔로워에서 읽을 수 있습니다')")
    page.wait("lab.app.state.clients['consumer-near'].reads_from.orders[0] === 3")  # by the snapshot, not by an event


def test_the_group_says_from_which_replica_its_member_reads(seen: LabPage) -> None:
    seen.page.click("[data-tab=groups]")
    seen.see('#tab-panel [data-replica="3"]')
    assert "reads from broker 3" in seen.value("document.querySelector('#tab-panel [data-replica]').innerText")


def test_the_rack_of_a_consumer_that_runs_is_a_lever(seen: LabPage, visit: Open) -> None:
    page = visit("ko", width=800, bypass_csp=True)
    page.page.click("[data-tab=groups]")
    page.see("[data-rack-of=consumer-near]")
    lever = page.page.locator("[data-rack-of=consumer-near]")
    assert lever.input_value() == "c" and lever.locator("option").count() == 4
    assert violations(page.page) == []
    page.picture("rack-lever-ko-800")
    for rack, replica in (("a", 1), ("", None), ("c", 3)):
        lever.select_option(rack)
        page.wait(f"(lab.app.state.clients['consumer-near']?.reads_from?.orders?.[0] ?? null) === {'null' if replica is None else replica}")
        seen.wait(f"lab.app.state.clients['consumer-near'].settings['client.rack'] === '{rack}'")
    page.leave()


def test_the_banner_follows_the_brokers_that_run_and_the_moment_that_is_looked_at(seen: LabPage) -> None:
    seen.command(do="kill", broker=3)
    seen.wait(f"{BANNER}?.dataset.selector === '2'")
    seen.go_to("process_ended")
    seen.wait(f"{BANNER}?.dataset.selector === '2 3'")
    seen.wait("lab.app.state.clients['consumer-near'].reads_from.orders[0] === 3")
    seen.page.keyboard.press("l")
    seen.wait(f"lab.clock.live && {BANNER}?.dataset.selector === '2'")
    seen.command(do="kill", broker=2)
    seen.wait(f"{BANNER} === null")
    for broker in (2, 3):
        seen.command(do="restart", broker=broker)
    seen.wait(f"{BANNER}?.dataset.selector === '2 3'")
