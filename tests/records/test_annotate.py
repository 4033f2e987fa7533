"""Every byte of a batch has a name."""

from __future__ import annotations

import pytest

from broker_core.records import encode_batch
from broker_core.records.annotate import annotate
from broker_core.records.legacy import encode_message, encode_message_set

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    "data",
    [
        encode_batch([(NOW, b"k", b"hello", ())]),
        encode_batch([(NOW + n, None, b"x" * 70, (("h", b"1"), ("", None))) for n in range(70)]),
        encode_batch([(NOW, b"k", b"hello", ())] * 9, compression=4),
        encode_message(0, 5, -1, b"k", b"v"),
        encode_message(1, 5, NOW, None, b"v"),
        encode_message_set([(NOW, b"k", b"v", ())] * 9, 1, 5, compression=1),
    ],
)
def test_fields_follow_one_another_without_holes(data: bytes) -> None:
    fields = annotate(data)
    assert fields[0].start == 0 and fields[-1].end == len(data)
    assert all(before.end == after.start for before, after in zip(fields, fields[1:], strict=False))


def test_the_worked_example() -> None:
    fields = {field.name: field for field in annotate(encode_batch([(NOW, b"k", b"hello", ())], base_offset=50))}
    assert tuple(fields["baseOffset"]) == (0, 8, "baseOffset", 50)
    assert tuple(fields["record 0 length"]) == (61, 62, "record 0 length", 12)
    assert tuple(fields["record 0 key"]) == (66, 67, "record 0 key", "k")
    assert tuple(fields["record 0 value"]) == (68, 73, "record 0 value", "hello")


def test_an_old_message_has_a_key_and_a_value_and_a_wrapper_has_messages() -> None:
    plain = {field.name: field.value for field in annotate(encode_message(0, 5, -1, b"k", b"hello"))}
    assert (plain["keyLength"], plain["key"], plain["valueLength"], plain["value"]) == (1, "k", 5, "hello")
    tombstone = annotate(encode_message(1, 5, -1, b"k", None))
    assert tuple(tombstone[-1])[2:] == ("valueLength", -1) and tombstone[5][2:] == ("timestamp", -1)
    wrapper = encode_message_set([(NOW, b"k", b"hello", ())] * 9, 1, 5, compression=1)
    packed = annotate(wrapper)[-1]
    assert (packed.name, packed.value, packed.end) == ("messages", "gzip", len(wrapper))


def test_a_length_that_lies_ends_with_its_message() -> None:
    data = bytearray(encode_message(0, 5, -1, b"k", b"hello"))
    data[21] = 99  # of a key of one byte
    fields = annotate(data)
    assert fields[-1].end == len(data) and all(one.end <= len(data) for one in fields)
