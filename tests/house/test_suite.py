"""How the tests are run: what is tried again and what never, who gets which, and what is said at the end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests import spreading, time_box
from tests.spreading import LENGTHS, Length

from cli import spent, testing
from cli.__main__ import main
from tests.house.sources import CHECKOUT

TRIED = """
import subprocess
import pytest
from pathlib import Path

tries = []

def wreck():
    subprocess.run(["false"], check=True)

@pytest.fixture(scope="module")
def program():
    tries.append("made")
    return len(tries)

@pytest.mark.browser
def test_a_program_fails_once(program):
    if program == 1:
        wreck()
    assert tries == ["made", "made"]

@pytest.mark.browser
def test_a_page_drew_late():
    tries.append("late")
    assert tries.count("late") == 2

@pytest.mark.browser
def test_a_page_is_wrong():
    assert False

@pytest.mark.clients
def test_a_program_fails_twice():
    wreck()

@pytest.mark.oracle
def test_we_are_wrong():
    tries.append("wrong")
    assert tries.count("wrong") == 2

def test_nobody_said_that_it_leans_on_a_program():
    tries.append("unmarked")
    if tries.count("unmarked") == 1:
        wreck()
"""


@pytest.mark.parametrize("workers", [0, 2])
def test_only_what_is_not_ours_is_tried_again_once_and_told(workers: int, tmp_path: Path) -> None:
    (tmp_path / "test_tried.py").write_text(TRIED)
    (tmp_path / "conftest.py").write_text("from tests.outside import *")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  browser\n  clients\n  oracle\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:django", "-n", str(workers), "--dist", "loadfile", "."]
    done = subprocess.run(command, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(CHECKOUT)}, capture_output=True, text=True)
    told = done.stdout.splitlines()
    assert "2 passed" in told[-1] and "4 failed" in told[-1] and "4 again" in told[-1], done.stdout
    again = [line.partition(":")[0] for line in told if line.startswith("test_tried.py") and "CalledProcessError" in line]
    assert again == ["test_tried.py"] * 2, done.stdout
    assert any(line.startswith("test_tried.py::test_a_page_drew_late: ") and "assert 1 == 2" in line for line in told), done.stdout


def test_the_longest_part_comes_first_and_no_test_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {"tests/a/test_long.py": Length(80, 4), "tests/shared": Length(30), "tests/a/test_short.py": Length(3),
             "tests/split": Length(10, 2)}
    monkeypatch.setattr(spreading, "lengths", lambda: table)
    names = [f"{file}::test_{number}" for file in ("tests/b/test_new.py", "tests/a/test_short.py", "tests/shared/test_x.py",
             "tests/shared/test_y.py", "tests/a/test_long.py") for number in range(20)]  # fmt: skip
    given = spreading.ordered(names)
    assert sorted(given) == sorted(names)
    parts = list(dict.fromkeys(map(spreading.part_of, given)))
    assert len(parts) == len({*parts}) == 7 and len([one for one in given if spreading.part_of(one) == "tests/shared"]) == 40
    assert parts[0] == "tests/shared" and parts[5:] == ["tests/b/test_new.py", "tests/a/test_short.py"]
    assert max(Counter(map(spreading.part_of, names[80:])).values()) < 12
    files = [f"tests/split/test_{number}.py" for number in range(9)]
    halves = {file: {spreading.part_of(f"{file}::test_{number}") for number in range(5)} for file in files}
    assert all(len(parts) == 1 for parts in halves.values()) and len(set().union(*halves.values())) == 2, "files stay whole"


def test_every_file_of_the_table_of_lengths_is_there() -> None:
    assert [name for name in json.loads(LENGTHS.read_text()) if not (CHECKOUT / name).exists()] == []


def test_what_took_long_is_told_and_learnt(tmp_path: Path) -> None:
    rows = [{"test": f"tests/{name}::test", "wall_s": seconds, "processor_s": seconds / 2, "tests": 3}
            for name, seconds in (("a/test_a.py", 5.0), ("a/test_b.py", 9.0), ("c/test_c.py", 1.0), ("d/test_d.py", 2.0))]  # fmt: skip
    lines = spent.told(rows)
    assert lines[1].split() == ["9.0", "4.5", "tests/a/test_b.py", "3", "tests"] and "all 12 tests" in lines[-1]
    table = tmp_path / "lengths.json"
    table.write_text('{"tests/a/test_b.py": {"seconds": 1, "pieces": 3}, "tests/d": {"seconds": 50}, "tests/gone.py": {"seconds": 9}}')
    spent.learn(rows, table)
    assert json.loads(table.read_text()) == {"tests/a/test_b.py": {"seconds": 9, "pieces": 3},
                                             "tests/a/test_a.py": {"seconds": 5}, "tests/d": {"seconds": 2}}  # fmt: skip


@pytest.mark.parametrize(("in_ci", "arguments", "also"), [
    ("", [], " and not every and not slow"), ("true", [], " and not every"), ("", ["--all"], ""),
])  # fmt: skip
def test_pages_come_first_and_what_is_slow_not_every_day(
    in_ci: str, arguments: list[str], also: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[list[str]] = []
    monkeypatch.setenv("CI", in_ci)
    monkeypatch.setattr(testing, "_pytest", lambda options, *_: (calls.append(options), (0, Counter(passed=1), []))[1])
    assert main(["test", *arguments]) == 0
    assert [call[1] for call in calls] == ["browser" + also, "not browser" + also]


def test_what_is_slow_comes_last() -> None:
    """The one who deals out finds it by reading, with all that pytest knows of a file's marks."""
    files = ["tests/web/test_scaling.py", "tests/analytics/test_worker.py", "tests/house/test_tools.py", "tests/browser/test_limits.py"]
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--collect-only"]
    names = {marks: [line for line in subprocess.run([*command, "-m", marks, *files], cwd=CHECKOUT, capture_output=True, text=True).stdout.splitlines() if "::" in line]
             for marks in ("slow and not browser", "not slow or browser")}  # fmt: skip
    assert min(map(len, names.values())) > 5
    given = spreading.ordered(sorted([name for some in names.values() for name in some]))
    assert sorted(given[-len(names["slow and not browser"]):]) == sorted(names["slow and not browser"])
    assert {spreading.part_of(name).rpartition("::")[2] for name in names["slow and not browser"]} == {"slow"}


@pytest.mark.parametrize(("left_s", "marks", "begins"), [(60, ["slow"], True), (-1, ["slow"], False), (-1, [], True)])
def test_without_time_what_is_slow_does_not_begin(left_s: float, marks: list[str], begins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    class Item:
        def get_closest_marker(self, name: str) -> object:
            return name if name in marks else None

    monkeypatch.setenv(time_box.UNTIL, str(time.time() + left_s))
    if begins:
        time_box.pytest_runtest_setup(Item())
    else:
        with pytest.raises(pytest.skip.Exception):
            time_box.pytest_runtest_setup(Item())
