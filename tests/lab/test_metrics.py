"""Kafka's metrics by their own names: documented in both languages, and each moves where it should."""

from __future__ import annotations

import pickle

import pytest
from tests.worlds import do, run

from broker_core.records.batch import encode_batch
from broker_core.records.control import transaction_marker_batch
from lab.clusters import observe
from lab.clusters.build import build_world
from lab.clusters.metrics import REGISTRY, described, difference, metrics
from lab.clusters.spec import run_from_dict
from lab.truth import truth_of

SPEC = {
    "cluster": {
        "brokers": 3, "preset": "teaching", "link_delay_ms": 1,
        "settings": {"min.insync.replicas": 2, "unclean.leader.election.enable": True, "log.segment.bytes": 8192, "num.io.threads": 1},
    },
    "seed": 5,
    "clients": [
        {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100},
        {"name": "reader", "kind": "consumer", "topic": "orders", "settings": {"group.id": "g"}},
    ],
}  # fmt: skip
STILL = ("RequestQueueTimeMs", "LocalTimeMs", "ResponseQueueTimeMs", "RequestQueueSize", "OfflineLogDirectoryCount", "LogStartOffset",
         "FailedIsrUpdatesPerSec", "OfflineReplicaCount", "max-dirty-percent", "uncleanable-partitions-count", "cleaner-recopy-percent",
         "max-buffer-utilization-percent", "PartitionsWithLateTransactionsCount", "byte-rate", "ReassigningPartitions",
         "ReassignmentBytesInPerSec", "ReassignmentBytesOutPerSec")
"""Only with stage costs, a broken disk, retention, a refused change, a stopped replica, compaction, a transaction that hangs, a throttle, a move: tested by
themselves, or not at all."""


def total(values: dict[str, dict[str, float]], name: str) -> float:
    return sum(sum(values[full].values()) for full in values if f"name={name}" in full)


@pytest.fixture(scope="module")
def loaded() -> bytes:
    """A cluster with ZooKeeper under load, to be unpickled by each test."""
    return under_load("zookeeper")


@pytest.fixture(scope="module")
def with_kraft() -> bytes:
    return under_load("kraft")


def under_load(controller: str) -> bytes:
    settings = dict(SPEC["cluster"]["settings"])
    if controller == "kraft":
        settings.pop("log.segment.bytes")  # as small as a test wants it only with 3.9
    world = build_world(run_from_dict({**SPEC, "cluster": {**SPEC["cluster"], "settings": settings, "controller": controller}}))
    run(world, 5)
    do(world, do="create_topic", topic="orders", partitions=2, replication_factor=3)
    run(world, 1)
    do(world, do="start_client", name="producer-a")
    do(world, do="start_client", name="reader")
    run(world, 8)
    return pickle.dumps(world)


def test_every_metric_is_documented_and_every_registered_one_is_there_in_the_generation_that_has_it(loaded, with_kraft):
    for generation, world in (("zookeeper", loaded), ("kraft", with_kraft)):
        names = [described(name) for name in metrics(pickle.loads(world))]
        assert all(name is not None for name in names)
        assert {one.name for one in names} == {name for name, one in REGISTRY.items() if one.only in ("", generation)}
    for metric in REGISTRY.values():
        assert metric.en.endswith(".") and metric.ko.endswith(".") and metric.unit
        assert any("가" <= letter <= "힣" for letter in metric.ko)


def test_with_kraft_they_tell_who_is_fenced_how_far_the_log_is_and_what_was_elected_uncleanly(with_kraft):
    world = pickle.loads(with_kraft)
    leading = truth_of(world).controller_id()
    first, second = [broker for broker in (1, 2, 3) if broker != leading]
    before = metrics(world)
    do(world, do="reassign", topic="orders", partition=0, replicas=[first, second])
    run(world, 3)
    do(world, do="kill", broker=second)
    run(world, 6)
    do(world, do="kill", broker=first)
    run(world, 1)
    do(world, do="restart", broker=second)
    run(world, 8)
    found = {name.partition("name=")[2]: values for name, values in metrics(world).items()}
    of = str(truth_of(world).controller_id())
    assert (found["ActiveBrokerCount"][of], found["FencedBrokerCount"][of]) == (2, 1)
    assert found["UncleanLeaderElectionsPerSec"][of] >= 1
    assert found["high-watermark"][of] > before["kafka.server:type=raft-metrics,name=high-watermark"][of]
    assert found["log-end-offset"][of] >= found["high-watermark"][of] >= found["last-applied-record-offset"][of] > 0


