"""Offset and time index: bytes, lookups against a plain search, sanity."""

from __future__ import annotations

from bisect import bisect_right

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.errors import CorruptIndex
from broker_core.log.offset_index import OffsetIndex
from broker_core.log.time_index import TimeIndex


def test_base_offset_50_stores_5_for_55() -> None:
    file = MemoryStorage().open("50.index")
    OffsetIndex(file, 50, 1000).append(55, 4200)
    assert bytes(file.read(0, 8)).hex() == "0000000500001068"
    times = MemoryStorage().open("50.timeindex")
    TimeIndex(times, 50, 1000).maybe_append(1_700_000_000_000, 55)
    assert bytes(times.read(0, 12)).hex() == "0000018bcfe5680000000005"


@given(st.sets(st.integers(51, 400), min_size=1), st.integers(0, 450))
def test_lookup_finds_the_last_entry_not_above(chosen: set[int], wanted: int) -> None:
    file = MemoryStorage().open("50.index")
    index = OffsetIndex(file, 50, 10_000)
    entries = [(offset, offset * 10) for offset in sorted(chosen)]
    for entry in entries:
        index.append(*entry)
    place = bisect_right(entries, (wanted, 10**9)) - 1
    expected = entries[place] if place >= 0 else (50, 0)
    for one in (index, OffsetIndex(file, 50, 10_000)):
        assert one.lookup(wanted) == expected
        assert one.entries() == entries and len(one) == len(entries)
    index.truncate_to(wanted)
    assert index.entries() == [entry for entry in entries if entry[0] < wanted]
    assert file.size == 8 * len(index)


def test_entries_only_go_up() -> None:
    index = OffsetIndex(MemoryStorage().open("a.index"), 0, 100)
    index.append(5, 10)
    with pytest.raises(CorruptIndex):
        index.append(5, 20)
    times = TimeIndex(MemoryStorage().open("a.timeindex"), 0, 100)
    for timestamp, offset in ((10, 1), (9, 2), (10, 3), (11, 4)):
        times.maybe_append(timestamp, offset)
    assert times.entries() == [(10, 1), (11, 4)]
    assert (times.lookup(9), times.lookup(10), times.lookup(99)) == ((-1, 0), (10, 1), (11, 4))


def test_full_is_full_at_the_number_of_whole_entries() -> None:
    index = OffsetIndex(MemoryStorage().open("a.index"), 0, 17)
    index.append(1, 1)
    assert not index.is_full
    index.append(2, 2)
    assert index.is_full


@pytest.mark.parametrize("content", [b"\0" * 7, b"\0" * 8, b"\0\0\0\5\0\0\0\0" + b"\0" * 8])
def test_a_file_that_contradicts_itself_is_found(content: bytes) -> None:
    file = MemoryStorage().open("a.index")
    file.append((content,))
    with pytest.raises(CorruptIndex):
        OffsetIndex(file, 0, 100).sanity_check()
