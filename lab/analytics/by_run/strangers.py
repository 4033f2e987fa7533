"""Clients that the lab did not start, of one run: the tests of `lab.analytics.outside`, by loops instead of joins."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from lab.analytics.by_run.recording import Event, grouped
from lab.analytics.by_run.stretches import Stood
from lab.analytics.by_run.told import Judged

Row = dict[str, Any]
_OUTSIDE = re.compile(r"^[0-9]+$")
_SUMMED = {"request_received", "response_sent", "log_appended"}


@dataclass(slots=True)
class Batch:
    """What an outside client appended; `error` of its answer, None: there was none."""

    topic: str
    partition: int
    node: str
    seq: int
    offset: int
    last: int
    id: int
    crc: int | None
    bytes: int | None
    source: str
    correlation: int
    client: str
    stood: Stood
    thin: int | None
    error: str | None = None

    @property
    def place(self) -> tuple[str, int]:
        return self.topic, self.partition

    @property
    def records(self) -> int:
        return self.last - self.offset + 1


class Strangers:
    """Those of one run."""

    def __init__(self, judged: Judged) -> None:
        self.judged = judged
        self.run = judged.run

    @cached_property
    def batches(self) -> list[Batch]:
        """With what became of them, without what went with its topic."""
        asked = [event for event in self.run.of("request_received") if event[5].api == "Produce"
                 and _OUTSIDE.match(str(event[5].source))]
        if not asked:
            return []
        by = grouped(asked, lambda event: (event[0], event[2]))
        deleted: dict[str, int] = {}
        for event in self.run.of("topic_deleted"):
            deleted[event[5].get("topic", "")] = event[6]
        found = []
        for event in self.run.of("log_appended"):
            mine = [one for one in by.get((event[0], event[2]), ()) if one[6] < event[6]]
            topic = event[5].topic
            if event[5].role == "leader" and mine and deleted.get(topic, -1) < event[6]:
                found.append(self._batch(event, mine[-1]))
        self._answer(found)
        return found

    def _batch(self, event: Event, asked: Event) -> Batch:
        seq, _, node, _, _, p, position = event
        place, last = (p.topic, p.partition), p.last_offset
        stood = self.judged.stands(place, last, seq, node)
        return Batch(
            *place, node, seq, p.base_offset, last, position, p.crc, p.bytes, asked[5].source,
            asked[5].correlation, asked[5].client_id or "", stood,
            self.judged.stands.thin(place, last, stood.reign))  # fmt: skip

    def _answer(self, batches: list[Batch]) -> None:
        """The first answer behind the append."""
        answers = grouped((event for event in self.run.of("response_sent") if event[5].api == "Produce"),
                          lambda event: (event[2], event[5].to, event[5].correlation))
        for batch in batches:
            behind = (event for event in answers.get((batch.node, batch.source, batch.correlation), ())
                      if event[6] > batch.id)
            first = next(behind, None)
            batch.error = None if first is None else first[5].error

    @cached_property
    def acked(self) -> list[Batch]:
        """Those whose answer was good."""
        return [batch for batch in self.batches if batch.error == "NONE"]

    @cached_property
    def _never_read(self) -> list[Batch]:
        """Acked, and its last record was in no answer that left for a consumer outside, and in no poll."""
        reads: dict[Any, list[tuple[int, int, int, str]]] = {}
        for event in self.run.of("records_sent"):
            p = event[5]
            reads.setdefault((p.get("topic"), p.get("partition")), []).append(
                (p["base_offset"], p["last_offset"], event[0], event[2]))
        for poll in self.judged.values.polls:
            reads.setdefault((poll.topic, poll.partition), []).append((poll.offset, poll.offset, poll.seq, ""))
        for line in reads.values():
            line.sort()
        longest = {place: max(last - first for first, last, _, _ in line) for place, line in reads.items()}
        return [batch for batch in self.acked
                if not self._is_seen(batch, reads.get(batch.place, []), longest.get(batch.place, 0))]

    def _is_seen(self, batch: Batch, reads: list[tuple[int, int, int, str]], longest: int) -> bool:
        at = bisect_right(reads, batch.last, key=lambda read: read[0])
        while at and reads[at - 1][0] >= batch.last - longest:
            at -= 1
            _, last, seq, node = reads[at]
            if last >= batch.last and batch.stood.reign is not None:
                if self.judged.stands(batch.place, batch.last, seq, node).reign == batch.stood.reign:
                    return True
        return False

    # -- words ------------------------------------------------------------------------------
    @cached_property
    def lost(self) -> list[Batch]:
        """Acked batches that are not in the log that counts."""
        return [batch for batch in self.acked if batch.stood.stand == "cut"]

    def _unread(self) -> list[Batch]:
        return [one for one in self._never_read
                if one.stood.stand == "there" and one.stood.cleaned is not None and one.last >= one.stood.cleaned]

    def _duplicated(self) -> list[Batch]:
        """There, and the same bytes of the same client stand before it, which had a reason to send again."""
        before: dict[Any, list[Batch]] = {}
        found = []
        for one in self.batches:
            if one.stood.stand == "there" and one.crc is not None and one.bytes is not None:
                alike = before.setdefault((*one.place, one.client, one.crc, one.bytes, one.records), [])
                if any(other.source != one.source or other.error != "NONE" for other in alike):
                    found.append(one)
                alike.append(one)
        return found

    def figures(self) -> Iterator[Row]:
        """One row, where there are such clients."""
        if not self.batches:
            return
        unread, removed = self._unread(), [one for one in self._never_read if one.stood.stand == "removed"]
        thin = [one for one in self.acked if one.stood.stand == "there" and one.thin is not None]
        yield {
            "run": self.run.name, "batches": len(self.batches), "records": _records(self.batches),
            "acked": len(self.acked), "acked_records": _records(self.acked), "lost": len(self.lost),
            "lost_records": _records(self.lost), "unread_records": _records(unread),
            "at_risk_records": _records(thin) if self.judged.copies is not None else None,
            "duplicated_records": _records(self._duplicated()), "removed_records": _records(removed),
            "complete": not self.run.summed_up & _SUMMED,
        }  # fmt: skip

    def lost_rows(self) -> Iterator[Row]:
        """Acked batches that are gone."""
        for one in sorted(self.lost, key=lambda one: (one.topic, one.partition, one.offset)):
            yield {"run": self.run.name, "topic": one.topic, "partition": one.partition, "offset": one.offset,
                   "last": one.last}


def _records(batches: list[Batch]) -> int:
    return sum(batch.records for batch in batches)
