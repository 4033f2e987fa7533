"""One batch under the microscope: its bytes, its fields, and how the index found it.

    which segment   the last one whose base offset is not above the wanted offset
    which entry     binary search in its `.index`: the last entry not above the offset
    which batch     from that entry's position on, header by header, the first that ends at or behind the offset

The search takes Kafka's own steps (AbstractIndex): first the *warm* section, the last 8 KiB of the index, which
readers at the end of a log keep in the page cache; only when the wanted offset lies before it, the rest.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.errors import Refusal, StorageError
from broker_core.kernel.names import broker_node
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.log.offset_index import ENTRY_SIZE
from broker_core.log.partition_log import PartitionLog
from broker_core.log.scan import headers_from
from broker_core.log.segment import LogSegment
from broker_core.records.annotate import annotate
from broker_core.records.batch import decode_records, offsets_of
from broker_core.records.compression import NAMES
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, BatchHeader, ensure_valid
from broker_core.records.record import Record
from lab.checkers.bytes_meanings import meaning

WARM_ENTRIES = 8192 // ENTRY_SIZE
AROUND = 4
SHOWN_BYTES = 64 * 1024
SHOWN_RECORDS = 500
SHOWN_FIELDS = 4000


class NothingThere(Refusal):
    """There is no such replica, or nothing at that offset."""


def look_up(world: World, topic: str, partition: int, offset: int, broker: int) -> dict[str, Any]:
    """Everything about the batch that holds `offset` in the replica of `broker`, as plain data.

    Raises NothingThere.
    """
    log, where = find_log(world, topic, partition, broker), f"{topic}-{partition}"
    if not log.log_start_offset <= offset < log.log_end_offset:
        begin, end = log.log_start_offset, log.log_end_offset
        held = {"begin": begin, "end": end - 1}
        raise NothingThere(problem("offset_elsewhere", partition=where, broker=broker, offset=offset, **held))
    segment = log.segments[log.segment_of(offset)]
    try:
        search, scan = search_index(segment, offset), scan_from(segment, offset)
        if not scan:
            raise NothingThere(problem("no_batch", partition=where, broker=broker, offset=offset))
        position, header = scan[-1]
        batch = Batch(header, bytes(segment.log.read(position, header.size)), position)
    except (StorageError, RecordsError) as error:
        raise NothingThere(problem("unreadable", partition=where, broker=broker, why=str(error))) from None
    return {
        "topic": topic, "partition": partition, "broker": broker, "offset": offset,
        "log_start_offset": log.log_start_offset, "high_watermark": log.high_watermark,
        "log_end_offset": log.log_end_offset, "segment": _segment(log, segment, position), "search": search,
        "scan": [_scanned(at, one) for at, one in scan], "batch": _batch(batch), "records": _records(batch),
    }  # fmt: skip


def find_log(world: World, topic: str, partition: int, broker: int) -> PartitionLog:
    """A replica's log; raises NothingThere."""
    node = world.nodes.get(broker_node(broker))
    machine: Any = node.machine if node is not None else None
    if machine is None:
        raise NothingThere(problem("broker_down", broker=broker))
    found = machine.partitions.get((topic, partition))
    if found is None or found.log is None:
        raise NothingThere(problem("no_replica", broker=broker, partition=f"{topic}-{partition}"))
    log: PartitionLog = found.log
    return log


# -- the search -----------------------------------------------------------------------------
def search_index(segment: LogSegment, offset: int) -> dict[str, Any]:
    """The binary search through a segment's offset index: which entries were compared, and what came out.

    Each step: {"low", "high", "slot", "offset", "position", "is": "above" | "equal" | "below"} (the entry against
    the wanted offset); `section` is warm or cold. `found` is None when every entry is above: scan from byte 0.
    """
    entries = segment.index.entries()
    steps: list[dict[str, Any]] = []
    slot, section = -1, "warm"
    if entries:
        hot = max(0, len(entries) - 1 - WARM_ENTRIES)
        if _compared(steps, entries, hot, hot, len(entries) - 1, offset) != "above":
            slot = _bisect(steps, entries, hot, len(entries) - 1, offset)
        elif hot > 0:
            section = "cold"
            if _compared(steps, entries, 0, 0, hot, offset) != "above":
                slot = _bisect(steps, entries, 0, hot, offset)
    near = range(max(0, slot - AROUND), min(len(entries), slot + AROUND + 1))
    return {
        "file": _name(segment.index.file.path), "entries": len(entries), "entry_size": ENTRY_SIZE,
        "section": section, "steps": steps, "found": _entry(entries, slot) if slot >= 0 else None,
        "around": [_entry(entries, one) for one in near], "position": entries[slot][1] if slot >= 0 else 0,
    }  # fmt: skip


