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

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import orjson

from lab.checkers.copies import Copies
from lab.checkers.fates import Stand
from lab.checkers.lineage import CODES, Lineage, Partition, Written

NOTE = "as far as the brokers see: batches that produce requests appended and whose answers left without an error"
MOST = 50_000
LISTED = 1000
READERS = 8
"""So many readers of a partition may be at different places, and each has one stretch."""
WORDS = ("unread", "at_risk", "duplicated", "removed")
_Request = tuple[str, str, int]


class _Batch:
    """One append of an outside client. `acked`: whether the answer was good, None: there was none."""

    __slots__ = ("seq", "node", "partition", "base", "last", "source", "same", "acked", "written")

    def __init__(self, row: Any, partition: Partition, source: str, client: str) -> None:
        params = row[5]
        self.seq: int = row[0]
        self.node: str = row[2]
        self.partition = partition
        self.base: int = params["base_offset"]
        self.last: int = params["last_offset"]
        self.source = source
        self.same = (partition, client, params.get("crc"), params.get("bytes"), self.last - self.base)
        self.acked: bool | None = None
        self.written: Written | None = None

    @property
    def records(self) -> int:
        return self.last - self.base + 1


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
        self.batches: list[_Batch] = []
        self.complete = True
        self.served: dict[str, tuple[int, _Request, str]] = {}
        self._requests: dict[_Request, list[_Batch]] = {}
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
    def stretches(self) -> int:
        """How many stretches that were read are kept."""
        return sum(map(len, self._reads.values()))

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
            batch = _Batch(row, (params["topic"], params["partition"]), request[1], client)
            self.batches.append(batch)
            self._requests.setdefault(request, []).append(batch)

    def _answered(self, row: Any) -> None:
        if row[5]["api"] == "Produce":
            for batch in self._requests.pop((row[2], str(row[5]["to"]), row[5]["correlation"]), []):
                batch.acked = row[5]["error"] == "NONE"

    def _sent(self, row: Any) -> None:
        params = row[5]
        read = _Read(params["base_offset"], params["last_offset"] + 1, row[0], row[2])
        self._note_read((params["topic"], params["partition"]), read)

    def _deleted(self, row: Any) -> None:
        """What goes with its topic is not lost."""
        if self._keeps_lineage:
            self.lineage.take(row)
        self.batches = [one for one in self.batches if one.partition[0] != row[5]["topic"]]

    def _summed(self, row: Any) -> None:
        if any(code in row[5]["counts"] for code in BUSY):
            self.complete = False

    # -- figures ----------------------------------------------------------------------------
    def told(self, copies: list[dict[str, Any]] | None = None) -> dict[str, Any]:
        """The figures above, with "places", "complete" and "note"; `copies` as `copies_of` tells them."""
        acked = [batch for batch in self.batches if batch.acked]
        judged = _Judged(self.lineage, self._reads, Copies(copies) if copies is not None else None)
        found: dict[str, list[_Batch]] = {"lost": [], **{word: [] for word in WORDS}}
        for batch in acked:
            for word in judged.words(batch):
                found[word].append(batch)
        found["duplicated"] = list(_duplicated(batch for batch in self.batches if judged.is_there(batch)))
        words: dict[str, int | None] = {f"{word}_records": _records(found[word]) for word in WORDS}
        if copies is None:
            words["at_risk_records"] = None
        return {
            "batches": len(self.batches), "records": _records(self.batches), "acked": len(acked),
            "acked_records": _records(acked), "lost": len(found["lost"]), "lost_records": _records(found["lost"]),
            **words, "places": [_place(one) for one in found["lost"][:LISTED]],
            "complete": self.complete, "note": NOTE,
        }  # fmt: skip


