"""Bytes of real clients and real brokers: read and written again they are the same, to the last bit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from broker_core.wire import apis, codec
from broker_core.wire.apis import ApiKey, Mode
from broker_core.wire.errors import ErrorCode

VECTORS = Path(__file__).parent.parent / "wire_vectors"
SETS = {"kafka-3.9.json": "zookeeper", "kafka-4.1.json": "kraft"}


def frames(name: str) -> list[dict[str, Any]]:
    loaded: list[dict[str, Any]] = json.loads((VECTORS / name).read_text())
    return loaded


def requests() -> list[Any]:
    return [
        pytest.param(row, id=f"{name}-{apis.api_name(row['api_key'])}-v{row['version']}")
        for name in SETS
        for row in frames(name)
        if row["direction"] == "request" and row["version"] < 99
    ]


def responses() -> list[Any]:
    return [
        pytest.param(row, id=f"{name}-{apis.api_name(row['api_key'])}-v{row['version']}")
        for name in SETS
        for row in frames(name)
        if row["direction"] == "response" and row["version"] < 99
    ]


def joined(parts: list[Any]) -> bytes:
    """The frame without its size, which is checked."""
    whole = b"".join(map(bytes, parts))
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    return whole[4:]


@pytest.mark.parametrize("row", requests())
def test_a_captured_request_is_read_and_written_back_byte_for_byte(row: dict[str, Any]) -> None:
    frame = bytes.fromhex(row["frame"])
    header = codec.decode_request_header(frame)
    assert (header.api_key, header.api_version) == (row["api_key"], row["version"])
    message = codec.decode_request(header.api_key, header.api_version, header.body)
    parts = codec.encode_request(*header[:4], message)
    assert joined(parts) == frame


@pytest.mark.parametrize("row", responses())
def test_a_captured_response_is_read_and_written_back_byte_for_byte(row: dict[str, Any]) -> None:
    frame, key, version = bytes.fromhex(row["frame"]), row["api_key"], row["version"]
    header = codec.decode_response_header(key, version, frame)
    message = codec.decode_response(key, version, header.body)
    assert joined(codec.encode_response(key, version, header.correlation_id, message)) == frame


def answer_to_api_versions(name: str, version: int) -> bytes:
    for row in frames(name):
        if (row["api_key"], row["version"], row["direction"]) == (ApiKey.API_VERSIONS, version, "response"):
            return bytes.fromhex(row["frame"])
    raise AssertionError(f"{name} has no answer to ApiVersions v{version}")


@pytest.mark.parametrize(("name", "mode"), SETS.items())
def test_an_unknown_version_of_api_versions_gets_kafkas_own_answer(name: str, mode: Mode) -> None:
    theirs = answer_to_api_versions(name, 99)
    body = codec.decode_response(ApiKey.API_VERSIONS, 0, theirs[4:])
    assert body.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert joined(codec.encode_unsupported_api_versions(7, mode)) == theirs


def test_zookeeper_mode_advertises_what_kafka_3_9_does() -> None:
    body = codec.decode_response(ApiKey.API_VERSIONS, 0, answer_to_api_versions("kafka-3.9.json", 0)[4:])
    theirs = [(key.api_key, key.min_version, key.max_version) for key in body.api_keys]
    assert apis.advertised("zookeeper", set(ApiKey)) == theirs


def test_kraft_mode_advertises_all_versions_of_kafka_4_1() -> None:
    """The table is Kafka 4.3's, which only added versions at the upper end."""
    body = codec.decode_response(ApiKey.API_VERSIONS, 0, answer_to_api_versions("kafka-4.1.json", 0)[4:])
    theirs = {key.api_key: (key.min_version, key.max_version) for key in body.api_keys}
    newest = {int(key): (first, last) for key, first, last in apis.advertised("kraft", set(ApiKey))}
    for key, (first, last) in theirs.items():
        assert newest[key][0] == first and newest[key][1] >= last
