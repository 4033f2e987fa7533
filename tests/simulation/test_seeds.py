"""`python -m lab.faults`: seeds that several processes share are told in order, and as one process tells them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from lab.faults.__main__ import main

ENDS_SOON = "4..5"


def told(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What was printed, without how long it took."""
    return [re.sub(r" in [\d.]+ s\)", ")", line) for line in capsys.readouterr().out.splitlines()]


def test_seeds_are_told_in_order_whoever_runs_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([ENDS_SOON, str(tmp_path / "alone"), "--once"]) == 0
    alone = told(capsys)
    assert [line.split()[0] for line in alone[:2]] == ["4:", "5:"]
    assert alone[-1] == "0 failed"
    assert main([ENDS_SOON, str(tmp_path / "shared"), "--once", "--workers", "2"]) == 0
    assert told(capsys) == alone


@pytest.mark.parametrize("seeds", ["7..3", "one", "1..", ""])
def test_what_is_no_seed_is_named(seeds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main([seeds])
    assert f"{seeds!r} is neither a seed nor FIRST..LAST" in capsys.readouterr().err
