"""Replicas move between disks under transactions, compaction and deaths: nothing is lost, and no invariant breaks."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from lab.experiments.findings import read_rows
from lab.experiments.run import run_scenario
from lab.scenarios.grammar import parse

SOURCE = """\
cluster:
  brokers: 3
  controller: {controller}
  preset: teaching
  settings: {{log.dirs: "data/a,data/b", replica.fetch.max.bytes: 2048, min.insync.replicas: 2}}
seed: 11
topics:
  - {{name: orders, assignment: [[1, 2, 3], [2, 3, 1]], configs: {{{segment}: 16384}}}}
  - {{name: users, assignment: [[1, 2, 3]], configs: {{cleanup.policy: compact, {segment}: 16384, min.cleanable.dirty.ratio: 0.1}}}}
clients:
  - {{name: producer-tx, kind: producer, topic: orders, rate: 40, size: 200, transaction_records: 10, settings: {{transactional.id: sales}}}}
  - {{name: producer-u, kind: producer, topic: users, rate: 60, size: 200, keys: 20, settings: {{acks: all}}}}
steps:
  - {{at: 2s, do: slow_disk, broker: 1, directory: data/b, latency_ms: 15}}
  - {{at: 3s, do: move_replica, broker: 1, topic: orders, partition: 0, directory: data/b}}
  - {{at: 3s, do: move_replica, broker: 2, topic: orders, partition: 0, directory: data/b}}
  - {{at: 3s, do: move_replica, broker: 1, topic: users, partition: 0, directory: data/b}}
  - {{at: 3200ms, do: kill, broker: 1}}
  - {{at: 5s, do: restart, broker: 1}}
  - {{at: 9s, do: move_replica, broker: 1, topic: orders, partition: 0, directory: data/a}}
duration: 11s
expect: {{invariants.violations: 0, receipt.lost: 0, settled.isr_of.orders-0: 3, settled.isr_of.users-0: 3}}
"""


@pytest.mark.parametrize(("controller", "segment"), [("zookeeper", "segment.bytes"), ("kraft", "internal.segment.bytes")])
def test_replicas_move_while_all_else_goes_on(controller: str, segment: str, tmp_path: Path) -> None:
    result = run_scenario(parse(SOURCE.format(controller=controller, segment=segment), "x.yaml"), out=tmp_path / "run")
    assert result.passed, result.unmet
    rows = [row for row in read_rows(result.directory / "journal.jsonl") if row[3].startswith("replica_move")]
    moved = Counter((row[2], row[5]["topic"], row[5]["directory"]) for row in rows if row[3] == "replica_moved")
    assert moved == Counter([
        ("broker-1", "orders", "data/b"), ("broker-2", "orders", "data/b"), ("broker-1", "users", "data/b"), ("broker-1", "orders", "data/a")])  # fmt: skip
    assert any(row[5]["reached"] > 0 for row in rows if row[3] == "replica_move_begun"), "a restart goes on with a copy"
