"""What was fetched of one partition and waits for the application.

It is kept as bytes and decoded when the application polls, batch by batch. With `read_committed` the answer also said
which transactions were aborted, as (producer, first offset); of their batches nothing is handed out:

    0 A   1 B   2 A   3 abort A   4 A   5 commit A        aborted: (A, 0)
    skipped 0 and 2; A's marker ends it, so 4 is handed out

B has no marker yet: the broker's answer ends in front of 1 then. Control batches are never handed out; the position
moves over them, and over what was skipped. (Java client: `CompletedFetch`.)
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.clients.metadata import TopicPartition
from broker_core.records.batch import decode_records
from broker_core.records.control import ABORT, control_type
from broker_core.records.errors import RecordsError
from broker_core.records.header import Batch, ensure_valid, iterate_batches
from broker_core.records.record import Record

Aborted = tuple[int, int]  # first offset, producer id


class Fetched:
    """Batches of one partition; `end` is the offset behind the last one that was decoded.

    `aborted`: None without read_committed. `epoch`: leader epoch of the last batch that was decoded; `damage`: why the
    next one cannot be read; nothing is taken any more, and it is never used up.
    """

    __slots__ = ("tp", "data", "check_crcs", "at", "end", "epoch", "records", "damage", "aborted", "skipping")

    def __init__(
        self, tp: TopicPartition, data: bytes, check_crcs: bool = True, aborted: Sequence[Aborted] | None = None
    ) -> None:
        self.tp = tp
        self.data = data
        self.check_crcs = check_crcs
        self.damage: RecordsError | None = None
        self.at = 0
        self.end = -1
        self.epoch = -1
        self.records: list[Record] = []
        self.aborted = None if aborted is None else sorted(aborted, reverse=True)
        self.skipping: dict[int, bool] = {}

    @property
    def used_up(self) -> bool:
        return not self.records and self.at >= len(self.data)

    def take(self, from_offset: int, count: int) -> list[Record]:
        """The next records at or above `from_offset`, at most `count`; decodes one batch at a time."""
        taken: list[Record] = []
        while len(taken) < count and not self.used_up and self.damage is None:
            if not self.records:
                try:
                    self.records = self._next_batch(from_offset)
                except RecordsError as error:
                    self.damage = error
            room = count - len(taken)
            taken += self.records[:room]
            self.records = self.records[room:]
        return taken

    def _next_batch(self, from_offset: int) -> list[Record]:
        batch = next(iterate_batches(self.data, self.at), None)
        if batch is None:
            self.at = len(self.data)
            return []
        if self.check_crcs:
            ensure_valid(batch)
        skipped = self.aborted is not None and batch.header.producer_id >= 0 and self._is_aborted(batch, self.aborted)
        records = [] if skipped or batch.header.is_control else decode_records(batch)
        self.at += batch.header.size
        self.end = batch.header.next_offset
        self.epoch = batch.header.leader_epoch
        return [record for record in records if record.offset >= from_offset]

    def _is_aborted(self, batch: Batch, aborted: list[Aborted]) -> bool:
        """Whether the batch belongs to an aborted transaction; its marker ends that."""
        header = batch.header
        while aborted and aborted[-1][0] <= header.last_offset:
            self.skipping[aborted.pop()[1]] = True
        if header.is_control:
            records = decode_records(batch)
            if records and control_type(records[0]) == ABORT:
                self.skipping.pop(header.producer_id, None)
            return False
        return header.is_transactional and header.producer_id in self.skipping
