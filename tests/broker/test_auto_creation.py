"""Who asks for a topic that cannot be created hears at once why, not "ask again" until his patience ends."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from lab.truth import truth_of
from tests.conftest import free_ports
from tests.lab.test_joining import Lab
from tests.oracle.asking import Connection


@pytest.fixture
def asker(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Connection]:
    """Connected to the only broker of a cluster whose new topics have as many replicas as the parameter says."""
    settings = {"default.replication.factor": request.param}
    lab = LiveLab(run_from_dict({"cluster": {"brokers": 1, "port": free_ports(1), "settings": settings}}), tmp_path)
    connection = Connection(lab.start().bootstrap)
    yield connection
    connection.close()
    lab.stop()


def error_of(asker: Connection, topic: str) -> int:
    asked = [m.MetadataRequest.MetadataRequestTopic(name=topic)]
    request = m.MetadataRequest(topics=asked, allow_auto_topic_creation=True)
    return int(asker.ask(ApiKey.METADATA, 9, request).topics[0].error_code)


@pytest.mark.parametrize("asker", ["2"], indirect=True)
def test_more_replicas_than_live_brokers(asker: Connection) -> None:
    assert [error_of(asker, "orders") for _ in range(2)] == [E.INVALID_REPLICATION_FACTOR] * 2


@pytest.mark.parametrize("asker", ["1"], indirect=True)
def test_a_name_that_differs_only_in_a_dot(asker: Connection) -> None:
    topic = m.CreateTopicsRequest.CreatableTopic(name="a.b", num_partitions=1, replication_factor=1)
    created = asker.ask(ApiKey.CREATE_TOPICS, 5, m.CreateTopicsRequest(topics=[topic], timeout=20_000))
    assert created.topics[0].error_code == E.NONE
    assert error_of(asker, "a_b") == E.INVALID_TOPIC_EXCEPTION
    assert error_of(asker, "a_c") == E.LEADER_NOT_AVAILABLE


@pytest.mark.parametrize(("generation", "found"), [("kraft", True), ("zookeeper", False)])
def test_with_a_dead_broker_a_group_finds_its_coordinator_where_fenced_brokers_get_replicas(generation: str, found: bool) -> None:
    settings = {"offsets.topic.replication.factor": 3, "offsets.topic.num.partitions": 1}
    reader = {"name": "reader", "kind": "consumer", "topic": "orders", "settings": {"group.id": "g"}}
    cluster = {"brokers": 3, "preset": "teaching", "controller": generation, "settings": settings}
    lab = Lab({"cluster": cluster, "seed": 5, "clients": [reader]})
    lab.do(do="create_topic", topic="orders", partitions=1, replication_factor=3)
    lab.do(do="kill", broker=2)
    lab.run(8)
    lab.do(do="start_client", name="reader")
    lab.run(5)
    assert ("__consumer_offsets" in truth_of(lab.world).topics()) is found
