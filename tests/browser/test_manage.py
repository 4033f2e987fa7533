"""What an admin client asks for, asked for on the screen: elections, other replicas, records that go, topics that grow and go."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("manage") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit(bypass_csp=True)
    page.command(do="create_topic", topic="orders", assignment=[[1, 2]])
    page.wait("lab.app.state.topics.orders?.partitions[0]?.leader === 1")
    for _ in range(3):
        page.command(do="produce", topic="orders", partition=0, value="one", acks="all")
    page.wait("lab.app.state.topics.orders.partitions[0].logs[1].hw === 3")
    page.page.evaluate("lab.app.showTab('replicas')")
    page.see("[data-manage=elect_leaders]")
    page.wait("lab.clock.clusterTime() > 6_000_000")  # the controller's first own look for preferred leaders is over
    return page


def ask(seen: LabPage, name: str, **fields: str) -> None:
    """Fill the form in and send it."""
    for field, value in fields.items():
        seen.page.fill(f"[data-manage={name}] [name={field}]", value)
    seen.page.click(f"[data-manage={name}] button")


def test_replicas_move_and_the_preferred_leader_is_elected(seen: LabPage) -> None:
    assert "Broker 1 leads and is the preferred leader" in seen.page.inner_text("#tab-panel")
    ask(seen, "elect_leaders")
    seen.told("not needed")
    ask(seen, "reassign", replicas="3, 1")
    seen.wait("lab.app.state.topics.orders.partitions[0].replicas.join() === '3,1'")
    seen.wait("document.getElementById('tab-panel').innerText.includes('the preferred leader is broker 3')")
    ask(seen, "elect_leaders")
    seen.wait("lab.app.state.topics.orders.partitions[0].leader === 3")
    seen.picture("manage-en")
    assert violations(seen.page) == []


def test_a_move_under_way_is_shown_and_can_be_cancelled(seen: LabPage) -> None:
    seen.command(do="partition_link", between=[2, 3])
    ask(seen, "reassign", replicas="2 1")
    seen.wait("document.getElementById('tab-panel').innerText.includes('Being reassigned: {2} come, {3} go')")
    ask(seen, "cancel_reassignment")
    seen.page.wait_for_selector("[data-manage=cancel_reassignment]", state="detached")
    seen.command(do="heal_link", between=[2, 3])


def test_records_go_and_what_cannot_go_is_said(seen: LabPage) -> None:
    ask(seen, "delete_records", before="9")
    seen.told("OFFSET_OUT_OF_RANGE")
    ask(seen, "delete_records", before="2")
    seen.wait("lab.app.state.topics.orders.partitions[0].logs[3].start === 2")
    ask(seen, "delete_records", before="")
    seen.wait("lab.app.state.topics.orders.partitions[0].logs[3].start === 3")


def test_where_a_group_without_members_goes_on_is_set(seen: LabPage) -> None:
    seen.page.click("[data-tab=groups]")
    settings = {"group.id": "billing", "auto.offset.reset": "earliest", "auto.commit.interval.ms": 200}
    for _ in range(3):
        seen.command(do="produce", topic="orders", partition=0, value="one", acks="all")
    seen.command(do="start_client", name="reader", kind="consumer", topic="orders", settings=settings)
    seen.wait("lab.app.state.groups.billing?.offsets.orders?.[0] === 6")
    assert seen.page.locator("[data-manage=reset_offsets]").count() == 0
    seen.command(do="stop_client", name="reader")
    form = seen.page.locator("[data-manage=reset_offsets]")
    form.locator("[name=place]").select_option("offset")
    form.locator("[name=amount]").fill("5")
    seen.picture("manage-offsets-en")
    assert violations(seen.page) == []
    form.locator("button").click()
    seen.wait("lab.app.state.groups.billing.offsets.orders[0] === 5")
    form.locator("[name=place]").select_option("earliest")
    assert form.locator("[name=amount]").is_disabled()
    form.locator("button").click()
    seen.wait("lab.app.state.groups.billing.offsets.orders[0] === lab.app.state.topics.orders.partitions[0].logs[3].start")
    forget = seen.page.locator("[data-manage=delete_offsets]")
    forget.scroll_into_view_if_needed()
    seen.picture("manage-offsets-forget-en")
    forget.locator("button").click()
    seen.wait("lab.app.state.groups.billing === undefined")
    seen.page.evaluate("lab.app.showTab('replicas')")


def test_a_topic_grows_and_goes_in_korean(visit: Open, seen: LabPage) -> None:
    page = visit("ko", width=800)
    page.page.evaluate("lab.app.showTab('replicas')")
    page.see("[data-manage=add_partitions]")
    page.page.locator("[data-manage=delete_topic]").scroll_into_view_if_needed()
    page.picture("manage-ko-800")
    assert page.page.inner_text("[data-manage=delete_topic] button") == "토픽 삭제"
    ask(page, "add_partitions", partitions="3")
    page.wait("Object.keys(lab.app.state.topics.orders.partitions).length === 3")
    ask(page, "delete_topic")
    page.wait("!lab.app.state.topics.orders")
    page.leave()
