"""A directory of a broker fails while the broker runs: the journal says so, and not that the broker is gone."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiments.findings import read_rows
from lab.experiments.run import run_scenario
from lab.scenarios.grammar import parse

SOURCE = """\
cluster: {{brokers: 3, controller: {controller}, preset: teaching, settings: {{log.dirs: "data/a,data/b"}}}}
seed: 7
topics:
  - {{name: orders, assignment: [[2, 3]]}}
  - {{name: carts, assignment: [[2, 3]]}}
  - {{name: clicks, assignment: [[3, 2]]}}
  - {{name: bills, assignment: [[3, 2]]}}
clients:
  - {{name: producer-orders, kind: producer, topic: orders, rate: 20}}
  - {{name: producer-carts, kind: producer, topic: carts, rate: 20}}
  - {{name: producer-clicks, kind: producer, topic: clicks, rate: 20}}
  - {{name: producer-bills, kind: producer, topic: bills, rate: 20}}
steps: [{{at: 1s, do: disk_write_error, broker: 2, directory: data/b}}]
duration: 3s
settle: 30s
expect: {{receipt.lost: 0}}
"""


REPAIRED_TOO_LATE = """\
cluster: {brokers: 3, controller: kraft, preset: teaching, settings: {log.dirs: "data/a,data/b"}}
seed: 7
topics:
  - {name: orders, assignment: [[2]]}
  - {name: carts, assignment: [[2]]}
steps:
  - {at: 1s, do: kill, broker: 2}
  - {at: 1s, do: disk_read_error, broker: 2, directory: data/b}
  - {at: 1100ms, do: restart, broker: 2}
  - {at: 1200ms, do: repair_disk, broker: 2}
  - {at: 15s, check: {leader_of: carts-0, is: -1}}
  - {at: 15s, check: {leader_of: orders-0, is: 2}}
  - {at: 15s, do: restart, broker: 2}
  - {when: {leader_of: carts-0, is: 2}, within: 20s, check: {leader_of: orders-0, is: 2}}
duration: 30s
settle: 30s
"""


def test_a_directory_that_could_not_be_read_at_the_start_is_offline_until_the_next_one(tmp_path: Path) -> None:
    """It works again before the broker is registered, which did not know then whose it was: so it has not named it."""
    result = run_scenario(parse(REPAIRED_TOO_LATE, "x.yaml"), out=tmp_path / "run")
    assert result.passed, result.unmet
    rows = read_rows(result.directory / "journal.jsonl")
    assert "data/b" in [row[5]["path"] for row in rows if row[3] == "disk_fault" and row[5]["operation"] == "log directory offline"]


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_whoever_leads_instead_and_a_shorter_isr_are_told_with_the_directory_as_the_reason(controller: str, tmp_path: Path) -> None:
    result = run_scenario(parse(SOURCE.format(controller=controller), "x.yaml"), out=tmp_path / "run")
    assert result.passed
    rows = list(read_rows(result.directory / "journal.jsonl"))
    failed = next(number for number, row in enumerate(rows) if row[3] == "disk_fault")
    told = {(row[3], row[5]["reason"]) for row in rows[failed:] if row[3] in ("leader_elected", "isr_shrunk") and row[1] < rows[failed][1] + 2_000_000}
    assert told == {("leader_elected", "log directory offline"), ("isr_shrunk", "log directory offline")}
