"""The bytes that members of a consumer group send each other through the coordinator.

The coordinator passes them on without reading them. A version (two bytes) goes before each; a reader
takes what its version knows and leaves the rest (`ConsumerProtocolSubscription`, `ConsumerProtocolAssignment`).

```
Subscription v3 => version topics user_data owned_partitions generation_id rack_id
Assignment   v3 => version assigned_partitions user_data
00 01 | 00 00 00 01  00 06 o r d e r s | ff ff ff ff | 00 00 00 00      v1: topic "orders", nothing else
```
The sticky assignor's user data hold what the member owned, and the generation (KIP-54, KIP-341). The cooperative
one's hold the generation alone, four bytes, for subscriptions older than v2 (KIP-792).
"""

from __future__ import annotations

import struct

from broker_core.clients.assignors import Subscription, TopicPartition

_VERSION = 3


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _partitions(owned: list[TopicPartition]) -> bytes:
    topics: dict[str, list[int]] = {}
    for topic, partition in sorted(owned):
        topics.setdefault(topic, []).append(partition)
    parts = [struct.pack(">i", len(topics))]
    for topic, numbers in topics.items():
        parts.append(_string(topic) + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers))
    return b"".join(parts)


class _Reader:
    """Reads fields from the front; past the end of an older version every field is absent."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    @property
    def left(self) -> int:
        return len(self.data) - self.at

    def number(self, code: str) -> int:
        size = struct.calcsize(code)
        value: int = struct.unpack_from(">" + code, self.data, self.at)[0]
        self.at += size
        return value

    def text(self) -> str | None:
        size = self.number("h")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size : self.at].decode()

    def blob(self) -> bytes | None:
        size = self.number("i")
        if size < 0:
            return None
        self.at += size
        return self.data[self.at - size : self.at]

    def partitions(self) -> list[TopicPartition]:
        found: list[TopicPartition] = []
        for _ in range(self.number("i")):
            topic = self.text() or ""
            found += [(topic, self.number("i")) for _ in range(self.number("i"))]
        return found


def encode_subscription(subscription: Subscription, user_data: bytes | None = None) -> bytes:
    """What a member sends with JoinGroup."""
    topics = sorted(dict.fromkeys(subscription.topics))
    parts = [struct.pack(">hi", _VERSION, len(topics)), *(_string(topic) for topic in topics)]
    parts.append(struct.pack(">i", -1) if user_data is None else struct.pack(">i", len(user_data)) + user_data)
    parts.append(_partitions(subscription.owned))
    parts.append(struct.pack(">ih", subscription.generation, -1))
    return b"".join(parts)


def decode_subscription(data: bytes, instance: str | None = None) -> Subscription:
    """Of any member in any language; owned partitions also from a sticky assignor's user data."""
    reader = _Reader(data)
    version = reader.number("h")
    topics = [reader.text() or "" for _ in range(reader.number("i"))]
    user_data = reader.blob()
    owned = reader.partitions() if version >= 1 and reader.left else []
    generation = reader.number("i") if version >= 2 and reader.left >= 4 else -1
    if user_data and len(user_data) == 4:
        generation = max(generation, _Reader(user_data).number("i"))
    elif not owned and user_data:
        sticky = _Reader(user_data)
        owned = sticky.partitions()
        generation = sticky.number("i") if sticky.left >= 4 else -1
    return Subscription(topics, owned, generation, instance)


def encode_assignment(assigned: list[TopicPartition]) -> bytes:
    """What the leader sends with SyncGroup, per member."""
    return struct.pack(">h", _VERSION) + _partitions(assigned) + struct.pack(">i", -1)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    """What a member may read; empty bytes mean nothing."""
    if not data:
        return []
    reader = _Reader(data)
    reader.number("h")
    return reader.partitions()


def sticky_user_data(owned: list[TopicPartition], generation: int) -> bytes:
    """`StickyAssignorUserData` v1."""
    return _partitions(owned) + struct.pack(">i", generation)
