"""Two engines, one truth: the receipt that a run wrote beside what Spark finds in its files.

Figures are compared one by one, anomalies row by row where the receipt lists all of them:

    run acks-1: lost: the receipt says 50, Spark says 49
    run acks-1: producer-orders: read: the receipt says 9950, Spark says 9951
    run acks-1: lost: only the receipt has producer-orders 812 at orders-0@812, cut
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import orjson

from lab.analytics.history import COUNTS, MORE, History
from lab.analytics.outside import FIGURES, Outside
from lab.analytics.owed import OWED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LISTED = 1000
"""A receipt lists so many places of an anomaly."""
SHOWN = 20
"""Rows that are told of one anomaly of a run; the others are counted."""

_VALUE = "if(label = '', number, concat(label, ' ', number))"
_AT = "concat(topic, '-', partition, coalesce(concat('@', offset), ''))"
_OF = "coalesce(concat(', ', transaction), '')"
_ROWS = {
    "lost": ("lost", f"concat({_VALUE}, ' at ', {_AT}, ', ', test)"),
    "at_risk": ("at_risk", f"concat({_VALUE}, ' at ', {_AT}, ', on ', copies)"),
    "removed": ("removed", f"concat({_VALUE}, ' at ', {_AT})"),
    "duplicated": ("duplicated", f"concat({_VALUE}, ' at ', {_AT})"),
    "reordered": ("reordered", f"concat({_VALUE}, ' at ', {_AT}, ', behind ', behind)"),
    "inconsistent": ("inconsistent", f"concat({_VALUE}, ' at ', {_AT})"),
    "failed_read": ("failed_reads", f"concat({_VALUE}, ' at ', {_AT}, ', read by ', reader, {_OF})"),
    "aborted_read": ("aborted_reads", f"concat({_VALUE}, ' at ', {_AT}, {_OF})"),
    "stale": ("stale", f"concat(process, ' from ', before, ' to ', {_AT}, ', step ', step, ', ', test, ', t ', t_us)"),
    **{kind: (kind, f"concat(transaction, ' at ', {_AT}, coalesce(concat(', ', cycle), ''))") for kind in OWED},
    "nonmonotonic_send": ("falls", f"concat(process, ' from ', before, ' to ', {_AT}, ', t ', t_us)"),
}  # fmt: skip
"""Anomaly -> the frame of `History` and a row of it in one line."""


def disagreements(history: History, receipts: Mapping[str, Mapping[str, Any]] | None = None) -> list[str]:
    """One line for each figure and row that differs; empty when all agree.

    `receipts` by run; without them those that the runs wrote are taken, and runs without one are left out.
    """
    told = receipts or {
        row["run"]: orjson.loads(row["receipt"]) for row in history.tables.runs.collect() if row["receipt"]}
    producers: dict[str, dict[str, dict[str, int | None]]] = {}
    for row in history.counts.collect():
        producers.setdefault(row["run"], {})[row["producer"]] = {name: row[name] for name in COUNTS}
    more = {row["run"]: {name: row[name] for name in MORE} for row in history.more.collect()}
    rows = spark_rows(history)
    lines: list[str] = []
    for run, receipt in sorted(told.items()):
        lines += compare(run, receipt, found(producers.get(run, {}), more.get(run, {})))
        lines += compare_rows(run, receipt, rows.get(run, {}))
    return lines


def found(producers: Mapping[str, Mapping[str, int | None]], more: Mapping[str, int]) -> dict[str, Any]:
    """What Spark counted, in the receipt's form."""
    total = {name: _sum([one[name] for one in producers.values()]) for name in COUNTS}
    return {**total, **{name: more.get(name, 0) for name in MORE}, "producers": producers}


def _sum(counts: list[int | None]) -> int | None:
    """None where nobody knows."""
    return None if None in counts else sum(one for one in counts if one is not None)


def compare(run: str, receipt: Mapping[str, Any], spark: Mapping[str, Any]) -> list[str]:
    """The lines for the figures of one run; a figure that an older receipt does not have is left out."""
    return [f"run {run}: {place}: the receipt says {ours}, Spark says {theirs}"
            for place, ours, theirs in _pairs(receipt, spark) if ours != theirs]


def _pairs(receipt: Mapping[str, Any], spark: Mapping[str, Any]) -> Iterator[tuple[str, int | None, int | None]]:
    for name in (one for one in (*COUNTS, *MORE) if one in receipt):
        yield name, receipt[name], spark.get(name, 0)
    names = sorted({**receipt.get("producers", {}), **spark.get("producers", {})})
    for producer in names:
        ours, theirs = (side.get("producers", {}).get(producer, {}) for side in (receipt, spark))
        for name in (one for one in COUNTS if one in receipt):
            yield f"{producer}: {name}", ours.get(name, 0), theirs.get(name, 0)


