"""The records of internal topics: what key and value look like, in the notation of the wire's messages.

Such a topic is (mostly) compacted: the last record of each key is the truth, and a record without value (a tombstone)
removes its key. Key and value each begin with a version (int16); the key's version says what the record is about.

| topic               | key                                     | value                    | written  |
|---------------------|-----------------------------------------|--------------------------|----------|
| __consumer_offsets  | 0, 1  OffsetCommitKey                   | OffsetCommitValue 0-4    | 3, or 1  |
|                     | 2     GroupMetadataKey                  | GroupMetadataValue 0-4   | 3        |
|                     | 3     ConsumerGroupMetadataKey          | its Value 0              | 0        |
|                     | 5     ConsumerGroupMemberMetadataKey    | its Value 0              | 0        |
|                     | 6     ...TargetAssignmentMetadataKey    | its Value 0              | 0        |
|                     | 7     ...TargetAssignmentMemberKey      | its Value 0              | 0        |
|                     | 8     ...CurrentMemberAssignmentKey     | its Value 0              | 0        |
|                     | 16    ConsumerGroupRegularExpressionKey | its Value 0              | 0        |
|                     | 10    ShareGroupMemberMetadataKey       | its Value 0              | 0        |
|                     | 11    ShareGroupMetadataKey             | its Value 0              | 0        |
|                     | 12    ...TargetAssignmentMetadataKey    | its Value 0              | 0        |
|                     | 13    ...TargetAssignmentMemberKey      | its Value 0              | 0        |
|                     | 14    ...CurrentMemberAssignmentKey     | its Value 0              | 0        |
|                     | 15    ...StatePartitionMetadataKey      | its Value 0              | 0        |
| __transaction_state | 0     TransactionLogKey                 | TransactionLogValue 0-1  | 0, or 1  |
| __share_group_state | 0     ShareSnapshotKey                  | its Value 0              | 0        |
|                     | 1     ShareUpdateKey                    | its Value 0              | 0        |

Worked example: group "g" commits offset 42 of orders-0 (key version 1, value version 3):

    00 01 | 00 01 g | 00 06 o r d e r s | 00 00 00 00
    00 03 | 00 00 00 00 00 00 00 2a | 00 00 00 05 | 00 00 | 00 00 01 8b cf e5 68 00
    ver     offset                    leader epoch  metadata  commit timestamp

Kind 4, the partition metadata of brokers before 4.1, is passed over: `metadata_hash` has taken its place.

`__share_group_state` alone is not compacted: an update says what has changed since the last snapshot of its key.

Source: the message definitions in Kafka's group-coordinator, transaction-coordinator and share-coordinator modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.wire.compiled import read_message, write_message
from broker_core.wire.errors import WireError
from broker_core.wire.messages import define

TABLES = """
OffsetCommitKey 0-1
  group                          string                0+
  topic                          string                0+
  partition                      int32                 0+

OffsetCommitValue 0-4 flexible 4+
  offset                         int64                 0+
  leader_epoch                   int32                 3+  = -1
  metadata                       string                0+
  commit_timestamp               int64                 0+
  expire_timestamp               int64                 1-1 = -1
  topic_id                       uuid                  4+  tag 0

GroupMetadataKey 2-2
  group                          string                2+

GroupMetadataValue 0-4 flexible 4+
  protocol_type                  string                0+
  generation                     int32                 0+
  protocol                       string                0+  null
  leader                         string                0+  null
  current_state_timestamp        int64                 2+  = -1
  members                        [MemberMetadata]      0+
    member_id                    string                0+
    group_instance_id            string                3+  null = null
    client_id                    string                0+
    client_host                  string                0+
    rebalance_timeout            int32                 1+  = -1
    session_timeout              int32                 0+
    subscription                 bytes                 0+
    assignment                   bytes                 0+

ConsumerGroupMetadataKey 3-3
  group_id                       string                3+

ConsumerGroupMetadataValue 0-0 flexible 0+
  epoch                          int32                 0+
  metadata_hash                  int64                 0+  tag 0 = 0

ConsumerGroupMemberMetadataKey 5-5
  group_id                       string                5+
  member_id                      string                5+

