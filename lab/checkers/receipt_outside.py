"""The part of the receipt that outside clients have: the words of `fates`, as far as the brokers see.

An attached client keeps to itself what its application was told; what can be seen is that a Produce request
came over a connection, which batches it appended, and whether the answer that left said NONE. So the unit is
the batch, judged by its last record.

| figure | from journal, disks and history |
|---|---|
| batches, records | `log_appended` as leader, caused by a request of a connection |
| acked | its `response_sent` said NONE (it may not have arrived; with acks=0 there is none, and nothing is counted) |
| lost | acked, and not in the log that counts (`lineage`) |
| unread_records | acked, there, in no answer that left for a consumer outside (`records_sent`), in no poll |
| at_risk_records | acked, there, and on fewer disks than promised (`copies`); None where nobody knows the disks |
| duplicated_records | there, and the same bytes of the same client stand before it: it was sent again |
| removed_records | acked, deleted by a rule before anybody had read it |

acked_records, lost_records: the records of these batches. *The same bytes* are the same CRC-32C, size and number of
records in one partition, from one client.id; looked for only where a client had a reason to send again: the first
answer was none or an error, or the second batch came over another connection. A producer that puts its records
together anew, or under a new producer epoch, cannot be seen through. In a part that was compacted nothing is said of
single batches.

Who stands where is told by state transitions, which a journal always has; requests and answers are messages. A journal
that was summed up, or recorded without messages, cannot tell: then `complete` is false.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO
from operator import itemgetter
from typing import Any, NamedTuple

import orjson

from lab.checkers.copies import Copies
from lab.checkers.fates import Stand
from lab.checkers.lineage import CODES, Lineage, Partition, Term, Written, borders
from lab.checkers.receipt_batches import Batch, Batches, Line, Run

NOTE = "as far as the brokers see: batches that produce requests appended and whose answers left without an error"
MOST = 500_000
AGAIN = 20_000
"""So many runs of batches may have the bytes of one before, for a figure to be there in a moment."""
LISTED = 1000
READERS = 8
"""So many readers of a partition may be at different places, and each has one stretch."""
WORDS = ("unread", "at_risk", "duplicated", "removed")
_Request = tuple[str, str, int]


class _Read(NamedTuple):
    """Offsets `first` to `end` (exclusive) were in an answer of `node`, or in a poll (None)."""

    first: int
    end: int
    seq: int
    node: str | None


_Reads = dict[tuple[Partition, str | None], list[_Read]]
"""By partition and by who answered."""


class Outside:
    """Rows of a journal go in by `take`, of the history by `operation`; `told` may be asked at any time.

    `lineage`: one that somebody else keeps; without it this one keeps its own.
    """

    def __init__(self, lineage: Lineage | None = None) -> None:
        self.lineage = lineage or Lineage()
        self._keeps_lineage = lineage is None
        self.partitions: dict[Partition, Batches] = {}
        self.complete = True
        self.served: dict[str, tuple[int, _Request, str]] = {}
        self._requests: dict[_Request, list[Batch]] = {}
        self._count = self._waiting = 0
        self._reads: _Reads = {}

    def take(self, row: Any) -> None:
        """One row of the journal, in order."""
        read = _READ.get(row[3])
        if read is not None:
            read(self, row)
        elif self._keeps_lineage:
            self.lineage.take(row)

    def operation(self, row: Mapping[str, Any]) -> None:
        """One row of the history: what consumers here have read."""
        if row["op"] == "poll" and row["kind"] == "ok":
            for first, _, _, count in row["runs"]:
                self._note_read((row["topic"], row["partition"]), _Read(first, first + count, row.get("seq", 0), None))

    def _note_read(self, partition: Partition, read: _Read) -> None:
        """Reads that go on where one of the last ended, in the same term, are one."""
        known, term = self._reads.setdefault((partition, read.node), []), self.lineage.term_at
        for at in range(len(known) - 1, max(-1, len(known) - 1 - READERS), -1):
            last = known[at]
            if last.first <= read.first <= last.end:
                if term(partition, last.seq, last.node) is term(partition, read.seq, read.node):
                    known[at] = last._replace(end=max(last.end, read.end))
                    return
        known.append(read)

    @property
    def is_too_much(self) -> bool:
        """Whether the figures take longer than a moment, or what is kept more room than a lab may take for it."""
        every = self.partitions.values()
        again = sum(batches.runs + len(batches.lines) for batches in every) + sum(map(len, self._reads.values()))
        return again > AGAIN or sum(batches.count for batches in every) > MOST

    # -- rows -------------------------------------------------------------------------------
    def _received(self, row: Any) -> None:
        """Appends that follow in the same call of this node belong to the request. Connections are named by numbers."""
        params = row[5]
        source = str(params["source"])
        if params["api"] == "Produce" and source.isdigit():
            request = row[2], source, params["correlation"]
            self.served[row[2]] = row[0], request, params.get("client_id") or ""

    def _appended(self, row: Any) -> None:
        params = row[5]
        seq, request, client = self.served.get(row[2], (-1, None, ""))
        if params["role"] == "leader" and request is not None and seq == row[0]:
            partition = params["topic"], params["partition"]
            batch = Batch(row, partition, int(request[1]), self._count)
            self._count += 1
            self._waiting += 1
            self._requests.setdefault(request, []).append(batch)
            self.partitions.setdefault(partition, Batches()).begin(batch, client, params)
            if self._waiting > AGAIN:
                self._end(next(iter(self._requests)), None)

    def _answered(self, row: Any) -> None:
        if row[5]["api"] == "Produce":
            self._end((row[2], str(row[5]["to"]), row[5]["correlation"]), row[5]["error"] == "NONE")

    def _end(self, request: _Request, acked: bool | None) -> None:
        """Its batches wait no longer; they may have gone with their topic meanwhile."""
        term_at = self.lineage.term_at
        for batch in self._requests.pop(request, []):
            self._waiting -= 1
            batches = self.partitions.get(batch.partition)
            if batches is not None and batch.nth in batches.waiting:
                term = term_at(batch.partition, batch.seq, batch.node) or term_at(batch.partition, batch.seq)
                batches.end(batch, term, acked)

    def _sent(self, row: Any) -> None:
        params = row[5]
        read = _Read(params["base_offset"], params["last_offset"] + 1, row[0], row[2])
        self._note_read((params["topic"], params["partition"]), read)

    def _deleted(self, row: Any) -> None:
        """What goes with its topic is not lost."""
        if self._keeps_lineage:
            self.lineage.take(row)
        for partition in [one for one in self.partitions if one[0] == row[5]["topic"]]:
            del self.partitions[partition]

    def _summed(self, row: Any) -> None:
        if any(code in row[5]["counts"] for code in BUSY):
            self.complete = False

    # -- figures ----------------------------------------------------------------------------
    def told(self, copies: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """The figures above, with "places", "complete" and "note"; `copies` as `copies_of` tells them."""
        judged = _Judged(self.lineage, self._reads, Copies(copies) if copies is not None else None)
        for partition, batches in self.partitions.items():
            for line in batches.lines:
                if line.acked:
                    judged.count(partition, line)
            judged.count_same(partition, batches)
        every, found = self.partitions.values(), judged.found
        places = sorted(judged.lost, key=lambda one: one[0])[:LISTED]
        words: dict[str, int | None] = {f"{word}_records": found[word] for word in WORDS}
        if copies is None:
            words["at_risk_records"] = None
        return {
            "batches": sum(batches.count for batches in every), "records": sum(batches.records for batches in every),
            "acked": found["acked"], "acked_records": found["acked_records"], "lost": found["lost"],
            "lost_records": found["lost_records"], **words, "places": [place for _, place in places],
            "complete": self.complete, "note": NOTE,
        }  # fmt: skip


class _Judged:
    """What has become of batches, counted: what holds for a stretch of a reign is worked out once."""

    def __init__(self, lineage: Lineage, reads: _Reads, copies: Copies | None) -> None:
        self.lineage = lineage
        self.copies = copies
        self.found: Counter[str] = Counter()
        self.lost: list[tuple[int, dict[str, Any]]] = []
        """(when it was appended, its place)."""
        self._edges: dict[Partition, list[int]] = {}
        self._there: dict[tuple[Partition, Written, int], bool] = {}
        self._read: dict[tuple[Partition, Written], list[tuple[int, int]]] = {}
        for (partition, _), known in reads.items():
            self._read_in_reigns(partition, known)
        for stretches in self._read.values():
            stretches.sort()
            stretches[:] = _joined(stretches)

    def _read_in_reigns(self, partition: Partition, known: list[_Read]) -> None:
        """A stretch that was read, cut where another reign begins."""
        for read in known:
            term = self.lineage.term_at(partition, read.seq, read.node) or self.lineage.term_at(partition, read.seq)
            inner = borders(term.epochs, read.first, read.end) if term is not None else []
            for first, end in zip([read.first, *inner], [*inner, read.end], strict=True):
                written = self.lineage.written(partition, first, read.seq, read.node)
                if written is not None:
                    self._read.setdefault((partition, written), []).append((first, end))

    def count(self, partition: Partition, line: Line) -> None:
        """Batches that were acked."""
        found = self.found
        found["acked"] += len(line)
        found["acked_records"] += line.has(0, len(line))
        term = line.term
        if term is None:
            return
        for low, high in self._parts(partition, line, term):
            last, records = line.last[low], line.has(low, high)
            written = term.written(last)
            stand = self.lineage.stand(partition, last, written)
            if stand is Stand.CUT:
                found["lost"] += high - low
                found["lost_records"] += records
                self.lost += [(line.nth[at], _place(partition, line, at)) for at in range(low, min(high, low + LISTED))]
                continue
            unread = records - self._were_read(partition, written, line, low, high)
            if stand is Stand.REMOVED:
                found["removed"] += unread
            elif stand is Stand.THERE:
                if not self.lineage.is_cleaned(partition, last):
                    found["unread"] += unread
                if self._is_thin(partition, last, written):
                    found["at_risk"] += records

    def count_same(self, partition: Partition, batches: Batches) -> None:
        """Those with the same bytes as one before, of a client that had a reason to send again."""
        for group in batches.same():
            source, again = -1, False  # connection of the last that is there; whether each that follows was sent again
            for run in group:
                there = [part for part in self._between(partition, run) if self._is_there(partition, run, part[0])]
                if not there:
                    continue
                records, first = sum(run.has(*part) for part in there), there[0][0]
                again = again or (source >= 0 and run.source != source)
                if again:
                    self.found["duplicated"] += records
                elif not run.acked:  # all but the first of them
                    self.found["duplicated"] += records - run.has(first, first + 1)
                    again = True
                source = run.source

    def _between(self, partition: Partition, run: Run) -> Iterator[tuple[int, int]]:
        """Stretches of a run whose batches stand alike."""
        edges = self._edges_of(partition)
        return _stretches(run.last, edges[bisect_right(edges, run.last[0]) : bisect_right(edges, run.last[-1])])

    def _is_there(self, partition: Partition, run: Run, at: int) -> bool:
        """What a reign wrote between two edges stands alike: of many with the same bytes few are looked at."""
        last = run.last[at]
        written = run.written or self.lineage.written(partition, last, run.seq, run.node)
        if written is None:
            return False
        place = partition, written, bisect_right(self._edges_of(partition), last)
        found = self._there.get(place)
        if found is None:
            found = self._there[place] = self.lineage.stand(partition, last, written) is Stand.THERE
        return found

    def _parts(self, partition: Partition, line: Line, term: Term) -> Iterator[tuple[int, int]]:
        """Stretches of a line whose batches stand alike: between the edges of what counts, and of what was written."""
        edges, first, end = self._edges_of(partition), line.last[0], line.last[-1] + 1
        marks = {*edges[bisect_right(edges, first) : bisect_left(edges, end)], *borders(term.epochs, first, end)}
        return _stretches(line.last, sorted(marks))

    def _edges_of(self, partition: Partition) -> list[int]:
        """Where something changes in the log that counts, or on the disks; going up."""
        found = self._edges.get(partition)
        if found is None:
            copies = self.copies
            disks = copies.edges(partition) if copies is not None and copies.knows(partition) else []
            found = self._edges[partition] = sorted({*self.lineage.edges(partition), *disks})
        return found

    def _is_thin(self, partition: Partition, offset: int, written: Written) -> bool:
        copies = self.copies
        if copies is None or not copies.knows(partition):
            return False
        return copies.whole(partition, offset, written.epoch) < copies.promised(partition)

    def _were_read(self, partition: Partition, written: Written, line: Line, low: int, high: int) -> int:
        """Records of the batches from `low` to before `high` whose last one was read."""
        known, found = self._read.get((partition, written), []), 0
        for first, end in known[max(0, bisect_right(known, line.last[low], key=itemgetter(0)) - 1) :]:
            if first > line.last[high - 1]:
                break
            found += line.has(*(bisect_left(line.last, one, low, high) for one in (first, end)))
        return found


def _stretches(last: Sequence[int], marks: Iterable[int]) -> Iterator[tuple[int, int]]:
    """The batches that end before the first mark, those before the next one, and those behind all."""
    low = 0
    for mark in (*marks, last[-1] + 1):
        high = bisect_left(last, mark, low)
        if low < high:
            yield low, high
        low = high


def _joined(stretches: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted stretches, those that touch made one."""
    first, end = stretches[0]
    for begin, stop in stretches[1:]:
        if begin > end:
            yield first, end
            first = begin
        end = max(end, stop)
    yield first, end


