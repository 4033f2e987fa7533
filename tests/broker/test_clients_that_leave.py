"""What a client had sent before it left is served, as long as no answer has to be written to nobody."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.experiments.run import RunResult, run_scenario
from lab.scenarios import grammar

SLOW = """
cluster: {{brokers: 1, preset: teaching, link_delay_ms: 1}}
topics: [{{name: orders, partitions: 1, replication_factor: 1}}]
clients:
  - {{name: producer-orders, kind: producer, topic: orders, rate: 50, size: 100,
      settings: {{acks: "{acks}", enable.idempotence: false}}}}
steps:
  - {{at: 1s, do: slow_disk, broker: 1, latency_ms: 100}}
  - {{after: 2s, do: {end}}}
  - {{after: 1s, do: stop_all_faults}}
duration: 8s
"""
STOP, KILL = "stop_client, name: producer-orders", "kill, node: producer-orders"


def _run(out: Path, acks: str, end: str) -> RunResult:
    return run_scenario(grammar.parse(SLOW.format(acks=acks, end=end), "slow.yaml"), out=out)


@pytest.mark.parametrize("end", [STOP, KILL])
def test_a_producer_with_acks_0_may_send_and_leave(end: str, tmp_path: Path) -> None:
    total = _run(tmp_path / "run", "0", end).receipt.total
    assert total.acked >= 140 and total.lost == 0


def test_what_waits_behind_an_answer_that_nobody_reads_is_given_up(tmp_path: Path) -> None:
    """Of five requests in flight the one that is being served is written; its answer ends the connection."""
    result = _run(tmp_path / "run", "1", KILL)
    rows = map(json.loads, (result.directory / "journal.jsonl").read_text().splitlines())
    appended = [row[5]["last_offset"] - row[5]["base_offset"] + 1 for row in rows if row[3] == "log_appended"]
    assert result.receipt.total.read == sum(appended) == result.receipt.total.acked + appended[-1]
