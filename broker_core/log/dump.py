"""A look into the files of a log: the lines of Apache Kafka's DumpLogSegments, or JSON.

    baseOffset: 0 lastOffset: 1 count: 2 baseSequence: -1 ... position: 0 CreateTime: 17 size: 99 magic: 2
    compresscodec: zstd crc: 2601723091 isvalid: true
    | offset: 0 CreateTime: 17 keySize: 1 valueSize: 5 sequence: -1 headerKeys: [] key: k payload: hello

Each batch is one line; `deep` decodes it and prints each record behind a bar. The text is Kafka's
letter for letter, so that two dumps can be compared with `diff`; the JSON form has one object
a line, with the same facts under the same names.

| file | a line |
|---|---|
| `.log` | as above |
| `.checkpoint` | as above: a snapshot of `__cluster_metadata` |
| `.index` | `offset: 55 position: 4200` |
| `.timeindex` | `timestamp: 1700000000000 offset: 55` |
| `.txnindex` | `version: 0 producerId: 7 firstOffset: 40 lastOffset: 47 lastStableOffset: 48` |
| `.snapshot` | `producerId: 7 producerEpoch: 0 coordinatorEpoch: -1 ... lastSequence: 4 lastOffset: 4` |
| `leader-epoch-checkpoint` | `epoch: 3 startOffset: 120` (Kafka's tool does not read this one) |
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import PurePath
from typing import Any

from broker_core.kernel.storage import File
from broker_core.log import offset_index, time_index, transaction_index
from broker_core.log.errors import CorruptIndex, CorruptSnapshot
from broker_core.log.offset_index import OffsetIndex
from broker_core.log.plain_files import PlainFile
from broker_core.log.producer_snapshot import decode_snapshot
from broker_core.log.producers import LARGEST_SEQUENCE, ProducerEntry
from broker_core.log.scan import batches_from
from broker_core.log.time_index import TimeIndex
from broker_core.log.verify import verify_index
from broker_core.records import control
from broker_core.records.annotate import Field, annotate
from broker_core.records.batch import decode_records
from broker_core.records.compression import NAMES
from broker_core.records.errors import RecordsError
from broker_core.records.header import DELETE_HORIZON, Batch, is_valid, legacy_crc
from broker_core.records.legacy import encode_message
from broker_core.records.record import Record
from broker_core.wire.as_json import as_json

Line = dict[str, Any]
Decoder = Callable[[Record], str | dict[str, str]]
"""A record's payload as text, or its key, too."""
_CONTROLS = {
    control.LEADER_CHANGE: "LeaderChange", control.SNAPSHOT_HEADER: "SnapshotHeader",
    control.SNAPSHOT_FOOTER: "SnapshotFooter", control.KRAFT_VERSION: "KRaftVersion",
    control.KRAFT_VOTERS: "KRaftVoters",
}  # fmt: skip
_BARE = ("SnapshotHeader", "SnapshotFooter", "KRaftVersion", "KRaftVoters")  # Kafka prints these without a colon
_EPOCHS = "leader-epoch-checkpoint"
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint")
_HEX_BYTES = 16
INDEXES = (".index", ".timeindex")


def dump(file: File, deep: bool = False, as_json: bool = False, decode: Decoder | None = None) -> Iterator[str]:
    """The lines for one file, chosen by its suffix. Damage is reported as a line, not raised.

    `decode` makes the text of a record's value.
    """
    path = PurePath(file.path)
    render = json.dumps if as_json else _text
    if not as_json:
        yield f"Dumping {file.path}"
    for line in _lines(file, path, deep, as_json, decode):
        yield render(line)


def dump_files(
    paths: list[str], deep: bool, as_json: bool, annotated: bool = False, decode: Decoder | None = None
) -> Iterator[str]:
    """The lines of `dump` (or `hex_view`) for each path. Raises OSError for a path that cannot be read."""
    for path in paths:
        file = PlainFile(path)
        try:
            yield from hex_view(file, as_json) if annotated else dump(file, deep, as_json, decode)
        finally:
            file.close()


