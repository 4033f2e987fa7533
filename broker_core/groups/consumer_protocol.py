"""What the coordinator reads of the consumers' own language.

To the coordinator, a member's metadata and its assignment are bytes: Connect workers and schema
registries use groups, too. Only for protocol type "consumer" it looks inside, for three purposes:
topics that nobody is subscribed to may have their offsets deleted (KIP-496) or expired, viewers
want to see who reads what, and in a group of KIP-848 the coordinator assigns members of both protocols.

    00 01 | 00 00 00 01  00 06 o r d e r s | ...                         subscription v1: one topic, "orders"
    00 01 | 00 00 00 01  00 06 o r d e r s  00 00 00 02  0 0 0 0  0 0 0 1   assignment: orders 0 and 1

For the first two only the front is read, which is the same in all versions (ConsumerProtocolSubscription v0,
ConsumerProtocolAssignment v0).
"""

from __future__ import annotations

import struct
from typing import NamedTuple


class MalformedProtocol(ValueError):
    """These bytes are not a subscription or assignment of a consumer."""


class _Front:
    """Reads fields from the front of a buffer; too short or absurd lengths raise MalformedProtocol."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 2
        if len(data) < 2 or data[0] & 0x80:
            raise MalformedProtocol("no version")

    def integer(self) -> int:
        if self.position + 4 > len(self.data):
            raise MalformedProtocol(f"ends at {len(self.data)}, an integer is missing at {self.position}")
        value: int = struct.unpack_from(">i", self.data, self.position)[0]
        self.position += 4
        return value

    def count(self) -> int:
        value = self.integer()
        if value < 0 or value > len(self.data) - self.position:
            raise MalformedProtocol(f"a count of {value} at {self.position - 4}")
        return value

    def string(self) -> str:
        start = self.position + 2
        if start > len(self.data):
            raise MalformedProtocol(f"ends at {len(self.data)}, a string is missing at {self.position}")
        size: int = struct.unpack_from(">h", self.data, self.position)[0]
        if size < 0 or start + size > len(self.data):
            raise MalformedProtocol(f"a string of {size} bytes at {self.position}")
        self.position = start + size
        return self._text(start)

    def nullable_string(self) -> str | None:
        if self.data[self.position : self.position + 2] == b"\xff\xff":
            self.position += 2
            return None
        return self.string()

    def skip_bytes(self) -> None:
        size = self.integer()
        if size > len(self.data) - self.position:
            raise MalformedProtocol(f"{size} bytes at {self.position}")
        self.position += max(size, 0)

    def _text(self, start: int) -> str:
        try:
            return self.data[start : self.position].decode()
        except UnicodeDecodeError as error:
            raise MalformedProtocol(f"text at {start} is not UTF-8") from error


def subscribed_topics(metadata: bytes) -> list[str]:
    """Topic names of a subscription; raises MalformedProtocol."""
    front = _Front(metadata)
    return [front.string() for _ in range(front.count())]


def assigned_partitions(assignment: bytes) -> dict[str, list[int]]:
    """Topic -> partitions of an assignment; no bytes at all mean none; raises MalformedProtocol."""
    if not assignment:
        return {}
    front = _Front(assignment)
    topics: dict[str, list[int]] = {}
    for _ in range(front.count()):
        topic = front.string()
        topics[topic] = [front.integer() for _ in range(front.count())]
    return topics


class Subscription(NamedTuple):
    """What a member of the classic protocol says of itself: version, topics, what it owns (v1 on), its rack (v3 on)."""

    version: int
    topics: list[str]
    owned: dict[str, list[int]]
    rack: str | None


def subscription(metadata: bytes) -> Subscription:
    """All of a subscription; raises MalformedProtocol."""
    front = _Front(metadata)
    version: int = struct.unpack_from(">h", metadata)[0]
    topics = [front.string() for _ in range(front.count())]
    owned: dict[str, list[int]] = {}
    rack = None
    if front.position < len(metadata):
        front.skip_bytes()
    if version >= 1 and front.position < len(metadata):
        for _ in range(front.count()):
            topic = front.string()
            owned[topic] = [front.integer() for _ in range(front.count())]
    if version >= 3 and len(metadata) - front.position >= 6:
        front.integer()  # the generation in which it got them
        rack = front.nullable_string()
    return Subscription(version, topics, owned, rack)


def has_user_data(assignment: bytes) -> bool:
    """Whether an assignor has put something of its own into an assignment; raises MalformedProtocol."""
    front = _Front(assignment)
    for _ in range(front.count()):
        front.string()
        for _ in range(front.count()):
            front.integer()
    return front.position < len(assignment) and front.integer() > 0


def encode_assignment(partitions: dict[str, list[int]], version: int) -> bytes:
    """What a member is given, in the version that it speaks."""
    parts = [struct.pack(">hi", version, len(partitions))]
    for topic, numbers in partitions.items():
        name = topic.encode()
        parts.append(struct.pack(f">h{len(name)}si{len(numbers)}i", len(name), name, len(numbers), *numbers))
    return b"".join([*parts, struct.pack(">i", -1)])
