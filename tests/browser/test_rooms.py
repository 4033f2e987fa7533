"""What has little room on the screen is still there: partitions on narrow cards, wide offsets; and what news and refusals look like."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("rooms") / "lab")


@pytest.fixture(scope="module")
def seen(visit: Open) -> LabPage:
    page = visit()
    page.command(do="create_topic", topic="orders", partitions=3, replication_factor=3)
    page.wait("lab.app.state.topics.orders?.partitions[2]?.isr.length === 3")
    page.command(do="start_client", name="producer-orders", kind="producer", topic="orders", rate=900, settings={"acks": "all", "linger.ms": 20})
    page.command(do="start_client", name="consumer-orders", kind="consumer", topic="orders", settings={"group.id": "readers"})
    page.wait("Object.values(lab.app.chosenPartition?.logs ?? {}).some(({ leo }) => leo > 1_500)")  # offsets are long by now
    page.command(do="time", speed="pause")
    page.leave()
    return page


@pytest.mark.parametrize(("language", "width"), every([("en", 1280), ("ko", 1080), ("en", 800)], nth=2))
def test_a_card_shows_every_partition_or_says_how_many_more_there_are(seen: LabPage, visit: Open, language: str, width: int) -> None:
    page = visit(language, width=width)
    page.see(".broker .replica")
    page.picture(f"rooms-{language}-{width}")
    page.wait("""[...document.querySelectorAll('.broker')].every((card) =>
        card.querySelectorAll('.replica').length + Number(card.querySelector('[data-more]')?.dataset.more ?? 0) === 3)""")
    page.leave()


FITS = """(() => {
    const panel = document.getElementById('ledger');
    const cells = [...panel.querySelectorAll('.batches td, .batches th')];
    return panel.scrollWidth <= panel.clientWidth && cells.length > 0 && cells.every((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const [text, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
        return text.left >= box.left - 0.5 && text.right <= box.right + 0.5 && [...cell.children].every((part) => part.scrollWidth <= part.clientWidth || !part.clientWidth);
    });
})()"""


@pytest.mark.parametrize(("language", "width"), every([("en", 1440), ("en", 800), ("ko", 1440)], nth=2))
def test_a_range_of_long_offsets_leaves_room_for_checksums_and_states(seen: LabPage, visit: Open, language: str, width: int) -> None:
    page = visit(language, width=width)
    page.wait(r"/\d,\d{3}–\d+,\d{3}/.test(document.querySelector('.batches tbody')?.innerText)")
    page.page.evaluate("document.getElementById('ledger').scrollIntoView()")
    page.picture(f"batches-{language}-{width}")
    assert page.value(FITS)
    page.leave()


# They are there for seconds, which on a machine that stands still may be over before the other one is there.
NOTICES_STAY = """() => {
    const { remove } = Element.prototype;
    Element.prototype.remove = function () { if (this.parentNode?.id !== 'notices') remove.call(this); };
}"""


@pytest.mark.parametrize("look", [{}, {"dark": True}, {"forced_colors": "active"}])
def test_news_does_not_look_like_a_refusal(seen: LabPage, visit: Open, look: dict[str, Any]) -> None:
    page = visit(**look)
    page.page.evaluate(NOTICES_STAY)
    page.page.keyboard.press("g")
    page.see("#notices p.news")
    page.page.evaluate("lab.app.command({do: 'kill', broker: 99})")
    page.see("#notices p.bad")
    page.picture(f"notices-{'-'.join(map(str, look.values()))}")
    borders = page.value("['news', 'bad'].map((kind) => getComputedStyle(document.querySelector(`#notices .${kind}`)).borderLeftWidth)")
    assert borders[0] != borders[1]
    found = [one for one in violations(page.page) if any("notices" in node or 'class="bad"' in node or 'class="news"' in node for node in one[1])]
    assert found == []
    page.leave()
