"""Spark on the screen: a sweep to the moment of a loss, a replay to its moments, rolling figures, a worker that dies.

All of it with the real worker: PySpark and a Java must be there. One lab and one worker serve all tests.
"""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.browser.lab_page import LabPage, Open, open_pages, violations
from tests.browser.test_looks import NAMES, words_of
from tests.sampling import every

from broker_core.clients.settings import ConsumerSettings, ProducerSettings
from lab.analytics import grid
from lab.experiments.run import run_scenario
from lab.scenarios import grammar

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
PATIENCE_S = 240
SPARK = "lab.app.desk.spark"
# Names of settings, protocols and tools that are the same in every language.
SAME = NAMES | {
    "Spark", "pip", "brokerlab", "sweep", "grid", "seeds", "Parquet", "isr", "API", "orders", "producer", "consumer", "ISR",
    "purgatory", "Produce", "Fetch", "unclean", "remote", "KRaft",
}  # fmt: skip
# Settings of built-in clients, which titles of lessons name.
SETTINGS = {one.replace("_", ".") for kind in (ProducerSettings, ConsumerSettings) for one in kind.__dataclass_fields__}
DOTTED = re.compile(r"[a-z]+(?:\.[a-z]+)+")


@pytest.fixture(scope="module")
def visit(browser: Any, require_module: Callable[[str], None], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Open]:
    for name in ("pyspark", "pyarrow", "numba"):
        require_module(name)
    yield from open_pages(browser, tmp_path_factory.mktemp("spark") / "lab")



def says(seen: LabPage, selector: str, words: str) -> None:
    """Until an element holds these words."""
    seen.wait(f"(document.querySelector({json.dumps(selector)})?.innerText ?? '').includes({json.dumps(words)})")


def open_tab(seen: LabPage, tab: str) -> None:
    seen.page.click("[data-panel=spark]")
    seen.page.click(f"[data-spark-tab={tab}]")
    seen.wait(f"{SPARK}.tab === '{tab}' && {SPARK}.setup !== null")


def finished_run(seen: LabPage) -> str:
    """The run of acks-1 with seed 3, which loses records; made once."""
    known = seen.value("lab.app.desk.runs.items.find((one) => one.finished && one.name === 'acks-1' && one.seed === 3)?.run ?? null")
    if known:
        return str(known)
    seen.page.evaluate(
        """async () => {
            const say = async (path, body) => (await fetch(`/api${path}`, body ? { method: 'POST', headers: { 'content-type': 'application/json' }, body } : {})).json();
            const job = await say('/scenarios/acks-1/run', '{"seed": 3}');
            globalThis.made = null;
            const ask = async () => {
                const found = await say(`/jobs/${job.id}`);
                if (found.state === 'done') globalThis.made = found.run;
                else setTimeout(ask, 300);
            };
            ask();
        }"""
    )
    seen.wait("globalThis.made !== null", PATIENCE_S)
    seen.page.evaluate("lab.app.desk.list()")
    return str(seen.value("globalThis.made"))


def swept(seen: LabPage) -> None:
    """A sweep is there that the dialog shows; a small one is made where there is none."""
    seen.page.evaluate(
        """async () => {
            const { items } = await (await fetch('/api/sweeps')).json();
            const body = '{"scenario": "acks-1", "grid": {"acks": ["1", "all"]}, "seeds": "3"}';
            if (!items.length) await fetch('/api/sweeps', { method: 'POST', headers: { 'content-type': 'application/json' }, body });
        }"""
    )
    open_tab(seen, "sweep")
    seen.see(".heat")
    seen.wait(f"!{SPARK}.sweep.running", PATIENCE_S)


def pick(seen: LabPage, query: str) -> None:
    """Choose an answer, and wait until it is drawn."""
    seen.page.click(f"[data-answer={query}]")
    seen.see(f"[data-answer={query}][aria-current=true]")


