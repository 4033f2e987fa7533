"""Levers and forms for what an operator does: protections, disks by directory, clocks, costs, records without a value, plans."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.web.rest import Caller


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("operate") / "lab", "--set", "log.dirs=data1,data2")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit(bypass_csp=True)
    page.command(do="create_topic", topic="orders", assignment=[[1, 2], [1, 2], [1, 2]])
    page.wait("Object.values(lab.app.state.topics.orders?.partitions ?? {}).filter((one) => one.isr.length === 2).length === 3")
    for fold in ("disks", "costs", "protections"):
        page.page.click(f"[data-fold={fold}]")
    return page


def last_command(seen: LabPage, do: str) -> dict[str, object]:
    rows = Caller(seen.lab.page).get("labs/lab/events?since=0&codes=command&limit=10000").json["items"]
    found: dict[str, object] = [row[5]["command"] for row in rows if row[5]["command"]["do"] == do][-1]
    return found


def test_a_protection_is_taken_away_and_put_back(seen: LabPage) -> None:
    seen.page.select_option("[data-protection]", "maximal_isr")
    seen.page.click("[data-fault=set_protection]")
    seen.wait("lab.app.state.cluster.protections.maximal_isr === false")
    seen.wait("document.querySelector('[data-protection]').selectedOptions[0].textContent === '✕ maximal_isr'")
    seen.page.click("[data-fault=set_protection]")
    seen.wait("!('maximal_isr' in lab.app.state.cluster.protections)")


def test_a_fault_is_of_one_directory_or_of_all_and_a_clock_is_wrong(seen: LabPage) -> None:
    seen.page.select_option("[data-directory]", "data2")
    seen.page.click("[data-fault=slow_disk]")
    seen.wait("lab.app.state.brokers[1].disk?.[0]?.directory === 'data2'")
    seen.page.select_option("[data-directory]", "")
    seen.page.click("[data-fault=lost_fsync]")
    seen.wait("lab.app.state.brokers[1].disk?.some((one) => one.kind === 'lost_fsync' && !one.directory)")
    seen.page.click("[data-fault=clock_skew]")
    seen.wait("lab.app.inquiry.get('broker', '1').found?.clock_skew_ms === 3600000")
    seen.wait("document.querySelector('#scene-svg [data-clock=\"1\"]')?.textContent.endsWith('+1 h')")
    seen.page.click("[data-fault=clock_right]")
    seen.wait("document.querySelector('#scene-svg [data-clock]') === null")
    seen.page.click("[data-fault=clock_skew]")
    seen.see("[data-fault=clock_right]")
    seen.page.click("[data-fault=stop_all]")
    seen.wait("!lab.app.state.brokers[1].disk?.length && lab.app.inquiry.get('broker', '1').found.clock_skew_ms === 0")
    seen.wait("lab.app.state.brokers[1].clock_ms === 0")


def test_a_request_costs_the_threads_of_all_brokers(seen: LabPage) -> None:
    seen.page.focus("[data-slider=io_us]")
    seen.page.keyboard.press("ArrowRight")
    seen.wait("lab.app.state.cluster.stage_costs.io_us === 50 && lab.app.state.cluster.stage_costs.network_us === 0")
    seen.wait("document.querySelector('[data-slider=io_us]').value === '1'")  # the picture has it, too
    seen.page.keyboard.press("Home")
    seen.wait("lab.app.state.cluster.stage_costs.io_us === 0")


def test_a_record_without_a_value_has_headers_and_stands_in_the_dump(seen: LabPage) -> None:
    seen.page.click(".more-fields summary")
    seen.page.fill("#produce [name=key]", "k")
    seen.page.check("#produce [name=tombstone]")
    seen.page.fill("#produce [name=headers]", "source=screen, empty")
    seen.page.click("#produce-send")
    seen.wait("document.getElementById('produce-result').innerText.startsWith('✓')")
    assert last_command(seen, "produce")["headers"] == {"source": "screen", "empty": None}
    seen.page.fill("#produce [name=other_acks]", "2")
    seen.page.click("#produce-send")
    seen.told("INVALID_REQUIRED_ACKS")
    assert seen.page.inner_text("#produce-result") == ""  # what was written before says nothing about this one
    assert last_command(seen, "produce")["acks"] == "2"
    seen.page.fill("#produce [name=other_acks]", "")
    seen.page.check("#produce [name=damaged]")
    seen.page.click("#produce-send")
    seen.told("CORRUPT_MESSAGE")
    seen.page.uncheck("#produce [name=damaged]")
    seen.page.fill("#ask-version", "99")
    seen.page.click("#ask-versions")
    seen.told("UNSUPPORTED_VERSION")
    holding = "Object.keys(lab.app.topic.partitions).find((one) => lab.app.topic.partitions[one].logs[1]?.leo === 1)"
    seen.wait(holding)  # a follower has it later than the leader who acknowledges it
    partition = seen.value(holding)
    seen.page.evaluate("(number) => { lab.app.choose('orders', number); lab.app.showTab('files'); }", partition)
    seen.page.click("[data-dump-file$='.log']")
    seen.wait(r"/valueSize: -1 sequence: \S+ headerKeys: \[source,empty\] key: k/.test(document.querySelector('[data-dump]')?.textContent)")
    seen.picture("operate-dump-en")


def test_a_plan_is_made_carried_out_and_verified(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.showTab('replicas')")
    for brokers, told in (("9", "not alive"), ("3", "fewer")):
        seen.page.fill("[data-manage=plan] input", brokers)
        seen.page.click("[data-manage=plan] button")
        seen.told(told)
    seen.page.fill("[data-manage=plan] input", "2, 3")
    seen.page.fill("[data-manage=plan] [name=throttle]", "1000000")
    seen.page.click("[data-manage=plan] button")
    seen.page.click("[data-plan=execute]")
    seen.see("[data-plan-done=all]")
    assert last_command(seen, "reassign")["throttle"] == 1000000
    seen.see("[data-throttle=forgotten]")  # the moves are over, and nobody has taken it away
    seen.picture("operate-throttle-en")
    seen.page.click("[data-plan=verify]")
    seen.wait("document.querySelector('[data-throttle]') === null")
    assert seen.value("Object.values(lab.app.topic.partitions).map((one) => one.replicas.join()).join(' ')") == "2,3 3,2 2,3"
    seen.picture("operate-plan-en")
    assert violations(seen.page) == []


def test_leaders_go_back_to_where_they_are_preferred(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.choose('orders', '0'); lab.app.showTab('brokers')")
    seen.wait("[...document.querySelectorAll('[data-balance]')].length === 3")
    seen.page.click("[data-do=kill][data-broker='3']")
    seen.wait("lab.app.state.topics.orders.partitions[1].leader === 2")
    seen.page.click("[data-do=restart][data-broker='3']")
    seen.wait("lab.app.state.topics.orders.partitions[1].isr.length === 2")
    seen.wait("document.querySelector('[data-balance=\"3\"]').classList.contains('low') || lab.app.state.topics.orders.partitions[1].leader === 3")
    seen.page.evaluate("document.querySelector('[data-balance-elect]').click()")  # the controller may have been before us
    seen.wait("lab.app.state.topics.orders.partitions[1].leader === 3")
    assert violations(seen.page) == []


def test_a_disk_is_emptied_and_the_log_of_its_broker_says_so(seen: LabPage, visit: Open) -> None:
    page = visit("ko", view="explore")
    page.page.click("[data-do=kill][data-broker='3']")
    page.wait("lab.app.state.brokers[3].state === 'stopped'")
    page.page.click("[data-menu='broker:3']")
    page.page.click("[data-menu-do=wipe]")
    page.wait("lab.app.story.items.some(({ code, first }) => code === 'command' && first.params.command.do === 'wipe')")
    assert last_command(page, "wipe") == {"do": "wipe", "broker": 3}
    page.page.click("[data-do=restart][data-broker='3']")
    page.wait("lab.app.state.brokers[3].state === 'running'")
    page.page.evaluate("lab.app.showTab('log')")
    page.page.click("[data-choice='log-broker:3']")
    page.wait("document.querySelector('.server-log')?.innerText.includes('(kafka.server.KafkaServer)')")
    page.page.click("[data-choice='log-level:TRACE']")
    page.wait("/correlationId=\\d+ \\(kafka\\.request\\.logger\\)/.test(document.querySelector('.server-log').textContent)")
    page.picture("operate-log-ko")


def test_who_may_only_look_finds_nothing_to_press_that_changes_the_cluster(seen: LabPage) -> None:
    changes = "#tab-panel form button, [data-plan], [data-balance-elect], [data-receipt=read], [data-file=pack], #drawer [data-rolling]"
    pressable = f"[...document.querySelectorAll('{changes}')].filter((one) => !one.disabled && one.textContent !== '{{}}').length"
    local = pressable.format(seen.value("lab.app.words.t('plan.generate')"))  # a plan is only made up
    seen.page.evaluate("lab.app.showTab('replicas')")
    seen.wait(f"{local} > 4")
    seen.page.evaluate("lab.app.lookOnly = true")
    for panel in ("runs", "receipt"):
        seen.page.click(f"[data-panel={panel}]")
        seen.see(f"#drawer {'[data-file=pack]' if panel == 'runs' else '[data-receipt=read]'}:disabled")
        seen.wait(f"{local} === 0")
        seen.page.click("[data-drawer=close]")
    for keys in ("f", "x2", "k1"):  # a key is a way to press, too
        seen.page.evaluate("told.length = 0")
        for key in keys:
            seen.page.keyboard.press(key)
        seen.told("You can look at everything here, and change nothing.")
    assert not seen.page.query_selector("dialog[open]")
    seen.page.evaluate("lab.app.set({ lookOnly: false })")
    seen.wait(f"{local} > 4")


def test_what_is_copied_is_said(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.showTab('attach')")
    seen.page.click("#tab-panel [data-attach] button >> nth=0")
    seen.told("Copied")
