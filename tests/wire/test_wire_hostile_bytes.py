"""Bytes that lie, stop early or mean nothing: a WireError, quickly and without taking memory for the claim."""

from __future__ import annotations

import random
import struct
import tracemalloc
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from broker_core.wire import catalog, codec, messages
from broker_core.wire.apis import ApiKey, api_name
from broker_core.wire.compiled import read_message, write_message
from broker_core.wire.errors import WireError

NOT_SLOWED = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
EVERYTHING = [(name, version) for name in catalog.names() for version in catalog.message_type(name).versions]
HUGE = b"\x7f\xff\xff\xff"
HUGE_VARINT = b"\xff\xff\xff\xff\x07"


def wire_of(message: Any, version: int) -> bytes:
    return b"".join(map(bytes, write_message(type(message), version, message, bytearray(), sized=False)))


def read(name: str, version: int, data: bytes) -> Any:
    return read_message(getattr(messages, name), version, memoryview(data))


@pytest.mark.parametrize("name", ["ProduceRequest", "FetchRequest", "JoinGroupRequest", "FetchResponse"])
def test_every_truncation_is_refused(name: str, random_messages: Any) -> None:
    for version in catalog.message_type(name).versions:
        wire = wire_of(random_messages(random.Random(version)).message(name, version), version)
        for length in range(0, len(wire), max(1, len(wire) // 40)):
            with pytest.raises(WireError) as caught:
                read(name, version, wire[:length])
            assert f"{name} v{version}" in caught.value.place


@NOT_SLOWED
@given(chosen=st.sampled_from(EVERYTHING), source=st.randoms(use_true_random=False), data=st.data())
def test_changed_bytes_give_a_message_or_a_wire_error(
    chosen: tuple[str, int], source: random.Random, data: Any, random_messages: Any
) -> None:
    name, version = chosen
    wire = bytearray(wire_of(random_messages(source).message(name, version), version))
    for _ in range(data.draw(st.integers(1, 4))):
        if wire:
            wire[data.draw(st.integers(0, len(wire) - 1))] = data.draw(st.sampled_from([0, 1, 127, 128, 254, 255]))
    try:
        read(name, version, bytes(wire))
    except WireError as error:
        assert error.reason


@NOT_SLOWED
@given(chosen=st.sampled_from(EVERYTHING), noise=st.binary(max_size=200))
def test_noise_gives_a_message_or_a_wire_error(chosen: tuple[str, int], noise: bytes) -> None:
    try:
        read(*chosen, noise)
    except WireError as error:
        assert " v" in error.place


@NOT_SLOWED
@given(frame=st.binary(max_size=60))
def test_noise_as_a_frame_gives_a_header_or_a_wire_error(frame: bytes) -> None:
    for head in (b"", *(struct.pack(">hh", key, 9) for key in (0, 1, 3, 18, 999))):
        try:
            header = codec.decode_request_header(head + frame)
            codec.decode_request(header.api_key, header.api_version, header.body)
        except WireError as error:
            assert error.place


def hostile_claims() -> list[tuple[str, int, bytes]]:
    """Messages of a few bytes that claim to hold two thousand million elements or bytes."""
    return [
        ("ProduceRequest", 3, b"\xff\xff" + b"\0\1\0\0\0\0" + HUGE),
        ("ProduceRequest", 9, b"\0" + b"\0\1\0\0\0\0" + HUGE_VARINT),
        ("ProduceRequest", 9, b"\0" + b"\0\1\0\0\0\0" + b"\1" + HUGE_VARINT),
        ("MetadataRequest", 4, HUGE),
        ("MetadataRequest", 12, HUGE_VARINT),
        ("MetadataRequest", 0, b"\0\0\0\1\x7f\xff"),
        ("FetchRequest", 12, b"\0" * 21 + HUGE_VARINT),
        ("SaslAuthenticateRequest", 0, HUGE),
        ("SaslAuthenticateRequest", 2, HUGE_VARINT),
        ("OffsetCommitRequest", 8, b"\2g" + HUGE_VARINT),
        ("LeaderAndIsrRequest", 7, b"\0" * 18 + HUGE_VARINT),
    ]


@pytest.mark.parametrize(("name", "version", "wire"), hostile_claims())
def test_a_huge_claim_takes_no_memory(name: str, version: int, wire: bytes) -> None:
    with pytest.raises(WireError):
        read(name, version, b"")  # the reader itself is made before measuring
    tracemalloc.start()
    try:
        with pytest.raises(WireError):
            read(name, version, wire)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 100_000


def test_an_error_names_api_version_field_and_byte() -> None:
    part = struct.pack(">ii", 3, -7)
    wire = b"\xff\xff" + struct.pack(">hi", 1, 30000) + b"\0\0\0\1" + b"\0\1t" + b"\0\0\0\1" + part
    with pytest.raises(WireError) as caught:
        read("ProduceRequest", 3, wire)
    assert str(caught.value) == (
        "ProduceRequest v3 topic_data[0].partition_data[0].records at byte 27: negative length -7"
    )


def test_null_is_refused_where_the_schema_does_not_allow_it() -> None:
    with pytest.raises(WireError, match="null is not allowed here"):
        read("HeartbeatRequest", 0, b"\xff\xff\0\0\0\1\0\0")


def test_unknown_tagged_fields_are_skipped_and_must_fit() -> None:
    known = wire_of(messages.HeartbeatRequest(group_id="g"), 4)
    assert known.endswith(b"\0")
    assert read("HeartbeatRequest", 4, known[:-1] + b"\2\x05\3abc\x06\0") == messages.HeartbeatRequest(
        group_id="g", group_instance_id=None
    )
    with pytest.raises(WireError):
        read("HeartbeatRequest", 4, known[:-1] + b"\1\x05\4abc")
    with pytest.raises(WireError):
        read("HeartbeatRequest", 4, known[:-1] + HUGE_VARINT)


def test_a_tagged_field_must_have_the_size_that_it_says() -> None:
    wire = wire_of(messages.FetchRequest(cluster_id="c"), 12)
    assert wire.endswith(b"\1\0\2\2c")
    with pytest.raises(WireError, match="tagged field 0 says 3 bytes"):
        read("FetchRequest", 12, wire[:-3] + b"\3\2c\0")


def test_text_that_is_not_utf_8_becomes_replacement_characters() -> None:
    assert read("MetadataRequest", 0, b"\0\0\0\1\0\2a\xff").topics[0].name == "a\ufffd"


def test_bytes_behind_a_message_are_ignored_as_in_kafka() -> None:
    assert read("ApiVersionsRequest", 0, b"behind") == messages.ApiVersionsRequest()


@pytest.mark.parametrize(
    "frame", [b"", b"\0\0", b"\0\3\0\4\0\0\0\1", b"\0\3\0\4\0\0\0\1\0\5ab", b"\0\3\0\4\0\0\0\1\xff\xfe"]
)
def test_a_broken_header_is_refused(frame: bytes) -> None:
    with pytest.raises(WireError, match="request header"):
        codec.decode_request_header(frame)


def test_an_unknown_api_or_version_is_refused() -> None:
    with pytest.raises(WireError, match="unknown api key 999"):
        codec.decode_request_header(struct.pack(">hhih", 999, 0, 1, -1))
    with pytest.raises(WireError, match="FetchRequest v99: no such version"):
        codec.decode_request(ApiKey.FETCH, 99, b"")
    with pytest.raises(WireError):
        codec.decode_request(999, 0, b"")
    assert api_name(999) == "api 999"


@pytest.mark.parametrize(
    ("message", "field"),
    [
        (messages.HeartbeatRequest(generation_id=2**31), "generation_id"),
        (messages.HeartbeatRequest(group_id=7), "group_id"),
        (messages.HeartbeatRequest(group_id="x" * 32768), "group_id"),
        (messages.MetadataRequest(topics=[messages.MetadataRequest.MetadataRequestTopic(topic_id="no")]), "topic_id"),
    ],
)
def test_a_value_that_cannot_be_written_is_named(message: Any, field: str) -> None:
    version = 4 if isinstance(message, messages.HeartbeatRequest) else 12
    with pytest.raises(WireError, match=field):
        wire_of(message, version)


@pytest.mark.parametrize(
    ("key", "version", "body"),
    [
        (3, 1, struct.pack(">i", 300_000) + b"\0\1t" * 300_000),
        (3, 12, b"\xe1\xa7\x12" + (bytes(16) + b"\0\0") * 300_000),
        (44, 0, struct.pack(">i", 1) + b"\2\0\1t" + struct.pack(">i", 300_000) + b"\0\1k\0\xff\xff" * 300_000),
        (12, 4, b"\2g\0\0\0\1\1\0" + b"\xe0\xa7\x12" + b"\5\0" * 300_000),
        (23, 2, struct.pack(">i", 300_000) + b"\0\1t\0\0\0\0" * 300_000),
    ],
)
def test_a_request_with_more_values_than_any_client_sends_is_refused(key: int, version: int, body: bytes) -> None:
    with pytest.raises(WireError, match="too many values"):
        codec.decode_request(key, version, body)


def test_a_mistake_far_into_a_long_request_is_refused_without_a_long_search() -> None:
    body = struct.pack(">i", 190_000) + b"\0\1t" * 189_999 + b"\0\5t"
    with pytest.raises(WireError, match="too long to say where"):
        codec.decode_request(3, 1, body)
