"""A log is read around its damage, over all of its segments."""

from __future__ import annotations

import pytest

from broker_core.kernel.storage_faults import flip
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import PartitionLog
from broker_core.log.salvage import Damage, Place, readable_batches
from tests.log.logs import NOW, batch, open_log

COUNT = 40


def written() -> PartitionLog:
    """COUNT batches of one record, ten in each segment."""
    log = open_log(MemoryStorage(), segment_bytes=1000, index_interval_bytes=200)
    for _ in range(COUNT):
        log.append_as_leader(batch(size=20), 0, NOW)
    assert len(log.segments) > 3
    return log


def read(log: PartitionLog, place: Place | None = None, most: int = COUNT) -> tuple[list[int], list[int]]:
    """Offsets of the batches that were read, and of the damages between them."""
    good: list[int] = []
    bad: list[int] = []
    for one in readable_batches(log, place or Place(0)):
        if isinstance(one, Damage):
            bad.append(one.offset)
        else:
            good.append(one.header.base_offset)
        if len(good) == most:
            break
    return good, bad


def test_a_sound_log_is_read_as_it_is_and_in_parts() -> None:
    log, place = written(), Place(0)
    assert read(log) == (list(range(COUNT)), [])
    assert [offset for _ in range(6) for offset in read(log, place, 7)[0]] == list(range(COUNT))


@pytest.mark.parametrize("segment", [0, 1, -1])
@pytest.mark.parametrize("field", [8, 11, 16, 17, 40, 60, 70])
def test_a_damage_costs_at_most_what_lies_before_the_next_entry_of_the_index(segment: int, field: int) -> None:
    log = written()
    flip(log.segments[segment].log, field)
    first = log.segments[segment].base_offset
    good, bad = read(log)
    lost = [offset for offset in range(COUNT) if offset not in good]
    assert bad == [first] and lost == list(range(first, first + len(lost))) and len(lost) <= 4


def test_a_log_that_was_cut_inside_of_a_batch_is_read_up_to_there() -> None:
    log = written()
    last = log.segments[-1]
    last.log.truncate(last.size - 5)
    assert read(log) == (list(range(COUNT - 1)), [COUNT - 1])
