"""What a request costs a broker's threads (`cluster.stage_costs`): queues form, and the number of threads counts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker_core.broker.stages import StageCosts
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.spec import cluster_from_dict, run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar
from lab.scenarios.export import export_commands
from lab.scenarios.grammar import ScenarioError

COSTLY = {"network_us": 50, "io_us": 4000}
SCENARIO = """\
scenario: costly
cluster:
  brokers: 1
  preset: teaching
  settings: {num.io.threads: THREADS}
  stage_costs: {network_us: 50, io_us: 4000}
seed: 3
record_level: details
topics: [orders]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 75, settings: {linger.ms: 0}}
  - {name: producer-b, kind: producer, topic: orders, rate: 75, settings: {linger.ms: 0}}
  - {name: producer-c, kind: producer, topic: orders, rate: 75, settings: {linger.ms: 0}}
steps:
  - {at: 2s, do: kill, broker: 1}
  - {at: 3s, do: restart, broker: 1}
duration: 8s
expect: {receipt.lost: 0}
"""


def waits(journal: Path) -> list[int]:
    """How long the Produce requests stood in the request queue."""
    rows = [json.loads(line) for line in journal.open()]
    return [row[5]["queue_us"] for row in rows if row[3] == "request_stages" and row[5]["api"] == "Produce"]


def test_requests_queue_for_few_handlers_and_not_for_many_and_the_run_executes_again(tmp_path: Path) -> None:
    totals = {}
    for threads in (1, 8):
        scenario = grammar.parse(SCENARIO.replace("THREADS", str(threads)), "costly.yaml")
        result = run_scenario(scenario, out=tmp_path / str(threads))
        assert result.passed
        assert verify(result.directory).same
        found = waits(result.directory / "journal.jsonl")
        assert len(found) > 200
        totals[threads] = sum(found) / len(found)
    assert totals[1] > 500 > 100 > totals[8]


def test_every_broker_has_the_costs_also_after_a_restart() -> None:
    world = build_world(run_from_dict({"cluster": {"stage_costs": {"io_us": 700}, "brokers": 2}}))
    world.run_until(5_000_000)
    assert [world.nodes[f"broker-{number}"].machine.pipeline.costs for number in (1, 2)] == [StageCosts(0, 700)] * 2


def test_without_the_key_nothing_costs_and_the_plain_form_is_as_before() -> None:
    spec = run_from_dict({})
    assert "stage_costs" not in spec.to_dict()["cluster"]
    world = build_world(spec)
    world.run_until(5_000_000)
    assert world.nodes["broker-1"].machine.pipeline.costs == StageCosts(0, 0)


def test_the_costs_survive_the_plain_form_and_an_export() -> None:
    spec = run_from_dict({"cluster": {"stage_costs": COSTLY}})
    assert run_from_dict(spec.to_dict()).cluster.stage_costs == COSTLY
    assert export_commands(spec, [], "by-hand")["cluster"]["stage_costs"] == COSTLY


@pytest.mark.parametrize(("costs", "place", "reason"), [
    ({"disk_us": 1}, "stage_costs.disk_us", "unknown key 'disk_us', expected one of network_us, io_us"),
    ({"io_us": 1.5}, "stage_costs.io_us", "expected a whole number, found the number 1.5"),
    ({"io_us": True}, "stage_costs.io_us", "expected a whole number, found the word true"),
    ({"io_us": -1}, "stage_costs.io_us", "-1 is below 0"),
    ({"network_us": 1_000_001}, "stage_costs.network_us", "1000001 is above 1000000"),
    ([1], "stage_costs", "expected keys and values, found a list"),
])
def test_wrong_costs_are_named_with_their_place(costs: object, place: str, reason: str) -> None:
    with pytest.raises(SpecError) as refused:
        cluster_from_dict({"stage_costs": costs})
    assert str(refused.value).startswith(f"{place}: {reason}")


def test_a_wrong_cost_in_a_file_is_told_with_its_line() -> None:
    with pytest.raises(ScenarioError, match=r"costly\.yaml:6: cluster\.stage_costs\.io_us: -4000 is below 0"):
        grammar.parse(SCENARIO.replace("4000", "-4000").replace("THREADS", "1"), "costly.yaml")
