"""Clusters that agree through the metadata log: whoever dies, nothing that was acknowledged is lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.kernel.inputs import Command
from broker_core.kernel.names import broker_node, broker_of
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.generation import misfit, remember, shape_of
from lab.clusters.spec import run_from_dict
from lab.experiments.run import RunResult, run_scenario
from lab.scenarios import grammar
from lab.truth import truth_of
from tests.worlds import do, run

SCENARIO = """\
scenario: killed
cluster: {{brokers: 3, controller: {controller}, preset: teaching, link_delay_ms: 1{more}}}
seed: {seed}
topics: [{{name: orders, partitions: 2, replication_factor: 3, configs: {{min.insync.replicas: 2}}}}]
clients:
  - {{name: producer-a, kind: producer, topic: orders, rate: 50, settings: {{acks: all}}}}
  - {{name: reader, kind: consumer, topic: orders, settings: {{group.id: billing, auto.offset.reset: earliest}}}}
steps:
  - {{at: 2s, do: kill, {who}}}
  - {{after: 8s, do: restart, {again}}}
duration: 16s
expect: {{receipt.lost: 0, receipt.acked: ">= 400", settled.isr_of.orders-0: 3, invariants.violations: 0}}
"""
KINDS = {
    "zookeeper": ("zookeeper", "", "node: broker-1"),
    "combined": ("kraft", "", "node: broker-1"),
    "dedicated": ("kraft", ", controllers: 3", "node: controller-101"),
}


def _run(out: Path, kind: str, who: str, again: str, seed: int = 5) -> RunResult:
    controller, more, _ = KINDS[kind]
    source = SCENARIO.format(controller=controller, more=more, seed=seed, who=who, again=again)
    return run_scenario(grammar.parse(source, "killed.yaml"), out=out)


@pytest.mark.parametrize("kind", KINDS)
def test_the_death_of_a_leader_costs_nothing_that_was_acknowledged(kind, tmp_path):
    done = _run(tmp_path / "run", kind, "leader_of: orders-0", "broker: 1")
    assert done.passed, done.unmet


@pytest.mark.parametrize("kind", ["combined", "dedicated"])
def test_the_death_of_the_active_controller_has_a_successor(kind, tmp_path):
    done = _run(tmp_path / "run", kind, "controller: any", KINDS[kind][2])
    assert done.passed, done.unmet


def test_a_follower_of_an_idle_quorum_fetches_twice_for_each_record():
    """Once for the record, once to hear that it is committed; that one waits for the next record, not just shorter than it."""
    world, rows = build_world(run_from_dict({"record_level": "messages", "cluster": {"controller": "kraft"}})), bytearray()
    run(world, 5)
    world.journal.flush()
    world.journal.sink = rows.extend
    run(world, 10)
    world.journal.flush()
    written = rows.count(b'"role":"leader"')
    fetches = sum(b'"connection":"raft"' in row and b'"Fetch"' in row and b'"request_sent"' in row for row in rows.splitlines())
    assert written == 20 and fetches == 2 * 2 * written


def test_the_same_seed_gives_the_same_journal(tmp_path):
    runs = [_run(tmp_path / name, "dedicated", "controller: any", "node: controller-102") for name in ("a", "b")]
    journals = [(run.directory / "journal.jsonl").read_bytes() for run in runs]
    assert journals[0] == journals[1]


def _world(**cluster: object) -> World:
    return build_world(run_from_dict({"cluster": {"controller": "kraft", "preset": "teaching", **cluster}}))


def _until(world: World, what: object, seconds: float = 20) -> None:
    limit = world.now_us + int(seconds * 1_000_000)
    while not what():
        assert world.now_us < limit
        world.run_until(world.now_us + 10_000)


def test_a_silent_broker_is_fenced_and_comes_back_without_registering_anew():
    world = _world(controllers=1)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    epoch = truth.image.brokers[2].epoch
    world.pause("broker-2")
    _until(world, lambda: truth.registered() == [1, 3], 5)
    world.resume("broker-2")
    _until(world, lambda: truth.registered() == [1, 2, 3])
    assert truth.image.brokers[2].epoch == epoch


def test_who_was_fenced_and_is_back_before_anybody_has_agreed_to_it_is_told_as_back():
    """The controller says of a silent broker that it is gone when it decides so; both records are committed together."""
    world = _world(controllers=3)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    leader = truth.controller_id()
    for other in {101, 102, 103} - {leader}:
        do(world, do="delay_link", between=[f"controller-{leader}", f"controller-{other}"], delay_ms=200)
    world.pause("broker-2")
    told = "broker_gone", "broker_registered"

    def about() -> list[str]:
        return [row[3] for row in world.journal.tail if row[3] in told and row[5]["broker"] == 2]

    _until(world, lambda: about()[-1] == "broker_gone", 6)
    world.resume("broker-2")
    run(world, 3)
    assert truth.registered() == [1, 2, 3]
    assert about() == ["broker_registered", "broker_gone", "broker_registered"]


def test_a_controlled_end_leaves_its_epoch_for_the_next_registration():
    world = _world(controllers=1)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    world.stop("broker-3")
    _until(world, lambda: world.nodes["broker-3"].state == "stopped", 5)
    assert truth.registered() == [1, 2]
    before = truth.image.brokers[3].epoch
    world.start_node("broker-3")
    _until(world, lambda: truth.registered() == [1, 2, 3])
    machine = world.nodes["broker-3"].machine
    assert machine.cluster.lifecycle.previous_epoch == before < machine.broker_epoch()


@pytest.mark.parametrize(("killed", "topics", "reason"), [(False, 1, "controlled shutdown"), (False, 0, "controlled shutdown"), (True, 1, "session timeout")])
def test_who_goes_is_told_once_whether_it_led_something_or_not_and_whether_it_ended_in_order_or_on_its_way(
    killed: bool, topics: int, reason: str
):
    world = _world(controllers=1)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    for number in range(topics):
        do(world, do="create_topic", topic=f"orders-{number}", assignment=[[3, 1, 2]])
        run(world, 1)
    do(world, do="stop", broker=3)
    if killed:
        run(world, 0.01)
        do(world, do="kill", broker=3)
    run(world, 10)
    gone = [row[5] for row in world.journal.tail if row[3] == "broker_gone"]
    assert gone == [{"broker": 3, "reason": reason}]


@pytest.mark.parametrize("late_ms", [100, 400, 611])
def test_controllers_that_die_one_after_the_other_while_a_broker_comes_back_leave_all_replicas_in_sync(late_ms: int) -> None:
    """The controller dies before, while and after the follower asks to be let into the ISR again; Kafka's own timeouts."""
    world = _world(controllers=3, preset="default", link_delay_ms=1)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    do(world, do="create_topic", topic="orders", assignment=[[1, 2, 3]])

    def whole() -> bool:
        seen = [world.nodes[broker_node(number)].machine.cache.partition("orders", 0) for number in (1, 2, 3)]
        return all(one is not None and one.leader > 0 and len(one.isr) == 3 for one in seen)

    for _ in range(3):
        _until(world, whole, 25)
        world.crash("broker-3")
        _until(world, lambda: truth.registered() == [1, 2])
        world.start_node("broker-3")
        world.run_until(world.now_us + late_ms * 1000)
        active = truth.controller_node()
        assert active is not None
        world.crash(active)
        _until(world, lambda gone=active: truth.controller_node() not in (None, gone))  # type: ignore[misc]
        world.start_node(active)
    _until(world, whole, 25)


