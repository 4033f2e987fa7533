"""Everything at once: crashes, pauses, partitions, lost messages. What was promised holds, and comes out the same."""

from __future__ import annotations

from pathlib import Path

import pytest

from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar

ROUGH = """\
cluster: {brokers: 3, preset: teaching, link_delay_ms: 1, settings: {min.insync.replicas: 2}}
topics: [{name: orders, partitions: 3}]
clients:
  - {name: producer-safe, kind: producer, topic: orders, rate: 100, keys: 20, settings: {acks: all}}
  - name: producer-plain
    kind: producer
    topic: orders
    rate: 50
    settings: {acks: all, enable.idempotence: false}
  - {name: c1, kind: consumer, topic: orders, settings: {group.id: g, auto.offset.reset: earliest}}
  - {name: c2, kind: consumer, topic: orders, settings: {group.id: g, auto.offset.reset: earliest}}
steps:
  - {at: 2s, do: drop_link, between: [2, producer-safe], probability: 0.05}
  - {at: 4s, do: partition_link, between: [1, 2]}
  - {after: 1s, do: kill, leader_of: orders-1}
  - {after: 5s, do: stop_all_faults}
  - {after: 10ms, do: restart, broker: 1}
  - {after: 10ms, do: restart, broker: 2}
  - {after: 10ms, do: restart, broker: 3}
  - {after: 4s, do: pause, leader_of: orders-2}
  - {after: 1500ms, do: kill, node: c1}
  - {after: 3s, do: stop_all_faults}
  - {after: 2s, do: stop, leader_of: orders-0}
duration: 25s
expect:
  receipt.lost: 0
  receipt.failed_read: 0
  receipt.inconsistent: 0
  receipt.producers.producer-safe.duplicated: 0
  receipt.producers.producer-safe.reordered: 0
"""


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_nothing_that_was_acked_by_all_is_lost_under_many_faults(seed: int, tmp_path: Path) -> None:
    result = run_scenario(grammar.parse(ROUGH, "rough.yaml"), seed=seed, out=tmp_path / "run")
    assert result.passed, result.unmet
    assert result.receipt.total.acked > 2000
    assert verify(result.directory).same
    assert result.violations == {}

DOUBLED = """\
cluster: {brokers: 1, preset: teaching, link_delay_ms: 1}
topics: [{name: orders, partitions: 1, replication_factor: 1}]
clients:
  - {name: producer-safe, kind: producer, topic: orders, rate: 20, settings: {acks: all}}
  - {name: producer-plain, kind: producer, topic: orders, rate: 20, settings: {acks: all, enable.idempotence: false}}
steps:
  - {at: 1s, do: duplicate_link, between: [producer-safe, 1], one_way: true, probability: 1.0}
  - {at: 1s, do: duplicate_link, between: [producer-plain, 1], one_way: true, probability: 1.0}
duration: 3s
expect:
  invariants.violations: 0
  receipt.lost: 0
  receipt.producers.producer-safe.duplicated: 0
  receipt.producers.producer-plain.duplicated: ">= 20"
"""


def test_a_request_that_arrives_twice_is_the_same_bytes_twice(tmp_path: Path) -> None:
    """The leader writes offsets into the first copy. The second one is a duplicate to be recognised, no damaged batch."""
    result = run_scenario(grammar.parse(DOUBLED, "doubled.yaml"), out=tmp_path / "run")
    assert result.passed, result.unmet
