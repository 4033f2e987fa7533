"""Clusters whose coordination tree is kept by three servers: what brokers and clients notice of their losses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lab.clusters.checks import SpecError
from lab.clusters.spec import run_from_dict
from lab.experiments.run import RunResult, run_scenario
from lab.scenarios import grammar

SCENARIO = """\
scenario: ensemble
cluster: {{brokers: 3, ensemble: 3, preset: teaching, link_delay_ms: 1}}
seed: 5
topics: [{{name: orders, partitions: 2, replication_factor: 3, configs: {{min.insync.replicas: 2}}}}]
clients:
  - {{name: producer-a, kind: producer, topic: orders, rate: 50, settings: {{acks: all}}}}
  - {{name: reader, kind: consumer, topic: orders, settings: {{group.id: billing, auto.offset.reset: earliest}}}}
steps:
{steps}
duration: {duration}s
expect: {{receipt.lost: 0, receipt.acked: {acked}, settled.isr_of.orders-0: 3, invariants.violations: 0}}
"""


def _run(out: Path, *steps: str, duration: int = 16, acked: str = '">= 400"') -> RunResult:
    text = "\n".join(f"  - {{{step}}}" for step in steps)
    source = SCENARIO.format(steps=text, duration=duration, acked=acked)
    return run_scenario(grammar.parse(source, "ensemble.yaml"), out=out)


@pytest.mark.parametrize("server", [1, 2, 3])
def test_the_loss_of_one_server_of_three_changes_nothing_for_the_cluster(server, tmp_path):
    name = f"node: zookeeper-{server}"
    done = _run(tmp_path / "run", f"at: 2s, do: kill, {name}", f"after: 8s, do: restart, {name}")
    assert done.passed, done.unmet
    told = (done.directory / "journal.jsonl").read_text().splitlines()
    later = [row[3] for row in map(json.loads, told) if row[1] > 2_000_000]
    assert "session_expired" not in later and "leader_elected" not in later


def test_a_broker_that_dies_is_noticed_by_the_leader_of_the_ensemble(tmp_path):
    done = _run(tmp_path / "run", "at: 2s, do: kill, leader_of: orders-0", "after: 9s, do: restart, broker: 1")
    assert done.passed, done.unmet


def test_without_a_majority_records_are_written_and_no_leader_is_elected(tmp_path):
    done = _run(
        tmp_path / "run", "at: 3s, do: kill, node: zookeeper-1", "at: 3s, do: kill, node: zookeeper-3",
        "after: 9s, do: restart, node: zookeeper-1", duration=24, acked='">= 900"')
    assert done.passed, done.unmet


@pytest.mark.parametrize(("cluster", "code"), [
    ({"ensemble": 3, "controller": "kraft"}, "ensemble_of_zookeeper"), ({"ensemble": 6}, "above"), ({"ensemble": 0}, "below"),
])  # fmt: skip
def test_an_ensemble_has_one_to_five_servers_and_belongs_to_zookeeper(cluster, code):
    with pytest.raises(SpecError) as refused:
        run_from_dict({"cluster": cluster})
    assert refused.value.problem["code"] == code and refused.value.place == ("cluster", "ensemble")


def test_a_description_names_its_ensemble_only_where_it_has_one():
    assert "ensemble" not in run_from_dict({}).to_dict()["cluster"]
    spec = run_from_dict({"cluster": {"ensemble": 5}})
    assert run_from_dict(spec.to_dict()).keeper_names() == [f"zookeeper-{number}" for number in range(1, 6)]
