"""A late EndTxn tears a transaction of version 1, and what it leaves hanging can be aborted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clients_core.test_transactional_producer import COMMITTED, Lab

SETTINGS = {"transaction.state.log.num.partitions": "1", "transaction.partition.verification.enable": "false"}


def torn(controller: str, **cluster: Any) -> Lab:
    """Transactions of four seconds; one EndTxn comes when the next transaction is open."""
    lab = Lab(controller, "messages", settings=SETTINGS, **cluster)
    lab.produce(transaction_records=0, transaction_ms=4000, rate=50, keys=0)
    lab.run(3)
    for broker in (1, 2, 3):
        lab.do(do="hold_next", between=["producer", broker], api="EndTxn", delay_ms=7000)
    lab.run(9.6)
    lab.do(do="kill", node="producer")
    return lab


def refused(lab: Lab) -> list[str]:
    return [row[5]["problem"]["code"] for row in lab.world.journal.tail if row[3] == "command_refused"]


def open_at(lab: Lab) -> int | None:
    starts = [entry.transaction_start for number in (0, 1) for entry in lab.log(number).producers.entries.values()]
    return next((start for start in starts if start is not None), None)


@pytest.mark.parametrize(("controller", "cluster"), [("zookeeper", {}), ("kraft", {"protections": {"transactions_v2": False}})])
def test_what_no_coordinator_knows_of_hangs_until_it_is_aborted(controller: str, cluster: dict[str, Any]) -> None:
    lab = torn(controller, **cluster)
    lab.run(70)
    assert open_at(lab) is not None, "no timeout ends it"
    for number in (0, 1):
        lab.do(do="abort_transaction", topic="orders", partition=number)
    lab.run(2)
    assert open_at(lab) is None
    lab.do(do="abort_transaction", topic="orders", partition=0)
    lab.run(2)
    assert refused(lab)[-1] == "no_open_transaction"
    lab.read("reader", **COMMITTED)
    lab.run(2)
    assert lab.values("ok") < set(lab.got("reader")), "half of a transaction was committed, and its producer does not know"


def test_with_an_epoch_for_each_transaction_a_late_end_means_nothing() -> None:
    lab = torn("kraft")
    lab.run(70)
    assert open_at(lab) is None
    lab.read("reader", **COMMITTED)
    lab.run(2)
    assert set(lab.got("reader")) == lab.values("ok")


def test_clients_are_told_the_version_that_the_switch_leaves() -> None:
    lab = Lab("kraft")
    broker = lab.world.nodes["broker-1"].machine
    assert broker.features().levels["transaction.version"] == 2 == broker.transaction_version()
    lab.do(do="set_protection", set={"transactions_v2": False})
    assert broker.features().levels["transaction.version"] == 1 == broker.transaction_version()
    assert Lab("zookeeper").world.nodes["broker-1"].machine.features() is None
