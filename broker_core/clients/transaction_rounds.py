"""The rounds of an application with transactions: when one ends, whether it counts, and what comes after an error.

```
initTransactions() => open: begin, send, ... => ending: commit or abort => open: begin, ...
```

| moment | what happens |
|---|---|
| `transaction_records` records were sent, or `transaction_ms` have passed since the first one | the transaction ends |
| neither of the two is given | it ends after 100 ms, as in Kafka Streams with exactly-once (KIP-447) |
| a transaction ends | `abort_share` of them are aborted, as one draws, all others committed |
| an error that an abort heals | noticed at once, as the next call of the application would be told; abort, go on |
| a fatal error: another producer has taken the transactional id (KIP-98) | the process ends |

While a transaction is `ending`, and before the producer has its id, the application waits. What it does meanwhile and
afterwards is its own: `transactional_workload` sends at a rate, `transactional_processor` between two polls.
"""

from __future__ import annotations

from typing import Any, Protocol

from broker_core.clients.transactional_sender import TransactionalSender
from broker_core.clients.transactions import ABORTABLE, COMMITTED, FATAL, IN_TRANSACTION, READY, Transactions
from broker_core.kernel.node import Node, Timer
from broker_core.wire.errors import ErrorCode

COMMIT_INTERVAL_MS = 100
FENCED = "fenced"  # what viewers call a producer that can do nothing any more


class TransactionLoad(Protocol):
    """The part of a load that is about transactions; 0: not for this reason."""

    transaction_records: int
    transaction_ms: int
    abort_share: float


class Application(Protocol):
    """Whose transactions they are. `sent`: how many records it has handed over."""

    node: Node
    sent: int

    def transaction_due(self) -> None:
        """`transaction_ms` have passed, and the transaction is open."""

    def go_on(self, aborted: bool) -> None:
        """The producer has its id, or a transaction is over; `aborted`: that one counts for nothing."""


class TransactionRounds:
    """The transactions of one life of an application.

    - `ending`: no record is sent until `go_on`; the timer runs while a transaction is open and not `ending`
    """

    def __init__(self, application: Application, load: TransactionLoad, sender: TransactionalSender | None) -> None:
        assert sender is not None, "a producer without transactional.id"
        self.application = application
        self.node = application.node
        self.load = load
        self.sender = sender
        self.committed = 0
        self.aborted = 0
        self.ending = True
        self._aborts = False
        self._first = 0  # number of the first record in the transaction
        self._is_due = False
        self._timer: Timer | None = None

    @property
    def transactions(self) -> Transactions:
        return self.sender.transactions

    @property
    def is_open(self) -> bool:
        return self.transactions.state == IN_TRANSACTION

    def start(self) -> None:
        """initTransactions()"""
        self.transactions.initialize(self._over)

    def begin(self) -> bool:
        """beginTransaction(), unless one is open. False: nothing can be sent now."""
        if self.transactions.state == READY:
            self.sender.begin()
            self._first = self.application.sent
            load = self.load
            limit_ms = load.transaction_ms or (0 if load.transaction_records else COMMIT_INTERVAL_MS)
            if limit_ms:
                self._timer = self.node.after(limit_ms * 1000, self._time_is_up)
        return self.is_open

    def _time_is_up(self) -> None:
        self._timer = None
        self._is_due = True
        if not self.ending and self.is_open:
            self.application.transaction_due()

    @property
    def is_due(self) -> bool:
        """Whether it has all its records, or its time has come."""
        many = self.load.transaction_records
        return self._is_due or bool(many and self.application.sent - self._first >= many)

    # -- the end of a transaction -----------------------------------------------------------
    def stop(self) -> None:
        """The application waits from now on."""
        self.ending = True
        self._is_due = False
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def draws_abort(self) -> bool:
        share = self.load.abort_share
        return bool(share) and self.node.random("transactions").random() < share

    def commit(self) -> None:
        self.sender.commit(self._over)

    def abort(self) -> None:
        self._aborts = True
        self.sender.abort(self._over)

    def recover(self, error: str) -> None:
        """What was to be done in the transaction has failed."""
        self._over(error)

    def failed(self) -> bool:
        """The producer reports an error. False: whoever waits for the end of the transaction hears of it."""
        if self.ending and self.transactions.state != FATAL:
            return False
        self.stop()
        self.node.soon(self._over, self.transactions.error)
        return True

    def _over(self, error: str) -> None:
        """The producer has its id, or a transaction was ended, or it failed."""
        state = self.transactions.state
        if state == ABORTABLE:
            self.abort()
        elif state == FATAL:
            self.node.soon(self.node.exit)
        elif state == READY and self.ending:
            aborted, self._aborts, self.ending = self._aborts, False, False
            self.application.go_on(aborted)

    def ended(self, outcome: str) -> None:
        """It is over, and counts or not."""
        self.committed += outcome == COMMITTED
        self.aborted += outcome != COMMITTED

    @property
    def is_fenced(self) -> bool:
        """Whether another producer has the transactional id now, and this one can do nothing any more."""
        return self.transactions.state == FATAL and self.transactions.error == ErrorCode.PRODUCER_FENCED.name

    def view(self) -> dict[str, Any]:
        """What viewers show."""
        return {"state": self.transactions.state, "committed": self.committed, "aborted": self.aborted}
