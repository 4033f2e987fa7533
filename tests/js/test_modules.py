"""Runs the suites of the page's pure modules in node, each as a test of its own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SUITES = sorted(path.name for path in HERE.glob("*.test.js"))


@pytest.mark.parametrize("suite", SUITES, ids=[name.removesuffix(".test.js") for name in SUITES])
def test_a_suite_of_the_page_passes_in_node(suite: str, require_program: Callable[[str], str]) -> None:
    node = require_program("node")
    done = subprocess.run([node, str(HERE / suite)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert re.search(r"^\S pass [1-9]", done.stdout, re.MULTILINE), f"no test has run: {done.stdout[-2000:]}"
