"""`python -m lab.experiments`: the digests by which a change that is to change nothing is tried."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiments.__main__ import main

ONE = ["three-files", "--seeds", "1"]


def test_each_course_of_a_lesson_has_a_digest_and_it_is_the_same_again(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(ONE) == 0
    printed = capsys.readouterr().out
    assert [line.rpartition(" ")[0] for line in printed.splitlines()] == ["three-files 1", "three-files/fork 1"]
    before = tmp_path / "before"
    before.write_text(printed)
    assert main([*ONE, "--against", str(before)]) == 0
    assert capsys.readouterr() == (printed, "0 differ\n")


def test_a_journal_that_came_out_differently_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    before = tmp_path / "before"
    before.write_text("three-files 1 0123\n")
    assert main([*ONE, "--against", str(before)]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[0].endswith("  DIFFERS") and "DIFFERS" not in out.splitlines()[1] and err == "1 differ\n"