def answered(seen: LabPage) -> None:
    seen.wait(f"{SPARK}.replay.found !== null && !{SPARK}.replay.running", PATIENCE_S)
    assert seen.value(f"[{SPARK}.replay.found.state, {SPARK}.replay.found.error]") == ["done", None]


def replayed(seen: LabPage) -> None:
    """The dialog shows the answers about the finished run; Spark is asked where nobody has asked yet."""
    run = finished_run(seen)
    open_tab(seen, "replay")
    seen.page.select_option("[data-spark=run]", run)
    known = seen.page.evaluate(
        """async (run) => (await (await fetch('/api/replays')).json()).items
            .some((one) => one.run === run && !['failed', 'cancelled'].includes(one.state))""",
        run,
    )
    if not known:
        seen.page.click("[data-spark=start]")
    answered(seen)
    seen.see("[data-answer=failovers]")


def typed(home: Path, *given: str) -> list[tuple[str, int, int]]:
    """Cell, acked and lost of the runs that the command line would make of this grid, with seed 3."""
    receipts = [(cell.name, run_scenario(grammar.from_dict(cell.document), 3, out=home / str(number)).receipt.total)
                for number, cell in enumerate(grid.cells("acks-1", grid.parse_grid(list(given))))]
    return [(name, total.acked, total.lost) for name, total in receipts]


def test_a_sweep_leads_from_the_form_to_the_moment_of_the_loss(visit: Open, tmp_path: Path) -> None:
    seen = visit()
    open_tab(seen, "sweep")
    seen.page.fill('[data-values="0"]', "1, all")
    seen.page.fill('[data-values="1"]', "1, 2")
    seen.page.fill("[data-sweep=seeds]", "3")
    says(seen, ".sweep-form", "4 cells × 1 seed = 4 runs")
    shell = seen.page.inner_text(".sweep-form code")
    assert shell == "./brokerlab sweep acks-1 --grid acks=1,all --grid min.insync.replicas=1,2 --seeds 3"
    seen.page.click("[data-sweep=start]")
    seen.see("#spark-dialog [role=progressbar]")
    seen.wait(f"{SPARK}.sweep.found?.done > 0", PATIENCE_S)
    seen.wait(f"!{SPARK}.sweep.running", PATIENCE_S)
    says(seen, "[data-sweep=facts]", "4 of 4 runs, 0 failed, ")
    assert seen.page.inner_text('[data-cell="acks=all,min.insync.replicas=2"] b') == "0"
    lost = int(seen.page.inner_text('[data-cell="acks=1,min.insync.replicas=1"] b'))
    assert lost > 0
    says(seen, ".sweep-heat .reading", f"{lost} records a run, in 1 of its 1 runs. Nothing is lost in 2 of 4 cells.")
    seen.picture("spark-sweep")

    seen.page.click('[data-cell="acks=1,min.insync.replicas=1"]')
    seen.see('[data-seed="3"]')
    assert str(lost) in seen.page.inner_text(".sweep-runs tbody tr")
    seen.page.click('[data-seed="3"]')
    seen.wait("!document.getElementById('spark-dialog').open", PATIENCE_S)
    seen.wait("lab.app.desk.work === null && !lab.clock.live && lab.history.at(lab.clock.viewed - 1)?.code === 'became_leader'", PATIENCE_S)
    run = seen.value("lab.app.desk.run")
    place = seen.value("fetch(`/api/runs/${lab.app.desk.view().parent}`).then((answer) => answer.json()).then((facts) => facts.receipt)")
    first = place["places"]["lost"][0]
    event = seen.value("lab.history.at(lab.clock.viewed - 1)")
    assert place["lost"] == lost and event["params"]["leo"] <= first["offset"]
    there = seen.value(f"Object.values(lab.app.state.topics.orders.partitions['{first['partition']}'].logs).map((log) => log.leo > {first['offset']})")
    assert sorted(there) == [False, False, True], "only the dead leader has the record now"
    assert run == seen.value("lab.feed.run") and seen.value("lab.app.chosen") == f"orders-{first['partition']}"
    seen.picture("spark-loss")

    screen = seen.value(f"{SPARK}.sweep.found.cells")
    told = [(one["cell"], one["acked"], one["lost"]) for one in screen]
    assert told == typed(tmp_path, "acks=1,all", "min.insync.replicas=1,2")


