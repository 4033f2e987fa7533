"""A column of numbers by offset, of any length, of which only the parts that are worked on take room.

    offsets   0 ........ 8,191 | 8,192 ... 16,383 | 16,384 ... 20,000 | from 24,576 on
    kept as   packed           | packed           | as it is          | nothing: all zero

What is in order hardly says anything: of a part in which everybody's numbers go up by one, all first bytes are the
same, all second ones, and the last ones repeat themselves. So the first bytes of all numbers are laid together, then
the second ones, before they are packed: a part of 64 KiB takes some hundred bytes, and parts that are all of one byte
are one. A part that is written to is unpacked, and packed again when others were written to since. It grows by steps:
what grows with every record is moved again and again, and leaves holes in the heap that small things break up.
"""

from __future__ import annotations

import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

SIZE = 1 << 13
"""Numbers in a part."""
STEP = SIZE // 8
OPEN = 4
"""Parts that are kept as they are."""
QUICKLY = 1
EVERYTHING = 1 << 63

Part = TypeVar("Part", bytearray, "array[int]")


class _Packed(NamedTuple):
    """A part; `kinds`: which numbers are in it, where they are bytes."""

    content: bytes
    length: int
    kinds: bytes | None


class Column(Generic[Part]):
    """`make` turns bytes into a part; `width`: bytes of a number. What was never written is 0."""

    def __init__(self, make: Callable[[bytes], Part], width: int) -> None:
        self._make: Callable[[bytes], Part] = make
        self._width = width
        self._open: dict[int, Part] = {}  # the one that was written to last is the last one
        self._packed: dict[int, _Packed] = {}
        self._even: dict[int, _Packed] = {}  # whole ones, by their only byte
        self._seen_last: tuple[int, Part] | None = None

    def __getitem__(self, offset: int) -> int:
        part, at = self._seen(offset // SIZE), offset % SIZE
        return part[at] if part is not None and at < len(part) else 0

    def __setitem__(self, offset: int, number: int) -> None:
        self._written(offset // SIZE, offset % SIZE + 1)[offset % SIZE] = number

    def read(self, first: int, end: int) -> Part:
        """The numbers from `first` to before `end`."""
        found = self._make(b"")
        for number, low, high in _parts(first, end):
            part = self._seen(number)
            if part is not None:
                found += part[low:high]
            found += self._zeros(number * SIZE + high - first - len(found))
        return found

    def write(self, first: int, numbers: Part) -> None:
        """These from `first` on."""
        taken = 0
        for number, low, high in _parts(first, first + len(numbers)):
            self._written(number, high)[low:high] = numbers[taken : taken + high - low]
            taken += high - low

    def pieces(self, first: int = 0, end: int = EVERYTHING) -> Iterator[tuple[int, Part]]:
        """From `first` to before `end`, in order: parts in which something was written, each with its first offset."""
        for number in self._numbers(first, end):
            begin = number * SIZE
            part, low = self._seen(number), max(0, first - begin)
            assert part is not None
            yield begin + low, part[low : end - begin]

    def count(self, number: int, first: int, end: int) -> int:
        """How often a number is there from `first` to before `end`."""
        found, seen = 0, 0
        for part in self._numbers(first, end):
            low, high = max(0, first - part * SIZE), end - part * SIZE
            packed = self._packed.get(part)
            if packed is not None and packed.kinds is not None and number not in packed.kinds:
                seen += max(0, min(high, packed.length) - low)
            else:
                piece = self._seen(part)
                assert piece is not None
                piece = piece[low:high]
                found += piece.count(number)
                seen += len(piece)
        return found if number else found + max(0, end - first) - seen

    def _numbers(self, first: int, end: int) -> Iterable[int]:
        """The parts with something from `first` to before `end`, in order."""
        asked, there = range(first // SIZE, -(-end // SIZE)), self._open.keys() | self._packed.keys()
        if len(there) < len(asked):
            return sorted(number for number in there if number in asked)
        return [number for number in asked if number in self._open or number in self._packed]

    @property
    def size(self) -> int:
        """Bytes of all that was written, unpacked."""
        return (len(self._open) + len(self._packed)) * SIZE * self._width

    def forget_below(self, offset: int) -> None:
        """Parts that lie below an offset are as if never written."""
        for parts in (self._open, self._packed):
            for number in [one for one in parts if (one + 1) * SIZE <= offset]:
                del parts[number]

    def _seen(self, number: int) -> Part | None:
        """A part to look at."""
        if number in self._open:
            return self._open[number]
        if number not in self._packed:
            return None
        if self._seen_last is None or self._seen_last[0] != number:
            self._seen_last = number, self._unpack(self._packed[number])
        return self._seen_last[1]

    def _zeros(self, count: int) -> Part:
        return self._make(bytes(count * self._width))

    def _written(self, number: int, length: int) -> Part:
        """A part to write to, at least so long."""
        found = self._open.pop(number, None)
        if found is None:
            packed, self._seen_last = self._packed.pop(number, None), None
            found = self._unpack(packed) if packed is not None else self._zeros(0)
        self._open[number] = found
        if length > len(found):
            found += self._zeros(-(-length // STEP) * STEP - len(found))
        if len(self._open) > OPEN:
            oldest = next(iter(self._open))
            self._packed[oldest] = self._pack(self._open.pop(oldest))
        return found

    def _pack(self, part: Part) -> _Packed:
        content = bytes(part)
        kinds = bytes(set(content)) if self._width == 1 else None
        is_even = kinds is not None and len(kinds) == 1 and len(part) == SIZE
        if is_even and content[0] in self._even:
            return self._even[content[0]]
        packed = zlib.compress(b"".join(content[byte :: self._width] for byte in range(self._width)), QUICKLY)
        found = _Packed(packed, len(part), kinds)
        if is_even:
            self._even[content[0]] = found
        return found

    def _unpack(self, packed: _Packed) -> Part:
        laid = zlib.decompress(packed.content)
        content, length = bytearray(len(laid)), packed.length
        for byte in range(self._width):
            content[byte :: self._width] = laid[byte * length : (byte + 1) * length]
        return self._make(bytes(content))


def small() -> Column[bytearray]:
    """Of numbers from 0 to 255."""
    return Column(bytearray, 1)


def middling() -> Column[array[int]]:
    """Of numbers of 32 bits without a sign."""
    return Column(_middling, 4)


def large() -> Column[array[int]]:
    """Of signed numbers of 64 bits."""
    return Column(_large, 8)


def _middling(content: bytes) -> array[int]:
    return array("I", content)


def _large(content: bytes) -> array[int]:
    return array("q", content)


def _parts(first: int, end: int) -> Iterator[tuple[int, int, int]]:
    """(part, from, to inside of it) for each part that a range touches."""
    while first < end:
        number, low = divmod(first, SIZE)
        high = min(SIZE, low + end - first)
        yield number, low, high
        first += high - low
