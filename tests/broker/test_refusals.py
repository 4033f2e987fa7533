"""What is not there yet is refused at once, with an answer that no client takes for "ask again"."""

from __future__ import annotations

import select
import socket
import struct
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.broker.handlers import HANDLERS
from broker_core.cluster.zk.cluster import ZooKeeperCluster
from broker_core.wire import api_name
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, advertised, is_flexible, version_range
from broker_core.wire.errors import ErrorCode as E
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle.asking import Connection

IMPLEMENTED = ZooKeeperCluster.apis.union(map(ApiKey, HANDLERS))
MISSING = [key for key in ApiKey if key not in IMPLEMENTED]


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = {"offsets.topic.replication.factor": "1", "connections.max.idle.ms": "2000"}
    cluster = {"brokers": 1, "preset": "fast", "port": free_ports(1), "settings": settings}
    lab = LiveLab(run_from_dict({"cluster": cluster, "seed": 3}), tmp_path_factory.mktemp("refusals"))
    yield lab.start().bootstrap
    lab.stop()


@pytest.fixture
def asker(address: str) -> Iterator[Connection]:
    connection = Connection(address)
    yield connection
    connection.close()


def test_what_is_missing_is_not_offered(asker: Connection) -> None:
    offered = {one.api_key for one in asker.ask(ApiKey.API_VERSIONS, 3, software()).api_keys}
    assert offered == {key for key, _, _ in advertised("zookeeper", IMPLEMENTED)} and not offered & set(MISSING)


@pytest.mark.parametrize("key", MISSING, ids=api_name)
def test_who_asks_for_it_anyway_is_disconnected(address: str, key: ApiKey) -> None:
    first, last = version_range(key, "zookeeper") or (0, 0)
    for version in {first, last}:
        connection = Connection(address)
        header = struct.pack(">hhih", key, version, 1, -1) + (b"\0" if is_flexible(key, version) else b"")
        connection.write(struct.pack(">i", len(header) + 40) + header + bytes(40))
        assert connection.frame() is None
        connection.close()


@pytest.mark.parametrize("version", range(0, 6))
def test_a_transactional_id_is_sent_to_its_coordinator_before_anything_else(asker: Connection, version: int) -> None:
    request = m.InitProducerIdRequest(transactional_id="tx", transaction_timeout=1000, producer_id=-1, producer_epoch=-1)
    assert asker.ask(ApiKey.INIT_PRODUCER_ID, version, request).error_code == E.NOT_COORDINATOR
    empty = m.InitProducerIdRequest(transactional_id="", transaction_timeout=1000, producer_id=-1, producer_epoch=-1)
    assert asker.ask(ApiKey.INIT_PRODUCER_ID, version, empty).error_code == E.INVALID_REQUEST


def test_a_version_from_the_future_is_answered_with_the_ranges_and_error_35(asker: Connection) -> None:
    asker.write(struct.pack(">ihhihb", 11, ApiKey.API_VERSIONS, 99, 77, -1, 0))
    frame = asker.frame()
    assert frame is not None and struct.unpack_from(">ih", frame) == (77, E.UNSUPPORTED_VERSION)
    count = struct.unpack_from(">i", frame, 6)[0]
    ranges = [struct.unpack_from(">hhh", frame, 10 + 6 * number) for number in range(count)]
    assert (ApiKey.API_VERSIONS, 0, 4) in ranges and len(frame) == 10 + 6 * count
    assert asker.ask(ApiKey.API_VERSIONS, 3, software()).error_code == 0  # the same connection goes on


def test_a_produce_without_acks_gets_no_answer_and_the_next_request_its_own(asker: Connection) -> None:
    asker.send(ApiKey.PRODUCE, 9, m.ProduceRequest(acks=0, timeout=100, topic_data=[], transactional_id=None))
    assert asker.ask(ApiKey.METADATA, 4, topics()).topics == []


def test_a_client_that_has_said_all_still_gets_its_answers(address: str) -> None:
    asker = Connection(address)
    asker.send(ApiKey.API_VERSIONS, 0, m.ApiVersionsRequest())
    asker.send(ApiKey.METADATA, 4, topics())
    asker.socket.shutdown(socket.SHUT_WR)
    assert asker.read(ApiKey.API_VERSIONS, 0).error_code == 0
    asker.close()


def test_a_connection_that_nobody_uses_is_closed_and_one_in_use_is_not(address: str) -> None:
    busy, idle = Connection(address), Connection(address)
    assert idle.ask(ApiKey.METADATA, 4, topics()).topics == []
    while not readable(idle):
        assert busy.ask(ApiKey.METADATA, 4, topics()).topics == []
    assert idle.frame() is None
    assert busy.ask(ApiKey.METADATA, 4, topics()).topics == []
    busy.close()
    idle.close()


def readable(connection: Connection) -> bool:
    """Whether something has come within a tenth of a second, or the connection has ended."""
    return bool(select.select([connection.socket], [], [], 0.1)[0])


def software() -> Any:
    return m.ApiVersionsRequest(client_software_name="asker", client_software_version="1")


def topics(*names: str) -> Any:
    asked = [m.MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return m.MetadataRequest(topics=asked, allow_auto_topic_creation=True)
