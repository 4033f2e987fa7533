"""What one lab of many may take: which records a second are counted."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.node import RUNNING
from lab.limits import Limits
from tests.lab.test_operator import Lab, lab

__all__ = ["lab"]
MORE: dict[str, Any] = {
    "do": "start_client", "kind": "producer", "name": "producer-b", "topic": "orders", "rate": 100,
}  # fmt: skip


def refused(lab: Lab) -> bool:
    return Limits(records=150).refused(lab.world, MORE) is not None


def test_a_producer_that_is_closing_asks_for_no_new_records(lab: Lab) -> None:
    assert refused(lab)
    for broker in (1, 2, 3):
        lab.do(do="pause", node=f"broker-{broker}")
    lab.run(0.2)
    lab.do(do="stop_client", name="producer-a")
    assert lab.world.nodes["producer-a"].state == RUNNING and not refused(lab)


def test_a_producer_that_ended_counts_no_more_and_one_that_is_paused_does(lab: Lab) -> None:
    lab.do(do="pause", node="producer-a")
    assert refused(lab)
    lab.do(do="kill", node="producer-a")
    assert not refused(lab)
