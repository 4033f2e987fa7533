"""Message classes, API table, error codes, schemas: what other packages build on."""

from __future__ import annotations

import pickle
import struct
import subprocess
import sys
import uuid
from typing import Any

import pytest

from broker_core import wire
from broker_core.wire import apis, codec
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.catalog import message_type, names
from broker_core.wire.compiled import read_message, write_message
from broker_core.wire.errors import ErrorCode
from broker_core.wire.schema import parse_tables

TABLES = """
LessonRecord 0-2 flexible 1+
  name           string      0+
  topic_id       uuid        1+
  pages          [Page]      0+   null 1+
    number       int32       0+   = -1
  note           string      2+   null tag 0 = null
"""
LessonRecord: Any = m.define(TABLES, __name__)["LessonRecord"]


class Slice:
    """Stands for a slice of a file: has a length, and must not be read by the codec."""

    def __len__(self) -> int:
        return 1000


def test_a_message_starts_with_the_defaults_of_its_schema() -> None:
    request = m.FetchRequest()
    assert (request.max_bytes, request.session_epoch, request.topics, request.rack_id) == (2147483647, -1, [], "")
    assert m.FetchRequest.FetchPartition().replica_directory_id == uuid.UUID(int=0)
    assert m.FetchResponse.PartitionData().current_leader == m.FetchResponse.LeaderIdAndEpoch(
        leader_id=-1, leader_epoch=-1
    )
    assert m.ProduceResponse.PartitionProduceResponse().log_append_time == -1


def test_lists_of_two_messages_are_not_shared() -> None:
    one, two = m.FetchRequest(), m.FetchRequest()
    one.topics.append(1)
    assert two.topics == []


def test_a_message_knows_only_its_fields() -> None:
    with pytest.raises(TypeError):
        m.FetchRequest(unknown=1)
    with pytest.raises(AttributeError):
        m.FetchRequest().unknown = 1
    with pytest.raises(AttributeError, match="no message 'NoSuchRequest'"):
        _ = m.NoSuchRequest


def test_messages_compare_by_value_and_print_what_differs_from_the_defaults() -> None:
    nested = m.LeaderAndIsrRequest.LeaderAndIsrPartitionState(leader=2, isr=[1, 2])
    assert nested == m.LeaderAndIsrRequest.LeaderAndIsrPartitionState(leader=2, isr=[1, 2])
    assert nested != m.LeaderAndIsrRequest.LeaderAndIsrPartitionState(leader=3, isr=[1, 2])
    assert repr(nested) == "LeaderAndIsrPartitionState(leader=2, isr=[1, 2])"
    assert repr(m.FetchResponse.PartitionData(records=b"abc")) == "PartitionData(records=<3 bytes>)"


def test_a_message_is_pickled_with_its_views_as_bytes() -> None:
    part = m.FetchResponse.PartitionData(records=[memoryview(b"ab"), b"c"])
    again = pickle.loads(pickle.dumps(part))
    assert again.records == [b"ab", b"c"]
    assert type(again) is m.FetchResponse.PartitionData


def test_a_pickled_message_is_read_in_a_process_that_never_saw_its_class() -> None:
    pickled = pickle.dumps(m.HeartbeatRequest(group_id="g"))
    code = f"import pickle; print(pickle.loads({pickled!r}).group_id)"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == "g\n"


def test_record_buffers_are_passed_through_without_being_read() -> None:
    records = [memoryview(b"head"), Slice()]
    part = m.FetchResponse.PartitionData(partition_index=1, records=records)
    topic = m.FetchResponse.FetchableTopicResponse(topic="t", partitions=[part])
    for version in (4, 12):
        parts = codec.encode_response(ApiKey.FETCH, version, 9, m.FetchResponse(responses=[topic]))
        assert parts[1] is records[0]
        assert parts[2] is records[1]
        assert struct.unpack_from(">i", parts[0])[0] == sum(map(len, parts)) - 4


def test_the_records_of_a_request_are_a_view_of_the_frame() -> None:
    topic = m.ProduceRequest.TopicProduceData(
        name="t", partition_data=[m.ProduceRequest.PartitionProduceData(records=b"batch")]
    )
    whole = b"".join(codec.encode_request(ApiKey.PRODUCE, 9, 1, "me", m.ProduceRequest(topic_data=[topic])))
    frame = bytearray(whole[4:])
    body = codec.decode_request_header(memoryview(frame)).body
    records = codec.decode_request(ApiKey.PRODUCE, 9, body).topic_data[0].partition_data[0].records
    assert records == b"batch"
    assert records.obj is frame


