"""Every lever and key on a Korean page: each click is the command that it names, and the cluster carries it out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages
from tests.web.rest import Caller


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("every") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit("ko")
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs={"min.insync.replicas": "1"})
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    page.page.click('[data-fold="disks"]')
    return page


def commands(seen: LabPage, since: int) -> list[dict[str, Any]]:
    """What was asked of the world behind an event; something was, or will be in a moment."""
    rows = Caller(seen.lab.page).get(f"labs/lab/events?since={since}&codes=command&limit=1000&wait=30").json["items"]
    return [row[5]["command"] for row in rows]


def now(seen: LabPage) -> int:
    return int(Caller(seen.lab.page).get("labs/lab").json["seq"])


def clicked(seen: LabPage, selector: str, holds: str) -> dict[str, Any]:
    """The command of one click, after which something holds in the picture."""
    since = now(seen)
    seen.page.click(selector)
    seen.wait(holds)
    (command,) = commands(seen, since)
    return command


def test_a_record_by_hand_says_where_it_stands_and_a_refusal_why(seen: LabPage) -> None:
    seen.page.fill("#produce input[name=value]", "42")
    seen.page.click("#produce-send")
    seen.wait("document.getElementById('produce-result').innerText === '✓ orders-0의 오프셋 0에 기록했습니다.'")
    seen.page.evaluate("lab.app.command({do: 'create_topic', topic: 'orders', partitions: 1})")
    seen.told("TOPIC_ALREADY_EXISTS")
    seen.page.evaluate("lab.app.command({do: 'alter_config', topic: 'orders', set: {'min.insync.replicas': 'x'}})")
    seen.told("min.insync.replicas")


def test_a_record_that_nobody_acknowledges_is_not_called_written(seen: LabPage) -> None:
    assert clicked(seen, '[data-segment="min-isr:3"]', "lab.app.chosenPartition.min_isr === 3")["set"] == {"min.insync.replicas": "3"}
    follower = seen.value("lab.app.chosenPartition.isr.find((id) => id !== lab.app.chosenPartition.leader)")
    clicked(seen, f'[data-do="power_loss"][data-broker="{follower}"]', f"lab.app.state.brokers[{follower}].state === 'stopped'")
    seen.page.click("#produce-send")
    seen.wait("document.getElementById('produce-result').innerText.startsWith('… 아직 확인 응답이 없습니다')")
    clicked(seen, f'[data-do="restart"][data-broker="{follower}"]', f"lab.app.state.brokers[{follower}].registered")
    clicked(seen, '[data-segment="min-isr:1"]', "lab.app.chosenPartition.min_isr === 1")
    seen.wait("lab.app.chosenPartition.isr.length === 3")


def test_clients_start_and_stop_and_linger_is_set(seen: LabPage) -> None:
    for kind in ("producer", "consumer"):
        name = f"{kind}-orders"
        running = f"lab.app.state.clients['{name}']?.state === 'running'"
        assert clicked(seen, f'[data-client="{kind}"]', running)["name"] == name
    since = now(seen)
    seen.page.focus('[data-slider="linger"]')
    seen.page.keyboard.press("End")
    seen.wait("lab.app.state.clients['producer-orders'].settings['linger.ms'] === '1000'")
    assert commands(seen, since)[-1] == {"do": "set_client", "name": "producer-orders", "set": {"linger.ms": "1000"}}
    for kind in ("producer", "consumer"):
        clicked(seen, f'[data-client="{kind}"]', f"lab.app.state.clients['{kind}-orders'].state === 'stopped'")


def test_the_settings_of_a_client_say_what_they_mean_and_are_changed(seen: LabPage) -> None:
    seen.page.evaluate("lab.app.showTab('config')")
    seen.page.click('[data-choice="config:client:consumer-orders"]')
    seen.page.click('[data-setting="max.poll.records"]')
    assert "폴링 한 번에" in seen.page.inner_text("#tab-panel")
    seen.page.fill(".config-form input", "7")
    set_here = "lab.app.state.clients['consumer-orders'].settings['max.poll.records'] === '7'"
    command = clicked(seen, ".config-form .main", set_here)
    assert command == {"do": "set_client", "name": "consumer-orders", "set": {"max.poll.records": "7"}}
    seen.wait("document.querySelector('#tab-panel .setting.changed')?.innerText.includes('이 클라이언트에서 지정')")
    seen.picture("client-settings-ko")


def test_links_are_slow_or_cut_and_faults_end(seen: LabPage) -> None:
    seen.page.focus('[data-slider="delay"]')
    seen.page.keyboard.press("End")
    seen.wait("lab.app.state.links.length === 2 && lab.app.state.links[0].delay_us === 2000000")
    clicked(seen, '[data-fault="stop_all"]', "lab.app.state.links.length === 0")
    assert clicked(seen, '[data-fault="isolate"]', "lab.app.state.links.length > 2") == {"do": "isolate", "node": "broker-1"}
    clicked(seen, '[data-fault="stop_all"]', "lab.app.state.links.length === 0")


@pytest.mark.parametrize("fault", ["drop_link", "duplicate_link", "reorder_link", "bandwidth_link"])
def test_a_link_loses_doubles_reorders_or_narrows_what_it_carries(seen: LabPage, fault: str) -> None:
    command = clicked(seen, f'[data-fault="{fault}"]', "lab.app.state.links.length > 0")
    assert command["do"] == fault and command["between"] == ["broker-1", "broker-2"]
    assert command.get("probability", command.get("bytes_per_s"))
    clicked(seen, '[data-fault="stop_all"]', "lab.app.state.links.length === 0")


def test_a_link_has_its_levers_where_it_is_drawn(seen: LabPage) -> None:
    of = '[data-menu="link:broker-1~broker-2"]'
    seen.page.click(of)
    seen.see('#stage-menu [data-menu-of="link:broker-1~broker-2"]')
    seen.picture("menu-link")
    both = "lab.app.state.links.length === 2"
    seen.page.evaluate("lab.screen.dots.hit = () => ({ seq: 1 })")  # a message passes beneath the menu
    assert clicked(seen, "[data-menu-do=drop_link]", both) == {"do": "drop_link", "between": ["broker-1", "broker-2"], "probability": 0.3}
    seen.page.evaluate("delete lab.screen.dots.hit")
    seen.wait(f"document.querySelector('{of}').getAttribute('aria-label').includes('✕ 30 %')")
    seen.page.focus(of)
    seen.page.keyboard.press("Enter")
    seen.wait("document.activeElement?.dataset.menuDo === 'heal_link'")
    seen.page.keyboard.press("Enter")
    seen.wait("lab.app.state.links.length === 0")


def test_the_cluster_falls_into_halves_and_is_one_again(seen: LabPage) -> None:
    assert clicked(seen, '[data-fault="random_halves"]', "lab.app.state.links.some((one) => one.partitioned)") == {"do": "random_halves"}
    clicked(seen, '[data-fault="stop_all"]', "lab.app.state.links.length === 0")
    seen.wait("lab.app.chosenPartition.isr.length === 3 && lab.app.chosenPartition.leader > 0")


def test_a_coordination_server_dies_and_comes_back_by_its_own_menu(seen: LabPage) -> None:
    for verb, state in (("kill", "stopped"), ("restart", "running")):
        seen.page.click('[data-menu="server:zookeeper-1"]')
        held = f"(lab.app.state.servers?.['zookeeper-1']?.state ?? 'running') === '{state}'"
        assert clicked(seen, f"[data-menu-do={verb}]", held) == {"do": verb, "node": "zookeeper-1"}
    seen.wait("Object.values(lab.app.state.brokers).every((one) => one.registered)")


@pytest.mark.parametrize("fault", ["slow_disk", "lost_fsync"])
def test_a_disk_has_a_fault_and_is_repaired(seen: LabPage, fault: str) -> None:
    assert clicked(seen, f'[data-fault="{fault}"]', "lab.app.state.brokers[1].disk?.length === 1")["do"] == fault
    assert clicked(seen, '[data-fault="repair_disk"]', "!lab.app.state.brokers[1].disk?.length")["broker"] == 1


def test_what_a_disk_keeps_is_harmed_at_its_place(seen: LabPage) -> None:
    """A bit of the last record, the index of a stopped broker, and a power loss that leaves half of a write."""
    before = seen.value("lab.app.chosenPartition.logs[1]?.leo ?? 0")
    seen.page.click("#produce-send")
    seen.wait(f"lab.app.chosenPartition.logs[1]?.leo > {before} && lab.app.chosenPartition.isr.length === 3")
    last = seen.value("lab.app.chosenPartition.logs[1].leo") - 1
    told = "lab.app.story.items.some(({ code, first }) => code === 'command' && first.params.command.do === '%s')"
    place = {"broker": 1, "topic": "orders", "partition": 0}
    assert clicked(seen, "[data-fault=bit_flip]", told % "bit_flip") == {"do": "bit_flip", **place, "offset": last}
    assert seen.page.is_disabled("[data-fault=lose_index]")  # it runs, and has its indexes in memory
    torn = clicked(seen, "[data-fault=torn]", "lab.app.state.brokers[1].state === 'stopped'")
    assert torn == {"do": "power_loss", "broker": 1, "torn": True}
    if seen.value("lab.app.chosenPartition.logs[1].leo") > 0:
        seen.wait("!document.querySelector('[data-fault=lose_index]').disabled")
        assert clicked(seen, "[data-fault=lose_index]", told % "lose_index") == {"do": "lose_index", **place}
    clicked(seen, '[data-do="restart"][data-broker="1"]', "lab.app.state.brokers[1].registered")
    seen.wait("lab.app.chosenPartition.isr.length === 3")


def test_a_session_is_ended_by_hand(seen: LabPage) -> None:
    since = now(seen)
    seen.page.click('[data-fault="expire_session"]')
    page = f"labs/lab/events?since={since}&codes=session_expired&wait=30"
    assert Caller(seen.lab.page).get(page).json["items"]
    seen.wait("lab.app.state.brokers[1].registered && lab.app.chosenPartition.isr.length === 3")


def test_keys_change_speed_write_and_follow(seen: LabPage) -> None:
    seen.page.evaluate("document.activeElement.blur()")
    seen.page.keyboard.press("[")
    seen.wait("lab.app.clock.cluster.speed < 1")
    seen.page.keyboard.press("]")
    seen.wait("lab.app.clock.cluster.speed === 1")
    since = now(seen)
    seen.page.keyboard.press("p")
    seen.wait("document.getElementById('produce-result').innerText.startsWith('✓')")
    assert commands(seen, since)[-1]["do"] == "produce"


@pytest.mark.parametrize("number", [2, 3])
def test_a_lesson_at_one_key_runs_to_its_end(seen: LabPage, number: int) -> None:
    seen.wait("lab.app.chosenPartition.isr.length === 3")
    seen.page.evaluate("document.activeElement.blur()")
    since = now(seen)
    seen.page.keyboard.press("x")
    seen.page.keyboard.press(str(number))
    seen.wait("lab.app.runner.lesson !== null")
    seen.wait("lab.app.runner.lesson === null")
    assert len(commands(seen, since)) >= 2
    seen.command(do="stop_all_faults")
    for broker in (1, 2, 3):
        if seen.value(f"lab.app.state.brokers[{broker}].state") == "stopped":
            seen.command(do="restart", broker=broker)


def test_the_way_to_attach_is_copied(visit: Open) -> None:
    page = visit("ko", permissions=["clipboard-read", "clipboard-write"])
    page.page.evaluate("lab.app.showTab('attach')")
    page.page.click('[data-attach] button >> nth=0')
    page.wait("navigator.clipboard.readText().then((text) => text.includes('127.0.0.1'))")
