"""What became of the records of an application that sends: it counts what its producer reports.

| what became of a batch | counts as |
|---|---|
| `ok`: the leader has it, and with acks=all the others in the ISR | acked |
| `fail`: it is in no log | failed |
| anything else: a request was never answered, so it may be in a log or not | unknown |

In a transaction nothing is promised before the commit: there records count when it is over.
"""

from __future__ import annotations

from broker_core.clients.accumulator import Batch
from broker_core.clients.transactions import UNKNOWN


class FateCounts:
    """Counts of a process. `sent`: records that have a number; those that are in none of the others are under way."""

    sent = 0
    acked = 0
    failed = 0
    unknown = 0

    def count_batch(self, batch: Batch, kind: str) -> None:
        if kind == "ok":
            self.acked += len(batch.records)
        elif kind == "fail":
            self.failed += batch.count
        else:
            self.unknown += batch.count

    def count_transaction(self, outcome: str, acked: int, dropped: int) -> None:
        """`outcome` of `transactions`; `dropped` records do not count, or nobody knows."""
        self.acked += acked
        if outcome == UNKNOWN:
            self.unknown += dropped
        else:
            self.failed += dropped

    def batch_split(self, batch: Batch, parts: list[Batch]) -> None:
        """Records are counted when their parts settle."""
