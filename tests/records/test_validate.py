"""What a leader lets in."""

from __future__ import annotations

import pytest

from broker_core.records import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    RecordListTooLargeError,
    RecordsError,
    RecordTooLargeError,
    DecompressionError,
    UnsupportedCompressionError,
    ValidationRules,
    check_produce_payload,
    decode_records,
    encode_batch,
    validate_batches,
)
from broker_core.records.batch import _CRC
from broker_core.records.header import crc_of
from broker_core.records.legacy import encode_message_set

NOW = 1_700_000_000_000
RULES = ValidationRules()


def batch(count: int = 3, **fields: int) -> bytearray:
    return encode_batch([(NOW, b"k", b"v%d" % n, ()) for n in range(count)], **fields)


def patched(data: bytearray, at: int, value: bytes) -> bytearray:
    """Bytes changed and the checksum made right again: a batch that lies."""
    data[at : at + len(value)] = value
    _CRC.pack_into(data, 17, crc_of(data))
    return data


def test_a_good_batch_passes_and_the_very_buffer_is_kept() -> None:
    data = batch()
    result = validate_batches(data, RULES, NOW)
    assert result.buffer is data and result.headers[0].record_count == 3


def test_several_batches_pass_in_order() -> None:
    result = validate_batches(batch() + batch(2), RULES, NOW)
    assert [header.record_count for header in result.headers] == [3, 2]


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b"", CorruptRecordError),
        (batch()[:-1], CorruptRecordError),
        (batch() + b"\0", CorruptRecordError),
        (batch()[:16] + b"\x03" + batch()[17:], CorruptRecordError),
        (batch(base_offset=4), InvalidRecordError),
        (batch()[:-1] + b"\x55", CorruptRecordError),
        (patched(batch(), 57, (2).to_bytes(4, "big")), InvalidRecordError),
        (patched(patched(batch(), 57, (2).to_bytes(4, "big")), 23, (1).to_bytes(4, "big")), InvalidRecordError),
        (patched(patched(batch(), 57, (4).to_bytes(4, "big")), 23, (3).to_bytes(4, "big")), InvalidRecordError),
        (patched(batch(), 57, (0).to_bytes(4, "big")), InvalidRecordError),
        (patched(batch(), 57, b"\xff\xff\xff\xff"), InvalidRecordError),
        (encode_batch([(NOW, b"\0\0\0\0", b"", ())], control=True), InvalidRecordError),
        (batch(producer_id=5, producer_epoch=0), InvalidRecordError),
        (patched(batch(), 21, b"\x00\x05"), DecompressionError),
        (patched(batch(timestamp_type=1), 35, b"\xff" * 8), InvalidTimestampError),
    ],
)
def test_what_lies_or_is_damaged_is_refused(data: bytes, error: type[RecordsError]) -> None:
    with pytest.raises(error):
        validate_batches(data, RULES, NOW)


def test_sizes_are_bounded_by_message_and_segment() -> None:
    data = batch()
    validate_batches(data, ValidationRules(max_message_bytes=len(data)), NOW)
    with pytest.raises(RecordTooLargeError):
        validate_batches(data, ValidationRules(max_message_bytes=len(data) - 1), NOW)
    with pytest.raises(RecordListTooLargeError):
        validate_batches(data, ValidationRules(segment_bytes=len(data) - 1), NOW)


@pytest.mark.parametrize("codec", range(5))
def test_a_keyless_record_on_a_compacted_topic_is_named(codec: int) -> None:
    records = [(NOW, b"k", b"v", ()), (NOW, None, b"v", ())]
    with pytest.raises(InvalidRecordError) as caught:
        validate_batches(encode_batch(records, compression=codec), ValidationRules(compacted=True), NOW)
    assert [index for index, _ in caught.value.faults] == [1]
    validate_batches(encode_batch(records, compression=codec), RULES, NOW)


