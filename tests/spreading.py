"""Which tests run together, and in which order, when several workers share them.

`lengths.json` knows what takes long: seconds on two quiet cores of each file above a few, by `./brokerlab test --learn`.

| entry | seconds | pieces | means |
|---|---|---|---|
| tests/browser/test_lessons.py | 640 | 16 | its tests are dealt out in 16 parts: one worker alone would be the last by far |
| tests/analytics | 400 | 2 | files of the directory go to one of two workers: those of each share a Spark session |
| tests/lab/test_faults.py | 6 | | a file on one worker, as each that is not named: it shares its fixtures |

The longest part comes first, so that no worker is left alone with one at the end. What is wrong in the table costs
time and nothing else. What is marked `slow` and needs no browser is a part of its own behind all others: a machine that
is out of time leaves it out (`tests/time_box.py`). Who deals out knows only names, so the mark is read in the file.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zlib import crc32

import pytest

CHECKOUT = Path(__file__).resolve().parent.parent
LENGTHS = CHECKOUT / "tests" / "lengths.json"
SLOW, PAGES = "mark.slow", "tests/browser/"
UNKNOWN_S = 0.2
"""Of a test that the table does not know."""


class Length(NamedTuple):
    """What is known of a file, or of a directory whose files stay together."""

    seconds: float
    pieces: int = 1


@cache
def lengths() -> dict[str, Length]:
    return {name: Length(**one) for name, one in json.loads(LENGTHS.read_text()).items()}


def part_of(nodeid: str) -> str:
    """The name of what stays on one worker: a directory, a file, or a piece of a file; of these what is slow."""
    return f"{_place_of(nodeid)}::slow" if is_last(nodeid) else _place_of(nodeid)


def is_last(nodeid: str) -> bool:
    """Whether this test begins only when there is time left for it."""
    file, _, name = nodeid.partition("::")
    return not file.startswith(PAGES) and name.partition("[")[0] in _slow_ones(file)


@cache
def _slow_ones(file: str) -> frozenset[str]:
    """Names of the tests of a file that carry the mark, each or all together."""
    path = CHECKOUT / file
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if SLOW not in text:
        return frozenset()
    tests = {node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)}
    whole = any(line.startswith("pytestmark") and SLOW in line for line in text.splitlines())
    return frozenset(name for name, node in tests.items() if whole or SLOW in " ".join(map(ast.unparse, node.decorator_list)))


def _place_of(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    directory = str(PurePosixPath(file).parent)
    if directory in lengths():
        pieces = lengths()[directory].pieces
        return directory if pieces == 1 else f"{directory}::{crc32(file.encode()) % pieces}"
    pieces = lengths()[file].pieces if file in lengths() else 1
    return file if pieces == 1 else f"{file}::{crc32(nodeid.encode()) % pieces}"


def seconds_of(part: str, tests: int) -> float:
    """How long a part takes, with so many tests."""
    known = lengths().get(part.partition("::")[0])
    return known.seconds / known.pieces if known is not None else tests * UNKNOWN_S


def ordered(nodeids: Iterable[str]) -> list[str]:
    """The longest part first, what is slow last; in a part, and among equals, as they came."""
    parts: dict[str, list[str]] = {}
    for one in nodeids:
        parts.setdefault(part_of(one), []).append(one)
    first = sorted(parts, key=lambda name: (is_last(parts[name][0]), -seconds_of(name, len(parts[name]))))
    return [one for part in first for one in parts[part]]


def is_spread(config: pytest.Config) -> bool:
    """Whether this process is one of several that share the tests."""
    return hasattr(config, "workerinput")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Every worker comes to the same order, and the one who deals out keeps to it."""
    if is_spread(config):
        by_name = {item.nodeid: item for item in items}
        items[:] = [by_name[name] for name in ordered(by_name)]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`./brokerlab test` asks for `--dist loadfile`: that is, by parts."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByPart(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return part_of(nodeid)

    config.option.loadscopereorder = False
    return ByPart(config, log)
