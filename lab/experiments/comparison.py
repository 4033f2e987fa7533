"""Two runs side by side: where their journals part, and how long each had to wait for an acknowledgement.

```
run 0001    ....................a b c ....      3.141 s: a is the first event that the other run does not have
run 0001-1  ....................x y z ....
                                ^ parting: seq of the last common event, and the first event of each run behind it
```
An *outage* of a partition is the time in which records waited there and none was acknowledged: from the last
acknowledgement, or from when the oldest of them was handed to its producer, to the next acknowledgement. A refusal
does not end it. What a producer had sent waits no longer once its process has ended, for good or until it starts
again: nobody asks for those records any more, and the absence of a producer is no outage. With acks=0 nothing is waited
for, and there is none. What an attached client has waited for stays with the client: the brokers do not see records
that it could not send, so its outages are not counted.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import orjson

from broker_core.kernel.events import PROCESS_ENDED
from lab.experiments.directory import JOURNAL, OPERATIONS

Row = list[Any]


@dataclass(frozen=True, slots=True)
class Parting:
    """What two journals have in common: `events` rows up to event `seq`, at `t_us`; then the next row of each."""

    seq: int
    t_us: int
    events: int
    rows: tuple[Row | None, Row | None] = (None, None)


@dataclass(frozen=True, slots=True)
class Outage:
    """Records waited from `from_us` to `until_us`; `over`: then one was acknowledged."""

    partition: str
    from_us: int
    until_us: int
    over: bool


def parting(one: Path, other: Path) -> Parting:
    """Where the journals of two runs go apart: the last event of their common past."""
    common = b""
    count = 0
    with open(one / JOURNAL, "rb") as left, open(other / JOURNAL, "rb") as right:
        while True:
            mine, theirs = left.readline(), right.readline()
            if mine != theirs or not mine:
                return _parted(common, count, (_row(mine), _row(theirs)))
            common, count = mine, count + 1


def _row(line: bytes) -> Row | None:
    """None at the end, and of a line that is still being written."""
    return orjson.loads(line) if line.endswith(b"\n") else None


def _parted(common: bytes, count: int, rows: tuple[Row | None, Row | None]) -> Parting:
    """Several events may have one sequence number: the common past ends before the number that differs."""
    last = orjson.loads(common) if common else [0, 0]
    differs = min((row[0] - 1 for row in rows if row is not None), default=last[0])
    if None in rows:  # one of them has come to its end: nothing of it differs
        differs = last[0]
    return Parting(min(last[0], differs), last[1], count, rows)


class _Waiting:
    """Sends of one partition that nobody has answered."""

    __slots__ = ("acked", "open", "since")

    def __init__(self) -> None:
        self.open: set[tuple[str, str]] = set()
        self.acked = 0  # when the last one was
        self.since: int | None = None

    def sent(self, key: tuple[str, str], created: int) -> None:
        """A batch leaves; without a leader to send it to it has waited for that already."""
        self.open.add(key)
        begin = max(created, self.acked)
        self.since = begin if self.since is None else min(self.since, begin)

    def forget(self, process: str, life: str | None = None) -> None:
        """The process has ended, or begun another `life`: what it had sent in those before is nobody's."""
        self.open = {key for key in self.open if key[0] != process or life_of(key[1]) == life}
        if not self.open:
            self.since = None

    def settled(self, key: tuple[str, str], now: int, acked: bool) -> None:
        """A batch has its answer."""
        self.open.discard(key)
        if acked:
            self.acked = now
            self.since = now if self.open else None


def life_of(operation: str) -> str:
    """Of which start of its process an operation is: "2-17" is the 17th of the second; "" where it does not say."""
    life, found, _ = operation.partition("-")
    return life if found else ""


def longest_outage(operations: Iterable[dict[str, Any]], ends: Iterable[tuple[int, str]] = ()) -> Outage | None:
    """The longest of all partitions; None when no record ever waited. `ends`: (t_us, process) in order of time."""
    partitions: dict[str, _Waiting] = {}
    longest: Outage | None = None
    lives: dict[str, str] = {}
    coming = deque(ends)
    now = 0

    def end_processes(until_us: float) -> None:
        nonlocal longest
        while coming and coming[0][0] < until_us:
            ended_us, process = coming.popleft()
            for name, waiting in partitions.items():
                if any(key[0] == process for key in waiting.open):
                    longest = _longer(longest, name, waiting, ended_us, False)
                    waiting.forget(process)

    for row in operations:
        now = row["t"]
        end_processes(now)
        if row["op"] != "send" or row["partition"] < 0 or row["acks"] == 0:
            continue
        name, key = f"{row['topic']}-{row['partition']}", (row["process"], row["id"])
        waiting = partitions.setdefault(name, _Waiting())
        life = life_of(row["id"])
        if lives.setdefault(row["process"], life) != life and row["kind"] == "invoke":
            lives[row["process"]] = life
            for one in partitions.values():
                one.forget(row["process"], life)
        if row["kind"] == "invoke":
            waiting.sent(key, row.get("created_us", now))
            continue
        longest = _longer(longest, name, waiting, now, row["kind"] == "ok")
        waiting.settled(key, now, row["kind"] == "ok")
    end_processes(float("inf"))
    for name, waiting in partitions.items():
        if waiting.open:
            longest = _longer(longest, name, waiting, now, False)
    return longest


def _longer(longest: Outage | None, name: str, waiting: _Waiting, now: int, over: bool) -> Outage | None:
    if waiting.since is None or (longest is not None and now - waiting.since <= longest.until_us - longest.from_us):
        return longest
    return Outage(name, waiting.since, now, over)


def compared(one: Path, other: Path) -> dict[str, Any]:
    """`runs`: each with its longest outage; `parting`. Rows as the wire has them, the code before the node."""
    found = parting(one, other)
    runs = []
    for path in (one, other):
        outage = longest_outage_of(path)
        runs.append({"run": path.name, "outage": None if outage is None else asdict(outage)})
    rows = [row and [row[0], row[1], row[3], row[2], *row[4:]] for row in found.rows]
    return {"runs": runs, "parting": {**asdict(found), "rows": rows}}


def longest_outage_of(path: Path) -> Outage | None:
    """Of a run's directory: its operations, and the ends of its processes, which its journal has."""
    return longest_outage(_operations(path), _ends(path))


def _ends(path: Path) -> Iterator[tuple[int, str]]:
    """(t_us, process): only the few lines that may tell of one are read."""
    told = PROCESS_ENDED.name.encode()
    with open(path / JOURNAL, "rb") as file:
        for line in file:
            row = _row(line) if told in line else None
            if row is not None and row[3] == PROCESS_ENDED.name:
                yield row[1], row[2]


def _operations(path: Path) -> Iterator[dict[str, Any]]:
    with open(path / OPERATIONS, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                yield orjson.loads(line)
