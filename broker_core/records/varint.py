"""Zigzag varints: how numbers inside a record are kept short (protocol guide, "Varint").

Zigzag folds the sign into the lowest bit, so that small numbers of either sign stay small; then
seven bits go into each byte, lowest first, the high bit says "more follows":

| number | zigzag | bytes |
|---|---|---|
| 0 | 0 | 00 |
| -1 | 1 | 01 |
| 1 | 2 | 02 |
| 63 | 126 | 7e |
| 64 | 128 | 80 01 |
| -65 | 129 | 81 01 |
| 300 | 600 | d8 04 |

Lengths of keys and values, header counts and offset deltas are small and not negative, so
`SMALL` holds the finished bytes of 0..16383: looking one up is three times faster than encoding it.
"""

from __future__ import annotations

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records.errors import CorruptRecordError

MAX_VARINT_BYTES = 5
MAX_VARLONG_BYTES = 10
SMALL_LIMIT = 16384


def encode_varint(number: int) -> bytes:
    """Bytes of a signed number of up to 64 bits."""
    folded = (number << 1) ^ (number >> 63)
    out = bytearray()
    while folded > 0x7F:
        out.append(folded & 0x7F | 0x80)
        folded >>= 7
    out.append(folded)
    return bytes(out)


SMALL: list[bytes] = [encode_varint(number) for number in range(SMALL_LIMIT)]


def varint(number: int) -> bytes:
    """As `encode_varint`, from the table where it can."""
    return SMALL[number] if 0 <= number < SMALL_LIMIT else encode_varint(number)


def read_varint(data: Buffer, position: int, longest: int = MAX_VARLONG_BYTES) -> tuple[int, int]:
    """(number, position behind it). Raises CorruptRecordError at the end of data or when too long."""
    folded = shift = 0
    start = position
    try:
        byte, second = data[position], data[position + 1]
        if byte >= 0x80 and second < 0x80:
            folded = byte & 0x7F | second << 7
            return (folded >> 1) ^ -(folded & 1), position + 2
    except IndexError:
        pass
    try:
        while True:
            byte = data[position]
            position += 1
            folded |= (byte & 0x7F) << shift
            if byte < 0x80:
                return (folded >> 1) ^ -(folded & 1), position
            shift += 7
            if position - start >= longest:
                what = problem("varint_long", size=longest)
                raise CorruptRecordError(what, problem("at_records_byte", position=start))
    except IndexError:
        raise CorruptRecordError(problem("varint_cut"), problem("at_records_byte", position=start)) from None