def hex_view(file: File, as_json: bool = False) -> Iterator[str]:
    """Each byte of a `.log` with its field: `position  bytes  field: value`. Damage is a line, not raised.

    JSON has one object a field, with all of its bytes; text shows the first 16.
    """
    end = 0
    try:
        for batch in batches_from(file, 0, file.size):
            end = batch.position + batch.header.size
            if not as_json:
                header = batch.header
                yield f"batch at byte {batch.position}, offsets {header.base_offset}..{header.last_offset}"
            yield from _hex_fields(batch, as_json)
    except RecordsError as error:
        yield _note(f"{file.path} byte {end}: {error.reason}", as_json)
    if end < file.size:
        yield _note(_invalid_bytes(file, end), as_json)


def _hex_fields(batch: Batch, as_json: bool) -> Iterator[str]:
    data = bytes(batch.data)
    try:
        fields = annotate(data)
    except (RecordsError, IndexError) as error:
        # A length inside points behind the batch: only the batch as a whole can be shown.
        fields = [Field(0, len(data), "damaged batch", str(error))]
    for field in fields:
        content = data[field.start : field.end]
        at = batch.position + field.start
        if as_json:
            yield json.dumps({"position": at, "bytes": content.hex(), "field": field.name, "value": field.value})
            continue
        shown = content[:_HEX_BYTES].hex(" ") + (" .." if len(content) > _HEX_BYTES else "")
        yield f"{at:8}  {shown:<50}  {field.name}: {field.value}"


def _note(text: str, as_json: bool) -> str:
    return json.dumps({"note": text}) if as_json else text


def _invalid_bytes(file: File, end: int) -> str:
    return f"Found {file.size - end} invalid bytes at the end of {PurePath(file.path).name}"


def verify_files(path: str) -> list[str]:
    """What is wrong with an index, seen from the `.log` beside it; [] when every entry is true. Raises OSError.

    `path` is an `.index`, a `.timeindex`, or a `.log`: both of its indexes.
    """
    stem, suffix = path.removesuffix(PurePath(path).suffix), PurePath(path).suffix
    with ExitStack() as files:
        log = files.enter_context(closing(PlainFile(stem + ".log")))
        faults: list[str] = []
        for index in _indexes(path, files, (suffix,) if suffix != ".log" else INDEXES):
            _cut_zeros(index)
            faults += _shape(index) or verify_index(log, index)
        return faults


def check_shape(path: str) -> list[str]:
    """What is wrong with an index by itself, as Kafka looks at it when it starts. Raises OSError."""
    with ExitStack() as files:
        (index,) = _indexes(path, files, (PurePath(path).suffix,))
        return _shape(index)


def _indexes(path: str, files: ExitStack, suffixes: tuple[str, ...]) -> Iterator[OffsetIndex | TimeIndex]:
    """Indexes whose size is that of their file."""
    base = _base_offset(PurePath(path))
    for suffix in suffixes:
        file = files.enter_context(closing(PlainFile(path.removesuffix(PurePath(path).suffix) + suffix)))
        yield (OffsetIndex if suffix == ".index" else TimeIndex)(file, base, file.size)


