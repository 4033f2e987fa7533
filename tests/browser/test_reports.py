"""The files that a replay and a sweep write, in narrow and wide windows: nothing is out of reach, no name is broken."""

from __future__ import annotations

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: pip install -r requirements/spark.txt")

from lab.analytics import report, sweep_report
from lab.analytics.grid import Cell
from lab.analytics.report import Answer

LINES = """() => [...document.querySelectorAll('td:not(.long)')].filter((cell) => {
  const range = document.createRange();
  range.selectNodeContents(cell);
  return new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size > 1;
}).map((cell) => cell.innerText)"""
BEYOND = """() => [...document.querySelectorAll('pre, td.long')].filter((one) => {
  const { left, right } = one.getBoundingClientRect();
  return one.scrollWidth > one.clientWidth + 1 || right > innerWidth || left < 0;
}).map((one) => one.innerText)"""
CUT = """() => [...document.querySelectorAll('svg text')].filter((text) => text.getBoundingClientRect().width && text.getBBox().x < 0)
  .map((text) => text.textContent)"""
COMMAND = "./brokerlab run '/tmp/a directory/with-a-name-that-is-long/and-another/cells/acks=1,min.insync.replicas=1.yaml' --seed 1"


@pytest.fixture
def pages(tmp_path):
    values = {"run": "acks-1 x", "api": "AllocateProducerIds", "requests": 3, "expired": 0}
    latency = {**values, **{f"{stage}_{which}": 12345.5 for stage in ("queue", "local", "remote", "response", "total") for which in ("p50", "p99")}}
    damage = {"run": "acks-1 x", "broker": 1, "error": "batch at offset 3: stored crc 0x00000001, computed 0x00000002, " + "x" * 90}
    elections = [{"run": run, "reason": "no replica of the ISR is alive", "elections": 1, "never_took_over": 0}
                 for run in ("unclean-election", "a-run-whose-name-is-longer-than-all-the-room-that-a-plot-has")]
    report.write(tmp_path / "report.html", [
        Answer("latency", list(latency), [latency], 1), Answer("damages", list(damage), [damage], 1),
        Answer("elections", list(elections[0]), elections, 2)], ["acks-1 x"])
    facts = {"cell": "acks=1,min.insync.replicas=1", "runs": 2, "failed": 1, "acked": 12000, "read": 11900, "lost": 100, "duplicated": 0,
             "reordered": 0, "runs_with_loss": 1, "mean_gap_s": 3.3, "max_gap_s": 3.4, "worst_seed": 1, "open": COMMAND}
    failed = {"cell": facts["cell"], "seed": 2, "error": "it went wrong " * 12, "command": COMMAND}
    sweep_report.write(tmp_path, [Cell({"acks": "1", "min.insync.replicas": "1"}, {})], [facts], [failed])
    return tmp_path


@pytest.mark.parametrize("width", [800, 1100, 1440])
@pytest.mark.parametrize("language", ["en", "ko"])
def test_reports_fit_the_window_and_break_no_name(browser, pages, width, language):
    page = browser.new_page(viewport={"width": width, "height": 900})
    for name, long in (("report.html", 2), ("sweep.html", 2)):
        page.goto((pages / name).as_uri())
        page.check(f"#{language}")
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        assert page.locator("pre:visible, td.long:visible").count() == long
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(LINES) == []
        assert page.evaluate(CUT) == []
        beyond = page.evaluate(BEYOND)
        assert [text for text in beyond if text] == [], (name, beyond)
        if name == "report.html":
            labels = page.locator("svg text:visible").all_text_contents()
            whole = {"en": "unclean-election no replica of the ISR is alive", "ko": "unclean-election ISR의 복제본이 하나도 살아 있지 않음"}
            assert whole[language] in labels and any("…" in label for label in labels)
    page.close()
