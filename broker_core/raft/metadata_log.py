"""`__cluster_metadata-0`: a partition's log as the quorum uses it, with the snapshots that stand for its beginning.

| question | answer |
|---|---|
| is a follower's (offset, epoch) a place of this log? | valid: go on · diverging: cut there · snapshot: fetch it |
| where does epoch e end here? | at the start of the next one; at the log end for the latest |
| what may go? | all below the newest snapshot but one that is old or large enough |

Log positions compare by (epoch, offset): a log that ends at (3, 10) is newer than one that ends at (2, 50).
Source: KafkaMetadataLog, ReplicatedLog.validateOffsetAndEpoch (KIP-595, KIP-630).
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.kernel.node import Node
from broker_core.kernel.storage import Buffer
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.log.segment import LogRead
from broker_core.raft.settings import MAX_BATCH_BYTES, MOST_READ_BYTES, QuorumSettings
from broker_core.raft.snapshots import (
    DELETED,
    RawSnapshot,
    SnapshotId,
    SnapshotReader,
    parse_name,
)
from broker_core.records.header import Batch, iterate_batches
from broker_core.records.validate import COORDINATOR

TOPIC = "__cluster_metadata"
PARTITION = 0
TOPIC_ID = uuid.UUID(int=1)
VALID, DIVERGING, SNAPSHOT = "valid", "diverging", "snapshot"


class Place(NamedTuple):
    """Whether a follower's position is one of this log, and if not, where it should go on."""

    kind: str
    offset: int
    epoch: int


