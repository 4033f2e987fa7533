"""What brokers of 4.3 ask of their controller when they start, and what becomes of one whose epoch it does not know."""

from __future__ import annotations

from typing import Any

from tests.worlds import S, do, run

from broker_core.kernel.world import World
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from lab.clusters.build import build_world
from lab.clusters.inspect_beliefs import beliefs
from lab.clusters.observe import observe
from lab.clusters.spec import RunSpec, run_from_dict
from lab.truth import truth_of
from lab.truth.kraft import KRaftTruth


def test_a_broker_that_is_unregistered_while_it_runs_stays_out_until_its_next_start() -> None:
    """As of Apache Kafka 4.3: its heartbeats are refused, one each `broker.heartbeat.interval.ms`."""
    cluster = {"brokers": 3, "controllers": 1, "controller": "kraft"}
    spec = run_from_dict({"cluster": cluster, "seed": 1, "record_level": "messages"})
    world = build_world(spec)
    world.run_until(8 * S)
    do(world, do="create_topic", topic="orders", assignment=[[2, 1, 3]])
    run(world, 1)
    answers: list[Any] = []
    active = _active(world)
    active.handle(ApiKey.UNREGISTER_BROKER, m.UnregisterBrokerRequest(broker_id=2), lambda _, body: answers.append(body), None)
    run(world, 20)
    assert answers[0].error_code == ErrorCode.NONE
    assert sorted(active.image.brokers) == [1, 3] and world.nodes["broker-2"].state == "running"
    beats = [
        row[1] for row in world.journal.tail
        if row[1] > 10 * S and row[2:4] == ("broker-2", "request_sent") and row[5]["api"] == "BrokerHeartbeat"
    ]  # fmt: skip
    assert _shown(world, spec) == (False, False, {"unregistered"}, False)
    apart = {round((b - a) / S, 1) for a, b in zip(beats, beats[1:], strict=False)}
    assert apart == {2.0}
    do(world, do="stop", broker=2)
    run(world, 10)
    do(world, do="restart", node="broker-2")
    run(world, 5)
    assert sorted(active.image.brokers) == [1, 2, 3]
    assert _shown(world, spec) == (True, False, {None}, True)
    do(world, do="pause", broker=2)
    run(world, 12)
    assert _shown(world, spec) == (False, True, {"fenced"}, True), "silent, but known"


def _shown(world: World, spec: RunSpec) -> tuple[bool, bool, set[str | None], bool]:
    """Of broker 2: counted on and fenced as the snapshot has it, beside what it believes, and as in the quorum's table."""
    broker = observe(world, spec)["brokers"]["2"]
    truth = truth_of(world)
    rows = beliefs(world, "orders", 0, {"isr": [1, 3], "leader": 1, "leader_epoch": 1})
    standings = {row["standing"] for row in rows if row["broker"] == 2}
    assert {row["standing"] for row in rows if row["broker"] != 2} == {None}
    assert isinstance(truth, KRaftTruth)
    known = {row["id"]: row["registered"] for row in truth.progress()}
    assert known[101] is None and known[1]
    return broker["registered"], broker["fenced"], standings, known[2]


def test_a_block_of_producer_ids_is_asked_for_by_the_first_producer_that_needs_one() -> None:
    """As of Apache Kafka 4.3, where the first InitProducerId is answered with COORDINATOR_LOAD_IN_PROGRESS; a broker with
    ZooKeeper asks when it starts."""
    world = build_world(run_from_dict({"cluster": {"brokers": 2, "controllers": 1, "controller": "kraft"}, "seed": 1}))
    world.run_until(8 * S)
    do(world, do="create_topic", topic="orders", assignment=[[2, 1]])
    run(world, 1)
    assert _active(world).image.next_producer_id == 0
    settings = {"acks": "all", "enable.idempotence": "true"}
    do(world, do="start_client", name="producer-1", kind="producer", topic="orders", rate=20, settings=settings)
    run(world, 2)
    assert _active(world).image.next_producer_id == 1000


def _active(world: World) -> Any:
    machine: Any = world.nodes["controller-101"].machine
    return machine.process.controller
