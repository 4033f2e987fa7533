"""The oldest versions of produce, fetch, offset and transaction requests, which 3.9 still offers.

Kafka 4.0 removed them (KIP-896): Produce 0-2 and Fetch 0-3 carry message sets of magic 0 and 1 instead of
record batches, ListOffsets 0 returns segment boundaries instead of an offset by time, OffsetCommit 0 and
OffsetFetch 0 kept offsets in ZooKeeper. Notation: see `schema`.
"""

from __future__ import annotations

TABLES = """
ProduceRequest 0-2
  acks                          int16                        0+
  timeout                       int32                        0+
  topic_data                    [TopicProduceData]           0+
    name                        string                       0+
    partition_data              [PartitionProduceData]       0+
      index                     int32                        0+
      records                   records                      0+   null

ProduceResponse 0-2
  responses                     [TopicProduceResponse]       0+
    name                        string                       0+
    partition_responses         [PartitionProduceResponse]   0+
      index                     int32                        0+
      error_code                int16                        0+
      base_offset               int64                        0+
      log_append_time           int64                        2+   = -1
  throttle_time                 int32                        1+   = 0

FetchRequest 0-3
  replica_id                    int32                        0+   = -1
  max_wait                      int32                        0+
  min_bytes                     int32                        0+
  max_bytes                     int32                        3+   = 2147483647
  topics                        [FetchTopic]                 0+
    topic                       string                       0+
    partitions                  [FetchPartition]             0+
      partition                 int32                        0+
      fetch_offset              int64                        0+
      partition_max_bytes       int32                        0+

FetchResponse 0-3
  throttle_time                 int32                        1+
  responses                     [FetchableTopicResponse]     0+
    topic                       string                       0+
    partitions                  [PartitionData]              0+
      partition_index           int32                        0+
      error_code                int16                        0+
      high_watermark            int64                        0+
      records                   records                      0+   null

ListOffsetsRequest 0
  replica_id                    int32                        0+
  topics                        [ListOffsetsTopic]           0+
    name                        string                       0+
    partitions                  [ListOffsetsPartition]       0+
      partition_index           int32                        0+
      timestamp                 int64                        0+
      max_num_offsets           int32                        0+   = 1

ListOffsetsResponse 0
  topics                        [ListOffsetsTopicResponse]   0+
    name                        string                       0+
    partitions                  [ListOffsetsPartitionResponse] 0+
      partition_index           int32                        0+
      error_code                int16                        0+
      old_style_offsets         [int64]                      0+

OffsetCommitRequest 0-1
  group_id                      string                       0+
  generation_id_or_member_epoch int32                        1+   = -1
  member_id                     string                       1+
  topics                        [OffsetCommitRequestTopic]   0+
    name                        string                       0+
    partitions                  [OffsetCommitRequestPartition] 0+
      partition_index           int32                        0+
      committed_offset          int64                        0+
      commit_timestamp          int64                        1+   = -1
      committed_metadata        string                       0+   null

OffsetCommitResponse 0-1
  topics                        [OffsetCommitResponseTopic]  0+
    name                        string                       0+
    partitions                  [OffsetCommitResponsePartition] 0+
      partition_index           int32                        0+
      error_code                int16                        0+

OffsetFetchRequest 0
  group_id                      string                       0+
  topics                        [OffsetFetchRequestTopic]    0+
    name                        string                       0+
    partition_indexes           [int32]                      0+

OffsetFetchResponse 0
  topics                        [OffsetFetchResponseTopic]   0+
    name                        string                       0+
    partitions                  [OffsetFetchResponsePartition] 0+
      partition_index           int32                        0+
      committed_offset          int64                        0+
      metadata                  string                       0+   null
      error_code                int16                        0+

OffsetForLeaderEpochRequest 0-1
  topics                        [OffsetForLeaderTopic]       0+
    topic                       string                       0+
    partitions                  [OffsetForLeaderPartition]   0+
      partition                 int32                        0+
      leader_epoch              int32                        0+

OffsetForLeaderEpochResponse 0-1
  topics                        [OffsetForLeaderTopicResult] 0+
    topic                       string                       0+
    partitions                  [EpochEndOffset]             0+
      error_code                int16                        0+
      partition                 int32                        0+
      leader_epoch              int32                        1+   = -1
      end_offset                int64                        0+   = -1

WriteTxnMarkersRequest 0
  markers                       [WritableTxnMarker]          0+
    producer_id                 int64                        0+
    producer_epoch              int16                        0+
    transaction_result          bool                         0+
    topics                      [WritableTxnMarkerTopic]     0+
      name                      string                       0+
      partition_indexes         [int32]                      0+
    coordinator_epoch           int32                        0+

WriteTxnMarkersResponse 0
  markers                       [WritableTxnMarkerResult]    0+
    producer_id                 int64                        0+
    topics                      [WritableTxnMarkerTopicResult] 0+
      name                      string                       0+
      partitions                [WritableTxnMarkerPartitionResult] 0+
        partition_index         int32                        0+
        error_code              int16                        0+
"""
