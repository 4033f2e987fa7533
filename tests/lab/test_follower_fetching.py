"""Whole runs in which consumers read from followers of their rack: no light turns red, no history is judged stale."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lab.experiments.run import RunResult, run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar

NEAR = """\
cluster:
  brokers: [{id: 1, rack: a}, {id: 2, rack: b}, {id: 3, rack: c}]
  preset: teaching
  link_delay_ms: 1
  settings: {replica.selector.class: org.apache.kafka.common.replica.RackAwareReplicaSelector}
seed: 4
topics: [{name: orders, partitions: 3}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 100, keys: 10, settings: {acks: all}}
  - {name: near, kind: consumer, topic: orders, settings: {group.id: billing, client.rack: b, auto.offset.reset: earliest}}
  - {name: alone, kind: consumer, topic: orders, settings: {client.rack: c, auto.offset.reset: earliest}}
steps:
  - {at: 3s, do: kill, broker: 1}
  - {after: 8s, do: restart, broker: 1}
  - {after: 6s, do: kill, broker: 2}
duration: 24s
expect: {invariants.violations: 0, receipt.lost: 0, receipt.duplicated: 0, receipt.reordered: 0}
"""


@pytest.fixture(scope="module", params=[4, 7])
def result(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Broker 1 dies as a leader, broker 2 as a leader and as the replica that `near` reads from."""
    out = tmp_path_factory.mktemp("near") / "run"
    return run_scenario(grammar.parse(NEAR, "near.yaml"), seed=request.param, out=out)


def rows(result: RunResult) -> list[Any]:
    lines = (result.directory / "journal.jsonl").read_text().splitlines()
    return [row for row in map(json.loads, lines) if isinstance(row, list)]


def test_readers_of_followers_lose_nothing_and_no_light_turns_red_when_leaders_die(result: RunResult) -> None:
    assert result.passed and result.violations == {}, result.unmet
    receipt = result.receipt.to_dict()
    assert [receipt[name] for name in ("lost", "stale", "inconsistent", "reordered")] == [0, 0, 0, 0]
    assert result.receipt.total.acked > 1500


def test_both_consumers_went_to_followers_and_had_to_come_back(result: RunResult) -> None:
    moves = {(row[2], row[5]["reason"]) for row in rows(result) if row[3] == "read_replica"}
    assert {("near", "nearest"), ("alone", "nearest"), ("near", "error")} <= moves
    assert {reason for _, reason in moves} <= {"nearest", "error", "new leader"}


def test_executed_again_it_gives_the_same_journal(result: RunResult) -> None:
    assert verify(result.directory).same
