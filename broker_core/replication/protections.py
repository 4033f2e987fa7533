"""Protections of the replication protocol, each of which can be taken away to see what it prevents.

Every one was added to Kafka after data had been lost without it. With the default all are in place.

| protection                              | added by    | where it is consulted                         |
|-----------------------------------------|-------------|-----------------------------------------------|
| truncate_by_leader_epoch                | KIP-101     | `truncation.Truncation.begin`                 |
| epoch_end_offset_of_largest_not_above   | KIP-279     | `offsets.epoch_end_offset`, `truncation`      |
| fence_fetch_by_leader_epoch             | KIP-320     | `partition.Partition.check_leader_epoch`      |
| isr_expansion_waits_for_epoch_start     | KAFKA-7128  | `isr_changes.IsrChanges.maybe_expand`         |
| fence_follower_of_newer_epoch           | KIP-320     | `partition.Partition.check_leader_epoch`      |
| truncate_on_every_new_epoch             | KAFKA-7164  | `leadership.Leadership` (same leader, new epoch) |
| maximal_isr                             | KIP-497     | `isr.InSyncReplicas.propose`                  |
| isr_checks_broker_epoch                 | KIP-903     | `partition.Partition.follower_fetched`, AlterPartition |
| truncate_before_high_watermark          | KAFKA-14704 | `fetcher.Fetcher` (a diverging answer)        |
| empty_epochs_truncate                   | KAFKA-10706 | `truncation.Truncation.cut`                   |
| ignore_diverged_fetch_state             | KAFKA-13141 | `reading.Reader` (a follower that diverges)   |
| diverging_epoch_in_fetch                | KIP-595     | `reading.Reader`, `truncation`                |
| transactions_v2                         | KIP-890     | `broker.Broker.features`                      |

Without `diverging_epoch_in_fetch` a follower asks OffsetsForLeaderEpoch before it fetches, as before Kafka 2.7. Without
`transactions_v2` brokers of a KRaft cluster tell clients, and hold themselves, that `transaction.version` is 1; with
ZooKeeper there is nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Protections:
    """True = protected, as Kafka is."""

    truncate_by_leader_epoch: bool = True
    epoch_end_offset_of_largest_not_above: bool = True
    fence_fetch_by_leader_epoch: bool = True
    isr_expansion_waits_for_epoch_start: bool = True
    fence_follower_of_newer_epoch: bool = True
    truncate_on_every_new_epoch: bool = True
    maximal_isr: bool = True
    isr_checks_broker_epoch: bool = True
    truncate_before_high_watermark: bool = True
    empty_epochs_truncate: bool = True
    ignore_diverged_fetch_state: bool = True
    diverging_epoch_in_fetch: bool = True
    transactions_v2: bool = True

    @property
    def truncate_on_fetch(self) -> bool:
        """Whether followers find out where they diverge by fetching."""
        return self.diverging_epoch_in_fetch and self.epoch_end_offset_of_largest_not_above
