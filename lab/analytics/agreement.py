"""Two engines, one truth: the receipt that a run wrote beside what Spark finds in its files.

    run acks-1: lost: the receipt says 50, Spark says 49
    run acks-1: producer-orders: read: the receipt says 9950, Spark says 9951
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from lab.analytics.history import COUNTS, MORE, History


def disagreements(history: History) -> list[str]:
    """One line for each figure that differs; empty when all agree. Runs without a receipt are left out."""
    told = {row["run"]: orjson.loads(row["receipt"]) for row in history.tables.runs.collect() if row["receipt"]}
    producers: dict[str, dict[str, dict[str, int]]] = {}
    for row in history.counts.collect():
        producers.setdefault(row["run"], {})[row["producer"]] = {name: row[name] for name in COUNTS}
    more = {row["run"]: {name: row[name] for name in MORE} for row in history.more.collect()}
    lines: list[str] = []
    for run, receipt in sorted(told.items()):
        lines += compare(run, receipt, found(producers.get(run, {}), more.get(run, {})))
    return lines


def found(producers: Mapping[str, Mapping[str, int]], more: Mapping[str, int]) -> dict[str, Any]:
    """What Spark counted, in the receipt's form."""
    total = {name: sum(one[name] for one in producers.values()) for name in COUNTS}
    return {**total, **{name: more.get(name, 0) for name in MORE}, "producers": producers}


def compare(run: str, receipt: Mapping[str, Any], spark: Mapping[str, Any]) -> list[str]:
    """The lines for one run."""
    return [f"run {run}: {place}: the receipt says {ours}, Spark says {theirs}"
            for place, ours, theirs in _pairs(receipt, spark) if ours != theirs]


def _pairs(receipt: Mapping[str, Any], spark: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    for name in (*COUNTS, *MORE):
        yield name, receipt.get(name, 0), spark.get(name, 0)
    names = sorted({**receipt.get("producers", {}), **spark.get("producers", {})})
    for producer in names:
        ours, theirs = (side.get("producers", {}).get(producer, {}) for side in (receipt, spark))
        for name in COUNTS:
            yield f"{producer}: {name}", ours.get(name, 0), theirs.get(name, 0)
