"""The records of `__share_group_state` (their bytes: `coordinators.stored`).

    ShareSnapshot  (group, topic, partition)  epochs, start offset, all state batches        every now and then
    ShareUpdate    (group, topic, partition)  start offset, the batches that have changed    between two snapshots

The topic is not compacted (cleanup.policy=delete, kept for ever): a share-partition is its last snapshot and the
updates behind it. A snapshot without value removes it.
Source: ShareCoordinatorRecordHelpers.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from typing import Any, NamedTuple

from broker_core.coordinators import stored
from broker_core.coordinators.stored import Buffer, MalformedRecord, decode, encode, version_of
from broker_core.sharing.batches import StateBatch

SNAPSHOT, UPDATE = 0, 1
VALUE_VERSION = 0
KEYS = {SNAPSHOT: stored.ShareSnapshotKey, UPDATE: stored.ShareUpdateKey}
VALUES = {SNAPSHOT: stored.ShareSnapshotValue, UPDATE: stored.ShareUpdateValue}


class ShareKey(NamedTuple):
    """A share-partition: one group's view of one partition."""

    group_id: str
    topic_id: uuid.UUID
    partition: int

    @property
    def name(self) -> str:
        """What its share coordinator is looked for by: "group:topic id:partition"."""
        topic_id = base64.urlsafe_b64encode(self.topic_id.bytes).decode().rstrip("=")
        return f"{self.group_id}:{topic_id}:{self.partition}"

    @staticmethod
    def parse(name: str) -> ShareKey:
        """Raises ValueError."""
        group_id, topic_id, partition = name.rsplit(":", 2)
        if not group_id.strip():
            raise ValueError("the group id is empty")
        return ShareKey(group_id, uuid.UUID(bytes=base64.urlsafe_b64decode(topic_id + "==")), int(partition))


class Record(NamedTuple):
    """`kind`: the key's version; `value` None: a tombstone."""

    kind: int
    key: ShareKey
    value: Any


def encoded(record: Record) -> tuple[bytes, bytes | None]:
    """Key and value as bytes."""
    key = encode(KEYS[record.kind](**record.key._asdict()), record.kind)
    return key, None if record.value is None else encode(record.value, VALUE_VERSION)


def decoded(key: Buffer | None, value: Buffer | None) -> Record | None:
    """None for a record of another kind. Raises MalformedRecord."""
    kind = version_of(key)
    if kind not in KEYS or key is None:
        return None
    found, _ = decode(KEYS[kind], key)
    if kind == UPDATE and value is None:
        raise MalformedRecord("an update without value")
    said = None if value is None else decode(VALUES[kind], value)[0]
    return Record(kind, ShareKey(found.group_id, found.topic_id, found.partition), said)


def listed(kind: Any, batches: Iterable[StateBatch]) -> list[Any]:
    """Batches as structs of a record or a message (`kind`)."""
    return [
        kind(first_offset=one.first, last_offset=one.last, delivery_state=one.state, delivery_count=one.deliveries)
        for one in batches
    ]
