"""A record on the stage: its cell opens it, and shows its key or value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import Open, open_pages, violations


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("records") / "lab")


@pytest.mark.parametrize(("language", "committed"), [("en", "committed"), ("ko", "커밋됨")])
def test_a_cell_opens_its_record_and_shows_its_value(visit: Open, language: str, committed: str) -> None:
    seen = visit(language, bypass_csp=True)
    topic = f"orders-{language}"
    seen.command(do="create_topic", topic=topic, partitions=1, replication_factor=3)
    seen.wait(f"lab.app.state.topics['{topic}']?.partitions[0]?.isr.length === 3")
    for value in ("red", "blue"):
        seen.command(do="produce", topic=topic, key="paint", value=value, acks="all", headers={"source": "screen", "empty": None})
    seen.page.evaluate("(topic) => lab.app.choose(topic)", topic)
    leader = seen.value("lab.app.chosenPartition.leader")
    cell = f'[data-record="{topic}-0@1@{leader}"]'
    seen.see(cell)
    seen.page.click(cell)
    seen.wait("document.querySelector('[data-record-part=value]')?.innerText === 'blue'")
    assert seen.page.inner_text("[data-record-part=key]") == "paint"
    assert seen.page.inner_text("[data-record-part=headers]").split("\n") == ["source = screen", "empty = null"]
    assert seen.page.inner_text("[data-record-part=copies]").count(committed) == 3
    assert "2" in seen.page.inner_text("[data-record-part=format]") and seen.page.inner_text("[data-record-part=time]").startswith("20")
    seen.page.click("[data-record-step='-1']")
    seen.wait("document.querySelector('[data-record-part=value]')?.innerText === 'red'")
    seen.page.select_option("#cell-text", "value")
    row = f'[data-replica="{topic}-0@{leader}"]'
    seen.wait(f"document.querySelectorAll('{row} .cell-text')[1]?.textContent === 'lue'")  # the end of blue, as much as there is room for
    seen.picture(f"record-{language}")
    assert violations(seen.page) == []
    seen.page.select_option("#cell-text", "offset")
    seen.page.focus(row)
    seen.page.keyboard.press("Enter")
    seen.wait("document.querySelector('[data-record-part=value]')?.innerText === 'blue'")
    seen.page.click("[data-record-harm]")
    asked = "first.params.command.do === 'bit_flip' && first.params.command.offset === 1"
    seen.wait(f"lab.app.story.items.some(({{ code, first }}) => code === 'command' && {asked})")
    seen.leave()


def test_the_record_that_was_pressed_opens_though_the_log_goes_on(visit: Open) -> None:
    seen = visit(view="learn")
    seen.command(do="create_topic", topic="moving", partitions=1, replication_factor=3)
    seen.command(do="start_client", name="producer-moving", kind="producer", topic="moving", rate=20)
    seen.page.evaluate("lab.app.choose('moving')")
    seen.wait("lab.app.topicName === 'moving' && Object.values(lab.app.chosenPartition?.logs ?? {}).some(({ leo }) => leo > 60)")
    x, y = seen.value("""(() => {
        const cells = document.querySelectorAll('.leads [data-record]');
        const { left, top, width, height } = cells[Math.floor(cells.length / 2)].getBoundingClientRect();
        return [left + width / 2, top + height / 2];
    })()""")
    seen.page.mouse.move(x, y)
    seen.page.mouse.down()
    pressed = seen.value("lab.app.pressed")
    seen.wait(f"document.elementFromPoint({x}, {y}).dataset.record !== '{pressed}'")
    seen.page.mouse.up()
    seen.wait(f"lab.app.record?.name === 'moving-0' && lab.app.record.offset === {int(pressed.split('@')[1])}")
    seen.leave()
