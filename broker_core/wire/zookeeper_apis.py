"""What a ZooKeeper-mode controller says to the brokers, and a broker to it: APIs 4 to 7 of Apache Kafka 3.9.

With ZooKeeper the controller pushes its decisions: LeaderAndIsr makes a broker leader or follower of
partitions, StopReplica ends (and perhaps deletes) replicas, UpdateMetadata fills every broker's metadata
cache, and a broker that wants to stop asks with ControlledShutdown to have its leaderships moved first.
KRaft replaced the push by a log that brokers read (KIP-500), and Kafka 4.0 dropped these messages.

`controller_epoch` fences an old controller, `broker_epoch` (the zxid of the broker's registration, KIP-380)
an old incarnation of a broker, `leader_epoch` an old leader (KIP-101). `type` tells whether a LeaderAndIsr
or UpdateMetadata request names every topic (1 incremental, 2 full; KIP-866). Notation: see `schema`.
"""

from __future__ import annotations

TABLES = """
LeaderAndIsrRequest 0-7 flexible 4+
  controller_id                 int32                        0+
  is_kraft_controller           bool                         7+   = false
  controller_epoch              int32                        0+
  broker_epoch                  int64                        2+   = -1
  type                          int8                         5+
  ungrouped_partition_states    [LeaderAndIsrPartitionState] 0-1
  topic_states                  [LeaderAndIsrTopicState]     2+
    topic_name                  string                       2+
    topic_id                    uuid                         5+
    partition_states            [LeaderAndIsrPartitionState] 2+
  live_leaders                  [LeaderAndIsrLiveLeader]     0+
    broker_id                   int32                        0+
    host_name                   string                       0+
    port                        int32                        0+
  LeaderAndIsrPartitionState:
    topic_name                  string                       0-1
    partition_index             int32                        0+
    controller_epoch            int32                        0+
    leader                      int32                        0+
    leader_epoch                int32                        0+
    isr                         [int32]                      0+
    partition_epoch             int32                        0+
    replicas                    [int32]                      0+
    adding_replicas             [int32]                      3+
    removing_replicas           [int32]                      3+
    is_new                      bool                         1+   = false
    leader_recovery_state       int8                         6+   = 0

LeaderAndIsrResponse 0-7 flexible 4+
  error_code                    int16                        0+
  partition_errors              [LeaderAndIsrPartitionError] 0-4
  topics                        [LeaderAndIsrTopicError]     5+
    topic_id                    uuid                         5+
    partition_errors            [LeaderAndIsrPartitionError] 5+
  LeaderAndIsrPartitionError:
    topic_name                  string                       0-4
    partition_index             int32                        0+
    error_code                  int16                        0+

StopReplicaRequest 0-4 flexible 2+
  controller_id                 int32                        0+
  is_kraft_controller           bool                         4+   = false
  controller_epoch              int32                        0+
  broker_epoch                  int64                        1+   = -1
  delete_partitions             bool                         0-2
  ungrouped_partitions          [StopReplicaPartitionV0]     0
    topic_name                  string                       0
    partition_index             int32                        0
  topics                        [StopReplicaTopicV1]         1-2
    name                        string                       1-2
    partition_indexes           [int32]                      1-2
  topic_states                  [StopReplicaTopicState]      3+
    topic_name                  string                       3+
    partition_states            [StopReplicaPartitionState]  3+
      partition_index           int32                        3+
      leader_epoch              int32                        3+   = -1
      delete_partition          bool                         3+

StopReplicaResponse 0-4 flexible 2+
  error_code                    int16                        0+
  partition_errors              [StopReplicaPartitionError]  0+
    topic_name                  string                       0+
    partition_index             int32                        0+
    error_code                  int16                        0+

UpdateMetadataRequest 0-8 flexible 6+
  controller_id                 int32                        0+
  is_kraft_controller           bool                         8+   = false
  type                          int8                         8+   tag 0 = 0
  controller_epoch              int32                        0+
  broker_epoch                  int64                        5+   = -1
  ungrouped_partition_states    [UpdateMetadataPartitionState] 0-4
  topic_states                  [UpdateMetadataTopicState]   5+
    topic_name                  string                       5+
    topic_id                    uuid                         7+
    partition_states            [UpdateMetadataPartitionState] 5+
  live_brokers                  [UpdateMetadataBroker]       0+
    id                          int32                        0+
    v0_host                     string                       0
    v0_port                     int32                        0
    endpoints                   [UpdateMetadataEndpoint]     1+
      port                      int32                        1+
      host                      string                       1+
      listener                  string                       3+
      security_protocol         int16                        1+
    rack                        string                       2+   null
  UpdateMetadataPartitionState:
    topic_name                  string                       0-4
    partition_index             int32                        0+
    controller_epoch            int32                        0+
    leader                      int32                        0+
    leader_epoch                int32                        0+
    isr                         [int32]                      0+
    zk_version                  int32                        0+
    replicas                    [int32]                      0+
    offline_replicas            [int32]                      4+

UpdateMetadataResponse 0-8 flexible 6+
  error_code                    int16                        0+

ControlledShutdownRequest 0-3 flexible 3+
  broker_id                     int32                        0+
  broker_epoch                  int64                        2+   = -1

ControlledShutdownResponse 0-3 flexible 3+
  error_code                    int16                        0+
  remaining_partitions          [RemainingPartition]         0+
    topic_name                  string                       0+
    partition_index             int32                        0+
"""
