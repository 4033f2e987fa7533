"""Idempotent producers: what is appended, what is a duplicate, what is refused, and what survives a restart."""

from __future__ import annotations

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import InvalidProducerEpoch, OutOfOrderSequence, PartitionLog
from broker_core.log.errors import CorruptSnapshot, TransactionCoordinatorFenced
from broker_core.log.producer_snapshot import decode_snapshot, encode_snapshot
from broker_core.records.control import transaction_marker_batch
from tests.log.logs import DAY, NOW, batch, offsets, open_log


def send(log: PartitionLog, sequence: int, count: int = 1, epoch: int = 0, now: int = NOW, **more: object):  # type: ignore[no-untyped-def]
    data = batch(count, now, producer_id=7, producer_epoch=epoch, base_sequence=sequence, **more)
    return log.append_as_leader(data, 0, now)


def test_a_batch_that_is_sent_again_gets_its_old_offsets() -> None:
    log = open_log(MemoryStorage())
    first = [send(log, sequence * 2, 2) for sequence in range(5)]
    for number, info in enumerate(first):
        again = send(log, number * 2, 2)
        assert again.duplicate and (again.first_offset, again.last_offset) == (info.first_offset, info.last_offset)
    assert log.log_end_offset == 10


def test_only_the_last_five_batches_are_remembered() -> None:
    log = open_log(MemoryStorage())
    for sequence in range(6):
        send(log, sequence)
    assert send(log, 1).duplicate
    with pytest.raises(OutOfOrderSequence):
        send(log, 0)


@pytest.mark.parametrize("sequence", [1, 5, 99])
def test_a_gap_is_refused(sequence: int) -> None:
    log = open_log(MemoryStorage())
    send(log, 0, 1)
    if sequence == 1:
        send(log, 1)
        return
    with pytest.raises(OutOfOrderSequence) as caught:
        send(log, sequence)
    assert caught.value.kafka_error == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert offsets(log) == [0]


def test_a_new_epoch_begins_at_zero_and_fences_the_old_one() -> None:
    log = open_log(MemoryStorage())
    send(log, 0, 3)
    with pytest.raises(OutOfOrderSequence):
        send(log, 3, epoch=1)
    send(log, 0, epoch=1)
    with pytest.raises(InvalidProducerEpoch):
        send(log, 3, epoch=0)


def test_an_unknown_producer_may_begin_anywhere_and_sequences_wrap() -> None:
    log = open_log(MemoryStorage())
    send(log, 2**31 - 2, 2)
    assert send(log, 0).first_offset == 2
    assert send(log, 2**31 - 2, 2).duplicate


def test_followers_take_what_the_leader_took() -> None:
    log = open_log(MemoryStorage())
    log.append_as_follower(batch(producer_id=7, producer_epoch=0, base_sequence=50))
    log.append_as_follower(batch(base_offset=1, producer_id=7, producer_epoch=0, base_sequence=90))
    assert log.producers.entries[7].last_sequence == 90


@pytest.mark.parametrize("clean", [True, False])
def test_what_is_known_survives_a_restart(clean: bool) -> None:
    storage = MemoryStorage()
    log = open_log(storage, segment_bytes=400)
    for sequence in range(12):
        send(log, sequence)
    if clean:
        log.close()
    again = open_log(storage, segment_bytes=400, clean=clean)
    assert again.producers.entries[7].last_sequence == 11
    assert send(again, 11).duplicate
    assert send(again, 12).first_offset == 12


def test_truncation_takes_the_knowledge_back() -> None:
    log = open_log(MemoryStorage(), segment_bytes=400)
    for sequence in range(12):
        send(log, sequence)
    log.truncate_to(6)
    assert log.producers.entries[7].last_sequence == 5
    assert send(log, 6).first_offset == 6


def test_silent_producers_are_forgotten_after_a_day() -> None:
    log = open_log(MemoryStorage())
    send(log, 0)
    assert log.producers.expire(NOW + DAY - 1) == []
    assert log.producers.expire(NOW + DAY) == [7]
    assert send(log, 77, now=NOW + DAY).first_offset == 1


def test_an_open_transaction_holds_back_the_last_stable_offset_until_its_marker() -> None:
    storage = MemoryStorage()
    log = open_log(storage)
    log.append_as_leader(batch(2), 0, NOW)
    send(log, 0, 2, transactional=True)
    log.append_as_leader(batch(2), 0, NOW)
    log.update_high_watermark(6)
    assert log.last_stable_offset == 2
    assert open_log(storage).producers.transactions.first_unstable == 2
    log.append_as_leader(transaction_marker_batch(True, 7, 0, 4, NOW), 0, NOW, origin="coordinator")
    log.update_high_watermark(7)
    assert log.last_stable_offset == 7
    assert log.producers.transactions.first_unstable is None
    with pytest.raises(TransactionCoordinatorFenced):
        log.append_as_leader(transaction_marker_batch(True, 7, 0, 3, NOW), 0, NOW, origin="coordinator")


def test_a_snapshot_comes_back_and_a_damaged_one_is_found() -> None:
    log = open_log(MemoryStorage())
    send(log, 0, 3)
    log.append_as_leader(batch(producer_id=9, producer_epoch=2, base_sequence=4, transactional=True), 0, NOW)
    data = encode_snapshot(log.producers)
    entries = decode_snapshot(data)
    assert [(e.producer_id, e.epoch, e.last_sequence, e.last_offset, e.transaction_start) for e in entries] == [
        (7, 0, 2, 2, None), (9, 2, 4, 3, 3),
    ]  # fmt: skip
    for at in range(len(data)):
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(data[:at] + bytes((data[at] ^ 1,)) + data[at + 1 :])