def _place(partition: Partition, line: Line, at: int) -> dict[str, Any]:
    topic, number = partition
    return {"topic": topic, "partition": number, "offset": line.base(at), "last": line.last[at]}


def outside(
    rows: Iterable[Any], operations: Iterable[Mapping[str, Any]] = (), copies: list[dict[str, Any]] | None = None
) -> dict[str, Any]:
    """The figures above from the rows of a journal, those of a history, and the disks."""
    found = Outside()
    for row in rows:
        found.take(row)
    for operation in operations:
        found.operation(operation)
    return found.told(copies)


class KeptOutside:
    """The same of a journal that goes on: its lines go in as they are written.

    Until a client from outside has sent something, only rows that tell who leads are read. Of more than `MOST` batches,
    or more than `AGAIN` that have to be looked at one by one, the figures are found in the files (`told` is None).
    """

    def __init__(self, lineage: Lineage | None = None) -> None:
        self._state = Outside(lineage)
        self._codes = frozenset((*_READ, *(CODES if lineage is None else ())))
        self.ended = False

    def take(self, lines: bytes) -> None:
        """Whole lines of the journal, in order."""
        state = self._state
        if self.ended:
            return
        for line in BytesIO(lines):
            code = line.split(b",", 4)[3].strip(b'"').decode()
            if code in self._codes and (code not in BUSY or self._matters(code, line)):
                state.take(orjson.loads(line))
        if state.is_too_much:
            self.ended, self._state = True, Outside(state.lineage)

    def operation(self, row: Mapping[str, Any]) -> None:
        """One row of the history, when it happens."""
        if not self.ended:
            self._state.operation(row)

    def _matters(self, code: str, line: bytes) -> bool:
        return bool(self._state.served) if code == "log_appended" else b'"Produce"' in line

    def told(self, copies: list[dict[str, Any]] | None = None) -> dict[str, Any] | None:
        """The figures by now."""
        return self._state.told(copies) if not self.ended else None


_READ = {
    "request_received": Outside._received, "log_appended": Outside._appended, "response_sent": Outside._answered,
    "records_sent": Outside._sent, "topic_deleted": Outside._deleted, "summed_up": Outside._summed,
}  # fmt: skip
BUSY = ("request_received", "log_appended", "response_sent")
"""What there is for each message."""
