"""Cutting a TCP stream into frames: a 4-byte size, then that many bytes.

`FrameReader` owns the memory that a socket reads into (asyncio's BufferedProtocol asks for it with
`get_buffer` and reports with `buffer_updated`). A produce request of a megabyte is received into one
bytearray, and a view of that very memory travels through the broker into the log; so memory that has been
given away is never written again.

    A  frame of at least a quarter of the buffer    given out as a view; the next bytes get a fresh buffer
    B  smaller frame                                copied out, or it would pin a buffer many times its size
    C  frame longer than the buffer                 a buffer of its own; the part already here is copied once

A connection begins with a buffer of FIRST bytes: thousands of clients that only ask now and then cost little. The
first one who fills it gets CHUNK from then on.

What a size claims is not believed at once: a buffer grows to `GENEROUS` bytes for a claim, beyond that only
to twice of what has arrived. A size below 0 or above socket.request.max.bytes ends the connection, as in
Kafka (NetworkReceive); a frame of size 0 is a frame, and no header fits into it.
"""

from __future__ import annotations

import struct

from broker_core.wire.errors import WireError

SOCKET_REQUEST_MAX_BYTES = 104857600
FIRST = 2048
CHUNK = 65536
GENEROUS = 4 << 20
PINNED_AT_MOST = 4  # times its own size

_SIZE = struct.Struct(">i")


class FrameReader:
    """The receiving end of one connection.

    Invariants
        - `_start <= _end`; the bytes between them have arrived and belong to no complete frame
        - nothing that was given out lies at or behind `_start`
    """

    def __init__(self, max_bytes: int = SOCKET_REQUEST_MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._buffer = bytearray()
        self._view = memoryview(self._buffer)
        self._start = 0
        self._end = 0
        self._chunk = FIRST
        self._given_out = False
        self.broken: WireError | None = None

    def get_buffer(self, sizehint: int = -1) -> memoryview:
        """Writable memory for the next bytes; never empty. Raises the WireError of a broken stream."""
        if self.broken is not None:
            raise self.broken
        if self._end == len(self._buffer):
            self._renew()
        return self._view[self._end :]

    def buffer_updated(self, count: int) -> list[memoryview]:
        """`count` bytes have been put where `get_buffer` pointed: the frames that are complete now.

        Raises WireError for an impossible size. Frames that came before it in the same read are returned
        first; then `broken` is set, and the next call raises it.
        """
        self._end += count
        frames: list[memoryview] = []
        while self._end - self._start >= 4:
            size = self._frame_size()
            if self.broken is not None or self._end - self._start - 4 < size:
                break
            frames.append(self._give_out(self._start + 4, size))
            self._start += 4 + size
        if self.broken is not None and not frames:
            raise self.broken
        if self._given_out:
            self._renew()
        elif self._start == self._end:
            self._start = self._end = 0
        return frames

    def _frame_size(self) -> int:
        size: int = _SIZE.unpack_from(self._buffer, self._start)[0]
        if size < 0 or size > self._max_bytes:
            self.broken = WireError("frame", f"size {size} is not between 0 and {self._max_bytes}")
        return size

    def _give_out(self, start: int, size: int) -> memoryview:
        frame = self._view[start : start + size]
        if size * PINNED_AT_MOST < len(self._buffer):
            return memoryview(bytearray(frame))  # case B
        self._given_out = True  # case A
        return frame

    def _renew(self) -> None:
        """A buffer with room behind the bytes that wait for the rest of their frame."""
        rest = self._view[self._start : self._end]
        if 0 < self._end == len(self._buffer):
            self._chunk = CHUNK
        wanted = 4 + _SIZE.unpack_from(rest)[0] if len(rest) >= 4 and self.broken is None else 4
        believed = max(GENEROUS, 2 * len(rest))
        room = max(min(wanted, believed), 1 + len(rest), self._chunk if wanted <= self._chunk else 0)
        buffer = bytearray(room)
        buffer[: len(rest)] = rest
        self._buffer, self._view = buffer, memoryview(buffer)
        self._start, self._end = 0, len(rest)
        self._given_out = False