def test_without_a_majority_nobody_is_controller_and_with_it_again_somebody_is():
    world = _world(controllers=3)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    for number in (102, 103):
        world.crash(f"controller-{number}")
    _until(world, lambda: truth.controller_id() is None)
    world.start_node("controller-103")
    _until(world, lambda: truth.controller_id() in (101, 103))


def test_what_the_cluster_has_decided_is_known_while_all_of_it_starts_anew_whether_anybody_had_asked_or_not():
    world = _world(brokers=1)
    world.run_until(3_000_000)
    do(world, do="create_topic", topic="orders", partitions=2, replication_factor=1)
    world.run_until(5_000_000)
    world.crash("broker-1")
    assert set(truth_of(world).topics()) == {"orders"}
    world.start_node("broker-1")
    world.run_until(world.now_us)
    assert truth_of(world).controller_id() is None and set(truth_of(world).topics()) == {"orders"}
    _until(world, lambda: truth_of(world).registered() == [1], 30)
    assert set(truth_of(world).topics()) == {"orders"}


@pytest.mark.parametrize("leads", [True, False])
def test_a_voter_that_cannot_read_its_metadata_log_ends(leads: bool) -> None:
    world = _world()
    _until(world, lambda: truth_of(world).registered() == [1, 2, 3])
    leader = truth_of(world).controller_node()
    name = next(one for one in ("broker-1", "broker-2", "broker-3") if (one == leader) is leads)
    do(world, do="disk_read_error", broker=broker_of(name))
    do(world, do="create_topic", topic="orders", partitions=2, replication_factor=2)
    _until(world, lambda: world.nodes[name].how_stopped == "halted")
    _until(world, lambda: truth_of(world).controller_node() not in (None, name))


