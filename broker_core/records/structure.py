"""Whether the records of a batch are what their header says, without making objects of them.

What Kafka finds while it iterates (DefaultRecord.readFrom, DefaultRecord.readHeaders): each record's length leads to
the next one, its fields fill it exactly, its header count is not negative and its headers fit.

| a record's bytes | what is wrong |
|---|---|
| `0e 00 00 00 01 01 00 00` | 7 bytes, but key, value and header count end after 6 |
| `0c 00 00 00 01 01 05` | -3 headers |
| `14 00 00 00 01 01 80 80 80 80 08` | 2^30 headers |

A record is one step, and so are `HEADERS_A_STEP` headers. Runs of records of one shape, the common case, are checked
column by column in C: 10,000 equal records cost what a hundred unequal ones do. A count that the bytes cannot hold is
refused before anything is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records.errors import CorruptRecordError, DecompressedTooLargeError, InvalidRecordError
from broker_core.records.varint import MAX_VARINT_BYTES, MAX_VARLONG_BYTES, read_varint

HEADERS_A_STEP = 8
SMALLEST_RECORD = 7
"""Length, attributes, two deltas, two lengths and a header count, of one byte each."""
SMALLEST_DELTA = -(1 << 63)
_FIRST_RUN, _LONGEST_RUN = 8, 4096
_LAST = bytes(range(0x80))
_MORE = bytes(range(0x80, 0x100))
_ODD = bytes(range(1, 0x100, 2))
Columns: TypeAlias = "Sequence[tuple[int, bytes]]"
"""Place in the record, and the bytes that may stand there."""


def check_count(size: int, count: int, most: int | None = None) -> None:
    """Whether `size` bytes can hold `count` records, at most `most`. Raises InvalidRecordError,
    DecompressedTooLargeError."""
    if count < 0 or count * SMALLEST_RECORD > size:
        raise InvalidRecordError(problem("records_no_room", size=size, n=count))
    if most is not None and count > most:
        raise DecompressedTooLargeError(problem("packed_records", n=count))


class Structure(NamedTuple):
    """What was seen on the way: the steps taken, and the largest difference of a record's time to its batch's."""

    steps: int
    latest_delta: int


def check_structure(data: Buffer, position: int, count: int, most_headers: int | None = None) -> Structure:
    """Check that exactly `count` records stand from `position` to the end, with `most_headers` in all of them.

    Raises InvalidRecordError, DecompressedTooLargeError.
    """
    end = len(data)
    left = most_headers if most_headers is not None else end  # there are fewer headers than bytes
    check_count(end - position, count)
    if count > 2:
        data = bytes(data)  # columns of bytes are cut out ten times as fast as those of a view
    index = steps = patience = 0
    latest = SMALLEST_DELTA
    longest = _FIRST_RUN
    while index < count:
        try:
            length, start = _small(data, position)
            stop = start + length
            if length < 0 or stop > end:
                raise InvalidRecordError(problem("length_unfit", n=length), problem("at_record", n=index))
            places = _check_record(data, start, stop, index, left)
            delta, _ = _small(data, start + 1, MAX_VARLONG_BYTES)
        except DecompressedTooLargeError:
            raise
        except (IndexError, CorruptRecordError):
            raise InvalidRecordError("Found invalid record structure", problem("at_record", n=index)) from None
        if delta > latest:
            latest = delta
        left -= places[4]
        steps += 1 + places[4] // HEADERS_A_STEP
        index += 1
        if patience:
            patience -= 1
        elif index < count and places[3] + 1 == stop:
            stride = stop - position
            most = min(longest, count - index, (end - position) // stride - 1)
            run = _run(data, position, stride, most, _columns(data, position, start, places)) if most > 0 else 0
            longest = min(longest * 8, _LONGEST_RUN) if run == most else _FIRST_RUN
            patience = 0 if run > 4 else 16
            if run:
                latest = max(latest, _latest_of_run(data, start + 1 + stride, places[0] + stride, stride, run))
            index += run
            stop += stride * run
        position = stop
    if position != end:
        raise InvalidRecordError(problem("behind_records", size=end - position, n=count))
    return Structure(steps, latest)


def _check_record(data: Buffer, start: int, stop: int, index: int, left: int) -> tuple[int, int, int, int, int]:
    """One record's fields; where its offset delta, key length, value length and header count stand, and that count."""
    offset_at = _behind(data, start + 1, MAX_VARLONG_BYTES)
    key_at = _behind(data, offset_at, MAX_VARINT_BYTES)
    value_at = _behind_field(data, key_at)
    headers_at = _behind_field(data, value_at)
    if data[headers_at] == 0:
        position, headers = headers_at + 1, 0
    else:
        position, headers = _behind_headers(data, headers_at, stop, index, left)
    if position != stop:
        raise InvalidRecordError(
            f"Invalid record size: expected to read {stop - start} bytes in record payload, "
            f"but instead read {position - start}",
            problem("at_record", n=index),
        )
    return offset_at, key_at, value_at, headers_at, headers


