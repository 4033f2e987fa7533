"""Runs the page's pure modules in node's test runner, so that one pytest call covers them."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).parent


def test_the_modules_of_the_page_pass_their_tests_in_node(require_program: Callable[[str], str]) -> None:
    files = [str(path) for path in sorted(HERE.glob("*.test.js"))]
    done = subprocess.run([require_program("node"), "--test", *files], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
