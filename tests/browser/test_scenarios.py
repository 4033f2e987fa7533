"""Scenarios on the screen: predict, run, see the moment, try the other setting; and what was done as a link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.sampling import every

from lab.scenarios import grammar, path
from lab.scenarios.subjects import SUBJECTS


@pytest.fixture(scope="module")
def visit(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    yield from open_pages(browser, tmp_path_factory.mktemp("scenarios") / "lab")


def expected_refusal(seen: LabPage) -> None:
    """The browser notes a request that was refused on purpose."""
    assert [text for text in seen.complaints if "422" in text]
    seen.complaints[:] = [text for text in seen.complaints if "422" not in text]


def pick(seen: LabPage, name: str) -> None:
    seen.page.click("[data-panel=scenarios]")
    seen.page.click(f'[data-scenario="{name}"]')
    seen.see("[data-lesson=run]")


def test_a_setting_with_a_question_of_its_own_asks_that_one(visit: Open) -> None:
    """Its answers are graded by what it asks: those of the lesson would be others."""
    seen = visit()
    pick(seen, "failover-with-1000-partitions")
    for variant, asked in (("thousand", "With the number of this setting"), ("ten_thousand", "when there are 10,000?")):
        seen.page.click(f'[data-variant="{variant}"]')
        seen.wait(f"document.querySelector('#drawer')?.textContent.includes({asked!r})")


def test_a_scenario_is_run_in_another_setting_which_its_receipt_and_its_link_name(visit: Open) -> None:
    """`test_lessons` takes every lesson through all of its steps; here the settings of one are compared."""
    seen = visit()
    pick(seen, "unclean-election")
    assert seen.page.is_disabled("[data-lesson=run]")
    assert "Choose your prediction first" in seen.page.inner_text("#drawer")
    for variant, guess, lost in (("unclean", "wrong", True), ("clean", "right", False)):
        seen.page.click(f'[data-variant="{variant}"]')
        seen.wait("!document.querySelector('[data-guess]')")
        seen.page.click('[data-guess-broker="-1"]')
        seen.page.click("[data-lesson=run]")
        seen.see("[data-watch-verdict]")
        seen.page.click("[data-watch-verdict]")
        seen.see("[data-guess]")
        seen.wait("lab.app.desk.work === null && lab.feed.run === lab.app.desk.lessons.result.run")
        assert seen.page.get_attribute("[data-guess]", "data-guess") == guess
        assert (int(seen.page.inner_text("#drawer [data-figure=lost]").replace(",", "")) > 0) == lost
        if lost:
            seen.wait("document.querySelector('#scene-svg [data-replaced]') !== null")  # others stand where they stood
            seen.page.click("#drawer [data-show=lost]")
            seen.wait("lab.app.record !== null && document.querySelectorAll('#scene-svg .cell.lost').length > 1")
            seen.page.click("[data-watch-verdict]")  # back to the run's end
            seen.see("[data-watch=over]")
        else:
            assert seen.value("lab.app.record") is None
        assert f"unclean.leader.election.enable={'true' if lost else 'false'}" in seen.page.inner_text("[data-ran]")
    seen.picture("scenario")
    seen.page.click('[data-variant="unclean"]')
    seen.see("[data-guess=wrong]")
    seen.page.click('[data-variant="clean"]')
    seen.see("[data-guess=right]")
    seen.page.click("[data-lesson=link]")
    seen.see("#drawer input.link")
    link = seen.page.input_value("#drawer input.link")
    other = visit("ko", path=link[link.index("#") :])
    other.see("[data-lesson=run]")
    assert "unclean.leader.election.enable=false" in other.page.inner_text("#drawer [data-own]")
    seen.page.click("[data-panel=runs]")
    seen.wait("document.getElementById('drawer').innerText.includes('unclean.leader.election.enable=false')")


@pytest.mark.parametrize(("language", "width", "dark"), every([("en", 1280, False), ("ko", 1280, True), ("ko", 800, False), ("en", 800, True)], nth=3))
def test_scenarios_stand_under_their_subjects_which_the_keyboard_reaches(visit: Open, language: str, width: int, dark: bool) -> None:
    seen = visit(language, width=width, dark=dark, bypass_csp=True)
    seen.page.click("[data-panel=scenarios]")
    seen.see("[data-scenario]")
    seen.picture(f"subjects-{language}-{width}")
    chips = seen.page.eval_on_selector_all("[data-subject]", "(found) => found.map((one) => one.dataset.subject)")
    assert chips == [name for name in [*SUBJECTS, ""] if name in chips] and "storage" in chips
    for name in ("storage", "durability"):
        seen.page.focus(f'[data-subject="{name}"]')
        seen.page.keyboard.press("Enter")
        assert seen.value("document.activeElement.id") == f"subject-{name}"
        assert SUBJECTS[name][language] in seen.page.inner_text(f"#subject-{name}")
        heading, drawer = (seen.page.locator(one).bounding_box() for one in (f"#subject-{name}", ".drawer-body"))
        assert seen.value("document.documentElement.scrollTop") == 0
        assert drawer["y"] <= heading["y"] + 1 and heading["y"] + heading["height"] < drawer["y"] + drawer["height"]
        seen.picture(f"subjects-{language}-{width}-{name}")
        seen.page.keyboard.press("Tab")
        chosen = seen.value("document.activeElement.dataset.scenario")
        assert grammar.load(chosen).subject == name
    assert violations(seen.page) == []
    assert seen.value("document.querySelector('.drawer-body').scrollTop") > 0
    seen.page.keyboard.press("Enter")
    seen.see("[data-lesson=run]")
    assert seen.value("document.querySelector('.drawer-body').scrollTop") == 0
    assert seen.value("document.activeElement.className") == "drawer-body"


@pytest.mark.parametrize(("language", "dark", "width"), [("en", False, 1440), ("ko", True, 800)])
def test_the_way_through_the_lessons_says_what_is_next_and_remembers_what_is_done(visit: Open, language: str, dark: bool, width: int) -> None:
    seen = visit(language, dark=dark, width=width)
    seen.page.click("[data-panel=scenarios]")
    seen.see("[data-course=next]")
    ways = list(path.legs())
    shown = seen.page.eval_on_selector_all("[data-scenario]", "(found) => found.map((one) => one.dataset.scenario)")
    assert shown == ways
    seen.picture(f"course-{language}-{width}")
    seen.page.evaluate("lab.app.desk.lessons.results.take('acks-1', 'right')")
    seen.page.reload()
    seen.wait("globalThis.lab?.app?.online && lab.app.desk.greeted")
    seen.page.click("[data-panel=scenarios]")
    seen.see('[data-scenario="acks-1"][data-grade=right]')
    assert f"1 of {len(ways)}" in seen.page.inner_text("[data-course=progress]") or f"{len(ways)}개 중 1개" in seen.page.inner_text("[data-course=progress]")
    seen.page.fill("[data-course=search]", {"en": "purgatory", "ko": "퍼거토리"}[language])
    seen.wait("document.querySelectorAll('[data-scenario]').length < 10")
    assert seen.page.is_visible('[data-scenario="waiting-in-purgatory"]')
    assert violations(seen.page) == []
    seen.picture(f"course-search-{language}-{width}")
    seen.page.fill("[data-course=search]", "")
    seen.page.click("[data-course=next]")
    seen.wait(f"lab.app.desk.lessons.one?.name === '{ways[1]}'")


def test_a_file_is_opened_and_a_wrong_one_is_refused_with_its_line_in_korean(visit: Open, tmp_path: Path) -> None:
    source = (grammar.HOME / "two-promises.yaml").read_text()
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(source)
    bad.write_text(source.replace("do: kill", "do: kil", 1))
    seen = visit("ko")
    seen.page.click("[data-panel=scenarios]")
    seen.see("[data-scenario]")
    seen.page.set_input_files("[data-file=scenario]", bad)
    seen.see("#drawer [role=alert]")
    text = seen.page.inner_text("#drawer [role=alert]")
    line = 1 + bad.read_text()[: bad.read_text().index("do: kil,")].count("\n")
    expected_refusal(seen)
    assert f"bad.yaml:{line}: steps[1].do: 모르는 명령 kil" in text and "kill?" in text and "expected" not in text
    seen.page.set_input_files("[data-file=scenario]", good)
    seen.see("[data-lesson=run]")
    assert seen.page.inner_text("#drawer h3.lesson-title") == "프로듀서 둘, 약속 둘, 토픽 하나"


def test_what_was_done_becomes_a_file_and_a_link_that_others_can_run(visit: Open) -> None:
    seen = visit()
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    seen.wait("'orders' in lab.app.state.topics")
    seen.command(do="kill", broker=2)
    refused = seen.page.evaluate("lab.app.send({do: 'kill', broker: 9})")
    assert not refused["ok"]
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
    assert "1 step. It is valid" in other.page.inner_text("#drawer [data-own]")
    damaged = visit("ko", path=path[:-20])
    damaged.see("#drawer [role=alert]")
    expected_refusal(damaged)
    assert "실행할 수 있는 시나리오가 없습니다" in damaged.page.inner_text("#drawer [role=alert]")


def test_disk_faults_stand_on_the_stage_and_a_protection_that_is_off_above_it(visit: Open) -> None:
    seen = visit("ko")
    seen.command(do="disk_full", broker=2)
    seen.see('[data-disk="2"]')
    assert "디스크 가득 참" in seen.page.text_content('[data-disk="2"]')
    seen.command(do="set_protection", set={"truncate_by_leader_epoch": False})
    seen.see('[data-off~="truncate_by_leader_epoch"]')
    seen.picture("disk-and-protection")
    again = visit("ko")
    again.see('[data-disk="2"]')
    again.see('[data-off~="truncate_by_leader_epoch"]')
    seen.command(do="stop_all_faults")
    seen.command(do="set_protection", set={"truncate_by_leader_epoch": True})
    seen.wait("!document.querySelector('[data-disk], [data-off]')")