def test_the_controller_is_told_which_directory_holds_what_and_elects_others_when_it_fails():
    world = _world(controllers=1, settings={"log.dirs": "a,b"})
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3])
    world.inject(Command({"do": "create_topic", "topic": "many", "partitions": 4}))
    directories = world.nodes["broker-2"].machine.cluster.process.directories()
    _until(world, lambda: truth.topics() and all(
        not {one.int for one in partition.directories} & {0} for partition in truth._topic("many").partitions.values()))
    logs = world.nodes["broker-2"].machine.log_manager
    gone = [log.partition for log in logs.logs() if logs.dir_of(log) == "b"]
    assert gone
    for number in gone:
        partition = truth._topic("many").partitions[number]
        assert partition.directories[partition.replicas.index(2)] == directories["b"]
    logs.fail_directory("b", "test")
    _until(world, lambda: all(2 not in truth.partition_state("many", number)["isr"] for number in gone))
    kept = [number for number in range(4) if number not in gone]
    assert all(2 in truth.partition_state("many", number)["isr"] for number in kept)


def test_all_processes_stop_in_order_when_no_voter_is_left_to_agree():
    world = _world()
    _until(world, lambda: truth_of(world).registered() == [1, 2, 3])
    for number in (1, 2, 3):
        world.stop(f"broker-{number}")
    _until(world, lambda: all(world.nodes[f"broker-{number}"].state == "stopped" for number in (1, 2, 3)), 15)


def test_controllers_of_their_own_are_for_kraft_and_have_ids_of_their_own():
    with pytest.raises(SpecError) as refused:
        run_from_dict({"cluster": {"controllers": 3}})
    assert refused.value.problem["code"] == "controllers_of_kraft"
    with pytest.raises(SpecError) as refused:
        run_from_dict({"cluster": {"controller": "kraft", "controllers": 1, "brokers": [1, 101]}})
    assert refused.value.problem["code"] == "id_taken"


def test_five_of_six_brokers_are_controllers_where_that_is_wanted_and_three_of_them_are_a_majority():
    world = _world(brokers=6, combined=5)
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1, 2, 3, 4, 5, 6] and len(truth.image.controllers) == 5)
    assert truth.keepers() == [f"broker-{number}" for number in (1, 2, 3, 4, 5)]
    first, second = truth.controller_id(), None
    do(world, do="kill", broker=first)
    _until(world, lambda: truth.controller_id() not in (None, first))
    second = truth.controller_id()
    do(world, do="kill", broker=second)
    _until(world, lambda: truth.controller_id() not in (None, first, second) and len(truth.registered()) == 4)


@pytest.mark.parametrize(("cluster", "place", "code"), [
    ({"controller": "kraft", "controllers": 3, "combined": 3}, "combined", "combined_of_kraft"),
    ({"controller": "zookeeper", "combined": 3}, "combined", "combined_of_kraft"),
    ({"controller": "kraft", "brokers": 3, "combined": 5}, "combined", "above"),
])  # fmt: skip
def test_what_cannot_be_a_controller_too_is_refused_by_its_place(cluster, place, code):
    with pytest.raises(SpecError) as refused:
        run_from_dict({"cluster": cluster})
    assert (refused.value.place[-1], refused.value.problem["code"]) == (place, code)


def test_a_directory_is_that_of_so_many_brokers_that_are_controllers_too(tmp_path):
    (tmp_path / "broker-1" / "data").mkdir(parents=True)
    (tmp_path / "broker-1" / "data" / "meta.properties").write_text("version=1\n")
    described = {number: run_from_dict({"cluster": {"controller": "kraft", "brokers": 5, "combined": number}}) for number in (0, 5)}
    assert misfit(tmp_path, described[0].cluster) is None
    remember(tmp_path, described[5].cluster)
    assert shape_of(tmp_path) == ("kraft", 0, 5) and misfit(tmp_path, described[5].cluster) is None
    found = misfit(tmp_path, described[0].cluster)
    assert found is not None and found["code"] == "other_combined" and found["params"]["n"] == 5
    assert described[5].to_dict()["cluster"]["combined"] == 5 and "combined" not in described[0].to_dict()["cluster"]
    usual = run_from_dict({"cluster": {"controller": "kraft", "brokers": 5, "combined": 3}})
    assert usual.to_dict() == described[0].to_dict() | {"seed": usual.seed}  # three are what there is without a word


def test_every_controller_registers_and_a_process_that_only_follows_writes_snapshots_too():
    world = _world(brokers=1, controllers=3, settings={"metadata.log.max.snapshot.interval.ms": "5000"})
    truth = truth_of(world)
    _until(world, lambda: truth.registered() == [1] and sorted(truth.image.controllers) == [101, 102, 103])
    assert truth.image.controllers[102].features["kraft.version"] == truth.image.brokers[1].features["kraft.version"] == (0, 1)
    everybody = {"broker-1", "controller-101", "controller-102", "controller-103"}
    _until(world, lambda: {row[2] for row in world.journal.tail if row[3] == "metadata_snapshot"} == everybody)
