"""Batches of outside clients, kept as lines: the figures are those of judging each batch alone, and are there in a moment."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

import orjson
import pytest

from lab.checkers.copies import Copies
from lab.checkers.fates import Stand
from lab.checkers.lineage import Lineage
from lab.checkers.receipt_batches import Firsts
from lab.checkers.receipt_outside import KeptOutside, Outside

MANY, SEEDS, TERMS = 20_000, 40, 100
TOPIC, NODES = "orders", ("broker-1", "broker-2", "broker-3")
PRODUCE = {"api": "Produce"}


@dataclass
class Sent:
    """What is known of one batch."""

    seq: int
    node: str
    partition: int
    base: int
    last: int
    source: int
    same: tuple[Any, ...]
    acked: bool | None = None


@dataclass
class Story:
    """A journal that is drawn: two partitions whose leaders change, cut, delete and compact; clients that send again."""

    draw: Random
    rows: list[tuple[Any, ...]] = field(default_factory=list)
    batches: list[Sent] = field(default_factory=list)
    reads: list[tuple[int, int, int, int, str]] = field(default_factory=list)
    leader: dict[int, str] = field(default_factory=dict)
    epoch: dict[int, int] = field(default_factory=dict)
    end: dict[int, int] = field(default_factory=dict)
    start: dict[int, int] = field(default_factory=dict)
    open: list[tuple[Sent, int]] = field(default_factory=list)

    def row(self, node: str, code: str, seq: int | None = None, **params: Any) -> int:
        self.rows.append((len(self.rows) + 1 if seq is None else seq, len(self.rows), node, code, 0, params))
        return int(self.rows[-1][0])

    def lead(self, partition: int, keep: int) -> None:
        place = {"topic": TOPIC, "partition": partition}
        self.epoch[partition] = self.epoch.get(partition, -1) + 1
        old, new = self.leader.get(partition), self.draw.choice([one for one in NODES if one != self.leader.get(partition)])
        if old is not None:
            self.row(new, "became_follower", **place, leader_epoch=self.epoch[partition] - 1, leo=keep)
        self.row(new, "became_leader", **place, leader_epoch=self.epoch[partition], leo=keep)
        if old is not None and keep < self.end[partition]:
            self.row(old, "truncated", **place, before=self.end[partition], after=keep)
        self.leader[partition], self.end[partition] = new, keep

    def send(self, partition: int) -> None:
        draw, node, again = self.draw, self.leader[partition], None
        if self.batches and draw.random() < 0.1:
            again = draw.choice(self.batches[-30:])
        count = again.last - again.base + 1 if again is not None else draw.choice([1, 1, 3, 10])
        client, crc, size = again.same[1:4] if again is not None else (draw.choice("ab"), draw.randrange(1 << 32), 70 + count)
        source, correlation = draw.randrange(1, 4), len(self.rows)
        seq = self.row(node, "request_received", source=str(source), correlation=correlation, client_id=client, **PRODUCE)
        base = self.end[partition]
        self.end[partition] = base + count
        self.row(node, "log_appended", seq, role="leader", topic=TOPIC, partition=partition, base_offset=base,
                 last_offset=base + count - 1, crc=crc, bytes=size)
        sent = Sent(seq, node, partition, base, base + count - 1, source, (partition, client, crc, size, count))
        self.batches.append(sent)
        self.open.append((sent, correlation))

    def answer(self) -> None:
        if self.open:
            sent, correlation = self.open.pop(self.draw.randrange(min(3, len(self.open))))
            if self.draw.random() < 0.95:
                sent.acked = self.draw.random() < 0.9
                error = "NONE" if sent.acked else "NOT_ENOUGH_REPLICAS_AFTER_APPEND"
                self.row(sent.node, "response_sent", to=str(sent.source), correlation=correlation, error=error, **PRODUCE)

    def read(self, partition: int) -> None:
        if self.end[partition] > self.start.get(partition, 0):
            first = self.draw.randrange(self.start.get(partition, 0), self.end[partition])
            last = self.draw.randrange(first, self.end[partition])
            node = self.leader[partition]
            seq = self.row(node, "records_sent", topic=TOPIC, partition=partition, base_offset=first, last_offset=last)
            self.reads.append((partition, first, last + 1, seq, node))

    def rule(self, partition: int) -> None:
        """Retention or compaction, up to somewhere."""
        offset = self.draw.randrange(self.start.get(partition, 0), self.end[partition] + 1)
        place = {"topic": TOPIC, "partition": partition}
        if self.draw.random() < 0.5:
            self.start[partition] = offset
            self.row(self.leader[partition], "log_start_moved", **place, offset=offset)
        else:
            self.row(self.leader[partition], "log_cleaned", **place, end=offset)

    def copies(self) -> list[dict[str, Any]]:
        """Two of three disks are behind, or not whole."""
        found = []
        for partition in (0, 1):
            epochs = [[0, 0]]
            ends = {node: self.draw.randrange(self.end[partition] + 1) for node in "12"} | {"3": self.end[partition]}
            brokers = {node: {"start": 0, "end": end, "epochs": epochs, "damaged": []} for node, end in ends.items()}
            found.append({"topic": TOPIC, "partition": partition, "promised": 3, "brokers": brokers})
        return found


def told(seed: int, length: int = 300) -> Story:
    story = Story(Random(seed))
    for partition in (0, 1):
        story.end[partition] = 0
        story.lead(partition, 0)
    for _ in range(length):
        partition, what = story.draw.randrange(2), story.draw.random()
        if what < 0.45:
            story.send(partition)
        elif what < 0.9:
            story.answer()
        elif what < 0.96:
            story.read(partition)
        elif what < 0.98:
            story.lead(partition, story.draw.randrange(story.start.get(partition, 0), story.end[partition] + 1))
        else:
            story.rule(partition)
    return story


def one_by_one(story: Story, lineage: Any, copies: Copies | None) -> Counter[str]:
    """The figures, each batch looked at alone."""
    found: Counter[str] = Counter()
    before: dict[Any, list[Sent]] = {}
    for one in story.batches:
        partition, count = (TOPIC, one.partition), one.last - one.base + 1
        written = lineage.written(partition, one.last, one.seq, one.node)
        stand = lineage.stand(partition, one.last, written)
        found.update(batches=1, records=count)
        if stand is Stand.THERE:
            others = before.setdefault(one.same, [])
            if any(not other.acked or other.source != one.source for other in others):
                found["duplicated_records"] += count
            others.append(one)
        if not one.acked:
            continue
        found.update(acked=1, acked_records=count)
        was_read = any(of == one.partition and first <= one.last < end and lineage.written(partition, one.last, seq, node) == written
                       for of, first, end, seq, node in story.reads)
        if stand is Stand.CUT:
            found.update(lost=1, lost_records=count)
        elif stand is Stand.REMOVED:
            found["removed_records"] += 0 if was_read else count
        else:
            found["unread_records"] += 0 if was_read or lineage.is_cleaned(partition, one.last) else count
            if copies is not None and copies.whole(partition, one.last, written.epoch) < copies.promised(partition):
                found["at_risk_records"] += count
    return found


@pytest.mark.parametrize("seed", range(SEEDS))
def test_lines_tell_what_each_batch_tells(seed: int) -> None:
    story, outside = told(seed), Outside()
    for at, row in enumerate(story.rows):
        outside.take(row)
        if at % 40 == 0:
            outside.told()  # a receipt of a run that goes on changes nothing in it
    for copies in (None, story.copies()):
        wanted = one_by_one(story, outside.lineage, Copies(copies) if copies is not None else None)
        found = outside.told(copies)
        figures = {name: found[name] for name in found if name not in ("places", "complete", "note")}
        expected = {name: wanted[name] for name in figures}
        if copies is None:
            expected["at_risk_records"] = None
        assert figures == expected
        lost = [one for one in story.batches if one.acked and lineage_cut(outside, one)]
        assert found["places"] == [{"topic": TOPIC, "partition": one.partition, "offset": one.base, "last": one.last} for one in lost]


def lineage_cut(outside: Outside, one: Sent) -> bool:
    partition, lineage = (TOPIC, one.partition), outside.lineage
    written = lineage.written(partition, one.last, one.seq, one.node)
    assert written is not None
    return lineage.stand(partition, one.last, written) is Stand.CUT


def test_the_stories_have_everything_in_them() -> None:
    """Where nothing was found there is nothing to agree on."""
    seen: Counter[str] = Counter()
    for seed in range(SEEDS):
        story, outside = told(seed), Outside()
        for row in story.rows:
            outside.take(row)
        seen.update(name for name, count in outside.told(story.copies()).items() if isinstance(count, int) and count)
    assert min(seen[name] for name in ("lost", "unread_records", "removed_records", "at_risk_records", "duplicated_records")) > SEEDS // 3


def test_many_small_batches_are_a_few_lines() -> None:
    """A client that writes record by record for minutes, of which an answer now and then fails."""
    story, kept = Story(Random(1), end={0: 0}), KeptOutside()
    story.lead(0, 0)
    for offset in range(MANY):
        named, place = {"correlation": offset, **PRODUCE}, {"role": "leader", "topic": TOPIC, "partition": 0, "bytes": 70}
        seq = story.row(story.leader[0], "request_received", source="1", client_id="a", **named)
        story.row(story.leader[0], "log_appended", seq, base_offset=offset, last_offset=offset, crc=offset, **place)
        error = "NONE" if offset % 1000 else "UNKNOWN_SERVER_ERROR"
        story.row(story.leader[0], "response_sent", to="1", error=error, **named)
    kept.take(b"".join(orjson.dumps(row) + b"\n" for row in story.rows))
    found = kept.told()
    assert found is not None and found["batches"] == MANY
    assert found["acked"] == found["unread_records"] == MANY * 999 // 1000
    assert sum(len(one.lines) for one in kept._state.partitions.values()) == 2


def test_the_same_bytes_in_many_terms_are_looked_at_once_a_stretch(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that says the same again and again, while leaders come and go: not each of its batches is judged alone."""
    story, outside, asked = Story(Random(1), end={0: 0}), Outside(), Counter[str]()
    for term in range(TERMS):
        story.lead(0, story.end[0])
        for _ in range(MANY // TERMS):
            named, offset = {"correlation": len(story.rows), **PRODUCE}, story.end[0]
            place = {"role": "leader", "topic": TOPIC, "partition": 0, "bytes": 70, "crc": 7}
            seq = story.row(story.leader[0], "request_received", source=str(term), client_id="a", **named)
            story.row(story.leader[0], "log_appended", seq, base_offset=offset, last_offset=offset, **place)
            story.row(story.leader[0], "response_sent", to=str(term), error="NONE", **named)
            story.end[0] += 1
    for row in story.rows:
        outside.take(row)
    stand = Lineage.stand

    def counted(*of: Any) -> Stand:
        asked["stand"] += 1
        return stand(*of)

    monkeypatch.setattr(Lineage, "stand", counted)
    found = outside.told()
    assert found["acked"] == MANY
    assert found["duplicated_records"] > MANY // TERMS
    assert asked["stand"] <= 4 * TERMS


def test_the_first_of_each_bytes_is_known_and_takes_little() -> None:
    draw, firsts, known = Random(1), Firsts(), {}
    for nth in range(MANY):
        key = draw.randrange(-(1 << 63), 1 << 63) if nth % 5 else draw.choice([*range(-9, 9)])
        assert firsts.of(key, nth) == known.setdefault(key, nth)
    assert sum(keys.buffer_info()[1] + numbers.buffer_info()[1] for keys, numbers in firsts.shelves.values()) == 2 * len(known)
