"""Snappy as Kafka's Java clients write it: raw blocks in the framing of xerial's snappy-java.

| bytes | |
|---|---|
| `82 53 4e 41 50 50 59 00` | magic, "SNAPPY" |
| `00 00 00 01` `00 00 00 01` | version, lowest compatible version |
| int32 n, n bytes | one raw Snappy block of at most 32 KiB of input; repeated to the end |

librdkafka and others send one raw block without framing; readers tell them apart by the magic.
"""

from __future__ import annotations

from struct import Struct

import cramjam

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records.errors import DecompressedTooLargeError, DecompressionError

MAGIC = b"\x82SNAPPY\0"
_HEADER = MAGIC + b"\0\0\0\1\0\0\0\1"
_BLOCK = 32 * 1024
MOST_BLOCKS = 16 * 1024
"""In one batch: 512 MiB of the blocks that clients write, 16 MiB of the smallest that snappy-java can be told to."""
_INT32 = Struct(">i")
_BEST_RATIO = 64
"""No Snappy block of n bytes can stand for more than about 21 n: a length above is a lie."""


def compress(data: Buffer) -> bytes:
    """Xerial framing around raw blocks of 32 KiB."""
    view = memoryview(data)
    parts = [_HEADER]
    for start in range(0, len(view), _BLOCK):
        block = bytes(cramjam.snappy.compress_raw(bytes(view[start : start + _BLOCK])))
        parts += (_INT32.pack(len(block)), block)
    return b"".join(parts)


def compress_raw(data: Buffer) -> bytes:
    """One block without framing, as librdkafka sends it."""
    return bytes(cramjam.snappy.compress_raw(bytes(data)))


def decompress(data: Buffer, bound: int) -> bytes:
    """Either form. Raises DecompressionError."""
    view = memoryview(data)
    if bytes(view[: len(MAGIC)]) != MAGIC:
        return _block(view, 0, bound)
    parts: list[bytes] = []
    position, total = len(_HEADER), 0
    while position < len(view):
        if len(parts) == MOST_BLOCKS:
            raise DecompressedTooLargeError(problem("snappy_blocks", n=MOST_BLOCKS))
        if position + 4 > len(view):
            raise DecompressionError(problem("snappy_length"))
        size: int = _INT32.unpack_from(view, position)[0]
        position += 4
        if size < 0 or position + size > len(view):
            raise DecompressionError(problem("snappy_over", size=size))
        part = _block(view[position : position + size], total, bound)
        total += len(part)
        parts.append(part)
        position += size
    return b"".join(parts)


def _block(block: memoryview, total: int, bound: int) -> bytes:
    raw = bytes(block)
    try:
        size = cramjam.snappy.decompress_raw_len(raw)
        if size > _BEST_RATIO * len(raw) + 64:
            raise DecompressionError(problem("snappy_no_room", size=size, given=len(raw)))
        if total + size > bound:
            raise DecompressedTooLargeError(problem("unpacked_large", size=bound))
        return bytes(cramjam.snappy.decompress_raw(raw))
    except cramjam.DecompressionError as error:
        raise DecompressionError(problem("packed_broken", codec="snappy", why=str(error))) from None
