"""The receipt that is kept as a run goes on is the one that is judged from its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.shared_runs import run_once

from lab.checkers.copies import Copies
from lab.checkers.kept import Kept
from lab.checkers.kept_log import TooMuch
from lab.checkers.kept_receipt import kept_receipt
from lab.checkers.lineage import Lineage, telling
from lab.checkers.receipt import MAX_PLACES, make_receipt
from lab.checkers.receipt_fates import Evidence
from lab.experiments.directory import read_facts

CUTS = 12


def rows_of(run: Path) -> Iterator[tuple[str, Any]]:
    """Journal rows that tell of the lineage, and operations, in the order in which they happened."""
    events = [orjson.loads(orjson.dumps(row)) for row in telling(open(run / "journal.jsonl", "rb"))]
    operations = [orjson.loads(line) for line in open(run / "operations.jsonl", "rb")]
    merged = [("event", row[0], row) for row in events] + [("operation", row["seq"], row) for row in operations]
    for kind, _, row in sorted(merged, key=lambda one: one[1]):
        yield kind, row


def comparable(receipt: Any) -> dict[str, Any]:
    """Places in any order; those of a figure with more than are listed are left out."""
    found = receipt.to_dict()
    places = {kind: sorted(map(orjson.dumps, rows)) for kind, rows in found.pop("places").items() if len(rows) < MAX_PLACES}
    return {**found, "places": places}


def assert_kept_is_judged(run: Path, cuts: int = CUTS) -> int:
    """At so many moments of a run, with the disks of its end; how many of them were kept."""
    facts, rows = read_facts(run), list(rows_of(run))
    kept, lineage, operations, answered = Kept(), Lineage(), [], 0
    marks = {len(rows) * number // cuts for number in range(1, cuts + 1)}
    for number, (kind, row) in enumerate(rows, 1):
        if kind == "event":
            kept.row(row)
            lineage.take(row)
        else:
            kept.operation(row)
            operations.append(row)
        if number not in marks:
            continue
        for copies in (None, facts.get("copies") if number == len(rows) else []):
            wanted = make_receipt(operations, Evidence(lineage, Copies(copies) if copies is not None else None))
            try:
                found = kept_receipt(kept, copies)
            except TooMuch:
                continue
            answered += 1
            assert comparable(found) == comparable(wanted), f"{run.name}, row {number} of {len(rows)}"
    return answered


NAMES = ["acks-1", "acks-0", "retry-duplicates", "reordering", "unclean-election", "retention-deletes-unread-data", "compaction"]


@pytest.mark.parametrize("name", NAMES)
def test_the_kept_receipt_of_a_lesson_is_that_of_its_files_at_every_moment(name: str) -> None:
    assert assert_kept_is_judged(run_once(name).directory) == 2 * CUTS
