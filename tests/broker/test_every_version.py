"""Every API in every version that is offered: requests drawn at random get answers that kio can read."""

from __future__ import annotations

import importlib
import json
import random
import struct
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.broker.handlers import HANDLERS
from broker_core.cluster.zk.cluster import ZooKeeperCluster
from broker_core.kernel.storage import read_all
from broker_core.records import encode_batch
from broker_core.wire import api_name, catalog, kio_schemas
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, advertised, is_flexible, response_header_version
from broker_core.wire.codec import decode_response, encode_request
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import PATIENCE_S, free_ports
from tests.oracle.asking import Connection
from tests.wire.conftest import RANGES, RandomMessages

INSIDE = {ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN,
          ApiKey.ALTER_PARTITION, ApiKey.ALLOCATE_PRODUCER_IDS}  # fmt: skip
IMPLEMENTED = ZooKeeperCluster.apis.union(map(ApiKey, HANDLERS))
OFFERED = [one for one in advertised("zookeeper", IMPLEMENTED) if one[0] not in INSIDE]
NAMES = ("orders", "", "nowhere", "a b", "x" * 250, "größer", "g", "1", "range", "consumer", "cleanup.policy", "compact", "0")
EACH = 12
# Kafka answers the time -1 there, which kio cannot hold.
TIMELESS = {ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN}


class Draw(RandomMessages):
    """Names that mean something, short times, and numbers at their limits."""

    def _single(self, field: Any, classes: dict[str, Any]) -> Any:
        if field.type == "string":
            return self._random.choice(NAMES)
        if field.type == "records":
            return self._random.choice((None, b"", b"zz", bytes(encode_batch([(1000, b"k", b"v", ())]))))
        if field.type == "bytes":
            return self._random.choice((b"", bytes(6), b"\0\1\0\0\0\1\0\6orders\xff\xff\xff\xff"))
        return super()._single(field, classes)

    def _number(self, name: str, kind: str) -> int:
        low, high = RANGES[kind]
        if "timeout" in name or name == "max_wait":
            return self._random.choice((-1, 0, 1, 10, 50))
        if name in ("count", "num_partitions", "replication_factor"):
            return self._random.choice((-2, -1, 0, 1, 2))
        return self._random.choice((0, 0, 1, 2, -1, low, high))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    settings = {"offsets.topic.replication.factor": "1", "default.replication.factor": "1"}
    cluster = {"brokers": 1, "preset": "fast", "port": free_ports(1), "settings": settings}
    found = LiveLab(run_from_dict({"cluster": cluster, "seed": 6}), tmp_path_factory.mktemp("versions"))
    found.start()
    yield found
    found.stop()
    rows = (found.data / "runs" / "0001" / "journal.jsonl").read_text().splitlines()
    failed = [row for row in map(json.loads, rows) if row[3] == "handler_failed"]
    assert not failed, failed[:5]


@pytest.fixture
def asker(lab: LiveLab) -> Iterator[Connection]:
    connection = Connection(f"127.0.0.1:{lab.server.ports['broker-1']}", PATIENCE_S)
    data = m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(name="orders")], allow_auto_topic_creation=True)
    connection.ask(ApiKey.METADATA, 9, data)
    yield connection
    connection.close()


@pytest.mark.parametrize("offered", OFFERED, ids=lambda one: api_name(one[0]))
def test_whatever_is_asked_the_answer_can_be_read(asker: Connection, offered: tuple[ApiKey, int, int]) -> None:
    key, first, last = offered
    kind = getattr(m, api_name(key) + "Request")
    for version in range(first, last + 1):
        draw = Draw(random.Random(f"{key} {version}"), tame=True)
        for number in range(EACH):
            request = draw.message(kind.__name__, version) if number else kind()
            if key == ApiKey.PRODUCE and request.acks == 0:
                request.acks = 1
            frame = read_all(encode_request(key, version, number, "asker", request))
            if number % 3 == 1 and key != ApiKey.FETCH and is_flexible(key, version) and frame[-1] == 0:
                frame = with_unknown_tag(frame)
            asker.write(frame)
            answer = asker.frame()
            assert answer is not None, f"v{version}: closed after {request}"
            assert struct.unpack_from(">i", answer)[0] == number
            read_with_kio(key, version, answer)


def with_unknown_tag(frame: bytes) -> bytes:
    """Field 99 of the top level, three bytes long, that no broker knows."""
    body = frame[4:-1] + b"\1\x63\3abc"
    return struct.pack(">i", len(body)) + body


def read_with_kio(key: ApiKey, version: int, answer: bytes) -> None:
    name, body = api_name(key) + "Response", answer[4:]
    if response_header_version(key, version) == 1:
        assert body[0] == 0
        body = body[1:]
    module, kind = catalog._kio_modules()[name]
    if version not in kio_schemas.versions_of(module) or key in TIMELESS:  # the first: older than kio's oldest
        decode_response(key, version, memoryview(body))
        return
    serial: Any = importlib.import_module("kio.serial")
    entity = getattr(importlib.import_module(f"kio.schema.{module}.v{version}.{kind}"), name)
    _, size = serial.entity_reader(entity)(memoryview(body).toreadonly(), 0)
    assert size == len(body)


def test_topics_can_be_asked_for_by_the_id_that_nobody_has(asker: Connection) -> None:
    one = m.MetadataRequest.MetadataRequestTopic(name=None, topic_id=uuid.UUID(int=9))
    assert asker.ask(ApiKey.METADATA, 12, m.MetadataRequest(topics=[one])).topics[0].error_code == 100
