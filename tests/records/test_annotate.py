"""Every byte of a batch has a name."""

from __future__ import annotations

import pytest

from broker_core.records import encode_batch
from broker_core.records.annotate import annotate
from broker_core.records.legacy import encode_message

NOW = 1_700_000_000_000


@pytest.mark.parametrize(
    "data",
    [
        encode_batch([(NOW, b"k", b"hello", ())]),
        encode_batch([(NOW + n, None, b"x" * 70, (("h", b"1"), ("", None))) for n in range(70)]),
        encode_batch([(NOW, b"k", b"hello", ())] * 9, compression=4),
        encode_message(0, 5, -1, b"k", b"v"),
        encode_message(1, 5, NOW, None, b"v"),
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
