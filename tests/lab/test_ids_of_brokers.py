"""Which machine is which broker: two of them with one id, and those for which nobody chose one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker_core.kernel.names import broker_node
from broker_core.kernel.problems import told
from broker_core.log.checkpoints import read_meta_properties
from lab.clusters import observe
from lab.clusters.joining import keep_joined, read_joined
from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar
from lab.truth import truth_of
from tests.lab.test_joining import SPEC, Lab

KRAFT: dict[str, Any] = {"cluster": {"brokers": 3, "preset": "teaching", "controller": "kraft", "controllers": 3}, "seed": 5}
SECOND = "machine-1"


class WatchedLab(Lab):
    """`rows`: all events from its start on."""

    def __init__(self, spec: dict[str, Any] | None = None) -> None:
        super().__init__(spec)
        self.rows: list[Any] = []
        self.world.journal.watchers.append(self.rows.append)


def lab_of(generation: str) -> WatchedLab:
    lab = WatchedLab(KRAFT if generation == "kraft" else SPEC)
    lab.do(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    lab.run(2)
    return lab


def events(lab: WatchedLab, code: str) -> list[tuple[str, dict[str, Any]]]:
    return [(row[2], row[5]) for row in lab.rows if row[3] == code]


def properties(lab: Lab, node: str) -> dict[str, str]:
    return read_meta_properties(lab.world.nodes[node].storage, "data")


def isr(lab: Lab) -> list[int]:
    held = truth_of(lab.world).partition_state("orders", 0)
    assert held is not None
    return sorted(held["isr"])


@pytest.mark.parametrize("generation", ["zookeeper", "kraft"])
def test_a_second_machine_with_a_living_id_is_refused_and_changes_nothing(generation: str) -> None:
    lab = lab_of(generation)
    before = truth_of(lab.world).partition_state("orders", 0)
    assert lab.do(do="add_machine", broker=2) | {"seq": 0} == {"ok": True, "seq": 0, "node": SECOND, "broker": 2}
    lab.run(5)
    assert events(lab, "broker_refused") == [(SECOND, {"broker": 2, "owner": "127.0.0.1:9093"})]
    assert truth_of(lab.world).partition_state("orders", 0) == before
    assert lab.world.nodes[broker_node(2)].incarnation == 1
    state = observe.observe(lab.world, lab.spec)
    assert SECOND not in state["clients"] and list(state["machines"]) == [SECOND]
    if generation == "zookeeper":
        assert state["machines"][SECOND] == {"node": SECOND, "state": "stopped", "how": "refused", "incarnation": 1}
    else:
        assert state["machines"][SECOND]["state"] == "running"
        lab.run(60)
        assert lab.world.nodes[SECOND].how_stopped == "refused"


@pytest.mark.parametrize("generation", ["zookeeper", "kraft"])
def test_when_the_id_is_free_the_second_machine_is_the_broker_and_the_first_one_is_refused(generation: str) -> None:
    lab = lab_of(generation)
    disks = properties(lab, broker_node(2))
    lab.do(do="kill", broker=2)
    lab.run(5)
    lab.do(do="add_machine", broker=2)
    lab.run(8)
    assert isr(lab) == [1, 2, 3] and lab.world.nodes[broker_node(2)].state == "running"
    assert properties(lab, SECOND) == disks
    mine = properties(lab, broker_node(2))
    assert mine.get("directory.id") != disks.get("directory.id") or generation == "zookeeper"
    assert [how for node, how in events(lab, "process_ended") if node == SECOND] == [{"how": "took_over"}]
    lab.do(do="restart", node=SECOND)
    lab.run(5)
    assert [node for node, _ in events(lab, "broker_refused")] == [SECOND]
    assert isr(lab) == [1, 2, 3] and properties(lab, broker_node(2)) == mine


def test_with_kraft_it_asks_until_the_session_is_over_and_is_one_incarnation_under_both_names() -> None:
    lab = lab_of("kraft")
    lab.do(do="add_machine", broker=2)
    lab.run(1)
    lab.do(do="kill", broker=2)
    lab.run(10)
    assert lab.world.nodes[broker_node(2)].incarnation == 2
    epochs = [params["broker_epoch"] for _, params in events(lab, "broker_registered") if params["broker"] == 2]
    machine: Any = lab.world.nodes[broker_node(2)].machine
    assert epochs == [machine.broker_epoch()]


def test_a_process_that_was_paused_past_its_session_ends_when_another_machine_gets_its_id() -> None:
    lab = lab_of("kraft")
    lab.do(do="pause", broker=2)
    lab.run(6)
    lab.do(do="add_machine", broker=2)
    lab.run(6)
    ended = [(node, params["how"]) for node, params in events(lab, "process_ended")]
    assert ended == [(SECOND, "took_over"), (broker_node(2), "replaced")] and isr(lab) == [1, 2, 3]


def test_a_machine_wants_the_id_of_a_broker_that_there_is() -> None:
    lab = lab_of("zookeeper")
    refused = lab.do(do="add_machine", broker=7)
    assert not refused["ok"] and refused["place"] == "broker" and SECOND not in lab.world.nodes


def test_ids_that_nobody_chose_begin_above_the_reserved_ones_and_stay_with_the_disks() -> None:
    lab = lab_of("zookeeper")
    assert [lab.do(do="add_broker", generated=True)["broker"] for _ in range(2)] == [1001, 1002]
    lab.run(4)
    assert truth_of(lab.world).registered() == [1, 2, 3, 1001, 1002]
    path = {"path": "/brokers/seqid"}
    assert events(lab, "broker_id_generated") == [
        (broker_node(number), {"broker": number, **path}) for number in (1001, 1002)
    ]
    assert properties(lab, broker_node(1001))["broker.id"] == "1001"
    lab.do(do="restart", broker=1001)
    lab.run(8)
    assert truth_of(lab.world).registered() == [1, 2, 3, 1001, 1002]
    assert len(events(lab, "broker_id_generated")) == 2
    assert lab.do(do="add_broker")["broker"] == 4
    wiped = lab.do(do="wipe", broker=1001)
    assert not wiped["ok"] and "add one without an id" in told(wiped["problem"])


def test_the_first_id_above_is_a_setting_and_kraft_generates_none() -> None:
    spec = {**SPEC, "cluster": {**SPEC["cluster"], "settings": {"reserved.broker.max.id": 20}}}
    lab = Lab(spec)
    assert lab.do(do="add_broker", generated=True)["broker"] == 21
    lab.run(4)
    assert truth_of(lab.world).registered() == [1, 2, 3, 21]
    refused = Lab(KRAFT).do(do="add_broker", generated=True)
    assert refused["place"] == "generated" and "node.id" in told(refused["problem"])


def test_the_next_start_of_a_lab_knows_whose_id_was_generated(tmp_path: Path) -> None:
    lab = Lab()
    lab.do(do="add_broker", generated=True)
    keep_joined(tmp_path, lab.spec.cluster.brokers[-1])
    again = run_from_dict(SPEC)
    read_joined(tmp_path, again.cluster)
    assert again.cluster.brokers[-1] == lab.spec.cluster.brokers[-1] and again.cluster.brokers[-1].generated
    assert run_from_dict(lab.spec.to_dict()).to_dict() == lab.spec.to_dict()
    assert "generated" not in run_from_dict(SPEC).to_dict()["cluster"]["brokers"][0]


def test_a_run_in_which_an_id_changes_hands_comes_out_again_byte_for_byte(tmp_path: Path) -> None:
    result = run_scenario(grammar.load("duplicate-broker-id", None, {"controller": "kraft"}), out=tmp_path)
    assert result.passed and verify(tmp_path).same