ConsumerGroupMemberMetadataValue 0-0 flexible 0+
  instance_id                    string                0+  null = null
  rack_id                        string                0+  null = null
  client_id                      string                0+
  client_host                    string                0+
  subscribed_topic_names         [string]              0+
  subscribed_topic_regex         string                0+  null = null
  rebalance_timeout_ms           int32                 0+  = -1
  server_assignor                string                0+  null = null
  classic_member_metadata        ClassicMemberMetadata 0+  null tag 0
    session_timeout_ms           int32                 0+
    supported_protocols          [ClassicProtocol]     0+
      name                       string                0+
      metadata                   bytes                 0+

ConsumerGroupTargetAssignmentMetadataKey 6-6
  group_id                       string                6+

ConsumerGroupTargetAssignmentMetadataValue 0-0 flexible 0+
  assignment_epoch               int32                 0+
  assignment_timestamp           int64                 0+  tag 0 = 0

ConsumerGroupTargetAssignmentMemberKey 7-7
  group_id                       string                7+
  member_id                      string                7+

ConsumerGroupTargetAssignmentMemberValue 0-0 flexible 0+
  topic_partitions               [TopicPartition]      0+
    topic_id                     uuid                  0+
    partitions                   [int32]               0+

ConsumerGroupCurrentMemberAssignmentKey 8-8
  group_id                       string                8+
  member_id                      string                8+

ConsumerGroupCurrentMemberAssignmentValue 0-0 flexible 0+
  member_epoch                   int32                 0+
  previous_member_epoch          int32                 0+
  state                          int8                  0+
  assigned_partitions            [TopicPartitions]     0+
  partitions_pending_revocation  [TopicPartitions]     0+
  TopicPartitions:
    topic_id                     uuid                  0+
    partitions                   [int32]               0+
    assignment_epochs            [int32]               0+  null tag 0 = null

ConsumerGroupRegularExpressionKey 16-16
  group_id                       string                16+
  regular_expression             string                16+

ConsumerGroupRegularExpressionValue 0-0 flexible 0+
  topics                         [string]              0+
  version                        int64                 0+
  timestamp                      int64                 0+

ShareGroupMemberMetadataKey 10-10
  group_id                       string                10+
  member_id                      string                10+

ShareGroupMemberMetadataValue 0-0 flexible 0+
  rack_id                        string                0+  null = null
  client_id                      string                0+
  client_host                    string                0+
  subscribed_topic_names         [string]              0+

ShareGroupMetadataKey 11-11
  group_id                       string                11+

ShareGroupMetadataValue 0-0 flexible 0+
  epoch                          int32                 0+
  metadata_hash                  int64                 0+

ShareGroupTargetAssignmentMetadataKey 12-12
  group_id                       string                12+

ShareGroupTargetAssignmentMetadataValue 0-0 flexible 0+
  assignment_epoch               int32                 0+
  assignment_timestamp           int64                 0+  tag 0 = 0

ShareGroupTargetAssignmentMemberKey 13-13
  group_id                       string                13+
  member_id                      string                13+

ShareGroupTargetAssignmentMemberValue 0-0 flexible 0+
  topic_partitions               [TopicPartition]      0+
    topic_id                     uuid                  0+
    partitions                   [int32]               0+

ShareGroupCurrentMemberAssignmentKey 14-14
  group_id                       string                14+
  member_id                      string                14+

ShareGroupCurrentMemberAssignmentValue 0-0 flexible 0+
  member_epoch                   int32                 0+
  previous_member_epoch          int32                 0+
  state                          int8                  0+
  assigned_partitions            [TopicPartitions]     0+
    topic_id                     uuid                  0+
    partitions                   [int32]               0+

ShareGroupStatePartitionMetadataKey 15-15
  group_id                       string                15+

ShareGroupStatePartitionMetadataValue 0-0 flexible 0+
  initializing_topics            [TopicPartitionsInfo] 0+
  initialized_topics             [TopicPartitionsInfo] 0+
  deleting_topics                [TopicInfo]           0+
    topic_id                     uuid                  0+
    topic_name                   string                0+
  TopicPartitionsInfo:
    topic_id                     uuid                  0+
    topic_name                   string                0+
    partitions                   [int32]               0+

ShareSnapshotKey 0-0
  group_id                       string                0+
  topic_id                       uuid                  0+
  partition                      int32                 0+

ShareSnapshotValue 0-0 flexible 0+
  snapshot_epoch                 int32                 0+
  state_epoch                    int32                 0+
  leader_epoch                   int32                 0+
  start_offset                   int64                 0+
  delivery_complete_count        int32                 0+  tag 0 = -1
  create_timestamp               int64                 0+
  write_timestamp                int64                 0+
  state_batches                  [StateBatch]          0+
    first_offset                 int64                 0+
    last_offset                  int64                 0+
    delivery_state               int8                  0+
    delivery_count               int16                 0+

