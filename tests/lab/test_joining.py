"""A broker that joins a running cluster: registered, seen by all, empty until somebody gives it a replica."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from broker_core.kernel.inputs import Command
from broker_core.kernel.problems import told
from broker_core.kernel.world import World
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.inspect import inspect
from lab.clusters.spec import MAX_BROKERS, run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar
from lab.scenarios.export import export_commands
from lab.scenarios.reading import ScenarioError
from lab.truth import truth_of

S = 1_000_000
SPEC: dict[str, Any] = {
    "cluster": {"brokers": 3, "preset": "teaching", "settings": {"unclean.leader.election.enable": False}}, "seed": 5,
    "clients": [{"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 50, "settings": {"acks": "all"}}],
}  # fmt: skip
SCENARIO = """\
scenario: one-more
seed: 3
cluster: {brokers: 3, preset: teaching}
topics: [{name: orders, partitions: 2, replication_factor: 2}]
clients:
  - {name: producer-orders, kind: producer, topic: orders, rate: 50, settings: {acks: all}}
steps:
  - {at: 1s, do: add_broker, rack: b}
  - {at: 4s, do: reassign, topic: orders, partition: 0, replicas: [4, 1]}
  - {when: {leader_of: orders-0, is: 4}, check: {leader_of: orders-0, is: 4}}
  - {after: 1s, do: kill, broker: 4}
  - {after: 3s, do: restart, broker: 4}
