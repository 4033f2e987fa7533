"""LZ4 frames as Kafka's Java client writes and wants them, and the header bug of the first ones.

A frame begins with the magic `04 22 4d 18`, a flag byte, a block size byte and a checksum byte:
the second byte of xxHash32 over the two bytes in front of it. Java reads independent blocks only.

Messages of magic 0 carry a wrong checksum byte: their writers hashed the frame magic, too
(KAFKA-3160). Java never checks it for magic 0; other decoders do, so `repair_header` writes the
right byte before they see it, and `compress(old_header=True)` writes the wrong one for a reader
of magic 0.

| frame header | checksum over | byte |
|---|---|---|
| `04 22 4d 18 60 40` | `60 40` | `82` |
| `04 22 4d 18 60 40` | all six | `1a` in old magic 0 writers |
"""

from __future__ import annotations

import cramjam

from broker_core.kernel.storage import Buffer

FRAME_MAGIC = b"\x04\x22\x4d\x18"
_CHECKSUM_AT = 6
_CONTENT_SIZE_FLAG = 0x08
_MASK = 0xFFFFFFFF
_PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 2246822519, 3266489917, 668265263, 374761393
_PRIME_1 = 2654435761


def compress(data: Buffer, *, level: int = 0, old_header: bool = False) -> bytes:
    """One frame of independent blocks; level 0 is the fast one; `old_header` writes the checksum byte of magic 0."""
    compressor = cramjam.lz4.Compressor(level=level, content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    frame = bytes(compressor.finish())
    if not old_header:
        return frame
    end = _checksum_position(frame)
    return frame[:end] + bytes((header_checksum(frame[:end]),)) + frame[end + 1 :]


def repair_header(frame: Buffer) -> bytes:
    """The frame with the right header checksum."""
    data = bytes(frame)
    if data[:4] != FRAME_MAGIC or len(data) < 15:
        return data
    end = _checksum_position(data)
    right = header_checksum(data[4:end])
    return data if data[end] == right else data[:end] + bytes((right,)) + data[end + 1 :]


def _checksum_position(frame: bytes) -> int:
    return _CHECKSUM_AT + (8 if frame[4] & _CONTENT_SIZE_FLAG else 0)


def header_checksum(descriptor: bytes) -> int:
    """Second byte of the xxHash32 (seed 0) of up to 15 bytes."""
    return (xxhash32_short(descriptor) >> 8) & 0xFF


def xxhash32_short(data: bytes) -> int:
    """xxHash32 with seed 0 of fewer than 16 bytes (longer input takes another path)."""
    value = (_PRIME_5 + len(data)) & _MASK
    position = 0
    while position + 4 <= len(data):
        lane = int.from_bytes(data[position : position + 4], "little")
        value = _rotate(value + lane * _PRIME_3, 17) * _PRIME_4 & _MASK
        position += 4
    for byte in data[position:]:
        value = _rotate(value + byte * _PRIME_5, 11) * _PRIME_1 & _MASK
    value ^= value >> 15
    value = value * _PRIME_2 & _MASK
    value ^= value >> 13
    value = value * _PRIME_3 & _MASK
    return value ^ (value >> 16)


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (32 - bits)) & _MASK