def test_timestamps_outside_the_bounds_are_named() -> None:
    rules = ValidationRules(before_max_ms=1000, after_max_ms=10)
    records = [(NOW + late, b"k", b"", ()) for late in (-1000, 10, 11, -1001)]
    validate_batches(encode_batch(records[:2]), rules, NOW)
    with pytest.raises(InvalidTimestampError) as caught:
        validate_batches(encode_batch(records), rules, NOW)
    assert [index for index, _ in caught.value.faults] == [2, 3]


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("rules", [RULES, ValidationRules(after_max_ms=1000)])
def test_a_header_says_the_latest_time_of_its_records_in_the_log(rules: ValidationRules, codec: int) -> None:
    for deltas in ((0,), (0, 5, 3), (0, -5), *([n * step % 301 - less for n in range(90)] for step in (0, 1, 7, 250) for less in (0, 300))):
        records = [(NOW + delta, b"k", b"v", ()) for delta in deltas]
        for said in (-1, NOW + 900):
            data = patched(encode_batch(records, compression=codec), 35, said.to_bytes(8, "big", signed=True))
            (header,), kept = validate_batches(data, rules, NOW)
            assert header.max_timestamp == max(record[0] for record in records) and header.crc == crc_of(kept)


@pytest.mark.parametrize("codec", [0, 1])
@pytest.mark.parametrize("topic_codec", [None, 3])
def test_a_producer_that_says_append_time_is_taken_where_the_topic_has_create_time(codec: int, topic_codec: int | None) -> None:
    data = encode_batch([(NOW - 5, b"k", b"v", ()), (NOW, b"k", b"v", ())], compression=codec, timestamp_type=1)
    rules = ValidationRules(compression=topic_codec)
    (header,), kept = validate_batches(data, rules, NOW)
    assert (header.is_log_append_time, header.max_timestamp, header.crc) == (False, NOW, crc_of(kept))
    assert [NOW - one.timestamp for one in decode_records(kept)] == ([5, 0] if topic_codec is None else [0, 0])
    with pytest.raises(InvalidTimestampError, match="invalid timestamp") as caught:
        validate_batches(data, ValidationRules(timestamp_type=1), NOW)
    name = "PartialDefaultRecord" if codec else "DefaultRecord"
    assert [(index, text.split(", key")[0]) for index, text in caught.value.faults] == [
        (index, f"Invalid timestamp type in message {name}(offset={index}, timestamp={NOW}") for index in (0, 1)
    ]


def test_coordinators_may_write_markers_and_any_base_offset() -> None:
    data = encode_batch([(NOW, b"\0\0\0\0", b"", ())], control=True, base_offset=9)
    validate_batches(data, RULES, NOW, "coordinator")


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", range(4))
def test_old_formats_are_converted_up(magic: int, codec: int) -> None:
    records = [(NOW, b"k", b"v%d" % n, ()) for n in range(3)]
    result = validate_batches(encode_message_set(records, magic, compression=codec), RULES, NOW)
    assert [header.magic for header in result.headers] == [2]
    assert [record.value for record in decode_records(result.buffer)] == [b"v0", b"v1", b"v2"]


def test_a_topic_codec_of_its_own_compresses_anew_and_keeps_what_fits() -> None:
    rules = ValidationRules(compression=4)
    result = validate_batches(batch(compression=1), rules, NOW)
    assert result.headers[0].compression == 4 and len(decode_records(result.buffer)) == 3
    fitting = batch(compression=4)
    assert validate_batches(fitting, rules, NOW).buffer is fitting


def test_a_bomb_on_a_compacted_topic_is_refused_within_the_bound() -> None:
    data = encode_batch([(NOW, b"k", bytes(2_000_000), ())], compression=4)
    with pytest.raises(CorruptRecordError, match="more than 1000000 bytes"):
        validate_batches(data, ValidationRules(compacted=True, decompressed_bound=1_000_000), NOW)


def test_a_produce_payload_holds_exactly_one_batch_of_magic_2() -> None:
    check_produce_payload(batch(), 9)
    check_produce_payload(batch(compression=4), 7)
    check_produce_payload(b"", 2)
    for data in (b"", batch()[:-1], batch() + batch(), encode_message_set([(1, None, b"x", ())], 1)):
        with pytest.raises(InvalidRecordError):
            check_produce_payload(data, 9)
    with pytest.raises(UnsupportedCompressionError):
        check_produce_payload(batch(compression=4), 6)
