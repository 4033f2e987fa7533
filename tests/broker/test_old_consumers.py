"""What consumers from before Kafka 2.1 read: older formats, and a clear error where there is none for them."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.kernel.storage import read_all
from broker_core.records import decode_records, encode_batch
from broker_core.records.header import iterate_batches
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import free_ports
from tests.oracle.asking import Connection

GZIP, ZSTD = 1, 4
NUMBERS = itertools.count(1)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    cluster = {"brokers": 1, "preset": "fast", "port": free_ports(1), "settings": {"offsets.topic.replication.factor": "1"}}
    found = LiveLab(run_from_dict({"cluster": cluster, "seed": 8}), tmp_path_factory.mktemp("old-consumers"))
    found.start()
    yield found
    found.stop()
    rows = (found.data / "runs" / "0001" / "journal.jsonl").read_text().splitlines()
    assert not [row for row in map(json.loads, rows) if row[3] == "handler_failed"]


@pytest.fixture
def asker(lab: LiveLab) -> Iterator[Connection]:
    connection = Connection(f"127.0.0.1:{lab.server.ports['broker-1']}")
    yield connection
    connection.close()


def topic(asker: Connection, configs: dict[str, str] | None = None) -> str:
    """A new topic of one partition."""
    name = f"topic-{next(NUMBERS)}"
    create = m.CreateTopicsRequest
    pairs = [create.CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()]
    one = create.CreatableTopic(name=name, num_partitions=1, replication_factor=1, configs=pairs)
    assert asker.ask(ApiKey.CREATE_TOPICS, 5, create(topics=[one], timeout=5000)).topics[0].error_code == 0
    return name


def produce(asker: Connection, name: str, *batches: bytes | bytearray) -> None:
    kind = m.ProduceRequest
    for batch in batches:
        data = kind.TopicProduceData(name=name, partition_data=[kind.PartitionProduceData(index=0, records=bytes(batch))])
        answer = asker.ask(ApiKey.PRODUCE, 9, kind(acks=-1, timeout=5000, topic_data=[data]))
        assert answer.responses[0].partition_responses[0].error_code == 0


def fetch(asker: Connection, name: str, version: int, offset: int = 0, size: int = 1 << 20) -> Any:
    kind = m.FetchRequest
    part = kind.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
    request = kind(
        replica_id=-1, max_wait=100, min_bytes=1, max_bytes=1 << 20, session_epoch=-1,
        topics=[kind.FetchTopic(topic=name, partitions=[part])],
    )  # fmt: skip
    return asker.ask(ApiKey.FETCH, version, request).responses[0].partitions[0]


def read(part: Any) -> list[tuple[int, int, bytes | None]]:
    """(magic, offset, value) of what came."""
    data = read_all(part.records) if isinstance(part.records, list) else part.records or b""
    return [(batch.header.magic, one.offset, one.value) for batch in iterate_batches(data) for one in decode_records(batch)]


def batch(*values: bytes, codec: int = 0) -> bytearray:
    return encode_batch([(1_700_000_000_000, None, value, ()) for value in values], compression=codec)


@pytest.mark.parametrize(("version", "magic"), [(0, 0), (1, 0), (2, 1), (3, 1), (4, 2), (9, 2)])
def test_each_version_gets_the_format_that_it_knows(asker: Connection, version: int, magic: int) -> None:
    name = topic(asker)
    produce(asker, name, batch(b"a"), batch(b"b", b"c", codec=GZIP))
    part = fetch(asker, name, version)
    assert part.error_code == 0
    assert read(part) == [(magic, 0, b"a"), (magic, 1, b"b"), (magic, 2, b"c")]


@pytest.mark.parametrize("version", [0, 1, 2, 3])
@pytest.mark.parametrize("size", [0, 1, 16, 17, 60, 61])
def test_whoever_asks_for_less_than_a_batch_gets_an_answer(asker: Connection, version: int, size: int) -> None:
    """Before version 3 a batch was cut where the answer was full; what comes is nothing, or can be read."""
    name = topic(asker)
    produce(asker, name, batch(b"one"))
    part = fetch(asker, name, version, size=size)
    assert part.error_code == 0
    assert all(batch.header.magic == (0 if version < 2 else 1) for batch in iterate_batches(part.records or b""))


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_zstd_is_an_error_of_its_own_batch_not_of_those_before_it(asker: Connection, version: int) -> None:
    name, other = topic(asker), topic(asker)
    produce(asker, name, batch(b"a"), batch(b"b" * 99, b"c" * 99, codec=ZSTD))
    produce(asker, other, batch(b"d"))
    assert [value for _, _, value in read(fetch(asker, name, version))] == [b"a"]
    refused = fetch(asker, name, version, offset=1)
    assert (refused.error_code, refused.high_watermark, read(refused)) == (E.UNSUPPORTED_COMPRESSION_TYPE, -1, [])
    assert fetch(asker, other, version).error_code == 0  # the connection goes on


@pytest.mark.parametrize(("version", "error"), [(3, 76), (4, 76), (9, 76), (10, 0), (12, 0)])
def test_a_topic_of_zstd_is_not_for_consumers_from_before_it(asker: Connection, version: int, error: int) -> None:
    name = topic(asker, {"compression.type": "zstd"})
    produce(asker, name, batch(b"a"))
    part = fetch(asker, name, version)
    assert part.error_code == error
    assert [value for _, _, value in read(part)] == ([] if error else [b"a"])


@pytest.mark.parametrize(("version", "error"), [(0, 35), (3, 35), (4, 0)])
def test_down_conversion_can_be_switched_off(asker: Connection, version: int, error: int) -> None:
    name = topic(asker, {"message.downconversion.enable": "false"})
    assert fetch(asker, name, version).error_code == error  # also while there is nothing to convert
    produce(asker, name, batch(b"a"))
    part = fetch(asker, name, version)
    assert part.error_code == error
    assert [value for _, _, value in read(part)] == ([] if error else [b"a"])
