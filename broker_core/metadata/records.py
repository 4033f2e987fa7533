"""The records of `__cluster_metadata`: every decision about a cluster, as Apache Kafka 4.3 writes it.

A record's value is a frame around a message in the flexible notation of the protocol (KIP-631):

    01 | 0c | 00 | 11 metadata.version 00 1e 00
    frame version, api key 12 (FeatureLevelRecord), version 0, fields, tagged fields; the first three as varints

What a record changes is said by its fields that are set: a PartitionChangeRecord with `leader=2` and nothing else
moves the leader, raises leader and partition epoch by one and leaves ISR and replicas as they are.

| about | records |
|---|---|
| brokers and controllers | Register*, Unregister*, Fence*, Unfence*, BrokerRegistrationChange, RegisterController |
| topics | Topic, RemoveTopic, Partition, PartitionChange, ClearElr |
| settings, feature levels, producer ids | Config, FeatureLevel, ProducerIds |
| security | AccessControlEntry, UserScramCredential, ClientQuota, DelegationToken, and their Remove* |
| the log itself | NoOp (it moves the clock), BeginTransaction, EndTransaction, AbortTransaction (KIP-868) |

    encode(PartitionRecord(partition_id=0, topic_id=..., replicas=[1, 2, 3], ...), 2)

Source: the message definitions in Kafka's metadata module; MetadataRecordSerde.
"""

from __future__ import annotations

import json
import re
from typing import Any

from broker_core.records.record import Record
from broker_core.wire.as_json import as_json
from broker_core.wire.compiled import read_message, write_message
from broker_core.wire.errors import WireError
from broker_core.wire.messages import define

FRAME_VERSION = 1
NO_LEADER, LEADER_UNCHANGED = -1, -2
RECOVERED, RECOVERING, RECOVERY_UNCHANGED = 0, 1, -1

TABLES = """
RegisterBrokerRecord 0-4 flexible 0+
  broker_id                   int32             0+
  is_migrating_zk_broker      bool              2+  = false
  incarnation_id              uuid              0+
  broker_epoch                int64             0+
  end_points                  [BrokerEndpoint]  0+
    name                      string            0+
    host                      string            0+
    port                      uint16            0+
    security_protocol         int16             0+
  features                    [BrokerFeature]   0+
    name                      string            0+
    min_supported_version     int16             0+
    max_supported_version     int16             0+
  rack                        string            0+  null
  fenced                      bool              0+  = true
  in_controlled_shutdown      bool              1+  = false
  log_dirs                    [uuid]            3+  tag 0
  cordoned_log_dirs           [uuid]            4+  null 4+ tag 1 = null

UnregisterBrokerRecord 0-0 flexible 0+
  broker_id                   int32             0+
  broker_epoch                int64             0+

TopicRecord 0-0 flexible 0+
  name                        string            0+
  topic_id                    uuid              0+

PartitionRecord 0-2 flexible 0+
  partition_id                int32             0+  = -1
  topic_id                    uuid              0+
  replicas                    [int32]           0+
  isr                         [int32]           0+
  removing_replicas           [int32]           0+
  adding_replicas             [int32]           0+
  leader                      int32             0+  = -1
  leader_recovery_state       int8              0+  tag 0 = 0
  leader_epoch                int32             0+  = -1
  partition_epoch             int32             0+  = -1
  directories                 [uuid]            1+
  eligible_leader_replicas    [int32]           2+  null 2+ tag 1 = null
  last_known_elr              [int32]           2+  null 2+ tag 2 = null

ConfigRecord 0-0 flexible 0+
  resource_type               int8              0+
  resource_name               string            0+
  name                        string            0+
  value                       string            0+  null

PartitionChangeRecord 0-2 flexible 0+
  partition_id                int32             0+  = -1
  topic_id                    uuid              0+
  isr                         [int32]           0+  null 0+ tag 0 = null
  leader                      int32             0+  tag 1 = -2
  replicas                    [int32]           0+  null 0+ tag 2 = null
  removing_replicas           [int32]           0+  null 0+ tag 3 = null
  adding_replicas             [int32]           0+  null 0+ tag 4 = null
  leader_recovery_state       int8              0+  tag 5 = -1
  directories                 [uuid]            1+  null 1+ tag 8 = null
  eligible_leader_replicas    [int32]           2+  null 2+ tag 6 = null
  last_known_elr              [int32]           2+  null 2+ tag 7 = null

FenceBrokerRecord 0-0 flexible 0+
  id                          int32             0+
  epoch                       int64             0+

UnfenceBrokerRecord 0-0 flexible 0+
  id                          int32             0+
  epoch                       int64             0+

RemoveTopicRecord 0-0 flexible 0+
  topic_id                    uuid              0+

DelegationTokenRecord 0-0 flexible 0+
  owner                       string            0+
  requester                   string            0+
  renewers                    [string]          0+
  issue_timestamp             int64             0+
  max_timestamp               int64             0+
  expiration_timestamp        int64             0+
  token_id                    string            0+

UserScramCredentialRecord 0-0 flexible 0+
  name                        string            0+
  mechanism                   int8              0+
  salt                        bytes             0+
  stored_key                  bytes             0+
  server_key                  bytes             0+
  iterations                  int32             0+

FeatureLevelRecord 0-0 flexible 0+
  name                        string            0+
  feature_level               int16             0+

ClientQuotaRecord 0-0 flexible 0+
  entity                      [EntityData]      0+
    entity_type               string            0+
    entity_name               string            0+  null
  key                         string            0+
  value                       float64           0+
  remove                      bool              0+

ProducerIdsRecord 0-0 flexible 0+
  broker_id                   int32             0+
  broker_epoch                int64             0+  = -1
  next_producer_id            int64             0+

BrokerRegistrationChangeRecord 0-3 flexible 0+
  broker_id                   int32             0+
  broker_epoch                int64             0+
  fenced                      int8              0+  tag 0
  in_controlled_shutdown      int8              1+  tag 1
  log_dirs                    [uuid]            2+  tag 2
  cordoned_log_dirs           [uuid]            3+  null 3+ tag 3 = null

AccessControlEntryRecord 0-0 flexible 0+
  id                          uuid              0+
  resource_type               int8              0+
  resource_name               string            0+
  pattern_type                int8              0+
  principal                   string            0+
  host                        string            0+
  operation                   int8              0+
  permission_type             int8              0+

RemoveAccessControlEntryRecord 0-0 flexible 0+
  id                          uuid              0+

NoOpRecord 0-0 flexible 0+

ZkMigrationStateRecord 0-0 flexible 0+
  zk_migration_state          int8              0+

RemoveUserScramCredentialRecord 0-0 flexible 0+
  name                        string            0+
  mechanism                   int8              0+

BeginTransactionRecord 0-0 flexible 0+
  name                        string            0+  null 0+ tag 0 = null

EndTransactionRecord 0-0 flexible 0+

AbortTransactionRecord 0-0 flexible 0+
  reason                      string            0+  null 0+ tag 0 = null

RemoveDelegationTokenRecord 0-0 flexible 0+
  token_id                    string            0+

RegisterControllerRecord 0-0 flexible 0+
  controller_id               int32             0+
  incarnation_id              uuid              0+
  zk_migration_ready          bool              0+
  end_points                  [ControllerEndpoint] 0+
    name                      string            0+
    host                      string            0+
    port                      uint16            0+
    security_protocol         int16             0+
  features                    [ControllerFeature] 0+
    name                      string            0+
    min_supported_version     int16             0+
    max_supported_version     int16             0+

ClearElrRecord 0-0 flexible 0+
  topic_name                  string            0+
"""

