"""The coordinator of each built-in client is killed in each state of what it coordinates, and nobody loses or doubles anything.

Messages between brokers take some milliseconds, so that each state lasts, and the broker dies in the millisecond in which it
told of the state.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from tests.clients_core.test_consumer import Lab as Brokers
from tests.clients_core.test_processor import EXACTLY_ONCE, wanted
from tests.clients_core.test_processor import Lab as Processing
from tests.clients_core.test_share_consumer import EXPLICIT, STATE
from tests.clients_core.test_share_consumer import Lab as Sharing
from tests.clients_core.test_transactional_producer import COMMITTED
from tests.clients_core.test_transactional_producer import Lab as Producing
from tests.worlds import Driven

PAIRS = ([1, 2], [1, 3], [2, 3])
TRANSACTION = ("Empty", "Ongoing", "PrepareCommit", "CompleteCommit", "PrepareAbort", "CompleteAbort")
COUNT = 120
Row = Any


class Witness:
    """What brokers tell of states; `kill_at` ends the process that tells of one."""

    def __init__(self, lab: Driven) -> None:
        self.lab = lab
        self.rows: list[Row] = []
        lab.world.journal.transition_watchers.append(self.rows.append)
        for pair in PAIRS:
            lab.do(do="delay_link", between=[f"broker-{number}" for number in pair], delay_ms=4)

    def kill_at(self, code: str, **params: Any) -> None:
        for _ in range(20_000):
            self.lab.run(0.001)
            for row in self.rows:
                if row[3] == code and all(row[5].get(name) == value for name, value in params.items()):
                    self.lab.do(do="kill", node=row[2])
                    return
            self.rows.clear()
        raise AssertionError(f"nobody tells of {code} {params}")


@pytest.mark.parametrize(
    ("protocol", "state"),
    [("classic", one) for one in ("PreparingRebalance", "CompletingRebalance", "Stable", "Empty")]
    + [("consumer", one) for one in ("Reconciling", "Stable", "Empty")],
)
def test_a_group_reads_everything_whatever_state_its_coordinator_dies_in(protocol: str, state: str) -> None:
    lab = Brokers(COUNT, controller="kraft")
    witness = Witness(lab)
    settings = {"group.id": "billing", "auto.offset.reset": "earliest", "group.protocol": protocol}
    for name in ("c1", "c2"):
        lab.start(name, settings=settings)
    if state == "Empty":
        lab.run(6)
        for name in ("c1", "c2"):
            lab.do(do="stop_client", name=name)
    witness.kill_at("group_state", group="billing", after=state)
    if state == "Empty":
        lab.run(4)
        lab.start("c3", settings=settings)
    lab.run(11)
    names = ("c3",) if state == "Empty" else ("c1", "c2")
    assert sorted(part for name in names for part in lab.consumer(name).positions.of) == [("orders", number) for number in range(6)]
    read = lab.read("c1", "c2", "c3")
    assert len(read) == COUNT and (state != "Empty" or set(read.values()) == {1})


@pytest.mark.parametrize(("code", "params"), [
    ("group_state", {"after": "Stable"}), ("group_state", {"after": "Empty"}), ("share_acquired", {}), ("share_settled", {"state": "acknowledged"}),
    ("share_settled", {"state": "archived"}),
], ids=["Stable", "Empty", "acquired", "acknowledged", "archived"])  # fmt: skip
def test_a_queue_is_emptied_whatever_state_its_coordinator_or_its_leader_dies_in(code: str, params: dict[str, str]) -> None:
    lab = Sharing(COUNT, **{**STATE, "share.coordinator.state.topic.replication.factor": "3"})
    witness = Witness(lab)
    worker = {"settings": {**EXPLICIT, "max.poll.records": "10"}, "fails": "3"}
    for name in ("worker-1", "worker-2"):
        lab.work(name, **worker)
    if params.get("after") == "Empty":
        lab.run(2)
        for name in ("worker-1", "worker-2"):
            lab.do(do="stop_client", name=name)
    witness.kill_at(code, **params)
    lab.run(4)
    lab.work("worker-3", **worker)
    lab.run(13)
    unknown = {  # the leader that died may have written it down, and could not say so
        offset for row in lab.rows("acknowledge", "info") for first, count, what in row["runs"] if what == "accept"
        for offset in range(first, first + count)
    }  # fmt: skip
    assert set(lab.accepted()) | unknown == {number for number in range(COUNT) if "3" not in str(number)}
    assert set(lab.accepted().values()) == {1}


@pytest.mark.parametrize("state", TRANSACTION)
def test_a_transaction_is_whole_whatever_state_its_coordinator_dies_in(state: str) -> None:
    lab = Producing("kraft")
    witness = Witness(lab)
    lab.produce(rate=100, transaction_records=10, abort_share=0.4, count=COUNT)
    witness.kill_at("transaction_state", transactional_id="sales", after=state)
    lab.run(10)
    lab.do(do="stop_client", name="producer")
    lab.read("reader", **COMMITTED)
    lab.run(4)
    read = lab.got("reader")
    ends = Counter(row["kind"] for row in lab.rows("transaction"))
    assert set(read.values()) == {1} and set(read) == lab.values("ok") and ends["ok"] > 3 and not ends["info"]


@pytest.mark.parametrize(
    ("code", "state"), [("transaction_state", one) for one in TRANSACTION] + [("group_state", one) for one in ("PreparingRebalance", "CompletingRebalance", "Stable")]
)
def test_a_processor_copies_exactly_once_whatever_state_either_coordinator_dies_in(code: str, state: str) -> None:
    lab = Processing("kraft", COUNT)
    witness = Witness(lab)
    lab.process(process_ms=10, transaction_ms=100, abort_share=0.3, settings=EXACTLY_ONCE)
    witness.kill_at(code, after=state)
    lab.run(12)
    assert lab.read_all() == wanted(COUNT)
