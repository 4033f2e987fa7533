"""Transactions in a log: what waits, what is told of aborted ones, and that it survives a crash, a cut and a cleaning."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import InvalidProducerEpoch, OutOfOrderSequence, PartitionLog
from broker_core.log.cleaner import first_uncleanable_offset
from broker_core.log.cleaning import clean
from broker_core.log.errors import CorruptIndex, InvalidTransactionState
from broker_core.log.markers import aborted_transactions
from broker_core.log.offset_map import OffsetMap
from broker_core.log.producer_snapshot import encode_snapshot
from broker_core.log.transaction_index import ENTRY_SIZE, AbortedTransaction, TransactionIndex
from broker_core.records import encode_batch
from broker_core.records.control import transaction_marker_batch
from broker_core.records.filtering import delete_horizon
from tests.log.logs import DAY, NOW, offsets, open_log


def send(log: PartitionLog, producer: int, sequence: int = 0, keys: tuple[bytes, ...] = (b"k",), **more: Any) -> int:
    rows = [(NOW, key, b"%d" % producer, ()) for key in keys]
    epoch, version, guard = more.pop("epoch", 0), more.pop("transactional", True), more.pop("guard", None)
    data = encode_batch(rows, producer_id=producer, producer_epoch=epoch, base_sequence=sequence, transactional=version)
    return log.append_as_leader(data, 0, NOW, guard=guard).first_offset


def end(log: PartitionLog, producer: int, commit: bool, epoch: int = 0, coordinator: int = 0, **more: Any) -> int:
    data = transaction_marker_batch(commit, producer, epoch, coordinator, NOW)
    return log.append_as_leader(data, 0, NOW, origin="coordinator", **more).first_offset


def told(log: PartitionLog, offset: int, max_bytes: int = 1 << 20) -> list[tuple[int, int]]:
    """(producer, first offset) of what a read_committed fetch is told."""
    return [one[:2] for one in log.aborted_in(offset, log.read(offset, max_bytes, log.last_stable_offset), max_bytes)]


def history(log: PartitionLog) -> None:
    """0 A, 1 B, 2 A, 3 abort A, 4 B, 5 abort B, 6 plain, 7 A, 8 commit A."""
    send(log, 1)
    send(log, 2)
    send(log, 1, 1)
    end(log, 1, False)
    send(log, 2, 1)
    end(log, 2, False)
    log.append_as_leader(encode_batch([(NOW, b"k", b"plain", ())]), 0, NOW)
    send(log, 1, 2)
    end(log, 1, True)


ABORTED = [AbortedTransaction(1, 0, 3, 1), AbortedTransaction(2, 1, 5, 6)]


def entries(log: PartitionLog) -> list[AbortedTransaction]:
    return [one for segment in log.segments for one in segment.transaction_index.entries()]


def test_the_last_stable_offset_passes_a_transaction_once_its_marker_is_below_the_high_watermark() -> None:
    log = open_log(MemoryStorage())
    seen = []
    for act in (lambda: send(log, 1), lambda: send(log, 2), lambda: end(log, 1, True), lambda: end(log, 2, False)):
        act()
        log.update_high_watermark(log.log_end_offset - 1)
        before = log.last_stable_offset
        log.update_high_watermark(log.log_end_offset)
        seen.append((before, log.last_stable_offset))
    assert seen == [(0, 0), (0, 0), (0, 1), (1, 4)]


def test_the_index_says_what_was_aborted_in_kafkas_format() -> None:
    storage = MemoryStorage()
    log = open_log(storage)
    history(log)
    assert entries(log) == ABORTED
    file = storage.files["data/orders-0/00000000000000000000.txnindex"]
    assert bytes(file.read(0, ENTRY_SIZE)).hex() == (
        f"{0:04x}{1:016x}{0:016x}{3:016x}{1:016x}"
    )


@pytest.mark.parametrize(
    ("start", "end_", "expected"),
    [(0, 9, ABORTED), (0, 1, ABORTED[:1]), (3, 4, ABORTED), (4, 9, ABORTED[1:]), (6, 9, []), (0, 0, [])],
)
def test_a_reader_is_told_what_overlaps_its_range(start: int, end_: int, expected: list[AbortedTransaction]) -> None:
    log = open_log(MemoryStorage())
    history(log)
    assert aborted_transactions(log, start, end_) == expected


def test_a_transaction_over_many_segments_is_told_in_each_of_them() -> None:
    log = open_log(MemoryStorage(), segment_bytes=200)
    for sequence in range(8):
        send(log, 1, sequence)
    end(log, 1, False)
    log.update_high_watermark(log.log_end_offset)
    assert len(log.segments) > 3 and [len(one.transaction_index) for one in log.segments][:-1] == [0] * (
        len(log.segments) - 1
    )
    assert all(told(log, offset) == [(1, 0)] for offset in range(9))


@pytest.mark.parametrize("damage", ["none", "torn", "gone"])
@pytest.mark.parametrize("segment_bytes", [1 << 20, 200])
def test_a_restart_knows_the_same_open_and_aborted_transactions(damage: str, segment_bytes: int) -> None:
    storage = MemoryStorage()
    log = open_log(storage, segment_bytes=segment_bytes)
    history(log)
    send(log, 2, 2)
    for path in [path for path in storage.files if path.endswith(".txnindex")]:
        if damage == "torn":
            storage.files[path].truncate(storage.files[path].size - 1)
        elif damage == "gone":
            storage.delete(path)
    again = open_log(storage, segment_bytes=segment_bytes)
    again.update_high_watermark(10)
    assert entries(again) == ABORTED
    assert again.last_stable_offset == 9 and again.producers.entries[2].transaction_start == 9
    assert encode_snapshot(again.producers) == encode_snapshot(log.producers)


def test_after_a_clean_shutdown_a_torn_index_is_rebuilt() -> None:
    storage = MemoryStorage()
    log = open_log(storage, segment_bytes=200)
    history(log)
    log.close()
    path = next(path for path in storage.files if path.endswith(".txnindex"))
    storage.open(path).truncate(ENTRY_SIZE - 1)
    assert entries(open_log(storage, segment_bytes=200, clean=True)) == ABORTED


def test_a_cut_takes_markers_back() -> None:
    log = open_log(MemoryStorage())
    history(log)
    log.truncate_to(5)
    assert entries(log) == ABORTED[:1]
    log.update_high_watermark(5)
    assert log.last_stable_offset == 1
    log.truncate_to(3)
    assert (entries(log), log.last_stable_offset) == ([], 0)
    log.truncate_fully_and_start_at(20)
    assert (log.last_stable_offset, log.producers.transactions.first_unstable) == (20, None)


def test_a_follower_knows_what_its_leader_knows() -> None:
    leader, follower = open_log(MemoryStorage()), open_log(MemoryStorage())
    history(leader)
    send(leader, 2, 2)
    follower.append_as_follower(bytes(leader.segments[0].log.read(0, leader.size_bytes)))
    assert entries(follower) == ABORTED
    for mark in range(leader.log_end_offset + 1):
        stable = {log.update_high_watermark(mark) and log.last_stable_offset for log in (leader, follower)}
        assert len(stable) == 1 and stable.pop() <= mark
    assert encode_snapshot(leader.producers) == encode_snapshot(follower.producers)


def test_deleted_records_of_an_open_transaction_hold_nothing_back() -> None:
    log = open_log(MemoryStorage())
    send(log, 1)
    log.append_as_leader(encode_batch([(NOW, b"k", b"v", ())] * 3), 0, NOW)
    log.update_high_watermark(4)
    assert log.last_stable_offset == 0
    log.delete_records_before(2)
    assert log.last_stable_offset == 2


def test_an_open_transaction_outlives_the_expiry_of_producers_and_is_called_late() -> None:
    log = open_log(MemoryStorage())
    send(log, 1)
    send(log, 2, transactional=False)
    assert log.producers.expire(NOW + 2 * DAY) == [2]
    assert not log.producers.late_transaction(NOW + 15 * 60_000 + 5 * 60_000, 15 * 60_000)
    assert log.producers.late_transaction(NOW + 15 * 60_000 + 5 * 60_000 + 1, 15 * 60_000)


def test_within_a_transaction_only_transactional_batches_are_taken() -> None:
    log = open_log(MemoryStorage())
    send(log, 1)
    with pytest.raises(InvalidTransactionState) as caught:
        send(log, 1, 1, transactional=False)
    assert caught.value.kafka_error == "INVALID_TXN_STATE"
    send(log, 1, 1)
    end(log, 1, True)
    send(log, 1, 2, transactional=False)


def test_a_marker_with_a_newer_epoch_fences_its_producer() -> None:
    log = open_log(MemoryStorage())
    send(log, 1, epoch=3)
    end(log, 1, False, epoch=4)
    with pytest.raises(InvalidProducerEpoch):
        send(log, 1, 1, epoch=3)
    with pytest.raises(InvalidProducerEpoch):
        end(log, 1, False, epoch=3)
    with pytest.raises(OutOfOrderSequence):
        send(log, 1, 1, epoch=4)
    send(log, 1, 0, epoch=4)


@pytest.mark.parametrize(
    ("open_", "epoch", "version", "taken"),
    [(True, 3, 0, True), (True, 3, 1, True), (True, 3, 2, False), (True, 4, 2, True), (False, 3, 2, True), (False, 2, 2, False)],
)  # fmt: skip
def test_with_an_epoch_for_each_transaction_a_late_marker_is_refused(
    open_: bool, epoch: int, version: int, taken: bool
) -> None:
    log = open_log(MemoryStorage())
    send(log, 1, epoch=3)
    if not open_:
        end(log, 1, True, epoch=3)
    before = log.log_end_offset
    if taken:
        end(log, 1, False, epoch=epoch, transaction_version=version)
    else:
        with pytest.raises(InvalidProducerEpoch):
            end(log, 1, False, epoch=epoch, transaction_version=version)
    assert log.log_end_offset == before + taken


def test_a_coordinators_batches_need_no_sequence_but_an_epoch() -> None:
    log = open_log(MemoryStorage())
    for _ in range(2):
        data = encode_batch([(NOW, b"k", b"v", ())], producer_id=1, producer_epoch=2, base_sequence=0, transactional=True)
        log.append_as_leader(data, 0, NOW, origin="coordinator")
    assert log.producers.entries[1].transaction_start == 0
    data = encode_batch([(NOW, b"k", b"v", ())], producer_id=1, producer_epoch=1, base_sequence=0, transactional=True)
    with pytest.raises(InvalidProducerEpoch):
        log.append_as_leader(data, 0, NOW, origin="coordinator")


def test_a_transaction_opens_with_the_guard_of_its_verification_only() -> None:
    log = open_log(MemoryStorage())
    verifications = log.producers.verifications
    with pytest.raises(InvalidTransactionState):
        send(log, 1, guard=0)
    guard = verifications.start(1, 0, 0, False, NOW)
    assert verifications.start(1, 2, 0, False, NOW) == guard
    end(log, 1, False)  # that transaction is over: the batch is late
    with pytest.raises(InvalidTransactionState):
        send(log, 1, guard=guard)
    fresh = verifications.start(1, 5, 0, False, NOW)
    assert fresh != guard
    verifications.start(1, 0, 0, False, NOW)
    with pytest.raises(OutOfOrderSequence):
        send(log, 1, 5, guard=fresh)
    send(log, 1, 0, guard=fresh)
    send(log, 1, 1, guard=0)
    assert not verifications.of


def test_who_has_an_older_or_a_newer_epoch_than_the_open_transaction_has_to_be_verified() -> None:
    log = open_log(MemoryStorage())
    send(log, 1, epoch=3)
    needed = {epoch: log.producers.start_verification(1, 1, epoch, False, NOW) is not None for epoch in (2, 3, 4)}
    assert needed == {2: True, 3: False, 4: True}


def test_a_producer_that_bumps_its_epoch_begins_at_zero() -> None:
    log = open_log(MemoryStorage())
    guard = log.producers.verifications.start(1, 7, 0, True, NOW)
    with pytest.raises(OutOfOrderSequence):
        send(log, 1, 7, guard=guard)


def test_a_marker_is_not_compressed_with_its_topic() -> None:
    log = open_log(MemoryStorage(), compression_type="gzip")
    send(log, 1)
    end(log, 1, True)
    assert [one.header.compression for one in log.segments[0].batches()] == [1, 0]


def test_an_index_refuses_what_cannot_be() -> None:
    index = TransactionIndex(MemoryStorage(), "00.txnindex", 10)
    assert not index.storage.exists("00.txnindex")
    index.append(AbortedTransaction(1, 3, 12, 13))
    with pytest.raises(CorruptIndex):
        index.append(AbortedTransaction(1, 3, 12, 13))
    index.sanity_check()
    index.reset()
    index.append(AbortedTransaction(1, 3, 9, 10))
    with pytest.raises(CorruptIndex):
        index.sanity_check()


# --- the cleaner -------------------------------------------------------------------------------


def clean_all(log: PartitionLog, now_ms: int = NOW) -> None:
    log.roll(NOW)
    log.update_high_watermark(log.log_end_offset)
    clean(log, OffsetMap(1 << 20, 0.9), 0, first_uncleanable_offset(log, 0, now_ms), now_ms)


def batches(log: PartitionLog) -> list[tuple[int, int, int | None]]:
    """(base offset, records, delete horizon)."""
    found = [one for segment in log.segments for one in segment.batches()]
    return [(one.header.base_offset, one.header.record_count, delete_horizon(one.header)) for one in found]


def test_the_cleaner_takes_aborted_records_at_once_and_markers_when_their_time_has_come() -> None:
    log = open_log(MemoryStorage(), cleanup_policy=["compact"])
    send(log, 1, 0, (b"a", b"b"))
    end(log, 1, False)
    send(log, 2, 0, (b"a",))
    end(log, 2, True)
    send(log, 1, 2, (b"c",))
    end(log, 1, True)
    clean_all(log)
    assert batches(log) == [(2, 1, None), (3, 1, None), (4, 1, None), (5, 1, None), (6, 1, None)]
    assert entries(log) == [AbortedTransaction(1, 0, 2, 3)]
    log.append_as_leader(encode_batch([(NOW, key, b"new", ()) for key in (b"a", b"c")]), 0, NOW)
    clean_all(log)
    assert entries(log) == []
    horizon = NOW + DAY
    assert batches(log)[:3] == [(2, 1, horizon), (3, 0, None), (4, 1, None)]
    clean_all(log, NOW + DAY - 1)
    assert batches(log)[0] == (2, 1, horizon)
    clean_all(log, NOW + DAY)
    assert 2 not in [base for base, _, _ in batches(log)]
    assert offsets(log) == [7, 8]


def test_an_aborted_value_does_not_hide_a_committed_one() -> None:
    log = open_log(MemoryStorage(), cleanup_policy=["compact"])
    log.append_as_leader(encode_batch([(NOW, b"a", b"good", ())]), 0, NOW)
    send(log, 1, 0, (b"a",))
    end(log, 1, False)
    clean_all(log)
    assert offsets(log) == [0]


def test_an_open_transaction_is_not_cleaned() -> None:
    log = open_log(MemoryStorage(), cleanup_policy=["compact"], segment_bytes=120)
    for sequence in range(3):
        log.append_as_leader(encode_batch([(NOW, b"a", b"%d" % sequence, ())]), 0, NOW)
    send(log, 1, 0, (b"a",))
    log.append_as_leader(encode_batch([(NOW, b"a", b"later", ())]), 0, NOW)
    clean_all(log)
    assert log.cleaned_to == 3 and offsets(log) == [2, 3, 4]


def test_a_cleaning_over_many_segments_keeps_what_readers_are_told() -> None:
    log = open_log(MemoryStorage(), cleanup_policy=["compact"], segment_bytes=200)
    for sequence in range(6):
        send(log, 1, sequence, (b"%d" % sequence,))
    send(log, 2, 0, (b"x",))
    end(log, 1, False)
    end(log, 2, True)
    clean_all(log)
    assert entries(log) == [AbortedTransaction(1, 0, 7, 6)]
    assert [record.key for record in log.records(0, 20)] == [b"x"]
    storage = log.storage
    again = open_log(storage, cleanup_policy=["compact"], segment_bytes=200)  # type: ignore[arg-type]
    assert entries(again) == entries(log)
