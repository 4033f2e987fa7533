"""The same verdicts wherever a run is executed; sound runs stay green under random faults; lights reach the viewers."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from broker_core.drivers.recording import execute_recording
from broker_core.kernel.problems import told
from lab.branch import Branch, BranchError
from lab.checkers.invariants import InvariantMonitor, described
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import INPUTS, read_facts
from lab.experiments.run import run_scenario
from lab.experiments.anew import execute_again
from lab.feed import Batch
from lab.live import LiveLab
from lab.scenarios import grammar
from tests.conftest import PATIENCE_S, free_ports
from tests.lab.test_faults import ROUGH

POWER = """\
cluster: {brokers: 3, preset: teaching, link_delay_ms: 1}
seed: 4
topics: [{name: orders, partitions: 1}]
clients: [{name: producer-a, kind: producer, topic: orders, rate: 100, settings: {acks: all}}]
steps:
  - {at: 3s, do: power_loss, broker: 1}
  - {after: 1ms, do: power_loss, broker: 2}
  - {after: 1ms, do: power_loss, broker: 3}
  - {after: 1s, do: restart, broker: 1}
  - {after: 1ms, do: restart, broker: 2}
  - {after: 1ms, do: restart, broker: 3}
duration: 9s
expect: {invariants.violations: 0, invariants.NoCommittedRecordLost: ">= 1", invariants.SingleController: 0}
"""


def test_a_run_and_its_re_execution_come_to_the_same_verdicts(tmp_path: Path) -> None:
    result = run_scenario(grammar.parse(POWER, "power.yaml"), out=tmp_path / "run")
    facts = read_facts(result.directory)["invariants"]
    assert not facts["lights"]["NoCommittedRecordLost"]["ok"] and facts["lights"]["SingleController"]["ok"]
    assert [told(one) for one in result.unmet] == [f"invariants.violations: expected == 0, found {facts['violations']}"]
    assert sum(result.violations.values()) == facts["violations"]
    world = execute_again(result.directory)
    monitor = InvariantMonitor(world)
    execute_recording(world, result.directory / INPUTS)
    monitor.finish()
    again = json.loads(json.dumps(monitor.to_dict()))
    assert again["lights"] == facts["lights"] and again["places"] == facts["places"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4, 21))
def test_random_faults_turn_no_light_red(seed: int, tmp_path: Path) -> None:
    result = run_scenario(grammar.parse(ROUGH, "rough.yaml"), seed=seed, out=tmp_path / "run")
    assert result.passed, result.unmet
    assert result.violations == {}


def done(branch: Branch, command: dict[str, Any]) -> None:
    answer = branch.submit(command).result(PATIENCE_S)
    assert answer.get("ok"), answer


def wait(check: Any) -> Any:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        found = check()
        if found:
            return found
        time.sleep(0.02)
    raise AssertionError("it did not come")


def test_a_live_branch_shows_lights_metrics_and_bytes(tmp_path: Path) -> None:
    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}}), tmp_path / "data")
    lab.start()
    try:
        main, batches = lab.main, []
        main.subscribe(batches.append)
        done(main, {"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3})
        done(main, {"do": "produce", "topic": "orders", "value": "one"})
        name = "kafka.log:type=Log,name=LogEndOffset,topic=orders,partition=0"
        wait(lambda: main.metrics().result(PATIENCE_S).get(name) == {"1": 1, "2": 1, "3": 1})
        found = main.bytes("orders", 0, 0, 2).result(PATIENCE_S)
        assert found["records"][0]["value"] == "one" and json.dumps(found)
        with pytest.raises(BranchError, match="has offsets 0 to 0, not 7"):
            main.bytes("orders", 0, 7, 2).result(PATIENCE_S)
        lights = json.loads(main.snapshot().result(PATIENCE_S)[1])["state"]["invariants"]
        assert set(lights) == set(described()) and all(light["ok"] for light in lights.values())
        main.ask(_break, main).result(PATIENCE_S)
        turned = wait(lambda: _lights(batches))
        assert turned["SingleController"]["first"]["params"]["epoch"] >= 1
        lights = json.loads(main.snapshot().result(PATIENCE_S)[1])["state"]["invariants"]
        assert [name for name, light in lights.items() if not light["ok"]] == ["SingleController"]
    finally:
        lab.stop()


def _break(branch: Branch) -> None:
    """A second broker takes itself for the controller, for a moment."""
    controllers = [branch.world.nodes[f"broker-{broker}"].machine.cluster.controller for broker in (1, 2, 3)]  # type: ignore[union-attr]
    active = next(one for one in controllers if one.is_active)
    other = next(one for one in controllers if not one.is_active)
    before, other.context.epoch, other.is_active = other.context.epoch, active.epoch, True
    branch.monitor._look(True)
    other.context.epoch, other.is_active = before, False


def _lights(batches: list[Batch]) -> dict[str, Any] | None:
    rows = [row for batch in list(batches) for row in json.loads(batch.text) if row[2] == "lights"]
    return rows[0][5] if rows else None
