"""Which tests run together, and in which order, when several workers share them.

`lengths.json` knows what takes long: seconds on two quiet cores of each file above a few, by `./brokerlab test --learn`.

| entry | seconds | pieces | means |
|---|---|---|---|
| tests/browser/test_lessons.py | 640 | 16 | its tests are dealt out in 16 parts: one worker alone would be the last by far |
| tests/analytics | 400 | 2 | files of the directory go to one of two workers: those of each share a Spark session |
| tests/lab/test_faults.py | 6 | | a file on one worker, as each that is not named: it shares its fixtures |

The longest part comes first, so that no worker is left alone with one at the end. What is wrong in the table costs
time and nothing else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple
from zlib import crc32

import pytest

LENGTHS = Path(__file__).parent / "lengths.json"
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
    """The name of what stays on one worker: a directory, a file, or a piece of a file."""
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
    """The longest part first; in a part, and among equals, as they came."""
    parts: dict[str, list[str]] = {}
    for one in nodeids:
        parts.setdefault(part_of(one), []).append(one)
    return [one for part in sorted(parts, key=lambda name: -seconds_of(name, len(parts[name]))) for one in parts[part]]


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
