"""What becomes of a broker whose epoch the controller does not know any more."""

from __future__ import annotations

from typing import Any

from tests.worlds import S, do, run

from broker_core.kernel.world import World
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict


def test_a_broker_that_is_unregistered_while_it_runs_stays_out_until_its_next_start() -> None:
    """As of Apache Kafka 4.3: its heartbeats are refused, one each `broker.heartbeat.interval.ms`."""
    cluster = {"brokers": 3, "controllers": 1, "controller": "kraft"}
    world = build_world(run_from_dict({"cluster": cluster, "seed": 1, "record_level": "messages"}))
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
    apart = {round((b - a) / S, 1) for a, b in zip(beats, beats[1:], strict=False)}
    assert apart == {2.0}
    do(world, do="stop", broker=2)
    run(world, 10)
    do(world, do="restart", node="broker-2")
    run(world, 5)
    assert sorted(active.image.brokers) == [1, 2, 3]


def _active(world: World) -> Any:
    machine: Any = world.nodes["controller-101"].machine
    return machine.process.controller