def _small(data: Buffer, position: int, longest: int = MAX_VARINT_BYTES) -> tuple[int, int]:
    byte = data[position]
    if byte < 0x80:
        return (byte >> 1) ^ -(byte & 1), position + 1
    return read_varint(data, position, longest)


def _behind(data: Buffer, position: int, longest: int) -> int:
    if data[position] < 0x80:
        return position + 1
    return read_varint(data, position, longest)[1]


def _behind_field(data: Buffer, position: int) -> int:
    """Behind a key or value; any negative length is null, as Kafka reads it."""
    byte = data[position]
    if byte < 0x80:
        return position + 1 if byte & 1 else position + 1 + (byte >> 1)
    size, position = read_varint(data, position, MAX_VARINT_BYTES)
    return position + max(0, size)


def _behind_headers(data: Buffer, position: int, stop: int, index: int, left: int) -> tuple[int, int]:
    """Where they end, and how many they are."""
    count, position = _small(data, position)
    if count < 0:
        raise InvalidRecordError(f"Found invalid number of record headers {count}", problem("at_record", n=index))
    if count > stop - position:
        raise InvalidRecordError(
            f"Found invalid number of record headers. {count} is larger than the remaining size of the buffer "
            f"{stop - position}",
            problem("at_record", n=index),
        )
    if count > left:
        raise DecompressedTooLargeError(problem("packed_headers"), problem("at_record", n=index))
    for _ in range(count):
        size, position = _small(data, position)
        if size < 0:
            raise InvalidRecordError(f"Invalid negative header key size {size}", problem("at_record", n=index))
        position = _behind_field(data, position + size)
        if position > stop:
            break
    return position, count


def _columns(data: Buffer, position: int, start: int, places: tuple[int, int, int, int, int]) -> Columns:
    """What the following records must have to be of the shape of this one, which has no headers."""
    offset_at, key_at, value_at, headers_at, _ = places
    key_end = _behind(data, key_at, MAX_VARINT_BYTES)
    value_end = _behind(data, value_at, MAX_VARINT_BYTES)
    equal = (*range(position, start), *range(key_at, key_end), *range(value_at, value_end), headers_at)
    columns = [(at - position, bytes((data[at],))) for at in equal]
    for first, behind in ((start + 1, offset_at), (offset_at, key_at)):
        columns += [(at - position, _MORE) for at in range(first, behind - 1)]
        columns.append((behind - 1 - position, _LAST))
    return columns


def _run(data: Buffer, position: int, stride: int, most: int, columns: Columns) -> int:
    """How many of the next `most` records fit the columns."""
    first = position + stride
    for place, allowed in columns:
        at = first + place
        column = bytes(data[at : at + stride * (most - 1) + 1 : stride])
        if allowed is _LAST and column.isascii():
            continue
        most -= len(column.lstrip(allowed))
        if most == 0:
            return 0
    return most


def _latest_of_run(data: Buffer, first: int, behind: int, stride: int, count: int) -> int:
    """The largest of `count` varints that are equally long, from `first` to `behind`, one every `stride` bytes.

    Seven bits a byte, the lowest first; the lowest of all is the sign. Without one below 0 the largest is that with
    the largest last byte, among those with the largest last but one, and so on. Times of a producer go up or stand
    still, so those that are left by a byte stand beside one another.
    """
    span = stride * (count - 1) + 1
    signs = bytes(data[first : first + span : stride])
    positive = len(signs.translate(None, _ODD))
    if 0 < positive < count:
        return _latest_of_rows(data, first, behind, stride, span)
    largest = max if positive else min  # of those below 0 the one next to it
    low, high, folded = 0, count, 0
    for at in range(behind - 1, first - 1, -1):
        column = bytes(data[at + low * stride : at + (high - 1) * stride + 1 : stride])
        byte = column[0]
        if column.count(byte) < len(column):
            byte = largest(column)
        folded = folded << 7 | byte & 0x7F
        left = column.count(byte)
        if left < len(column):
            begin = column.index(byte)
            if column[begin : begin + left] != bytes((byte,)) * left:
                return _latest_of_rows(data, first, behind, stride, span)
            low, high = low + begin, low + begin + left
    return (folded >> 1) ^ -(folded & 1)


def _latest_of_rows(data: Buffer, first: int, behind: int, stride: int, span: int) -> int:
    """The same, whatever the order and the signs: what `max` of tuples finds."""
    columns = [bytes(data[at : at + span : stride]) for at in reversed(range(first, behind))]
    rows = list(zip(*columns, strict=True))
    above = [row for row in rows if not row[-1] & 1]
    folded = 0
    for byte in max(above) if above else min(rows):
        folded = folded << 7 | byte & 0x7F
    return (folded >> 1) ^ -(folded & 1)
