"""What members of the classic protocol say and hear, as Java's assignors write it."""

from __future__ import annotations

import struct
from collections.abc import Iterable

VERSIONS = {"range": 3, "roundrobin": 2, "sticky": 1, "cooperative-sticky": 3}


def metadata(assignor: str, topics: Iterable[str], owned: dict[str, list[int]]) -> bytes:
    """A subscription as Java writes it: who is eager owns nothing when it joins, the sticky one says in its own bytes what it had."""
    version = VERSIONS[assignor]
    had = _topics(owned)
    own = had + struct.pack(">i", 1) if assignor == "sticky" else struct.pack(">i", 1) if assignor == "cooperative-sticky" else None
    front = struct.pack(">h", version) + _strings(topics) + (struct.pack(">i", -1) if own is None else struct.pack(">i", len(own)) + own)
    later = (_topics(owned if assignor == "cooperative-sticky" else {}) if version >= 1 else b"") + (struct.pack(">i", 1) if version >= 2 else b"")
    return front + later + (struct.pack(">h", 1) + b"r" if version >= 3 else b"")


def _strings(words: Iterable[str]) -> bytes:
    found = [struct.pack(">h", len(word)) + word.encode() for word in words]
    return struct.pack(">i", len(found)) + b"".join(found)


def _topics(parts: dict[str, list[int]]) -> bytes:
    words = [struct.pack(">h", len(topic)) + topic.encode() + struct.pack(f">i{len(some)}i", len(some), *some) for topic, some in parts.items()]
    return struct.pack(">i", len(words)) + b"".join(words)


def share(topic: str, numbers: list[int], data: bytes | None = None, version: int = 1) -> bytes:
    own = struct.pack(">i", -1) if data is None else struct.pack(">i", len(data)) + data
    return struct.pack(">h", version) + _topics({topic: numbers}) + own
