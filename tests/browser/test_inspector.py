"""The inspector, the bytes and the invariants on the screen of a real lab."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.browser.test_looks import NAMES
from tests.sampling import every

TABS = ["partitions", "replicas", "brokers", "groups", "files", "config", "request", "metrics", "lights", "tree", "attach"]


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("inspector") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    """A lab with a topic, a producer and a consumer."""
    page = visit(bypass_csp=True)
    page.command(do="create_topic", topic="orders", partitions=2, replication_factor=3, configs={"min.insync.replicas": "2"})
    page.wait("lab.app.state.topics.orders")
    page.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=20, settings={"acks": "all"})
    page.command(do="start_client", name="consumer-orders", kind="consumer", topic="orders", settings={"group.id": "readers"})
    page.wait("Object.keys(lab.app.state.groups).length > 0 && lab.app.state.clients['producer-orders']?.acked > 20")
    return page


def tab(seen: LabPage, name: str) -> None:
    seen.page.evaluate("(name) => lab.app.showTab(name)", name)
    seen.wait(f"lab.app.tab === '{name}' && !lab.screen.stale.table")


def text(seen: LabPage, wanted: str) -> str:
    """What the tab says, once it says `wanted`."""
    seen.wait(f"document.getElementById('tab-panel').innerText.includes({wanted!r})")
    found: str = seen.page.inner_text("#tab-panel")
    return found


def test_replicas_show_equal_hashes_and_everybody_agrees(seen: LabPage) -> None:
    tab(seen, "replicas")
    seen.wait("document.getElementById('tab-panel').innerText.includes('metadata of consumer orders')")
    found = text(seen, "Who believes what")
    assert "metadata of producer orders" in found
    assert "Equal hashes" in found and "Everybody agrees" in found and found.count("metadata cache") == 3


def test_a_broker_shows_its_pipeline_disks_connections_and_settings(seen: LabPage) -> None:
    tab(seen, "brokers")
    seen.page.click('[data-broker-card="2"]')
    found = text(seen, "Settings that differ")
    assert "/ 8" in found and "✓ works" in found and "Connections" in found
    assert seen.page.locator("#scene-svg .pipe-strip").count() == 3
    seen.page.click(".tab-brokers > .more")


def test_files_and_groups_are_looked_at_closely(seen: LabPage) -> None:
    tab(seen, "files")
    assert "00000000000000000000" in text(seen, ".timeindex")
    tab(seen, "groups")
    assert "readers" in text(seen, "session")
    seen.wait("[...document.querySelectorAll('.tab-groups tbody tr')].some((row) => Number(row.cells[2].innerText) > 0 && Number(row.cells[3].innerText) > 0)")
    row = seen.value("[...[...document.querySelectorAll('.tab-groups tbody tr')].find((row) => Number(row.cells[2].innerText) > 0).cells].map((one) => one.innerText)")
    assert int(row[2]) >= int(row[3])
    assert seen.value("document.querySelector('.tab-groups table').getBoundingClientRect().right <= document.querySelector('.tab-groups .fact-card').getBoundingClientRect().right")
    seen.picture("inspector-en-groups")


def test_a_setting_is_found_and_changed(seen: LabPage) -> None:
    tab(seen, "config")
    text(seen, "min.insync.replicas")
    seen.page.click('[data-setting="retention.ms"]')
    seen.page.fill('.config-form input[name="value"]', "3600000")
    seen.page.click(".config-form button.main")
    seen.wait("lab.app.state.topics.orders.configs['retention.ms'] === '3600000' || document.getElementById('tab-panel').innerText.includes('3600000')")


def test_a_request_is_put_together(seen: LabPage) -> None:
    tab(seen, "request")
    seen.page.evaluate("lab.app.lookAt([...Array(lab.history.end - lab.history.begin).keys()].map((n) => n + lab.history.begin).find((n) => lab.history.at(n).code === 'request_received' && lab.history.at(n).params.api === 'Produce'))")
    found = text(seen, "Its course")
    assert "Produce" in found and "NONE" in found


def test_nothing_below_what_is_under_way_moves_when_the_cluster_stands_still(seen: LabPage) -> None:
    tab(seen, "request")
    seen.wait("document.querySelector('#tab-panel [data-request]') !== null")
    seen.page.click("#tab-panel [data-request] >> nth=0")
    place = "[...document.querySelectorAll('#tab-panel > h3')].map((one) => Math.round(one.getBoundingClientRect().top)).slice(0, 3)"
    seen.page.mouse.move(5, 5)
    before = seen.value(place)
    seen.command(do="delay_link", between=["producer-orders", 1], delay_ms=600, one_way=True)
    seen.command(do="delay_link", between=["producer-orders", 2], delay_ms=600, one_way=True)
    seen.command(do="delay_link", between=["producer-orders", 3], delay_ms=600, one_way=True)
    seen.wait("lab.app.standing.length > 1")
    assert seen.value(place) == before
    seen.command(do="time", speed="pause")
    seen.wait("lab.clock.cluster.paused && lab.app.standing.length > 0 && document.querySelector('[data-deliver]') !== null")
    assert seen.value(place) == before
    seen.page.keyboard.press("ArrowLeft")
    seen.wait("!lab.clock.live && document.querySelector('[data-deliver]') === null")
    assert seen.value(place) == before
    seen.page.keyboard.press("l")
    seen.command(do="time", speed="play")
    seen.command(do="stop_all_faults")


def test_the_list_of_requests_holds_still_under_the_pointer(seen: LabPage) -> None:
    tab(seen, "request")
    shown = "[...document.querySelectorAll('#tab-panel [data-request]')].map((one) => one.dataset.request).join()"
    seen.wait("document.querySelectorAll('#tab-panel [data-request]').length > 3")
    # To a place, not to a row: rows come and go while the pointer is on its way, and no row stands still for it before.
    at = seen.page.evaluate("""() => {
        const row = document.querySelectorAll('#tab-panel [data-request]')[3].closest('li');
        row.scrollIntoView({ block: 'center' });
        const { left, top, height } = row.getBoundingClientRect();
        return { x: left + 20, y: top + height / 2 };
    }""")
    seen.page.mouse.move(**at)
    seen.wait("document.querySelector('#tab-panel .recent:hover') !== null")
    before, events = seen.value(shown), seen.value("lab.history.end")
    seen.wait(f"lab.history.end > {events} + 50")
    assert seen.value(shown) == before
    seen.page.mouse.move(5, 5)
    seen.wait(f"{shown} !== '{before}'")


def test_what_is_under_way_is_seen_and_one_of_it_is_delivered_next(seen: LabPage) -> None:
    for broker in (1, 2, 3):
        seen.command(do="delay_link", between=["producer-orders", broker], delay_ms=600, one_way=True)
    under_way = "lab.app.standing.filter((one) => one.api === 'Produce' && one.kind === 'request')"
    tab(seen, "request")
    ready = f"{under_way}.length > 1 && {under_way}.some((one) => one.first)"
    seen.wait(ready)
    seen.command(do="time", speed="pause")
    while not seen.value(f"lab.clock.cluster.paused && lab.app.inquiry.fresh('flights').then(() => {ready})"):  # two of them, when it stands
        seen.command(do="time", speed="play")
        seen.wait(ready)
        seen.command(do="time", speed="pause")
    first = seen.value(f"{under_way}.find((one) => one.first)")
    seen.wait("lab.screen.dots.standing.length > 0")
    stands = "lab.app.inquiry.fresh('flights').then((entry) => entry.t)"
    before = seen.value(stands)
    seen.page.click(f'[data-flight="{first["key"]}"]')
    seen.wait(f"document.querySelector('#tab-panel').innerText.includes('Produce v11 #{first['correlation']}')")
    seen.page.click('[data-segment="message:request"]')
    seen.wait("document.querySelector('#tab-panel .hex-piece') !== null")
    assert {"apiKey", "correlationId", "acks", "record 0 value"} <= set(
        seen.value("[...document.querySelectorAll('#tab-panel .byte-field')].map((one) => one.dataset.field)")
    )
    seen.page.focus(f'[data-deliver="{first["key"]}"]')
    seen.page.keyboard.press("Enter")
    seen.wait(f"!{under_way}.some((one) => one.key === '{first['key']}')")
    arrived = f"""[...lab.history.between(lab.history.begin, lab.history.end)].some((event) => event.code === 'request_received'
        && event.params.api === 'Produce' && event.params.correlation === {first["correlation"]} && event.node === '{first["to"]}')"""
    seen.wait(arrived)
    seen.wait(f"{under_way}.some((one) => one.first)")
    lost = seen.value(f"{under_way}.find((one) => one.first && one.kind === 'request')")
    seen.page.click(f'[data-drop="{lost["key"]}"]')
    seen.wait(f"!{under_way}.some((one) => one.key === '{lost['key']}')")
    seen.wait("[...lab.history.between(lab.history.begin, lab.history.end)].some((event) => event.code === 'message_dropped')")
    assert seen.value(stands) == before and seen.value("lab.clock.cluster.paused")
    seen.command(do="time", speed="play")
    seen.command(do="stop_all_faults")


def test_a_message_of_the_past_is_shown_byte_by_byte(seen: LabPage) -> None:
    tab(seen, "request")
    correlation = seen.value(
        """(() => { const at = [...Array(lab.history.end - lab.history.begin).keys()].map((n) => n + lab.history.begin)
            .find((at) => lab.history.at(at).code === 'response_sent' && lab.history.at(at).params.api === 'Produce');
            lab.app.lookAt(at); return lab.history.at(at).params.correlation; })()"""
    )
    # The panel may still show another message.
    seen.wait(f"document.querySelector('#tab-panel [data-looked]')?.innerText === 'Produce v11 #{correlation}'")
    seen.page.click('[data-segment="message:answer"]')
    # The run is executed again up to that message, while the lab goes on beside it.
    seen.wait("document.querySelector('#tab-panel .byte-fields') !== null && !lab.app.messages.shown.waiting")
    seen.page.focus('#tab-panel [data-field="correlationId"]')
    seen.page.keyboard.press("ArrowRight")
    seen.wait("document.querySelectorAll('#tab-panel .hex-piece.lit').length > 0")
    assert "errorCode" in seen.page.inner_text("#tab-panel .byte-fields")


def test_bytes_and_fields_point_at_each_other_from_the_keyboard(seen: LabPage) -> None:
    tab(seen, "partitions")
    seen.page.keyboard.press("h")
    seen.see('[data-field="partitionLeaderEpoch"]')
    seen.page.focus('[data-field="baseOffset"]')
    seen.page.keyboard.press("ArrowRight")
    seen.wait("document.querySelector('.field-text b')?.innerText === 'batchLength' && document.querySelectorAll('.hex-piece.lit').length > 0")
    seen.page.hover(".hex-piece >> nth=0")
    seen.wait("document.querySelector('.field-text b').innerText === 'baseOffset'")
    seen.page.click('[data-segment="ledger:search"]')
    seen.see(".search-steps")


def test_a_znode_shows_its_data_and_who_watches_it(seen: LabPage, require_module: Callable[[str], None]) -> None:
    require_module("axe_playwright_python")
    tab(seen, "tree")
    seen.page.focus('#tab-panel [data-znode][tabindex="0"]')
    for _ in range(seen.value("[...document.querySelectorAll('[data-znode]')].findIndex((one) => one.dataset.znode === '/controller')")):
        seen.page.keyboard.press("ArrowDown")
    seen.page.keyboard.press("Enter")
    seen.wait("document.querySelector('.znode-look .znode-data') !== null && !document.querySelector('.znode-look').innerText.includes('Looking')")
    controller = seen.value("JSON.parse(document.querySelector('.znode-data').innerText).brokerid")
    found = seen.page.inner_text(".znode-look")
    assert controller == seen.value("lab.app.state.cluster.controller")
    assert f"broker {controller} 0x" in found and all(f"broker {broker}" in found for broker in (1, 2, 3))
    below = "document.querySelector('.znode-data').getBoundingClientRect().bottom"
    seen.wait(f"{below} <= document.getElementById('tab-panel').getBoundingClientRect().bottom")
    seen.picture("inspector-en-tree")
    assert violations(seen.page) == []
    seen.page.keyboard.press("Enter")
    seen.wait("document.querySelector('.znode-look') === null && document.activeElement.dataset.znode === '/controller'")


def test_the_invariants_hold_and_say_what_they_mean(seen: LabPage) -> None:
    seen.page.click('[data-chip="invariants"]')
    assert "✕" not in text(seen, "A leader is in its ISR.")


@pytest.mark.parametrize("name", every(TABS, nth=3))
def test_axe_finds_nothing_in_a_tab(seen: LabPage, name: str, require_module: Callable[[str], None]) -> None:
    require_module("axe_playwright_python")
    tab(seen, name)
    seen.page.wait_for_timeout(300)
    assert violations(seen.page) == []


def test_metrics_are_compared_before_and_after_a_fault(seen: LabPage) -> None:
    tab(seen, "metrics")
    seen.command(do="kill", broker=seen.value("lab.app.chosenPartition.leader"))
    found = text(seen, "LeaderElectionRateAndTimeMs")
    assert "LeaderCount" in found and "Δ" in found


def test_a_fault_given_by_rest_begins_a_comparison_too(seen: LabPage) -> None:
    tab(seen, "metrics")
    address, between = f"{seen.lab.page}api/labs/lab/commands", ["broker-1", "broker-3"]
    answer = seen.page.request.post(address, data={"do": "delay_link", "between": between, "delay_ms": 5})
    assert answer.ok, answer.text()
    assert "Delay link" in text(seen, "Delay link")
    before = "lab.app.measure.before"
    assert seen.value(f"{before}.t <= {before}.event.t && {before}.event.t - {before}.t < 60_000_000")
    assert seen.page.request.post(address, data={"do": "heal_link", "between": between}).ok


def test_the_korean_inspector_leaves_no_english(seen: LabPage, visit: Open) -> None:
    page = visit("ko")
    known = NAMES | {"metadata", "kafka", "python", "aiokafka", "Spark"}
    for name in ("replicas", "brokers", "lights"):
        tab(page, name)
        page.page.wait_for_timeout(900)
        page.picture(f"inspector-ko-{name}")
    tab(page, "groups")
    page.wait("document.getElementById('tab-panel').innerText.includes('읽는 위치')")
    page.picture("inspector-ko-groups")
    tab(page, "tree")
    page.page.click('[data-znode="/controller"]')
    page.wait("document.querySelector('.znode-data') !== null")
    page.picture("inspector-ko-tree")
    words = set(re.findall(r"[A-Za-z]{3,}", page.page.evaluate("[...document.querySelectorAll('.znode-look dl, .znode-look p, .znodes li > span')].map((one) => one.innerText).join(' ')")))
    assert words - known <= {"czxid", "mzxid", *{word for word in words if re.fullmatch("x?[a-f]+", word)}}
    tab(page, "replicas")
    page.wait("document.getElementById('tab-panel').innerText.includes('누가 무엇을')")
    words = set(re.findall(r"[A-Za-z]{3,}", page.page.inner_text("#tab-panel") + page.page.inner_text("#more-levers")))
    hashes = {word for word in words if re.fullmatch("[a-f]+", word)}
    assert words - known - hashes - {"linger", "KiB"} == set()
