"""`decode`: record batches into rows, on one core, beside Spark reading the same rows from Parquet.

`decoder alone` is without Spark. Where Maven and the script of Apache Kafka are there, Spark's own Kafka source
reads the same records from one of our brokers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from benchmarks.results import Result
from benchmarks.sides import ORACLE
from benchmarks.spark_data import apart, best, consume, write_segments
from lab.analytics import schemas, session
from lab.analytics.columns import ARROW
from lab.analytics.places import find_runs, segments_of
from lab.analytics.segment_reader import SegmentReader

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]


def decode(quick: bool) -> Iterator[Result]:
    """Megabytes a second and records a second; the other side is Parquet, then Spark's Kafka source."""
    records = 200_000 if quick else 2_000_000
    found = apart("benchmarks.spark_decode", records)
    size = found["bytes"] / 1e6
    yield Result("decode", "decoder alone", "MB/s", size / found["alone"], None, True)
    yield Result("decode", "rows, against Parquet", "MB/s", size / found["ours"], size / found["parquet"], True, 200.0)
    yield Result("decode", "rows, records a second", "/s", records / found["ours"], records / found["parquet"], True)
    yield Result("decode", "two columns, against Parquet", "MB/s", size / found["narrow"],
                 size / found["parquet_narrow"], True)
    if "kafka" in found:
        yield Result("decode", "rows, against Kafka source", "/s", records / found["ours"],
                     found["kafka_records"] / found["kafka"], True)


def measure(records: int) -> dict[str, float]:
    """Seconds of each way, the quickest of three."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        run, parquet = str(Path(home) / "run"), str(Path(home) / "parquet")
        found["bytes"] = write_segments(Path(run), records)
        types = {column.name: ARROW[column.type] for column in schemas.RECORDS.columns}
        schema = pa.schema([pa.field(name, types[name]) for name in [*COLUMNS, "error"]])
        segments = segments_of(find_runs([run])[0])
        found["alone"] = best(lambda: [sum(1 for _ in SegmentReader(place, schema).records()) for place in segments])
        jars = kafka_jars()
        spark = session.start("bench", "local[1]", quick=False, settings={"spark.jars": jars} if jars else None)
        source = spark.read.format("brokerlab.segments").schema(schemas.RECORDS.ddl([*COLUMNS, "error"])).load(run)
        source.drop("error").write.parquet(parquet)
        found["ours"] = best(lambda: consume(source))
        few = schemas.RECORDS.ddl(["offset", "timestamp", "error"])
        narrow = spark.read.format("brokerlab.segments").schema(few).load(run)
        found["narrow"] = best(lambda: consume(narrow))
        found["parquet"] = best(lambda: consume(spark.read.parquet(parquet)))
        found["parquet_narrow"] = best(lambda: consume(spark.read.parquet(parquet).select("offset", "timestamp")))
        if jars:
            found |= beside_kafka(spark, spark.read.parquet(parquet), Path(home) / "lab")
        session.stop(spark)
    return found


def kafka_jars() -> str:
    """The value of `spark.jars` for Spark's own Kafka source; empty where it cannot be had."""
    if not ORACLE.exists():
        return ""
    told = subprocess.run([sys.executable, str(ORACLE), "spark-jars"], capture_output=True, text=True, check=False)
    return told.stdout.strip() if told.returncode == 0 else ""


def beside_kafka(spark: Any, rows: Any, data: Path) -> dict[str, float]:
    """A lab of one broker is filled by Spark's sink and read by Spark's source."""
    command = [sys.executable, "-P", "-m", "lab.cli", "up", "--data", str(data), "--brokers", "1", "--no-web",
               "--kafka-port", "19458", "--set", "offsets.topic.replication.factor=1"]
    lab = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": os.getcwd()})
    try:
        assert lab.stdout is not None
        next(line for line in lab.stdout if line.startswith("Stop: "))
        where = {"kafka.bootstrap.servers": "127.0.0.1:19458"}
        rows.select("key", "value").write.format("kafka").options(**where, topic="orders").save()
        source = spark.read.format("kafka").options(**where, subscribe="orders").load()
        return {"kafka_records": source.count(), "kafka": best(lambda: consume(source))}
    finally:
        lab.terminate()
        lab.wait(30)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
