"""Transactions under the cleaner: aborted records go at once, markers once nothing of their transaction is left.

The cleaner walks through the log with this beside it (Kafka's `CleanedTransactionMetadata`).

| a batch | what is done |
|---|---|
| of an aborted transaction | all records go, whatever their keys; none of them counts as the latest of its key |
| of a committed one | as any other |
| marker, and a batch of its transaction was met in this round | stays; an abort goes into the new `.txnindex` |
| marker of a transaction that left no batch | gets a delete horizon, as a tombstone; once that has come, goes |
| marker without its record (cleaned before) | goes |

    1st round   0 A k   1 A j   2 abort A       0 and 1 go, the marker stays: they were met
    2nd round                   2 abort A       nothing was met: horizon = now + delete.retention.ms
    3rd round, behind that time                 the marker goes

So a reader that is in the middle of the transaction finds its marker for `delete.retention.ms` [1 day]. A batch that
stays without records, to keep a producer's last sequence, still counts as met.
"""

from __future__ import annotations

from collections.abc import Sequence

from broker_core.log.transaction_index import AbortedTransaction, TransactionIndex
from broker_core.records.batch import decode_records
from broker_core.records.control import ABORT, COMMIT, control_type
from broker_core.records.header import Batch


class _Aborted:
    """An aborted transaction on the way; `met`: a batch of it was there."""

    __slots__ = ("transaction", "met")

    def __init__(self, transaction: AbortedTransaction) -> None:
        self.transaction = transaction
        self.met = False


class CleanedTransactions:
    """Told of every batch in order. `index`: of the segment that is being written; None: nothing is written."""

    def __init__(self) -> None:
        self.index: TransactionIndex | None = None
        self._coming: list[AbortedTransaction] = []
        self._aborted: dict[int, _Aborted] = {}
        self._committed: dict[int, bool] = {}

    def add(self, aborted: Sequence[AbortedTransaction]) -> None:
        """Those that are in the next segment to be read; some of them perhaps for the second time."""
        self._coming = sorted([*self._coming, *aborted], key=_first_offset, reverse=True)

    def is_aborted(self, batch: Batch) -> bool:
        """Whether a batch with records belongs to an aborted transaction."""
        header = batch.header
        self._advance(header.last_offset)
        if not header.is_transactional:
            return False
        found = self._aborted.get(header.producer_id)
        if found is None:
            self._committed[header.producer_id] = True
            return False
        found.met = True
        return True

    def is_needless(self, batch: Batch) -> bool:
        """Whether a control batch may go, in time: nothing of its transaction was met."""
        header = batch.header
        self._advance(header.last_offset)
        records = decode_records(batch)
        if not records:
            return True
        kind = control_type(records[0])
        if kind == ABORT:
            found = self._aborted.pop(header.producer_id, None)
            if found is None or not found.met:
                return True
            if self.index is not None:
                self.index.append(found.transaction)
            return False
        return kind == COMMIT and not self._committed.pop(header.producer_id, False)

    def _advance(self, offset: int) -> None:
        """Transactions that begin up to here are under way."""
        while self._coming and self._coming[-1].first_offset <= offset:
            one = self._coming.pop()
            self._aborted.setdefault(one.producer_id, _Aborted(one))


def _first_offset(transaction: AbortedTransaction) -> int:
    return transaction.first_offset
