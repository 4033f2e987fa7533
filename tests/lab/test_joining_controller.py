"""A controller that was not there at the start: it follows the log, gets a vote, and loses it again (KIP-853)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from broker_core.kernel.problems import told
from lab.clusters.generation import misfit
from lab.clusters.joining import keep_joined, keep_joined_controller, read_joined
from lab.clusters.brokers import MOST_VOTERS, BrokerSpec
from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar
from lab.scenarios.reading import ScenarioError
from lab.truth import truth_of
from tests.lab.test_joining import Lab

DEDICATED: dict[str, Any] = {"cluster": {"brokers": 2, "preset": "teaching", "controller": "kraft", "controllers": 3}, "seed": 5}
COMBINED: dict[str, Any] = {"cluster": {"brokers": 3, "preset": "teaching", "controller": "kraft"}, "seed": 5}
SCENARIO = """\
scenario: four-voters
seed: 3
cluster: {brokers: 3, preset: teaching, controller: kraft, controllers: 3}
topics: [{name: orders, partitions: 1, replication_factor: 3}]
clients:
  - {name: producer-orders, kind: producer, topic: orders, rate: 50, settings: {acks: all}}
steps:
  - {at: 9s, do: update_feature, feature: kraft.version, level: 1}
  - {after: 1s, do: add_controller}
  - {after: 3s, do: remove_controller, controller: 102}
  - {after: 3s, do: kill, node: controller-102}
  - {after: 1s, do: kill, controller: any}
  - {when: {controller: any, is: ">= 101"}, check: {controller: any, is: ">= 101"}}
duration: 20s
expect:
  receipt.lost: 0
  invariants.violations: 0
  "events.quorum_voters[node=controller-104]": ">= 3"
