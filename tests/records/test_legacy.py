"""Magic 0 and 1, and the way from one format to another."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.records import InvalidRecordError, UnsupportedCompressionError, decode_records, encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.records.conversion import Allowance, down_convert, recompress
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, ensure_valid, iterate_batches, read_header, read_headers
from broker_core.records.legacy import encode_message, encode_message_set

fields = st.none() | st.binary(max_size=60)
plain_lists = st.lists(
    st.tuples(st.integers(0, 2**41), fields, fields, st.just(())), min_size=1, max_size=12
)


@given(plain_lists, st.sampled_from((0, 1)), st.integers(0, 3), st.integers(0, 10**6))
@settings(max_examples=60, deadline=None)
def test_message_sets_come_back_with_their_offsets(records: list[Any], magic: int, codec: int, base: int) -> None:
    data = encode_message_set(records, magic, base_offset=base, compression=codec)
    found = []
    for batch in iterate_batches(data):
        ensure_valid(batch)
        found += decode_records(batch)
    assert [(r.key, r.value) for r in found] == [(r[1], r[2]) for r in records]
    assert [r.offset for r in found] == list(range(base, base + len(records))) or (base == 0 and codec)
    if magic == 1:
        assert [r.timestamp for r in found] == [r[0] for r in records]


def test_a_wrapper_of_magic_1_takes_its_base_from_its_own_offset() -> None:
    data = encode_message_set([(5, None, b"a", ())] * 3, 1, base_offset=50, compression=1)
    assert read_header(data).base_offset == 52
    assert [record.offset for record in decode_records(data)] == [50, 51, 52]


def test_append_time_of_a_wrapper_holds_for_its_messages() -> None:
    data = encode_message_set([(5, None, b"a", ()), (9, None, b"b", ())], 1, compression=1, timestamp_type=1)
    assert [record.timestamp for record in decode_records(data)] == [9, 9]


def test_headers_and_markers_are_lost_on_the_way_down_and_zstd_is_refused() -> None:
    batch = encode_batch([(1, b"k", b"v", (("h", b"x"),))]) + transaction_marker_batch(True, 1, 0, 0, 1)
    down = down_convert(batch, 1)
    (only,) = iterate_batches(down)
    assert decode_records(only)[0].headers == ()
    with pytest.raises(UnsupportedCompressionError):
        down_convert(encode_batch([(1, b"k", b"v", ())], compression=4), 1)


@pytest.mark.parametrize("codec", [1, 4])
def test_what_cannot_be_converted_ends_the_answer_and_is_an_error_only_at_its_beginning(codec: int) -> None:
    good, bad = encode_batch([(1, b"k", b"v", ())]), encode_batch([(1, b"k", b"w" * 99, ())], base_offset=1, compression=codec)
    bad[61:65] = bytes(4)
    assert down_convert(good + bad + good, 1) == down_convert(good, 1)
    with pytest.raises(RecordsError):
        down_convert(bad + good, 1)


def test_conversion_ends_an_answer_when_its_allowance_is_used_up_and_gets_on_with_the_next() -> None:
    batches = [encode_batch([(1, None, bytes(1000), ())] * 10, base_offset=10 * n, compression=1) for n in range(5)]
    data, allowance = b"".join(batches), Allowance(15_000)
    down = down_convert(data, 1, allowance=allowance)
    assert [header.last_offset for header in read_headers(down)] == [9, 19]
    assert down_convert(data, 1, allowance=allowance) == b""
    assert down_convert(data, 1, allowance=Allowance(1)) == down_convert(batches[0], 1)


def test_down_conversion_begins_at_the_offset_that_was_asked_for() -> None:
    batch = encode_batch([(1, None, bytes([n]), ()) for n in range(5)], base_offset=10)
    down = down_convert(batch, 1, first_offset=13)
    assert [r.offset for one in iterate_batches(down) for r in decode_records(one)] == [13, 14]
    packed = encode_batch([(1, None, bytes([n]), ()) for n in range(5)], base_offset=10, compression=1)
    assert [r.offset for r in decode_records(bytes(down_convert(packed, 1, first_offset=13)))] == [10, 11, 12, 13, 14]


def test_recompressing_keeps_everything_but_the_codec() -> None:
    records = [(1, b"k", b"v" * 50, ())] * 3
    batch = encode_batch(records, base_offset=4, producer_id=9, producer_epoch=1, base_sequence=2)
    other = recompress(Batch(read_header(batch), batch, 0), 4)
    assert decode_records(other) == decode_records(batch)
    before, after = read_header(batch), read_header(other)
    assert after.compression == 4 and before._replace(batch_length=0, crc=0, attributes=0) == after._replace(
        batch_length=0, crc=0, attributes=0
    )


def test_a_wrapper_inside_a_wrapper_and_a_foreign_magic_inside_are_refused() -> None:
    inner = bytes(encode_message_set([(1, None, b"x", ())], 1, compression=1))
    import gzip

    for content in (inner, encode_message(0, 0, -1, None, b"x"), b""):
        with pytest.raises(InvalidRecordError):
            decode_records(encode_message(1, 0, 1, None, gzip.compress(content), 1))
