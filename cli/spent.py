"""What the tests have cost, from the lines that each process of theirs has written (`tests/spending.py`).

    What took longest (seconds; of them a processor worked)
      613   702  tests/browser/test_lessons.py      51 tests
       26    27  tests/browser/test_dialogs.py       3 tests

`learn` keeps what takes more than a few seconds in `tests/lengths.json`, by which workers share the tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from cli.places import CHECKOUT

LENGTHS = CHECKOUT / "tests" / "lengths.json"
LONG_S = 3.0
SHOWN = 12


@dataclass
class Cost:
    """Of one test or of many."""

    wall_s: float = 0.0
    processor_s: float = 0.0
    tests: int = 0

    def add(self, row: dict[str, Any]) -> None:
        self.wall_s += row["wall_s"]
        self.processor_s += row["processor_s"]
        self.tests += row["tests"]


def read(path: Path) -> list[dict[str, Any]]:
    """All lines; none when no test has run."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def by_file(rows: Iterable[dict[str, Any]]) -> dict[str, Cost]:
    """The longest first."""
    costs: dict[str, Cost] = {}
    for row in rows:
        costs.setdefault(row["test"].partition("::")[0], Cost()).add(row)
    return dict(sorted(costs.items(), key=lambda one: -one[1].wall_s))


def told(rows: list[dict[str, Any]]) -> list[str]:
    """Lines for the end of a run: files, then single tests."""
    if not rows:
        return []
    files = by_file(rows)
    total = Cost()
    for row in rows:
        total.add(row)
    lines = ["What took longest (seconds, and how many of them some processor worked for it):"]
    lines += [_line(cost, f"{file}  {cost.tests} tests") for file, cost in list(files.items())[:SHOWN]]
    for row in sorted(rows, key=lambda one: -one["wall_s"])[:SHOWN]:
        lines.append(_line(Cost(row["wall_s"], row["processor_s"]), row["test"]))
    return [*lines, _line(total, f"all {total.tests} tests, one after the other")]


def _line(cost: Cost, what: str) -> str:
    return f"{cost.wall_s:8.1f}  {cost.processor_s:8.1f}  {what}"


def learn(rows: list[dict[str, Any]], path: Path = LENGTHS) -> None:
    """Write the table anew: the seconds of what is known, its pieces as they were."""
    known = json.loads(path.read_text())
    together = {name for name in known if not name.endswith(".py")}
    seconds: dict[str, float] = {}
    for file, cost in by_file(rows).items():
        directory = str(PurePosixPath(file).parent)
        name = directory if directory in together else file
        seconds[name] = seconds.get(name, 0.0) + cost.wall_s
    kept = {name: {**known.get(name, {}), "seconds": round(value)} for name, value in seconds.items()
            if value >= LONG_S or name in together}  # fmt: skip
    ordered = sorted(kept.items(), key=lambda one: (-one[1]["seconds"], one[0]))
    path.write_text("{\n" + ",\n".join(f'  "{name}": {json.dumps(one)}' for name, one in ordered) + "\n}\n")
