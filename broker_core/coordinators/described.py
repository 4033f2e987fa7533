"""Records of internal topics in words: JSON as Apache's DumpLogSegments prints it with its decoders.

    --offsets-decoder              __consumer_offsets     {"type":"8","data":{"groupId":"g","memberId":"a"}}
    --transaction-log-decoder      __transaction_state    {"type":"0","data":{"transactionalId":"bank"}}
    --share-group-state-decoder    __share_group_state    {"type":"1","data":{"groupId":"g",...}}

`type` is the key's version, which says what the record is about; a value stands there with its own `version`. A
tombstone is `<DELETE>`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from broker_core.coordinators import stored
from broker_core.coordinators.stored import MalformedRecord, decode, version_of
from broker_core.records.record import Record
from broker_core.wire.as_json import as_json
from broker_core.wire.messages import define

TABLES = """
ConsumerProtocolSubscription 0-3
  topics                 [string]         0+
  user_data              bytes            0+  null = null
  owned_partitions       [TopicPartition] 1+
    topic                string           1+
    partitions           [int32]          1+
  generation_id          int32            2+  = -1
  rack_id                string           3+  null = null

ConsumerProtocolAssignment 0-3
  assigned_partitions    [TopicPartition] 0+
    topic                string           0+
    partitions           [int32]          0+
  user_data              bytes            0+  null = null

ConsumerGroupPartitionMetadataKey 4-4
  group_id               string           4+

ConsumerGroupPartitionMetadataValue 0-0 flexible 0+
  topics                 [TopicMetadata]  0+
    topic_id             uuid             0+
    topic_name           string           0+
    num_partitions       int32            0+
    partition_metadata   [Racks]          0+
      partition          int32            0+
      racks              [string]         0+
"""
_PROTOCOL = define(TABLES, __name__)
"""The language of consumers, which stands in the records of classic groups as bytes; and what only Kafka writes: older
brokers the partitions of a group's topics, today's a tombstone of them."""
_OF_MEMBERS = {"subscription": "ConsumerProtocolSubscription", "assignment": "ConsumerProtocolAssignment"}
TOMBSTONE, CONSUMER_PROTOCOL = "<DELETE>", "consumer"
Kinds = Mapping[int, tuple[Any, Any]]
"""Key's version -> what its key and its value are."""

OFFSETS: Kinds = {
    0: (stored.OffsetCommitKey, stored.OffsetCommitValue),
    1: (stored.OffsetCommitKey, stored.OffsetCommitValue),
    2: (stored.GroupMetadataKey, stored.GroupMetadataValue),
    3: (stored.ConsumerGroupMetadataKey, stored.ConsumerGroupMetadataValue),
    4: (_PROTOCOL["ConsumerGroupPartitionMetadataKey"], _PROTOCOL["ConsumerGroupPartitionMetadataValue"]),
    5: (stored.ConsumerGroupMemberMetadataKey, stored.ConsumerGroupMemberMetadataValue),
    6: (stored.ConsumerGroupTargetAssignmentMetadataKey, stored.ConsumerGroupTargetAssignmentMetadataValue),
    7: (stored.ConsumerGroupTargetAssignmentMemberKey, stored.ConsumerGroupTargetAssignmentMemberValue),
    8: (stored.ConsumerGroupCurrentMemberAssignmentKey, stored.ConsumerGroupCurrentMemberAssignmentValue),
    10: (stored.ShareGroupMemberMetadataKey, stored.ShareGroupMemberMetadataValue),
    11: (stored.ShareGroupMetadataKey, stored.ShareGroupMetadataValue),
    12: (stored.ShareGroupTargetAssignmentMetadataKey, stored.ShareGroupTargetAssignmentMetadataValue),
    13: (stored.ShareGroupTargetAssignmentMemberKey, stored.ShareGroupTargetAssignmentMemberValue),
    14: (stored.ShareGroupCurrentMemberAssignmentKey, stored.ShareGroupCurrentMemberAssignmentValue),
    15: (stored.ShareGroupStatePartitionMetadataKey, stored.ShareGroupStatePartitionMetadataValue),
    16: (stored.ConsumerGroupRegularExpressionKey, stored.ConsumerGroupRegularExpressionValue),
}
TRANSACTIONS: Kinds = {0: (stored.TransactionLogKey, stored.TransactionLogValue)}
SHARES: Kinds = {
    0: (stored.ShareSnapshotKey, stored.ShareSnapshotValue), 1: (stored.ShareUpdateKey, stored.ShareUpdateValue),
}  # fmt: skip


def in_words(kinds: Kinds, record: Record) -> dict[str, str]:
    """Key and payload as text; a reason in brackets for what cannot be read."""
    try:
        version = version_of(record.key)
        if version not in kinds or record.key is None:
            raise MalformedRecord(f"unknown record type {version}")
        of_key, of_value = kinds[version]
        key = _text("type", *decode(of_key, record.key))
        value = TOMBSTONE if record.value is None else _text("version", *decode(of_value, record.value))
        return {"key": key, "payload": value}
    except MalformedRecord as error:
        return {"key": f"<{error}>"}


def _text(name: str, message: Any, version: int) -> str:
    data = as_json(message, version)
    if getattr(message, "protocol_type", "") == CONSUMER_PROTOCOL:
        for member, shown in zip(message.members, data["members"], strict=True):
            shown |= {field: _spoken(kind, getattr(member, field), shown[field]) for field, kind in _OF_MEMBERS.items()}
    said = {name: str(version), "data": data}
    return json.dumps(said, separators=(",", ":"), ensure_ascii=False)


def _spoken(kind: str, data: stored.Buffer, otherwise: Any) -> Any:
    """What a consumer said; as it stands there when it is something else."""
    try:
        return as_json(*decode(_PROTOCOL[kind], data))
    except MalformedRecord:
        return otherwise
