"""The fork dialog: settings that are chosen freely, tried before the branch is made, refused at their row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations

ROW = "[data-fork-row='{}'] [name={}]"


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("forks") / "lab")


@pytest.fixture(scope="module")
def first(visit: Open) -> LabPage:
    """A lab with a topic of two partitions and a producer."""
    seen = visit()
    seen.command(do="create_topic", topic="orders", partitions=2, replication_factor=3)
    seen.wait("lab.app.state.topics.orders?.partitions[1]?.isr.length === 3")
    load = {"topic": "orders", "rate": 10, "settings": {"acks": "all"}}
    seen.command(do="start_client", name="producer-orders", kind="producer", **load)
    seen.wait("lab.app.state.clients['producer-orders']?.acked > 5")
    seen.leave()
    return seen



def fill(seen: LabPage, row: int, subject: str, setting: str, value: str) -> None:
    seen.page.select_option(ROW.format(row, "subject"), subject)
    seen.page.fill(ROW.format(row, "setting"), setting)
    seen.page.fill(ROW.format(row, "value"), value)


def refused(seen: LabPage, row: int, said: str) -> None:
    """What the row tells once it has been tried as it stands."""
    seen.wait(f"document.querySelector('[data-fork-row=\"{row}\"] p.none')?.textContent.includes({said!r})")


def test_a_branch_begins_with_settings_of_a_client_a_topic_and_all_brokers(first: LabPage, visit: Open) -> None:
    seen = visit()
    live = seen.value("lab.feed.run")
    seen.value("lab.app.choose('orders', 1)")
    seen.page.keyboard.press("f")
    seen.see("#fork-dialog[open]")
    assert "orders-1" in seen.page.inner_text("#fork-dialog")
    seen.see(".fork-row [data-eras]")
    assert "2.x: 1 · 3.9: all · 4.3: all · since 3.0 (KIP-679)" in seen.page.inner_text(".fork-row [data-eras]")
    fill(seen, 1, "client:producer-orders", "enable.idempotence", "false")
    seen.wait("document.querySelectorAll('#fork-settings-1 option').length > 15")
    names = seen.value("[...document.querySelectorAll('#fork-settings-1 option')].map((one) => one.value)")
    assert {"linger.ms", "request.timeout.ms", "rate"} <= set(names)
    assert "2.x: false · 3.9: true · 4.3: true · since 3.0 (KIP-679)" in seen.page.inner_text("[data-fork-row='1'] [data-eras]")
    seen.page.click("[data-fork=add]")
    fill(seen, 2, "topic:orders", "flush.messages", "1")
    seen.page.click("[data-fork=add]")
    fill(seen, 3, "brokers", "log.flush.interval.messages", "1")
    seen.page.click("[data-fork=add]")
    seen.page.click("[data-fork-row='4'] button")
    seen.wait("document.querySelectorAll('[data-fork-row]').length === 3")
    listed = seen.page.locator("#fork-dialog .commands li").all_inner_texts()
    assert len(listed) == 5 and "enable.idempotence=false" in listed[0] and "flush.messages=1" in listed[1], listed
    seen.page.click("[data-fork=begin]")
    settings = "lab.app.state.clients['producer-orders']?.settings"
    seen.wait(f"lab.feed.run !== '{live}' && {settings}?.['enable.idempotence'] === 'false'")
    changed = "lab.story.items.filter((one) => one.code === 'config_changed').map((one) => one.first.params)"
    seen.wait(f"{changed}.some((one) => one.key === 'flush.messages' && one.value === '1')")
    seen.wait(f"{changed}.filter((one) => one.key === 'log.flush.interval.messages').length === 3")


def test_faults_of_a_fork_meet_its_settings(first: LabPage, visit: Open) -> None:
    """A topic's setting is asked for over the network; a fault that was done at once would come before it."""
    seen = visit()
    live = seen.value("lab.feed.run")
    seen.page.keyboard.press("f")
    fill(seen, 1, "topic:orders", "flush.messages", "1")
    for broker in (1, 2, 3):
        seen.page.click(f'[data-segment="fork-broker:{broker}:power_loss"]')
    seen.page.click("[data-fork=begin]")
    seen.wait(f"lab.feed.run !== '{live}' && Object.values(lab.app.state.brokers).every((one) => one.state === 'stopped')")
    items = seen.value("lab.story.items.map((one) => one.code)")
    assert items.index("config_changed") < len(items) - 1 - items[::-1].index("process_ended")
    assert "command_refused" not in items
    seen.value(f"lab.app.desk.look('{live}')")


@pytest.mark.parametrize(
    ("language", "fixed", "unknown"),
    [("en", "read when a broker starts", "Unknown topic config"), ("ko", "브로커가 시작할 때만", "모르는 토픽 설정")],
    ids=["en", "ko"],
)
def test_what_kafka_refuses_is_told_at_its_row_and_no_branch_is_made(
    first: LabPage, visit: Open, language: str, fixed: str, unknown: str
) -> None:
    seen = visit(language)
    live = seen.value("lab.feed.run")
    seen.page.click("[data-time=fork]")
    fill(seen, 1, "brokers", "zookeeper.session.timeout.ms", "10000")
    refused(seen, 1, fixed)
    seen.page.click("[data-fork=add]")
    fill(seen, 2, "topic:orders", "flush.mesages", "1")
    refused(seen, 2, unknown)
    seen.page.click("[data-fork=begin]")
    seen.wait("document.activeElement.matches('[data-fork-row=\"1\"] [name=setting]')")
    assert seen.value("document.getElementById('fork-dialog').open") and seen.value("lab.feed.run") == live
    fill(seen, 2, "topic:orders", "flush.messages", "1")
    seen.wait("!document.querySelector('[data-fork-row=\"2\"] p.none')")
    seen.page.click("[data-fork-row='1'] button")
    seen.wait("document.querySelectorAll('[data-fork-row]').length === 1")
    seen.page.keyboard.press("Escape")


@pytest.mark.parametrize("width", [1440, 800])
def test_the_rows_fit_and_axe_finds_nothing(first: LabPage, visit: Open, width: int, require_module: Any) -> None:
    require_module("axe_playwright_python")
    seen = visit("ko", width == 800, width, bypass_csp=True)
    seen.page.click("[data-time=fork]")
    fill(seen, 1, "brokers", "zookeeper.session.timeout.ms", "10000")
    refused(seen, 1, "zookeeper.session.timeout.ms")
    seen.picture(f"rows-{width}")
    assert violations(seen.page) == []
    dialog = "document.querySelector('#fork-dialog')"
    assert seen.value(f"{dialog}.scrollWidth <= {dialog}.clientWidth")
