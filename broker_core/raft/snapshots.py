"""Snapshots: all that the log says up to an offset, in one file, so that the log below it can go (KIP-630).

    00000000000000000120-0000000003.checkpoint    the state after offset 119, whose epoch is 3
    ....checkpoint.part                           being written or fetched; dropped at a start
    ....checkpoint.deleted                        on its way out
    00000000000000000000-0000000000.checkpoint    made by `format`: the first kraft.version, voters, features

Inside there are batches as in the log, with offsets of their own from 0: a control batch with the header (and
kraft.version and voters), the records, a control batch with the footer. A file without footer is not whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from broker_core.kernel.storage import Buffer, File, Storage
from broker_core.log.checkpoints import CorruptCheckpoint
from broker_core.raft.control_records import (
    control_batch,
    kraft_version,
    snapshot_footer,
    snapshot_header,
    voters_record,
)
from broker_core.raft.settings import MAX_BATCH_BYTES
from broker_core.raft.voters import VoterSet
from broker_core.records.batch import decode_records, encode_batch
from broker_core.records.control import SNAPSHOT_FOOTER, SNAPSHOT_HEADER, Control, read_control
from broker_core.records.errors import RecordsError
from broker_core.records.header import CONTROL, ensure_valid, iterate_batches

CHECKPOINT, PART, DELETED = ".checkpoint", ".part", ".deleted"
_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint(\.part|\.deleted)?")


class SnapshotId(NamedTuple):
    """End offset (the first that is not in it) and epoch of the last record in it. Ordered by epoch, then offset,
    as positions of a log are: `SnapshotId.position`."""

    end_offset: int
    epoch: int

    @property
    def position(self) -> tuple[int, int]:
        return self.epoch, self.end_offset

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}{CHECKPOINT}"


BOOTSTRAP = SnapshotId(0, 0)


def parse_name(name: str) -> tuple[SnapshotId, str] | None:
    """Id and suffix ("", ".part", ".deleted") of a file name; None when it is no snapshot's."""
    found = _NAME.fullmatch(name)
    return (SnapshotId(int(found[1]), int(found[2])), found[3] or "") if found else None


class RawSnapshot:
    """The bytes of a snapshot that is being written or fetched."""

    def __init__(self, storage: Storage, directory: str, snapshot_id: SnapshotId) -> None:
        self.storage = storage
        self.id = snapshot_id
        self.path = f"{directory}/{snapshot_id.file_name}"
        storage.delete(self.path + PART)
        self.file: File = storage.open(self.path + PART)

    @property
    def size(self) -> int:
        return self.file.size

    def append(self, data: Buffer) -> None:
        """Raises StorageError."""
        self.file.append([data])

    def freeze(self) -> None:
        """Bring it to stable storage under its name: from now on it counts."""
        self.file.flush()
        self.file.close()
        self.storage.rename(self.path + PART, self.path)

    def abandon(self) -> None:
        """It is not wanted any more."""
        self.file.close()
        self.storage.delete(self.path + PART)


class SnapshotWriter:
    """Fills a snapshot with records; header and footer come by themselves."""

    def __init__(
        self, raw: RawSnapshot, last_timestamp_ms: int, now_ms: int, version: int, voters: VoterSet | None
    ) -> None:
        self.raw = raw
        self.now_ms = now_ms
        self._offset = 0
        controls: list[Control] = [snapshot_header(last_timestamp_ms)]
        if version > 0 and voters is not None:
            controls += [kraft_version(version), voters_record(voters)]
        self._add(control_batch(controls, now_ms, raw.id.epoch), len(controls))

    def _add(self, batch: bytearray, count: int) -> None:
        batch[0:8] = self._offset.to_bytes(8, "big")
        self.raw.append(batch)
        self._offset += count

    def append(self, values: Sequence[bytes]) -> None:
        """Records, cut into batches that a reader takes."""
        pending: list[bytes] = []
        size = 0
        for value in values:
            if pending and size + len(value) > MAX_BATCH_BYTES // 2:
                self._write(pending)
                pending, size = [], 0
            pending.append(value)
            size += len(value) + 32
        if pending:
            self._write(pending)

    def _write(self, values: list[bytes]) -> None:
        records = [(self.now_ms, None, value, ()) for value in values]
        self._add(encode_batch(records, leader_epoch=self.raw.id.epoch), len(values))

    def freeze(self) -> None:
        """Close it with the footer."""
        self._add(control_batch([snapshot_footer()], self.now_ms, self.raw.id.epoch), 1)
        self.raw.freeze()


class SnapshotReader:
    """A whole snapshot. Its checksums are checked; raises CorruptRecordError."""

    def __init__(self, storage: Storage, directory: str, snapshot_id: SnapshotId) -> None:
        self.id = snapshot_id
        self.path = f"{directory}/{snapshot_id.file_name}"
        self.file = storage.open(self.path)

    @property
    def size(self) -> int:
        return self.file.size

    def read(self, position: int, size: int) -> memoryview:
        return self.file.read(position, size)

    def _batches(self) -> Iterator[tuple[bool, list[tuple[int, bytes]], list[Control]]]:
        for batch in iterate_batches(self.file.read(0, self.file.size)):
            ensure_valid(batch)
            records = decode_records(batch)
            if batch.header.attributes & CONTROL:
                yield True, [], [found for record in records if (found := read_control(record)) is not None]
            else:
                yield False, [(record.timestamp, record.value or b"") for record in records], []

    def check(self) -> None:
        """Whether it is whole, from header to footer. Raises CorruptCheckpoint, StorageError."""
        try:
            found = [kind for kind, _ in self.controls()]
        except (RecordsError, ValueError) as error:
            raise CorruptCheckpoint(self.path, str(error)) from None
        if found[:1] != [SNAPSHOT_HEADER] or found[-1:] != [SNAPSHOT_FOOTER]:
            raise CorruptCheckpoint(self.path, "no snapshot from header to footer")

    def controls(self) -> list[Control]:
        """Header, kraft.version, voters, footer."""
        return [control for _, _, controls in self._batches() for control in controls]

    def values(self) -> Iterator[bytes]:
        """The records, in order."""
        for _, records, _ in self._batches():
            for _, value in records:
                yield value

    @property
    def last_timestamp_ms(self) -> int:
        """Time of the newest batch of the log that it stands for."""
        _, header = self.controls()[0]
        return int(header.last_contained_log_timestamp)
