"""The bytes of `__consumer_offsets`: what key and value of its records look like.

The topic is compacted, so the last record of each key is the truth, and a record without value (a
tombstone) removes its key. The first two bytes of key and value are a version; the key's version says
what the record is about:

| key                                             | value                                                     |
|-------------------------------------------------|-----------------------------------------------------------|
| 0, 1  OffsetCommitKey: group topic partition    | OffsetCommitValue 0-4                                     |
| 2     GroupMetadataKey: group                   | GroupMetadataValue 0-4                                    |

Worked example: group "g" commits offset 42 of orders-0 (key version 1, value version 3):

    00 01 | 00 01 g | 00 06 o r d e r s | 00 00 00 00
    00 03 | 00 00 00 00 00 00 00 2a | 00 00 00 05 | 00 00 | 00 00 01 8b cf e5 68 00
    ver     offset                    leader epoch  metadata  commit timestamp

Written: OffsetCommitValue 3 (1 when the client asked for an expiry), GroupMetadataValue 3, as a broker
with inter.broker.protocol.version 3.9 does. Read: all of 0-4 (4 has the compact types of KIP-482).
Source: OffsetCommitValue.json, GroupMetadataValue.json of Kafka's group-coordinator.
"""

from __future__ import annotations

import struct
from typing import NamedTuple

from broker_core.groups.group_offsets import CommittedOffset

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
GROUP_VALUE_VERSION = 3
HIGHEST_VALUE_VERSION = 4
FLEXIBLE_VALUE_VERSION = 4

Buffer = bytes | bytearray | memoryview


class MalformedRecord(ValueError):
    """A record of `__consumer_offsets` that is not one."""


class OffsetKey(NamedTuple):
    """A record about one partition's committed offset."""

    group: str
    topic: str
    partition: int


class GroupKey(NamedTuple):
    """A record about a group's generation."""

    group: str


class StoredMember(NamedTuple):
    """A member in a group's record; timeouts in ms; `subscription` under the group's protocol."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


class StoredGroup(NamedTuple):
    """A group's record: its last generation. `state_since_ms` -1 = not known."""

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_since_ms: int
    members: list[StoredMember]


# --- writing ----------------------------------------------------------------------------------