def test_each_metric_moves_in_a_run_with_faults(loaded):
    world = pickle.loads(loaded)
    seen: dict[str, set[float]] = {}

    def note() -> None:
        for name, values in metrics(world).items():
            metric = described(name)
            assert metric is not None
            seen.setdefault(metric.name, set()).update(values.values())

    note()
    for kind in ("producer", "consumer"):  # from before record batches
        do(world, do="start_client", name=f"{kind}-old", kind=kind, topic="orders", settings={"broker.version.fallback": "0.10.2"})
    do(world, do="delay_link", between=[1, 2], delay_ms=40)
    for _ in range(60):
        run(world, 0.05)
        note()
    do(world, do="produce", topic="no-such-topic", partition=0, value="x")
    follower = truth_of(world).partition_state("orders", 0)["isr"][-1]
    do(world, do="pause", broker=follower)
    run(world, 2.5)
    note()
    do(world, do="resume", broker=follower)
    for _ in range(100):
        run(world, 0.01)
        note()
    do(world, do="delay_link", between=[1, 2], delay_ms=1)
    run(world, 2)
    state = truth_of(world).partition_state("orders", 0)
    first = [state["leader"], *[one for one in state["replicas"] if one != state["leader"]]]
    for between in (first[:2], [first[0], first[2]]):
        do(world, do="partition_link", between=between)
    run(world, 6)
    note()
    do(world, do="stop_all_faults")
    run(world, 3)
    note()
    for broker in first[:2]:
        do(world, do="kill", broker=broker)
        run(world, 5)
        note()
    do(world, do="kill", broker=first[2])
    do(world, do="restart", broker=first[0])
    for _ in range(20):
        run(world, 0.5)
        note()
    quiet = [name for name, values in seen.items() if len(values) < 2 and not name.endswith(STILL)]
    assert quiet == []


def test_a_replica_that_is_added_is_counted_apart_until_it_has_all(loaded):
    world = pickle.loads(loaded)
    first, second, third = truth_of(world).partition_state("orders", 0)["replicas"]
    do(world, do="reassign", topic="orders", partition=0, replicas=[first, second])
    run(world, 3)
    before = metrics(world)
    assert [total(before, f"Reassignment{name}PerSec") for name in ("BytesIn", "BytesOut")] == [0, 0]
    do(world, do="reassign", topic="orders", partition=0, replicas=[first, second, third])
    moving = set()
    for _ in range(300):
        run(world, 0.01)
        moving.add(total(metrics(world), "ReassigningPartitions"))
    after = metrics(world)
    assert moving == {0, 1} and total(after, "ReassigningPartitions") == 0
    came, went = (total(after, f"Reassignment{name}PerSec") for name in ("BytesIn", "BytesOut"))
    assert 0 < went == came < total(after, "ReplicationBytesInPerSec")


def test_a_transaction_that_hangs_is_counted_by_its_leader_until_a_marker_ends_it(loaded):
    world = pickle.loads(loaded)
    replicas = world.nodes[f"broker-{truth_of(world).partition_state('orders', 0)['leader']}"].machine.replicas
    then = replicas.node.wall_ms() - 21 * 60_000
    begun = encode_batch([(then, None, b"x", ())], producer_id=77, producer_epoch=0, base_sequence=0, transactional=True)
    counted = []
    for records, origin in ((begun, "client"), (transaction_marker_batch(False, 77, 0, 0, then), "coordinator")):
        replicas.append(30_000, 1, [("orders", 0, records)], lambda *_: None, None, origin)
        run(world, 0.1)
        counted.append(total(metrics(world), "PartitionsWithLateTransactionsCount"))
    assert counted == [1, 0]


def test_a_healthy_cluster_shows_what_operators_want_to_see(loaded):
    world = pickle.loads(loaded)
    for name, values in metrics(world).items():
        metric = described(name)
        assert metric is not None
        if metric.normal is not None and not name.startswith("kafka.consumer"):
            assert set(values.values()) == {metric.normal}, name
    assert total(metrics(world), "ActiveControllerCount") == 1
    assert total(metrics(world), "MessagesInPerSec") > 700


def test_before_and_after_a_kill_differ_where_kafka_s_do(loaded):
    world = pickle.loads(loaded)
    before = metrics(world)
    do(world, do="kill", leader_of="orders-0")
    run(world, 6)
    changes = difference(before, metrics(world))
    deltas: dict[str, float] = {}
    for change in changes:
        deltas[change.name] = deltas.get(change.name, 0) + change.delta
    assert deltas["kafka.server:type=ReplicaManager,name=UnderReplicatedPartitions"] > 2
    assert deltas["kafka.server:type=ReplicaManager,name=AtMinIsrPartitionCount"] > 2
    assert "kafka.network:type=RequestMetrics,name=TotalTimeMs,request=Produce" in deltas


def test_requests_queue_where_a_thread_is_slow(loaded):
    world = pickle.loads(loaded)
    for _, node in observe.brokers(world):
        node.machine.pipeline.costs.io_us = 30_000
        node.machine.pipeline.costs.network_us = 500
    sizes = set()
    for _ in range(100):
        run(world, 0.02)
        sizes.add(total(metrics(world), "RequestQueueSize"))
    after = metrics(world)
    assert len(sizes) > 1
    for name in ("RequestQueueTimeMs", "LocalTimeMs", "ResponseQueueTimeMs"):
        assert total(after, name) > 0
