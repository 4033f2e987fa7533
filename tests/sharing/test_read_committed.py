"""share.isolation.level: what aborted transactions have written is given to nobody with read_committed."""

from __future__ import annotations

from typing import Any

import pytest
from tests.clients_core.test_consumer import Lab
from tests.clients_core.test_read_committed import data, marker

from broker_core.sharing.records import ShareKey
from broker_core.wire import messages as m

GROUP = "workers"
SETTINGS = {
    f"share.coordinator.state.topic.{name}": "1" for name in ("num.partitions", "replication.factor", "min.isr")
}  # fmt: skip


@pytest.mark.parametrize(
    ("level", "first", "later"),
    [("read_committed", {1}, {4}), ("read_uncommitted", {0, 1, 4}, set())],
)
def test_records_of_aborted_transactions_are_given_only_to_groups_that_want_them(
    level: str, first: set[int], later: set[int]
) -> None:
    lab = Lab(count=0, controller="kraft", settings=SETTINGS)
    lab.do(do="create_topic", topic="sales", partitions=1, replication_factor=3)
    lab.run(2)
    leader = next(
        node.machine for name, node in lab.world.nodes.items() if name.startswith("broker-")
        and node.machine.replicas.partition("sales", 0) and node.machine.replicas.partition("sales", 0).is_leader
    )  # fmt: skip
    leader.groups.registry.overrides[GROUP] = {"share.isolation.level": level}
    key = ShareKey(GROUP, leader.cache.topic_ids["sales"], 0)
    told: list[Any] = []
    for _ in range(2):  # the first one lets the share coordinator's topic come into being
        leader.share_persister.initialize(GROUP, {(key.topic_id, 0): 0}, 1, lambda _, errors: told.append(errors), None)
        lab.run(10)
    assert set(told[-1].values()) == {0}

    def append(records: bytearray, origin: str = "client") -> None:
        leader.replicas.append(30_000, -1, [("sales", 0, records)], lambda _, answer: None, None, origin)
        lab.run(0.1)

    def fetch() -> set[int]:
        """Offsets of records that are given to the member; markers are none."""
        answers: list[Any] = []
        request = m.ShareFetchRequest(max_wait=500, min_bytes=1, max_bytes=1 << 20, max_records=0, batch_size=100)
        leader.share_fetching.fetch("member", [key], request, answers.append)
        lab.run(5)
        (answer,) = answers
        assert not [part for part in answer.values() if part.error_code]
        spans = [one for part in answer.values() for one in part.acquired_records]
        return {number for one in spans for number in range(one.first_offset, one.last_offset + 1)} & {0, 1, 4}

    for records, origin in [
        (data(1), "client"), (data(2), "client"), (marker(1, False), "coordinator"), (marker(2, True), "coordinator"),
        (data(1, 1), "client"),
    ]:  # fmt: skip
        append(records, origin)
    assert fetch() == first
    append(marker(1, True), "coordinator")
    assert fetch() == later
