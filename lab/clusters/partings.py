"""Where the logs of a partition part from its leader's, and where they are the same again: for the snapshot.

    leader     epochs 0 from 0, 2 from 60       . . . . 60 2 2 2 2 2 2 2
    broker 3   epochs 0 from 0, 1 from 60       . . . . 60 1 1 1             forked 60
    broker 3   and 2 from 63                    . . . . 60 1 1 1 2 2 2 2     forked 60, joined 63

A record is what one leader epoch has written at one offset, so two logs have the same record there exactly if the same
epoch owns the offset in both (KIP-101). Messages of magic 0 and 1 have no epoch: of these nothing is said, nor of logs
in which a bit flip has changed one. While nobody leads, the log with the newest epoch is what the others are held
against: its broker led last.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from broker_core.log.partition_log import PartitionLog
from lab.checkers.lineage import Epochs, borders, owner_of
from lab.clusters.stopped import DiskLog

NO_EPOCH = -1
Log = PartitionLog | DiskLog
Shape = tuple[Epochs, int, int]
"""Epochs, start and end of a log."""


def _shape(log: Log) -> Shape:
    if isinstance(log, DiskLog):
        return tuple(log.epochs), log.start, log.leo
    return tuple(log.leader_epochs.entries), log.log_start_offset, log.log_end_offset


def parting(log: Shape, leader: Shape) -> dict[str, int]:
    """{"forked": offset, "joined": offset} of one log: from the one on it has other records than the leader, from the
    other on the same again. Without `joined` they differ to its end; {}: it has nothing that the leader has not."""
    (own, start, end), (theirs, their_start, their_end) = log, leader
    first, last = max(start, their_start), min(end, their_end)
    found: dict[str, int] = {"forked": their_end} if end > their_end else {}
    if first >= last or own == theirs:
        return found
    edges = sorted({first, *borders(own, first, last), *borders(theirs, first, last)})
    apart = [not _same(owner_of(own, at, NO_EPOCH), owner_of(theirs, at, NO_EPOCH)) for at in edges]
    if True not in apart:
        return found
    found["forked"] = edges[apart.index(True)]
    if not apart[-1]:
        found["joined"] = edges[len(apart) - apart[::-1].index(True)]
    return found


def _same(one: int, other: int) -> bool:
    return one == other or NO_EPOCH in (one, other)


def add_partings(
    topics: dict[str, Any], logs: dict[tuple[str, int, str], Log], false: Container[tuple[str, int]] = ()
) -> None:
    """Into the marks of a snapshot's topics; `logs`: those of the brokers by (topic, partition, broker).

    `false`: partitions whose logs do not know their epochs rightly.
    """
    for topic, found in topics.items():
        for number, partition in found["partitions"].items():
            held = {broker: _shape(logs[topic, int(number), broker]) for broker in partition["logs"]}
            if (topic, int(number)) in false:
                held = {broker: ((), start, end) for broker, (_, start, end) in held.items()}
            leader = held.get(str(partition["leader"])) or max(held.values(), key=_newest, default=None)
            for broker, log in held.items():
                if leader is not None and log != leader:
                    partition["logs"][broker] |= parting(log, leader)


def _newest(log: Shape) -> tuple[int, int]:
    epochs, _, end = log
    return (epochs[-1][0] if epochs else NO_EPOCH), end
