"""`__cluster_metadata` read record by record, as one process has it, and what each record has changed.

    metadata                                             the end of the log of the process that leads the quorum
    metadata         broker-2                            the end of broker 2's copy
    metadata         broker-2:last                       the same, before the no-op records that have come since
    metadata         controller-101:40                   a page that begins with offset 40
    metadata         controller-101:FILE.checkpoint      a snapshot from its beginning; ...:40 from record 40
    metadata_record  controller-101:41                   one record, with its subject before and after it

A record says what is set, not what was there. So the log is replayed up to it, from the newest snapshot below it or
from its beginning, and the subject is looked at on both sides:

    41  PARTITION_CHANGE_RECORD  leader=2 isr=[2,3]      orders-0: leader 1 -> 2, leader epoch 4 -> 5, isr 1,2,3 -> 2,3

Files are those of the directory, whoever has written them: a snapshot of Apache Kafka that lies there is read, too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from broker_core.kernel.errors import CommandError, StorageError
from broker_core.kernel.node import STOPPED
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from broker_core.log.scan import batches_from
from broker_core.metadata import records as r
from broker_core.metadata.image import MetadataImage, UnknownSubject
from broker_core.raft.settings import MOST_READ_BYTES
from broker_core.raft.snapshots import SnapshotReader, parse_name
from broker_core.records.batch import decode_records
from broker_core.records.control import NAMES, read_control
from broker_core.records.errors import RecordsError
from broker_core.records.header import CONTROL, Batch, iterate_batches
from broker_core.records.record import Record
from broker_core.wire.as_json import as_json
from broker_core.wire.errors import WireError
from lab.clusters.metadata_subjects import Names, changes, facts, subject_of
from lab.truth import truth_of
from lab.truth.kraft import KRaftTruth, QuorumReplica, process_of

PAGE = 100
LAST = -1
REPLAYED = 20_000
"""Records at most, so that a click is answered at once: behind more it is not told what a record has changed."""
_TOPIC_RECORD = bytes((r.FRAME_VERSION, r.API_KEYS["TopicRecord"]))


class _Entry(NamedTuple):
    """One record where it stands."""

    record: Record
    epoch: int
    control: bool


def metadata(world: World, name: str) -> dict[str, Any]:
    """A page; raises CommandError where there is no such process or file."""
    process, file, start = _place(world, name)
    log = process.raft.log
    if start is None:
        start = 0 if file else max(log.start_offset, log.end_offset - PAGE)
    elif start == LAST:
        said = process.loader.said_offset
        start = max(log.start_offset, (log.end_offset if said < 0 else said + 1) - PAGE)
    entries = list(islice(_entries(process, file, start), PAGE + 1))
    page = entries[:PAGE]
    names = _names(process, file, page)
    first, lowest = page[0].record.offset if page else start, 0 if file else log.start_offset
    return {
        **_facts(world, process), "file": file, "records": [_shown(world, one, names) for one in page],
        "before": max(lowest, first - PAGE) if first > lowest else None,
        "next": entries[PAGE].record.offset if len(entries) > PAGE else None,
    }  # fmt: skip


def metadata_record(world: World, name: str) -> dict[str, Any]:
    """One record; `changes` is null where that would take too long, or what was before it is gone."""
    process, file, start = _place(world, name)
    entry = None if start is None or start == LAST else next(_entries(process, file, start), None)
    if entry is None or entry.record.offset != start:
        raise CommandError(problem("no_metadata_record", given=name), "name")
    names = _names(process, file, [entry])
    return {
        "node": process.node.name, "file": file, **_shown(world, entry, names),
        "changes": _changes(process, file, entry, names),
    }  # fmt: skip


def without_effect(world: World) -> set[int]:
    """Offsets of the records that change nothing (NoOp); none where there is no metadata log."""
    try:
        process, _, _ = _place(world, "")
    except CommandError:
        return set()
    entries = _entries(process, None, process.raft.log.start_offset)
    return {one.record.offset for one in entries if not one.control and _read(one) is r.NO_OP}


# -- where -----------------------------------------------------------------------------------
def _place(world: World, name: str) -> tuple[QuorumReplica, str | None, int | None]:
    """Process, name of a snapshot, first record (`LAST`: see `metadata`)."""
    truth = truth_of(world)
    if not isinstance(truth, KRaftTruth):
        raise CommandError(problem("no_metadata_log"), "of")
    node_name, *rest = name.split(":")
    keepers = [node_name] if node_name else [truth.controller_node() or "", *truth.keepers()]
    running = [world.nodes[one] for one in keepers if one in world.nodes and world.nodes[one].state != STOPPED]
    process = process_of(running[0].machine) if running else None
    if process is None or not process.is_open:
        raise CommandError(problem("no_metadata_copy", node=node_name), "name")
    if rest == ["last"]:
        return process, None, LAST
    file = rest.pop(0) if rest and not rest[0].isdecimal() else None
    if (file is not None and file not in _files(process)) or len(rest) > 1 or not all(map(str.isdecimal, rest)):
        raise CommandError(problem("expected_metadata_place", given=name), "name")
    return process, file, int(rest[0]) if rest else None


def _files(process: QuorumReplica) -> list[str]:
    """Whole snapshots in its directory, oldest first."""
    log = process.raft.log
    found = [parse_name(name) for name in log.storage.list(log.directory)]
    return sorted(one[0].file_name for one in found if one is not None and not one[1])


# -- what stands there -----------------------------------------------------------------------
def _entries(process: QuorumReplica, file: str | None, start: int) -> Iterator[_Entry]:
    """Records from offset `start` on; of a damaged file those in front of the damage."""
    try:
        for batch in _batches(process, file, start):
            epoch, control = batch.header.leader_epoch, bool(batch.header.attributes & CONTROL)
            for record in decode_records(batch):
                if record.offset >= start:
                    yield _Entry(record, epoch, control)
    except (RecordsError, StorageError):
        return


def _batches(process: QuorumReplica, file: str | None, start: int) -> Iterator[Batch]:
    """From the one on that holds `start`."""
    log = process.raft.log
    if file is not None:
        opened = log.storage.open(f"{log.directory}/{file}")
        yield from (one for one in batches_from(opened, 0, opened.size) if one.header.last_offset >= start)
        return
    at, end = max(start, log.start_offset), log.end_offset
    while at < end:
        read = log.log.read(at, MOST_READ_BYTES, end)
        if not read.size:
            return
        for part in read.slices:
            for batch in iterate_batches(part.read()):
                yield batch
                at = batch.header.last_offset + 1


def _names(process: QuorumReplica, file: str | None, page: Iterable[_Entry]) -> Names:
    """Of the topics that a page is about, of those that are gone by now, too: their TopicRecords say it."""
    found = {one.id: one.name for one in process.loader.image.topics.values()}
    read = [_read(one) for one in page if not one.control]
    if any(getattr(one, "topic_id", None) not in (None, *found) for one in read):
        for entry in islice(_entries(process, file, 0), REPLAYED):
            if (entry.record.value or b"")[:2] == _TOPIC_RECORD and (topic := _read(entry)) is not None:
                found.setdefault(topic.topic_id, topic.name)
    return found


def _read(entry: _Entry) -> Any:
    """The record, None for one that cannot be read."""
    try:
        return r.decode(bytes(entry.record.value or b""))
    except WireError:
        return None


# -- how it is shown -------------------------------------------------------------------------
def _shown(world: World, entry: _Entry, names: Names) -> dict[str, Any]:
    """`about` is what it changes; `data` has the names of Kafka's definitions, `error` says why there is none."""
    record = entry.record
    found: dict[str, Any] = {
        "offset": record.offset, "epoch": entry.epoch, "t_us": world.wall.time_us(record.timestamp),
        "control": entry.control, "kind": "", "version": None, "data": None, "about": None, "error": None,
    }  # fmt: skip
    if entry.control:
        return found | _control(record)
    try:
        said = json.loads(r.text_of(record))
    except ValueError:
        return found | {"error": r.text_of(record)}
    subject = subject_of(_read(entry), names)
    about = None if subject is None else subject._asdict()
    return found | {"kind": said["type"], "version": said["version"], "data": said["data"], "about": about}