API_KEYS = {
    "RegisterBrokerRecord": 0, "UnregisterBrokerRecord": 1, "TopicRecord": 2, "PartitionRecord": 3, "ConfigRecord": 4,
    "PartitionChangeRecord": 5, "FenceBrokerRecord": 7, "UnfenceBrokerRecord": 8, "RemoveTopicRecord": 9,
    "DelegationTokenRecord": 10, "UserScramCredentialRecord": 11, "FeatureLevelRecord": 12, "ClientQuotaRecord": 14,
    "ProducerIdsRecord": 15, "BrokerRegistrationChangeRecord": 17, "AccessControlEntryRecord": 18,
    "RemoveAccessControlEntryRecord": 19, "NoOpRecord": 20, "ZkMigrationStateRecord": 21,
    "RemoveUserScramCredentialRecord": 22, "BeginTransactionRecord": 23, "EndTransactionRecord": 24,
    "AbortTransactionRecord": 25, "RemoveDelegationTokenRecord": 26, "RegisterControllerRecord": 27,
    "ClearElrRecord": 28,
}  # fmt: skip
"""Kind of record by its class."""

globals().update(define(TABLES, __name__))
_BY_KEY: dict[int, Any] = {key: globals()[name] for name, key in API_KEYS.items()}


def __getattr__(name: str) -> Any:
    """The classes are made from the tables; this is for those who check types."""
    raise AttributeError(f"module {__name__!r} has no record {name!r}")


def encode(record: Any, version: int | None = None) -> bytes:
    """The value of a record; without `version`: in the newest one."""
    kind = type(record)
    version = kind.TYPE.versions[-1] if version is None else version
    head = bytearray((FRAME_VERSION, API_KEYS[kind.__name__], version))  # all below 128: varints of one byte
    return b"".join(write_message(kind, version, record, head, sized=False))


def decode(value: bytes) -> Any:
    """The record of a value. Raises WireError for what is none of Kafka 4.3's."""
    return NO_OP if value == _NO_OP_VALUE else _decode(value)[0]


def text_of(record: Record) -> str:
    """As `kafka-dump-log --cluster-metadata-decoder` prints it; a reason in brackets for what cannot be read."""
    try:
        found, version = _decode(record.value or b"")
    except WireError as error:
        return f"<{error}>"
    kind = re.sub(r"(?<!^)(?=[A-Z])", "_", type(found).__name__).upper()
    return json.dumps({"type": kind, "version": version, "data": as_json(found, version)}, separators=(",", ":"))


def _decode(value: bytes) -> tuple[Any, int]:
    """The record and its version."""
    place = "metadata record"
    frame, at = _unsigned_varint(value, 0, place)
    if frame != FRAME_VERSION:
        raise WireError(place, f"frame version {frame}")
    key, at = _unsigned_varint(value, at, place)
    version, at = _unsigned_varint(value, at, place)
    kind = _BY_KEY.get(key)
    if kind is None:
        raise WireError(place, f"unknown kind {key}")
    if version not in kind.TYPE.versions:
        raise WireError(kind.__name__, f"unknown version {version}")
    return read_message(kind, version, memoryview(value).toreadonly()[at:]), version


def _unsigned_varint(value: bytes, at: int, place: str) -> tuple[int, int]:
    number = shift = 0
    while at < len(value) and shift < 35:
        byte = value[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at
    raise WireError(place, f"no whole varint at byte {at}")


NO_OP: Any = globals()["NoOpRecord"]()
_NO_OP_VALUE = encode(NO_OP)
"""Two a second, in each process of a cluster that is at rest."""
