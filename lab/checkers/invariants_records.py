"""Invariants of what is written and read: committed records, offsets, sequences, indexes, reads, writes that end."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import is_keeper
from broker_core.kernel.world import World
from broker_core.log.offset_index import ENTRY
from broker_core.log.scan import headers_from
from broker_core.log.segment import LogSegment
from broker_core.metadata.topic_names import GROUP_METADATA_TOPIC
from broker_core.records.errors import RecordsError
from broker_core.replication.partition import Partition
from lab.checkers.column import Column, middling
from lab.checkers.invariants_base import Invariant, Violation, is_whole
from lab.checkers.invariants_log import UNREADABLE, Copy, walk
from lab.checkers.invariants_view import History

READS_KEPT = 100_000
DELIVERY_US = 120_000_000
SLACK_US = 5_000_000


class NoCommittedRecordLost(Invariant):
    """What was below a leader's high watermark once is on every later leader, unchanged, whatever acks it had.

    Records that retention or DeleteRecords has deleted are not lost; what a recorded unclean election, or a
    power loss of everybody who had it, takes away is: only the unclean election is excused. Lost is what `fates` calls
    so: a batch that can no longer be read on the leader's disk, and is whole on another one, is at risk (LogMatching).
    """

    meaning = {
        "en": "What was committed once is on every later leader.",
        "ko": "한 번 커밋된 레코드는 이후의 모든 리더에 있습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            leader = look.leader
            if leader is None:
                continue
            copy, committed = look.history.copies[leader.leader_id], look.history.committed.end
            end = leader.log.log_end_offset
            if end < committed:
                params = {"offset": committed, "leader": leader.leader_id, "end": end}
                found.append(self.found_in(look, "committed_gone", (leader.leader_epoch,), **params))
            elif copy.mismatch is not None and not _is_whole_elsewhere(look.history, copy):
                found.append(
                    self.found_in(
                        look, "committed_changed", (copy.mismatch,), offset=copy.mismatch, leader=leader.leader_id
                    )
                )
        return found


def _is_whole_elsewhere(history: History, copy: Copy) -> bool:
    """Whether the batch at the mismatch is damaged here, and another replica has it as it was committed.

    Its CRC fails; or it is the committed one, and what the CRC does not cover is wrong: base offset or leader epoch.
    """
    offset, agreed = copy.mismatch, copy.agreed
    assert offset is not None
    batches = walk(copy.log, agreed, offset + 1, 1, checksums=True)
    others = [one for one in history.copies.values() if one is not copy]
    damaged = not batches or not batches[0].good or history.committed.crc_at(agreed) == batches[0].crc
    return damaged and any(one.agreed > offset and not one.differs_below(offset + 1) for one in others)


class OffsetsDense(Invariant):
    """Each committed batch begins right behind the one before; only compaction leaves gaps."""

    meaning = {
        "en": "Offsets have no gaps, except after compaction.",
        "ko": "오프셋에는 빈틈이 없습니다. 단, 압축 정리 뒤에는 예외입니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            gaps, look.history.committed.gaps = look.history.committed.gaps, []
            found += [self.found_in(look, "gap", (start,), offset=start, found=end - 1) for start, end in gaps]
        return found


class SequenceNoGapNoDup(Invariant):
    """In a partition the sequence numbers of one producer id and epoch follow one another: none twice, none left out.

    (KIP-98, "Idempotent producer guarantees".) Not of offsets in transactions: the group coordinator writes them in the
    producer's name, each batch with sequence 0.
    """

    meaning = {
        "en": "The sequence numbers of a producer have neither gap nor repetition.",
        "ko": "한 프로듀서의 시퀀스 번호에는 빈틈도 중복도 없습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            breaks, look.history.committed.breaks = look.history.committed.breaks, []
            if look.topic == GROUP_METADATA_TOPIC:
                continue
            for producer, offset, sequence, expected in breaks:
                found.append(
                    self.found_in(
                        look, "sequence", (producer, offset), producer_id=producer, offset=offset, found=sequence,
                        expected=expected,
                    )
                )  # fmt: skip
        return found


class IndexMatchesLog(Invariant):
    """An index entry points at a batch that ends with its offset; a time entry's batch has its timestamp.

    The newest entry is looked at when there is one, older ones in turn: one of each replica in each look.
    """

    meaning = {
        "en": "Index entries point at the batches that they name.",
        "ko": "인덱스 항목은 자신이 가리키는 배치와 일치합니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            for broker, replica in look.replicas.items():
                copy = look.history.copies[broker]
                try:
                    wrong = self._wrong(replica, copy)
                except UNREADABLE:
                    wrong = None
                if wrong is not None:
                    params = {"broker": broker, "file": wrong[0], "offset": wrong[1]}
                    found.append(self.found_in(look, "index_wrong", (broker, *wrong), **params))
        return found

    def _wrong(self, replica: Partition, copy: Copy) -> tuple[str, int] | None:
        segments = replica.log.segments
        active = segments[-1]
        entries = len(active.index)
        if copy.segment != active.base_offset or entries < copy.entries:
            copy.segment, copy.entries = active.base_offset, 0
        if not self.view.bounded:
            for segment in segments:
                for slot in range(len(segment.index)):
                    wrong = entry_is_wrong(segment, slot)
                    if wrong is not None:
                        return wrong
        elif entries > copy.entries:
            copy.entries = entries
            return entry_is_wrong(active, entries - 1) or time_entry_is_wrong(active)
        elif entries:
            return entry_is_wrong(active, (self.view.world.seq * 7919) % entries)
        return None


def entry_is_wrong(segment: LogSegment, slot: int) -> tuple[str, int] | None:
    """(file name, offset) when entry number `slot` of the offset index is not true."""
    file = segment.index.file
    relative, position = ENTRY.unpack(file.read(slot * ENTRY.size, ENTRY.size))
    offset = segment.base_offset + relative
    try:
        first = next(headers_from(segment.log, position, max(position, segment.log.size)), None)
    except RecordsError:
        first = None
    if first is None or first[1].last_offset != offset:
        return file.path.rpartition("/")[2], offset
    return None


def time_entry_is_wrong(segment: LogSegment) -> tuple[str, int] | None:
    """The same for the last entry of the time index: the batch of its offset has its timestamp."""
    timestamp, offset = segment.time_index.last_entry()
    if timestamp < 0:
        return None
    found = segment.locate(offset)
    if found is None or found[1].max_timestamp != timestamp:
        return segment.time_index.file.path.rpartition("/")[2], offset
    return None


class ConsistentRead(Invariant):
    """An offset that was read is read with the same value ever after, by whomever (built-in consumers; the last
    100,000 offsets of each partition)."""

    meaning = {
        "en": "An offset that was read never changes its value.",
        "ko": "한 번 읽힌 오프셋의 값은 바뀌지 않습니다.",
    }
    operations = ("poll",)
    codes = (events.TOPIC_CREATED.name, events.TOPIC_DELETED.name)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._reads: dict[tuple[str, int], Column[array[int]]] = {}
        self._ends: dict[tuple[str, int], int] = {}
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        for place in [place for place in self._reads if place[0] == row[5]["topic"]]:
            del self._reads[place], self._ends[place]

    def operation(self, row: Mapping[str, Any]) -> None:
        if row["kind"] != "ok":
            return
        place = (row["topic"], row["partition"])
        for first, label, number, count in row["runs"]:
            mark = crc32((label if label is not None else f"={number}").encode()) | 1
            numbered = range(mark + number, mark + number + count) if label is not None else [mark] * count
            self._read(place, first, array("I", [(value & 0xFFFFFFFF) or 1 for value in numbered]), row)

    def _read(self, place: tuple[str, int], first: int, marks: array[int], row: Mapping[str, Any]) -> None:
        known = self._reads.setdefault(place, middling())
        end = self._ends[place] = max(self._ends.get(place, 0), first + len(marks))
        oldest = max(0, end - READS_KEPT)
        if first < oldest:
            marks, first = marks[oldest - first :], oldest
        before = known.read(first, first + len(marks))
        if before != marks and any(before):
            self._judge(place, first, before, marks, row)
        known.write(first, marks)
        known.forget_below(oldest)

    def _judge(
        self, place: tuple[str, int], first: int, before: array[int], marks: array[int], row: Mapping[str, Any]
    ) -> None:
        excused = self.view.history(*place).excused
        for step, (old, new) in enumerate(zip(before, marks, strict=True)):
            offset = first + step
            if old and old != new and offset >= excused:
                params = {"topic": place[0], "partition": place[1], "offset": offset}
                self._found.append(self.found(row["seq"], row["t"], "read_changed", (*place, offset), **params))
                return

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        return found


class EveryWriteEnds(Invariant):
    """Liveness: each write of a producer that runs is acked or failed within `delivery.timeout.ms`, or nobody knows
    and it says so (KIP-91).

    A write in a transaction ends with it: it may be open for `transaction.timeout.ms`, and waits for its coordinator.
    Of the time in which a broker or voter is down, or a link is cut, nothing counts.
    """

    meaning = {
        "en": "Every write ends: acked, failed, or known to be unknown.",
        "ko": "모든 쓰기는 성공, 실패 또는 알 수 없음으로 끝납니다.",
    }
    operations = ("send",)
    codes = tuple(
        code.name for code in (
            events.PROCESS_STARTED, events.PROCESS_ENDED, events.PROCESS_RESUMED, events.LINK_CHANGED
        )
    )  # fmt: skip

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._open: dict[str, dict[str, tuple[int, int, str, int, bool]]] = {}

    def operation(self, row: Mapping[str, Any]) -> None:
        writes = self._open.setdefault(row["process"], {})
        if row["kind"] == "invoke":
            writes[row["id"]] = (row["t"], row["seq"], row["topic"], row["partition"], "transaction" in row)
        else:
            writes.pop(row["id"], None)

    def row(self, row: Row) -> None:
        _, t, node, code, *_ = row
        if code == events.PROCESS_ENDED.name:
            self._open.pop(node, None)
            return
        for process, writes in self._open.items():
            for name, (_, seq, topic, partition, transactional) in writes.items():
                if transactional or process == node:
                    writes[name] = (t, seq, topic, partition, transactional)

    def check(self, world: World) -> list[Violation]:
        found = []
        for process, writes in self._open.items():
            node = world.nodes.get(process)
            if not writes or node is None or node.state != "running":
                continue
            settings = getattr(getattr(node.machine, "producer", None), "settings", None)
            limit = _limit_us(settings, "delivery_timeout_ms")
            longest = max(limit, _limit_us(settings, "transaction_timeout_ms"))
            while writes:
                name, (t, seq, topic, partition, transactional) = next(iter(writes.items()))
                if world.now_us - t <= (longest if transactional else limit):
                    break
                if transactional and not (is_whole(world) and _keepers_run(world)):
                    break
                del writes[name]
                params = {"process": process, "id": name, "topic": topic, "partition": partition}
                found.append(self.found(seq, t, "write_never_ended", (process, name), **params))
        return found


def _keepers_run(world: World) -> bool:
    return all(node.state == "running" for name, node in world.nodes.items() if is_keeper(name))


def _limit_us(settings: Any, name: str) -> int:
    return (max(int(getattr(settings, name, 0)) * 1000, 0) or DELIVERY_US) + SLACK_US