def _cut_zeros(index: OffsetIndex | TimeIndex) -> None:
    """A running Kafka keeps zeros behind the last entry."""
    size = offset_index.ENTRY_SIZE if isinstance(index, OffsetIndex) else time_index.ENTRY_SIZE
    file = index.file
    data = bytes(file.read(0, file.size))
    if file.size % size == 0:
        file.size = -(-len(data.rstrip(b"\0")) // size) * size


def _shape(index: OffsetIndex | TimeIndex) -> list[str]:
    try:
        index.sanity_check()
    except CorruptIndex as error:
        return [str(error)]
    return []


def _lines(file: File, path: PurePath, deep: bool, as_json: bool, decode: Decoder | None) -> Iterator[Line]:
    if path.suffix in (".log", ".checkpoint"):
        return _log_lines(file, _base_offset(path), deep, as_json, decode)
    if path.suffix == ".index":
        return _index_lines(file, _base_offset(path))
    if path.suffix == ".timeindex":
        return _time_index_lines(file, _base_offset(path))
    if path.suffix == ".txnindex":
        return _transaction_lines(file)
    if path.suffix == ".snapshot":
        return _snapshot_lines(file)
    if path.name == _EPOCHS:
        return _epoch_lines(file)
    return iter([{"note": f"Ignoring unknown file {file.path}"}])


def _base_offset(path: PurePath) -> int:
    stem = path.name.split(".", 1)[0]
    return int(stem) if stem.isdigit() else 0


def _text(line: Line) -> str:
    """`name: value` pairs; a note stands alone. The brace behind an old message's CRC is Kafka's own."""
    if "note" in line:
        return str(line["note"])
    prefix = "| " if "record" in line else ""
    pairs = [(f"{name} " if name in _BARE else f"{name}: ") + _value(value) for name, value in line.items()
             if name != "record"]  # fmt: skip
    text = prefix + " ".join(pairs)
    return text.replace(f"crc: {line['crc']}", f"crc: {line['crc']}}}") if "record" in line and "crc" in line else text


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"[{','.join(value)}]" if isinstance(value, list) else str(value)


# --- .log --------------------------------------------------------------------------------------


def _log_lines(
    file: File, base_offset: int, deep: bool, as_json: bool, decode: Decoder | None
) -> Iterator[Line]:
    if not as_json:
        snapshot = _SNAPSHOT.fullmatch(PurePath(file.path).name)
        head = f"Snapshot end offset: {int(snapshot[1])}, epoch: {int(snapshot[2])}" if snapshot else None
        yield {"note": head or f"Log starting offset: {base_offset}"}
    end = 0
    try:
        for batch in batches_from(file, 0, file.size):
            yield from _lines_of(batch, deep, decode)
            end = batch.position + batch.header.size
    except RecordsError as error:
        yield {"note": f"{file.path} byte {end}: {error}"}
    if end < file.size:
        yield {"note": _invalid_bytes(file, end)}


def batch_lines(batch: Batch) -> Iterator[str]:
    """The text of one batch of a `.log` and of its records."""
    return map(_text, _lines_of(batch, True, None))


def _lines_of(batch: Batch, deep: bool, decode: Decoder | None) -> Iterator[Line]:
    yield _batch_line(batch)
    if deep:
        yield from _record_lines(batch, decode)


def _batch_line(batch: Batch) -> Line:
    header = batch.header
    line: Line = {}
    if header.magic < 2:
        line["offset"] = header.base_offset
    else:
        horizon = header.attributes & DELETE_HORIZON
        line |= {
            "baseOffset": header.base_offset, "lastOffset": header.last_offset, "count": header.record_count,
            "baseSequence": header.base_sequence, "lastSequence": header.last_sequence,
            "producerId": header.producer_id, "producerEpoch": header.producer_epoch,
            "partitionLeaderEpoch": header.leader_epoch, "isTransactional": header.is_transactional,
            "isControl": header.is_control,
            "deleteHorizonMs": f"OptionalLong[{header.base_timestamp}]" if horizon else "OptionalLong.empty",
        }  # fmt: skip
    codec = NAMES[header.compression] if header.compression < len(NAMES) else f"unknown({header.compression})"
    return line | {
        "position": batch.position, _time_name(batch): header.max_timestamp, "size": header.size,
        "magic": header.magic, "compresscodec": codec, "crc": header.crc, "isvalid": is_valid(batch),
    }  # fmt: skip


def _time_name(batch: Batch) -> str:
    if batch.header.magic == 0:
        return "NoTimestampType"
    return "LogAppendTime" if batch.header.is_log_append_time else "CreateTime"


def _record_lines(batch: Batch, decode: Decoder | None) -> Iterator[Line]:
    header = batch.header
    try:
        records = decode_records(batch)
    except RecordsError as error:
        yield {"note": f"| {type(error).__name__}: {error}"}
        return
    for index, record in enumerate(records):
        line: Line = {
            "record": True, "offset": record.offset, _time_name(batch): record.timestamp,
            "keySize": -1 if record.key is None else len(record.key),
            "valueSize": -1 if record.value is None else len(record.value),
        }  # fmt: skip
        if header.magic < 2:
            line |= {"isValid": True, "crc": _message_crc(batch, record, records)}
        else:
            sequence = header.base_sequence + index & LARGEST_SEQUENCE if header.base_sequence >= 0 else -1
            line |= {"sequence": sequence, "headerKeys": [name for name, _ in record.headers]}
        yield line | (_control_facts(record) if header.is_control else _contents(record, decode))


def _message_crc(batch: Batch, record: Record, records: list[Record]) -> int:
    """Checksum of the message itself: of one inside a wrapper, as it stands there."""
    if not batch.header.compression:
        return legacy_crc(batch.data)
    relative = record.offset - records[0].offset if batch.header.magic == 1 else record.offset
    attributes = batch.header.attributes & 8
    message = encode_message(batch.header.magic, relative, record.timestamp, record.key, record.value, attributes)
    return legacy_crc(message)


def _contents(record: Record, decode: Decoder | None) -> Line:
    found = decode(record) if decode is not None and (record.value is not None or record.key is not None) else None
    if isinstance(found, dict):
        return found
    line: Line = {}
    if record.key is not None:
        line["key"] = record.key.decode("utf-8", "replace")
    if record.value is not None:
        line["payload"] = found if found is not None else record.value.decode("utf-8", "replace")
    return line


def _control_facts(record: Record) -> Line:
    kind = control.control_type(record)
    if kind in (control.ABORT, control.COMMIT):
        marker = control.end_transaction_marker(record)
        return {"endTxnMarker": control.NAMES[kind], "coordinatorEpoch": marker.coordinator_epoch}
    found = control.read_control(record)
    if found is None:
        return {"controlType": f"UNKNOWN({kind})"}
    message = found[1]
    text = json.dumps(as_json(message, min(message.version, message.TYPE.versions[-1])), separators=(",", ":"))
    return {_CONTROLS[kind]: text}


# --- the small files ---------------------------------------------------------------------------


def _index_lines(file: File, base_offset: int) -> Iterator[Line]:
    """Stops at the zeros that a running Kafka keeps behind the last entry."""
    size = file.size - file.size % offset_index.ENTRY_SIZE
    if size == 0:
        yield {"note": f"{file.path} is empty."}
    for index, (relative, position) in enumerate(offset_index.ENTRY.iter_unpack(file.read(0, size))):
        if relative == 0 and index:
            return
        yield {"offset": base_offset + relative, "position": position}


def _time_index_lines(file: File, base_offset: int) -> Iterator[Line]:
    size = file.size - file.size % time_index.ENTRY_SIZE
    for index, (timestamp, relative) in enumerate(time_index.ENTRY.iter_unpack(file.read(0, size))):
        if relative == 0 and index:
            return
        yield {"timestamp": timestamp, "offset": base_offset + relative}


def _transaction_lines(file: File) -> Iterator[Line]:
    size = file.size - file.size % transaction_index.ENTRY_SIZE
    for version, producer_id, first, last, stable in transaction_index.ENTRY.iter_unpack(file.read(0, size)):
        yield {
            "version": version, "producerId": producer_id, "firstOffset": first, "lastOffset": last,
            "lastStableOffset": stable,
        }  # fmt: skip


def _snapshot_lines(file: File) -> Iterator[Line]:
    try:
        for entry in decode_snapshot(file.read(0, file.size)):
            yield _producer_line(entry)
    except CorruptSnapshot as error:
        yield {"note": f"{file.path}: {error}"}


def _producer_line(entry: ProducerEntry) -> Line:
    start = "OptionalLong.empty" if entry.transaction_start is None else f"OptionalLong[{entry.transaction_start}]"
    line: Line = {
        "producerId": entry.producer_id, "producerEpoch": entry.epoch, "coordinatorEpoch": entry.coordinator_epoch,
        "currentTxnFirstOffset": start, "lastTimestamp": entry.last_timestamp,
    }  # fmt: skip
    if entry.batches:
        last = entry.batches[-1]
        line |= {
            "firstSequence": last.first_sequence, "lastSequence": last.last_sequence, "lastOffset": last.last_offset,
            "offsetDelta": last.offset_delta, "timestamp": last.timestamp,
        }  # fmt: skip
    return line


def _epoch_lines(file: File) -> Iterator[Line]:
    for text in bytes(file.read(0, file.size)).decode("ascii", "replace").split("\n")[2:]:
        epoch, _, start = text.partition(" ")
        if start:
            yield {"epoch": int(epoch), "startOffset": int(start)}
