"""Transactions and share groups of one run: rows of their tables, and the questions about them.

The same as `lab.analytics.transacted` asks in SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from lab.analytics.by_run.figures import said
from lab.analytics.by_run.recording import Event, Recording, grouped
from lab.analytics.transacted import SHARED

Row = dict[str, Any]


# -- tables -----------------------------------------------------------------------------------
def transactions(run: Recording) -> list[tuple[Any, ...]]:
    """Rows of `transactions`, without the run: each beginning with the first end behind it of what began there."""
    owners: dict[Any, str] = {}
    for event in run.of("transaction_state"):
        number, name = event[5].get("producer_id"), event[5].get("transactional_id")
        if number is not None and name is not None:
            owners[number] = max(name, owners.get(number, name))
    found = []
    ends: dict[Any, tuple[Any, ...]] = {}
    for seq, t_us, node, code, _, p, _ in reversed(run.of("transaction_begins", "transaction_ends")):
        place = p.get("topic"), p.get("partition"), p.get("producer_id")
        if code == "transaction_ends":
            ends[*place, p.get("first_offset")] = p.get("offset"), p.get("outcome"), t_us
        else:
            first = p.get("offset")
            found.append((seq, t_us, node, *place, owners.get(place[2]), first,
                          *ends.get((*place, first), (None, None, None))))  # fmt: skip
    return found[::-1]


def share_deliveries(run: Recording) -> list[tuple[Any, ...]]:
    """Rows of `share_deliveries`, without the run: each record by itself, and what came next to it."""
    found: list[tuple[Any, ...]] = []
    following: dict[Any, tuple[str | None, int]] = {}
    for event in reversed(run.of(*SHARED)):
        seq, t_us, node, code, _, p, _ = event
        for offset in reversed(_offsets(p)):
            place = p.get("group"), p.get("topic"), p.get("partition"), offset
            if code == "share_acquired":
                lock = p.get("lock_ms")
                found.append((seq, t_us, node, *place, p.get("client"), p.get("count"),
                              None if lock is None else t_us + lock * 1000,
                              *following.get(place, (None, None))))  # fmt: skip
            following[place] = _ended(event), t_us
    return found[::-1]


def _offsets(p: dict[str, Any]) -> range:
    first, last = p.get("first"), p.get("last")
    return range(0) if first is None or last is None else range(first, last + 1)


def _ended(event: Event) -> str | None:
    """How an event ends the delivery before it."""
    if event[3] == "share_settled":
        state: str | None = event[5].get("state")
        return state
    return "lock ran out" if event[3] == "share_locks_expired" else "another leader"


# -- questions --------------------------------------------------------------------------------
def stable_gap(run: Recording) -> Iterator[Row]:
    """How long the last stable offset of each partition stood behind the high watermark."""
    told = [row for row in transactions(run) if row[3] is not None and not row[3].startswith("__")]
    for (topic, partition), rows in sorted(grouped(told, lambda row: row[3:5]).items()):
        spans = sorted((row[1], run.end_us if row[-1] is None else row[-1]) for row in rows)
        gaps = [until - begun for begun, until in _islands(spans)]
        yield {"run": run.name, "topic": topic, "partition": partition, "transactions": len(spans),
               "seconds": sum(gaps) / 1e6, "longest_ms": max(gaps) / 1e3,
               "share": sum(gaps) / run.end_us if run.end_us else None}  # fmt: skip


def _islands(spans: Iterable[tuple[int, Any]]) -> list[tuple[int, int]]:
    """Spans that overlap or touch as one each."""
    found: list[tuple[int, int]] = []
    for begun, until in spans:
        if found and begun <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], until)
        else:
            found.append((begun, until))
    return found


def aborted_share(run: Recording) -> Iterator[Row]:
    """How the transactions of each transactional id ended."""
    told = run.of("transaction_state", "transaction_timed_out")
    lines = grouped(told, lambda event: said(event[5].get("transactional_id")))
    for producer, events in sorted(lines.items()):
        after = [event[5].get("after") for event in events]
        committed, aborted = after.count("PrepareCommit"), after.count("PrepareAbort")
        yield {"run": run.name, "producer": producer, "committed": committed, "aborted": aborted,
               "expired": sum(event[3] == "transaction_timed_out" for event in events),
               "share": aborted / (committed + aborted) if committed or aborted else 0.0}  # fmt: skip
