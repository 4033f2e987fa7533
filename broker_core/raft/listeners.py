"""What a user of the quorum is told: committed records in order, a snapshot where it must begin anew, leaders.

| told | when |
|---|---|
| `handle_load_snapshot` | it has seen nothing yet and there is a snapshot, or what it needs next has gone |
| `handle_commit` | the high watermark has passed records that it has not seen |
| `handle_leader_change` | another leader or epoch; the leader is told once it has seen all before its epoch |

The last rule is what makes a new controller safe: when it hears that it leads, its memory is up to date.
Source: RaftClient.Listener, KafkaRaftClient.ListenerContext.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

from broker_core.records.control import Control, read_control
from broker_core.raft.metadata_log import MetadataLog
from broker_core.raft.snapshots import BOOTSTRAP, SnapshotReader
from broker_core.records.batch import decode_records
from broker_core.records.header import CONTROL, Batch

NOTHING_YET = -1


class LeaderAndEpoch(NamedTuple):
    """Who leads; None: nobody that is known."""

    leader_id: int | None
    epoch: int


class CommittedBatch(NamedTuple):
    """A batch below the high watermark: values of its records, or its control records. Sizes in bytes."""

    base_offset: int
    last_offset: int
    epoch: int
    append_time_ms: int
    size: int
    values: list[bytes]
    controls: list[Control]


Read = dict[int, list[CommittedBatch]]
"""First offset -> what is committed from there on: listeners that are equally far read and decode it once."""


class Listener(Protocol):
    """See the module; bound methods of a machine."""

    def handle_commit(self, batches: list[CommittedBatch]) -> None: ...

    def handle_load_snapshot(self, snapshot: SnapshotReader) -> None: ...

    def handle_leader_change(self, leader: LeaderAndEpoch) -> None: ...


class ListenerProgress:
    """One listener and the next offset that it has not seen (-1: nothing yet)."""

    __slots__ = ("listener", "next_offset", "told")

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        self.next_offset = NOTHING_YET
        self.told = LeaderAndEpoch(None, 0)

    def advance(self, log: MetadataLog, high_watermark: int, read: Read) -> None:
        """Hand over what is committed by now. `read`: what others have been handed, up to this high watermark."""
        if log.start_offset <= self.next_offset >= high_watermark:
            return  # it has all of it: so most of the calls
        if self.next_offset == NOTHING_YET or self.next_offset < log.start_offset:
            latest = log.latest_snapshot_id
            reader = log.open_snapshot(latest) if latest is not None else None
            if reader is not None and (self.next_offset < high_watermark or latest == BOOTSTRAP):
                self.listener.handle_load_snapshot(reader)
                self.next_offset = reader.id.end_offset
            elif self.next_offset == NOTHING_YET:
                self.next_offset = log.start_offset
        batches = read.get(self.next_offset)
        if batches is None:
            batches = [decoded(batch) for batch in log.batches(self.next_offset, high_watermark)]
            read[self.next_offset] = batches
        if batches:
            self.next_offset = batches[-1].last_offset + 1
            self.listener.handle_commit(batches)

    def tell_leader(self, leader: LeaderAndEpoch, from_offset: int) -> None:
        """`from_offset`: what it must have seen before it may hear of this leader."""
        if leader is not self.told and leader != self.told and self.next_offset >= from_offset:
            self.told = leader
            self.listener.handle_leader_change(leader)

    def has_all(self, leader: LeaderAndEpoch, high_watermark: int | None) -> bool:
        """Whether it knows of everything up to there, and who leads."""
        return self.told == leader and (high_watermark is None or self.next_offset >= high_watermark)


def decoded(batch: Batch) -> CommittedBatch:
    header = batch.header
    records = decode_records(batch)
    is_control = bool(header.attributes & CONTROL)
    return CommittedBatch(
        header.base_offset, header.base_offset + header.last_offset_delta, header.leader_epoch, header.max_timestamp,
        len(batch.data), [] if is_control else [record.value or b"" for record in records],
        [found for record in records if (found := read_control(record)) is not None] if is_control else [],
    )  # fmt: skip
