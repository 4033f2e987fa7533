"""Memory and real files behave alike: appended, read, truncated, renamed, cut by a power loss."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_core.drivers import files
from broker_core.drivers.files import DiskCaches, DiskStorage
from broker_core.kernel import chunks
from broker_core.kernel.errors import StorageError
from broker_core.kernel.storage_memory import MemoryStorage


@pytest.fixture(params=["memory", "disk", "disk without a tail"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    if request.param == "memory":
        return MemoryStorage()
    return DiskStorage(tmp_path, DiskCaches(tail_budget=1 << 20 if request.param == "disk" else 0, descriptors=2))


def test_appended_buffers_are_read_back_over_their_borders(storage: Any) -> None:
    file = storage.open("data/t-0/00.log")
    assert file.append([b"abc", bytearray(b"defg")]) == 0
    assert file.append([b"x" * 10_000]) == 7
    assert bytes(file.read(2, 4)) == b"cdef"
    assert bytes(file.read(5, 4)) == b"fgxx"
    assert bytes(file.read(10_000, 100)) == b"x" * 7
    assert bytes(file.slice(0, 3).read()) == b"abc"
    assert file.size == 10_007


def test_truncated_bytes_are_gone_and_views_given_out_before_stay_true(storage: Any) -> None:
    file = storage.open("f")
    file.append([b"0123456789"])
    before = file.read(0, 10)
    file.truncate(4)
    file.append([b"abcdef"])
    assert bytes(before) == b"0123456789"
    assert bytes(file.read(0, 20)) == b"0123abcdef"


def test_power_loss_leaves_what_was_flushed(storage: Any) -> None:
    file = storage.open("d/f")
    file.append([b"kept"])
    file.flush()
    file.append([b"lost"])
    storage.power_loss()
    assert bytes(storage.open("d/f").read(0, 100)) == b"kept"


def test_a_renamed_directory_takes_its_open_files_along(storage: Any) -> None:
    file = storage.open("old/a")
    file.append([b"1"])
    storage.open("old/b").append([b"2"])
    storage.rename("old", "new")
    file.append([b"3"])
    assert storage.list("new") == ["a", "b"] and storage.list("old") == []
    assert bytes(storage.open("new/a").read(0, 9)) == b"13"
    storage.delete("new")
    assert not storage.exists("new")


def test_disks_that_change_places_take_all_their_files_along(storage: Any, tmp_path: Path) -> None:
    there = tmp_path / "one", tmp_path / "other"
    one, other = (MemoryStorage() if isinstance(storage, MemoryStorage) else DiskStorage(path) for path in there)
    one.open("d/f").append([b"first"])
    other.write_text("d/g", "second")
    one.exchange(other)
    assert one.list("d") == ["g"] and other.list("d") == ["f"]
    assert one.read_text("d/g") == "second" and bytes(other.open("d/f").read(0, 9)) == b"first"
    blank = MemoryStorage() if isinstance(storage, MemoryStorage) else DiskStorage(tmp_path / "blank")
    blank.exchange(other)
    assert other.list("") == [] and blank.list("d") == ["f"]


def test_text_files_are_replaced_whole(storage: Any) -> None:
    storage.write_text("meta/x", "one")
    storage.write_text("meta/x", "two")
    assert storage.read_text("meta/x") == "two"
    with pytest.raises(StorageError, match="read meta/y"):
        storage.read_text("meta/y")


_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.lists(st.binary(max_size=6000), max_size=3)),
        st.tuples(st.just("truncate"), st.integers(0, 12_000)),
        st.tuples(st.just("read"), st.tuples(st.integers(0, 12_000), st.integers(0, 9000))),
    ),
    max_size=12,
)


@settings(max_examples=60, deadline=None)
@given(steps=_STEPS, budget=st.sampled_from([0, 3000, 1 << 20]))
def test_both_homes_hold_the_same_bytes_as_a_plain_bytearray(
    steps: list[Any], budget: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    model = bytearray()
    files = [MemoryStorage().open("f"), DiskStorage(tmp_path_factory.mktemp("s"), DiskCaches(budget)).open("f")]
    for step, given_value in steps:
        if step == "append":
            model += b"".join(given_value)
        elif step == "truncate":
            del model[given_value:]
        for file in files:
            if step == "append":
                file.append(given_value)
            elif step == "truncate":
                file.truncate(given_value)
            else:
                start, size = given_value
                assert bytes(file.read(start, size)) == bytes(model[start : start + size])
            assert file.size == len(model)


@pytest.mark.parametrize("joined", [True, False])
def test_what_was_joined_for_a_follower_is_held_in_blocks(tmp_path: Path, joined: bool) -> None:
    """What came over the network is held as it came."""
    content = bytes(range(256)) * 1500
    storage = DiskStorage(tmp_path)
    file = storage.open("log")
    file.append([b"before", memoryview(content if joined else bytearray(content)), b"behind"])
    assert bytes(file.read(0, file.size)) == b"before" + content + b"behind"
    assert file.in_memory(0, file.size)
    largest = max(len(one) for one in file._tail.held())
    assert largest == (files.BLOCK if joined else len(content))
    storage.close()


@pytest.mark.parametrize("size", [8, 1300])
def test_what_is_held_of_files_takes_no_more_memory_than_its_budget(tmp_path: Path, size: int) -> None:
    budget = 1 << 18
    storage = DiskStorage(tmp_path, DiskCaches(tail_budget=budget))
    file = storage.open("log")
    tracemalloc.start()
    try:
        for _ in range(2 * budget // size):
            file.append([bytes(size)])
        ours = tracemalloc.take_snapshot().filter_traces(  # other threads of this process may be at work, in a lab, too
            [tracemalloc.Filter(True, one) for one in (files.__file__, chunks.__file__, __file__)])
        held = sum(trace.size for trace in ours.traces)
    finally:
        tracemalloc.stop()
    storage.close()
    assert budget // 3 < held < budget * 1.2
