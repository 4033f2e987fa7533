"""Markers in a log: what the append of one checks, what it ends, and what a reader is told of aborted transactions.

The coordinator of a transaction ends it by a control batch in each of its partitions (see `records.control`). It is
appended like any other batch, with an offset of its own; what is special follows here.

    data of A from 0 on; marker at 7       A's entry has no open transaction any more
                         abort             `.txnindex` of the marker's segment: (A, 0, 7, last stable offset)
                         high watermark 8  the last stable offset passes the transaction
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.storage import Buffer
from broker_core.log.facts import AppendInfo
from broker_core.log.producers import ProducedBatch, ProducerStateTable
from broker_core.log.segment import LogRead, LogSegment
from broker_core.log.transaction_index import AbortedTransaction
from broker_core.log.transactions import CompletedTransaction
from broker_core.records.batch import decode_records
from broker_core.records.control import end_transaction_marker
from broker_core.records.header import CONTROL, BatchHeader
from broker_core.records.validate import CLIENT, REPLICATION

if TYPE_CHECKING:
    from broker_core.log.partition_log import PartitionLog


def check_producers(
    log: PartitionLog, headers: Sequence[BatchHeader], buffer: Buffer, origin: str, guard: int | None, version: int
) -> AppendInfo | None:
    """Whether these producers may append; the answer to a duplicate. Raises LogError; see `ProducerStateTable`."""
    if origin == REPLICATION:
        return None
    if headers[0].attributes & CONTROL:
        marker = end_transaction_marker(decode_records(buffer)[0])
        log.producers.check_marker(headers[0], marker.coordinator_epoch, version)
    duplicate = log.producers.check(headers, origin == CLIENT, guard)
    return None if duplicate is None else _answer(log, duplicate)


def _answer(log: PartitionLog, batch: ProducedBatch) -> AppendInfo:
    """What was answered the first time; Kafka puts the batch's timestamp where the append time stands."""
    start, time = log.log_start_offset, batch.timestamp
    return AppendInfo(batch.first_offset, batch.last_offset, time, time, start, 0, 0, True, 0)


def end_transaction(log: PartitionLog, header: BatchHeader) -> None:
    """A control batch has been appended to the active segment."""
    found = log.active.locate(header.base_offset)
    assert found is not None
    records = decode_records(log.active.log.read(found[0], header.size))
    ended = log.producers.update(header, records)
    if ended is not None:
        completed(log.producers, ended, log.active)


def completed(producers: ProducerStateTable, ended: CompletedTransaction, segment: LogSegment | None = None) -> None:
    """A transaction is over; `segment`: with its marker, whose index has to be told."""
    transactions = producers.transactions
    if segment is not None and ended.aborted:
        last_stable = transactions.last_stable_after(ended)
        segment.transaction_index.append(
            AbortedTransaction(ended.producer_id, ended.first_offset, ended.last_offset, last_stable)
        )
    transactions.complete(ended)


def tell_transactions(log: PartitionLog, first: int) -> None:
    """The leader's journal says what an append from `first` on has begun or ended."""
    transactions = log.producers.transactions
    for offset, producer_id in transactions.open.items():
        if offset >= first:
            log.fact(events.TRANSACTION_BEGINS, producer_id=producer_id, offset=offset)
    for ended in transactions.recent:
        if ended.last_offset >= first:
            log.fact(
                events.TRANSACTION_ENDS, producer_id=ended.producer_id, first_offset=ended.first_offset,
                offset=ended.last_offset, outcome="abort" if ended.aborted else "commit",
            )  # fmt: skip


def aborted_transactions(log: PartitionLog, start: int, end: int) -> list[AbortedTransaction]:
    """Those with anything between the offsets, whose markers may lie in later segments."""
    found: list[AbortedTransaction] = []
    for segment in log.segments[log.segment_of(start) :]:
        here, complete = segment.transaction_index.overlapping(start, end)
        found += here
        if complete:
            break
    return found


def aborted_in(
    log: PartitionLog, offset: int, read: LogRead, max_bytes: int, max_offset: int
) -> list[AbortedTransaction]:
    """For the answer to a fetch from `offset` with these limits: what Kafka tells, which is sometimes too much.

    It looks up to the index entry behind the bytes that it sends, and those end in the middle of a batch.
    """
    if not read.slices:
        return []
    place = log.segment_of(read.next_offset - 1)
    following = log.segments[place + 1].base_offset if place + 1 < len(log.segments) else log.log_end_offset
    is_cut = read.next_offset < min(max_offset, following)
    end = log.segments[place].upper_bound(read, max(max_bytes, read.size) if is_cut else read.size)
    if end is None:
        end = following
    found: list[AbortedTransaction] = []
    for segment in log.segments[place:]:
        here, complete = segment.transaction_index.overlapping(offset, end)
        found += here
        if complete:
            break
    return found
