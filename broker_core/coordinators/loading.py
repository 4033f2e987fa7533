"""Reading a partition of an internal topic when this broker becomes its leader.

The log is replayed from its start; of each key the last record counts, a tombstone removes it:

    offset 0  (billing, orders-0) -> 10         committed[orders-0] = 10
    offset 1  billing, generation 1             the group with its members and their shares
    offset 2  (billing, orders-0) -> 25         committed[orders-0] = 25
    offset 3  (old, orders-0)     -> tombstone  nothing

Reading goes in slices, so that a long log does not stop everything else of the broker; until the last
one the partition's keys answer COORDINATOR_LOAD_IN_PROGRESS. Losing the partition ends the loading at once.

What a disk has damaged is passed over and told (`log.salvage`): whatever had its last record there
falls back to the one before, all others are there.
"""

from __future__ import annotations

from broker_core.coordinators.ports import LogView, Shard, Shards
from broker_core.coordinators.stored import Buffer, MalformedRecord
from broker_core.log.salvage import Damage, Place, readable_batches
from broker_core.records import RecordsError, decode_records
from broker_core.records.control import ABORT, COMMIT, end_transaction_marker
from broker_core.records.header import Batch

SLICE_RECORDS = 1000


class Loading:
    """How far a partition has been read, and the shard that its records make."""

    __slots__ = ("shards", "partition", "start", "place", "shard")

    def __init__(self, shards: Shards, partition: int, start: int) -> None:
        self.shards = shards
        self.partition = partition
        self.start = start
        self.place = Place(start)
        self.shard: Shard = shards.blank(partition)

    def advance(self, log: LogView | None) -> bool:
        """Reads the next slice; whether there is another. Raises StorageError."""
        count = 0
        for found in readable_batches(log, self.place) if log is not None else ():
            count += self._take(found)
            if count >= SLICE_RECORDS:
                return True
        return False

    def _take(self, found: Batch | Damage) -> int:
        """One batch; what cannot be read of it must not take the partition's other keys with it."""
        if isinstance(found, Damage):
            self.shards.refuse(self.partition, found.offset, found.reason)
            return 1
        try:
            records = decode_records(found)
            if found.header.is_control:
                marker = end_transaction_marker(records[0])
                if marker.kind in (ABORT, COMMIT):
                    self.shard.replay_marker(found.header, marker.kind == COMMIT)
                return 1
        except RecordsError as error:
            self.shards.refuse(self.partition, found.header.base_offset, str(error))
            return 1
        for record in records:
            if record.offset >= self.start:
                self._replay(found, record.offset, record.key, record.value)
        return len(records)

    def _replay(self, found: Batch, offset: int, key: Buffer | None, value: Buffer | None) -> None:
        try:
            self.shard.replay(key, value, found.header)
        except MalformedRecord as error:
            self.shards.refuse(self.partition, offset, str(error))
