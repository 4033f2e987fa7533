"""The codecs of a batch: number in its attributes, bytes in, bytes out.

| number | `compression.type` | form on the wire |
|---|---|---|
| 0 | none | |
| 1 | gzip | RFC 1952; the modification time is 0, so that equal input gives equal bytes |
| 2 | snappy | xerial framing (what Java writes) or one raw block (what some C clients write); see `snappy` |
| 3 | lz4 | LZ4 frame with independent 64 KiB blocks; see `lz4_frame` for the header bug of magic 0 |
| 4 | zstd | Zstandard frame (KIP-110), magic 2 only |

A few bytes can decompress to gigabytes, or be a million pieces that hold nothing. Both are bounded:

- bytes: nothing here ever makes more than `bound` (`DEFAULT_BOUND`, 256 MiB). The codecs write into an output of
  fixed size that grows by steps, and what does not fit raises DecompressedTooLargeError;
- pieces: members of gzip and xerial blocks of snappy are gone through in Python, so there may be `MOST_PIECES`;
  frames and blocks of lz4 and zstd are gone through in C, some 50 ns each;
- each byte of input is looked at once: what follows a gzip member is copied `_CHUNK` bytes at a time.

Windows of zstd are at most 128 MiB, as in Kafka (the library's own limit).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import cramjam

from broker_core.kernel.problems import problem
from broker_core.kernel.storage import Buffer
from broker_core.records import lz4_frame, snappy
from broker_core.records.errors import DecompressedTooLargeError, DecompressionError, UnsupportedCompressionError

NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
NAMES = ("none", "gzip", "snappy", "lz4", "zstd")
BY_NAME = {name: number for number, name in enumerate(NAMES)} | {"uncompressed": NONE}
DEFAULT_BOUND = 256 * 1024 * 1024
DEFAULT_LEVELS = {GZIP: -1, LZ4: 9, ZSTD: 3}
"""Codec -> its level where no `compression.CODEC.level` says otherwise (KIP-390); snappy has none."""
MOST_PIECES = snappy.MOST_BLOCKS
_GZIP_WINDOW = 31
_CHUNK = 8 * 1024
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
    raise UnsupportedCompressionError(problem("unknown_codec", codec=codec))


def decompress(codec: int, data: Buffer, bound: int = DEFAULT_BOUND) -> bytes:
    """The original bytes. Raises DecompressionError when damaged, DecompressedTooLargeError above a bound."""
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
    raise UnsupportedCompressionError(problem("unknown_codec", codec=codec))


def _gunzip(data: Buffer, bound: int) -> bytes:
    view = memoryview(data)
    parts: list[bytes] = []
    position = pieces = total = 0
    while position < len(view):
        pieces += 1
        if pieces > MOST_PIECES:
            raise DecompressedTooLargeError(problem("gzip_members", n=MOST_PIECES))
        inflate = zlib.decompressobj(_GZIP_WINDOW)
        while not inflate.eof:
            chunk = view[position : position + _CHUNK]
            if not chunk:
                raise DecompressionError(problem("packed_short", codec="gzip"))
            try:
                part = inflate.decompress(chunk, bound + 1 - total)
            except zlib.error as error:
                raise DecompressionError(problem("packed_broken", codec="gzip", why=str(error))) from None
            position += len(chunk)
            total += len(part)
            if total > bound:
                raise _too_much(bound)
            if part:
                parts.append(part)
        position -= len(inflate.unused_data)
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
                raise DecompressionError(problem("failed_with", why=str(error))) from None
        if size >= bound:
            raise _too_much(bound)
        size = min(bound, size * _STEP)


def _too_much(bound: int) -> DecompressedTooLargeError:
    return DecompressedTooLargeError(problem("unpacked_large", size=bound))
