"""`replay`: a run of a million records, from its directory to answers, beside Spark computing them from Parquet; and
many small runs (`acks-1` under one seed each: 6,000 records, 35,000 events) to all answers, tables and the report.

The history (sends acknowledged, some never read, everything else read) and the segments are written directly.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.results import Result
from benchmarks.spark_data import BATCH, apart, best, spent, write_segments
from lab.analytics import session
from lab.analytics.history import History
from lab.analytics.replay import replay as everything
from lab.analytics.tables import Tables
from lab.experiments.run import run_scenario

SEND, POLL, UNREAD, GOAL = 100, 500, 50, 1 / 3
ALL_OF_THEM, EACH = 60.0, 0.5
"""Seconds of the processor for a hundred small runs in a session that has just started, and for each further one."""


def write_run(home: Path, records: int) -> None:
    """run.json, operations.jsonl, journal.jsonl and segments; the last `UNREAD` values were never read."""
    write_segments(home, records)
    facts = {"format": 1, "name": "bench", "kind": "simulated", "end_us": records}
    (home / "run.json").write_bytes(orjson.dumps(facts))
    (home / "journal.jsonl").write_bytes(b"")
    with open(home / "operations.jsonl", "wb") as file:
        for first in range(0, records, SEND):
            what = {"op": "send", "id": str(first), "topic": "orders", "partition": 0, "acks": 1, "label": "producer-a",
                    "values": [[first, SEND]]}
            for kind in ("invoke", "ok"):
                more = {"offset": first} if kind == "ok" else {}
                row = {"t": first, "seq": first, "process": "producer-a", "kind": kind, **what, **more}
                file.write(orjson.dumps(row) + b"\n")
        for first in range(0, records - UNREAD, POLL):
            count = min(POLL, records - UNREAD - first)
            row = {"t": first, "seq": first, "process": "checker", "kind": "ok", "op": "poll", "topic": "orders",
                   "partition": 0, "runs": [[first, "producer-a", first, count]]}
            file.write(orjson.dumps(row) + b"\n")


def replay(quick: bool) -> Iterator[Result]:
    """Seconds to the receipt and to the count of all records; the other side reads the same rows from Parquet."""
    found = apart("benchmarks.spark_replay", 100_000 if quick else 1_000_000)
    yield Result("replay", "to answers, first time", "s", found["first"], None, False)
    yield Result("replay", "to answers, against Parquet", "s", found["ours"], found["parquet"], False, GOAL,
                 other="Parquet")
    runs = 10 if quick else 100
    small = apart("benchmarks.spark_replay", runs, "small runs", timeout_s=3600)
    yield Result("replays", f"{runs} small runs, clock", "s", small["clock"], None, False)
    yield Result("replays", f"{runs} small runs, processor", "s", small["processors"], None, False, ALL_OF_THEM)
    yield Result("replays", "each further one, processor", "s", small["each"], None, False, EACH)


def answers(tables: Tables) -> tuple[int, int]:
    """(unread, records on disk)."""
    on_disk = tables.records.selectExpr("sum(length(value))", "count(offset) as n").first()
    counted = History(tables).counts.first()
    assert on_disk is not None and counted is not None
    return counted["unread"], on_disk["n"]


def measure(records: int) -> dict[str, float]:
    """Seconds of each way; where it is not the first time, the quicker of two."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        run, out = Path(home) / "run", Path(home) / "out"
        write_run(run, records)
        spark = session.start("bench", "local[2]", quick=False)

        def ours() -> None:
            with Tables(spark, [run]) as tables:
                assert answers(tables) == (UNREAD, -(-records // 2 // BATCH) * BATCH * 2)

        def theirs() -> None:
            with Tables(spark, [run]) as tables:
                for name in ("records", "sends", "polls"):
                    tables.__dict__[name] = spark.read.parquet(str(out / name))
                answers(tables)

        found["first"] = best(ours, 1)
        found["ours"] = best(ours, 2)
        with Tables(spark, [run]) as tables:
            tables.write(out, ["records", "sends", "polls"])
        theirs()
        found["parquet"] = best(theirs, 2)
        session.stop(spark)
    return found


def measure_small(runs: int) -> dict[str, float]:
    """Seconds by the clock and of the processors for so many small runs, without the start of Spark. What the first
    replay of a session takes more than the second counts to the processors."""
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        for seed in range(1, runs + 1):
            run_scenario("acks-1", seed, out=Path(home) / "runs" / f"acks-1-{seed}")
        spark = session.start("bench", "local[2]", memory=session.plenty())

        def replayed(where: Path) -> None:
            for _ in everything(spark, [where], out=Path(home) / "out"):
                pass

        one = Path(home) / "runs" / "acks-1-1"
        first, again = (spent(lambda: replayed(one), 1, 1)[1] for _ in range(2))
        clock, processors = spent(lambda: replayed(Path(home) / "runs"), 1, 1)
        session.stop(spark)
    return {"clock": clock, "processors": processors + first - again, "each": (processors - again) / (runs - 1)}


if __name__ == "__main__":
    print(json.dumps((measure_small if sys.argv[2:] else measure)(int(sys.argv[1]))))
