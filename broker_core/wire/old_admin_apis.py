"""First versions of administrative requests that 3.9 still offers and Kafka 4.0 removed (KIP-896).

Typical of them: results carry no error message yet, access rules know literal names only (KIP-290 came
later), configurations say `is_default` instead of naming their source (KIP-226). AlterPartition 0 and 1 name
topics, later versions use topic ids (KIP-516). Notation: see `schema`.
"""

from __future__ import annotations

TABLES = """
CreateTopicsRequest 0-1
  topics                        [CreatableTopic]             0+
    name                        string                       0+
    num_partitions              int32                        0+
    replication_factor          int16                        0+
    assignments                 [CreatableReplicaAssignment] 0+
      partition_index           int32                        0+
      broker_ids                [int32]                      0+
    configs                     [CreatableTopicConfig]       0+
      name                      string                       0+
      value                     string                       0+   null
  timeout                       int32                        0+   = 60000
  validate_only                 bool                         1+   = false

CreateTopicsResponse 0-1
  topics                        [CreatableTopicResult]       0+
    name                        string                       0+
    error_code                  int16                        0+
    error_message               string                       1+   null

DeleteTopicsRequest 0
  topic_names                   [string]                     0+
  timeout                       int32                        0+

DeleteTopicsResponse 0
  responses                     [DeletableTopicResult]       0+
    name                        string                       0+
    error_code                  int16                        0+

DescribeAclsRequest 0
  resource_type_filter          int8                         0+
  resource_name_filter          string                       0+   null
  principal_filter              string                       0+   null
  host_filter                   string                       0+   null
  operation                     int8                         0+
  permission_type               int8                         0+

DescribeAclsResponse 0
  throttle_time                 int32                        0+
  error_code                    int16                        0+
  error_message                 string                       0+   null
  resources                     [DescribeAclsResource]       0+
    resource_type               int8                         0+
    resource_name               string                       0+
    acls                        [AclDescription]             0+
      principal                 string                       0+
      host                      string                       0+
      operation                 int8                         0+
      permission_type           int8                         0+

CreateAclsRequest 0
  creations                     [AclCreation]                0+
    resource_type               int8                         0+
    resource_name               string                       0+
    principal                   string                       0+
    host                        string                       0+
    operation                   int8                         0+
    permission_type             int8                         0+

CreateAclsResponse 0
  throttle_time                 int32                        0+
  results                       [AclCreationResult]          0+
    error_code                  int16                        0+
    error_message               string                       0+   null

DeleteAclsRequest 0
  filters                       [DeleteAclsFilter]           0+
    resource_type_filter        int8                         0+
    resource_name_filter        string                       0+   null
    principal_filter            string                       0+   null
    host_filter                 string                       0+   null
    operation                   int8                         0+
    permission_type             int8                         0+

DeleteAclsResponse 0
  throttle_time                 int32                        0+
  filter_results                [DeleteAclsFilterResult]     0+
    error_code                  int16                        0+
    error_message               string                       0+   null
    matching_acls               [DeleteAclsMatchingAcl]      0+
      error_code                int16                        0+
      error_message             string                       0+   null
      resource_type             int8                         0+
      resource_name             string                       0+
      principal                 string                       0+
      host                      string                       0+
      operation                 int8                         0+
      permission_type           int8                         0+

DescribeConfigsRequest 0
  resources                     [DescribeConfigsResource]    0+
    resource_type               int8                         0+
    resource_name               string                       0+
    configuration_keys          [string]                     0+   null

DescribeConfigsResponse 0
  throttle_time                 int32                        0+
  results                       [DescribeConfigsResult]      0+
    error_code                  int16                        0+
    error_message               string                       0+   null
    resource_type               int8                         0+
    resource_name               string                       0+
    configs                     [DescribeConfigsResourceResult] 0+
      name                      string                       0+
      value                     string                       0+   null
      read_only                 bool                         0+
      is_default                bool                         0+
      is_sensitive              bool                         0+

AlterReplicaLogDirsRequest 0
  dirs                          [AlterReplicaLogDir]         0+
    path                        string                       0+
    topics                      [AlterReplicaLogDirTopic]    0+
      name                      string                       0+
      partitions                [int32]                      0+

AlterReplicaLogDirsResponse 0
  throttle_time                 int32                        0+
  results                       [AlterReplicaLogDirTopicResult] 0+
    topic_name                  string                       0+
    partitions                  [AlterReplicaLogDirPartitionResult] 0+
      partition_index           int32                        0+
      error_code                int16                        0+

DescribeLogDirsRequest 0
  topics                        [DescribableLogDirTopic]     0+   null
    topic                       string                       0+
    partitions                  [int32]                      0+

DescribeLogDirsResponse 0
  throttle_time                 int32                        0+
  results                       [DescribeLogDirsResult]      0+
    error_code                  int16                        0+
    log_dir                     string                       0+
    topics                      [DescribeLogDirsTopic]       0+
      name                      string                       0+
      partitions                [DescribeLogDirsPartition]   0+
        partition_index         int32                        0+
        partition_size          int64                        0+
        offset_lag              int64                        0+
        is_future_key           bool                         0+

AlterPartitionRequest 0-1 flexible 0+
  broker_id                     int32                        0+
  broker_epoch                  int64                        0+   = -1
  topics                        [TopicData]                  0+
    topic_name                  string                       0+
    partitions                  [PartitionData]              0+
      partition_index           int32                        0+
      leader_epoch              int32                        0+
      new_isr                   [int32]                      0+
      leader_recovery_state     int8                         1+   = 0
      partition_epoch           int32                        0+

AlterPartitionResponse 0-1 flexible 0+
  throttle_time                 int32                        0+
  error_code                    int16                        0+
  topics                        [TopicData]                  0+
    topic_name                  string                       0+
    partitions                  [PartitionData]              0+
      partition_index           int32                        0+
      error_code                int16                        0+
      leader_id                 int32                        0+
      leader_epoch              int32                        0+
      isr                       [int32]                      0+
      leader_recovery_state     int8                         1+   = 0
      partition_epoch           int32                        0+

CreateDelegationTokenRequest 0
  renewers                      [CreatableRenewers]          0+
    principal_type              string                       0+
    principal_name              string                       0+
  max_lifetime                  int64                        0+

CreateDelegationTokenResponse 0
  error_code                    int16                        0+
  principal_type                string                       0+
  principal_name                string                       0+
  issue_timestamp               int64                        0+
  expiry_timestamp              int64                        0+
  max_timestamp                 int64                        0+
  token_id                      string                       0+
  hmac                          bytes                        0+
  throttle_time                 int32                        0+

RenewDelegationTokenRequest 0
  hmac                          bytes                        0+
  renew_period                  int64                        0+

RenewDelegationTokenResponse 0
  error_code                    int16                        0+
  expiry_timestamp              int64                        0+
  throttle_time                 int32                        0+

ExpireDelegationTokenRequest 0
  hmac                          bytes                        0+
  expiry_time_period            int64                        0+

ExpireDelegationTokenResponse 0
  error_code                    int16                        0+
  expiry_timestamp              int64                        0+
  throttle_time                 int32                        0+

DescribeDelegationTokenRequest 0
  owners                        [DescribeDelegationTokenOwner] 0+   null
    principal_type              string                       0+
    principal_name              string                       0+

DescribeDelegationTokenResponse 0
  error_code                    int16                        0+
  tokens                        [DescribedDelegationToken]   0+
    principal_type              string                       0+
    principal_name              string                       0+
    issue_timestamp             int64                        0+
    expiry_timestamp            int64                        0+
    max_timestamp               int64                        0+
    token_id                    string                       0+
    hmac                        bytes                        0+
    renewers                    [DescribedDelegationTokenRenewer] 0+
      principal_type            string                       0+
      principal_name            string                       0+
  throttle_time                 int32                        0+
"""
