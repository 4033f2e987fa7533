"""Records of a partition as one broker has them: batches with their facts and bytes, and what is decoded from them.

Reading is split in two. `read_bytes` runs on the world's thread, between two events, and takes whole
batches through the replica's own indexes (of a broker that is down: from its files). `decode` runs
elsewhere: it may have to decompress.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from broker_core.broker.addresses import log_dirs
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node
from broker_core.kernel.problems import problem, told
from broker_core.kernel.storage import read_all
from broker_core.kernel.world import World
from broker_core.log.errors import OffsetOutOfRange
from broker_core.log.offset_index import OffsetIndex
from broker_core.log.scan import find_batch
from broker_core.metadata.configs import BrokerConfig
from broker_core.records.annotate import annotate
from broker_core.records.batch import decode_records, offsets_of
from broker_core.records.compression import NAMES
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, is_valid, iterate_batches
from broker_core.records.record import Record
from lab.clusters import observe
from lab.clusters.spec import RunSpec
from lab.truth import truth_of
from web.api.problems import Problem

MAX_BYTES = 1024 * 1024
HEX_BYTES = 32 * 1024
DECOMPRESSED = 16 * 1024 * 1024
VALUE_BYTES = 64 * 1024
INDEX_BYTES = 10 * 1024 * 1024


@dataclass(slots=True)
class Found:
    """Bytes of whole batches, and the replica's marks; high watermark and last stable offset None: nobody knows them,
    the broker is down."""

    replica: int
    leader: int
    data: bytes
    start: int
    end: int
    high_watermark: int | None
    last_stable_offset: int | None
    running: bool


def read_bytes(
    world: World, spec: RunSpec, topic: str, partition: int, offset: int | None, replica: int | None
) -> Found:
    """Batches from the one that holds `offset` (None: the first). Raises Problem."""
    state = truth_of(world).partition_state(topic, partition)
    if state is None:
        raise Problem(404, problem("no_partition", partition=f"{topic}-{partition}"), "topic")
    broker = state["leader"] if replica is None else replica
    if broker not in state["replicas"]:
        if broker == -1:
            raise Problem(409, problem("no_leader_now", partition=f"{topic}-{partition}"), "replica")
        raise Problem(404, problem("no_replica", broker=broker, partition=f"{topic}-{partition}"), "replica")
    node = world.nodes[broker_node(broker)]
    held = observe.partitions_of(node).get((topic, partition))
    if held is not None and held.log is not None:
        found = _of_running(held.log, offset)
    else:
        found = _of_stopped(node, spec, f"{topic}-{partition}", offset)
    found.replica, found.leader = broker, state["leader"]
    return found


def _of_running(log: Any, offset: int | None) -> Found:
    """Through the replica's log and its indexes."""
    start, end = log.log_start_offset, log.log_end_offset
    wanted = start if offset is None else offset
    try:
        found = log.read(wanted, MAX_BYTES, end)
    except OffsetOutOfRange:
        raise _out_of_range(wanted, start, end) from None
    return Found(-1, -1, read_all(found.slices), start, end, log.high_watermark, log.last_stable_offset, True)


def _of_stopped(node: Node, spec: RunSpec, directory: str, offset: int | None) -> Found:
    """Out of the files that a broker which is down has left."""
    broker = next(one for one in spec.cluster.brokers if broker_node(one.id) == node.name)
    homes = log_dirs(BrokerConfig(spec.cluster.broker_settings(broker)))
    paths = [f"{home}/{directory}" for home in homes if node.storage.list(f"{home}/{directory}")]
    if not paths:
        raise Problem(409, problem("no_files_left", node=node.name, partition=directory), "replica")
    bases = [name.removesuffix(".log") for name in node.storage.list(paths[0]) if name.endswith(".log")]
    start = int(bases[0])
    wanted = start if offset is None else offset
    if wanted < start:
        raise _out_of_range(wanted, start, None)
    chosen = next((base for base in reversed(bases) if int(base) <= wanted), bases[0])
    data = _from_segment(node, f"{paths[0]}/{chosen}", int(chosen), wanted)
    last = max((batch.header.next_offset for batch in iterate_batches(data)), default=wanted)
    return Found(-1, -1, data, start, last, None, None, False)


def _from_segment(node: Node, path: str, base: int, offset: int) -> bytes:
    file = node.storage.open(f"{path}.log")
    position = 0
    if node.storage.exists(f"{path}.index"):
        position = OffsetIndex(node.storage.open(f"{path}.index"), base, INDEX_BYTES).lookup(offset)[1]
    found = find_batch(file, offset, position, file.size)
    return b"" if found is None else bytes(file.read(found[0], max(MAX_BYTES, found[1].size)))


