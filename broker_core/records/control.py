"""Control batches: markers that brokers write between records and that consumers never show.

A control batch (attribute bit 5) holds one record. Its key is `version int16, type int16`; its
value depends on the type:

| type | | value |
|---|---|---|
| 0 | ABORT | version int16, coordinator epoch int32 |
| 1 | COMMIT | version int16, coordinator epoch int32 |
| 2 | LEADER_CHANGE | KRaft: leader and voters (KIP-595) |
| 3, 4 | SNAPSHOT_HEADER, SNAPSHOT_FOOTER | KRaft snapshots (KIP-630) |
| 5, 6 | KRAFT_VERSION, KRAFT_VOTERS | KIP-853 |

The commit marker of coordinator epoch 7 has key `00 00 00 01` and value `00 00 00 00 00 07`.
"""

from __future__ import annotations

from struct import Struct
from struct import error as StructError
from typing import Any, NamedTuple

from broker_core.kernel.problems import problem
from broker_core.records.batch import encode_batch
from broker_core.records.errors import InvalidRecordError
from broker_core.records.record import Record
from broker_core.wire import messages
from broker_core.wire.compiled import read_message
from broker_core.wire.errors import WireError

ABORT, COMMIT, LEADER_CHANGE, SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS = range(7)
NAMES = ("ABORT", "COMMIT", "LEADER_CHANGE", "SNAPSHOT_HEADER", "SNAPSHOT_FOOTER", "KRAFT_VERSION", "KRAFT_VOTERS")
UNKNOWN = -1

_KEY = Struct(">hh")
_MARKER = Struct(">hi")


class EndTransactionMarker(NamedTuple):
    """The value of a COMMIT or ABORT record."""

    kind: int
    coordinator_epoch: int


def control_type(record: Record) -> int:
    """The type in a control record's key; UNKNOWN for one that is newer than this reader."""
    if record.key is None or len(record.key) < _KEY.size:
        raise InvalidRecordError(problem("control_short"), problem("at_offset", offset=record.offset))
    kind: int = _KEY.unpack_from(record.key)[1]
    return kind if 0 <= kind < len(NAMES) else UNKNOWN


def end_transaction_marker(record: Record) -> EndTransactionMarker:
    """Decode a COMMIT or ABORT record."""
    kind = control_type(record)
    try:
        _, epoch = _MARKER.unpack_from(record.value or b"")
    except StructError:
        raise InvalidRecordError(problem("marker_short"), problem("at_offset", offset=record.offset)) from None
    return EndTransactionMarker(kind, epoch)


Control = tuple[int, Any]
"""Type of a control record of a metadata log, and its message."""

_MESSAGES = {
    LEADER_CHANGE: "LeaderChangeMessage", SNAPSHOT_HEADER: "SnapshotHeaderRecord",
    SNAPSHOT_FOOTER: "SnapshotFooterRecord", KRAFT_VERSION: "KRaftVersionRecord", KRAFT_VOTERS: "VotersRecord",
}  # fmt: skip


def read_control(record: Record) -> Control | None:
    """Type and message of a metadata log's control record. None for markers of transactions and for types of the
    future. Raises InvalidRecordError."""
    kind = control_type(record)
    name = _MESSAGES.get(kind)
    if name is None:
        return None
    value = record.value or b""
    known = getattr(messages, name)
    version = min(int.from_bytes(value[:2], "big"), known.TYPE.versions[-1])
    try:
        return kind, read_message(known, version, memoryview(value).toreadonly())
    except WireError as error:
        what = problem("control_broken", name=NAMES[kind], why=str(error))
        raise InvalidRecordError(what, problem("at_offset", offset=record.offset)) from None


def transaction_marker_batch(
    commit: bool, producer_id: int, producer_epoch: int, coordinator_epoch: int, timestamp: int
) -> bytearray:
    """The marker that ends a producer's transaction in one partition (KIP-98)."""
    return encode_batch(
        [(timestamp, _KEY.pack(0, COMMIT if commit else ABORT), _MARKER.pack(0, coordinator_epoch), ())],
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
    )
