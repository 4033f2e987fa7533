"""The golden scripts tell what they told when they were written. BROKERLAB_GOLDEN=1 writes them anew."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.scripts.narrator import execute

SCRIPTS = sorted(Path(__file__).parent.glob("*.txt"))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_tells_what_it_told(script: Path) -> None:
    told = execute(script.read_text())
    if os.environ.get("BROKERLAB_GOLDEN"):
        script.write_text(told)
    assert told == script.read_text()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_is_short_enough_to_be_read(script: Path) -> None:
    lines = script.read_text().splitlines()
    assert 25 <= len(lines) <= 90 and lines[0].startswith("# ") and lines.count("---") >= 3
