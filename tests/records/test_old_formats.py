"""Payloads and logs of magic 0 and 1: what a leader makes of what came."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.records import ValidationRules, decode_records, encode_batch, validate_batches
from broker_core.records.errors import (
    CorruptRecordError,
    DecompressedTooLargeError,
    InvalidRecordError,
    RecordsError,
    RecordTooLargeError,
    UnsupportedFormatError,
)
from broker_core.records.header import ensure_valid, iterate_batches, legacy_crc
from broker_core.records.legacy import encode_message_set
from broker_core.records.record import Record
from broker_core.records.validate import MOST_RECORDS

NOW = 1_700_000_000_000
fields = st.none() | st.binary(max_size=60)
rows_of_any = st.lists(st.tuples(st.integers(0, 2**41), fields, fields, st.just(())), min_size=1, max_size=9)


def sent(rows: list[Any], magic: int, codec: int) -> bytearray:
    return encode_batch(rows, compression=codec) if magic == 2 else encode_message_set(rows, magic, compression=codec)


def fit(data: Any, rules: ValidationRules, first: int = 50) -> bytes:
    return bytes(validate_batches(bytes(data), rules, NOW, first_offset=first).buffer)


def read(data: bytes) -> list[Record]:
    found = []
    for batch in iterate_batches(data):
        ensure_valid(batch)
        found += decode_records(batch)
    return found


@given(rows_of_any, st.sampled_from((0, 1, 2)), st.sampled_from((0, 1)), st.integers(0, 3), st.none() | st.integers(0, 3))
@settings(max_examples=80, deadline=None)
def test_whatever_comes_lies_in_the_format_of_the_log_with_its_offsets(
    rows: list[Any], came: int, magic: int, codec: int, wanted: int | None
) -> None:
    data = fit(sent(rows, came, codec), ValidationRules(magic=magic, compression=wanted))
    found = read(data)
    assert {batch.header.magic for batch in iterate_batches(data)} == {magic}
    assert {batch.header.compression for batch in iterate_batches(data)} == {codec if wanted is None else wanted}
    assert [(one.offset, one.key, one.value) for one in found] == [
        (50 + place, row[1], row[2]) for place, row in enumerate(rows)
    ]
    times = [-1 if 0 in (came, magic) else row[0] for row in rows]
    assert [one.timestamp for one in found] == times


@given(rows_of_any, st.sampled_from((0, 1)), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_old_messages_survive_the_way_up(rows: list[Any], came: int, codec: int) -> None:
    rules = ValidationRules()
    data = fit(sent(rows, came, codec), rules)
    (batch,) = iterate_batches(data)
    assert batch.header.magic == 2 and rules.converted == len(rows)
    times = [row[0] if came else -1 for row in rows]
    assert [(one.offset, *one[1:4]) for one in read(data)] == [
        (place, times[place], row[1], row[2]) for place, row in enumerate(rows)
    ]


def test_a_wrapper_of_magic_1_is_stored_as_it_came_and_one_of_magic_0_is_not() -> None:
    rows = [(NOW + place, b"k", b"v" * 50, ()) for place in range(3)]
    for magic in (0, 1):
        rules, data = ValidationRules(magic=magic), sent(rows, magic, 1)
        stored = fit(data, rules)
        assert rules.converted == (0 if magic else 3)
        assert (stored[8:] == data[8:]) is bool(magic)
        assert [one.offset for one in read(stored)] == [50, 51, 52]
    odd = encode_message_set(rows, 1, compression=1, offsets=[4, 6, 9])
    rules = ValidationRules(magic=1)
    assert [one.offset for one in read(fit(odd, rules))] == [50, 51, 52] and rules.converted == 3


@pytest.mark.parametrize("codec", [0, 1])
def test_append_time_is_written_into_the_outermost_message(codec: int) -> None:
    rows = [(5, b"k", b"a", ()), (9, b"k", b"b", ())]
    for came in (1, 2):
        data = fit(sent(rows, came, codec), ValidationRules(magic=1, timestamp_type=1))
        assert [one.timestamp for one in read(data)] == [NOW, NOW]
        assert all(batch.header.is_log_append_time for batch in iterate_batches(data))


def test_what_an_old_format_has_no_place_for_is_refused() -> None:
    numbered = encode_batch([(1, b"k", b"v", ())], producer_id=1, producer_epoch=0, base_sequence=0)
    transactional = encode_batch([(1, b"k", b"v", ())], producer_id=1, producer_epoch=0, base_sequence=0, transactional=True)
    headers = encode_batch([(1, b"k", b"v", (("h", b"1"),))])
    zstd = encode_batch([(1, b"k", b"v", ())], compression=4)
    for magic in (0, 1):
        for data, error in (
            (numbered, "UNSUPPORTED_FOR_MESSAGE_FORMAT"), (transactional, "UNSUPPORTED_FOR_MESSAGE_FORMAT"),
            (headers, "UNKNOWN_SERVER_ERROR"), (zstd, "UNKNOWN_SERVER_ERROR"),
        ):  # fmt: skip
            with pytest.raises(RecordsError) as caught:
                fit(data, ValidationRules(magic=magic))
            assert caught.value.kafka_error == error
    with pytest.raises(UnsupportedFormatError):
        fit(numbered, ValidationRules(magic=1))


def test_a_payload_is_one_wrapper_or_messages_of_one_magic() -> None:
    row = [(1, b"k", b"v", ())]
    first, packed, other = sent(row, 1, 0), sent(row, 1, 1), sent(row, 0, 0)
    for data in (packed + packed, packed + first, first + packed, first + other, first + sent(row, 2, 0)):
        for magic in (0, 1, 2):
            with pytest.raises(InvalidRecordError):
                fit(data, ValidationRules(magic=magic))


def test_a_bit_that_flipped_inside_a_wrapper_is_found() -> None:
    data = sent([(1, b"k", b"v" * 9, ())], 1, 2)
    at = bytes(data).index(b"v" * 9)  # snappy leaves what is short as it is
    data[at] ^= 1
    data[12:16] = legacy_crc(data).to_bytes(4, "big")
    with pytest.raises(CorruptRecordError):
        fit(data, ValidationRules(magic=1))


def test_old_messages_are_bounded_in_number_in_what_they_decompress_to_and_in_what_they_become() -> None:
    rows = [(1, None, bytes(1000), ())] * 10
    with pytest.raises(DecompressedTooLargeError):
        fit(sent(rows, 1, 1), ValidationRules(decompressed_bound=5000))
    with pytest.raises(DecompressedTooLargeError):
        fit(sent([(1, None, b"", ())], 1, 0) * (MOST_RECORDS + 1), ValidationRules())
    with pytest.raises(RecordTooLargeError):
        fit(sent(rows, 1, 1), ValidationRules(magic=1, compression=0, max_message_bytes=500))
    with pytest.raises(InvalidRecordError):
        fit(sent(rows, 1, 0), ValidationRules(magic=1, compacted=True))
