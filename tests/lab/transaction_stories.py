"""Transactions broken on purpose, in one piece each, and the light that has to turn red. `lab`: that of `test_invariants`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from broker_core.broker.handlers import transactions as transaction_apis
from broker_core.clients import history
from broker_core.log import markers
from broker_core.log.transactions import Transactions
from broker_core.records.batch import encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.transactions.markers import MarkerChannel
from tests.replication.harness import EPOCH_MS

SHORT = {"delivery.timeout.ms": 2000, "request.timeout.ms": 1000, "transaction.timeout.ms": 5000}


def transact(lab: Any, sequence: int, marker: bytearray | None = None) -> None:
    """A record of a transaction, or its end."""
    data = encode_batch([(EPOCH_MS, None, b"%d" % sequence, ())], producer_id=77, producer_epoch=0,
                        base_sequence=sequence, transactional=True)  # fmt: skip
    origin = "client" if marker is None else "coordinator"
    replicas = lab.machine(lab.state["leader"]).replicas
    replicas.append(30_000, -1, [("orders", 0, data if marker is None else marker)], _ignore, None, origin)
    lab.run(0.2)


def _ignore(context: object, answer: object) -> None:
    """Nobody waits for it."""


@pytest.mark.interpreted
def an_open_transaction_is_overlooked(lab: Any, patch: Any) -> None:
    """The log forgets that a transaction has begun."""
    patch.setattr(Transactions, "begin", lambda *_: None)
    transact(lab, 0)
    lab.run(1)


def aborted_ones_are_not_told(lab: Any, patch: Any) -> None:
    """A fetch with read_committed says nothing of the transactions that were aborted."""
    patch.setattr(markers, "aborted_in", lambda *_: [])
    transact(lab, 0)
    transact(lab, 0, transaction_marker_batch(False, 77, 0, 0, EPOCH_MS))
    settings = {"auto.offset.reset": "earliest", "isolation.level": "read_committed"}
    lab.do(do="start_client", name="careful", kind="consumer", topic="orders", settings=settings)
    lab.run(2)


def every_other_marker_says_the_opposite(lab: Any, patch: Any) -> None:
    """A broker writes markers that nobody has decided."""
    turns = count()

    def marker(commit: bool, *more: Any) -> bytearray:
        return transaction_marker_batch(commit == bool(next(turns) % 2), *more)

    patch.setattr(transaction_apis, "transaction_marker_batch", marker)
    transactions_over_two_partitions(lab)


def it_is_called_complete_before_it_is(lab: Any, patch: Any) -> None:
    """The coordinator writes no markers, and says that all are written."""
    patch.setattr(MarkerChannel, "_enqueue", lambda _, completion, partitions: completion.transaction.unmarked.clear())
    transactions_over_two_partitions(lab)


def transactions_over_two_partitions(lab: Any, records: int = 5, **more: int) -> None:
    lab.do(do="create_topic", topic="pairs", partitions=2, replication_factor=3)
    lab.run(1)
    settings = {"transactional.id": "bank", "linger.ms": 0, **more}
    lab.do(do="start_client", name="producer-bank", kind="producer", topic="pairs", rate=50, keys=20,
           transaction_records=records, abort_share=0.3, settings=settings)  # fmt: skip
    lab.run(6)


@pytest.mark.interpreted
def never_told_of_a_transaction(lab: Any, patch: Any) -> None:
    """The same of writes in transactions, while nothing is broken."""
    patch.setattr(history, "settled", lambda *_, **__: None)
    transactions_over_two_partitions(lab, **SHORT)
    lab.run(7)


TRANSACTIONS_BROKEN: list[tuple[Callable[[Any, Any], None], list[str]]] = [
    (never_told_of_a_transaction, ["EveryWriteEnds"]),
    (an_open_transaction_is_overlooked, ["LastStableOffset"]),
    (aborted_ones_are_not_told, ["NoAbortedRead"]),
    (every_other_marker_says_the_opposite, ["TransactionAtomic"]),
    (it_is_called_complete_before_it_is, ["TransactionAtomic"]),
]