"""


def quorum(lab: Lab) -> dict[str, Any]:
    found: dict[str, Any] = truth_of(lab.world).snapshot()["quorum"]
    return found


def outcome(lab: Lab, seconds: float = 3, **command: Any) -> tuple[str, str]:
    """How a command of the admin client ended."""
    answer = lab.do(**command)
    assert answer["ok"], answer
    lab.run(seconds)
    machine: Any = lab.world.nodes["operator"].machine
    result = machine.results[answer["id"]]
    return result["kind"], result["error"]


@pytest.fixture
def dynamic() -> Lab:
    """Three dedicated controllers whose voters stand in the log."""
    lab = Lab(DEDICATED)
    lab.run(7)
    assert outcome(lab, 1, do="update_feature", feature="kraft.version", level=1) == ("ok", "")
    return lab


def test_a_controller_with_an_empty_disk_takes_its_vote_back_by_itself_where_it_may() -> None:
    for joins in (False, True):
        settings = {"controller.quorum.auto.join.enable": str(joins).lower()}
        lab = Lab({**DEDICATED, "cluster": {**DEDICATED["cluster"], "settings": settings}})
        lab.run(7)
        assert outcome(lab, 1, do="update_feature", feature="kraft.version", level=1) == ("ok", "")
        gone = next(one for one in (101, 102, 103) if one != quorum(lab)["leader"])
        lab.do(do="wipe", node=f"controller-{gone}")
        lab.do(do="restart", node=f"controller-{gone}")
        lab.run(8)
        votes = {one["id"]: one["voter"] for one in truth_of(lab.world).progress()}
        raft = lab.world.nodes[f"controller-{gone}"].machine.process.raft
        assert raft.quorum.is_voter is joins and votes[gone]
        assert quorum(lab)["voters"] == [101, 102, 103] and quorum(lab)["replicas"][str(gone)]["leo"] > 0


def test_a_new_controller_catches_up_and_votes(dynamic: Lab) -> None:
    assert outcome(dynamic, do="add_controller") == ("ok", "")
    found = quorum(dynamic)
    assert found["voters"] == [101, 102, 103, 104] and found["kraft_version"] == 1
    assert found["replicas"]["104"]["leo"] == found["replicas"]["101"]["leo"]
    for one in (101, 102):
        dynamic.do(do="kill", node=f"controller-{one}")
    dynamic.run(8)
    assert quorum(dynamic)["leader"] is None, "two of four are no majority"
    dynamic.do(do="restart", node="controller-102")
    dynamic.run(6)
    assert quorum(dynamic)["leader"] in (102, 103, 104)


def test_the_quorum_goes_on_without_any_of_its_first_voters(dynamic: Lab) -> None:
    for new, old in ((104, 101), (105, 102), (106, 103)):
        assert outcome(dynamic, do="add_controller") == ("ok", "")
        assert outcome(dynamic, 6, do="remove_controller", controller=old) == ("ok", ""), (new, old)
    assert quorum(dynamic)["voters"] == [104, 105, 106]
    for old in (101, 102, 103):
        dynamic.do(do="stop", node=f"controller-{old}")
    dynamic.run(3)
    assert quorum(dynamic)["leader"] in (104, 105, 106)
    assert outcome(dynamic, do="create_topic", topic="later") == ("ok", "")
    for broker in (1, 2):
        dynamic.do(do="restart", broker=broker)
    dynamic.run(8)
    assert truth_of(dynamic.world).registered() == [1, 2], "brokers find those whom no setting of theirs names"


def test_a_leader_that_is_removed_hands_over(dynamic: Lab) -> None:
    leader = quorum(dynamic)["leader"]
    assert outcome(dynamic, 6, do="remove_controller", controller=leader) == ("ok", "")
    found = quorum(dynamic)
    assert found["leader"] not in (None, leader) and leader not in found["voters"]
    assert outcome(dynamic, do="add_controller", controller=leader) == ("ok", ""), "it is there, and only needs a vote"
    assert quorum(dynamic)["voters"] == [101, 102, 103]


def test_where_brokers_are_controllers_one_of_its_own_joins_them() -> None:
    lab = Lab(COMBINED)
    lab.run(7)
    assert outcome(lab, do="update_feature", feature="kraft.version", level=1) == ("ok", "")
    assert outcome(lab, do="add_controller") == ("ok", "")
    assert outcome(lab, 6, do="remove_controller", controller=1) == ("ok", "")
    assert quorum(lab)["voters"] == [2, 3, 101] and truth_of(lab.world).registered() == [1, 2, 3]


def test_static_voters_cannot_change() -> None:
    lab = Lab(DEDICATED)
    assert outcome(lab, do="add_controller") == ("fail", "UNSUPPORTED_VERSION")
    assert outcome(lab, do="remove_controller", controller=103) == ("fail", "UNSUPPORTED_VERSION")
    assert quorum(lab)["voters"] == [101, 102, 103] and quorum(lab)["replicas"]["104"]["state"] == "follower"


def test_it_is_as_it_was_to_be_already(dynamic: Lab) -> None:
    assert outcome(dynamic, do="add_controller", controller=103) == ("fail", "DUPLICATE_VOTER")
    assert outcome(dynamic, do="remove_controller", controller=103) == ("ok", "")
    assert outcome(dynamic, do="remove_controller", controller=103) == ("fail", "VOTER_NOT_FOUND")


@pytest.mark.parametrize(("spec", "command", "place", "reason"), [
    (DEDICATED, {"do": "add_controller", "controller": 2}, "controller", "id 2 is taken"),
    (DEDICATED, {"do": "remove_controller", "controller": 9}, "controller", "controller-9"),
    (DEDICATED, {"do": "add_broker", "broker": 102}, "broker", "id 102 is taken"),
    (DEDICATED, {"do": "update_feature", "feature": "kraft", "level": 1}, "feature", "kraft.version"),
    ({"cluster": {"brokers": 1}}, {"do": "add_controller"}, "do", "with kraft only"),
])
def test_what_cannot_be_is_refused_by_its_place(spec: dict[str, Any], command: dict[str, Any], place: str, reason: str) -> None:
    lab = Lab(spec)
    result = lab.do(**command)
    assert not result["ok"] and result["place"] == place and reason in told(result["problem"])


def test_there_are_no_more_controllers_than_have_ports() -> None:
    cluster = run_from_dict({"cluster": {**DEDICATED["cluster"], "added": list(range(104, 104 + MOST_VOTERS - 3))}}).cluster
    assert len(set(cluster.controller_ports().values())) == MOST_VOTERS
    lab = Lab({"cluster": {**DEDICATED["cluster"], "added": list(range(104, 104 + MOST_VOTERS - 3))}})
    assert f"{MOST_VOTERS} controllers already" in told(lab.do(do="add_controller")["problem"])


def test_a_recorded_run_comes_out_again_byte_for_byte(tmp_path: Path) -> None:
    scenario = grammar.parse(SCENARIO, "four-voters.yaml")
    result = run_scenario(scenario, out=tmp_path / "a")
    assert result.passed, (result.unmet, result.notes)
    assert verify(tmp_path / "a").same
    assert scenario.spec.cluster.added == []


def test_a_step_names_a_controller_only_behind_the_one_that_adds_it() -> None:
    early = SCENARIO.replace("do: remove_controller, controller: 102", "do: remove_controller, controller: 105")
    with pytest.raises(ScenarioError) as refused:
        grammar.parse(early, "early.yaml")
    assert refused.value.place == "steps[2].controller"


def test_a_lab_finds_again_who_has_joined(tmp_path: Path) -> None:
    cluster = run_from_dict(DEDICATED).cluster
    (tmp_path / "broker-1" / "data").mkdir(parents=True)
    (tmp_path / "broker-1" / "data" / "meta.properties").write_text("version=1\n")
    for number in (101, 102, 103, 104):
        (tmp_path / f"controller-{number}").mkdir()
    assert misfit(tmp_path, cluster) is not None
    keep_joined_controller(tmp_path, 104)
    keep_joined(tmp_path, BrokerSpec(7))
    keep_joined_controller(tmp_path, 104)
    read_joined(tmp_path, cluster)
    assert cluster.added == [104] and [broker.id for broker in cluster.brokers] == [1, 2, 7]
    assert misfit(tmp_path, cluster) is None
