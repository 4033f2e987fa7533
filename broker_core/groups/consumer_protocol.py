"""What the coordinator reads of the consumers' own language.

To the coordinator, a member's metadata and its assignment are bytes: Connect workers and schema
registries use groups, too. Only for protocol type "consumer" it looks inside, for two purposes:
topics that nobody is subscribed to may have their offsets deleted (KIP-496) or expired, and viewers
want to see who reads what.

    00 01 | 00 00 00 01  00 06 o r d e r s | ...                         subscription v1: one topic, "orders"
    00 01 | 00 00 00 01  00 06 o r d e r s  00 00 00 02  0 0 0 0  0 0 0 1   assignment: orders 0 and 1

Only the front is read, which is the same in all versions (ConsumerProtocolSubscription/-Assignment v0).
"""

from __future__ import annotations

import struct


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
