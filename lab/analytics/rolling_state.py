"""What rolling figures are made of: the rows of a run folded, in order, into a state that stays small.

Values are running numbers, so what was acked and what was read are stretches of numbers for each producer, and
offsets are stretches for each partition. A value that was acked and read is nothing but a part of such a stretch;
only what was acked and not read is kept with its place. What is lost, `rolling_fates` tells.

| figure | from |
|---|---|
| acked, failed, unknown | fates of sends; what was aborted with its transaction counts as failed |
| read, duplicated | polls; an offset that two consumers read counts once |
| lost | acked places that are not in the log that counts; of a run without journal, those that readers have passed |
| unread | acked, not read, and not lost |
| lag | the end of what was acked, less the consumer's place, for the partitions that it has |
| unavailable | from the end (or pause, or stepping down) of a leader to the next one |
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping
from typing import Any

import orjson

from broker_core.clients.history import producer_of
from broker_core.kernel.names import OPERATOR
from lab.analytics.rolling_fates import Standing
from lab.checkers.lineage import CODES as LINEAGE

OPERATIONS = "('send', 'poll', 'assign')"
CODES = (*LINEAGE, "process_ended", "process_paused", "process_resumed")
RATE_US = 5_000_000
_OWN = ("acked", "read", "offsets", "standing")


class Stretches:
    """A set of whole numbers as sorted stretches [first, behind the last]."""

    __slots__ = ("firsts", "ends")

    def __init__(self, pairs: Iterable[tuple[int, int]] = ()) -> None:
        self.firsts: list[int] = []
        self.ends: list[int] = []
        for first, end in pairs:
            self.firsts.append(first)
            self.ends.append(end)

    def pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.firsts, self.ends))

    def missing(self, first: int, end: int) -> list[tuple[int, int]]:
        """The parts of [first, end) that are not in the set."""
        found, at = [], bisect_right(self.ends, first)
        while at < len(self.firsts) and self.firsts[at] < end:
            if self.firsts[at] > first:
                found.append((first, self.firsts[at]))
            first = max(first, self.ends[at])
            at += 1
        return [*found, (first, end)] if first < end else found

    def add(self, first: int, end: int) -> int:
        """Put [first, end) in; how many numbers are new."""
        new = sum(last - begin for begin, last in self.missing(first, end))
        low, high = bisect_left(self.ends, first), bisect_right(self.firsts, end)
        if low < high:
            first, end = min(first, self.firsts[low]), max(end, self.ends[high - 1])
        self.firsts[low:high], self.ends[low:high] = [first], [end]
        return new


class State:
    """The fold. `take` rows in the order of their files, `figures` at any time; `to_dict` and back for a pause."""

    def __init__(self) -> None:
        self.batch = -1
        self.t_us = 0
        self.rates: list[list[int]] = []
        self.counts = {"failed": 0, "unknown": 0, "damaged": 0}
        self.producers: dict[str, dict[str, int]] = {}
        self.acked: dict[str, Stretches] = {}
        self.read: dict[str, Stretches] = {}
        self.unread: dict[str, list[list[Any]]] = {}  # label -> [number, end, partition, offset, seq, broker]
        self.partitions: dict[str, dict[str, Any]] = {}
        self.offsets: dict[str, Stretches] = {}
        self.texts: dict[str, dict[str, list[Any]]] = {}  # partition -> text -> [offset, seq, broker], None: not acked
        self.text_reads: dict[str, dict[str, int]] = {}
        self.consumers: dict[str, dict[str, int]] = {}
        self.left: dict[str, int] = {}
        self.latest: dict[str, int] = {}  # partition and label -> largest number that was read
        self.standing = Standing()

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        kept = {name: value for name, value in vars(self).items() if name not in _OWN}
        stretches = {name: {key: one.pairs() for key, one in getattr(self, name).items()}
                     for name in ("acked", "read", "offsets")}
        return {**kept, **stretches, "standing": self.standing.state}

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> State:
        """What `to_dict` gave."""
        state = cls()
        vars(state).update(told)
        state.standing = Standing(told["standing"])
        for name in ("acked", "read", "offsets"):
            setattr(state, name, {key: Stretches(pairs) for key, pairs in told[name].items()})
        return state

    # -- rows -------------------------------------------------------------------------------
    def take(self, rows: Iterable[Mapping[str, Any]]) -> None:
        """Rows with kind, t_us, node, code, content (JSON)."""
        for row in rows:
            if row["kind"] == 2:
                self.counts["damaged"] += 1
                continue
            self.t_us = max(self.t_us, row["t_us"])
            content = orjson.loads(row["content"])
            content["seq"] = row.get("seq", 0)
            if row["kind"]:
                self._event(row["t_us"], row["node"], row["code"], content)
                continue
            op, _, fate = row["code"].partition(" ")
            if op == "send":
                self._send(row["node"], fate, content)
            elif op == "poll" and fate == "ok":
                self._poll(row["node"], content)
            elif op == "assign":
                self._assign(row["node"], [f"{topic}-{partition}" for topic, partition in content["partitions"]])
        self.standing.settle()
        self.rates = [one for one in self.rates if one[0] >= self.t_us - RATE_US][-100:]
        self.rates.append([self.t_us, self._total("acked")])

    def _total(self, figure: str) -> int:
        return sum(one[figure] for one in self.producers.values())

    def _producer(self, label: str) -> dict[str, int]:
        name = producer_of(label) if label else OPERATOR
        return self.producers.setdefault(name, {"acked": 0, "read": 0, "duplicated": 0})

    def _partition(self, name: str) -> dict[str, Any]:
        return self.partitions.setdefault(name, {
            "acked": 0, "end": 0, "first": None, "bound": -1, "leader": None, "how": None, "since_us": None,
            "unavailable_us": 0,
        })  # fmt: skip

    # -- sends ------------------------------------------------------------------------------
    def _send(self, node: str, fate: str, row: Mapping[str, Any]) -> None:
        partition, label, offset = f"{row['topic']}-{row['partition']}", row.get("label", node), row.get("offset", -1)
        for first, count in row["values"]:
            if fate == "ok":
                self._acked(label, first, first + count, partition, offset, row)
                offset += count if offset >= 0 else 0
            else:
                self.counts["failed" if fate == "fail" else "unknown"] += count
        for text in row.get("texts", ()):
            copies = self.texts.setdefault(partition, {}).setdefault(text, [])
            copies.append([offset, row["seq"], row.get("broker")] if fate == "ok" else None)
            if fate == "ok":
                self._producer("")["acked"] += 1
                self._stands(partition, offset, 1, "", row)
                self._ends(partition, offset, 1)
                offset += 1 if offset >= 0 else 0
            else:
                self.counts["failed" if fate == "fail" else "unknown"] += 1

    def _ends(self, partition: str, offset: int, count: int) -> None:
        found = self._partition(partition)
        found["acked"] += count
        found["end"] = max(found["end"], offset + count)

    def _stands(self, partition: str, offset: int, count: int, label: str, row: Mapping[str, Any]) -> None:
        if offset >= 0:
            owner = producer_of(label) if label else OPERATOR
            self.standing.acked(partition, offset, count, owner, row["seq"], row.get("broker"))

    def _acked(self, label: str, first: int, end: int, partition: str, offset: int, row: Mapping[str, Any]) -> None:
        self._stands(partition, offset, end - first, label, row)
        self._producer(label)["acked"] += self.acked.setdefault(label, Stretches()).add(first, end)
        if offset >= 0:
            self._ends(partition, offset, end - first)
        else:
            self._partition(partition)["acked"] += end - first
        waiting = self.unread.setdefault(label, [])
        for begin, last in self.read.setdefault(label, Stretches()).missing(first, end):
            place = offset + begin - first if offset >= 0 else -1
            told = [row["seq"], row.get("broker")]
            if waiting and waiting[-1][1:3] == [begin, partition] and _joins(waiting[-1], place, told[1]):
                waiting[-1][1] = last
            else:
                waiting.append([begin, last, partition, place, *told])

    # -- polls ------------------------------------------------------------------------------
    def _poll(self, node: str, row: Mapping[str, Any]) -> None:
        name = f"{row['topic']}-{row['partition']}"
        partition, known = self._partition(name), self.offsets.setdefault(name, Stretches())
        for offset, label, number, count in row["runs"]:
            if not count:
                continue
            for first, end in known.missing(offset, offset + count):
                self._read(name, label, number if label is None else number + first - offset, end - first)
            known.add(offset, offset + count)
            partition["first"] = offset if partition["first"] is None else min(partition["first"], offset)
            partition["bound"] = max(partition["bound"], offset + count - 1)
            self.consumers.setdefault(node, {})[name] = offset + count

    def _read(self, partition: str, label: str | None, number: Any, count: int) -> None:
        owner = self._producer(label or "")
        if label is None:
            owner["read"] += 1
            copies = self.text_reads.setdefault(partition, {})
            copies[str(number)] = copies.get(str(number), 0) + 1
            return
        latest = f"{partition} {label}"
        self.latest[latest] = max(self.latest.get(latest, -1), number + count - 1)
        new = self.read.setdefault(label, Stretches()).add(number, number + count)
        owner["read"] += new
        owner["duplicated"] += count - new
        waiting = self.unread.get(label)
        if waiting:
            self.unread[label] = [part for one in waiting for part in _without(one, number, number + count)]

    def _assign(self, node: str, partitions: list[str]) -> None:
        before = self.consumers.get(node, {})
        self.left.update({name: at for name, at in before.items() if name not in partitions})
        found = {name: before.get(name, self.left.get(name)) for name in partitions}
        self.consumers[node] = {name: at for name, at in found.items() if at is not None}

    # -- leaders ----------------------------------------------------------------------------
    def _event(self, t_us: int, node: str, code: str, params: Mapping[str, Any]) -> None:
        if code in LINEAGE:
            self.standing.event([params["seq"], t_us, node, code, 0, params])
        if code == "topic_deleted":
            for name in [name for name in self.partitions if name.rpartition("-")[0] == params["topic"]]:
                self.partitions[name] |= {"leader": None, "how": None, "since_us": None}
        elif code == "became_leader":
            found = self._partition(f"{params['topic']}-{params['partition']}")
            self._back(found, t_us)
            found["leader"] = node
        elif code in ("truncated", "log_loaded", "log_start_moved", "log_cleaned"):
            return
        elif code in ("became_follower", "replica_stopped"):
            found = self._partition(f"{params['topic']}-{params['partition']}")
            if found["leader"] == node and not params.get("deleted"):
                self._gone(found, t_us, "stepped down")
        else:
            for found in [one for one in self.partitions.values() if one["leader"] == node]:
                if code != "process_resumed":
                    self._gone(found, t_us, params.get("how", "paused"))
                elif found["how"] == "paused":
                    self._back(found, t_us)

    @staticmethod
    def _gone(partition: dict[str, Any], t_us: int, how: str) -> None:
        if partition["since_us"] is None:
            partition |= {"since_us": t_us, "how": how}

    @staticmethod
    def _back(partition: dict[str, Any], t_us: int) -> None:
        if partition["since_us"] is not None:
            partition["unavailable_us"] += t_us - partition["since_us"]
            partition |= {"since_us": None, "how": None}

    # -- figures ----------------------------------------------------------------------------
    def figures(self) -> dict[str, Any]:
        """As the module's chapter in `rolling` shows them, without the number of the micro-batch."""
        producers = {name: {**one, "lost": 0, "unread": 0} for name, one in sorted(self.producers.items())}
        partitions = {name: self._shown(one) for name, one in sorted(self.partitions.items())}
        for name, owner, count in self.standing.lost():
            producers[owner]["lost"] += count
            partitions[name]["lost"] += count
        for owner, name, count, lost in self._not_read():
            producers[owner]["lost"] += lost
            producers[owner]["unread"] += count - lost
            partitions[name]["lost"] += lost
        consumers = {name: self._lag(places) for name, places in sorted(self.consumers.items()) if places}
        totals = {name: sum(one[name] for one in producers.values())
                  for name in ("acked", "read", "lost", "unread", "duplicated")}
        return {
            "t_us": self.t_us, **totals, **self.counts, "acked_per_s": self._rate(),
            "lag": max((one["lag"] for one in consumers.values()), default=0),
            "unavailable": [name for name, one in partitions.items() if one["since_us"] is not None],
            "unavailable_s": round(sum(one["unavailable_s"] for one in partitions.values()), 6),
            "producers": producers, "consumers": consumers, "partitions": partitions,
        }  # fmt: skip

    def _shown(self, found: Mapping[str, Any]) -> dict[str, Any]:
        since = found["since_us"]
        away = found["unavailable_us"] + (0 if since is None else self.t_us - since)
        return {"acked": found["acked"], "lost": 0, "leader": found["leader"] if since is None else None,
                "how": found["how"], "since_us": since, "unavailable_s": away / 1e6}

    def _not_read(self) -> Iterable[tuple[str, str, int, int]]:
        """(producer, partition, count, how many of these are lost) of what was acked, not read, and not cut off."""
        for label, waiting in self.unread.items():
            for number, end, partition, offset, seq, broker in waiting:
                if offset >= 0:
                    yield producer_of(label), partition, *self._waiting(partition, offset, end - number, seq, broker)
                else:
                    after = self.latest.get(f"{partition} {label}", -1)
                    yield producer_of(label), partition, end - number, max(0, min(end, after) - number)
        for partition, texts in self.texts.items():
            for text, copies in texts.items():
                for told in copies[self.text_reads.get(partition, {}).get(text, 0):]:
                    if told is not None:
                        yield OPERATOR, partition, *self._waiting(partition, told[0], 1, *told[1:])

    def _waiting(self, name: str, offset: int, count: int, seq: int, broker: str | None) -> tuple[int, int]:
        """(count, lost) of what was acked there and not read; what is cut off is counted as lost elsewhere."""
        if offset >= 0 and self.standing.knows(name):
            return self.standing.there(name, offset, offset + count, seq, broker), 0
        return count, self._passed(name, offset, count)

    def _passed(self, name: str, offset: int, count: int) -> int:
        """How many of these offsets lie between what was read."""
        found = self.partitions[name]
        if offset < 0 or found["first"] is None:
            return 0
        return int(max(0, min(offset + count, found["bound"] + 1) - max(offset, found["first"])))

    def _lag(self, places: Mapping[str, int]) -> dict[str, Any]:
        behind = {name: max(0, self.partitions[name]["end"] - at) for name, at in sorted(places.items())}
        return {"lag": sum(behind.values()), "partitions": behind}

    def _rate(self) -> float | None:
        """Acknowledgements a virtual second, lately."""
        if len(self.rates) < 2 or self.rates[-1][0] == self.rates[0][0]:
            return None
        (before, had), (now, has) = self.rates[0], self.rates[-1]
        return round((has - had) / (now - before) * 1e6, 1)


def _joins(one: list[Any], place: int, broker: str | None) -> bool:
    """Whether `place` is where the offsets of a waiting stretch go on, by the word of the same broker."""
    return one[5] == broker and bool(place == -1 == one[3] or (one[3] >= 0 and place == one[3] + one[1] - one[0]))


def _without(one: list[Any], first: int, end: int) -> list[list[Any]]:
    """A waiting stretch without the numbers [first, end)."""
    number, last, partition, offset, *told = one
    if end <= number or last <= first:
        return [one]
    parts = []
    if number < first:
        parts.append([number, first, partition, offset, *told])
    if end < last:
        parts.append([end, last, partition, offset + end - number if offset >= 0 else -1, *told])
    return parts
