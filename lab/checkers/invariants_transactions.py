"""Invariants of transactions: all or nothing, how far readers with read_committed may see, and what they are never
handed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.storage_faults import Unfaulted
from broker_core.kernel.world import World
from broker_core.log.markers import aborted_transactions
from broker_core.log.partition_log import PartitionLog
from broker_core.records.header import BatchHeader, iterate_batches
from broker_core.transactions.states import TransactionState as State
from lab.checkers.invariants_base import Invariant, Violation
from lab.checkers.invariants_log import CHUNK, UNREADABLE

Place = tuple[str, int]


class LastStableOffset(Invariant):
    """A leader's last stable offset is at most its high watermark, and no open transaction begins below it (KIP-98).

    What is open is counted here from the producers themselves, not from what the log keeps for its fetches.
    """

    meaning = {
        "en": "The last stable offset is neither above the high watermark nor behind the start of an open transaction.",
        "ko": "마지막 안정 오프셋은 하이 워터마크를 넘지 않고, 열린 트랜잭션의 시작도 지나지 않습니다.",
    }

    def check(self, world: World) -> list[Violation]:
        found = []
        for look in self.view.looks:
            for broker, leader in look.presumed.items():
                log = leader.log
                stable, limit = log.last_stable_offset, log.high_watermark
                for entry in log.producers.entries.values():
                    if entry.transaction_start is not None:
                        limit = min(limit, max(entry.transaction_start, log.log_start_offset))
                if stable > limit:
                    params = {"leader": broker, "offset": stable, "end": limit}
                    found.append(self.found_in(look, "stable_too_high", (broker, limit), **params))
        return found


class NoAbortedRead(Invariant):
    """No built-in consumer with read_committed is handed a record of an open or aborted transaction (Adya, G1a)."""

    meaning = {
        "en": "A reader with read_committed never gets a record of an open or aborted transaction.",
        "ko": "read_committed로 읽는 쪽은 열려 있거나 중단된 트랜잭션의 레코드를 받지 않습니다.",
    }
    operations = ("poll",)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._found: list[Violation] = []

    def operation(self, row: Mapping[str, Any]) -> None:
        node = self.view.world.nodes.get(row["process"])
        settings = getattr(node.machine, "settings", None) if node is not None else None
        if row["kind"] != "ok" or getattr(settings, "isolation_level", "") != "read_committed":
            return
        leader = self.view.leader(row["topic"], row["partition"])
        if leader is None:
            return
        for first, _, _, count in row["runs"]:
            try:
                with Unfaulted([leader.log.storage]):
                    self._judge(leader.log, first, first + count, row)
            except UNREADABLE:
                continue

    def _judge(self, log: PartitionLog, first: int, end: int, row: Mapping[str, Any]) -> None:
        aborted = aborted_transactions(log, first, end)
        for header in _transactional(log, first, end):
            entry = log.producers.entries.get(header.producer_id)
            start = entry.transaction_start if entry is not None else None
            is_open = start is not None and start <= header.base_offset
            is_aborted = any(
                one.producer_id == header.producer_id and one.first_offset <= header.base_offset < one.last_offset
                for one in aborted
            )
            excused = self.view.history(row["topic"], row["partition"]).excused
            if (is_open or is_aborted) and header.base_offset >= excused:
                offset = max(first, header.base_offset)
                params = {"topic": row["topic"], "partition": row["partition"], "offset": offset}
                params |= {"process": row["process"], "producer_id": header.producer_id}
                what = "aborted_read" if is_aborted else "uncommitted_read"
                key = (row["topic"], row["partition"], row["process"], offset)
                self._found.append(self.found(row["seq"], row["t"], what, key, **params))

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        return found


@dataclass(slots=True)
class _Transaction:
    """The last one of a transactional id: what was decided (None: nothing that is known here), where it goes, and
    where its marker is."""

    commit: bool | None
    partitions: tuple[Place, ...] = ()
    ended: set[Place] = field(default_factory=set)


class TransactionAtomic(Invariant):
    """A transaction is committed in all of its partitions, or aborted in all of them, as its coordinator has decided
    (KIP-98): no marker says anything else, and when it is called complete nothing of it is open any more.

    What a coordinator finds in its log when it takes over was decided by the one before, perhaps without a word in the
    journal. Then the first marker says what was decided, and all others must agree with it.
    """

    meaning = {
        "en": "A transaction is committed in all of its partitions or in none.",
        "ko": "트랜잭션은 그 파티션 모두에서 커밋되거나 어디에서도 커밋되지 않습니다.",
    }
    codes = tuple(
        code.name for code in (events.TRANSACTION_STATE, events.TRANSACTION_ENDS, events.TRANSACTION_PARTITION_LOADED)
    )

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._last: dict[int, _Transaction] = {}
        self._found: list[Violation] = []

    def row(self, row: Row) -> None:
        code, params = row[3], row[5]
        if code == events.TRANSACTION_PARTITION_LOADED.name:
            self._last.clear()
        elif code == events.TRANSACTION_ENDS.name:
            self._ends(row, params["producer_id"], params["outcome"] == "commit")
        else:
            self._stands(row, State(params["after"]), params["producer_id"])

    def _stands(self, row: Row, state: State, producer_id: int) -> None:
        last = self._last.get(producer_id)
        if state in (State.PREPARE_COMMIT, State.PREPARE_ABORT):
            places = tuple(_place(one) for one in row[5]["partitions"])
            self._last[producer_id] = _Transaction(state is State.PREPARE_COMMIT, places)
        elif state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT):
            for place in () if last is None else [one for one in last.partitions if one not in last.ended]:
                self._complete(row, place, producer_id, row[5]["epoch"])
            self._last.pop(producer_id, None)  # what comes late hangs, until an operator aborts it
        else:
            self._last.pop(producer_id, None)

    def _ends(self, row: Row, producer_id: int, commit: bool) -> None:
        last = self._last.setdefault(producer_id, _Transaction(None))
        last.ended.add((row[5]["topic"], row[5]["partition"]))
        if last.commit is None:
            last.commit = commit
        elif last.commit != commit:
            self._note(row, "torn_transaction", (row[5]["topic"], row[5]["partition"]), producer_id, row[5]["offset"])

    def _complete(self, row: Row, place: Place, producer_id: int, epoch: int) -> None:
        """Nothing of it may be open at the partition's leader. What begins there with the next epoch is another one."""
        leader = self.view.leader(*place)
        entry = leader.log.producers.entries.get(producer_id) if leader is not None else None
        if entry is None or entry.transaction_start is None or entry.epoch > epoch:
            return
        if entry.transaction_start >= self.view.history(*place).excused:
            self._note(row, "unfinished_transaction", place, producer_id, entry.transaction_start)

    def _note(self, row: Row, what: str, place: Place, producer_id: int, offset: int) -> None:
        params = {"topic": place[0], "partition": place[1], "offset": offset, "producer_id": producer_id}
        self._found.append(self.found(row[0], row[1], what, (*place, offset), **params))

    def check(self, world: World) -> list[Violation]:
        found, self._found = self._found, []
        return found


def _place(name: str) -> Place:
    topic, _, number = name.rpartition("-")
    return topic, int(number)


def _transactional(log: PartitionLog, first: int, end: int) -> Iterator[BatchHeader]:
    """Headers of the transactional batches with records between two offsets."""
    offset = max(first, log.log_start_offset)
    while offset < min(end, log.log_end_offset):
        read = log.read(offset, CHUNK, log.log_end_offset)
        if not read.size:
            return
        for part in read.slices:
            for batch in iterate_batches(part.read()):
                header = batch.header
                if header.base_offset >= end:
                    return
                if header.is_transactional and not header.is_control:
                    yield header
        offset = read.next_offset
