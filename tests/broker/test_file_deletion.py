"""The files of many partitions that were deleted at once: the broker does other things in between."""

from __future__ import annotations

import pytest

from broker_core.broker.file_deletion import SLICE_FILES
from broker_core.log.log_manager import LogManager
from lab.testing import cluster

PARTITIONS = 60


@pytest.mark.parametrize("at_once", [True, False], ids=["remove_deleted", "after file.delete.delay.ms"])
def test_many_partitions_go_in_slices_of_the_worlds_time(at_once: bool) -> None:
    with cluster(brokers=1, simulated=True, topics={"orders": PARTITIONS}) as kafka:
        node = kafka.world.nodes["broker-1"]
        manager: LogManager = node.machine.log_manager  # type: ignore[union-attr]

        def left() -> int:
            found = [name for name in node.storage.list(manager.log_dirs[0]) if name.startswith("orders-")]
            return sum(len(node.storage.list(f"{manager.log_dirs[0]}/{name}")) for name in found)

        kafka.delete_topic("orders")
        kafka.run(1)
        counts = [left()]
        assert counts[0] > 2 * SLICE_FILES
        if at_once:
            kafka.remove_deleted()
            kafka.remove_deleted()
        while counts[-1] and kafka.now_s < 120:
            kafka.run(0.04)
            counts.append(left())
        assert counts[-1] == 0 and kafka.now_s < (10 if at_once else 80)
        assert max(before - after for before, after in zip(counts, counts[1:], strict=False)) <= SLICE_FILES
