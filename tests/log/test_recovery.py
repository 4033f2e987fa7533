"""What a start makes of what a crash, a power loss or a bad disk has left."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import PartitionLog
from broker_core.log.errors import OutOfOrderSequence
from broker_core.log.producer_snapshot import encode_snapshot
from broker_core.log.segment_scan import BATCH_WORK
from broker_core.log.verify import verify_indexes
from broker_core.records import iterate_batches
from tests.log.logs import NOW, Journal, batch, contents, offsets, open_log

DIRECTORY = "data/orders-0"
FIRST = f"{DIRECTORY}/00000000000000000000"


def written(storage: MemoryStorage, batches: int = 30, **more: object) -> PartitionLog:
    more.setdefault("index_interval_bytes", 200)
    log = open_log(storage, **more)
    sequence = 0
    for number in range(batches):
        count = 1 + number % 3
        if number % 2:
            data = batch(count, NOW + number, producer_id=0, producer_epoch=0, base_sequence=sequence)
            sequence += count
        else:
            data = batch(count, NOW + number)
        log.append_as_leader(data, number // 10, NOW)
    return log


def check_whole(log: PartitionLog) -> None:
    """Indexes agree with the bytes, offsets are dense, epochs lie below the end."""
    found = offsets(log)
    assert found == list(range(log.log_start_offset, log.log_end_offset))
    for segment in log.segments:
        assert verify_indexes(segment.log, segment.index, segment.time_index) == []
    assert all(start < max(log.log_end_offset, 1) for _, start in log.leader_epochs.entries)


def test_a_crash_loses_nothing() -> None:
    storage = MemoryStorage()
    log = written(storage)
    again = open_log(storage)
    assert contents(again) == contents(log)
    assert (again.log_end_offset, again.leader_epochs.entries) == (log.log_end_offset, log.leader_epochs.entries)
    check_whole(again)


def in_slices(storage: MemoryStorage, most_bytes: int, journal: Journal, **more: Any) -> tuple[PartitionLog, int]:
    """Opened slice by slice, and how many there were."""
    log, slices = open_log(storage, emit=journal.emit, in_slices=True, **more), 0
    while log.opening is not None:
        opening = log.opening
        work = log.open(most_bytes)
        assert work <= most_bytes + BATCH_WORK  # one batch more at most
        assert opening.checked >= 0, "what is gone through once more does not count back"
        slices += 1
    return log, slices


def _torn(storage: MemoryStorage) -> None:
    storage.open(f"{FIRST}.log").truncate(storage.open(f"{FIRST}.log").size - 5)


def _flipped(storage: MemoryStorage) -> None:
    file = storage.open(f"{FIRST}.log")
    data = bytearray(file.read(0, file.size))
    data[len(data) // 2] ^= 1
    file.truncate(0)
    file.append((bytes(data),))


def _too_high(storage: MemoryStorage, nth: int = 5, by: int = 1 << 20) -> None:
    """The base offset of a batch, which no checksum covers."""
    file = storage.open(f"{FIRST}.log")
    data = file.read(0, file.size)
    position = list(iterate_batches(data))[nth].position
    file.overwrite(position, (int.from_bytes(data[position : position + 8]) + by).to_bytes(8))


def _of_another_epoch(storage: MemoryStorage, nth: int, epoch: int) -> None:
    """The leader epoch of a batch, which no checksum covers."""
    file = storage.open(f"{FIRST}.log")
    position = list(iterate_batches(file.read(0, file.size)))[nth].position
    file.overwrite(position + 12, epoch.to_bytes(4))


def _without_indexes(storage: MemoryStorage) -> None:
    for name in storage.list(DIRECTORY):
        if name.endswith("index"):
            storage.delete(f"{DIRECTORY}/{name}")


def test_a_slice_ends_after_so_many_batches_however_small_they_are() -> None:
    storage = MemoryStorage()
    written(storage, batches=60)
    _, slices = in_slices(storage, 10 * BATCH_WORK, Journal(), recovery_point=0)
    assert slices >= 6


@pytest.mark.parametrize("harm", [lambda storage: None, _torn, _flipped, _too_high, _without_indexes])
@pytest.mark.parametrize("most_bytes", [1, 500])
def test_a_log_that_is_opened_in_slices_is_the_one_that_is_opened_at_once(harm: Any, most_bytes: int) -> None:
    opened, told = [], []
    for limit in (most_bytes, 1 << 40):
        storage = MemoryStorage()
        written(storage, segment_bytes=1500)
        harm(storage)
        journal = Journal()
        log, slices = in_slices(storage, limit, journal, recovery_point=20, segment_bytes=1500)
        check_whole(log)
        assert (slices > 1) == (limit == most_bytes)
        names = storage.list(DIRECTORY)
        files = {name: bytes(storage.open(f"{DIRECTORY}/{name}").read(0, 1 << 20)) for name in names}
        opened.append((files, log.log_end_offset, log.recovery_point, encode_snapshot(log.producers), log.leader_epochs.entries))
        told.append(journal.events)
    assert opened[0] == opened[1] and told[0] == told[1]


@pytest.mark.parametrize("nth", [0, 1, 5, 28])
def test_a_batch_whose_offset_stands_too_high_is_the_stranger_not_the_one_behind_it(nth: int) -> None:
    """By its checksum it is whole; it was kept, what is right behind it was cut, and the log had its end far ahead."""
    storage, journal = MemoryStorage(), Journal()
    log = written(storage)
    bases = [one.header.base_offset for one in iterate_batches(contents(log))]
    _too_high(storage, nth)
    again = open_log(storage, emit=journal.emit, recovery_point=0)
    assert again.log_end_offset == bases[nth]
    check_whole(again)
    [told] = journal.named("log_recovered")
    assert told["reason"] == f"offset {bases[nth] + (1 << 20)} stands between {bases[nth] - 1} and {bases[nth + 1]}"
    again.append_as_leader(batch(), 3, NOW)
    assert again.log_end_offset == bases[nth] + 1


@pytest.mark.parametrize(("left", "stays"), [(22, False), (17, False), (16, True), (0, True)])
def test_the_first_bytes_of_a_batch_are_enough_to_tell_that_the_one_before_stands_too_high(left: int, stays: bool) -> None:
    """Where not even its base offset, length and magic are there, nobody can know: a cleaned topic has such steps, too."""
    storage = MemoryStorage()
    bases = [(one.header.base_offset, one.position) for one in iterate_batches(contents(written(storage)))]
    _too_high(storage, 4)
    storage.open(f"{FIRST}.log").truncate(bases[5][1] + left)
    again = open_log(storage, emit=Journal().emit, recovery_point=0)
    assert again.log_end_offset == (bases[5][0] + (1 << 20) if stays else bases[4][0])


@pytest.mark.parametrize("nth", [5, 15, 29])
def test_a_batch_of_an_epoch_that_has_never_begun_ends_the_log(nth: int) -> None:
    """By its checksum it is whole. A leader cannot say where such an epoch ends, so a follower with it never came back."""
    storage, journal = MemoryStorage(), Journal()
    log = written(storage)
    bases = [one.header.base_offset for one in iterate_batches(contents(log))]
    _of_another_epoch(storage, nth, 3 + (1 << 20))
    again = open_log(storage, emit=journal.emit, recovery_point=0)
    assert again.log_end_offset == bases[nth]
    assert again.leader_epochs.entries == log.leader_epochs.entries[: nth // 10 + bool(nth % 10)]
    check_whole(again)
    [told] = journal.named("log_recovered")
    assert told["reason"] == f"leader epoch {3 + (1 << 20)} has never begun"


def test_without_its_checkpoint_a_log_has_the_epochs_that_its_batches_name() -> None:
    storage = MemoryStorage()
    log = written(storage)
    storage.delete(f"{DIRECTORY}/leader-epoch-checkpoint")
    again = open_log(storage, recovery_point=0)
    assert contents(again) == contents(log) and again.leader_epochs.entries == log.leader_epochs.entries


@pytest.mark.parametrize("lost_answers", range(1, 6))
def test_what_an_idempotent_producer_sends_again_after_a_crash_is_known_up_to_five_batches(lost_answers: int) -> None:
    """Killed with a flush behind each record: answers were on their way, and the producer sends all in flight again."""
    storage = MemoryStorage()
    log = open_log(storage, flush_messages=1)
    sent = [batch(2, NOW + at, producer_id=7, producer_epoch=0, base_sequence=2 * at) for at in range(9)]
    for data in sent:
        log.append_as_leader(bytearray(data), 0, NOW)
    again = open_log(storage, recovery_point=log.recovery_point)
    before = contents(again)
    for at in range(9 - lost_answers, 9):
        info = again.append_as_leader(bytearray(sent[at]), 1, NOW)
        assert info.duplicate and (info.first_offset, info.last_offset) == (2 * at, 2 * at + 1)
    assert contents(again) == before
    with pytest.raises(OutOfOrderSequence):
        again.append_as_leader(batch(2, NOW, producer_id=7, producer_epoch=0, base_sequence=20), 1, NOW)
    assert not again.append_as_leader(batch(2, NOW, producer_id=7, producer_epoch=1, base_sequence=0), 1, NOW).duplicate


def test_after_a_cut_at_every_byte_of_the_tail_the_log_ends_at_a_whole_batch() -> None:
    storage = MemoryStorage()
    log = written(storage, batches=12)
    whole = contents(log)
    ends = [0]
    for one in iterate_batches(whole):
        ends.append(one.position + one.header.size)
    for cut in range(ends[-4], len(whole) + 1):
        torn = MemoryStorage()
        torn.open(f"{FIRST}.log").append((whole[:cut],))
        journal = Journal()
        again = open_log(torn, emit=journal.emit)
        expected = max(end for end in ends if end <= cut)
        assert contents(again) == whole[:expected]
        reported = [event["bytes_cut"] for event in journal.named("log_recovered")]
        assert reported == ([cut - expected] if cut > expected else [])
        check_whole(again)
        again.append_as_leader(batch(), 9, NOW)
        check_whole(again)


@pytest.mark.parametrize("at", [0, 8, 16, 17, 21, 60, 70])
def test_a_damaged_batch_behind_the_recovery_point_cuts_there(at: int) -> None:
    storage = MemoryStorage()
    log = written(storage, segment_bytes=800)
    third = log.segments[2]
    start = next(iterate_batches(third.log.read(0, third.size)))
    bad = bytearray(third.log.read(0, third.size))
    bad[start.header.size + at] ^= 0x80
    end = start.header.next_offset
    replace(storage, f"{third.path}.log", bytes(bad))
    again = open_log(storage, segment_bytes=800)
    if at == 0:
        assert again.log_end_offset >= end
        return
    assert again.log_end_offset == end and len(again.segments) == 3
    check_whole(again)


def replace(storage: MemoryStorage, path: str, content: bytes) -> None:
    storage.delete(path)
    file = storage.open(path)
    file.append((content,))
    file.flush()


def test_damage_below_the_recovery_point_is_not_looked_for() -> None:
    storage = MemoryStorage()
    log = written(storage, segment_bytes=800)
    log.flush()
    point, end = log.recovery_point, log.log_end_offset
    bad = bytearray(log.segments[0].log.read(0, log.segments[0].size))
    bad[70] ^= 1
    replace(storage, f"{FIRST}.log", bytes(bad))
    assert open_log(storage, segment_bytes=800, recovery_point=point).log_end_offset == end
    assert open_log(storage, segment_bytes=800, clean=True).log_end_offset == end


def test_a_cut_is_told_with_its_offsets_and_whether_they_had_been_acknowledged() -> None:
    for high_watermark, committed in ((30, True), (20, False)):
        storage = MemoryStorage()
        log = open_log(storage, index_interval_bytes=200)
        for _ in range(40):
            log.append_as_leader(batch(1), 0, NOW)
        whole = bytearray(log.active.log.read(0, log.active.size))
        at = next(one.position for one in iterate_batches(bytes(whole)) if one.header.base_offset == 25) + 30
        whole[at:] = b"?" * (len(whole) - at)
        replace(storage, f"{FIRST}.log", bytes(whole))
        journal = Journal()
        again = open_log(storage, emit=journal.emit, high_watermark=high_watermark)
        (told,) = journal.named("log_recovered")
        assert (again.log_end_offset, told["end"], told["committed"]) == (25, 25, committed)
        assert 30 < told["before"] <= 40  # the last entry of the index
        assert again.high_watermark == 0


def test_a_log_that_ends_below_its_start_is_told() -> None:
    storage = MemoryStorage()
    end = written(storage, batches=3).log_end_offset
    journal = Journal()
    open_log(storage, log_start_offset=50, high_watermark=60, emit=journal.emit)
    (told,) = journal.named("log_recovered")
    assert (told["end"], told["before"], told["committed"]) == (50, 60, True) and f"ends at {end}" in told["reason"]


def test_power_loss_keeps_what_was_flushed_and_a_whole_log() -> None:
    for flush_at in range(0, 30, 3):
        storage = MemoryStorage()
        log = open_log(storage, index_interval_bytes=200, segment_bytes=1500)
        for number in range(30):
            log.append_as_leader(batch(2, NOW + number), number // 10, NOW)
            if number == flush_at:
                log.flush()
                flushed = log.log_end_offset
        point = log.recovery_point
        storage.power_loss()
        again = open_log(storage, segment_bytes=1500, recovery_point=point)
        assert again.log_end_offset >= flushed
        check_whole(again)


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
def test_a_missing_index_is_rebuilt_even_after_a_clean_shutdown(suffix: str) -> None:
    storage = MemoryStorage()
    log = written(storage)
    log.close()
    before = log.active.index.entries(), log.active.time_index.entries()
    storage.delete(FIRST + suffix)
    journal = Journal()
    again = open_log(storage, clean=True, index_interval_bytes=200, emit=journal.emit)
    assert [event["file"] for event in journal.named("index_rebuilt")] == ["0" * 20 + suffix]
    assert again.active.index.entries() == before[0]
    assert again.active.max_timestamp == NOW + 29
    check_whole(again)


@pytest.mark.parametrize("content", [b"\0" * 64, b"abc", b"\0\0\0\x05\x7f\xff\xff\xff"])
def test_a_damaged_index_is_rebuilt(content: bytes) -> None:
    storage = MemoryStorage()
    log = written(storage)
    entries = log.active.index.entries()
    log.close()
    replace(storage, f"{FIRST}.index", content)
    again = open_log(storage, clean=True, index_interval_bytes=200)
    assert again.active.index.entries() == entries
    check_whole(again)


def test_left_overs_of_deletions_and_lonely_indexes_are_dropped() -> None:
    storage = MemoryStorage()
    written(storage, batches=3).close()
    for name in ("00000000000000000005.log.deleted", "00000000000000000005.index", "00000000000000000007.log.cleaned"):
        storage.open(f"{DIRECTORY}/{name}").append((b"x",))
    open_log(storage, clean=True)
    assert [name for name in storage.list(DIRECTORY) if "5." in name or "7." in name] == []


def test_a_log_whose_tail_was_lost_below_its_start_begins_anew() -> None:
    storage = MemoryStorage()
    written(storage, batches=3)
    again = open_log(storage, log_start_offset=50)
    assert (again.log_start_offset, again.log_end_offset, offsets(again)) == (50, 50, [])


def test_only_useful_snapshots_stay() -> None:
    storage = MemoryStorage()
    log = written(storage, segment_bytes=1000)
    for _ in range(3):
        log.append_as_leader(batch(), 9, NOW)
        log.close()
        log = open_log(storage, clean=True, segment_bytes=1000)
    bases = {f"{segment.base_offset:020d}.snapshot" for segment in log.segments}
    names = {name for name in storage.list(DIRECTORY) if name.endswith(".snapshot")}
    assert names - bases == {f"{log.log_end_offset:020d}.snapshot"} - bases


def test_a_damaged_snapshot_is_replaced_by_reading_the_log() -> None:
    storage = MemoryStorage()
    log = written(storage)
    known = log.producers.entries[0].last_offset
    log.close()
    replace(storage, f"{DIRECTORY}/{log.log_end_offset:020d}.snapshot", b"nonsense")
    assert open_log(storage, clean=True).producers.entries[0].last_offset == known
