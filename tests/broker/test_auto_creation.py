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
from tests.conftest import free_ports
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
