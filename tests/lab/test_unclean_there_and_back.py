"""Two brokers lead by turns, each without the other one (acks=1, min.insync.replicas=1, unclean elections): what each wrote alone
stands at the same offsets. When they meet at last one of them cuts, and both logs have to be the same then (KIP-101; Kafka's
`EpochDrivenReplicationProtocolAcceptanceTest`). With the high watermark alone, as before KIP-101, they stay apart for ever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from lab.experiments.run import run_scenario
from lab.scenarios.grammar import from_dict


def turns(*cluster: tuple[str, Any]) -> dict[str, Any]:
    """Broker 1 and 2 write one record, 2 alone one, 1 alone three, 2 alone one, 1 alone two; then both are there."""
    steps: list[dict[str, Any]] = [{"at": "3s", **_write("both")}, {"after": "1s", "do": "kill", "broker": 1}]
    for leader, values in ((2, ["2 alone"]), (1, ["1 alone, a", "1 alone, b", "1 alone, c"]), (2, ["2 again"]), (1, ["1 again, a", "1 again, b"])):
        steps += [{"when": {"leader_of": "orders-0", "is": leader}, "within": "20s", **_write(values[0])}]
        steps += [{"after": "100ms", **_write(value)} for value in values[1:]]
        steps += [{"after": "200ms", "do": "stop", "broker": leader}, {"after": "16s", "do": "restart", "broker": 3 - leader}]
    del steps[-2]  # the last one goes on, and the other one comes back to it
    return {
        "scenario": "there-and-back", "seed": 7, "duration": "90s", "settle": "10s", "steps": steps, "expect": {"settled.isr_of.orders-0": 2},  # looked at where they are to agree
        "cluster": {"brokers": 3, "preset": "teaching", "link_delay_ms": 1, **dict(cluster)},
        "topics": [{"name": "orders", "assignment": [[1, 2]], "configs": {"unclean.leader.election.enable": True, "min.insync.replicas": 1}}],
    }  # fmt: skip


def _write(value: str) -> dict[str, Any]:
    return {"do": "produce", "topic": "orders", "value": value, "acks": 1}


def log_of(run: Path, broker: int) -> bytes:
    return (run / f"broker-{broker}" / "data" / "orders-0" / f"{0:020}.log").read_bytes()


@pytest.mark.parametrize("generation", [{"controller": "zookeeper"}, {"controller": "kraft", "controllers": 3}], ids=["zookeeper", "kraft"])
def test_logs_of_leaders_by_turns_are_the_same_in_the_end(generation: dict[str, Any], tmp_path: Path) -> None:
    result = run_scenario(from_dict(turns(*generation.items())), out=tmp_path / "run")
    assert result.passed, result.unmet
    assert log_of(tmp_path / "run", 1) == log_of(tmp_path / "run", 2) and b"1 again, b" in log_of(tmp_path / "run", 1)
    assert b"2 alone" not in log_of(tmp_path / "run", 2)


@pytest.mark.parametrize("generation", [{"controller": "zookeeper"}, {"controller": "kraft", "controllers": 3}], ids=["zookeeper", "kraft"])
def test_cut_at_the_high_watermark_they_stay_apart(generation: dict[str, Any], tmp_path: Path) -> None:
    switched = {**generation, "protections": {"truncate_by_leader_epoch": False}}
    result = run_scenario(from_dict(turns(*switched.items())), out=tmp_path / "run")
    assert result.violations.get("LogMatching"), result.violations
    assert log_of(tmp_path / "run", 1) != log_of(tmp_path / "run", 2) and b"2 alone" in log_of(tmp_path / "run", 2)