ShareUpdateKey 1-1
  group_id                       string                1+
  topic_id                       uuid                  1+
  partition                      int32                 1+

ShareUpdateValue 0-0 flexible 0+
  snapshot_epoch                 int32                 0+
  leader_epoch                   int32                 0+
  start_offset                   int64                 0+
  delivery_complete_count        int32                 0+  tag 0 = -1
  state_batches                  [StateBatch]          0+
    first_offset                 int64                 0+
    last_offset                  int64                 0+
    delivery_state               int8                  0+
    delivery_count               int16                 0+

TransactionLogKey 0-0
  transactional_id               string                0+

TransactionLogValue 0-1 flexible 1+
  producer_id                    int64                 0+
  previous_producer_id           int64                 1+  tag 0 = -1
  next_producer_id               int64                 1+  tag 1 = -1
  producer_epoch                 int16                 0+
  next_producer_epoch            int16                 1+  tag 3 = -1
  transaction_timeout_ms         int32                 0+
  transaction_status             int8                  0+
  transaction_partitions         [PartitionsSchema]    0+  null
    topic                        string                0+
    partition_ids                [int32]               0+
  transaction_last_update_timestamp_ms int64           0+
  transaction_start_timestamp_ms int64                 0+
  client_transaction_version     int16                 1+  tag 2 = 0
"""
globals().update(define(TABLES, __name__))
if TYPE_CHECKING:
    OffsetCommitKey: Any
    OffsetCommitValue: Any
    GroupMetadataKey: Any
    GroupMetadataValue: Any
    ConsumerGroupMetadataKey: Any
    ConsumerGroupMetadataValue: Any
    ConsumerGroupMemberMetadataKey: Any
    ConsumerGroupMemberMetadataValue: Any
    ConsumerGroupTargetAssignmentMetadataKey: Any
    ConsumerGroupTargetAssignmentMetadataValue: Any
    ConsumerGroupTargetAssignmentMemberKey: Any
    ConsumerGroupTargetAssignmentMemberValue: Any
    ConsumerGroupCurrentMemberAssignmentKey: Any
    ConsumerGroupCurrentMemberAssignmentValue: Any
    ConsumerGroupRegularExpressionKey: Any
    ConsumerGroupRegularExpressionValue: Any
    ShareGroupMemberMetadataKey: Any
    ShareGroupMemberMetadataValue: Any
    ShareGroupMetadataKey: Any
    ShareGroupMetadataValue: Any
    ShareGroupTargetAssignmentMetadataKey: Any
    ShareGroupTargetAssignmentMetadataValue: Any
    ShareGroupTargetAssignmentMemberKey: Any
    ShareGroupTargetAssignmentMemberValue: Any
    ShareGroupCurrentMemberAssignmentKey: Any
    ShareGroupCurrentMemberAssignmentValue: Any
    ShareGroupStatePartitionMetadataKey: Any
    ShareGroupStatePartitionMetadataValue: Any
    ShareSnapshotKey: Any
    ShareSnapshotValue: Any
    ShareUpdateKey: Any
    ShareUpdateValue: Any
    TransactionLogKey: Any
    TransactionLogValue: Any

Buffer = bytes | bytearray | memoryview


class MalformedRecord(ValueError):
    """Bytes that are no record of an internal topic."""


def encode(message: Any, version: int) -> bytes:
    """A key or value: its version, then its fields."""
    kind = message.__class__
    return b"".join(write_message(kind, version, message, bytearray(version.to_bytes(2, "big")), sized=False))


def version_of(data: Buffer | None) -> int:
    """The version that a key or value begins with. Raises MalformedRecord."""
    if data is None:
        raise MalformedRecord("it has no key")
    if len(data) < 2:
        raise MalformedRecord(f"ends at {len(data)}, before its version")
    return int.from_bytes(data[:2], "big", signed=True)


def decode(kind: Any, data: Buffer) -> tuple[Any, int]:
    """A key or value of a known kind, and its version. Raises MalformedRecord."""
    version = version_of(data)
    if version not in kind.TYPE.versions:
        raise MalformedRecord(f"{kind.__name__} version {version} is not known")
    try:
        return read_message(kind, version, memoryview(data).toreadonly()[2:]), version
    except WireError as error:
        raise MalformedRecord(str(error)) from None
