"""What a wish for a topic or for more partitions must fulfil, and the assignment that follows from it."""

from __future__ import annotations

from random import Random
from typing import Any

from broker_core.metadata.assignment import Assignment, assign_replicas
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.errors import RequestError
from broker_core.metadata.partition import ReplicaAssignment
from broker_core.wire.errors import ErrorCode

UNSET = -1


def initial_assignment(topic: Any, racks: dict[int, str | None], config: BrokerConfig, random: Random) -> Assignment:
    """Replicas of a new topic: as given, or placed by Kafka's rule. Raises RequestError."""
    counts_given = topic.num_partitions != UNSET or topic.replication_factor != UNSET
    if topic.assignments and counts_given:
        message = (
            "Both numPartitions or replicationFactor and replicasAssignments were set. "
            "Both cannot be used at the same time."
        )
        raise RequestError(ErrorCode.INVALID_REQUEST, message)
    if not topic.assignments:
        partitions = config["num.partitions"] if topic.num_partitions == UNSET else topic.num_partitions
        factor = config["default.replication.factor"] if topic.replication_factor == UNSET else topic.replication_factor
        return assign_replicas(racks, partitions, factor, random)
    assignment = {each.partition_index: list(each.broker_ids) for each in topic.assignments}
    check_replicas(assignment)
    if sorted(assignment) != list(range(len(topic.assignments))):
        raise _wrong("partitions should be a consecutive 0-based integer sequence")
    return assignment


def check_replicas(assignment: Assignment) -> None:
    """The same number of replicas for all, and no broker twice. Raises RequestError."""
    sizes = dict.fromkeys(len(replicas) for replicas in assignment.values())
    if len(sizes) != 1:
        raise _wrong("All partitions should have the same number of replicas")
    if 0 in sizes:
        raise _wrong("Every partition needs at least one replica")
    for number, replicas in assignment.items():
        if len(dict.fromkeys(replicas)) != len(replicas):
            raise _wrong(f"Duplicate replica assignment found: {number} -> {replicas}")


def growth_of(topic: Any, partitions: dict[int, ReplicaAssignment], racks: dict[int, str | None]) -> Assignment:
    """Replicas of the partitions that are to be added to those there are. Raises RequestError."""
    if any(each.being_reassigned for each in partitions.values()):
        message = f"A partition reassignment is in progress for the topic '{topic.name}'."
        raise RequestError(ErrorCode.REASSIGNMENT_IN_PROGRESS, message)
    now, wanted = len(partitions), topic.count
    if wanted < now:
        message = f"Topic currently has {now} partitions, which is higher than the requested {wanted}."
        raise RequestError(ErrorCode.INVALID_PARTITIONS, message)
    if wanted == now:
        raise RequestError(ErrorCode.INVALID_PARTITIONS, f"Topic already has {now} partitions.")
    first = partitions[0].replicas
    if topic.assignments is None:  # an empty list is a list of the wrong length
        ids = sorted(racks)
        start = next((position for position, broker in enumerate(ids) if broker >= first[0]), 0)
        return assign_replicas(racks, wanted - now, len(first), None, start, now)
    return _given_growth(topic, now, len(first), racks)


def _given_growth(topic: Any, now: int, factor: int, racks: dict[int, str | None]) -> Assignment:
    added = topic.count - now
    if len(topic.assignments) != added:
        raise _wrong(
            f"Increasing the number of partitions by {added} but {len(topic.assignments)} assignments provided."
        )
    given = {now + position: list(each.broker_ids) for position, each in enumerate(topic.assignments)}
    for number, replicas in given.items():
        if not replicas:
            raise _wrong(f"Cannot have replication factor of 0 for partition id {number}.")
        if len(dict.fromkeys(replicas)) != len(replicas):
            shown = ", ".join(map(str, replicas))
            raise _wrong(f"Duplicate brokers not allowed in replica assignment: {shown} for partition id {number}.")
    unknown = sorted(dict.fromkeys(broker for replicas in given.values() for broker in replicas if broker not in racks))
    if unknown:
        raise _wrong(f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}.")
    wrong = [number for number, replicas in given.items() if len(replicas) != factor]
    if wrong:
        factors = [len(given[number]) for number in wrong]
        raise _wrong(
            f"Inconsistent replication factor between partitions, partition 0 has {factor} while partitions "
            f"{wrong} have replication factors {factors}, respectively."
        )
    return given


def _wrong(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, message)
