"""What transactions owe to one another, in the words of `lab.checkers.dependencies`, found in another way.

    operations of a run, in order --> batches of committed transactions, what each has read --> pairs "before, after"
    pairs --> nodes with no way in or no way out go, again and again --> of the rest, who reaches whom

Both of Spark's ways to an answer use it: it is far more of a walk than of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from lab.analytics.frames import local

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.tables import Tables

OWED = ("write_cycle", "read_cycle", "precommitted_read")
COLUMNS = ("run", "anomaly", "transaction", "topic", "partition", "offset", "cycle")
_TYPES = "run string, anomaly string, transaction string, topic string, partition int, offset bigint, cycle string"
Place = tuple[str, int, int]
Told = tuple[str, str, str, Mapping[str, Any]]
"""Process, kind, op and fields of an operation."""


class Owed(NamedTuple):
    """A transaction in a cycle at the first place that it wrote; or a place that it wrote and read (`cycle`: none)."""

    kind: str
    transaction: str
    topic: str
    partition: int
    offset: int
    cycle: str | None


class _Batch(NamedTuple):
    stretch: int
    topic: str
    partition: int
    first: int
    last: int
    transaction: str


def owed(operations: Iterable[Told]) -> list[Owed]:
    """All of a run, by kind and place."""
    batches, reads = _sorted_out(operations)
    if not batches:
        return []
    own, read_of = _reads(batches, reads)
    lines: dict[Any, list[_Batch]] = {}
    for batch in batches:
        lines.setdefault((batch.stretch, batch.topic, batch.partition), []).append(batch)
    behind = {
        (one.stretch, one.transaction, other.transaction)
        for line in lines.values()
        for one, other in pairwise(sorted(line, key=lambda one: one.first))
        if one.transaction != other.transaction
    }
    firsts: dict[tuple[int, str], Place] = {}
    for batch in batches:
        key, place = (batch.stretch, batch.transaction), (batch.topic, batch.partition, batch.first)
        firsts[key] = min(firsts.get(key, place), place)
    found = [Owed("precommitted_read", transaction, *place, None) for transaction, place in own]
    for kind, pairs, must in (("write_cycle", behind, behind), ("read_cycle", behind | read_of, read_of)):
        for stretch, members in _circles(pairs):
            if any(one[0] == stretch and one[1] in members and one[2] in members for one in must):
                found += (Owed(kind, one, *firsts[stretch, one], min(members)) for one in members)
    return sorted(found, key=lambda one: (one.kind, one[2:5], one.transaction))


def _sorted_out(operations: Iterable[Told]) -> tuple[list[_Batch], list[tuple[int, str, Place]]]:
    """Batches of committed transactions, and what these have read; each with its stretch: how often none was open
    before."""
    batches: list[_Batch] = []
    reads: list[tuple[int, str, Place]] = []
    sources: dict[tuple[str, int], Place] = {}
    now_open: set[str] = set()
    stretch = 0
    for process, kind, op, p in operations:
        if op == "transaction" and kind == "invoke":
            now_open.add(process)
        elif op == "transaction" and process in now_open:
            now_open.remove(process)
            stretch += not now_open
        elif op == "transform":
            for offset, label, number, count in p["runs"]:
                for step in range(int(count)):
                    sources[label, int(number) + step] = p["topic"], p["partition"], int(offset) + step
        elif op == "send" and kind == "ok" and p.get("transaction") is not None and (p.get("offset") or 0) >= 0:
            numbers = [number for first, count in p["values"] for number in range(first, first + count)]
            if numbers:
                place, transaction = (p["topic"], p["partition"], p["offset"]), p["transaction"]
                batches.append(_Batch(stretch, *place, place[2] + len(numbers) - 1, transaction))
                read = (sources.pop((p.get("label") or process, number), None) for number in numbers)
                reads += ((stretch, transaction, source) for source in read if source is not None)
    return batches, reads


def _reads(
    batches: list[_Batch], reads: list[tuple[int, str, Place]]
) -> tuple[list[tuple[str, Place]], set[tuple[int, str, str]]]:  # fmt: skip
    """What transactions have read of their own, and (stretch, who wrote, who read) of others."""
    wanted = {(stretch, *place) for stretch, _, place in reads}
    writers: dict[Any, list[str]] = {}
    for one in batches if wanted else ():
        for offset in range(one.first, one.last + 1):
            key = one.stretch, one.topic, one.partition, offset
            if key in wanted:
                writers.setdefault(key, []).append(one.transaction)
    own: list[tuple[str, Place]] = []
    others: set[tuple[int, str, str]] = set()
    for stretch, reader, place in reads:
        for writer in writers.get((stretch, *place), ()):
            if writer == reader:
                own.append((reader, place))
            else:
                others.add((stretch, writer, reader))
    return own, others


def _circles(pairs: set[tuple[int, str, str]]) -> list[tuple[int, set[str]]]:
    """(stretch, members) of those who reach one another."""
    after: dict[Any, set[Any]] = {}
    for stretch, one, other in pairs:
        after.setdefault((stretch, one), set()).add((stretch, other))
    while True:
        reached = {node for nodes in after.values() for node in nodes}
        kept = {node: nodes & after.keys() for node, nodes in after.items() if node in reached}
        kept = {node: nodes for node, nodes in kept.items() if nodes}
        if kept == after:
            break
        after = kept
    reach: dict[Any, set[Any]] = {node: _from(node, after) for node in after}
    found: list[tuple[int, set[str]]] = []
    seen: set[Any] = set()
    for node in after:
        if node not in seen and node in reach[node]:
            members = {other for other in reach[node] if node in reach.get(other, ())}
            seen |= members
            found.append((node[0], {name for _, name in members}))
    return found


def _from(node: Any, after: Mapping[Any, set[Any]]) -> set[Any]:
    found: set[Any] = set()
    todo = list(after[node])
    while todo:
        one = todo.pop()
        if one not in found:
            found.add(one)
            todo += after.get(one, ())
    return found


def owed_of_runs(tables: Tables) -> DataFrame:
    """All of all runs."""
    rows = tables.operations.where(
        "error is null and (op in ('transaction', 'transform')"
        " or op = 'send' and kind = 'ok' and get_json_object(fields, '$.transaction') is not null)"
    ).select("run", "process", "kind", "op", "fields", "position").collect()  # fmt: skip
    runs: dict[str, list[Any]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row)
    found = []
    for run, told in sorted(runs.items()):
        told.sort(key=lambda row: row["position"])
        found += [(run, *one) for one in owed(
            (row["process"], row["kind"], row["op"], orjson.loads(row["fields"])) for row in told)]
    return local(tables.spark, found, _TYPES)
