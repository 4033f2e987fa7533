"""A share-partition at its leader: the state of each record between two offsets.

    start                            end
      3    4    5    6    7    8    9     10 ...
      ack  acq  avl  acq  arc  acq  acq   not looked at yet
           A#1  #2   B#1       A#5  A#5

| state        | may become                     | when |
|--------------|--------------------------------|------|
| (none)       | ACQUIRED                       | fetched for the first time |
| AVAILABLE    | ACQUIRED, ARCHIVED             | fetched again; its record is gone from the log |
| ACQUIRED     | ACKNOWLEDGED, ARCHIVED         | accepted; rejected, a gap |
|              | AVAILABLE                      | released, or its lock ran out |
|              | ARCHIVED                       | the same, when it was delivered as often as allowed |
| ACKNOWLEDGED, ARCHIVED | (forgotten)          | everything before it is done, too: the start moves on |

An acknowledgement counts when the share coordinator has written it. Until then the record is *going*: it can be
neither acquired nor acknowledged again. If it could not be written, the record is as it was before, or available, when
its lock ran out meanwhile.

Who fetches gets whole batches of the log, even if that is more than it wanted (batch optimized); it may insist on
its number (KIP-1206). Records that were delivered often come in smaller and smaller pieces, and at last alone: one bad
record must not take its neighbours with it.
Source: kafka.server.share.SharePartition of 4.3, which keeps batches and splits them when it must.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from broker_core.sharing.batches import ACKNOWLEDGED, ACQUIRED, ARCHIVED, AVAILABLE, StateBatch
from broker_core.wire.errors import ErrorCode

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
AFTER: dict[int, int] = {GAP: ARCHIVED, ACCEPT: ACKNOWLEDGED, RELEASE: AVAILABLE, REJECT: ARCHIVED}
"""What an acknowledgement makes of a record."""
DONE = (ACKNOWLEDGED, ARCHIVED)
LEAST_THROTTLED = 2
Span = tuple[int, int]


class Limits(NamedTuple):
    """`deliveries`: of one record; `locks`: records in flight; `lock_us`: how long one is acquired."""

    deliveries: int
    locks: int
    lock_us: int
    renewal: bool = True


class Wanted(NamedTuple):
    """What a fetch asks for. `exactly`: not more than `records` (KIP-1206)."""

    records: int
    batch_size: int
    exactly: bool = False


class Acquired(NamedTuple):
    """Records that a member has from now on; `delivery`: the how manyth."""

    first: int
    last: int
    delivery: int


class Acknowledged(NamedTuple):
    """What a member says of `first` to `last`: one type for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]


class AcknowledgementRefused(Exception):
    """Nothing of the request counts."""

    def __init__(self, error: ErrorCode, message: str | None = None) -> None:
        super().__init__(message)
        self.error = error
        self.message = error.message if message is None else message


class InFlight:
    """A record in flight. `run`: the offsets that were first acquired with it; `before`: its state, while it goes."""

    __slots__ = ("offset", "state", "count", "member", "deadline_us", "run", "before")

    def __init__(self, offset: int, state: int, count: int, run: Span) -> None:
        self.offset = offset
        self.state = state
        self.count = count
        self.member = ""
        self.deadline_us = 0
        self.run = run
        self.before: tuple[int, str] | None = None


