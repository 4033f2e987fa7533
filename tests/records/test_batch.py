"""Record batch v2: bytes, round trips, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from crc32c import crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.records import (
    Batch,
    CorruptRecordError,
    InvalidRecordError,
    RecordsError,
    assign_append_time,
    assign_offset,
    decode_records,
    encode_batch,
    iterate_batches,
    read_header,
    read_headers,
    single_record_batch,
)
from broker_core.records import control
from broker_core.records.header import HEADER_SIZE, ensure_valid
from broker_core.records.structure import check_structure
from broker_core.records.varint import encode_varint, read_varint, varint

TIME = 1_700_000_000_000
fields = st.none() | st.binary(max_size=80)
headers = st.lists(st.tuples(st.text(max_size=5), fields), max_size=3).map(tuple)
timestamps = st.integers(min_value=-1, max_value=2**41)
records_lists = st.lists(st.tuples(timestamps, fields, fields, headers), min_size=1, max_size=40)


@given(st.integers(min_value=-(2**63), max_value=2**63 - 1))
def test_a_varint_comes_back_as_the_same_number(number: int) -> None:
    data = encode_varint(number)
    assert varint(number) == data
    assert read_varint(data + b"\xff", 0) == (number, len(data))


@pytest.mark.parametrize(
    ("number", "text"), [(0, "00"), (-1, "01"), (1, "02"), (63, "7e"), (64, "8001"), (-65, "8101"), (300, "d804")]
)
def test_varints_have_the_bytes_of_the_table(number: int, text: str) -> None:
    assert encode_varint(number).hex() == text


@given(records_lists, st.integers(0, 4), st.integers(0, 2**40))
@settings(max_examples=60, deadline=None)
def test_a_batch_gives_back_its_records_for_every_codec(records: list[Any], codec: int, base: int) -> None:
    batch = encode_batch(records, base_offset=base, compression=codec)
    found = decode_records(batch)
    assert [tuple(record)[1:] for record in found] == records
    assert [record.offset for record in found] == list(range(base, base + len(records)))
    header = read_header(batch)
    assert header.max_timestamp == max(record[0] for record in records)
    assert header.record_count == len(records) == header.last_offset_delta + 1
    assert header.crc == crc32c(bytes(batch[21:]))
    ensure_valid(Batch(header, batch, 0))


def test_the_worked_example_of_the_tour_has_exactly_these_bytes() -> None:
    batch = encode_batch([(TIME, b"k", b"hello", ())])
    assert len(batch) == 74
    assert batch[61:].hex() == "18000000026b0a68656c6c6f00"
    assert batch[:21].hex() == "0000000000000000" + "0000003e" + "ffffffff" + "02" + f"{crc32c(bytes(batch[21:])):08x}"


def test_a_single_record_batch_is_the_same_as_the_general_one() -> None:
    for key, value in ((b"k", b"v"), (None, b"x" * 20000), (b"", None), (None, None)):
        assert single_record_batch(TIME, key, value) == encode_batch([(TIME, key, value, ())], offset_deltas=[0])


@given(st.lists(records_lists, min_size=1, max_size=4), st.data())
@settings(max_examples=40, deadline=None)
def test_batches_are_found_whole_cut_and_with_bytes_behind(lists: list[list[Any]], data: st.DataObject) -> None:
    batches = [bytes(encode_batch(records)) for records in lists]
    joined = b"".join(batches)
    assert [bytes(batch.data) for batch in iterate_batches(joined)] == batches
    assert len(read_headers(joined)) == len(batches)
    cut = data.draw(st.integers(0, len(joined)))
    whole, end = 0, 0
    for batch in batches:
        end += len(batch)
        whole += end <= cut
    assert len(list(iterate_batches(joined[:cut]))) == whole
    assert len(list(iterate_batches(joined + b"\0" * 11))) == len(batches)


def test_offset_and_epoch_are_written_without_touching_the_checksum() -> None:
    batch = encode_batch([(TIME, None, b"v", ())])
    crc = read_header(batch).crc
    assign_offset(batch, 50, 3)
    header = read_header(batch)
    assert (header.base_offset, header.leader_epoch, header.crc) == (50, 3, crc)
    ensure_valid(Batch(header, batch, 0))


def test_append_time_changes_the_checksum_and_every_timestamp() -> None:
    batch = encode_batch([(1, None, b"a", ()), (2, None, b"b", ())])
    crc = assign_append_time(batch, 99)
    header = read_header(batch)
    assert header.crc == crc and header.is_log_append_time
    ensure_valid(Batch(header, batch, 0))
    assert [record.timestamp for record in decode_records(batch)] == [99, 99]


@given(st.binary(max_size=200), st.integers(0, 72), st.integers(0, 255))
@settings(max_examples=200, deadline=None)
def test_damaged_bytes_never_give_another_error_than_the_records_own(noise: bytes, at: int, byte: int) -> None:
    batch = encode_batch([(TIME, b"k", b"hello", (("h", b"x"),))])
    batch[at] = byte
    for data in (bytes(batch), bytes(batch[:61]) + noise, noise):
        try:
            for one in iterate_batches(data):
                decode_records(one)
        except RecordsError as error:
            known = ("CORRUPT_MESSAGE", "INVALID_RECORD", "UNSUPPORTED_COMPRESSION_TYPE", "UNKNOWN_SERVER_ERROR")
            assert error.kafka_error in known


@given(records_lists, st.integers(-3, 3))
@settings(max_examples=80, deadline=None)
def test_walking_over_lengths_accepts_the_true_count_only(records: list[Any], lie: int) -> None:
    batch = encode_batch(records)
    header = read_header(batch)._replace(record_count=len(records) + lie)
    if lie == 0:
        check_structure(batch, HEADER_SIZE, header.record_count)
    else:
        with pytest.raises((InvalidRecordError, CorruptRecordError)):
            check_structure(batch, HEADER_SIZE, header.record_count)


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 66, 5000, 8193, 8300])
@pytest.mark.parametrize("size", [0, 1, 50, 58, 100, 9000])
def test_walking_over_equal_records_is_right_where_their_lengths_change(count: int, size: int) -> None:
    if count * size > 6_000_000:
        count = 600
    batch = encode_batch([(TIME, None, b"x" * size, ())] * count)
    header = read_header(batch)
    check_structure(batch, HEADER_SIZE, header.record_count)
    for lie in (-1, 1):
        with pytest.raises((InvalidRecordError, CorruptRecordError)):
            check_structure(batch, HEADER_SIZE, count + lie)


def test_a_flipped_bit_in_front_of_the_crc_is_found_by_nobody_and_behind_it_always() -> None:
    original = encode_batch([(TIME, b"k", b"hello", ())])
    for at in range(len(original)):
        batch = bytearray(original)
        batch[at] ^= 1
        covered = at >= 17
        try:
            ensure_valid(Batch(read_header(batch), batch, 0))
            found = False
        except CorruptRecordError:
            found = True
        if at in range(8) or at in range(12, 16):
            assert not found
        if covered:
            assert found


def test_sequences_wrap_after_the_largest_int32() -> None:
    batch = encode_batch([(TIME, None, b"", ())] * 3, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    assert read_header(batch).last_sequence == 0


def test_a_commit_marker_has_the_bytes_of_the_table() -> None:
    batch = control.transaction_marker_batch(True, 5, 1, 7, TIME)
    (record,) = decode_records(batch)
    assert (record.key, record.value) == (bytes.fromhex("00000001"), bytes.fromhex("000000000007"))
    assert control.end_transaction_marker(record) == (control.COMMIT, 7)
    header = read_header(batch)
    assert header.is_control and header.is_transactional and header.last_sequence == -1


def test_offset_deltas_leave_gaps() -> None:
    records = [(TIME, None, b"a", ()), (TIME, None, b"b", ())]
    batch = encode_batch(records, base_offset=10, offset_deltas=[1, 7])
    assert [record.offset for record in decode_records(batch)] == [11, 17]
    assert read_header(batch).last_offset == 17
