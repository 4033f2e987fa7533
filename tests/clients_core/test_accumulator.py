"""Batches: when one is full, when it may leave, and what memory it takes."""

from __future__ import annotations

from broker_core.clients.accumulator import BATCH_OVERHEAD, NO_SEQUENCE, RECORD_OVERHEAD, Accumulator
from broker_core.clients.settings import ProducerSettings, SettingsError, parse

import pytest

RECORD = (0, None, b"x" * 92, ())  # 100 bytes with its overhead


def _filled(count: int, linger_us: int = 5000, batch_size: int = 1000, memory: int = 1 << 20) -> Accumulator:
    accumulator = Accumulator(batch_size, linger_us, memory)
    for _ in range(count):
        accumulator.append(accumulator.queue("t", 0), RECORD, 100 - RECORD_OVERHEAD, 7)
    return accumulator


def test_a_record_that_does_not_fit_begins_the_next_batch() -> None:
    accumulator = _filled(12)
    sizes = [batch.size for batch in accumulator.queue("t", 0).batches]
    assert sizes == [BATCH_OVERHEAD + 900, BATCH_OVERHEAD + 300] and accumulator.used == 2000


def test_a_record_larger_than_a_batch_gets_one_of_its_own() -> None:
    accumulator = _filled(1)
    queue = accumulator.queue("t", 0)
    batch = accumulator.append(queue, RECORD, 5000, 7)
    assert batch is not None and batch.memory > 5000 and len(queue.batches) == 2


def test_a_batch_may_leave_when_it_is_full_or_has_lingered_or_memory_is_short_or_on_flush() -> None:
    waiting = _filled(3)
    queue = waiting.queue("t", 0)
    assert waiting.sendable_at(queue, 8) == 5007
    waiting.flushing = True
    assert waiting.sendable_at(queue, 8) == 8
    full = _filled(12)
    assert full.sendable_at(full.queue("t", 0), 8) == 8
    short = _filled(20, memory=1999)
    assert short.exhausted and short.sendable_at(short.queue("t", 0), 8) == 8


def test_memory_comes_back_when_a_batch_is_settled() -> None:
    accumulator = _filled(20, memory=1999)
    queue = accumulator.queue("t", 0)
    assert accumulator.append(queue, RECORD, 92, 7) is None
    accumulator.release(accumulator.take(queue))
    assert accumulator.used == 0 and accumulator.append(queue, RECORD, 92, 7) is not None


def test_what_is_sent_again_goes_to_the_front_behind_earlier_sequences() -> None:
    accumulator = _filled(40)
    queue = accumulator.queue("t", 0)
    sent = [accumulator.take(queue) for _ in range(3)]
    for number, batch in enumerate(sent):
        batch.sequence = number * 9
    for batch in (sent[2], sent[0], sent[1]):
        queue.in_flight.remove(batch)
        accumulator.put_back(batch, 99)
    assert [batch.sequence for batch in queue.batches] == [0, 9, 18, NO_SEQUENCE, NO_SEQUENCE]
    assert accumulator.sendable_at(queue, 8) == 99


def test_acks_1_turns_idempotence_off_unless_it_was_asked_for() -> None:
    assert parse(ProducerSettings, {}).enable_idempotence
    assert not parse(ProducerSettings, {"acks": "1"}).enable_idempotence
    with pytest.raises(SettingsError, match=r"enable\.idempotence needs acks=all"):
        parse(ProducerSettings, {"acks": "1", "enable.idempotence": "true"})
    with pytest.raises(SettingsError, match="at most 5"):
        parse(ProducerSettings, {"max.in.flight.requests.per.connection": 6, "enable.idempotence": True})


def test_kafkas_defaults_and_names() -> None:
    settings = parse(ProducerSettings, {"acks": "all", "linger.ms": "5", "retries": 3})
    assert (settings.acks, settings.linger_ms, settings.retries, settings.batch_size) == (-1, 5, 3, 16384)
    with pytest.raises(SettingsError, match=r"did you mean 'linger\.ms'"):
        parse(ProducerSettings, {"linger": 5})
    with pytest.raises(SettingsError, match=r"delivery\.timeout\.ms must be at least"):
        parse(ProducerSettings, {"delivery.timeout.ms": 1000})