def test_controlled_shutdown_0_has_the_header_without_client_id() -> None:
    request = m.ControlledShutdownRequest(broker_id=3)
    whole = b"".join(codec.encode_request(ApiKey.CONTROLLED_SHUTDOWN, 0, 5, None, request))
    header = codec.decode_request_header(whole[4:])
    assert header[:4] == (7, 0, 5, None)
    assert codec.decode_request(7, 0, header.body).broker_id == 3


def _body(version: int, message: Any) -> bytes:
    return b"".join(map(bytes, write_message(type(message), version, message, bytearray(), sized=False)))


def test_tables_of_other_packages_make_messages_too() -> None:
    record = LessonRecord(name="n", pages=[LessonRecord.Page(number=4)], note="x")
    assert _body(0, record) == b"\0\1n" + b"\0\0\0\1" + b"\0\0\0\4"
    assert _body(2, record) == b"\2n" + bytes(16) + b"\2\0\0\0\4\0" + b"\1\0\2\2x"
    assert read_message(LessonRecord, 2, memoryview(_body(2, record))) == record
    assert pickle.loads(pickle.dumps(record)) == record


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        ("M 0\n  a  int31  0+", "unknown type 'int31' of field 'a'"),
        ("M 0\n  a  int32  0+  often", "unexpected 'often' behind field 'a'"),
        ("M 0\n  a  int32  zero", "not a range of versions: 'zero'"),
    ],
)
def test_a_wrong_line_of_a_table_is_named(table: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        parse_tables(table)


def test_the_first_error_is_found_from_the_outside_in() -> None:
    data = m.FetchResponse.PartitionData
    topics = [
        m.FetchResponse.FetchableTopicResponse(partitions=[data(), data(error_code=ErrorCode.FENCED_LEADER_EPOCH)])
    ]
    assert wire.first_error(m.FetchResponse(responses=topics)) == 74
    assert wire.first_error(m.FetchResponse(responses=topics, error_code=1)) == 1
    assert wire.first_error(m.FetchResponse()) == 0
    assert wire.first_error(m.OffsetCommitResponse()) == 0
    assert wire.first_error(m.DescribeClusterResponse(error_code=31)) == 31
    assert wire.first_error(m.ProduceRequest()) == 0


def test_error_codes_are_kafkas() -> None:
    assert ErrorCode(6) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert ErrorCode.NOT_LEADER_OR_FOLLOWER.retriable
    assert not ErrorCode.UNSUPPORTED_VERSION.retriable
    assert ErrorCode.UNSUPPORTED_VERSION.message == "The version of API is not supported."
    assert sorted(ErrorCode) == list(range(-1, len(ErrorCode) - 1))


def test_names_ranges_and_header_versions() -> None:
    assert [wire.api_name(key) for key in (0, 23, 45, 75)] == [
        "Produce", "OffsetForLeaderEpoch", "AlterPartitionReassignments", "DescribeTopicPartitions",
    ]  # fmt: skip
    assert apis.advertised("kraft", {ApiKey.FETCH, ApiKey.LEADER_AND_ISR}) == [(ApiKey.FETCH, 4, 18)]
    assert apis.version_range(ApiKey.LEADER_AND_ISR, "zookeeper") == (0, 7)
    assert apis.is_supported(ApiKey.FETCH, 0, "zookeeper")
    assert not apis.is_supported(ApiKey.FETCH, 0, "kraft")
    versions = [(7, 0), (0, 8), (0, 9)]
    assert [apis.request_header_version(key, version) for key, version in versions] == [0, 1, 2]
    assert [apis.response_header_version(18, 4), apis.response_header_version(3, 9)] == [0, 1]
    assert not apis.is_flexible(ApiKey.SASL_HANDSHAKE, 1)


def test_every_advertised_version_has_a_schema_that_agrees_on_flexibility() -> None:
    for mode in ("zookeeper", "kraft", "controller"):
        for key, first, last in apis.advertised(mode, set(ApiKey)):
            for direction in ("Request", "Response"):
                kind = getattr(m, wire.api_name(key) + direction).TYPE
                for version in range(first, last + 1):
                    if (mode, key) == ("kraft", ApiKey.PRODUCE) and version < 3:
                        continue  # advertised for librdkafka, refused by the broker
                    assert kind.at(version).flexible == apis.is_flexible(key, version)


def test_in_every_version_of_every_message_tags_ascend_and_stand_in_flexible_structs_only() -> None:
    types = [message_type(name) for name in names()]
    structs = [each for one in types for version in one.versions for each in one.at(version).structs()]
    for one in structs:
        tags = [field.tag for field in one.tagged]
        assert tags == sorted(set(tags)) and (one.flexible or not tags), one.name
    assert sum(bool(one.tagged) for one in structs) > 10
