"""Groups and offsets as the records of `__consumer_offsets` hold them (their bytes: `coordinators.stored`).

| key                                             | value                                                     |
|-------------------------------------------------|-----------------------------------------------------------|
| 0, 1  OffsetCommitKey: group topic partition    | OffsetCommitValue 0-4                                     |
| 2     GroupMetadataKey: group                   | GroupMetadataValue 0-4                                    |

Written: OffsetCommitValue 3 (1 when the client asked for an expiry), GroupMetadataValue 3, as a broker
with inter.broker.protocol.version 3.9 does. Read: all of 0-4 (4 has the compact types of KIP-482).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from broker_core.coordinators import stored
from broker_core.coordinators.stored import Buffer, MalformedRecord, decode, encode, version_of
from broker_core.groups.group_offsets import CommittedOffset

__all__ = ["Buffer", "MalformedRecord"]

OFFSET_KEY_VERSION = 1
GROUP_KEY_VERSION = 2
OFFSET_VALUE_VERSION = 3
OFFSET_VALUE_VERSION_WITH_EXPIRY = 1
GROUP_VALUE_VERSION = 3


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


def encode_offset_key(group: str, topic: str, partition: int) -> bytes:
    """Key of a committed offset."""
    return encode(stored.OffsetCommitKey(group=group, topic=topic, partition=partition), OFFSET_KEY_VERSION)


def encode_group_key(group: str) -> bytes:
    """Key of a group's generation."""
    return encode(stored.GroupMetadataKey(group=group), GROUP_KEY_VERSION)


def encode_offset_value(offset: CommittedOffset) -> bytes:
    """Value of a committed offset: version 3, or 1 when it carries its own expiry."""
    expires = offset.expire_timestamp is not None
    value = stored.OffsetCommitValue(
        offset=offset.offset, leader_epoch=offset.leader_epoch, metadata=offset.metadata,
        commit_timestamp=offset.commit_timestamp, expire_timestamp=offset.expire_timestamp if expires else -1,
    )  # fmt: skip
    return encode(value, OFFSET_VALUE_VERSION_WITH_EXPIRY if expires else OFFSET_VALUE_VERSION)


def encode_group_value(group: StoredGroup) -> bytes:
    """Value of a group's generation: version 3."""
    value = stored.GroupMetadataValue(
        protocol_type=group.protocol_type, generation=group.generation, protocol=group.protocol, leader=group.leader,
        current_state_timestamp=group.state_since_ms, members=[_stored_member(one) for one in group.members],
    )  # fmt: skip
    return encode(value, GROUP_VALUE_VERSION)


def _stored_member(member: StoredMember) -> Any:
    return stored.GroupMetadataValue.MemberMetadata(
        member_id=member.member_id, group_instance_id=member.instance_id, client_id=member.client_id,
        client_host=member.client_host, rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms, subscription=member.subscription, assignment=member.assignment,
    )  # fmt: skip


# --- reading ----------------------------------------------------------------------------------


def decode_key(data: Buffer | None) -> OffsetKey | GroupKey | None:
    """What a record is about; None for a kind that is not known here (newer brokers write more kinds)."""
    version = version_of(data)
    assert data is not None
    if version in (0, OFFSET_KEY_VERSION):
        key, _ = decode(stored.OffsetCommitKey, data)
        return OffsetKey(key.group, key.topic, key.partition)
    return GroupKey(decode(stored.GroupMetadataKey, data)[0].group) if version == GROUP_KEY_VERSION else None


def decode_offset_value(data: Buffer) -> CommittedOffset:
    """A committed offset of any version; raises MalformedRecord."""
    value, _ = decode(stored.OffsetCommitValue, data)
    expires = None if value.expire_timestamp == -1 else value.expire_timestamp
    return CommittedOffset(value.offset, value.leader_epoch, value.metadata, value.commit_timestamp, expires)


def decode_group_value(data: Buffer) -> StoredGroup:
    """A group's generation of any version; raises MalformedRecord."""
    value, version = decode(stored.GroupMetadataValue, data)
    members = [
        StoredMember(
            one.member_id, one.group_instance_id, one.client_id, one.client_host,
            one.rebalance_timeout if version >= 1 else one.session_timeout, one.session_timeout,
            bytes(one.subscription), bytes(one.assignment),
        )
        for one in value.members
    ]  # fmt: skip
    return StoredGroup(
        value.protocol_type, value.generation, value.protocol, value.leader, value.current_state_timestamp, members
    )
