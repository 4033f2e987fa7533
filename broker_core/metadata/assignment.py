"""On which brokers do the replicas of a new topic go? Kafka's `AdminUtils.assignReplicasToBrokers`.

Goals: spread replicas evenly, and give the partitions of one broker different sets of followers, so
that its load is shared by many when it fails. The first replica goes round robin from a random
start; the others follow at a distance that grows by one each time the round is complete.

Ten partitions, five brokers, start 0, shift 0 (rows are partitions, the first column leads):

    p0: 0 1 2    p5: 0 2 3
    p1: 1 2 3    p6: 1 3 4
    p2: 2 3 4    p7: 2 4 0
    p3: 3 4 0    p8: 3 0 1
    p4: 4 0 1    p9: 4 1 2

With racks the brokers are first put in an order that changes rack at every step (0(a) 3(b) 5(c)
1(a) ...), and a replica goes to a rack that has none yet while there is one. A broker that joins
later gets nothing until partitions are reassigned to it.
"""

from __future__ import annotations

from random import Random

from broker_core.metadata.errors import RequestError
from broker_core.wire.errors import ErrorCode

Assignment = dict[int, list[int]]


def assign_replicas(
    brokers: dict[int, str | None],
    partitions: int,
    replication_factor: int,
    random: Random | None,
    start_index: int = -1,
    first_partition: int = 0,
) -> Assignment:
    """partition -> broker ids. `brokers` maps ids to racks; `start_index` >= 0 takes chance out.

    Raises RequestError for counts that cannot be met, and when only some brokers have a rack.
    """
    check_counts(partitions, replication_factor, len(brokers))
    ids = sorted(brokers)
    shift = start_index
    if start_index < 0:
        if random is None:
            raise ValueError("either a random stream or a start index")
        start_index, shift = random.randrange(len(ids)), random.randrange(len(ids))
    racks = {broker: rack for broker in ids if (rack := brokers[broker]) is not None}
    if not racks:
        return _assign_plain(ids, partitions, replication_factor, start_index, shift, first_partition)
    if len(racks) < len(ids):
        message = "Not all brokers have rack information for replica rack aware assignment."
        raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR, message)
    return _assign_by_rack(racks, partitions, replication_factor, start_index, shift, first_partition)


def rack_alternated(racks: dict[int, str]) -> list[int]:
    """Brokers in an order that changes rack at every step while it can."""
    by_rack: dict[str, list[int]] = {rack: [] for rack in sorted(racks.values())}
    for broker in sorted(racks):
        by_rack[racks[broker]].append(broker)
    longest = max(len(members) for members in by_rack.values())
    return [members[turn] for turn in range(longest) for members in by_rack.values() if turn < len(members)]


def check_counts(partitions: int, replication_factor: int, brokers: int) -> None:
    """Raises RequestError for counts that these many brokers cannot meet."""
    if partitions <= 0:
        raise RequestError(ErrorCode.INVALID_PARTITIONS, "Number of partitions must be larger than 0.")
    if replication_factor <= 0:
        raise RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, "Replication factor must be larger than 0.")
    if replication_factor > brokers:
        message = f"Replication factor: {replication_factor} larger than available brokers: {brokers}."
        raise RequestError(ErrorCode.INVALID_REPLICATION_FACTOR, message)


def _follower_index(first: int, shift: int, follower: int, brokers: int) -> int:
    """Where follower number `follower` (from 0) stands: never on the first replica's broker."""
    return (first + 1 + (shift + follower) % (brokers - 1)) % brokers


def _assign_plain(
    ids: list[int], partitions: int, replication_factor: int, start: int, shift: int, first_partition: int
) -> Assignment:
    count = len(ids)
    assignment: Assignment = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        followers = [ids[_follower_index(first, shift, each, count)] for each in range(replication_factor - 1)]
        assignment[partition] = [ids[first], *followers]
    return assignment


def _assign_by_rack(
    racks: dict[int, str], partitions: int, replication_factor: int, start: int, shift: int, first_partition: int
) -> Assignment:
    arranged = rack_alternated(racks)
    count, rack_count = len(arranged), len(set(racks.values()))
    assignment: Assignment = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % count == 0:
            shift += 1
        first = (partition + start) % count
        replicas = [arranged[first]]
        candidate = 0
        while len(replicas) < replication_factor:
            broker = arranged[_follower_index(first, shift * rack_count, candidate, count)]
            candidate += 1
            used_racks = {racks[replica] for replica in replicas}
            if broker not in replicas and (racks[broker] not in used_racks or len(used_racks) == rack_count):
                replicas.append(broker)
        assignment[partition] = replicas
    return assignment
