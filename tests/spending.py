"""What each test costs: seconds, and how many of them some processor worked for it, here or in a program it started.

`./brokerlab test` names a file in `BROKERLAB_SPENT`, gathers what all workers write into it, and says at the end what
took longest. Seconds without work are waits: for a browser, for Java, or for a processor that others have.

    {"test": "tests/browser/test_keys.py::test_rest[en]", "wall_s": 4.1, "processor_s": 3.2, "tests": 1}

To look at all processes takes as long as a small test: quick tests of a file are one line, with the slow one behind.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator

import psutil
import pytest

QUICK_S = 0.3
FILE = "BROKERLAB_SPENT"


def processor_s() -> float:
    """User and system time of this process and of all that it has started, ended or not."""
    live = 0.0
    for process in psutil.Process().children(recursive=True):
        try:
            live += sum(process.cpu_times()[:4])
        except psutil.Error:
            continue  # it has just ended
    return sum(os.times()[:4]) + live


class Spending:
    """Writes the lines of one process."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.tests = 0
        self.wall_s = 0.0
        self.worked_s = processor_s()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None, object, object]:
        began = time.monotonic()
        done = yield
        took_s = time.monotonic() - began
        self.tests += 1
        self.wall_s += took_s
        if took_s >= QUICK_S or nextitem is None or nextitem.path != item.path:
            self._write(item.nodeid)
        return done

    def _write(self, nodeid: str) -> None:
        before, self.worked_s = self.worked_s, processor_s()
        row = {"test": nodeid, "wall_s": round(self.wall_s, 2), "tests": self.tests,
               "processor_s": round(max(0.0, self.worked_s - before), 2)}
        with open(self.path, "a") as file:  # a line of this length is written whole, whoever else writes
            file.write(json.dumps(row) + "\n")
        self.tests, self.wall_s = 0, 0.0


def pytest_configure(config: pytest.Config) -> None:
    path = os.environ.get(FILE)
    if path and config.getoption("dist", "no") == "no":  # who deals out runs no test
        config.pluginmanager.register(Spending(path), "brokerlab-spending")