# -- row by row -------------------------------------------------------------------------------
def spark_rows(history: History) -> dict[str, dict[str, list[str]]]:
    """run -> anomaly -> rows in one line each, as many as a receipt may list and one more."""
    every: DataFrame | None = None
    for kind, (name, line) in _ROWS.items():
        part = getattr(history, name).selectExpr("run", f"'{kind}' as kind", f"{line} as line")
        every = part if every is None else every.unionByName(part)
    assert every is not None
    nth = every.selectExpr("*", "row_number() over (partition by run, kind order by line) as nth")
    rows: dict[str, dict[str, list[str]]] = {}
    for row in nth.where(f"nth <= {LISTED + 1}").collect():
        rows.setdefault(row["run"], {}).setdefault(row["kind"], []).append(row["line"])
    return rows


def compare_rows(run: str, receipt: Mapping[str, Any], spark: Mapping[str, list[str]]) -> list[str]:
    """The lines for rows that only one of both has; nothing where a list is too long to be whole."""
    lines: list[str] = []
    if "unread" not in receipt:  # written by an older lab: it lists less of a place
        return lines
    for kind in _ROWS:
        places = receipt.get("places", {}).get(kind, [])
        theirs = spark.get(kind, [])
        if len(places) >= LISTED or len(theirs) > LISTED:
            continue
        lines += _alone(run, kind, [_line(kind, place) for place in places], theirs)
    return lines


def _alone(run: str, kind: str, ours: list[str], theirs: list[str]) -> list[str]:
    """The lines for rows that only one side has."""
    lines = []
    for side, some, others in (("the receipt", ours, theirs), ("Spark", theirs, ours)):
        alone = sorted((Counter(some) - Counter(others)).elements())
        lines += [f"run {run}: {kind}: only {side} has {line}" for line in alone[:SHOWN]]
        if len(alone) > SHOWN:
            lines.append(f"run {run}: {kind}: and {len(alone) - SHOWN} more that only {side} has")
    return lines


def _line(kind: str, place: Mapping[str, Any]) -> str:
    """A place of a receipt as `_ROWS` writes it."""
    at = f"{place['topic']}-{place['partition']}" + ("" if place["offset"] is None else f"@{place['offset']}")
    if kind == "stale":
        return (f"{place['reader']} from {place['last_read']} to {at}, step {place['step']}, {place['test']},"
                f" t {place['t_us']}")
    if kind == "nonmonotonic_send":
        return f"{place['process']} from {place['last_acked']} to {at}, t {place['t_us']}"
    if kind in OWED:
        return f"{place['transaction']} at {at}" + (f", {place['cycle']}" if "cycle" in place else "")
    value = place["text"] if "text" in place else f"{place['producer']} {place['number']}"
    tails = {"lost": ", {test}", "at_risk": ", on {copies}", "reordered": ", behind {behind}",
             "failed_read": ", read by {reader}"}
    of = f", {place['transaction']}" if "transaction" in place else ""
    return f"{value} at {at}{tails.get(kind, '').format_map(place)}{of}"


# -- outside clients --------------------------------------------------------------------------
def outside_disagreements(outside: Outside, receipts: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The same for what the brokers saw of clients that the lab did not start; `receipts` by run, of `receipt_of`."""
    seen = {row["run"]: row.asDict() for row in outside.figures.collect()}
    lost: dict[str, list[str]] = {}
    for row in outside.lost.collect():
        lost.setdefault(row["run"], []).append(_batch(row))
    lines: list[str] = []
    for run, receipt in sorted(receipts.items()):
        ours, theirs = receipt["outside"], seen.get(run, {})
        figures = [*((name, theirs[name] if theirs else ours[name] and 0) for name in FIGURES),
                   ("complete", theirs.get("complete"))]
        lines += [f"run {run}: outside: {name}: the receipt says {ours[name]}, Spark says {value}"
                  for name, value in figures if ours[name] != value and (theirs or name != "complete")]
        if len(ours["places"]) < LISTED:
            lines += _alone(run, "outside", [_batch(place) for place in ours["places"]], lost.get(run, []))
    return lines


def _batch(place: Any) -> str:
    return f"the batch {place['topic']}-{place['partition']}@{place['offset']}..{place['last']}"
