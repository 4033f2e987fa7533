"""What is seen can be read, heard and stepped through; with reduced motion nothing travels."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every

LANES = "document.getElementById('lanes-canvas')"
STAGE_TEXT = "document.getElementById('scene-text').innerText"


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("words") / "lab")


@pytest.fixture(scope="module")
def first(visit: Open) -> LabPage:
    """A lab with one partition and a producer."""
    seen = visit()
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    seen.wait("lab.app.state.topics.orders?.partitions[0]?.isr.length === 3")
    seen.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=5)
    seen.wait("lab.app.chosenPartition?.logs[1]?.leo > 2")
    seen.leave()
    return seen


@pytest.mark.parametrize(
    ("language", "leads", "lacks"), [("en", "broker {0} leads", "In sync"), ("ko", "리더는 브로커 {0}", "동기화된 것은")], ids=["en", "ko"]
)  # fmt: skip
def test_the_stage_in_words_names_leader_isr_ends_and_what_is_under_way(
    first: LabPage, visit: Open, language: str, leads: str, lacks: str, require_module: Any
) -> None:
    require_module("axe_playwright_python")
    seen = visit(language, bypass_csp=True)
    leader = seen.value("lab.app.chosenPartition.leader")
    wanted = f"orders-0: {leads.format(leader)}"
    seen.wait(f"document.getElementById('scene-text').textContent.includes({wanted!r})")
    assert seen.value("document.querySelectorAll('#scene-text button, #lanes-text button').length") == 0
    seen.page.click("[data-words=stageWords]")
    seen.page.click("[data-words=lanesWords]")
    seen.wait("!document.getElementById('scene-text').matches('.unseen') && document.querySelector('#lanes-text button')")
    text = seen.value(STAGE_TEXT)
    assert wanted in text and lacks in text
    seen.wait(f"/Fetch × \\d+/.test({STAGE_TEXT})")
    assert violations(seen.page) == []
    seen.page.focus("#scene-text")
    assert seen.value("document.activeElement.id") == "scene-text"


def test_an_event_of_the_time_lines_in_words_leads_to_its_moment(first: LabPage, visit: Open) -> None:
    seen = visit()
    seen.page.click("[data-words=lanesWords]")
    seen.wait("document.querySelectorAll('#lanes-text [data-event]').length > 8")
    seen.page.focus("#lanes-text [data-event] >> nth=3")
    wanted = seen.value("Number(document.activeElement.dataset.event)")
    seen.page.wait_for_timeout(900)
    assert seen.value("Number(document.activeElement.dataset.event)") == wanted  # it holds still under the focus
    seen.page.keyboard.press("Enter")
    seen.wait(f"lab.clock.viewed === {wanted} + 1")
    seen.wait("document.querySelector('#lanes-text [aria-current=true]') !== null")
    assert seen.value("Number(document.querySelector('#lanes-text [aria-current] button').dataset.event)") == wanted
    seen.page.keyboard.press("ArrowLeft")
    seen.wait(f"Number(document.querySelector('#lanes-text [aria-current] button').dataset.event) < {wanted}")
    assert seen.value("Number(document.activeElement.dataset.event)") == wanted  # the list moves, the focus stays


def test_the_focused_time_lines_step_and_tell_where_they_stand(first: LabPage, visit: Open) -> None:
    seen = visit()
    seen.page.focus("#lanes-canvas")
    seen.page.keyboard.press("ArrowLeft")
    seen.wait(f"!lab.clock.live && / s: ./.test({LANES}.ariaValueText)")
    here, told = seen.value("lab.clock.viewed"), seen.value(f"{LANES}.ariaValueText")
    seen.page.keyboard.press("ArrowDown")
    assert seen.value("lab.clock.viewed") < here
    seen.wait(f"{LANES}.ariaValueText !== {told!r}")
    seen.page.keyboard.press("ArrowUp")
    assert seen.value("lab.clock.viewed") == here
    seen.page.keyboard.press("PageUp")
    assert seen.value("lab.clock.live || lab.clock.viewed > " + str(here))
    seen.page.keyboard.press("End")
    assert seen.value("lab.clock.live")


def test_with_reduced_motion_arrows_stand_and_the_window_moves_in_steps(first: LabPage, visit: Open) -> None:
    seen = visit(reduced_motion="reduce")
    seen.page.click('[data-segment="axis:time"]')
    seen.wait("lab.screen.dots.traffic.crowds.size > 0")
    assert seen.value("lab.screen.dots.flights.length") == 0
    seen.value(
        """(() => {
            const { dots, lanes } = lab.screen, clear = dots.context.clearRect.bind(dots.context), paint = lanes.paint.bind(lanes);
            const found = lab.steps = { gaps: [], ends: new Set(), paints: 0 };
            let last = dots.painted;
            dots.context.clearRect = (...box) => {
                if (dots.clean) found.gaps.push(dots.painted - last); // else: something was taken away, which is seen at once
                last = dots.painted;
                clear(...box);
            };
            lanes.paint = (sketch, ...rest) => { found.paints += 1; found.ends.add(sketch.from + lab.app.span); paint(sketch, ...rest); };
        })()"""
    )
    seen.wait("lab.steps.gaps.length >= 3 && lab.steps.ends.size >= 3 && lab.steps.paints > lab.steps.ends.size")
    assert min(seen.value("lab.steps.gaps")) >= 500
    span, ends = seen.value("lab.app.span"), seen.value("[...lab.steps.ends]")
    assert {end % (span / 4) for end in ends} == {0}  # it moves in quarters of itself


@pytest.mark.parametrize(("width", "language"), every(product((800, 1080, 1440), ("en", "ko")), keep=[(800, "ko"), (1080, "en"), (1440, "ko")]))
def test_the_seed_and_the_words_of_all_levers_are_seen(first: LabPage, visit: Open, language: str, width: int) -> None:
    seen = visit(language, width=width)
    seen.see("[data-do=power_loss]")
    assert "5" in seen.page.inner_text(".seed")
    assert seen.page.is_visible(".seed")
    cut = """[...document.querySelectorAll('.broker-lever .lever span')].filter((word) => {
        const [inner, outer] = [word, word.parentNode].map((one) => one.getBoundingClientRect());
        return inner.width < 12 || inner.left < outer.left || inner.right > outer.right;
    }).map((word) => word.textContent)"""
    assert seen.value(cut) == []


def test_steps_take_the_bytes_along_or_say_that_there_are_none(first: LabPage, visit: Open) -> None:
    seen = visit()
    seen.has_its_past()
    seen.page.click('[data-segment="ledger:bytes"]')
    back_to = """(code) => {
        const { history, clock } = lab;
        let at = clock.viewed - 1;
        while (history.at(at).code !== code) at -= 1;
        clock.go(at + 2);
    }"""
    seen.page.evaluate(back_to, "log_appended")
    seen.page.keyboard.press("ArrowLeft")
    offset = seen.value("lab.history.at(lab.clock.viewed - 1).params.base_offset")
    assert seen.value("lab.app.byteOffset") == offset
    seen.wait("document.querySelector('#ledger-body .moment-text:not(.none)') !== null")
    seen.page.evaluate(back_to, "request_received")
    seen.page.keyboard.press("ArrowLeft")
    seen.wait("document.querySelector('#ledger-body .moment-text.none') !== null")


def test_a_message_that_is_looked_at_follows_the_steps(first: LabPage, visit: Open) -> None:
    seen = visit()
    seen.has_its_past()
    seen.value("""(() => {
        const { history, clock, app } = lab;
        let at = history.end - 1;
        while (history.at(at).code !== 'request_received' || history.at(at).params.api !== 'Produce') at -= 1;
        clock.go(at + 1);
        app.lookAt(at);
    })()""")
    seen.see("[data-segment='message:request']")
    seen.page.click("[data-segment='message:request']")
    seen.wait("lab.app.messages.shown.found !== null")
    answered = "lab.history.at(lab.clock.viewed - 1).code === 'response_sent'"
    for _ in range(40):
        seen.page.keyboard.press("ArrowRight")
        if seen.value(answered):
            break
    assert seen.value("lab.app.looked") == seen.value("lab.clock.viewed - 1")
    seen.wait("lab.app.messages.shown.side === 'answer' && lab.app.messages.shown.found !== null")
    named = "(({ node, params: { to, api, correlation } }) => `${to}>${node}:${api}#${correlation}`)"
    assert seen.value("lab.app.messages.shown.of") == seen.value(f"{named}(lab.history.at(lab.app.looked))")
    seen.see("#tab-panel .byte-field")


def test_records_beyond_the_new_leaders_end_are_not_on_the_leader(first: LabPage, visit: Open) -> None:
    seen = visit("ko")
    seen.command(do="create_topic", topic="lossy", partitions=1, replication_factor=3,
                 configs={"unclean.leader.election.enable": "true"})  # fmt: skip
    partition = "lab.app.state.topics.lossy?.partitions[0]"
    seen.wait(f"{partition}?.isr.length === 3")
    leader = seen.value(f"{partition}.leader")
    others = [broker for broker in (1, 2, 3) if broker != leader]
    for broker in others:
        seen.command(do="kill", broker=broker)
    seen.wait(f"{partition}.isr.length === 1")
    seen.command(do="produce", topic="lossy", value="alone", acks="1")
    seen.wait(f"{partition}.logs[{leader}].leo === 1")
    seen.command(do="kill", broker=leader)
    seen.wait(f"!lab.app.state.brokers[{leader}].registered")  # its session has expired: it cannot come back in time
    for broker in others:
        seen.command(do="restart", broker=broker)
    seen.wait(f"{partition}.leader > 0")
    seen.value("lab.app.choose('lossy')")
    seen.wait("document.querySelector('#ledger-body .batches td.absent')?.innerText.includes('리더에 없음')")
    assert seen.page.locator("#scene-svg .cell.astray").count() == 1
    assert "리더에 없음" in seen.page.inner_text("#legend")
    assert "대기 중" not in seen.page.inner_text("#ledger-body")