def test_a_replay_tells_its_progress_and_each_mark_leads_to_its_moment(visit: Open) -> None:
    seen = visit()
    run = finished_run(seen)
    seen.page.click("[data-panel=runs]")
    seen.page.click(f'#drawer [data-replay="{run}"]')
    seen.see(".spark-questions li")
    seen.page.click("[data-spark=start]")
    seen.see("#spark-dialog [role=progressbar]")
    seen.see("[data-answer=lost]", PATIENCE_S)
    answered(seen)
    assert seen.page.locator("[data-answer]").count() == seen.value(f"{SPARK}.setup.questions.length")
    assert seen.page.inner_text("[data-answer=lost] b").startswith("✕")
    for name in ("receipt", "failovers", "latency", "leader_skew"):
        pick(seen, name)
        seen.wait(f"document.querySelectorAll('.plot-row').length === Math.min(40, {SPARK}.replay.answer.rows.length)")
        assert seen.page.inner_text(".reading")
    seen.picture("spark-replay")

    pick(seen, "unavailability")
    row = seen.value(f"{SPARK}.replay.answer.rows[0]")
    seen.page.click(".plot-span[data-row='0']")
    seen.wait(f"!lab.clock.live && lab.history.at(lab.clock.viewed - 1)?.seq === {row['seq']}", PATIENCE_S)
    assert seen.value("lab.history.at(lab.clock.viewed - 1).code") == "process_ended"
    seen.wait(f"lab.app.desk.view()?.parent === '{run}'")
    opened = seen.value("lab.app.desk.run")

    for query, code in (("lost", "became_leader"), ("isr_churn", "isr_(shrunk|expanded)"), ("elections", "leader_elected|partition_offline")):
        seen.page.click("[data-panel=spark]")
        pick(seen, query)
        seen.page.locator("[data-go]").first.click()
        seen.wait(f"/^({code})$/.test(lab.history.at(lab.clock.viewed - 1)?.code)")
        assert seen.value("lab.app.desk.run") == opened, "the same branch, not another copy of the run"


