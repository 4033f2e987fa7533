"""Records that lie, held against the decoder and against what Kafka says of them."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.records import (
    InvalidRecordError,
    RecordsError,
    ValidationRules,
    decode_records,
    encode_batch,
    validate_batches,
)
from broker_core.records.batch import _CRC, assemble
from broker_core.records.compression import compress
from broker_core.records.header import crc_of
from broker_core.records.record import decode_body, encode_records
from broker_core.records.structure import SMALLEST_RECORD, check_structure
from broker_core.records.validate import MOST_HEADERS, MOST_RECORDS
from broker_core.records.varint import encode_varint

NOW = 1_700_000_000_000
RULES = ValidationRules()


def record(body: bytes) -> bytes:
    return encode_varint(len(body)) + body


def lying(body: bytes, count: int, codec: int = 0) -> bytearray:
    """A batch whose checksum is right."""
    return assemble(compress(codec, body), 0, -1, codec, count - 1, NOW, NOW, -1, -1, -1, count)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("00 00 00 01 01 05", "Found invalid number of record headers -3"),
        ("00 00 00 01 01 80 80 80 80 08", "1073741824 is larger than the remaining size"),
        ("00 00 00 01 01 02 01 01", "Invalid negative header key size -1"),
        ("00 00 00 01 01 02 04 61 01", "Found invalid|Invalid record size"),
        ("00 00 00 01 01 00 00", "expected to read 7 bytes in record payload, but instead read 6"),
        ("00 00 00 01 7e 00", "Invalid record size|Found invalid record structure"),
        ("00 00 00 fe ff ff ff 0f 01 00", "Invalid record size|Found invalid record structure"),
        ("00 80 80 80 80 80 80 80 80 80 80 00 00 01 01 00", "Found invalid record structure"),
        ("00 00 80 80 80 80 80 00 01 01 00", "Found invalid record structure"),
    ],
)
@pytest.mark.parametrize("codec", range(5))
@pytest.mark.parametrize("place", [0, 1, 40])
def test_fields_that_do_not_fill_their_record_are_refused(body: str, said: str, codec: int, place: int) -> None:
    good = record(bytes.fromhex("00 00 00 01 01 00"))
    records = good * place + record(bytes.fromhex(body)) + good * (40 - place)
    with pytest.raises(InvalidRecordError, match=said):
        validate_batches(lying(records, 41, codec), RULES, NOW)


@pytest.mark.parametrize("count", [2, 1000, 2**31 - 1])
def test_a_count_that_the_bytes_cannot_hold_is_refused_without_a_look(count: int) -> None:
    with pytest.raises(InvalidRecordError, match="cannot hold"):
        validate_batches(lying(record(bytes(6)), count), RULES, NOW)


def test_a_compressed_batch_of_too_many_records_is_too_large() -> None:
    body = record(bytes.fromhex("00 00 00 01 01 00")) * (MOST_RECORDS + 1)
    with pytest.raises(RecordsError, match="records in a compressed batch") as caught:
        validate_batches(lying(body, MOST_RECORDS + 1, 4), RULES, NOW)
    assert caught.value.kafka_error == "MESSAGE_TOO_LARGE"


def headed(each: int, count: int) -> bytearray:
    return encode_batch([(NOW, b"k", b"", (("", None),) * each)] * count, compression=4)


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("in_one", [1, 64])
def test_a_compressed_batch_of_too_many_headers_is_too_large(in_one: int, compacted: bool) -> None:
    rules = ValidationRules(compacted=compacted)
    with pytest.raises(RecordsError, match="too many record headers") as caught:
        validate_batches(headed(MOST_HEADERS // in_one + 1, in_one), rules, NOW)
    assert caught.value.kafka_error == "MESSAGE_TOO_LARGE"
    validate_batches(headed(MOST_HEADERS // in_one, in_one), rules, NOW)


def test_null_is_any_negative_length_as_kafka_reads_it() -> None:
    body = record(bytes.fromhex("00 00 00") + encode_varint(-300) + encode_varint(-7) + b"\0")
    assert check_structure(body, 0, 1).steps == 1
    assert decode_body(body, 1, 0, NOW)[0][2:] == (None, None, ())


deltas = st.lists(st.integers(-70, 300) | st.integers(64, 8191) | st.integers(2_000_000, 2_100_000), min_size=1, max_size=60)


@given(deltas=deltas | deltas.map(sorted), times=st.sampled_from([1, 3, 40]))
@settings(max_examples=200, deadline=None)
def test_the_latest_time_of_records_of_one_shape_is_found_in_their_columns(deltas: list[int], times: int) -> None:
    records = [(NOW + delta, None, b"v", []) for delta in deltas for _ in range(times)]
    assert check_structure(encode_records(records, NOW), 0, len(records)).latest_delta == max(deltas)


headers = st.lists(st.tuples(st.text(max_size=3), st.none() | st.binary(max_size=70)), max_size=2)
one = st.tuples(
    st.integers(NOW - 200, NOW + 200) | st.just(NOW), st.none() | st.binary(max_size=3), st.binary(max_size=70), headers
)
runs = st.lists(st.tuples(one, st.sampled_from([1, 1, 2, 9, 80])), min_size=1, max_size=6)


def outcome(act: Callable[[], Any]) -> str:
    try:
        act()
    except RecordsError:
        return "refused"
    return "taken"


@given(runs=runs, at=st.integers(0), byte=st.integers(0, 255), cut=st.integers(0, 3))
@settings(max_examples=300, deadline=None)
def test_what_is_taken_is_what_can_be_decoded(runs: Any, at: int, byte: int, cut: int) -> None:
    records = [record for record, times in runs for _ in range(times)]
    body = encode_records(records, NOW)
    seen = check_structure(body, 0, len(records))
    assert seen.steps <= len(records) and seen.latest_delta == max(record[0] for record in records) - NOW
    body[at % len(body)] = byte
    body = body[: len(body) - cut]
    for view in (bytes(body), memoryview(body)):
        taken = outcome(lambda view=view: check_structure(view, 0, len(records)))
        assert taken == outcome(lambda: decode_body(bytes(body), len(records), 0, NOW))


@given(runs=runs)
@settings(max_examples=30, deadline=None)
def test_every_change_of_shape_is_looked_at_and_long_runs_are_not(runs: Any) -> None:
    records = [record for record, times in runs for _ in range(times * 200)]
    steps, _ = check_structure(encode_records(records, NOW), 0, len(records))
    bare = all(not record[3] for record in records)
    assert steps < 18 * (len(runs) + 6 * len(records) // 64) + 400 if bare else steps <= len(records)


class Lines:
    """How many lines of the records' modules are executed: work that no machine's load changes."""

    def __init__(self) -> None:
        self.count = 0

    def __enter__(self) -> Lines:
        self.before = sys.gettrace()
        sys.settrace(self._call)
        return self

    def __exit__(self, *error: object) -> None:
        sys.settrace(self.before)

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        return self._line if "broker_core/records" in frame.f_code.co_filename else None

    def _line(self, frame: FrameType, event: str, arg: object) -> Any:
        self.count += 1
        return self._line


@given(
    body=st.binary(max_size=400) | st.builds(lambda rows: bytes(encode_records(rows, NOW)), st.lists(one, max_size=30)),
    times=st.sampled_from([1, 1, 50]), count=st.integers(-2, 2**31 - 1) | st.integers(1, 40), codec=st.integers(0, 4),
    changes=st.lists(st.tuples(st.integers(17), st.binary(min_size=1, max_size=4)), max_size=3),
    compacted=st.booleans(), valid=st.booleans(),
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_no_batch_takes_more_work_than_its_bytes_are_worth(
    body: bytes, times: int, count: int, codec: int, changes: Any, compacted: bool, valid: bool
) -> None:
    body = body * times
    data = lying(body, max(1, count & 0x7FFFFFFF), codec) if count else encode_batch([(NOW, b"k", b"v", ())])
    for at, noise in changes:
        at = 17 + at % (len(data) - 17)
        data[at : at + len(noise)] = noise
    if valid and len(data) >= 61:
        _CRC.pack_into(data, 17, crc_of(data))
    rules = ValidationRules(compacted=compacted, decompressed_bound=1 << 20)
    with Lines() as lines:
        taken = outcome(lambda: validate_batches(data, rules, NOW))
    assert lines.count < 400 + 16 * (len(data) + len(body)) / SMALLEST_RECORD * 8
    if taken == "taken":
        decode_records(data)
