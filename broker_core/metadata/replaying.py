"""How a record changes what is known of one partition or one broker, and how that is written as a record again.

    PartitionRegistration   replicas [1, 2, 3], ISR [1, 2], ELR [], leader 1, leader epoch 5, partition epoch 9
    PartitionChangeRecord   isr=[1], leader unchanged   ->  ISR [1], leader epoch 5, partition epoch 10
    PartitionChangeRecord   leader=2                    ->  leader 2, leader epoch 6, partition epoch 11

A change that names a leader, even the same one, raises the leader epoch; every change raises the partition epoch. One
that takes the leader away (-1) raises it, too: the next leader begins a new one.

Registrations are never changed in place: a change makes another one, so that a delta can hold the old one.
"""

from __future__ import annotations

import uuid
from dataclasses import replace
from typing import Any

from broker_core.metadata import records as r
from broker_core.metadata.registration import (
    PROTOCOL_NUMBERS,
    SECURITY_PROTOCOLS,
    BrokerRegistration,
    Endpoint,
    PartitionRegistration,
)

UNASSIGNED = uuid.UUID(int=0)
LOST = uuid.UUID(int=1)
MIGRATING = uuid.UUID(int=2)
FENCE, UNFENCE = 1, -1
IN_CONTROLLED_SHUTDOWN = 1
Versioned = tuple[Any, int]
"""A record and the version to write it in."""


# -- partitions -----------------------------------------------------------------------------------
def partition_of(record: Any) -> PartitionRegistration:
    """From a PartitionRecord."""
    return PartitionRegistration(
        list(record.replicas), list(record.isr), record.leader, record.leader_epoch, record.partition_epoch,
        list(record.adding_replicas), list(record.removing_replicas), record.leader_recovery_state,
        directories=list(record.directories) or [MIGRATING] * len(record.replicas),
        elr=list(record.eligible_leader_replicas or ()), last_known_elr=list(record.last_known_elr or ()),
    )  # fmt: skip


def changed_partition(before: PartitionRegistration, change: Any) -> PartitionRegistration:
    """After a PartitionChangeRecord."""
    moved = change.leader != r.LEADER_UNCHANGED
    recovery, replicas = change.leader_recovery_state, _new(change.replicas, before.replicas)
    known = dict(zip(before.replicas, before.directories, strict=True))
    return PartitionRegistration(
        replicas, _new(change.isr, before.isr), change.leader if moved else before.leader, before.leader_epoch + moved,
        before.partition_epoch + 1, _new(change.adding_replicas, before.adding_replicas),
        _new(change.removing_replicas, before.removing_replicas),
        before.leader_recovery_state if recovery == r.RECOVERY_UNCHANGED else recovery,
        directories=_new(change.directories, [known.get(replica, UNASSIGNED) for replica in replicas]),
        elr=_new(change.eligible_leader_replicas, before.elr),
        last_known_elr=_new(change.last_known_elr, before.last_known_elr),
    )  # fmt: skip


def without_elr(before: PartitionRegistration) -> PartitionRegistration:
    """After a ClearElrRecord."""
    return replace(before, elr=[], last_known_elr=[], partition_epoch=before.partition_epoch + 1)


def partition_record(topic_id: uuid.UUID, number: int, partition: PartitionRegistration) -> Versioned:
    """As a PartitionRecord."""
    return r.PartitionRecord(
        partition_id=number, topic_id=topic_id, replicas=list(partition.replicas), isr=list(partition.isr),
        removing_replicas=list(partition.removing_replicas), adding_replicas=list(partition.adding_replicas),
        leader=partition.leader, leader_recovery_state=partition.leader_recovery_state,
        leader_epoch=partition.leader_epoch, partition_epoch=partition.partition_epoch,
        directories=list(partition.directories), eligible_leader_replicas=list(partition.elr) or None,
        last_known_elr=list(partition.last_known_elr) or None,
    ), 2  # fmt: skip


def _new(wanted: list[Any] | None, before: list[Any]) -> list[Any]:
    return list(before if wanted is None else wanted)


# -- brokers --------------------------------------------------------------------------------------
def broker_of(record: Any) -> BrokerRegistration:
    """From a RegisterBrokerRecord. `epoch` is the offset of that record, `incarnation_id` tells its starts apart."""
    return BrokerRegistration(
        record.broker_id, endpoints_of(record), record.rack, record.broker_epoch, record.incarnation_id,
        record.fenced, record.in_controlled_shutdown, list(record.log_dirs), features_of(record),
        list(record.cordoned_log_dirs or ()),
    )  # fmt: skip


def changed_broker(before: BrokerRegistration, change: Any) -> BrokerRegistration:
    """After a BrokerRegistrationChangeRecord."""
    stopping = change.in_controlled_shutdown == IN_CONTROLLED_SHUTDOWN
    return replace(
        before,
        fenced=before.fenced if not change.fenced else change.fenced == FENCE,
        in_controlled_shutdown=before.in_controlled_shutdown or stopping,
        directories=list(change.log_dirs or before.directories),
        cordoned=_new(change.cordoned_log_dirs, before.cordoned),
    )


def broker_record(broker: BrokerRegistration) -> Versioned:
    """As a RegisterBrokerRecord."""
    kind = r.RegisterBrokerRecord
    return kind(
        broker_id=broker.id, incarnation_id=broker.incarnation_id or UNASSIGNED, broker_epoch=broker.epoch,
        end_points=[kind.BrokerEndpoint(**values) for values in endpoint_fields(broker.listeners)],
        features=[kind.BrokerFeature(**values) for values in feature_fields(broker.features)],
        rack=broker.rack, fenced=broker.fenced, in_controlled_shutdown=broker.in_controlled_shutdown,
        log_dirs=list(broker.directories), cordoned_log_dirs=list(broker.cordoned),
    ), 4  # fmt: skip


# -- what registrations share ---------------------------------------------------------------------
def endpoints_of(record: Any) -> dict[str, Endpoint]:
    """The listeners of a registration, by name."""
    return {
        one.name: Endpoint(one.name, one.host, one.port, SECURITY_PROTOCOLS[one.security_protocol])
        for one in record.end_points
    }


def features_of(record: Any) -> dict[str, tuple[int, int]]:
    """Feature -> least and highest level that a process knows."""
    return {one.name: (one.min_supported_version, one.max_supported_version) for one in record.features}


def endpoint_fields(listeners: dict[str, Endpoint]) -> list[dict[str, Any]]:
    """Listeners as fields of a record."""
    return [
        {"name": one.listener, "host": one.host, "port": one.port,
         "security_protocol": PROTOCOL_NUMBERS[one.security_protocol]}
        for one in listeners.values()
    ]  # fmt: skip


def feature_fields(features: dict[str, tuple[int, int]]) -> list[dict[str, Any]]:
    """Features as fields of a record."""
    return [
        {"name": name, "min_supported_version": least, "max_supported_version": most}
        for name, (least, most) in features.items()
    ]