class MetadataLog:
    """See the module. `snapshots` are ordered by position; the log starts at 0 or at the offset of one of them.

    A file that cannot be read raises CorruptCheckpoint: what the quorum has decided cannot be guessed, and another
    replica has it.
    """

    def __init__(self, node: Node, log_dir: str, settings: QuorumSettings) -> None:
        self.node = node
        self.storage = node.storage
        self.directory = f"{log_dir}/{TOPIC}-{PARTITION}"
        self.settings = settings
        config = LogConfig(
            segment_bytes=settings.segment_bytes, segment_ms=settings.segment_ms, max_message_bytes=MAX_BATCH_BYTES,
            retention_ms=-1, retention_bytes=-1,
        )  # fmt: skip
        start = self._first_offset_on_disk()
        self.log = PartitionLog(
            node.storage, self.directory, TOPIC, PARTITION, config, node.wall_ms(), emit=node.emit,
            topic_id=TOPIC_ID, log_start_offset=start,
        )  # fmt: skip
        self.snapshots: list[SnapshotId] = []
        self._find_snapshots()
        self.truncate_to_latest_snapshot()

    def _first_offset_on_disk(self) -> int:
        """A snapshot's end where the log below it has gone; the first segment says where."""
        names = self.storage.list(self.directory)
        return min((int(name[:20]) for name in names if name.endswith(".log") and name[:20].isdigit()), default=0)

    def _find_snapshots(self) -> None:
        found = []
        for name in self.storage.list(self.directory):
            parsed = parse_name(name)
            if parsed is None:
                continue
            if parsed[1] or parsed[0].end_offset < self.start_offset:
                self.storage.delete(f"{self.directory}/{name}")
            else:
                SnapshotReader(self.storage, self.directory, parsed[0]).check()
                found.append(parsed[0])
        self.snapshots = sorted(found, key=lambda one: one.position)

    # -- facts ------------------------------------------------------------------------------------
    @property
    def start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def end_offset(self) -> int:
        return self.log.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self.log.high_watermark

    @property
    def last_epoch(self) -> int:
        """Epoch of the last record; of the snapshot that the empty log stands on; 0 at the very beginning."""
        if self.log.leader_epochs.latest_epoch >= 0:
            return self.log.leader_epochs.latest_epoch
        return self.snapshots[-1].epoch if self.snapshots else 0

    @property
    def position(self) -> tuple[int, int]:
        """(epoch of the last record, log end): compares how much two logs know."""
        return self.last_epoch, self.end_offset

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        """(largest epoch here that is not above `epoch`, its end offset)."""
        found, end = self.log.leader_epochs.end_offset_for(epoch)
        if end < 0:
            return self.last_epoch, self.end_offset
        if self.snapshots and self.snapshots[0].end_offset == end and found == epoch:
            return self.snapshots[0].epoch, end
        return found, end

    def place_of(self, offset: int, epoch: int) -> Place:
        """Whether a log that ends at `offset`, the record before it of `epoch`, is a beginning of this one."""
        if self.start_offset == 0 and offset == 0 and epoch == 0:
            return Place(VALID, 0, 0)
        first = self.snapshots[0] if self.snapshots else None
        if first is not None and (offset, epoch) == first:
            return Place(VALID, offset, epoch) if offset >= self.start_offset else self._latest_snapshot()
        if first is not None and (offset < self.start_offset or epoch < first.epoch):
            return self._latest_snapshot()
        end_epoch, end = self.end_of_epoch(epoch)
        if end_epoch != epoch or end < offset:
            return Place(DIVERGING, end, end_epoch)
        return Place(VALID, offset, epoch)

    def _latest_snapshot(self) -> Place:
        return Place(SNAPSHOT, *self.snapshots[-1])

    # -- records ----------------------------------------------------------------------------------
    def append_as_leader(self, batch: bytearray, epoch: int) -> tuple[int, int]:
        """First and last offset. Raises StorageError."""
        info = self.log.append_as_leader(batch, epoch, self.node.wall_ms(), origin=COORDINATOR)
        return info.first_offset, info.last_offset

    def append_as_follower(self, records: Buffer | Sequence[Buffer]) -> tuple[int, int]:
        """First and last offset. Raises RecordsError, OffsetsNotMonotonic, StorageError."""
        info = self.log.append_as_follower(records, self.node.wall_ms())
        return info.first_offset, info.last_offset

    def begin_epoch(self, epoch: int) -> None:
        """A leader's first record will stand at the log end."""
        self.log.leader_epochs.assign(epoch, self.end_offset)

    def flush(self) -> None:
        self.log.flush(self.node.wall_ms())

    def read(self, offset: int, most_bytes: int) -> LogRead:
        """Batches from `offset` to the end, as a follower fetches them: one at least."""
        return self.log.read(offset, most_bytes, self.end_offset)

    def batches(self, start: int, end: int) -> Iterator[Batch]:
        """Batches with start <= base offset < end."""
        while start < end:
            found = self.log.read(start, MOST_READ_BYTES, end)
            if not found.size:
                return
            for part in found.slices:
                for batch in iterate_batches(part.read()):
                    if batch.header.base_offset >= end:
                        return
                    if batch.header.base_offset >= start:
                        yield batch
                    start = batch.header.base_offset + batch.header.last_offset_delta + 1

    def update_high_watermark(self, offset: int) -> None:
        self.log.update_high_watermark(offset)

    def truncate_to_end_of(self, epoch: int, offset: int) -> int:
        """Cut what the leader does not have: to the end of `epoch` here, at most `offset`. Returns the new end.

        Never below the high watermark: ValueError, since that would lose what is committed.
        """
        found, end = self.end_of_epoch(epoch)
        target = min(end, offset) if found == epoch else end
        if target < self.high_watermark:
            raise ValueError(f"truncation to {target}, below the high watermark {self.high_watermark}")
        self.log.truncate_to(target, "leader epoch")
        return target

    # -- snapshots --------------------------------------------------------------------------------
    @property
    def latest_snapshot_id(self) -> SnapshotId | None:
        return self.snapshots[-1] if self.snapshots else None

    def open_snapshot(self, snapshot_id: SnapshotId) -> SnapshotReader | None:
        """None when there is none of this id."""
        if snapshot_id not in self.snapshots:
            return None
        return SnapshotReader(self.storage, self.directory, snapshot_id)

    def new_snapshot(self, snapshot_id: SnapshotId) -> RawSnapshot | None:
        """A place to write it; None when it is there already. `keep` it when it is frozen."""
        if snapshot_id in self.snapshots:
            return None
        return RawSnapshot(self.storage, self.directory, snapshot_id)

    def keep(self, snapshot_id: SnapshotId) -> None:
        """A snapshot is whole."""
        self.snapshots = sorted([*self.snapshots, snapshot_id], key=lambda one: one.position)

    def truncate_to_latest_snapshot(self) -> bool:
        """Where the newest snapshot knows more than the log, the log is emptied and begins at its end."""
        latest = self.latest_snapshot_id
        if latest is None or latest.position <= (max(self.log.leader_epochs.latest_epoch, 0), self.end_offset):
            return False
        self.log.truncate_fully_and_start_at(latest.end_offset, "snapshot")
        self.log.leader_epochs.clear()
        self._forget_before(latest)
        return True

    def clean(self) -> bool:
        """Drop the oldest snapshot, and the log below the next, while they are too old or too much together."""
        cleaned = False
        while len(self.snapshots) > 1 and self._is_due(self.snapshots[0]):
            if not self._delete_before(self.snapshots[1]):
                break
            cleaned = True
        return cleaned

    def _is_due(self, snapshot_id: SnapshotId) -> bool:
        settings = self.settings
        oldest = SnapshotReader(self.storage, self.directory, snapshot_id)
        if 0 <= settings.max_retention_ms < self.node.wall_ms() - oldest.last_timestamp_ms:
            return True
        size = sum(SnapshotReader(self.storage, self.directory, one).size for one in self.snapshots)
        return 0 <= settings.max_retention_bytes < size + self.log.size_bytes

    def _delete_before(self, snapshot_id: SnapshotId) -> bool:
        if snapshot_id.end_offset > self.high_watermark:
            return False
        self.log.delete_records_before(snapshot_id.end_offset, "snapshot")
        self.log.delete_old_segments(self.node.wall_ms())
        self._forget_before(snapshot_id)
        return True

    def _forget_before(self, snapshot_id: SnapshotId) -> None:
        gone = [one for one in self.snapshots if one.position < snapshot_id.position]
        self.snapshots = [one for one in self.snapshots if one.position >= snapshot_id.position]
        for one in gone:
            path = f"{self.directory}/{one.file_name}"
            self.storage.rename(path, path + DELETED)
        if gone:
            self.node.after(self.log.config.file_delete_delay_ms * 1000, self._delete_files, gone)

    def _delete_files(self, gone: list[SnapshotId]) -> None:
        for one in gone:
            self.storage.delete(f"{self.directory}/{one.file_name}{DELETED}")
        self.log.delete_expired_files(self.node.wall_ms())

    def close(self) -> None:
        self.log.close()
