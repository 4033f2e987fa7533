"""A partition of an internal topic moves from leader to leader, with nothing above it but a dictionary."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from broker_core.coordinators import stored
from broker_core.coordinators.runtime import CoordinatorRuntime
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from broker_core.log.config import LogConfig
from broker_core.log.partition_log import PartitionLog
from broker_core.records.batch import encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.wire.errors import ErrorCode as E

KEY = "k"  # hash 107 -> partition 7 of 50


class Shard:
    """Counted, not yet counted by producer id, and who has ended how."""

    def __init__(self) -> None:
        self.values: dict[bytes, bytes | None] = {}
        self.markers: list[tuple[int, bool]] = []

    def replay(self, key: Any, value: Any, header: Any) -> None:
        if value == b"broken":
            raise stored.MalformedRecord("broken")
        self.values[bytes(key)] = None if value is None else bytes(value)

    def replay_marker(self, header: Any, commit: bool) -> None:
        self.markers.append((header.producer_id, commit))


class Shards:
    def __init__(self) -> None:
        self.taken: list[tuple[int, Shard]] = []
        self.given: list[tuple[int, bool]] = []
        self.refused: list[int] = []

    def blank(self, partition: int) -> Shard:
        return Shard()

    def take_over(self, partition: int, shard: Shard) -> None:
        self.taken.append((partition, shard))

    def give_up(self, partition: int, known: bool) -> None:
        self.given.append((partition, known))

    def refuse(self, partition: int, offset: int, reason: str) -> None:
        self.refused.append(offset)


class Topic:
    """One log; appends are committed at once."""

    def __init__(self) -> None:
        self.log = PartitionLog(MemoryStorage(), "data/t-7", "t", 7, LogConfig(), 0)

    def append(self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any, guard: int | None = None) -> None:
        self.log.append_as_leader(records, 0, 0, origin="coordinator")
        done(context, 0)

    def read(self, partition: int) -> PartitionLog:
        return self.log

    def failed(self, error: Exception) -> None:
        raise error

    def partition_count(self) -> int | None:
        return None


class Lab:
    def __init__(self, reload: bool = False) -> None:
        self.world = World(seed=1)
        self.world.add_node("n", MemoryStorage(), lambda node: Machine())
        self.world.start_node("n")
        self.topic, self.shards = Topic(), Shards()
        self.runtime = CoordinatorRuntime(self.world.nodes["n"], self.topic, 50, self.shards, reload)

    def write(self, count: int) -> None:
        for number in range(count):
            self.runtime.append(KEY, [(b"%d" % number, b"v")], lambda context, error: None, None)

    def run(self) -> None:
        self.world.run_until(self.world.now_us)


class Machine:
    def start(self) -> None: ...

    def receive(self, source: str, message: Any) -> None: ...

    def peer_down(self, peer: str) -> None: ...

    def shut_down(self) -> None: ...


def test_who_is_asked_before_during_and_after() -> None:
    lab = Lab()
    assert lab.runtime.partition_for(KEY) == 7 and lab.runtime.status(KEY) is E.NOT_COORDINATOR
    lab.runtime.elected(7, 1)
    assert lab.runtime.status(KEY) is E.COORDINATOR_LOAD_IN_PROGRESS
    lab.run()
    assert lab.runtime.status(KEY) is E.NONE
    lab.runtime.resigned(7, 0)
    assert lab.runtime.status(KEY) is E.NONE, "news of an older epoch"
    lab.runtime.resigned(7, 2)
    assert lab.runtime.status(KEY) is E.NOT_COORDINATOR and lab.shards.given == [(7, True)]
    lab.runtime.shut_down()
    assert lab.runtime.status(KEY) is E.COORDINATOR_NOT_AVAILABLE


def test_a_partition_that_is_lost_and_won_again_while_it_is_read_is_taken_over_once_with_everything() -> None:
    lab = Lab()
    lab.write(2500)
    lab.runtime.elected(7, 1)
    lab.runtime.resigned(7, 2)
    lab.write(1)
    lab.runtime.append(KEY, [(b"late", b"v")], lambda context, error: None, None)
    lab.runtime.elected(7, 3)
    lab.run()
    assert [partition for partition, _ in lab.shards.taken] == [7]
    assert len(lab.shards.taken[0][1].values) == 2501 and b"late" in lab.shards.taken[0][1].values


@pytest.mark.parametrize("reload", [False, True])
def test_a_leader_that_is_elected_again_reads_again_only_where_the_epoch_matters(reload: bool) -> None:
    lab = Lab(reload)
    for epoch in (1, 1, 2):
        lab.runtime.elected(7, epoch)
        lab.run()
    assert len(lab.shards.taken) == (2 if reload else 1) and lab.runtime.epochs[7] == 2


def test_markers_and_records_that_cannot_be_read_go_by_without_harm() -> None:
    lab = Lab()
    lab.runtime.append(KEY, [(b"a", b"1")], lambda context, error: None, None, producer=(5, 0))
    lab.topic.log.append_as_leader(encode_batch([(0, b"b", b"broken", ())]), 0, 0, origin="coordinator")
    lab.topic.log.append_as_leader(transaction_marker_batch(True, 5, 0, 3, 0), 0, 0, origin="coordinator")
    lab.runtime.elected(7, 1)
    lab.run()
    shard = lab.shards.taken[0][1]
    assert shard.values == {b"a": b"1"} and shard.markers == [(5, True)] and lab.shards.refused == [1]
