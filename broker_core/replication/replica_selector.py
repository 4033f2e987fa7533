"""Which replica a consumer should read from: the nearest one instead of the leader (KIP-392).

A broker with `replica.selector.class` answers a consumer that names its rack (`client.rack`, Fetch v11) with
the id of another replica and no records; the consumer goes there. Only the leader chooses, for it alone knows
how far the others are. Candidates are

* the leader itself
* members of the ISR whose log reaches from at or below the fetch offset up to it

and the brokers of candidates that are not alive count as being nowhere. Leader 1 in rack a with log end 100,
broker 2 in rack b (log end 100), broker 3 in rack b (log end 90):

| client's rack | fetch offset | answer |
|---|---|---|
| a | 50 | records: the leader is in that rack |
| b | 50 | go to 2, the most caught up of the rack |
| b | 95, and 2 is not in the ISR | records: 3 has not got there yet |
| c | 50 | records: nobody is in that rack |

A follower's high watermark is up to one fetch older than the leader's, at most `replica.fetch.wait.max.ms`, so
its readers see a record that much later. (Kafka: ReplicaManager.findPreferredReadReplica,
RackAwareReplicaSelector, ReplicaView.comparator.)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from broker_core.metadata.configs_replication import RACK_AWARE_SELECTOR
from broker_core.replication.partition import Partition
from broker_core.replication.replica import Replica

THE_LEADER = -1

ReplicaRacks = Callable[[str, int], Mapping[int, "str | None"]]
"""(topic, partition) -> racks of the brokers that have a replica, are alive and can be reached."""


class RackAwareReplicaSelector:
    """The leader when it is in the client's rack, else the most caught up replica there, else the leader."""

    def __init__(self, replica_racks: ReplicaRacks) -> None:
        self.replica_racks = replica_racks

    def select(self, partition: Partition, rack: str, offset: int) -> int:
        """Broker id of the replica to read `offset` from; -1 = the leader. Only for a partition that is led here."""
        racks = self.replica_racks(partition.topic, partition.index)
        if racks.get(partition.leader_id) == rack:
            return THE_LEADER
        leader_end = partition.log.log_end_offset
        in_rack = [
            replica
            for replica in partition.remote.values()
            if racks.get(replica.broker_id) == rack
            and replica.broker_id in partition.isr.committed
            and replica.log_start_offset <= offset <= replica.log_end_offset
        ]
        if not in_rack:
            return THE_LEADER
        return max(in_rack, key=lambda replica: _how_caught_up(replica, leader_end)).broker_id


def _how_caught_up(replica: Replica, leader_end: int) -> tuple[int, int, int]:
    """Greater is nearer to the leader; the id decides between equals."""
    return replica.log_end_offset, replica.caught_up_as_of_ms(leader_end), replica.broker_id


def replica_selector(class_name: str | None, replica_racks: ReplicaRacks) -> RackAwareReplicaSelector | None:
    """The selector that `replica.selector.class` names; None when consumers read from the leader."""
    return RackAwareReplicaSelector(replica_racks) if class_name == RACK_AWARE_SELECTOR else None
