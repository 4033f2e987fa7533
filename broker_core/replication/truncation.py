"""Making a follower's log a prefix of its leader's before it fetches.

A log may end with records that were never committed and that the new leader does not have. How much
has to go was got wrong twice:

| cut down to                      | what goes                             | what went wrong                   |
|----------------------------------|---------------------------------------|-----------------------------------|
| the high watermark (before 0.11) | everything behind the own, late mark  | committed records (S1)            |
| the leader's end of the own      | what that epoch's leader did not      | nothing goes when two leaders     |
| last epoch (KIP-101)             | write                                 | follow each other quickly (S2)    |
| the end of the largest epoch     | just what differs                     |                                   |
| that both know (KIP-279)         |                                       |                                   |

Today (KIP-595) the follower asks nothing: it fetches and names the epoch of its last record, and the
leader answers with (epoch, end offset) where they diverge. Example, leader 0->0, 2->1, log end 2;
follower 1->0, log end 1:

    fetch from 1, last epoch 1         answer: diverging, the largest epoch not above 1 is 0, it ends at 1
    own largest epoch not above 0: none, its end is where the first begins: 0     -> cut to 0
    fetch from 0, no last epoch        records
"""

from __future__ import annotations

from broker_core.kernel.node import Node
from broker_core.log.partition_log import PartitionLog
from broker_core.replication.follower_state import FETCHING, TRUNCATING, FollowerState
from broker_core.replication.protections import Protections

UNDEFINED = -1


class Truncation:
    """The rule that is in force."""

    def __init__(self, node: Node, protections: Protections) -> None:
        self.node = node
        self.protections = protections

    def begin(self, state: FollowerState, check: bool) -> None:
        """Set the phase and offset in which a new state starts; `check` False: trust the own log."""
        log = state.partition.log
        latest = log.leader_epochs.latest_epoch
        state.phase = FETCHING
        if not check:
            pass
        elif not self.protections.truncate_by_leader_epoch or latest == UNDEFINED:
            log.truncate_to(log.high_watermark, "high watermark")
        elif self.protections.truncate_on_fetch:
            state.last_fetched_epoch = latest
        else:
            state.phase = TRUNCATING
        state.fetch_offset = log.log_end_offset

    def cut(self, state: FollowerState, epoch: int, end_offset: int) -> bool:
        """The leader's log of `epoch` ends at `end_offset`: cut ours; False when nothing changed."""
        log = state.partition.log
        before = (log.log_end_offset, log.leader_epochs.latest_epoch)
        offset = min(end_in_common(log, epoch, end_offset), log.log_end_offset)
        log.truncate_to(offset, "leader epoch")
        if self.protections.empty_epochs_truncate:
            log.leader_epochs.truncate_from_end(offset)
        state.fetch_offset = log.log_end_offset
        latest = log.leader_epochs.latest_epoch
        if self.protections.truncate_on_fetch:
            state.last_fetched_epoch = latest
        return before != (log.log_end_offset, latest)

    def finished(self, state: FollowerState, epoch: int) -> bool:
        """After an answer about `epoch`: whether both logs have it, or there is nothing left to compare."""
        latest = state.partition.log.leader_epochs.latest_epoch
        return epoch == UNDEFINED or latest in (UNDEFINED, epoch)


def end_in_common(log: PartitionLog, epoch: int, end_offset: int) -> int:
    """Up to where `log` agrees with one whose largest epoch that is not above ours, `epoch`, ends at `end_offset`."""
    if end_offset == UNDEFINED:
        return log.high_watermark
    if epoch == UNDEFINED:
        return end_offset
    own_epoch, own_end = log.leader_epochs.end_offset_for(epoch)
    if own_epoch == UNDEFINED:
        return end_offset
    return own_end if own_epoch != epoch else min(own_end, end_offset)
