"""Bytes in memory that grow at their end: a file (`storage_memory`), or the tail of one (`broker_core.drivers.files`).

Small pieces are copied into blocks, large ones are kept by reference. A block is as large as what lies in front of it,
of `LEAST_BLOCK` to `largest` bytes: most files stay small, and memory that nobody writes to costs, too. It is only ever
appended to; after a cut a new one begins, so views that were handed out stay true.
"""

from __future__ import annotations

from bisect import bisect_right

from broker_core.kernel.storage import Buffer

LEAST_BLOCK, BLOCK = 1024, 64 * 1024
SMALL = 4 * 1024
_NOTHING = memoryview(b"")


class Chunks:
    """Positions from `begin` to `size`, each in one chunk of bytes."""

    __slots__ = ("begin", "size", "_largest", "_starts", "_chunks", "_block", "_used", "_forgotten")

    def __init__(self, begin: int = 0, largest: int = BLOCK) -> None:
        self.begin = self.size = begin
        self._largest = largest
        self._starts: list[int] = []
        self._chunks: list[memoryview] = []
        self._block: bytearray | None = None
        self._used = 0
        self._forgotten = 0

    def hold(self, buffer: Buffer) -> int:
        """Add bytes at the end; bytes of memory that a chunk takes which was begun for them, 0 where there was room."""
        position, size = self.size, len(buffer)
        self.size = position + size
        if size >= SMALL:
            self._block = None
            self._starts.append(position)
            self._chunks.append(memoryview(buffer).toreadonly())
            return size
        block, used = self._block, self._used
        if block is not None and used + size <= len(block):
            self._used = used + size
            block[used : self._used] = buffer
            return 0
        if size == 0:
            return 0
        block = self._block = bytearray(max(size, LEAST_BLOCK, min(position, self._largest)))
        self._used = size
        block[:size] = buffer
        self._starts.append(position)
        self._chunks.append(memoryview(block).toreadonly())
        return len(block)

    def view(self, position: int, end: int) -> memoryview:
        """The bytes of a range that is held."""
        starts = self._starts
        index = bisect_right(starts, position) - 1
        start = starts[index]
        if index + 1 == len(starts) or end <= starts[index + 1]:
            return self._chunks[index][position - start : end - start]
        parts = []
        while position < end:
            start, limit = self._starts[index], self._limit(index)
            parts.append(self._chunks[index][position - start : min(end, limit) - start])
            position = limit
            index += 1
        return memoryview(b"".join(parts))

    def _limit(self, index: int) -> int:
        """Position behind the chunk."""
        return self._starts[index + 1] if index + 1 < len(self._starts) else self.size

    def cut(self, size: int) -> None:
        """End at `size`."""
        self._block = None
        while len(self._starts) > self._forgotten and self._starts[-1] >= size:
            self._starts.pop()
            self._chunks.pop()
        if len(self._starts) > self._forgotten:
            self._chunks[-1] = self._chunks[-1][: size - self._starts[-1]]
        self.size = size
        self.begin = min(self.begin, size)

    def replace(self, position: int, data: bytes) -> None:
        """Other bytes from `position` on, in place of as many."""
        self._block = None
        if position < self.begin:
            data, position = data[self.begin - position :], self.begin
        index = bisect_right(self._starts, position) - 1
        while data and position < self.size:
            start = self._starts[index]
            chunk = bytearray(self._chunks[index][: self._limit(index) - start])
            part = data[: len(chunk) - (position - start)]
            chunk[position - start : position - start + len(part)] = part
            self._chunks[index] = memoryview(chunk).toreadonly()
            position, data, index = position + len(part), data[len(part) :], index + 1

    def forget_first(self) -> None:
        """Let go of the oldest chunk: what is held begins behind it."""
        if self._forgotten == len(self._chunks):
            return
        self.begin = self._limit(self._forgotten)
        self._chunks[self._forgotten] = _NOTHING
        self._forgotten += 1
        if self._forgotten == len(self._chunks):
            self._block = None
        if 2 * self._forgotten > len(self._chunks):
            del self._starts[: self._forgotten], self._chunks[: self._forgotten]
            self._forgotten = 0

    def held(self) -> list[memoryview]:
        """The buffers that the content stands in, in order; only the last may be longer than what is used of it."""
        return self._chunks[self._forgotten :]

    def rest_on(self, chunks: list[memoryview]) -> None:
        """From now on the content stands in these buffers: the same bytes in another place, or all of something new."""
        self._chunks, self._starts, self._block, self._forgotten, self.size = chunks, [], None, 0, self.begin
        for chunk in chunks:
            self._starts.append(self.size)
            self.size += len(chunk)
