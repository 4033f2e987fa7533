"""A broker with two log directories: the page shows where a replica lies, and moves it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations


@pytest.fixture(scope="module")
def visit(browser: object, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("directories") / "lab", "--set", "log.dirs=data/a,data/b")


@pytest.mark.parametrize("language", ["en", "ko"])
def test_a_replica_is_moved_to_the_other_disk(visit: Open, language: str) -> None:
    seen: LabPage = visit(bypass_csp=True, language=language)
    topic = f"orders-{language}"
    seen.command(do="create_topic", topic=topic, assignment=[[1, 2]])
    place = f"lab.app.state.topics['{topic}']?.partitions[0]?.logs[1]"
    seen.wait(f"{place}?.directory")
    before = seen.page.evaluate(f"{place}.directory")
    other = {"data/a": "data/b", "data/b": "data/a"}[before]
    seen.page.evaluate(f"lab.app.choose('{topic}', '0')")
    seen.wait(f"document.querySelector('[data-replica=\"{topic}-0@1\"] [data-lies-in]')?.textContent.startsWith('▤ {before}')")
    seen.page.evaluate("lab.app.showTab('brokers')")
    seen.page.click("[data-broker-card='1']")
    seen.page.select_option("[data-manage=move_replica] [name=replica]", f"{topic}-0")
    seen.page.select_option("[data-manage=move_replica] [name=directory]", other)
    assert violations(seen.page) == []
    seen.page.click("[data-manage=move_replica] button")
    seen.wait(f"{place}.directory === '{other}' && !{place}.moving")
    seen.wait(f"document.querySelector('[data-lies-in]').textContent.startsWith('▤ {other}')")
