"""`decode`: record batches into rows, beside Spark reading the same rows from Parquet, for records of 100 B and 1 KB.

| case | what |
|---|---|
| decoder alone | segments to Arrow, without Spark |
| eight columns, a core | those of Spark's Kafka source, per second of the processors' time: Python, Java and all |
| eight columns, clock | the same by the clock, one task: Python decodes the next batch while Java makes rows |
| records | the same in records a second |
| two columns, a core | offset and timestamp |
| Spark alone, a core | a data source that has its Arrow batches in memory already: what Java makes of them at best |

Where Maven and the script of Apache Kafka are there, Spark's own Kafka source reads the same records from one of
our brokers.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader

from benchmarks.results import Result
from benchmarks.sides import ORACLE
from benchmarks.spark_data import BATCH, apart, best, consume, spent, write_segments
from lab.analytics import schemas, session
from lab.analytics.columns import ARROW
from lab.analytics.places import find_runs, segments_of
from lab.analytics.segment_reader import SegmentReader

COLUMNS = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "error"]
FEW = ["offset", "timestamp", "error"]
SIZES = {"100 B": 100, "1 KB": 1000}
PARQUET = "Parquet"


def decode(quick: bool) -> Iterator[Result]:
    """Megabytes and records a second; the other side is Parquet, then Spark's Kafka source."""
    for name, value in SIZES.items():
        records = (3_000_000 if quick else 5_000_000) * 100 // value
        found = apart("benchmarks.spark_decode", records, value)
        rate = {case: found["bytes"] / 1e6 / seconds for case, seconds in found.items() if seconds}
        yield Result("decode", f"{name}: decoder alone", "MB/s", rate["alone"], None, True)
        yield Result("decode", f"{name}: eight columns, a core", "MB/s", rate["rows cpu"], rate["parquet cpu"], True,
                     200.0, other=PARQUET)
        yield Result("decode", f"{name}: eight columns, clock", "MB/s", rate["rows"], rate["parquet"], True,
                     other=PARQUET)
        yield Result("decode", f"{name}: two columns, a core", "MB/s", rate["few cpu"], rate["parquet few cpu"], True,
                     other=PARQUET)
        yield Result("decode", f"{name}: Spark alone, a core", "MB/s", rate["memory cpu"], None, True)
        yield Result("decode", f"{name}: records, a core", "/s", records / found["rows cpu"],
                     records / found["parquet cpu"], True, other=PARQUET)
        if "kafka" in found:
            yield Result("decode", f"{name}: records, clock", "/s", records / found["rows"],
                         found["kafka_records"] / found["kafka"], True, other="Spark's Kafka source")


class Memory(DataSource):
    """Gives the first Arrow batch of a segment file again and again."""

    @classmethod
    def name(cls) -> str:
        return "memory"

    def schema(self) -> str:
        return schemas.RECORDS.ddl(COLUMNS)

    def reader(self, schema: Any) -> DataSourceReader:
        return MemoryReader(self.options["path"], int(self.options["records"]))


class MemoryReader(DataSourceReader):
    """One task."""

    def __init__(self, path: str, records: int) -> None:
        self.path, self.records = path, records

    def read(self, partition: Any) -> Iterator[pa.RecordBatch]:
        first = next(SegmentReader(segments_of(find_runs([self.path])[0])[0], arrow(COLUMNS)).records())
        yield from repeat(first, self.records // first.num_rows)


def arrow(names: list[str]) -> pa.Schema:
    """The schema of some columns of the table of records."""
    types = {column.name: ARROW[column.type] for column in schemas.RECORDS.columns}
    return pa.schema([pa.field(name, types[name]) for name in names])


def alone(run: str) -> float:
    """Seconds of the processor's time for all records of a run, without Spark."""
    began = time.process_time()
    for place in segments_of(find_runs([run])[0]):
        for _ in SegmentReader(place, arrow(COLUMNS)).records():
            pass
    return time.process_time() - began


def measure(records: int, value: int) -> dict[str, float]:
    """Seconds of each way, once Java has compiled what it needs; `... cpu`: of the processors' time."""
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        run, parquet = str(Path(home) / "run"), str(Path(home) / "parquet")
        found["bytes"] = write_segments(Path(run), records, value=value, batch=max(1, BATCH * 100 // value))
        found["alone"] = min(alone(run) for _ in range(4))
        jars = kafka_jars() if value == SIZES["100 B"] else ""
        spark = session.start("bench", "local[1]", quick=False, settings={"spark.jars": jars} if jars else None)
        spark.dataSource.register(Memory)
        source = spark.read.format("brokerlab.segments")
        source.schema(schemas.RECORDS.ddl(COLUMNS)).load(run).drop("error").write.parquet(parquet)
        frames = {
            "rows": source.schema(schemas.RECORDS.ddl(COLUMNS)).load(run),
            "few": source.schema(schemas.RECORDS.ddl(FEW)).load(run),
            "parquet": spark.read.parquet(parquet),
            "parquet few": spark.read.parquet(parquet).select("offset", "timestamp"),
            "memory": spark.read.format("memory").option("records", records).load(run),
        }
        for name, frame in frames.items():
            found[name], found[f"{name} cpu"] = spent(lambda frame=frame: consume(frame))
        if jars:
            found |= beside_kafka(spark, frames["parquet"], Path(home) / "lab")
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
    command = [sys.executable, "-P", "-m", "cli", "up", "--data", str(data), "--brokers", "1", "--no-web",
               "--controller", "zookeeper", "--kafka-port", "19458", "--set", "offsets.topic.replication.factor=1"]
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
    print(json.dumps(measure(int(sys.argv[1]), int(sys.argv[2]))))