duration: 20s
expect: {receipt.lost: 0, registered.4: 1, settled.isr_of.orders-0: 2}
"""


class Lab:
    def __init__(self, spec: dict[str, Any] | None = None) -> None:
        self.spec = run_from_dict(spec or SPEC)
        self.world: World = build_world(self.spec)
        self.run(3)

    def run(self, seconds: float) -> None:
        self.world.run_until(self.world.now_us + int(seconds * S))

    def do(self, **command: Any) -> dict[str, Any]:
        item = Command(command)
        self.world.inject(item)
        self.world.run_due()
        return item.result or {}


@pytest.fixture
def lab() -> Lab:
    lab = Lab()
    lab.do(do="create_topic", topic="orders", partitions=2, replication_factor=3)
    lab.run(2)
    return lab


def test_a_new_broker_registers_and_every_broker_names_it_to_clients(lab: Lab) -> None:
    assert lab.do(do="add_broker", rack="b")["broker"] == 4
    lab.run(3)
    assert truth_of(lab.world).registered() == [1, 2, 3, 4]
    state = observe.observe(lab.world, lab.spec)["brokers"]
    assert state["4"]["port"] == state["3"]["port"] + 1 and state["4"]["rack"] == "b"
    for broker in range(1, 5):
        machine: Any = lab.world.nodes[f"broker-{broker}"].machine
        assert machine.cache.is_alive(4)


def test_it_arrives_empty_until_a_reassignment_gives_it_a_replica(lab: Lab) -> None:
    lab.do(do="start_client", name="producer-a")
    lab.do(do="add_broker")
    lab.run(5)
    assert observe.partitions_of(lab.world.nodes["broker-4"]) == {}
    assert lab.do(do="reassign", topic="orders", partition=0, replicas=[4, 1, 2])["ok"]
    lab.run(5)
    held = truth_of(lab.world).partition_state("orders", 0)
    assert held is not None and sorted(held["isr"]) == [1, 2, 4]
    assert list(observe.partitions_of(lab.world.nodes["broker-4"])) == [("orders", 0)]


def test_a_new_topic_may_have_replicas_on_it(lab: Lab) -> None:
    lab.do(do="add_broker")
    lab.run(3)
    lab.do(do="create_topic", topic="wide", partitions=1, replication_factor=4)
    lab.run(3)
    held = truth_of(lab.world).partition_state("wide", 0)
    assert held is not None and sorted(held["isr"]) == [1, 2, 3, 4]


def test_it_can_be_killed_started_and_looked_at_as_the_others(lab: Lab) -> None:
    lab.do(do="add_broker", broker=7)
    lab.run(3)
    assert inspect(lab.world, "broker", "7")["found"]
    assert lab.do(do="kill", broker=7)["ok"]
    lab.run(15)
    assert truth_of(lab.world).registered() == [1, 2, 3]
    assert lab.do(do="restart", broker=7)["ok"]
    lab.run(5)
    assert truth_of(lab.world).registered() == [1, 2, 3, 7]
    assert lab.do(do="alter_config", broker=7, set={"log.cleaner.threads": "2"})["ok"]
    assert inspect(lab.world, "trial", '{"do": "alter_config", "broker": 7, "set": {"log.cleaner.threads": "2"}}')


def test_the_next_id_is_the_one_behind_the_highest(lab: Lab) -> None:
    assert lab.do(do="add_broker", broker=10)["broker"] == 10
    assert lab.do(do="add_broker")["broker"] == 11


@pytest.mark.parametrize(("command", "place", "reason"), [
    ({"broker": 2}, "broker", "broker id 2 is taken: the cluster has 1, 2, 3"),
    ({"broker": -1}, "broker", "-1 is below 0"),
    ({"broker": 1001}, "broker", "reserved.broker.max.id"),
    ({"rack": ""}, "rack", "expected a text"),
    ({"settings": {"num.io.threads": "none"}}, "settings.num.io.threads", "num.io.threads"),
    ({"settings": {"broker.id": 9}}, "settings.broker.id", "a broker is named by its `id`"),
    ({"settings": {"listeners": "x"}}, "settings.listeners", "host and port"),
    ({"settings": 5}, "settings", "expected keys and values"),
    ({"port": 5}, "port", "unknown key"),
])
def test_what_the_cluster_cannot_take_is_refused_by_its_place(
    lab: Lab, command: dict[str, Any], place: str, reason: str
) -> None:
    result = lab.do(do="add_broker", **command)
    assert not result["ok"] and result["place"] == place and reason in told(result["problem"])
    assert len(lab.spec.cluster.brokers) == 3 and "broker-4" not in lab.world.nodes


def test_a_cluster_is_full_with_as_many_brokers_as_a_description_may_have() -> None:
    lab = Lab({"cluster": {"brokers": MAX_BROKERS, "preset": "teaching"}, "seed": 1})
    assert f"{MAX_BROKERS} brokers already" in told(lab.do(do="add_broker")["problem"])


def test_a_recorded_run_in_which_a_broker_joins_comes_out_again_byte_for_byte(tmp_path: Path) -> None:
    scenario = grammar.parse(SCENARIO, "one-more.yaml")
    result = run_scenario(scenario, out=tmp_path / "a")
    assert result.passed, (result.unmet, result.notes)
    assert verify(tmp_path / "a").same
    assert len(scenario.spec.cluster.brokers) == 3
    run_scenario(scenario, out=tmp_path / "b")
    assert (tmp_path / "a" / "journal.jsonl").read_bytes() == (tmp_path / "b" / "journal.jsonl").read_bytes()


def test_a_step_may_name_the_broker_only_behind_the_one_that_adds_it() -> None:
    early = SCENARIO.replace("at: 1s, do: add_broker, rack: b", "at: 1s, do: kill, broker: 4")
    with pytest.raises(ScenarioError) as refused:
        grammar.parse(early, "early.yaml")
    assert (refused.value.line, refused.value.place) == (8, "steps[0].broker")
    taken = SCENARIO.replace("rack: b", "broker: 3")
    with pytest.raises(ScenarioError) as refused:
        grammar.parse(taken, "taken.yaml")
    assert (refused.value.line, refused.value.place) == (8, "steps[0].broker")


def test_what_was_done_by_hand_is_exported_with_the_step(lab: Lab) -> None:
    commands = [(S, {"do": "start_client", "name": "producer-a"}), (2 * S, {"do": "add_broker", "rack": "b"})]
    document = export_commands(run_from_dict(SPEC), commands, "mine")
    assert document["cluster"]["brokers"] == 3
    assert document["steps"] == [{"at": "1s", "do": "add_broker", "rack": "b"}]
    assert grammar.from_dict(orjson.loads(orjson.dumps(document))).steps[0].command["do"] == "add_broker"
