"""A late EndTxn tears a transaction of version 1, and what it leaves hanging can be aborted by hand."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clients_core.test_transactional_producer import COMMITTED, Lab

from lab.truth import truth_of

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


def starts_at(lab: Lab, partition: int) -> list[int]:
    """First offsets of the transactions that are open there."""
    entries = lab.log(partition).producers.entries.values()
    return sorted(entry.transaction_start for entry in entries if entry.transaction_start is not None)


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


def test_an_abort_whose_answer_is_lost_is_found_done_and_no_other_transaction_is_aborted() -> None:
    lab = torn("zookeeper")
    lab.run(10)
    number = next(number for number in (0, 1) if starts_at(lab, number))
    (hanging,) = starts_at(lab, number)
    lab.produce("producer-2", transaction_ms=55_000, transaction_records=0, rate=50, settings={"transactional.id": "t-2"})
    lab.run(1)
    (_, other) = starts_at(lab, number)
    leader = truth_of(lab.world).partition_state("orders", number)["leader"]
    lab.do(do="delay_link", between=["operator", leader], delay_ms=500, one_way=True)
    asked = lab.do(do="abort_transaction", topic="orders", partition=number)["id"]
    results = lab.world.nodes["operator"].machine.results  # type: ignore[union-attr]
    lab.run(0.8)
    assert starts_at(lab, number) == [hanging, other], "the question was answered, the marker is on its way"
    lab.do(do="partition_link", between=[leader, "operator"], one_way=True)
    lab.run(1)
    assert starts_at(lab, number) == [other] and asked not in results
    lab.do(do="kill", broker=leader)
    lab.do(do="stop_all_faults")
    lab.run(15)
    assert results[asked]["kind"] == "ok" and starts_at(lab, number) == [other] and hanging < other


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