class _Judged:
    """What has become of single batches; what holds for a stretch of a reign is worked out once."""

    def __init__(self, lineage: Lineage, reads: _Reads, copies: Copies | None) -> None:
        self.lineage = lineage
        self.copies = copies
        self._edges: dict[Partition, list[int]] = {}
        self._stands: dict[tuple[Partition, Written, int], tuple[Stand, bool]] = {}
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
            borders = [first for _, first in term.epochs if read.first < first < read.end] if term is not None else []
            for first, end in zip([read.first, *borders], [*borders, read.end], strict=True):
                written = self.lineage.written(partition, first, read.seq, read.node)
                if written is not None:
                    self._read.setdefault((partition, written), []).append((first, end))

    def words(self, batch: _Batch) -> Iterator[str]:
        """Of an acked batch."""
        written, stand, is_thin = self._look(batch)
        if stand is Stand.CUT:
            yield "lost"
        elif stand is Stand.REMOVED and not self._was_read(batch, written):
            yield "removed"
        elif stand is Stand.THERE:
            if not self._was_read(batch, written) and not self.lineage.is_cleaned(batch.partition, batch.last):
                yield "unread"
            if is_thin:
                yield "at_risk"

    def is_there(self, batch: _Batch) -> bool:
        return self._look(batch)[1] is Stand.THERE

    def _look(self, batch: _Batch) -> tuple[Written | None, Stand, bool]:
        partition = batch.partition
        written = batch.written
        if written is None:
            written = batch.written = self.lineage.written(partition, batch.last, batch.seq, batch.node)
        if written is None:
            return None, Stand.UNKNOWN, False
        edges = self._edges.get(partition)
        if edges is None:
            edges = self._edges[partition] = self._edges_of(partition)
        key = partition, written, bisect_right(edges, batch.last)
        found = self._stands.get(key)
        if found is None:
            stand = self.lineage.stand(partition, batch.last, written)
            found = self._stands[key] = stand, self._is_thin(partition, batch.last, written)
        return written, *found

    def _edges_of(self, partition: Partition) -> list[int]:
        copies = self.copies
        disks = copies.edges(partition) if copies is not None and copies.knows(partition) else []
        return sorted({*self.lineage.edges(partition), *disks})

    def _is_thin(self, partition: Partition, offset: int, written: Written) -> bool:
        copies = self.copies
        if copies is None or not copies.knows(partition):
            return False
        return copies.whole(partition, offset, written.epoch) < copies.promised(partition)

    def _was_read(self, batch: _Batch, written: Written | None) -> bool:
        known = self._read.get((batch.partition, written), ()) if written is not None else ()
        at = bisect_right(known, batch.last, key=lambda one: one[0])
        return at > 0 and batch.last < known[at - 1][1]


def _joined(stretches: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Sorted stretches, those that touch made one."""
    first, end = stretches[0]
    for begin, stop in stretches[1:]:
        if begin > end:
            yield first, end
            first = begin
        end = max(end, stop)
    yield first, end


def _duplicated(batches: Iterable[_Batch]) -> Iterator[_Batch]:
    """Those with the same bytes as one before, of a client that had a reason to send again."""
    known: dict[Any, list[_Batch]] = {}
    for batch in batches:
        before = known.setdefault(batch.same, [])
        if batch.same[2] is not None and any(not one.acked or one.source != batch.source for one in before):
            yield batch
        before.append(batch)


def _records(batches: Iterable[_Batch]) -> int:
    return sum(one.records for one in batches)


def _place(batch: _Batch) -> dict[str, Any]:
    topic, partition = batch.partition
    return {"topic": topic, "partition": partition, "offset": batch.base, "last": batch.last}


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

    Until a client from outside has sent something, only rows that tell who leads are read. Of more than `MOST` batches
    or stretches that were read the figures are found in the files (`told` is None).
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
        for line in lines.splitlines():
            code = line.split(b",", 4)[3].strip(b'"').decode()
            if code in self._codes and (code not in BUSY or self._matters(code, line)):
                state.take(orjson.loads(line))
        if len(state.batches) > MOST or state.stretches > MOST:
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
