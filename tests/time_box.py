"""A slow machine must not cost an answer: what is marked `slow` comes last, and begins before a given time or not at all.

`BROKERLAB_TESTS_UNTIL` (seconds since 1970; `.ci/run` sets it) is that time. What did not begin is skipped with this
reason and counted; `./brokerlab test --all` asks it.
"""

from __future__ import annotations

import os
import time

import pytest

UNTIL = "BROKERLAB_TESTS_UNTIL"


def pytest_runtest_setup(item: pytest.Item) -> None:
    until = os.environ.get(UNTIL)
    if until and item.get_closest_marker("slow") is not None and time.time() > float(until):
        pytest.skip("no time is left for what takes long; brokerlab test --all asks it")
