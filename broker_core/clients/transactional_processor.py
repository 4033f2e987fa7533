"""The built-in processor with exactly-once semantics: offsets and records in one transaction (KIP-98, KIP-447).

```
initTransactions()
while True:
    for record in consumer.poll():
        beginTransaction() if none is open; send(into, ...)
    after `transaction_records` records or `transaction_ms`:
        sendOffsetsToTransaction(offsets behind the records, consumer.groupMetadata()); commitTransaction()
```
The offsets are the application's own, not those that `commitSync()` would store: that leaves out a partition whose
position is being validated (a new leader, KIP-320), and the records written of it would be written once more.

The offsets go to the group's coordinator as part of the transaction: they count if the records do. What dies in between
is aborted, and whoever reads on begins at the last offsets that were committed.

Two things could still double a record, and both are fenced. A zombie with the same `transactional.id` has an epoch that
is too low (KIP-98). One with another id whose partitions the group has given to somebody else sends a generation that
the group coordinator does not know any more (KIP-447): TxnOffsetCommit is refused, and its transaction aborted.

| moment | what happens to an open transaction |
|---|---|
| the group rebalances | it is committed before the partitions are given up |
| partitions were lost: the group has gone on without this member | it is aborted |
| an error, or the application wants it (`abort_share`) | it is aborted; positions go back to the committed offsets |
| another producer has taken the transactional id | the process ends |
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from broker_core.clients.accumulator import Batch
from broker_core.clients.metadata import TopicPartition
from broker_core.clients.processor import ProcessorLoad, ProcessorMachine
from broker_core.clients.transaction_requests import GroupOffsets
from broker_core.clients.transaction_rounds import FENCED, TransactionRounds
from broker_core.clients.transactional_sender import KINDS
from broker_core.kernel.node import Node
from broker_core.records.record import Record

Then = Callable[[], None]


class TransactionalProcessorMachine(ProcessorMachine):
    """A processor whose transactions end between two polls."""

    def __init__(self, node: Node, load: ProcessorLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        super().__init__(node, load, given, bootstrap)
        self.rounds = TransactionRounds(self, load, self.producer.transactional)
        self._then: Then | None = None
        self._offsets: list[list[Any]] = []  # that the transaction commits

    def start(self) -> None:
        self._then = self._begin_to_read
        self.rounds.start()

    def _begin_to_read(self) -> None:
        """What waits has a name of its own: of `super().start`, kept, a snapshot would make `self.start`."""
        super().start()

    # -- the application's thread -----------------------------------------------------------
    def _write(self, record: Record) -> bool:
        return self.rounds.begin() and super()._write(record)

    def unblocked(self) -> None:
        if not self.rounds.ending:
            super().unblocked()

    def _all_sent(self) -> None:
        """Every record of the poll was handed over: what is on its way is waited for when the transaction ends."""
        if self._wrong or self.rounds.is_due:
            self._end(self._poll)
        else:
            self._poll()

    def transaction_due(self) -> None:
        """Between two polls; else it ends with this one."""
        if self.in_poll:
            self._end(self._poll)

    # -- the ends of transactions -----------------------------------------------------------
    def _end(self, then: Then) -> None:
        """Commit or abort, then go on; nothing is polled until that is done."""
        self._stop(then)
        lost = self.member is None or self.member.generation < 0
        if self._wrong or lost or self.rounds.draws_abort():
            self.rounds.abort()
        else:
            assert self.member is not None
            what = GroupOffsets(
                self.settings.group_id, self.positions.read(), self.member.generation, self.member.member_id,
                self.settings.group_instance_id or None,
            )  # fmt: skip
            self._offsets = [[topic, number, offset] for (topic, number), offset in what.offsets.items()]
            self._tell_offsets("invoke")
            self.rounds.transactions.send_offsets(what, self._offsets_sent)

    def _offsets_sent(self, error: str) -> None:
        if error:
            self.rounds.recover(error)
        else:
            self.rounds.commit()

    def _stop(self, then: Then) -> None:
        self.rounds.stop()
        self._then = then
        self.in_poll = False

    def go_on(self, aborted: bool) -> None:
        """What an aborted transaction had read is read again."""
        if aborted or self._wrong:
            self._wrong = False
            self._rewind()
        then, self._then = self._then, None
        (then or self._poll)()

    def transaction_failed(self) -> None:
        if self.rounds.failed():
            self._give_up_poll()
            self._stop(self._then or self._poll)

    def transaction_ended(self, outcome: str, acked: int, dropped: int) -> None:
        """Records count when the transaction is over, and so do the offsets in it."""
        self.count_transaction(outcome, acked, dropped)
        self.rounds.ended(outcome)
        if self._offsets:
            self._tell_offsets(KINDS.get(outcome, "info"))
            self._offsets = []

    def _tell_offsets(self, kind: str) -> None:
        """For the history, as any other commit."""
        name, group = self.rounds.sender.transaction, self.settings.group_id
        self.node.operation(kind, "commit", id=name, group=group, offsets=self._offsets, transaction=name)

    def batch_settled(self, batch: Batch, kind: str, offset: int, error: str) -> None:
        """Nothing is promised before the commit."""

    # -- rebalances -------------------------------------------------------------------------
    def revoked(self, done: Any) -> None:
        """Partitions go: what was read of them is committed first, if this is still a member."""
        self._before_going(partial(self._revoke, done))

    def let_go(self, partitions: list[TopicPartition], done: Any) -> None:
        self._before_going(partial(self._let_go, partitions, done))

    def _revoke(self, done: Any) -> None:
        super().revoked(done)

    def _let_go(self, partitions: list[TopicPartition], done: Any) -> None:
        super().let_go(partitions, done)

    def _before_going(self, then: Then) -> None:
        if self.rounds.is_open and not self.rounds.ending:
            self._revoking = True  # nothing is collected in this poll
            self._end(partial(self._gone, then))
        else:
            then()

    def _gone(self, then: Then) -> None:
        self._revoking = False
        self.in_poll = True
        then()
        self._poll_soon()

    # -- the process ------------------------------------------------------------------------
    def _close(self) -> None:
        """An application that is asked to end commits what it has open first."""
        if self._closed or self.rounds.ending:
            return  # whoever waits for the end of a transaction polls then, and closes
        if self.rounds.is_open:
            self._end(self._close_now)
        else:
            self._close_now()

    def _close_now(self) -> None:
        super()._close()

    def view(self) -> dict[str, Any]:
        view = super().view()
        over = FENCED if self.rounds.is_fenced else view.get("over")
        return {**view, "transactions": self.rounds.view(), "over": over}


def processor_factory(load: ProcessorLoad, given: dict[str, Any], bootstrap: list[str]) -> Any:
    """A factory for `World.add_node`: of the kind that the settings ask for when the process starts."""
    return partial(_make, load, given, bootstrap)


def _make(load: ProcessorLoad, given: dict[str, Any], bootstrap: list[str], node: Node) -> ProcessorMachine:
    kind = TransactionalProcessorMachine if given.get("transactional.id") else ProcessorMachine
    return kind(node, load, given, bootstrap)
