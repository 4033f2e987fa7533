"""Decoding record batches: our data source beside Spark reading the same rows from Parquet, on one core.

    python -m benchmarks.spark_decode [RECORDS]

Also without Spark: the decoder alone. Where `oracle.py spark-jars` gave jars (BROKERLAB_SPARK_JARS) and a lab or
Kafka listens (BROKERLAB_BOOTSTRAP, topic `orders`), Spark's own Kafka source is measured beside it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import pyarrow as pa

from benchmarks.spark_data import best, consume, write_segments
from lab.analytics import schemas, session
from lab.analytics.columns import ARROW
from lab.analytics.places import find_runs, segments_of
from lab.analytics.segment_reader import SegmentReader


def main(records: int) -> None:
    jars = os.environ.get("BROKERLAB_SPARK_JARS", "")
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as home:
        size = write_segments(Path(home) / "run", records) / 1e6
        places = segments_of(find_runs([Path(home) / "run"])[0])
        columns = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType"]
        types = {column.name: ARROW[column.type] for column in schemas.RECORDS.columns}
        schema = pa.schema([pa.field(name, types[name]) for name in [*columns, "error"]])
        alone = best(lambda: [list(SegmentReader(place, schema).records()) for place in places])
        line("decoder alone, columns of Spark's Kafka source", size, records, alone)
        spark = session.start("bench", "local[1]", quick=False, settings={"spark.jars": jars} if jars else None)
        run = str(Path(home) / "run")
        ddl = schemas.RECORDS.ddl([*columns, "error"])
        source = spark.read.format("brokerlab.segments").schema(ddl).load(run)
        source.drop("error").write.parquet(str(Path(home) / "parquet"))
        ours = best(lambda: consume(source))
        line("brokerlab.segments", size, records, ours)
        few = schemas.RECORDS.ddl(["offset", "timestamp", "error"])
        narrow = spark.read.format("brokerlab.segments").schema(few).load(run)
        line("brokerlab.segments, offset and timestamp only", size, records, best(lambda: consume(narrow)))
        theirs = best(lambda: consume(spark.read.parquet(str(Path(home) / "parquet"))))
        line("Parquet, the same rows", size, records, theirs)
        print(f"ours against Parquet: {theirs / ours:.2f} x as fast")
        if jars and os.environ.get("BROKERLAB_BOOTSTRAP"):
            reader = spark.read.format("kafka").option("kafka.bootstrap.servers", os.environ["BROKERLAB_BOOTSTRAP"])
            kafka = reader.option("subscribe", "orders").option("startingOffsets", "earliest").load()
            count = kafka.count()
            took = best(lambda: consume(kafka))
            line("Spark's Kafka source", size * count / records, count, took)
            print(f"ours against the Kafka source: {took / count / (ours / records):.2f} x as fast")
        session.stop(spark)


def line(what: str, megabytes: float, records: int, seconds: float) -> None:
    print(f"{what:<50}{megabytes / seconds:>8.0f} MB/s{records / seconds / 1e6:>8.2f} M records/s", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
