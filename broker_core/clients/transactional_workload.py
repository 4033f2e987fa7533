"""The built-in transactional producer: the same application, which puts its records into transactions.

```
initTransactions()
begin; send, send, ...; commit       after `transaction_records` records, or `transaction_ms` after the first one
begin; send, send, ...; abort        `abort_share` of them, drawn from the world's random numbers
```
While a transaction is being ended the application waits, and does not make up for it. After an error it aborts, and
goes on with the next records: those of an aborted transaction are not sent again. A producer that is fenced (another
one with its transactional id has started) ends its process.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from broker_core.clients.accumulator import Batch
from broker_core.clients.transactional_sender import TransactionalSender
from broker_core.clients.transactions import (
    ABORTABLE, COMMITTED, FATAL, IN_TRANSACTION, READY, UNKNOWN, Transactions,
)  # fmt: skip
from broker_core.clients.workload import ProducerLoad, ProducerMachine
from broker_core.kernel.node import Node, Timer

COMMIT_INTERVAL_MS = 100  # of Kafka Streams with exactly-once (KIP-447), where nothing else is said


class TransactionalProducerMachine(ProducerMachine):
    """A process with one transactional producer and an application thread that feeds it."""

    def __init__(self, node: Node, load: ProducerLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        super().__init__(node, load, given, bootstrap)
        assert self.producer.transactional is not None
        self.sender: TransactionalSender = self.producer.transactional
        self.committed = 0
        self.aborted = 0
        self._first = 0  # number of the first record in the transaction
        self._due: Timer | None = None
        self._ending = False

    @property
    def transactions(self) -> Transactions:
        return self.sender.transactions

    def start(self) -> None:
        self._base_us = self.node.now_us()
        self.producer.metadata.add_topic(self.load.topic)
        self._ending = True
        self.transactions.initialize(self._ready)

    # -- the application's thread -----------------------------------------------------------
    def _tick(self) -> None:
        if not self._ending:
            super()._tick()

    def _send_one(self) -> bool:
        if self.transactions.state == READY:
            self.sender.begin()
            self._first = self.sent
            wait_ms = self._limit_ms
            if wait_ms:
                self._due = self.node.after(wait_ms * 1000, self._end_due)
        if self.transactions.state != IN_TRANSACTION or not super()._send_one():
            return False
        full = bool(self.load.transaction_records) and self.sent - self._first >= self.load.transaction_records
        if full or (self.load.count and self.sent >= self.load.count):
            self._end()
            return False
        return True

    @property
    def _limit_ms(self) -> int:
        load = self.load
        return load.transaction_ms or (0 if load.transaction_records else COMMIT_INTERVAL_MS)

    def _block(self) -> None:
        if not self._ending:
            super()._block()

    def _go_on(self) -> None:
        if not self._ending:
            super()._go_on()

    def unblocked(self) -> None:
        if not self._ending:
            super().unblocked()

    # -- the ends of transactions -----------------------------------------------------------
    def _end_due(self) -> None:
        self._due = None
        if not self._ending and self.transactions.state == IN_TRANSACTION:
            self._end()

    def _end(self) -> None:
        """Commit or abort; nothing is sent until that is done."""
        self._pause()
        share = self.load.abort_share
        if share and self.node.random("transactions").random() < share:
            self.sender.abort(self._ready)
        else:
            self.sender.commit(self._ready)

    def _pause(self) -> None:
        self._ending = True
        self._blocked_since = None
        for timer in (self._due, self._timer):
            if timer is not None:
                timer.cancel()
        self._due = self._timer = None

    def _ready(self, error: str) -> None:
        """The producer has its id, or a transaction was ended."""
        if self.transactions.state == ABORTABLE:
            self.sender.abort(self._ready)
        elif self.transactions.state == FATAL:
            self.node.soon(self._fatal)
        elif self.closing:
            self.node.exit()
        else:
            self._ending = False
            self._base_us, self._base_sent = self.node.now_us(), self.sent
            self._tick()

    def transaction_failed(self) -> None:
        """Noticed at once, as the next call of the application would be told."""
        if not self._ending or self.transactions.state == FATAL:
            self._pause()
            self.node.soon(self._after_failure)

    def _after_failure(self) -> None:
        self._ready(self.transactions.error)

    def _fatal(self) -> None:
        self.node.exit()

    def transaction_ended(self, outcome: str, acked: int, dropped: int) -> None:
        """Records count when the transaction is over."""
        self.acked += acked
        if outcome == UNKNOWN:
            self.unknown += dropped
        else:
            self.failed += dropped
        self.committed += outcome == COMMITTED
        self.aborted += outcome != COMMITTED

    def batch_settled(self, batch: Batch, kind: str, offset: int, error: str) -> None:
        """Nothing is promised before the commit."""

    # -- the process ------------------------------------------------------------------------
    def shut_down(self) -> None:
        """`close()`: an application that is asked to end commits what it has open first."""
        self.closing = True
        if self._ending and self.transactions.state != READY:
            return  # whoever waits for the end of a transaction hears of it
        if self.transactions.state == IN_TRANSACTION:
            self._pause()
            self.sender.commit(self._ready)
        else:
            self.node.exit()

    def view(self) -> dict[str, Any]:
        shown = {"state": self.transactions.state, "committed": self.committed, "aborted": self.aborted}
        return {**super().view(), "transactions": shown}


def producer_factory(load: ProducerLoad, given: dict[str, Any], bootstrap: list[str]) -> Any:
    """A factory for `World.add_node`; the dictionaries are shared with the machine, so that changes last. Of the kind
    that the settings ask for when the process starts."""
    return partial(_make, load, given, bootstrap)


def _make(load: ProducerLoad, given: dict[str, Any], bootstrap: list[str], node: Node) -> ProducerMachine:
    kind = TransactionalProducerMachine if given.get("transactional.id") else ProducerMachine
    return kind(node, load, given, bootstrap)