class SharePartition:
    """One group's view of one partition.

    - `free`: offsets that may be acquired (again): AVAILABLE and not going, and gaps that a former leader left.

    Invariants
        - each offset from `start` to `end` is in `records`, or free: one of those gaps
        - a record that is free is AVAILABLE, and one that is ACQUIRED has a member and a deadline
    """

    def __init__(self, start: int, state_epoch: int = 0, batches: Iterable[StateBatch] = ()) -> None:
        self.start = start
        self.end = start - 1
        self.state_epoch = state_epoch
        self.records: dict[int, InFlight] = {}
        self.free: set[int] = set()
        for one in batches:
            self.free.update(range(self.end + 1, one.first))
            for offset in range(one.first, one.last + 1):
                self.records[offset] = InFlight(offset, one.state, one.deliveries, (one.first, one.last))
                if one.state == AVAILABLE:
                    self.free.add(offset)
            self.end = one.last
        self.advance()

    # --- what there is --------------------------------------------------------------------------

    @property
    def next_fetch_offset(self) -> int:
        """Where to read for whoever fetches next."""
        return min(self.free) if self.free else self.end + 1

    @property
    def completed(self) -> int:
        """Records that are done, and wait for those before them."""
        return sum(one.state in DONE and one.before is None for one in self.records.values())

    def may_acquire(self, limits: Limits) -> bool:
        """Whether a fetch could get anything."""
        return bool(self.free) or self.end - self.start + 1 < limits.locks

    @property
    def next_deadline_us(self) -> int | None:
        """When the next lock runs out."""
        return min((one.deadline_us for one in self.records.values() if _locked(one)), default=None)

    # --- acquiring ------------------------------------------------------------------------------

    def acquire(
        self, member: str, spans: Sequence[Span], wanted: Wanted, limits: Limits, now_us: int
    ) -> tuple[list[Acquired], list[InFlight]]:
        """What of the log's batches (`spans`, first and last offset of each) the member gets; and what turned out to be
        gone from the log."""
        last, stale = spans[-1][1], self._archive_missing(spans[0][0])
        if last < self.start:
            return [], stale
        room = min(wanted.records, limits.locks - (self.end - self.start + 1))
        if room <= 0 and self.free:
            room, last = min(wanted.records, self.end - self.next_fetch_offset + 1), min(last, self.end)
        given: list[InFlight] = []
        first = max(spans[0][0], self.start)
        whole = True
        for run in self._free_runs(first, last):
            if len(given) >= room:
                break
            taken, whole = self._of_run(run, room - len(given), wanted.exactly, limits.deliveries, bool(given))
            for offset in taken:
                self._record(offset, (run[0], run[-1]))
                given.append(self._take(offset, member, now_us + limits.lock_us))
            if not whole:
                break
        if whole and len(given) < room and last > self.end:
            given += self._new(member, spans, last, room - len(given), wanted, now_us + limits.lock_us)
        return _listed(given), stale

    def _archive_missing(self, base: int) -> list[InFlight]:
        """The log has nothing between what was asked for and `base`: those records were compacted away."""
        gone = [self._record(offset, (offset, offset)) for offset in sorted(self.free) if offset < base]
        for one in gone:
            one.state = ARCHIVED
            self.free.discard(one.offset)
        return gone

    def _record(self, offset: int, run: Span) -> InFlight:
        """The record; one in a gap that a former leader left comes into being."""
        return self.records.setdefault(offset, InFlight(offset, AVAILABLE, 0, run))

    def _free_runs(self, first: int, last: int) -> list[list[int]]:
        """Free offsets by the run that they were first acquired in."""
        runs: list[list[int]] = []
        before: tuple[int, int] | None = None
        for offset in sorted(self.free):
            if not first <= offset <= last:
                continue
            run = self.records[offset].run if offset in self.records else (-1, -1)
            if runs and run == before and (run != (-1, -1) or runs[-1][-1] == offset - 1):
                runs[-1].append(offset)
            else:
                runs.append([offset])
            before = run
        return runs

    def _of_run(
        self, run: list[int], room: int, exactly: bool, deliveries: int, given: bool
    ) -> tuple[list[int], bool]:
        """What of a run is given away; and whether the fetch may go on behind it."""
        counts = [self.records[offset].count if offset in self.records else 0 for offset in run]
        throttled = max(LEAST_THROTTLED, -(-deliveries // 2))
        if max(counts) < throttled:
            return (run[:room], True) if exactly else (run, True)
        if given:
            return [], False
        taken: list[int] = []
        most: int | None = None
        for offset, count in zip(run, counts, strict=True):
            alone = deliveries > 2 and count == deliveries - 1
            if alone and taken:
                break
            if most is None and count >= throttled:
                first, last = self.records[offset].run
                most = max(1, last - first + 1 >> count - throttled + 1)
            taken.append(offset)
            if alone or (exactly and len(taken) == room) or (most is not None and len(taken) >= most):
                break
        return taken, False

    def _new(
        self, member: str, spans: Sequence[Span], last: int, room: int, wanted: Wanted, deadline_us: int
    ) -> list[InFlight]:
        """Records that nobody has had yet."""
        first = self.end + 1
        if not self.records:
            self.start = first = max(self.start, spans[0][0])
        if last - first + 1 > room:
            most = first + room - 1
            last = most if wanted.exactly else next(end for _, end in spans if end >= most)
        cuts = [first]
        for base, _ in spans:
            if not wanted.exactly and cuts[-1] < base <= last and base - cuts[-1] >= wanted.batch_size:
                cuts.append(base)
        given = []
        for begin, behind in zip(cuts, [*cuts[1:], last + 1], strict=True):
            run = begin, behind - 1
            for offset in range(begin, behind):
                self.records[offset] = InFlight(offset, AVAILABLE, 0, run)
                given.append(self._take(offset, member, deadline_us))
        self.end = last
        return given

    def _take(self, offset: int, member: str, deadline_us: int) -> InFlight:
        one = self.records[offset]
        one.state, one.count, one.member, one.deadline_us = ACQUIRED, one.count + 1, member, deadline_us
        self.free.discard(offset)
        return one

    # --- acknowledging --------------------------------------------------------------------------

    def acknowledge(
        self, member: str, said: Sequence[Acknowledged], limits: Limits, now_us: int
    ) -> tuple[list[InFlight], list[InFlight]]:
        """What is going from now on, and what was renewed. Raises AcknowledgementRefused; then nothing has changed."""
        going: list[InFlight] = []
        renewed: list[InFlight] = []
        try:
            for batch in said:
                self._acknowledge(member, batch, limits, going, renewed)
        except AcknowledgementRefused:
            self.settle(going, False, limits, now_us)
            raise
        for one in renewed:
            one.deadline_us = now_us + limits.lock_us
        return going, renewed

    def _acknowledge(
        self, member: str, batch: Acknowledged, limits: Limits, going: list[InFlight], renewed: list[InFlight]
    ) -> None:
        if batch.last < self.start:
            return  # what was done before is done
        if not self.records or batch.first > self.end:
            raise AcknowledgementRefused(
                ErrorCode.INVALID_RECORD_STATE if not self.records else ErrorCode.INVALID_REQUEST,
                "Batch record not found. The request batch offsets are not found in the cache." if not self.records
                else "Batch record not found. The first offset in request is past acquired records.",
            )  # fmt: skip
        if batch.last > self.end:
            words = "Batch record not found. The last offset in request is past acquired records."
            raise AcknowledgementRefused(ErrorCode.INVALID_REQUEST, words)
        for offset in range(max(batch.first, self.start), batch.last + 1):
            kind = batch.types[offset - batch.first if len(batch.types) > 1 else 0]
            one = self.records.get(offset)
            why = _refusal(one, member)
            if why is None and kind == RENEW and not limits.renewal:
                why = "Renewing acquisition locks is not enabled for the group."
            if why is not None or one is None:
                raise AcknowledgementRefused(ErrorCode.INVALID_RECORD_STATE, why)
            if kind == RENEW:
                renewed.append(one)
            else:
                self._start(one, AFTER[kind], limits)
                going.append(one)

    def _start(self, one: InFlight, state: int, limits: Limits) -> None:
        one.before = one.state, one.member
        one.state = ARCHIVED if state == AVAILABLE and one.count >= limits.deliveries else state
        one.member = ""

    def release(self, member: str, limits: Limits) -> list[InFlight]:
        """A member is gone: what it had is going to be available."""
        mine = [one for one in self.records.values() if _locked(one) and one.member == member]
        for one in mine:
            self._start(one, AVAILABLE, limits)
        return mine

    def settle(self, going: Iterable[InFlight], written: bool, limits: Limits, now_us: int) -> None:
        """The share coordinator has written these, or has not."""
        for one in going:
            if one.before is None:
                continue
            if not written:
                one.state, one.member = one.before
                if one.state == ACQUIRED and one.deadline_us <= now_us:
                    one.state, one.member = ARCHIVED if one.count >= limits.deliveries else AVAILABLE, ""
            one.before = None
            if one.state == AVAILABLE and self.records.get(one.offset) is one:
                self.free.add(one.offset)
        self.advance()

    # --- by itself ------------------------------------------------------------------------------

    def expire(self, limits: Limits, now_us: int) -> list[InFlight]:
        """Locks that have run out."""
        late = [one for one in self.records.values() if _locked(one) and one.deadline_us <= now_us]
        for one in late:
            one.state, one.member = ARCHIVED if one.count >= limits.deliveries else AVAILABLE, ""
            if one.state == AVAILABLE:
                self.free.add(one.offset)
        return late

    def log_starts_at(self, offset: int) -> None:
        """Records before it are gone from the log."""
        if offset <= self.start:
            return
        for gone in [one for one in self.records if one < offset]:
            del self.records[gone]
        self.free = {one for one in self.free if one >= offset}
        self.start, self.end = offset, max(self.end, offset - 1)
        self.advance()

    def advance(self) -> bool:
        """The start goes on behind what is done; whether it has."""
        before = self.start
        while self.start <= self.end:
            one = self.records.get(self.start)
            if one is None or one.state not in DONE or one.before is not None:
                break
            del self.records[self.start]
            self.start += 1
        return self.start > before


def _locked(one: InFlight) -> bool:
    return one.state == ACQUIRED and one.before is None


def _refusal(one: InFlight | None, member: str) -> str | None:
    """Why a member cannot acknowledge a record, None when it can. Kafka speaks of a batch or of an offset in it."""
    alone = one is None or one.run[0] == one.run[1]
    if one is None or (one.state != ACQUIRED and one.before is None):
        return (
            "The batch cannot be acknowledged. The batch is not in the acquired state." if alone
            else "The offset cannot be acknowledged. The offset is not acquired."
        )  # fmt: skip
    if one.before is not None:
        return "The record state is invalid. The acknowledgement of delivery could not be completed."
    return None if one.member == member else f"Member is not the owner of {'batch record' if alone else 'offset'}"


def _listed(given: Iterable[InFlight]) -> list[Acquired]:
    """Neighbours of one run with the same count stand together."""
    found: list[Acquired] = []
    run: Span | None = None
    for one in given:
        before = found[-1] if found else None
        if before is not None and before.last + 1 == one.offset and before.delivery == one.count and run == one.run:
            found[-1] = before._replace(last=one.offset)
        else:
            found.append(Acquired(one.offset, one.offset, one.count))
        run = one.run
    return found


def state_batches(records: Iterable[InFlight]) -> list[StateBatch]:
    """As the share coordinator is told of them."""
    found: list[StateBatch] = []
    for one in sorted(records, key=lambda one: one.offset):
        before = found[-1] if found else None
        if before is not None and before.last + 1 == one.offset and before.weight == (one.count, one.state):
            found[-1] = before._replace(last=one.offset)
        else:
            found.append(StateBatch(one.offset, one.offset, one.state, one.count))
    return found
