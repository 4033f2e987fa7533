"""`.snapshot` files: the producers of a partition as of the offset in the file's name.

Written when a segment is rolled and at a clean shutdown, so that a start reads one small file and
the batches behind it instead of the whole log.

| byte | field | type |
|---|---|---|
| 0 | version | int16: 1 |
| 2 | crc | uint32, CRC-32C of byte 6 to the end |
| 6 | count | int32 |
| 10 | entries of 46 bytes | see below |

An entry: producer id int64, epoch int16, last sequence int32, last offset int64, offset delta int32,
timestamp int64, coordinator epoch int32, first offset of the open transaction int64 (-1: none).

Only the last of a producer's five batches is kept. `00000000000000000050.snapshot` holds what all
batches below offset 50 say.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct

from crc32c import crc32c

from broker_core.kernel import events
from broker_core.kernel.storage import Buffer, Storage
from broker_core.log.errors import CorruptSnapshot
from broker_core.log.facts import Emit
from broker_core.log.producers import ProducedBatch, ProducerEntry, ProducerStateTable

VERSION = 1
SUFFIX = ".snapshot"
_HEADER = Struct(">hIi")
_ENTRY = Struct(">qhiqiqiq")
_CRC_FROM = 6


def encode_snapshot(table: ProducerStateTable) -> bytes:
    """The file's bytes, producers in ascending order of id."""
    body = b"".join(_encode_entry(table.entries[producer_id]) for producer_id in sorted(table.entries))
    count = len(table.entries).to_bytes(4, "big")
    return VERSION.to_bytes(2, "big") + crc32c(count + body).to_bytes(4, "big") + count + body


def _encode_entry(entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else ProducedBatch(-1, -1, 0, entry.last_timestamp)
    start = -1 if entry.transaction_start is None else entry.transaction_start
    return _ENTRY.pack(
        entry.producer_id, entry.epoch, last.last_sequence, last.last_offset, last.offset_delta,
        entry.last_timestamp, entry.coordinator_epoch, start,
    )  # fmt: skip


def decode_snapshot(data: Buffer) -> list[ProducerEntry]:
    """Raises CorruptSnapshot."""
    if len(data) < _HEADER.size:
        raise CorruptSnapshot(f"{len(data)} bytes are less than a header")
    version, crc, count = _HEADER.unpack_from(data)
    if version != VERSION:
        raise CorruptSnapshot(f"unknown version {version}")
    if crc32c(memoryview(data)[_CRC_FROM:]) != crc:
        raise CorruptSnapshot("checksum does not match")
    if len(data) != _HEADER.size + count * _ENTRY.size:
        raise CorruptSnapshot(f"{count} entries do not fill {len(data)} bytes")
    return [_decode_entry(fields) for fields in _ENTRY.iter_unpack(memoryview(data)[_HEADER.size :])]


def _decode_entry(fields: tuple[int, ...]) -> ProducerEntry:
    producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, start = fields
    entry = ProducerEntry(producer_id, epoch)
    if offset >= 0:
        entry.batches.append(ProducedBatch(sequence, offset, delta, timestamp))
    entry.last_timestamp = timestamp
    entry.coordinator_epoch = coordinator_epoch
    entry.transaction_start = None if start < 0 else start
    return entry


def snapshot_name(offset: int) -> str:
    return f"{offset:020d}{SUFFIX}"


def snapshot_offsets(storage: Storage, directory: str) -> list[int]:
    """Offsets of the snapshots in a directory, ascending."""
    names = [name for name in storage.list(directory) if name.endswith(SUFFIX)]
    return [int(name[: -len(SUFFIX)]) for name in names if name[: -len(SUFFIX)].isdigit()]


def write_snapshot(storage: Storage, directory: str, table: ProducerStateTable) -> None:
    """Write and flush the snapshot of the table's end offset, replacing one of the same name."""
    path = f"{directory}/{snapshot_name(table.map_end_offset)}"
    storage.delete(path)
    file = storage.open(path)
    file.append((encode_snapshot(table),))
    file.flush()
    file.close()


def remove_stray_snapshots(storage: Storage, directory: str, segment_bases: Sequence[int]) -> None:
    """Keep those at a segment's base and the newest one (of the last clean shutdown)."""
    for offset in snapshot_offsets(storage, directory)[:-1]:
        if offset not in segment_bases:
            storage.delete(f"{directory}/{snapshot_name(offset)}")


def remove_all_snapshots(storage: Storage, directory: str) -> None:
    for offset in snapshot_offsets(storage, directory):
        storage.delete(f"{directory}/{snapshot_name(offset)}")


def _read(storage: Storage, path: str) -> list[ProducerEntry]:
    file = storage.open(path)
    return decode_snapshot(file.read(0, file.size))


def read_latest_snapshot(storage: Storage, directory: str, table: ProducerStateTable, start: int, up_to: int) -> int:
    """As `load_latest_snapshot`, for a look at the past: nobody is forgotten, and no file is deleted."""
    table.clear(start)
    for offset in reversed([one for one in snapshot_offsets(storage, directory) if one <= up_to]):
        try:
            table.load(_read(storage, f"{directory}/{snapshot_name(offset)}"))
        except CorruptSnapshot:
            continue
        table.map_end_offset = offset
        return offset
    return start


def load_latest_snapshot(
    storage: Storage, directory: str, table: ProducerStateTable, start: int, up_to: int, emit: Emit,
    now_ms: int | None = None,
) -> int:  # fmt: skip
    """Fill `table` from the newest readable snapshot not above `up_to`; returns its offset, else `start`.

    Unreadable ones are deleted, and so are those above `up_to`: they speak of records that are gone.
    """
    table.clear(start)
    for offset in reversed(snapshot_offsets(storage, directory)):
        path = f"{directory}/{snapshot_name(offset)}"
        if offset > up_to:
            storage.delete(path)
            continue
        try:
            entries = _read(storage, path)
        except CorruptSnapshot as error:
            storage.delete(path)
            emit(events.FILE_GIVEN_UP, path=path, error=str(error), reaction="worked out from the log")
            continue
        table.load(
            entry for entry in entries
            if now_ms is None or entry.transaction_start is not None
            or now_ms - entry.last_timestamp < table.expiration_ms
        )  # fmt: skip
        table.map_end_offset = offset
        return offset
    return start
