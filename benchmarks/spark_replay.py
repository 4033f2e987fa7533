"""A run of a million records, from its directory to answers, beside Spark computing them from Parquet.

    python -m benchmarks.spark_replay [RECORDS]

The history (sends acknowledged, some lost, everything else read) and the segments are written directly.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import orjson

from benchmarks.spark_data import write_segments
from lab.analytics import session
from lab.analytics.history import History
from lab.analytics.tables import Tables

SEND, POLL, LOST = 100, 500, 50


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


def main(records: int) -> None:
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        run = Path(home) / "run"
        write_run(run, records)
        spark = session.start("bench", "local[2]", quick=False)
        for attempt in ("first", "warm"):
            began = time.perf_counter()
            with Tables(spark, [run]) as tables:
                counts = History(tables).counts.first()
                rows = tables.records.count()
            ours = time.perf_counter() - began
            told = f"{rows:,} records on disk, {counts['acked']:,} acked, {counts['lost']} lost"
            print(f"{attempt}: {told}: {ours:.1f} s", flush=True)
        with Tables(spark, [run]) as tables:
            tables.write(Path(home) / "out", ["records", "sends", "polls", "operations", "events", "runs"])
        began = time.perf_counter()
        parquet = {name: spark.read.parquet(str(Path(home) / "out" / name)) for name in ("records", "sends", "polls")}
        with Tables(spark, [run]) as tables:
            for name in parquet:
                tables.__dict__[name] = parquet[name]
            History(tables).counts.first()
            parquet["records"].selectExpr("sum(length(value))", "count(offset)").first()
        theirs = time.perf_counter() - began
        print(f"the same from Parquet: {theirs:.1f} s; ours takes {ours / theirs:.2f} x as long")
        session.stop(spark)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