def _control(record: Record) -> dict[str, Any]:
    try:
        control = read_control(record)
    except RecordsError as error:
        return {"error": str(error)}
    if control is None:
        return {"kind": "UNKNOWN"}
    kind, message = control
    version = min(message.version, message.TYPE.versions[-1])
    return {"kind": NAMES[kind], "version": version, "data": as_json(message, version)}


def _facts(world: World, process: QuorumReplica) -> dict[str, Any]:
    """What this process has of the log, and how far everybody is."""
    truth = truth_of(world)
    assert isinstance(truth, KRaftTruth)
    log = process.raft.log
    return {
        "node": process.node.name, "start": log.start_offset, "end": log.end_offset, "epoch": process.raft.quorum.epoch,
        "applied": process.loader.offset, "committed": truth.snapshot()["quorum"]["high_watermark"],
        "snapshots": [_snapshot(process, name) for name in _files(process)],
        "replicas": truth.progress(),
    }  # fmt: skip


def _snapshot(process: QuorumReplica, name: str) -> dict[str, Any]:
    log, parsed = process.raft.log, parse_name(name)
    assert parsed is not None
    size = log.storage.open(f"{log.directory}/{name}").size
    return {"file": name, "end": parsed[0].end_offset, "epoch": parsed[0].epoch, "size": size}


# -- what it has changed ---------------------------------------------------------------------
def _changes(process: QuorumReplica, file: str | None, entry: _Entry, names: Names) -> list[dict[str, Any]] | None:
    record = None if entry.control else _read(entry)
    subject = None if record is None else subject_of(record, names)
    if subject is None:
        return []
    image = MetadataImage()
    count = 0
    try:
        for value in _before(process, file, entry.record.offset):
            image.replay(r.decode(value))
            count += 1
            if count > REPLAYED:
                return None
        before = facts(image, subject)
        image.replay(record)
    except (UnknownSubject, WireError, RecordsError):
        return None
    return changes(before, facts(image, subject))


def _before(process: QuorumReplica, file: str | None, offset: int) -> Iterator[bytes]:
    """Values of the records that make the image in front of `offset`."""
    start, log = 0, process.raft.log
    known = [one for one in log.snapshots if one.end_offset <= offset]
    if file is None and known:
        start = known[-1].end_offset
        yield from SnapshotReader(log.storage, log.directory, known[-1]).values()
    for entry in _entries(process, file, start):
        if entry.record.offset >= offset:
            return
        if not entry.control:
            yield bytes(entry.record.value or b"")
