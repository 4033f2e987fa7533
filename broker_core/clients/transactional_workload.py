"""The built-in transactional producer: the same application, which puts its records into transactions.

```
initTransactions()
begin; send, send, ...; commit       after `transaction_records` records, or `transaction_ms` after the first one
begin; send, send, ...; abort        `abort_share` of them, drawn from the world's random numbers
```
While a transaction is being ended the application waits, and does not make up for it: the first record behind it comes
when `rate` lets it, or now when that is past. After an error it aborts, and
goes on with the next records: those of an aborted transaction are not sent again. A producer that is fenced (another
one with its transactional id has started) ends its process.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from broker_core.clients.accumulator import Batch
from broker_core.clients.transaction_rounds import FENCED, TransactionRounds
from broker_core.clients.transactions import READY
from broker_core.clients.workload import ProducerLoad, ProducerMachine
from broker_core.kernel.node import Node


class TransactionalProducerMachine(ProducerMachine):
    """A process with one transactional producer and an application thread that feeds it."""

    def __init__(self, node: Node, load: ProducerLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        super().__init__(node, load, given, bootstrap)
        self.rounds = TransactionRounds(self, load, self.producer.transactional)

    def start(self) -> None:
        self._base_us = self._sent_us = self.node.now_us()
        self.producer.metadata.add_topic(self.load.topic)
        self.rounds.start()

    # -- the application's thread -----------------------------------------------------------
    def _tick(self) -> None:
        if not self.rounds.ending:
            super()._tick()

    def _send_one(self) -> bool:
        if not self.rounds.begin() or not super()._send_one():
            return False
        self._sent_us = self.node.now_us()
        if self.rounds.is_due or (self.load.count and self.sent >= self.load.count):
            self.transaction_due()
            return False
        return True

    def _block(self) -> None:
        if not self.rounds.ending:
            super()._block()

    def _go_on(self) -> None:
        if not self.rounds.ending:
            super()._go_on()

    def unblocked(self) -> None:
        if not self.rounds.ending:
            super().unblocked()

    # -- the ends of transactions -----------------------------------------------------------
    def transaction_due(self) -> None:
        """Commit or abort; nothing is sent until that is done."""
        self._pause()
        if self.rounds.draws_abort():
            self.rounds.abort()
        else:
            self.rounds.commit()

    def _pause(self) -> None:
        self.rounds.stop()
        self._blocked_since = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def go_on(self, aborted: bool) -> None:
        """With the next records: those of an aborted transaction are not sent again."""
        if self.closing:
            self.node.exit()
        else:
            self._base_us = max(self.node.now_us(), self._next_us())
            self._base_sent = self.sent
            self._tick()

    def _next_us(self) -> int:
        """When the rate lets the next record go."""
        return self._sent_us + int(1_000_000 / self.load.rate) if self.sent and self.load.rate > 0 else 0

    def transaction_failed(self) -> None:
        if self.rounds.failed():
            self._pause()

    def transaction_ended(self, outcome: str, acked: int, dropped: int) -> None:
        self.count_transaction(outcome, acked, dropped)
        self.rounds.ended(outcome)

    def batch_settled(self, batch: Batch, kind: str, offset: int, error: str) -> None:
        """Nothing is promised before the commit."""

    # -- the process ------------------------------------------------------------------------
    def shut_down(self) -> None:
        """`close()`: an application that is asked to end commits what it has open first."""
        self.closing = True
        if self.rounds.ending and self.rounds.transactions.state != READY:
            return  # whoever waits for the end of a transaction hears of it
        if self.rounds.is_open:
            self._pause()
            self.rounds.commit()
        else:
            self.node.exit()

    def view(self) -> dict[str, Any]:
        view = super().view()
        over = FENCED if self.rounds.is_fenced else view.get("over")
        return {**view, "transactions": self.rounds.view(), "over": over}


def producer_factory(load: ProducerLoad, given: dict[str, Any], bootstrap: list[str]) -> Any:
    """A factory for `World.add_node`; the dictionaries are shared with the machine, so that changes last. Of the kind
    that the settings ask for when the process starts."""
    return partial(_make, load, given, bootstrap)


def _make(load: ProducerLoad, given: dict[str, Any], bootstrap: list[str], node: Node) -> ProducerMachine:
    kind = TransactionalProducerMachine if given.get("transactional.id") else ProducerMachine
    return kind(node, load, given, bootstrap)
