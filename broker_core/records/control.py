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
from typing import NamedTuple

from broker_core.records.batch import encode_batch
from broker_core.records.errors import InvalidRecordError
from broker_core.records.record import Record

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
        raise InvalidRecordError("control record without version and type", f"offset {record.offset}")
    kind: int = _KEY.unpack_from(record.key)[1]
    return kind if 0 <= kind < len(NAMES) else UNKNOWN


def end_transaction_marker(record: Record) -> EndTransactionMarker:
    """Decode a COMMIT or ABORT record."""
    kind = control_type(record)
    try:
        _, epoch = _MARKER.unpack_from(record.value or b"")
    except StructError:
        raise InvalidRecordError("marker without a coordinator epoch", f"offset {record.offset}") from None
    return EndTransactionMarker(kind, epoch)


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
