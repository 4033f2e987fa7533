"""Layers, lint and types are checked by the tools that everybody knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.sources import CHECKOUT


def run(program: str, *arguments: str) -> None:
    """A program of this environment must end with exit code 0; its words are the reason when it does not."""
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT), "NO_COLOR": "1"}
    command = [str(Path(sys.executable).with_name(program)), *arguments]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        pytest.fail((done.stdout + done.stderr)[-6000:], pytrace=False)


def test_a_package_imports_only_those_below_it():
    run("lint-imports", "--no-cache", "--no-logo")


def test_ruff_has_nothing_to_say():
    run("ruff", "check", "--no-cache", "--output-format", "concise", ".")


def test_oxlint_has_nothing_to_say_of_the_page():
    run("oxlint", "--config", "tests/js/oxlint.json", "--deny-warnings", "static", "tests/js")


@pytest.mark.slow
def test_everything_is_fully_typed():
    run("mypy")
