"""One whole simulated world as a task: run it, judge it, keep the figures, throw the files away.

Runs inside Spark's executors, and knows nothing of Spark. A run that fails is a row, too: which seed, which
cell, what happened, and the command that runs it again.
"""

from __future__ import annotations

import copy
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import orjson

from broker_core.kernel.problems import told
from lab import heap
from lab.analytics.errors import kept, trouble
from lab.analytics.owed import OWED
from lab.experiments.directory import RUN, read_operations
from lab.experiments.findings import load_end_us, longest_gaps_us
from lab.experiments.run import run_scenario
from lab.scenarios import grammar

FIGURES = ("acked", "read", "lost", "duplicated", "reordered")
MORE = (
    "unread", "at_risk", "removed", "inconsistent", "failed_read", "aborted", "aborted_read", *OWED, "unknown",
    "unknown_read",
)  # fmt: skip
COLUMNS = (
    ("cell", "string"), ("seed", "bigint"), *((name, "bigint") for name in (*FIGURES, *MORE)),
    ("write_gap_s", "double"), ("virtual_s", "double"), ("wall_s", "double"), ("notes", "string"), ("error", "string"),
    ("command", "string"),
)  # fmt: skip


def simulate(
    cell: str, document: Mapping[str, Any], seed: int, command: str, scratch: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run a document under a seed, its files below `scratch` (None: where temporary files go); a row with the names
    of COLUMNS, `error` set when it failed."""
    row: dict[str, Any] = dict.fromkeys([name for name, _ in COLUMNS])
    row |= {"cell": cell, "seed": seed, "command": command}
    started = time.perf_counter()
    try:
        with tempfile.TemporaryDirectory(prefix="brokerlab-run-", dir=scratch) as directory:
            row |= _figures(document, seed, Path(directory) / "run")
    except Exception as error:
        row["error"] = kept(trouble(error))
    row["wall_s"] = time.perf_counter() - started
    heap.settle_executor()
    return row


def _figures(document: Mapping[str, Any], seed: int, directory: Path) -> dict[str, Any]:
    given = copy.deepcopy(dict(document))
    given["record_level"] = "transitions"
    result = run_scenario(grammar.from_dict(given), seed=seed, out=directory)
    receipt = result.receipt.to_dict()
    facts = orjson.loads((directory / RUN).read_bytes())
    return {
        **{name: receipt[name] for name in (*FIGURES, *MORE)}, "virtual_s": result.virtual_s,
        "write_gap_s": longest_gap(read_operations(directory), facts),
        "notes": "; ".join(map(told, result.notes)) or None,
    }  # fmt: skip


def longest_gap(operations: Iterable[Mapping[str, Any]], facts: Mapping[str, Any]) -> float | None:
    """Longest time under load without an acknowledgement, of all partitions, in seconds; None when nothing was sent."""
    until = load_end_us(facts)
    gaps = longest_gaps_us(operations, facts["began_us"], facts["end_us"] if until is None else until)
    return max(gaps.values()) / 1e6 if gaps else None
