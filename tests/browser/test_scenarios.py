"""Scenarios on the screen: predict, run, see the moment, try the other setting; and what was done as a link."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.browser.lab_page import LabPage, Open, open_pages
from tests.browser.test_time import picture


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("scenarios") / "lab")


def pick(seen: LabPage, name: str) -> None:
    seen.page.click("[data-panel=scenarios]")
    seen.page.click(f'[data-scenario="{name}"]')
    seen.see("[data-lesson=run]")


def test_a_scenario_is_predicted_run_seen_and_tried_otherwise(visit: Open) -> None:
    seen = visit()
    pick(seen, "unclean-election")
    assert seen.page.is_disabled("[data-lesson=run]")
    assert "Choose your prediction first" in seen.page.inner_text("#drawer")
    seen.page.click('[data-choice="1"]')
    seen.page.click("[data-lesson=run]")
    seen.see("[data-guess]", 90)
    seen.wait("lab.app.desk.work === null && lab.feed.run.endsWith('-1')", 60)
    assert seen.page.get_attribute("[data-guess]", "data-guess") == "wrong"
    assert int(seen.page.inner_text("#drawer [data-figure=lost]").replace(",", "")) > 0
    picture(seen, "scenario")
    opened = seen.value("lab.feed.run")
    seen.page.click("[data-lesson=moment]")
    seen.wait("!lab.clock.live && lab.history.at(lab.clock.viewed - 1).code === 'partition_offline'")
    picture(seen, "moment")
    seen.page.click("[data-lesson=fork]")
    seen.wait(f"lab.feed.run !== '{opened}' && lab.app.state.brokers[1].state === 'running'", 60)
    seen.wait("lab.app.state.topics.orders.partitions[0].leader === 1", 60)
    assert seen.value("lab.app.state.brokers[2].state") == "stopped"
    picture(seen, "other-setting")


def test_a_scenario_is_told_in_korean_without_an_english_sentence(visit: Open) -> None:
    seen = visit("ko")
    seen.page.click("[data-panel=scenarios]")
    seen.see("[data-scenario]")
    for name in seen.value("lab.app.desk.lessons.all.map((one) => one.name)"):
        seen.page.click(f'[data-scenario="{name}"]')
        seen.see("[data-lesson=run]")
        text = seen.page.inner_text("#drawer")
        assert not re.search(r"\b(the|is|are|of|and|with|which|will)\b", text), f"{name}: {text[:2000]}"
        seen.page.click("[data-lesson=back]")


def test_what_was_done_becomes_a_file_and_a_link_that_others_can_run(visit: Open) -> None:
    seen = visit()
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    seen.wait("'orders' in lab.app.state.topics")
    seen.command(do="kill", broker=2)
    seen.page.click("[data-panel=runs]")
    with seen.page.expect_download() as download:
        seen.page.click("[data-export=yaml]")
    document = yaml.safe_load(Path(download.value.path()).read_text())
    assert document["topics"][0]["name"] == "orders"
    assert [(step["do"], step["broker"]) for step in document["steps"]] == [("kill", 2)]
    seen.page.click("[data-export=link]")
    seen.see("input.link")
    link = seen.page.input_value("input.link")
    path = link[link.index("#") :]
    other = visit(path=path)
    other.see("[data-lesson=run]:not(:disabled)")
    assert "1 steps" in other.page.inner_text("#drawer")
    damaged = visit("ko", path=path[:-20])
    damaged.see("#drawer [role=alert]")
    assert "실행할 수 있는 시나리오가 없습니다" in damaged.page.inner_text("#drawer [role=alert]")
