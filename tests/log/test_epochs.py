"""Leader epochs: the answers of Kafka's LeaderEpochFileCache."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log.epochs import LeaderEpochCache


class End:
    offset = 40

    def log_end_offset(self) -> int:
        return self.offset


def cache(*entries: tuple[int, int], storage: MemoryStorage | None = None) -> LeaderEpochCache:
    made = LeaderEpochCache(storage or MemoryStorage(), "d/leader-epoch-checkpoint", End().log_end_offset)
    for epoch, start in entries:
        made.assign(epoch, start)
    return made


@pytest.mark.parametrize(
    ("epoch", "answer"),
    [(5, (5, 40)), (2, (2, 25)), (3, (2, 25)), (4, (2, 25)), (0, (0, 10)), (1, (0, 10)), (7, (-1, -1)), (-1, (-1, -1))],
)
def test_the_answers_of_the_table(epoch: int, answer: tuple[int, int]) -> None:
    assert cache((0, 0), (2, 10), (5, 25)).end_offset_for(epoch) == answer


def test_an_epoch_older_than_the_log_ends_where_the_log_begins() -> None:
    assert cache((2, 10)).end_offset_for(1) == (1, 10)
    assert cache().end_offset_for(0) == (-1, -1)


def test_news_that_contradict_older_entries_replace_them() -> None:
    one = cache((1, 10), (2, 20), (3, 30))
    assert not one.assign(3, 35)
    assert one.entries[-1] == (3, 30)
    assert one.assign(4, 15)
    assert one.entries == [(1, 10), (4, 15)]
    assert one.assign(2, 12)
    assert one.entries == [(1, 10), (2, 12)]


def test_cutting_at_the_end_and_at_the_start() -> None:
    one = cache((1, 10), (2, 20), (3, 30))
    one.truncate_from_end(30)
    assert one.entries == [(1, 10), (2, 20)]
    one.truncate_from_start(25)
    assert one.entries == [(2, 25)]
    one.truncate_from_start(3)
    assert one.entries == [(2, 25)]
    one.truncate_from_end(0)
    assert one.entries == []


def test_who_wrote_an_offset() -> None:
    one = cache((1, 10), (4, 20))
    assert [one.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 1, 1, 4, 4]


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 30)), max_size=12))
def test_the_file_says_what_memory_says_and_both_only_go_up(entries: list[tuple[int, int]]) -> None:
    storage = MemoryStorage()
    one = cache(*entries, storage=storage)
    found = one.entries
    assert found == sorted(found) and [start for _, start in found] == sorted({start for _, start in found})
    assert cache(storage=storage).entries == found


def test_the_file_is_kafkas() -> None:
    storage = MemoryStorage()
    cache((0, 0), (5, 25), storage=storage)
    assert storage.read_text("d/leader-epoch-checkpoint") == "0\n2\n0 0\n5 25\n"
