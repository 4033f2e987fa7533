"""A program that is not ours may fail: Chromium, Java, librdkafka on a machine that is out of breath. Its test is tried
again once, with everything made anew, and each such try is told and counted. What we say ourselves is never asked twice;
what a page shows is what a browser on such a machine has come to draw, so a test in the browser is tried again whatever it says:

| failed with | marked `browser` | `clients` or `oracle` | any other test |
|---|---|---|---|
| an assertion, or an exception of our own | tried again | fails | fails |
| an exception of Playwright or librdkafka, a program that did not end or ended badly | tried again | tried again | fails |
| anything at the second try | fails | fails | |
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Generator
from typing import Any

import pytest
from _pytest.runner import runtestprotocol

LEAN_ON = ("browser", "clients", "oracle")
AGAIN = "again"
REASON = 600  # letters of it
FOREIGN = ("playwright", "cimpl")
"""Packages whose exceptions say that a foreign program has failed; `cimpl` is confluent_kafka's."""


def is_foreign(error: BaseException) -> bool:
    package = type(error).__module__.partition(".")[0]
    return package in FOREIGN or isinstance(error, (subprocess.TimeoutExpired, subprocess.CalledProcessError))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: Any) -> Generator[None, Any, Any]:
    report = yield
    report.outside = report.failed and (item.get_closest_marker("browser") is not None or is_foreign(call.excinfo.value))
    return report


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Only of tests that lean on something; all others go their usual way."""
    if not any(item.get_closest_marker(name) for name in LEAN_ON):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, nextitem=nextitem, log=False)
    failed = [report for report in reports if report.failed]
    if failed and failed[0].outside:  # what failed behind it followed from it
        failed[0].outcome = AGAIN
        _end_all(item, failed[0])
        item.ihook.pytest_runtest_logreport(report=failed[0])
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _end_all(item: pytest.Item, report: Any) -> None:
    """Fixtures of the file and of the session are made anew, too: it may be their browser that died."""
    try:
        item.session._setupstate.teardown_exact(None)
    except Exception as error:  # of what is broken anyway; it stands in the report
        report.sections.append(("ending what had failed", repr(error)))


def pytest_report_teststatus(report: Any) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
    if report.outcome == AGAIN:
        return AGAIN, "A", ("AGAIN", {"yellow": True})
    return None


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Each first try that did not count, with its reason."""
    tried = terminalreporter.stats.get(AGAIN, [])
    if tried:
        terminalreporter.section("tried again once", yellow=True)
    for report in tried:
        terminalreporter.line(f"{report.nodeid}: {_reason(report.longreprtext)}")
        for title, text in report.sections:
            terminalreporter.line(f"{title}:\n{text}")


def _reason(told: str) -> str:
    """Of a traceback: what was said, and which lines of the tests were under way."""
    lines = [line for line in told.splitlines() if re.match(r"E  |tests/\S+:\d+:", line)]
    return " | ".join(" ".join(line.split()) for line in lines or told.splitlines()[-1:])[:REASON]