def _bisect(steps: list[dict[str, Any]], entries: list[tuple[int, int]], low: int, high: int, offset: int) -> int:
    while low < high:
        middle = (low + high + 1) >> 1
        compared = _compared(steps, entries, middle, low, high, offset)
        if compared == "equal":
            return middle
        low, high = (low, middle - 1) if compared == "above" else (middle, high)
    return low


def _compared(
    steps: list[dict[str, Any]], entries: list[tuple[int, int]], slot: int, low: int, high: int, offset: int
) -> str:
    at = entries[slot][0]
    result = "above" if at > offset else "equal" if at == offset else "below"
    steps.append({"low": low, "high": high, **_entry(entries, slot), "is": result})
    return result


def _entry(entries: list[tuple[int, int]], slot: int) -> dict[str, int]:
    offset, position = entries[slot]
    return {"slot": slot, "offset": offset, "position": position, "byte": slot * ENTRY_SIZE}


def scan_from(segment: LogSegment, offset: int) -> list[tuple[int, BatchHeader]]:
    """Headers that are read on the way from the entry's position to the batch, which is the last of them."""
    start = segment.index.lookup(offset)[1]
    passed: list[tuple[int, BatchHeader]] = []
    for at, header in headers_from(segment.log, start, segment.log.size):
        passed.append((at, header))
        if header.last_offset >= offset:
            return passed
    return []


def _scanned(position: int, header: BatchHeader) -> dict[str, int]:
    return {
        "position": position, "size": header.size, "base_offset": header.base_offset, "last_offset": header.last_offset,
    }  # fmt: skip


# -- the batch ------------------------------------------------------------------------------
def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _segment(log: PartitionLog, segment: LogSegment, position: int) -> dict[str, Any]:
    return {
        "file": _name(segment.log.path), "directory": log.directory, "base_offset": segment.base_offset,
        "position": position, "size": segment.log.size, "active": segment is log.active,
        "segments": [one.base_offset for one in log.segments], "flushed_to": log.recovery_point,
    }  # fmt: skip


def _batch(batch: Batch) -> dict[str, Any]:
    header, data = batch.header, bytes(batch.data)
    first, _ = offsets_of(batch)
    try:
        ensure_valid(batch)
        valid = True
    except RecordsError:
        valid = False
    codec = NAMES[header.compression] if header.compression < len(NAMES) else "unknown"
    return {
        "position": batch.position, "size": len(data), "magic": header.magic, "base_offset": first,
        "last_offset": header.last_offset, "leader_epoch": header.leader_epoch, "compression": codec,
        "crc_valid": valid, "hex": data[:SHOWN_BYTES].hex(), "cut": len(data) > SHOWN_BYTES,
        "fields": _fields(data, header.magic),
    }  # fmt: skip


def _fields(data: bytes, magic: int) -> list[dict[str, Any]]:
    """Each field: {"name", "offset" (in the batch), "size", "value", "en", "ko"}."""
    try:
        found = annotate(data)
    except (RecordsError, IndexError, ValueError):
        return []
    fields = []
    for one in found[:SHOWN_FIELDS]:
        english, korean = meaning(one.name, magic)
        size = one.end - one.start
        fields.append(
            {"name": one.name, "offset": one.start, "size": size, "value": one.value, "en": english, "ko": korean}
        )
    return fields


def _records(batch: Batch) -> list[dict[str, Any]]:
    try:
        return [_record(record) for record in decode_records(batch)[:SHOWN_RECORDS]]
    except RecordsError:
        return []


def _record(record: Record) -> dict[str, Any]:
    return {
        "offset": record.offset, "timestamp": record.timestamp, "key": _text(record.key), "value": _text(record.value),
        "headers": [[name, _text(content)] for name, content in record.headers],
    }  # fmt: skip


def _text(content: Any) -> str | None:
    return None if content is None else bytes(content).decode("utf-8", "replace")
