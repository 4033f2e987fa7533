"""`replay`: a run of a million records, from its directory to answers, beside Spark computing them from Parquet.

The history (sends acknowledged, some lost, everything else read) and the segments are written directly.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import orjson

from benchmarks.results import Result
from benchmarks.spark_data import BATCH, apart, best, write_segments
from lab.analytics import session
from lab.analytics.history import History
from lab.analytics.tables import Tables

SEND, POLL, LOST, GOAL = 100, 500, 50, 1 / 3


def write_run(home: Path, records: int) -> None:
    """run.json, operations.jsonl, journal.jsonl and segments; the last `LOST` values were never read."""
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
        for first in range(0, records - LOST, POLL):
            count = min(POLL, records - LOST - first)
            row = {"t": first, "seq": first, "process": "checker", "kind": "ok", "op": "poll", "topic": "orders",
                   "partition": 0, "runs": [[first, "producer-a", first, count]]}
            file.write(orjson.dumps(row) + b"\n")


def replay(quick: bool) -> Iterator[Result]:
    """Seconds to the receipt and to the count of all records; the other side reads the same rows from Parquet."""
    found = apart("benchmarks.spark_replay", 100_000 if quick else 1_000_000)
    yield Result("replay", "to answers, first time", "s", found["first"], None, False)
    yield Result("replay", "to answers, against Parquet", "s", found["ours"], found["parquet"], False, GOAL)


def answers(tables: Tables) -> tuple[int, int]:
    """(lost, records on disk)."""
    on_disk = tables.records.selectExpr("sum(length(value))", "count(offset) as n").first()
    lost = History(tables).counts.first()
    assert on_disk is not None and lost is not None
    return lost["lost"], on_disk["n"]


def measure(records: int) -> dict[str, float]:
    """Seconds of each way; where it is not the first time, the quicker of two."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        run, out = Path(home) / "run", Path(home) / "out"
        write_run(run, records)
        spark = session.start("bench", "local[2]", quick=False)

        def ours() -> None:
            with Tables(spark, [run]) as tables:
                assert answers(tables) == (LOST, -(-records // 2 // BATCH) * BATCH * 2)

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


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
