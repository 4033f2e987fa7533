"""What is shown of a log that holds messages of magic 0 and 1, plain and in wrappers, in front of batches.

A wrapper's own offset is that of its last message; whoever looks wants to know where it begins, and what is in it.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel.storage import read_all
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import PartitionLog
from lab.checkers.bytes import look_up
from lab.clusters.stopped import DiskLog
from lab.clusters.tails import BATCHES, tail_of
from tests.lab.test_bytes import Machine
from tests.log.logs import open_log
from tests.log.test_old_formats import mixed
from tests.replication.harness import Cluster
from web.api.records import Found, decode


def copy_of(leader: PartitionLog) -> tuple[PartitionLog, list[tuple[int, int]]]:
    """A follower's log that was fetched some 300 bytes at a time, and first and last offset of each append."""
    follower, told = open_log(MemoryStorage(), directory="data/copy-0"), []
    while follower.log_end_offset < leader.log_end_offset:
        found = leader.read(follower.log_end_offset, 300, leader.log_end_offset)
        info = follower.append_as_follower(bytes(read_all(found.slices)))
        told.append((info.first_offset, info.last_offset))
    return follower, told


def test_a_follower_tells_of_each_append_from_its_first_record_on() -> None:
    leader = mixed()
    _, told = copy_of(leader)
    assert len(told) > 15 and told[0][0] == 0 and told[-1][1] == leader.log_end_offset - 1
    assert all(before[1] + 1 == after[0] for before, after in zip(told, told[1:], strict=False))


def test_the_last_batches_of_leader_and_copy_are_the_same_ones_and_have_no_holes() -> None:
    leader = mixed()
    follower, _ = copy_of(leader)
    headers = [batch.header for batch in leader.active.batches()]
    for end in range(1, len(headers) + 1):
        on_disk = DiskLog(0, headers[end - 1].next_offset, 0, headers[max(0, end - BATCHES - 1) : end])
        lines = tail_of(on_disk)
        assert len(lines) == min(end, BATCHES) and lines[-1][1] == headers[end - 1].last_offset
        assert all(before[1] + 1 == after[0] for before, after in zip(lines, lines[1:], strict=False))
        assert end > BATCHES or lines[0][0] == 0
    assert tail_of(leader) == tail_of(follower) == lines


def test_every_offset_is_in_the_batch_that_is_shown_for_it() -> None:
    log, world = mixed(), Cluster(1).world
    node: Any = world.nodes["broker-1"]
    node.machine = Machine(log)
    for offset in range(log.log_end_offset):
        found = look_up(world, "orders", 0, offset, 1)
        batch, offsets = found["batch"], [one["offset"] for one in found["records"]]
        assert offsets == list(range(batch["base_offset"], batch["last_offset"] + 1)) and offset in offsets
        names = [field["name"] for field in batch["fields"]]
        assert ("messages" in names) == (batch["magic"] < 2 and batch["compression"] != "none")
        crc = next(field for field in batch["fields"] if field["name"] == "crc")
        assert ("CRC-32C" in crc["en"]) == ("CRC-32C" in crc["ko"]) == (batch["magic"] == 2)


def test_a_page_of_records_counts_what_is_in_a_wrapper() -> None:
    log = mixed()
    data = bytes(read_all(log.read(0, 1 << 20, log.log_end_offset).slices))
    end = log.log_end_offset
    page = decode(Found(1, 1, data, 0, end, end, end, True), None, 1000, True)
    assert sum(batch["count"] for batch in page["batches"]) == len(page["records"]) == end
    for batch in page["batches"]:
        held = [one["offset"] for one in page["records"] if one["batch"] == batch["base_offset"]]
        assert held == list(range(batch["base_offset"], batch["last_offset"] + 1)) and len(held) == batch["count"]
        assert batch["fields"][-1]["end"] == batch["size"]
