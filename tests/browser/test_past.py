"""A rewound view on the screen of a real lab: what is shown is the past, and levers do not touch the present unasked."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from lab.experiments.directory import OPERATIONS
from lab.experiments.run import run_scenario
from lab.scenarios.grammar import load
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("past") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    """A lab with a topic and a producer that has written for a while."""
    page = visit(bypass_csp=True)
    page.command(do="create_topic", topic="orders", partitions=1, replication_factor=3, configs={"min.insync.replicas": "2"})
    page.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    page.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=20, settings={"acks": "all"})
    page.wait("lab.app.state.clients['producer-orders']?.acked > 30")
    return page



def rewind(seen: LabPage) -> None:
    """A few events back from the live edge."""
    seen.page.keyboard.press("l")
    seen.wait("lab.clock.live")
    seen.page.evaluate("lab.clock.go(lab.history.end - 40); lab.app.set({})")
    seen.page.evaluate("document.activeElement.blur()")


RUNNING = "Object.values(lab.history.live.brokers).filter((one) => one.state === 'running').length"


def test_a_lever_asks_a_rewound_viewer_where_and_can_be_called_off(seen: LabPage) -> None:
    rewind(seen)
    seen.page.click('[data-do=kill][data-broker="2"]')
    seen.see("#present-dialog[open]")
    assert "Kill: broker 2" in seen.page.inner_text("#present-dialog")
    assert violations(seen.page) == []
    seen.picture("present-en")
    seen.page.keyboard.press("Escape")
    seen.wait("!document.getElementById('present-dialog').open")
    assert seen.value("lab.clock.live") is False
    seen.page.wait_for_timeout(400)
    assert seen.value(RUNNING) == 3
    seen.page.keyboard.press("x")
    seen.page.keyboard.press("1")
    seen.see("#present-dialog[open]")
    seen.page.click("[data-present=cancel]")
    assert seen.value("lab.app.runner.lesson === null && lab.history.live.links.length === 0")


def test_time_and_questions_ask_nothing_in_the_past(seen: LabPage) -> None:
    rewind(seen)
    seen.page.keyboard.press("ArrowLeft")
    seen.page.keyboard.press("Space")
    seen.page.click("[data-tab=replicas]")
    seen.page.wait_for_timeout(300)
    assert seen.value("document.getElementById('present-dialog').open") is False
    assert seen.value("lab.clock.cluster.paused") is False


def test_here_makes_a_branch_and_does_it_there_with_the_keyboard_alone(seen: LabPage) -> None:
    live = seen.value("lab.feed.run")
    rewind(seen)
    t = seen.value("lab.clock.viewedTime")
    seen.page.keyboard.press("k")
    seen.page.keyboard.press("2")
    seen.see("#present-dialog[open]")
    seen.page.focus("[data-present=now]")
    seen.page.keyboard.press("Tab")
    seen.page.keyboard.press("Enter")
    seen.wait(f"lab.feed.run !== '{live}' && lab.app.state.brokers[2].state === 'stopped'")
    branch = seen.value("lab.feed.run")
    seen.wait("lab.clock.cluster.paused === false")
    seen.has_its_past()
    ended = seen.value("[...lab.history.between(lab.history.begin, lab.history.end)].find((event) => event.code === 'process_ended').t")
    assert abs(ended - t) < 100_000
    seen.page.evaluate(f"lab.app.desk.look('{live}')")
    seen.wait(f"lab.feed.run === '{live}' && lab.app.state.brokers[2]")
    assert seen.value(RUNNING) == 3
    seen.page.evaluate(f"lab.app.desk.closeRun('{branch}')")
    seen.wait("lab.app.desk.work === null")
    seen.has_its_past()


def test_now_goes_to_the_live_edge_and_does_it(seen: LabPage) -> None:
    rewind(seen)
    seen.page.click('[data-do=kill][data-broker="2"]')
    seen.page.click("[data-present=now]")
    seen.wait("lab.clock.live && lab.app.state.brokers[2].state === 'stopped'")
    seen.page.click('[data-do=restart][data-broker="2"]')
    seen.wait("lab.app.state.brokers[2].state === 'running'")
    assert seen.value("document.getElementById('present-dialog').open") is False


def test_the_question_is_asked_in_korean(seen: LabPage, visit: Open) -> None:
    page = visit("ko", width=1080)
    page.has_its_past()
    page.wait("lab.history.end - lab.history.begin > 60")
    rewind(page)
    page.page.click('[data-do=power_loss][data-broker="3"]')
    page.see("#present-dialog[open]")
    text = page.page.inner_text("#present-dialog")
    assert "지금: 실시간으로" in text and "present." not in text
    page.picture("present-ko")
    page.page.click("[data-present=cancel]")


def test_a_click_lights_the_stage_and_the_bytes_and_says_that_they_are_of_now(seen: LabPage, visit: Open) -> None:
    seen.page.keyboard.press("l")
    seen.page.click('[data-segment="ledger:bytes"]')
    seen.wait("lab.history.live.topics.orders.partitions[0].logs[lab.app.chosenPartition.leader].leo > 40")
    seen.see("[data-bytes=offset]")
    assert int(seen.page.input_value("[data-bytes=offset]")) > 8
    assert seen.page.locator("#ledger .warn-text").count() == 0
    appended = """(offset) => [...Array(lab.history.end - lab.history.begin).keys()].map((n) => n + lab.history.begin).find((at) => {
        const { code, params } = lab.history.at(at);
        return code === 'log_appended' && params.topic === 'orders' && params.base_offset <= offset && offset <= params.last_offset;
    })"""
    seen.page.evaluate(f"lab.app.select(({appended})(3))")
    seen.wait("document.querySelector('[data-bytes=offset]').value === '3'")
    seen.wait("[...document.querySelectorAll('#scene [data-cell]')].some((cell) => cell.dataset.cell === '3')")
    seen.wait("document.querySelector('#ledger .warn-text')?.innerText.includes('not at the moment that you look at')")
    seen.wait("document.querySelector('#ledger-body [aria-label] tr.chosen th, #ledger-body tr.chosen th').innerText === '3'")
    seen.picture("lit-en")
    seen.page.evaluate("lab.app.desk.receipts.goTo({topic: 'orders', partition: 0, offset: 5})")
    seen.wait("document.querySelector('[data-bytes=offset]').value === '5'")
    seen.wait("document.querySelector('#scene [data-cell=\"5\"].lit') !== null")
    seen.page.click("[data-tab=metrics]")
    seen.wait("document.querySelector('#tab-panel .warn-text')?.innerText.includes('not at the moment that you look at')")
    seen.page.keyboard.press("l")
    seen.wait("document.querySelector('#scene [data-cell]') === null")
    seen.wait("document.querySelectorAll('#tab-panel .warn-text, #ledger .warn-text').length === 0")
    seen.page.click('[data-segment="ledger:batches"]')


@pytest.mark.parametrize(("language", "width"), every([("en", 1080), ("ko", 1080), ("en", 1440), ("ko", 1440)], nth=3))
def test_the_figures_of_the_lights_are_seen_whole(seen: LabPage, visit: Open, language: str, width: int) -> None:
    page = visit(language, width=width)
    page.has_its_past()
    page.wait("lab.history.end - lab.history.begin > 60")
    rewind(page)
    page.wait("document.querySelectorAll('#lights .chip-figure').length === 4 && document.querySelector('.mode.rewound') !== null")
    page.picture(f"lights-{language}-{width}")
    whole = """[...document.querySelectorAll('#lights .chip-figure')].every((figure) => {
        const [own, chip, row] = [figure, figure.parentNode, document.getElementById('lights')].map((one) => one.getBoundingClientRect());
        return /^\\d+$/.test(figure.innerText) && figure.scrollWidth <= figure.clientWidth + 1 && own.width > 5
            && own.right <= chip.right && chip.right <= row.right + 1 && chip.left >= row.left - 1;
    })"""
    assert page.value(whole)
    worst = "for (const figure of document.querySelectorAll('#lights .chip-figure')) { figure.innerText = '600'; figure.parentNode.className = 'chip bad'; }"
    labels = "[...document.querySelectorAll('#lights .chip-label')].every((label) => label.getBoundingClientRect().width >= 15)"
    assert page.page.evaluate(f"() => {{ {worst} return {whole.strip()} && {labels}; }}")


def test_a_rewound_run_shows_the_counts_of_that_moment_and_a_stopped_client_its_last_ones(seen: LabPage, visit: Open) -> None:
    done = run_scenario(load("acks-0"), out=seen.lab.data / "runs" / "0950")
    told = [json.loads(line) for line in (done.directory / OPERATIONS).read_text(encoding="utf-8").splitlines()]

    def acked(t: int) -> int:
        return sum(n for row in told if (row["op"], row["kind"]) == ("send", "ok") and row["t"] <= t for _, n in row["values"])

    page = visit(path="#run=0950")
    page.wait("lab.feed.run.startsWith('0950') && lab.app.desk.live !== null")
    page.page.evaluate("lab.app.desk.past.toTime(5000000)")
    name = "producer-orders"
    client = f"lab.app.state.clients['{name}']"
    assert page.value(f"{client}.state") == "stopped"
    assert page.value(f"{client}.settings.acks") == "0" and page.value(f"{client}.acked") == acked(20_000_000)
    assert page.value("lab.app.acks") == "0"
    page.see('[data-segment="acks:0"].on')
    page.wait("document.querySelector('#scene .side.producer.stopped')?.textContent.includes('sent')")
    assert "acks=0" in page.page.text_content("#scene .side.producer.stopped")
    page.picture("stopped-en")
    for t in (3_000_000, 5_200_000, 5_600_000, 10_000_000, 11_000_000):  # first the picture grows from one without clients
        page.page.evaluate(f"lab.clock.goTime({t}); lab.app.set({{}})")
        assert page.value(f"{client}.settings.acks") == "0"
        shown = page.value(f"{client}.acked")
        assert acked(t - 300_000) <= shown <= acked(t), t
        page.wait(f"document.querySelector('#scene .side.producer').textContent.includes('{shown:,}')")
    page.picture("counts-en")
    page.page.keyboard.press("l")
    page.wait("lab.clock.live")
    page.page.click('[data-segment="acks:1"]')
    page.see('[data-segment="acks:1"].on')


def test_the_time_lines_show_what_is_known_to_come_behind_the_cursor(seen: LabPage) -> None:
    rewind(seen)
    seen.wait("document.getElementById('lanes-summary').innerText.includes('come after the moment')")
    seen.page.keyboard.press("l")
    seen.wait("!document.getElementById('lanes-summary').innerText.includes('come after the moment')")


def test_a_page_opened_after_a_crash_has_the_logs_of_the_stopped_broker(seen: LabPage, visit: Open) -> None:
    seen.page.keyboard.press("l")
    seen.command(do="stop_client", name="producer-orders")
    log = "(({ leo, hw, start }) => ({ leo, hw, start }))(lab.history.live.topics.orders.partitions[0].logs[2])"
    seen.wait("new Set(Object.values(lab.history.live.topics.orders.partitions[0].logs).map(({ leo, hw }) => `${leo} ${hw}`)).size === 1")
    seen.page.wait_for_timeout(6000)  # the checkpoint of the high watermark is written every five seconds
    seen.command(do="kill", broker=2)
    seen.wait("lab.app.state.brokers[2].state === 'stopped'")
    late = visit()
    late.wait("lab.app.state.brokers[2].state === 'stopped'")
    assert late.value(log) == seen.value(log) and late.value(log)["hw"] == late.value(log)["leo"] > 40
    late.wait("document.querySelector('#ledger-body').innerText.includes('stopped')")
    late.command(do="restart", broker=2)
    for page in (seen, late):
        page.wait("lab.history.live.topics.orders.partitions[0].isr.length === 3")
    assert late.value(log) == seen.value(log)
    assert late.value("document.querySelectorAll('#scene .absent').length") == 0
    late.leave()