def _out_of_range(offset: int, start: int, end: int | None) -> Problem:
    what = problem("offset_out_of_range", offset=offset)
    return Problem(416, what, "offset", log_start_offset=start, log_end_offset=end)


# -- decoding -------------------------------------------------------------------------------
def decode(found: Found, offset: int | None, limit: int, fields: bool, language: str = "en") -> dict[str, Any]:
    """About `limit` records from `offset` on, and the batches that hold them; a batch is never cut. Why one cannot be
    decoded is a problem, told in a language."""
    batches: list[dict[str, Any]] = []
    records: list[dict[str, Any]] = []
    following = wanted = found.start if offset is None else offset
    for batch in _whole_batches(found.data):
        if len(records) >= limit:
            break
        batches.append(_facts(batch, fields))
        records += _shown(batch, batches[-1], wanted, found.high_watermark, language)
        following = batch.header.next_offset
    return {
        "replica": found.replica, "leader": found.leader, "running": found.running, "log_start_offset": found.start,
        "log_end_offset": found.end if found.running else None, "high_watermark": found.high_watermark,
        "last_stable_offset": found.last_stable_offset, "batches": batches, "records": records,
        "next": following, "more": following < found.end,
    }  # fmt: skip


def _whole_batches(data: bytes) -> Iterator[Batch]:
    """Up to the first batch that is cut short or is none."""
    try:
        yield from iterate_batches(data)
    except RecordsError:
        return


def _facts(batch: Batch, fields: bool) -> dict[str, Any]:
    """The header, named as DumpLogSegments names it, and the bytes in hex (the first `HEX_BYTES`)."""
    header, data = batch.header, bytes(batch.data)
    first, count = offsets_of(batch, DECOMPRESSED)
    codec = NAMES[header.compression] if header.compression < len(NAMES) else f"unknown({header.compression})"
    found = {
        "base_offset": first, "last_offset": header.last_offset, "count": count,
        "size": header.size, "magic": header.magic, "crc": header.crc, "valid": is_valid(batch),
        "compression": codec, "timestamp_type": "LogAppendTime" if header.is_log_append_time else "CreateTime",
        "base_timestamp": header.base_timestamp, "max_timestamp": header.max_timestamp,
        "leader_epoch": header.leader_epoch, "producer_id": header.producer_id,
        "producer_epoch": header.producer_epoch, "base_sequence": header.base_sequence,
        "transactional": header.is_transactional, "control": header.is_control,
        "hex": data[:HEX_BYTES].hex(), "hex_complete": len(data) <= HEX_BYTES,
    }  # fmt: skip
    if fields:
        found["fields"] = _fields(data)
    return found


def _fields(data: bytes) -> list[dict[str, Any]]:
    """Which bytes mean what."""
    try:
        named = annotate(data)
    except RecordsError:
        return []
    return [{"start": one.start, "end": one.end, "name": one.name, "value": _plain(one.value)}
            for one in named if one.end <= HEX_BYTES]  # fmt: skip


def _plain(value: Any) -> Any:
    return _bytes(bytes(value)) if isinstance(value, (bytes, bytearray, memoryview)) else value


def _shown(
    batch: Batch, facts: dict[str, Any], wanted: int, high_watermark: int | None, language: str
) -> list[dict[str, Any]]:
    try:
        records = decode_records(batch, DECOMPRESSED)
    except RecordsError as error:
        facts["error"] = {**error.problem, "text": told(error.problem, language)}
        return []
    return [_record(one, facts["base_offset"], high_watermark) for one in records if one.offset >= wanted]


def _record(record: Record, base_offset: int, high_watermark: int | None) -> dict[str, Any]:
    return {
        "offset": record.offset, "timestamp": record.timestamp, "key": _bytes(record.key),
        "value": _bytes(record.value),
        "headers": [{"name": name, "value": _bytes(value)} for name, value in record.headers],
        "batch": base_offset, "committed": None if high_watermark is None else record.offset < high_watermark,
    }  # fmt: skip


def _bytes(data: bytes | None) -> Any:
    """{"text": ...} when it is UTF-8, else {"base64": ...}; null stays null. Long ones are cut and say so."""
    if data is None:
        return None
    shown, cut = bytes(data[:VALUE_BYTES]), len(data) > VALUE_BYTES
    try:
        found: dict[str, Any] = {"text": shown.decode("utf-8", "strict")}
    except UnicodeDecodeError:
        found = {"base64": base64.b64encode(shown).decode()}
    return {**found, "size": len(data), "cut": cut} if cut else {**found, "size": len(data)}
