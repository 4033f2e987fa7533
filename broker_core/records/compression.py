"""The codecs of a batch: number in its attributes, bytes in, bytes out.

| number | `compression.type` | form on the wire |
|---|---|---|
| 0 | none | |
| 1 | gzip | RFC 1952; the modification time is 0, so that equal input gives equal bytes |
| 2 | snappy | xerial framing (what Java writes) or one raw block (what some C clients write); see `snappy` |
| 3 | lz4 | LZ4 frame with independent 64 KiB blocks; see `lz4_frame` for the header bug of magic 0 |
| 4 | zstd | Zstandard frame (KIP-110), magic 2 only |

A few bytes can decompress to gigabytes. Nothing here ever makes more than `bound` bytes
(`DEFAULT_BOUND`, 256 MiB): the codecs write into an output of fixed size that grows by steps,
and what does not fit raises DecompressionError.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam

from broker_core.kernel.storage import Buffer
from broker_core.records import lz4_frame, snappy
from broker_core.records.errors import DecompressionError, UnsupportedCompressionError

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
BY_NAME = {name: number for number, name in enumerate(NAMES)} | {"uncompressed": NONE}
DEFAULT_BOUND = 256 * 1024 * 1024
DEFAULT_LEVELS = {GZIP: -1, LZ4: 9, ZSTD: 3}
"""Codec -> its level where no `compression.CODEC.level` says otherwise (KIP-390); snappy has none."""
_GZIP_WINDOW = 31
_STEP = 8


def compress(codec: int, data: Buffer, *, level: int | None = None, old_lz4_header: bool = False) -> bytes:
    """`data` compressed as Java's clients do: at this level, or else at the codec's default."""
    if level is None:
        level = DEFAULT_LEVELS.get(codec, 0)
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        deflate = zlib.compressobj(level, wbits=_GZIP_WINDOW)
        return deflate.compress(data) + deflate.flush()
    if codec == SNAPPY:
        return snappy.compress(data)
    if codec == LZ4:
        fast = level == DEFAULT_LEVELS[LZ4]  # Kafka's default means the fast compressor, not the ninth level
        return lz4_frame.compress(data, level=0 if fast else level, old_header=old_lz4_header)
    if codec == ZSTD:
        return bytes(cramjam.zstd.compress(bytes(data), level=level))
    raise UnsupportedCompressionError(f"unknown compression type id: {codec}")


def decompress(codec: int, data: Buffer, bound: int = DEFAULT_BOUND) -> bytes:
    """The original bytes. Raises DecompressionError when damaged or when there are more than `bound`."""
    if codec == NONE:
        return bytes(data)
    if codec == GZIP:
        return _gunzip(data, bound)
    if codec == SNAPPY:
        return snappy.decompress(data, bound)
    if codec == LZ4:
        return _grow(cramjam.lz4.decompress_into, lz4_frame.repair_header(data), bound)
    if codec == ZSTD:
        return _grow(cramjam.zstd.decompress_into, bytes(data), bound)
    raise UnsupportedCompressionError(f"unknown compression type id: {codec}")


def _gunzip(data: Buffer, bound: int) -> bytes:
    parts: list[bytes] = []
    left = bound + 1
    rest: Buffer = data
    while len(rest):
        inflate = zlib.decompressobj(_GZIP_WINDOW)
        try:
            part = inflate.decompress(rest, left)
        except zlib.error as error:
            raise DecompressionError(f"gzip: {error}") from None
        parts.append(part)
        left -= len(part)
        if left <= 0:
            raise _too_much(bound)
        if not inflate.eof:
            raise DecompressionError("gzip: data ends too early")
        rest = inflate.unused_data
    return b"".join(parts)


def _grow(decompress_into: Callable[[bytes, bytearray], int], data: bytes, bound: int) -> bytes:
    size = min(bound, max(65536, _STEP * len(data)))
    while True:
        output = bytearray(size)
        try:
            written = decompress_into(data, output)
            return bytes(memoryview(output)[:written])
        except cramjam.DecompressionError as error:
            if "whole buffer" not in str(error):
                raise DecompressionError(str(error)) from None
        if size >= bound:
            raise _too_much(bound)
        size = min(bound, size * _STEP)


def _too_much(bound: int) -> DecompressionError:
    return DecompressionError(f"decompresses to more than {bound} bytes")
