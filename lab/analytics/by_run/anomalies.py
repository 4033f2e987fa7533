"""Duplicates, values out of order, two values at one offset, steps of consumers, and offsets that went down."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from broker_core.kernel.names import CHECKER
from lab.analytics.by_run.values import Number, Poll, raw_of

if TYPE_CHECKING:
    from lab.analytics.by_run.told import Judged, Place, Value


class Odd(NamedTuple):
    """A value at a place."""

    label: str
    number: Number
    topic: str
    partition: int
    offset: int


def duplicated(judged: Judged) -> Iterator[Odd]:
    """Every place of a value beyond its first: in the order of reading, then those that were only acked."""
    read = [(topic, partition, offset, label, number) for topic, partition, offset, label, _, number, *_ in judged.read]
    there = {*read}
    only: dict[Any, int] = {}
    for ack in judged.acks:
        key = (ack.topic, ack.partition, ack.offset, ack.label, ack.number)
        if ack.label and ack.offset >= 0 and key not in there:
            only[key] = min(only.get(key, ack.position), ack.position)
    acked = sorted((position, key[2], key) for key, position in only.items())
    first: set[Value] = set()
    for place in (*read, *(key for _, _, key in acked)):
        topic, partition, offset, label, number = place
        if (label, number) not in first:
            first.add((label, number))
        elif judged.is_own(label, number):
            yield Odd(label, number, topic, partition, offset)


def reordered(judged: Judged) -> Iterator[tuple[str, Number, str, int, int, int]]:
    """(label, number, topic, partition, offset, behind) of values behind a later one; a second copy does not count."""
    largest: dict[Any, int] = {}
    copies: set[Any] = set()
    for one in sorted((one for one in judged.read if one.label and one.nth == 1), key=lambda one: one.place):
        line = one.topic, one.partition, one.label
        if (line, one.number) in copies or not isinstance(one.number, int):
            continue
        copies.add((line, one.number))
        behind = largest.get(line, -1)
        if one.number < behind:
            if judged.is_own(one.label, one.number):
                yield one.label, one.number, one.topic, one.partition, one.offset, behind
        else:
            largest[line] = one.number


def inconsistent(judged: Judged) -> Iterator[Odd]:
    """Values beyond the first at an offset: what was read comes first, then what was acked."""
    at: dict[Place, dict[Any, None]] = {}
    for topic, partition, offset, label, raw, *_ in judged.read:
        at.setdefault((topic, partition, offset), {})[label, raw] = None
    for ack in sorted((ack for ack in judged.acks if ack.offset >= 0), key=lambda ack: ack.position):
        at.setdefault((ack.topic, ack.partition, ack.offset), {})[ack.label, ack.raw] = None
    for (topic, partition, offset), values in at.items():
        for label, raw in list(values)[1:] if len(values) > 1 else ():
            yield Odd(label, raw, topic, partition, offset)


def failed_reads(judged: Judged) -> Iterator[tuple[str, int, int, str, Number, str, str | None]]:
    """(topic, partition, offset, label, number, reader, transaction) of values whose write failed or was aborted; of
    the latter those that somebody got: the read-back is nobody."""
    failed, aborted = judged.sent.get("fail", {}), judged.sent.get("abort", {})
    wanted = {
        (*one.place, one.label, one.raw): one for one in judged.read if one.value in failed or one.value in aborted
    }
    of, found = judged.values.taken_back if wanted else {}, dict[Any, None]()
    for poll in judged.values.polls if wanted else ():
        key = (poll.topic, poll.partition, poll.offset, poll.label, raw_of(poll))
        one = wanted.get(key)
        if one is not None and (one.value in failed or poll.process != CHECKER):
            found[*key[:4], one.number, poll.process, of.get((one.label, one.number))] = None
    yield from found


def falls(judged: Judged) -> Iterator[tuple[str, str, int, int, int, int]]:
    """(process, topic, partition, t_us, before, offset) of acknowledgements below what the producer was told before."""
    lasts: dict[Any, int] = {}
    for _, t_us, process, kind, op, fields, _ in judged.run.operations:
        offset = fields.get("offset") if op == "send" and kind == "ok" else None
        if offset is None or offset < 0:
            continue
        count = sum(v[1] for v in fields.get("values") or ()) + len(fields.get("texts") or ())
        if count:
            line = process, fields["topic"], fields["partition"]
            before = lasts.get(line)
            if before is not None and offset < before:
                yield process, line[1], line[2], t_us, before, offset
            lasts[line] = offset + count - 1


# -- steps ------------------------------------------------------------------------------------
def stale(judged: Judged) -> Iterator[tuple[str, str, int, int, int, int, int, str]]:
    """(process, topic, partition, t_us, before, offset, step, test): steps other than to the next index."""
    moves = list(_moves(judged))
    index = _versions(judged) if moves else {}
    for poll, before, inside in moves:
        line = index.get((poll.topic, poll.partition), {})
        if poll.offset in line and before in line:
            step = line[poll.offset] - line[before]
            if step != 1:
                test = ("int-" if inside else "") + ("poll-skip" if step > 1 else "nonmonotonic-poll")
                yield poll.process, poll.topic, poll.partition, poll.t_us, before, poll.offset, step, test


def _moves(judged: Judged) -> Iterator[tuple[Poll, int, bool]]:
    """Reads that are not of the next offset, with the offset before; none over a rebalance, and none of those who take
    from a queue (share groups): its deliveries have no order."""
    assigned: dict[str, list[int]] = {}
    queues: set[str] = set()
    for row in judged.run.operations:
        if row[4] == "assign":
            assigned.setdefault(row[2], []).append(row[6])
        elif row[4] == "poll" and "delivery" in row[5]:
            queues.add(row[2])
    eras: dict[str, int] = {}
    last: dict[Any, Poll] = {}
    for poll in judged.values.polls:
        if poll.process in queues:
            continue
        marks = assigned.get(poll.process)
        if marks:
            era = eras.get(poll.process, 0)
            while era < len(marks) and marks[era] < poll.position:
                era += 1
            eras[poll.process] = era
        else:
            era = 0
        line = poll.topic, poll.partition, poll.process, era
        before = last.get(line)
        if before is not None and poll.offset != before.offset + 1:
            yield poll, before.offset, poll.position == before.position
        last[line] = poll


def _versions(judged: Judged) -> dict[tuple[str, int], dict[int, int]]:
    """The version order: by partition the index of each offset."""
    told = {value for kind, values in judged.sent.items() if kind != "info" for value in values}
    aborted = {*judged.sent.get("abort", {}), *(judged.values.begun - told)}
    gone = {one.place for one in judged.read if one.value in aborted}
    offsets = {one.place for one in judged.read}
    offsets |= {(ack.topic, ack.partition, ack.offset) for ack in judged.acks if ack.offset >= 0}
    found: dict[tuple[str, int], dict[int, int]] = {}
    for topic, partition, offset in sorted(offsets - gone):
        line = found.setdefault((topic, partition), {})
        line[offset] = len(line)
    return found

