"""Several clusters on one ensemble, each below its chroot: real ones, and nothing of one is taken for another's."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

from broker_core.kernel.errors import CommandError
from broker_core.kernel.inputs import Command
from broker_core.kernel.names import cluster_of
from broker_core.kernel.world import World
from broker_core.wire.apis import ApiKey
from lab.analytics.by_run.questions import Run
from lab.analytics.facts import facts_of
from lab.analytics.places import find_runs
from lab.checkers.flights import flights
from lab.clusters.build import build_world
from lab.clusters.charge import charge_of
from lab.clusters.checks import SpecError
from lab.clusters.observe import observe
from lab.clusters.roles import controller, followers_of, leader_of
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import INPUTS, JOURNAL, read_facts
from lab.experiments.run import RunResult, run_scenario
from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.open_runs import LabError
from lab.reexecution import Nobody, Reexecution
from lab.scenarios import grammar
from lab.scenarios.conditions import value_of
from lab.snapshots.maker import Maker
from lab.snapshots.shelf import Shelf
from lab.truth import truth_of, truth_of_cluster
from tests.worlds import Driven

LOAD = {"kind": "producer", "topic": "orders", "rate": 100, "settings": {"acks": "all"}}
PAYMENTS = {
    "name": "payments", "chroot": "/teams/payments", "brokers": 2,
    "topics": [{"name": "orders", "partitions": 2, "replication_factor": 2}],
    "clients": [{"name": "producer-orders", **LOAD}],
}  # fmt: skip
CLUSTER = {
    "brokers": 2, "ensemble": 3, "preset": "teaching", "link_delay_ms": 1, "chroot": "/orders", "neighbours": [PAYMENTS],
}  # fmt: skip
SCENARIO: dict[str, Any] = {
    "scenario": "neighbours", "cluster": CLUSTER, "seed": 5,
    "topics": [{"name": "orders", "partitions": 1, "replication_factor": 2}],
    "clients": [{"name": "producer-orders", **LOAD}],
    "steps": [
        {"at": "2s", "do": "kill", "node": "zookeeper-3"}, {"after": 0, "do": "kill", "node": "zookeeper-2"},
        {"after": "1s", "do": "kill", "leader_of": "payments/orders-0"},
        {"after": "4s", "check": {"controller": "payments", "is": ">= 1"}},
        {"after": 0, "do": "restart", "node": "zookeeper-2"},
        {"when": {"leader_of": "payments/orders-0", "is": "changed"}, "within": "12s", "do": "pause",
         "node": "payments/producer-orders"},
    ],
    "duration": "16s",
    "expect": {"receipt.lost": 0, "invariants.violations": 0, "acked_by.payments/producer-orders": ">= 300"},
}  # fmt: skip


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """A run whose files are only read."""
    return run_scenario(grammar.from_dict(SCENARIO, "neighbours"), out=tmp_path_factory.mktemp("runs") / "run")


def rows_of(run: Path) -> list[list[Any]]:
    return [json.loads(line) for line in (run / JOURNAL).read_text().splitlines()]


# -- apart ------------------------------------------------------------------------------------
def test_what_a_neighbour_does_is_never_told_or_counted_as_the_clusters_own(recorded: RunResult) -> None:
    assert recorded.passed, recorded.unmet
    rows = rows_of(recorded.directory)
    assert not [row for row in rows if cluster_of(row[2])]
    assert recorded.receipt.total.acked == 1601  # the own producer's 16 s at 100 a second, though the other has its name
    operations = (recorded.directory / "operations.jsonl").read_text()
    assert "payments" not in operations
    elected = [row[5] for row in rows if row[3] == "leader_elected"]
    assert not elected or all(one["partition"] == 0 for one in elected)
    assert [row for row in rows if row[3] == "session_opened" and row[5]["owner"] == "payments/broker-1"]


def test_writes_of_a_neighbour_to_the_tree_are_not_the_clusters_work(recorded: RunResult) -> None:
    places = find_runs([recorded.directory])
    found = next(iter(Run(places[0], facts_of(places)[0][places[0].name], [], whole=True).ask("zookeeper_and_kraft")))
    paths = [row[5]["path"] for row in rows_of(recorded.directory) if row[3].startswith("znode_")]
    own = [path for path in paths if not path.startswith("/teams/payments")]
    assert found["tree_writes"] == len(own) < len(paths) and found["elections"] == 1


def test_a_dead_leader_of_a_neighbour_is_followed_once_the_ensemble_decides_again(recorded: RunResult) -> None:
    seen = [row[5] for row in rows_of(recorded.directory) if row[3] == "neighbour_changed"]
    lost = next(at for at, one in enumerate(seen) if one["led"] == 1 and not one["elects"] and len(one["registered"]) == 2)
    assert any(one["led"] == 2 and one["elects"] and len(one["registered"]) == 1 for one in seen[lost:])


def test_a_run_with_neighbours_comes_out_the_same_again(recorded: RunResult) -> None:
    found = verify(recorded.directory)
    assert not found.differences, found.differences


def test_a_fork_from_a_snapshot_has_its_neighbours_where_they_were(recorded: RunResult, tmp_path: Path) -> None:
    run, shelf = recorded.directory, Shelf(tmp_path, b"0123456789abcdef")
    whole, maker, end_us = (run / JOURNAL).read_bytes(), Maker(run, shelf), read_facts(run)["end_us"]
    heads = [head for part in (2, 5, 8) for head in maker.run(end_us * part // 10, 3600.0)]
    assert len(heads) == 3
    for head in heads:
        taken = shelf.take(head)
        assert taken is not None
        world, told = taken[0].world, bytearray()
        world.journal.sink = told.extend
        work = Reexecution(world, run / INPUTS, Nobody(), start=head.inputs)
        while not work.advance(1.0):
            pass
        world.journal.flush()
        assert bytes(told) == whole[head.journal :]


@pytest.mark.parametrize("seed", range(3))
def test_with_other_seeds_faults_of_neighbours_hurt_nobody_else(seed: int, tmp_path: Path) -> None:
    """Processes of the neighbour come and go, and are cut off, at moments that the seed draws."""
    draw = Random(f"faults of neighbours {seed}")
    nodes = ["payments/broker-1", "payments/broker-2", "payments/producer-orders"]
    steps: list[dict[str, Any]] = []
    for node in draw.sample(nodes, 3):
        hurt, heal = draw.choice([("kill", "restart"), ("pause", "resume"), ("stop", "restart"), ("isolate", "stop_all_faults")])
        steps.append({"after": f"{draw.randrange(200, 900)}ms", "do": hurt, "node": node})
        named = {} if heal == "stop_all_faults" else {"node": node}
        steps.append({"after": f"{draw.randrange(200, 900)}ms", "do": heal, **named})
    expected = {"receipt.lost": 0, "invariants.violations": 0, "unavailability.orders-0": "<= 300ms", "events.leader_elected": 0}
    document = {**SCENARIO, "steps": steps, "duration": "7s", "expect": expected}
    done = [run_scenario(grammar.from_dict(document, "neighbours"), seed, out=tmp_path / name) for name in "ab"]
    assert [one.unmet for one in done] == [[], []]
    first, second = [(one.directory / JOURNAL).read_bytes() for one in done]
    assert first == second


# -- in the world -------------------------------------------------------------------------------
class Teams(Driven):
    def __init__(self) -> None:
        self.world: World = build_world(run_from_dict({key: SCENARIO[key] for key in ("cluster", "seed")}))
        self.run(4)


@pytest.fixture(scope="module")
def teams() -> Teams:
    return Teams()


def test_each_cluster_has_its_place_in_the_one_tree_and_an_id_of_its_own(teams: Teams) -> None:
    state = observe(teams.world, run_from_dict({"cluster": CLUSTER}))
    tree = state["znodes"]
    assert {path for path in tree if path.count("/") == 1} == {"/orders", "/teams"}
    assert tree["/orders/brokers/ids/1"]["ephemeral"] == "broker-1"
    assert tree["/teams/payments/brokers/ids/1"]["ephemeral"] == "payments/broker-1"
    assert tree["/orders/cluster/id"]["data"]["id"] != tree["/teams/payments/cluster/id"]["data"]["id"]
    ports = [tree[f"{root}/brokers/ids/1"]["data"]["port"] for root in ("/orders", "/teams/payments")]
    assert ports == [9092, 9192]


KAFKA_3_9 = """
    admin admin/delete_topics brokers brokers/ids brokers/ids/1 brokers/seqid brokers/topics cluster cluster/id config
    config/brokers config/changes config/clients config/ips config/topics config/users consumers controller controller_epoch
    feature isr_change_notification latest_producer_id_block log_dir_event_notification"""
"""What Apache Kafka 3.9.0 with one broker and zookeeper.connect=HOST:PORT/kafka/main has made below its chroot."""


def test_a_cluster_makes_its_chroot_and_what_kafka_makes_below_it() -> None:
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching", "chroot": "/kafka/main"}}))
    world.run_until(10_000_000)
    tree = set(observe(world, run_from_dict({}))["znodes"])
    assert tree == {"/kafka", "/kafka/main", *(f"/kafka/main/{path}" for path in KAFKA_3_9.split())}


def test_viewers_get_the_neighbours_beside_the_cluster_and_not_within_it(teams: Teams) -> None:
    state = observe(teams.world, run_from_dict({"cluster": CLUSTER}))
    assert set(state["brokers"]) == {"1", "2"} and state["topics"] == {} and state["clients"] == {}
    assert state["cluster"]["chroot"] == "/orders" and state["cluster"]["controller"] in (1, 2)
    found = state["neighbours"]["payments"]
    assert found["acked"] > 0 and 80 <= found["acked_per_s"] <= 120
    assert (found["registered"], found["led"], found["partitions"], found["elects"]) == ([1, 2], 2, 2, True)
    assert not [one for one in flights(teams.world) if "/" in one["from"] + one["to"]]


def test_truth_conditions_and_roles_of_a_neighbour_are_asked_by_its_name(teams: Teams) -> None:
    world = teams.world
    assert truth_of(world).topics() == {}
    theirs = truth_of_cluster(world, "payments")
    assert theirs is not None and list(theirs.topics()) == ["orders"] and truth_of_cluster(world, "nobody") is None
    leader = value_of(world, "leader_of", "payments/orders-0")
    assert leader_of(world, "payments/orders-0") == f"payments/broker-{leader}"
    assert followers_of(world, "payments/orders-0") == [f"payments/broker-{3 - leader}"]
    assert controller(world, "payments") == f"payments/broker-{value_of(world, 'controller', 'payments')}"
    assert value_of(world, "registered", "payments/2") == 1 and value_of(world, "state_of", "payments/broker-2") == "running"
    assert value_of(world, "leader_of", "orders-0") is None


@pytest.mark.parametrize(("command", "code"), [
    ({"do": "wipe", "node": "payments/broker-1"}, "not_of_neighbours"),
    ({"do": "disk_full", "leader_of": "payments/orders-0"}, "not_of_neighbours"),
    ({"do": "kill", "node": "payments/broker-9"}, "no_node"), ({"do": "kill", "controller": "nobody"}, "no_neighbour"),
])  # fmt: skip
def test_a_neighbour_is_refused_what_only_the_own_cluster_offers(teams: Teams, command: dict[str, Any], code: str) -> None:
    item = Command(command)
    teams.world.inject(item)
    assert item.result is not None and item.result["problem"]["code"] == code


def test_a_server_that_is_cut_off_is_cut_off_from_neighbours_too() -> None:
    teams = Teams()
    servers = [name for name in teams.world.nodes if name.startswith("zookeeper")]
    for name in servers[:2]:
        teams.do(do="isolate", node=name)
    teams.run(5)
    links = teams.world.network.links
    assert links["zookeeper-1", "payments/broker-1"].partitioned and links["payments/broker-1", "zookeeper-1"].partitioned
    charge = charge_of(teams.world)
    assert charge is not None and not charge.neighbourhood.observe(teams.world)["payments"]["elects"]
    teams.do(do="stop_all_faults")
    teams.run(8)
    assert charge.neighbourhood.observe(teams.world)["payments"]["elects"]


def test_a_lost_message_between_brokers_of_a_neighbour_is_lost_for_them_alone() -> None:
    teams = Teams()
    teams.do(do="lose_next", between=["payments/broker-1", "payments/broker-2"], api=ApiKey.FETCH.name.title())
    teams.do(do="delay_link", between=["payments/broker-1", "payments/broker-2"], delay_ms=50)
    teams.run(2)
    assert [row for row in teams.world.neighbours["payments"].journal.tail if row[3] == "link_changed"]
    assert not [row for row in teams.world.journal.tail if row[3] == "link_changed"]


# -- the description ------------------------------------------------------------------------------
@pytest.mark.parametrize(("changed", "place", "code"), [
    ({"chroot": "orders"}, "cluster.chroot", "expected_chroot"),
    ({"chroot": "/brokers/mine"}, "cluster.chroot", "expected_chroot"),
    ({"chroot": "/teams"}, "cluster.neighbours[0].chroot", "chroot_taken"),
    ({"neighbours": [PAYMENTS, PAYMENTS]}, "cluster.neighbours[1].chroot", "chroot_taken"),
    ({"neighbours": [{**PAYMENTS, "chroot": ""}]}, "cluster.neighbours[0].chroot", "expected_chroot"),
    ({"neighbours": [{**PAYMENTS, "name": "broker-1"}]}, "cluster.neighbours[0].name", "expected_neighbour_name"),
    ({"neighbours": [{**PAYMENTS, "brokers": 0}]}, "cluster.neighbours[0].brokers", "below"),
    ({"neighbours": [{**PAYMENTS, "topics": [{"name": "a", "replication_factor": 3}]}]},
     "cluster.neighbours[0].topics[0].replication_factor", "above"),
    ({"neighbours": [{**PAYMENTS, "settings": {"zookeeper.connect": "zookeeper-1:2181"}}]},
     "cluster.neighbours[0].settings.zookeeper.connect", "chroot_elsewhere"),
    ({"settings": {"zookeeper.connect": "zookeeper-1:2181/a"}}, "cluster.settings.zookeeper.connect", "chroot_elsewhere"),
    ({"controller": "kraft", "ensemble": 1, "neighbours": []}, "cluster.chroot", "chroot_of_zookeeper"),
    ({"controller": "kraft", "ensemble": 1, "chroot": ""}, "cluster.neighbours", "neighbours_of_zookeeper"),
])  # fmt: skip
def test_what_is_wrong_with_neighbours_is_told_by_its_place(changed: dict[str, Any], place: str, code: str) -> None:
    with pytest.raises(SpecError) as refused:
        run_from_dict({"cluster": {**CLUSTER, **changed}})
    assert (refused.value.where, refused.value.problem["code"]) == (place, code)


def test_a_client_cannot_have_the_name_of_a_neighbours_process() -> None:
    with pytest.raises(SpecError) as refused:
        run_from_dict({"clients": [{"name": "payments/reader", "kind": "consumer", "topic": "orders"}]})
    assert refused.value.problem["code"] == "name_of_neighbour"


def test_a_description_with_neighbours_reads_back_as_it_was() -> None:
    spec = run_from_dict({"cluster": CLUSTER})
    again = run_from_dict(json.loads(json.dumps(spec.to_dict())))
    assert again == spec and again.cluster.neighbours[0].clients[0].rate == 100
    assert "neighbours" not in run_from_dict({}).to_dict()["cluster"]


def test_a_running_lab_refuses_neighbours(tmp_path: Path) -> None:
    with pytest.raises(LabError) as refused:
        LiveLab(run_from_dict({"cluster": CLUSTER}), tmp_path).start()
    assert refused.value.problem["code"] == "neighbours_simulated"


def test_what_looks_into_brokers_is_not_asked_of_a_neighbour() -> None:
    with pytest.raises(grammar.ScenarioError, match="hw_of"):
        grammar.parse('scenario: a\nsteps: [{at: 1s, check: {hw_of: payments/orders-0, is: 1}}]\nduration: 2s\n', "a.yaml")


def test_a_command_for_a_stranger_names_those_that_there_are(teams: Teams) -> None:
    with pytest.raises(CommandError) as refused:
        teams.world.crash("payments/broker-9")
    assert refused.value.problem["code"] == "no_node_named"