def test_figures_roll_and_show_a_partition_without_a_leader(visit: Open) -> None:
    seen = visit()
    seen.wait("lab.app.desk.run === lab.app.desk.live")
    seen.command(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    seen.command(do="start_client", name="producer-orders", kind="producer", topic="orders")
    seen.page.click("[data-rolling=sign]")
    seen.see(".rolling")
    seen.wait(f"({SPARK}.rolling.found?.history.length ?? 0) > 2 && {SPARK}.rolling.found.figures.acked > 0", PATIENCE_S)
    assert re.search(r"Structured Streaming: as of \S+ s · (\S+ s behind the cluster|nothing new)", seen.page.inner_text(".rolling"))
    before = seen.value(f"{SPARK}.rolling.found.figures.unavailable_s")
    seen.command(do="kill", leader_of="orders-0")
    seen.wait(f"{SPARK}.rolling.found.figures.unavailable_s > {before}", PATIENCE_S)
    seen.picture("spark-rolling")
    seen.command(do="stop_client", name="producer-orders")
    seen.page.click("[data-rolling=off]")
    seen.wait("document.querySelector('.rolling') === null")
    asked = "fetch(`/api/runs/${lab.app.desk.run}/rolling`).then((answer) => answer.json()).then((found) => { globalThis.rolled = found.state; })"
    seen.wait(f"{asked} && globalThis.rolled === 'cancelled'", PATIENCE_S)
    seen.page.evaluate("for (const { id, state } of Object.values(lab.app.state.brokers)) if (state === 'stopped') lab.app.command({ do: 'restart', broker: id })")


def test_a_worker_that_dies_is_told_and_the_replay_ends_all_the_same(visit: Open) -> None:
    seen = visit()
    run = finished_run(seen)
    open_tab(seen, "replay")
    seen.page.select_option("[data-spark=run]", run)
    seen.wait(f"{SPARK}.replay.asked === '{run}' && !{SPARK}.replay.running")
    with seen.page.expect_response(lambda answer: answer.request.method == "POST" and answer.url.endswith("/replay")):
        seen.page.click("[data-spark=start]")  # a replay takes a second or two: it is under way when this is answered
    os.kill(seen.value("fetch('/api/spark').then((answer) => answer.json()).then((found) => found.pid)"), signal.SIGKILL)
    seen.see("[data-spark=died]", PATIENCE_S)
    assert "exit code -9" in seen.page.inner_text("[data-spark=died]")
    answered(seen)


@pytest.mark.parametrize(("dark", "width"), every([(False, 1440), (True, 1440), (False, 800), (True, 800)], nth=3))
def test_axe_finds_nothing_and_nothing_is_too_wide(visit: Open, width: int, dark: bool, require_module: Callable[[str], None]) -> None:
    require_module("axe_playwright_python")
    seen = visit(dark=dark, width=width, bypass_csp=True)
    replayed(seen)
    for query in ("failovers", "unavailability", "lost"):
        pick(seen, query)
        seen.page.wait_for_timeout(200)
        assert violations(seen.page) == []
        assert seen.value("document.querySelector('.spark-body').scrollWidth <= document.querySelector('.spark-body').clientWidth")
    seen.page.click("[data-spark=close]")
    swept(seen)
    seen.page.locator(".heat").first.click()
    seen.see("[data-seed]")
    assert violations(seen.page) == []
    assert seen.value("document.querySelector('.spark-body').scrollWidth <= document.querySelector('.spark-body').clientWidth")
    seen.picture(f"spark-sweep-{width}-{'dark' if dark else 'light'}")


def test_the_korean_dialog_leaves_no_english(visit: Open) -> None:
    seen = visit("ko")
    replayed(seen)
    text = ""
    for name in ("receipt", "unavailability", "failovers", "elections", "replication_lag", "rebalance_cost", "key_skew"):
        pick(seen, name)
        seen.page.wait_for_timeout(150)
        text += seen.page.inner_text("#spark-dialog")
    seen.picture("spark-replay-ko")
    seen.page.click("[data-spark=close]")
    swept(seen)
    text += seen.page.inner_text("#spark-dialog")
    seen.picture("spark-sweep-ko")
    assert "사라졌는지" in text and "셀마다" in text
    assert words_of(DOTTED.sub(lambda name: "" if name[0] in SETTINGS else name[0], text)) - SAME == set()


def test_the_dialog_works_with_the_keyboard_alone(visit: Open) -> None:
    seen = visit()
    replayed(seen)
    seen.page.click("[data-spark=close]")
    seen.page.focus("[data-panel=spark]")
    seen.page.keyboard.press("Enter")
    seen.wait("document.getElementById('spark-dialog').open && document.getElementById('spark-dialog').contains(document.activeElement)")
    seen.see("[data-answer=unavailability]")
    seen.page.focus("[data-answer=unavailability]")
    seen.page.keyboard.press("Enter")
    seen.see(".plot-span")
    seen.page.keyboard.press("Escape")
    seen.wait("!document.getElementById('spark-dialog').open && document.activeElement.dataset.panel === 'spark'")
    seen.page.keyboard.press("Enter")
    seen.see(".plot-span")
    seen.page.focus(".plot-span")
    seen.page.keyboard.press("Space")
    seen.wait("!lab.clock.live && lab.history.at(lab.clock.viewed - 1)?.code === 'process_ended'", PATIENCE_S)
