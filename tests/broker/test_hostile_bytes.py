"""Whatever bytes arrive, only the connection that sent them suffers.

One live broker over TCP. Each example sends garbage on connections of its own; a good client on another
connection must go on to be served, the broker must not fail, and what was refused stands in the journal.
"""

from __future__ import annotations

import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.records.batch import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, advertised
from broker_core.wire.codec import decode_response, decode_response_header, encode_request
from broker_core.wire.errors import ErrorCode
from broker_core.broker.handlers import HANDLERS
from broker_core.cluster.zk.cluster import ZooKeeperCluster
from broker_core.kernel.storage import read_all
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import PATIENCE_S, free_ports

IMPLEMENTED = ZooKeeperCluster.apis.union(map(ApiKey, HANDLERS))
RANGES = advertised("zookeeper", IMPLEMENTED)
CONTROL = (ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA, ApiKey.CONTROLLED_SHUTDOWN)


class Client:
    """A plain socket that speaks frames."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)

    def ask(self, key: ApiKey, version: int, message: object) -> object:
        self.socket.sendall(read_all(encode_request(key, version, 7, "good", message)))
        header = decode_response_header(key, version, self.frame())
        return decode_response(key, version, header.body)

    def frame(self) -> bytes:
        size = struct.unpack(">i", self.exactly(4))[0]
        return self.exactly(size)

    def exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            if not part:
                raise ConnectionError("closed")
            data += part
        return data

    def close(self) -> None:
        self.socket.close()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    cluster = {"brokers": 1, "preset": "fast", "port": free_ports(1), "settings": {
        "offsets.topic.replication.factor": "1", "socket.request.max.bytes": "1000000"}}
    found = LiveLab(run_from_dict({"cluster": cluster, "seed": 5}), tmp_path_factory.mktemp("hostile"))
    found.start()
    yield found
    found.stop()
    journal = (found.data / "runs" / "0001" / "journal.jsonl").read_bytes().splitlines()
    codes = [json.loads(line)[3] for line in journal]
    assert "handler_failed" not in codes
    assert "frame_refused" in codes or "connection_closed" in codes


def port_of(lab: LiveLab) -> int:
    return lab.server.ports["broker-1"]


@pytest.fixture(scope="module")
def good(lab: LiveLab) -> Iterator[Client]:
    client = Client(port_of(lab))
    client.ask(ApiKey.CREATE_TOPICS, 5, m.CreateTopicsRequest(timeout=5000, topics=[
        m.CreateTopicsRequest.CreatableTopic(name="orders", num_partitions=1, replication_factor=1)]))
    yield client
    client.close()


def send_garbage(lab: LiveLab, data: bytes) -> None:
    """Send, and wait until it was answered or the connection was closed."""
    bad = Client(port_of(lab))
    try:
        bad.socket.settimeout(0.05)
        bad.socket.sendall(data)
        bad.socket.shutdown(socket.SHUT_WR)
        while bad.socket.recv(65536):
            pass
    except (TimeoutError, ConnectionError):
        pass
    finally:
        bad.close()


def assert_served(good: Client) -> None:
    answer = good.ask(ApiKey.METADATA, 5, m.MetadataRequest(topics=None))
    assert [topic.name for topic in answer.topics if not topic.name.startswith("__")] == ["orders"]  # type: ignore[attr-defined]


KEYS = st.sampled_from([one for one in RANGES if one[0] not in CONTROL])
BODY = st.binary(max_size=300)


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """A frame whose header may be right and whose body is not; its size may lie."""
    key, first, last = draw(KEYS)
    version = draw(st.integers(first, last))
    header = struct.pack(">hhih", key, version, draw(st.integers(0, 99)), 1) + b"x"
    body = header + draw(st.sampled_from([b"", b"\0"])) + draw(BODY)
    size = draw(st.sampled_from([len(body), len(body), len(body) + 5, max(0, len(body) - 3)]))
    return struct.pack(">i", size) + body


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.one_of(st.binary(max_size=400), frames(), st.lists(frames(), max_size=4).map(b"".join)))
def test_random_bytes_never_disturb_another_client(lab: LiveLab, good: Client, data: bytes) -> None:
    send_garbage(lab, data)
    assert_served(good)


@pytest.mark.parametrize("data", [
    struct.pack(">i", 2**31 - 1) + b"x" * 1000,
    struct.pack(">i", -1),
    struct.pack(">i", 0),
    struct.pack(">i", 8) + struct.pack(">hhi", 999, 0, 1),
    struct.pack(">i", 10) + struct.pack(">hhih", 0, 99, 1, -1),
    struct.pack(">i", 14) + struct.pack(">hhih", 3, 8, 1, -1) + struct.pack(">i", 2**31 - 1),
], ids=["2 GiB", "negative", "empty", "unknown key", "unknown version", "array of 2^31"])  # fmt: skip
def test_what_breaks_the_protocol_closes_its_connection(lab: LiveLab, good: Client, data: bytes) -> None:
    bad = Client(port_of(lab))
    bad.socket.sendall(data)
    assert bad.socket.recv(100) == b""
    bad.close()
    assert_served(good)


def batch(**changes: int) -> bytearray:
    made = encode_batch([(1000, b"k", b"v", [])])
    for name, value in changes.items():
        position, layout = {"crc": (17, ">I"), "count": (57, ">i"), "length": (8, ">i"), "magic": (16, ">b"),
                            "last_offset_delta": (23, ">i")}[name]  # fmt: skip
        struct.pack_into(layout, made, position, value)
    return made


@pytest.mark.parametrize("records", [batch(crc=1), batch(count=1000), batch(length=2**30), batch(magic=9),
                                     batch(last_offset_delta=77), bytearray(b"junk" * 30)])  # fmt: skip
def test_a_batch_that_lies_is_refused_and_leaves_the_log_alone(lab: LiveLab, good: Client, records: bytearray) -> None:
    before = end_offset(good)
    data = m.ProduceRequest.PartitionProduceData(index=0, records=bytes(records))
    answer = good.ask(ApiKey.PRODUCE, 7, m.ProduceRequest(acks=-1, timeout=1000, topic_data=[
        m.ProduceRequest.TopicProduceData(name="orders", partition_data=[data])]))
    error = answer.responses[0].partition_responses[0].error_code  # type: ignore[attr-defined]
    assert error in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.INVALID_RECORD, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT,
                     ErrorCode.MESSAGE_TOO_LARGE)
    assert end_offset(good) == before


def end_offset(good: Client) -> int:
    topic = m.ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[
        m.ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-1)])
    answer = good.ask(ApiKey.LIST_OFFSETS, 4, m.ListOffsetsRequest(replica_id=-1, topics=[topic]))
    return answer.topics[0].partitions[0].offset  # type: ignore[attr-defined,no-any-return]


def test_thousands_of_pipelined_requests_are_answered_in_order_with_bounded_memory(lab: LiveLab) -> None:
    client = Client(port_of(lab))
    frames_sent = [read_all(encode_request(ApiKey.METADATA, 5, number, "many", m.MetadataRequest(topics=[])))
                   for number in range(3000)]
    client.socket.sendall(b"".join(frames_sent))
    seen = [struct.unpack(">i", client.frame()[:4])[0] for _ in frames_sent]
    assert seen == list(range(3000))
    client.close()


def test_a_client_that_does_not_read_costs_a_bounded_amount(lab: LiveLab, good: Client) -> None:
    before = resident_bytes()
    client = Client(port_of(lab))
    one = read_all(encode_request(ApiKey.API_VERSIONS, 0, 1, "deaf", m.ApiVersionsRequest()))
    client.socket.setblocking(False)
    sent = 0
    try:
        for _ in range(2000):
            sent += client.socket.send(one * 1000)
    except BlockingIOError:
        pass
    assert_served(good)
    assert resident_bytes() - before < 80_000_000
    client.close()


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