def _string(text: str | None) -> bytes:
    if text is None:
        return b"\xff\xff"
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _bytes(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


def encode_offset_key(group: str, topic: str, partition: int) -> bytes:
    """Key of a committed offset."""
    return struct.pack(">h", OFFSET_KEY_VERSION) + _string(group) + _string(topic) + struct.pack(">i", partition)


def encode_group_key(group: str) -> bytes:
    """Key of a group's generation."""
    return struct.pack(">h", GROUP_KEY_VERSION) + _string(group)


def encode_offset_value(offset: CommittedOffset) -> bytes:
    """Value of a committed offset: version 3, or 1 when it carries its own expiry."""
    if offset.expire_timestamp is not None:
        head = struct.pack(">hq", OFFSET_VALUE_VERSION_WITH_EXPIRY, offset.offset)
        return head + _string(offset.metadata) + struct.pack(">qq", offset.commit_timestamp, offset.expire_timestamp)
    head = struct.pack(">hqi", OFFSET_VALUE_VERSION, offset.offset, offset.leader_epoch)
    return head + _string(offset.metadata) + struct.pack(">q", offset.commit_timestamp)


def encode_group_value(group: StoredGroup) -> bytes:
    """Value of a group's generation: version 3."""
    parts = [
        struct.pack(">h", GROUP_VALUE_VERSION),
        _string(group.protocol_type),
        struct.pack(">i", group.generation),
        _string(group.protocol),
        _string(group.leader),
        struct.pack(">qi", group.state_since_ms, len(group.members)),
    ]
    for member in group.members:
        parts += [
            _string(member.member_id),
            _string(member.instance_id),
            _string(member.client_id),
            _string(member.client_host),
            struct.pack(">ii", member.rebalance_timeout_ms, member.session_timeout_ms),
            _bytes(member.subscription),
            _bytes(member.assignment),
        ]
    return b"".join(parts)


# --- reading ----------------------------------------------------------------------------------


class _Reader:
    """Reads a version-prefixed message from the front."""

    def __init__(self, data: Buffer) -> None:
        self.data = bytes(data)
        self.position = 0
        self.version = self.number(">h")
        self.flexible = False

    def number(self, code: str) -> int:
        try:
            value: int = struct.unpack_from(code, self.data, self.position)[0]
        except struct.error as error:
            raise MalformedRecord(f"ends at {len(self.data)}, a field is missing at {self.position}") from error
        self.position += struct.calcsize(code)
        return value

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.number(">B")
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
            if shift > 28:
                raise MalformedRecord(f"a varint without end at {self.position}")

    def take(self, size: int) -> bytes:
        end = self.position + size
        if end > len(self.data):
            raise MalformedRecord(f"{size} bytes at {self.position} of {len(self.data)}")
        found = self.data[self.position : end]
        self.position = end
        return found

    def maybe_string(self) -> str | None:
        size = self.varint() - 1 if self.flexible else self.number(">h")
        if size < 0:
            return None
        try:
            return self.take(size).decode()
        except UnicodeDecodeError as error:
            raise MalformedRecord(f"text before {self.position} is not UTF-8") from error

    def string(self) -> str:
        return self.maybe_string() or ""

    def blob(self) -> bytes:
        size = self.varint() - 1 if self.flexible else self.number(">i")
        return self.take(size) if size > 0 else b""

    def count(self) -> int:
        size = self.varint() - 1 if self.flexible else self.number(">i")
        if size > len(self.data) - self.position:
            raise MalformedRecord(f"a count of {size} at {self.position}")
        return size

    def skip_tags(self) -> None:
        if self.flexible:
            for _ in range(self.varint()):
                self.varint()
                self.take(self.varint())

    def require(self, what: str) -> None:
        if not 0 <= self.version <= HIGHEST_VALUE_VERSION:
            raise MalformedRecord(f"{what} version {self.version} is not known")
        self.flexible = self.version >= FLEXIBLE_VALUE_VERSION


def decode_key(data: Buffer) -> OffsetKey | GroupKey | None:
    """What a record is about; None for a kind that is not known here (newer brokers write more kinds)."""
    reader = _Reader(data)
    if reader.version in (0, OFFSET_KEY_VERSION):
        return OffsetKey(reader.string(), reader.string(), reader.number(">i"))
    return GroupKey(reader.string()) if reader.version == GROUP_KEY_VERSION else None


def decode_offset_value(data: Buffer) -> CommittedOffset:
    """A committed offset of any version; raises MalformedRecord."""
    reader = _Reader(data)
    reader.require("OffsetCommitValue")
    offset = reader.number(">q")
    leader_epoch = reader.number(">i") if reader.version >= 3 else -1
    metadata = reader.string()
    commit_timestamp = reader.number(">q")
    expire = reader.number(">q") if reader.version == 1 else -1
    return CommittedOffset(offset, leader_epoch, metadata, commit_timestamp, None if expire == -1 else expire)


def decode_group_value(data: Buffer) -> StoredGroup:
    """A group's generation of any version; raises MalformedRecord."""
    reader = _Reader(data)
    reader.require("GroupMetadataValue")
    protocol_type = reader.string()
    generation = reader.number(">i")
    protocol, leader = reader.maybe_string(), reader.maybe_string()
    state_since = reader.number(">q") if reader.version >= 2 else -1
    members = [_member(reader) for _ in range(reader.count())]
    return StoredGroup(protocol_type, generation, protocol, leader, state_since, members)


def _member(reader: _Reader) -> StoredMember:
    member_id = reader.string()
    instance = reader.maybe_string() if reader.version >= 3 else None
    client_id, host = reader.string(), reader.string()
    rebalance = reader.number(">i") if reader.version >= 1 else -1
    session = reader.number(">i")
    subscription, assignment = reader.blob(), reader.blob()
    reader.skip_tags()
    rebalance = rebalance if reader.version >= 1 else session
    return StoredMember(member_id, instance, client_id, host, rebalance, session, subscription, assignment)
