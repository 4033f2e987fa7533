"""`session`: from nothing to a Spark session and its first answer: plain, without an archive of classes, with it."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator

from benchmarks.results import Result
from benchmarks.spark_data import apart


def session(quick: bool) -> Iterator[Result]:
    """Seconds to the first answer; the other side is plain PySpark."""
    plain = apart("benchmarks.spark_session", "plain")["seconds"]
    kept = os.environ.get("BROKERLAB_CACHE")
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as cache:
        os.environ["BROKERLAB_CACHE"] = cache
        try:
            for case in ("cold, no archive yet", "with the archive"):
                ours = apart("benchmarks.spark_session", "ours")["seconds"]
                yield Result("session", case, "s", ours, plain, False)
        finally:
            os.environ.pop("BROKERLAB_CACHE")
            if kept is not None:
                os.environ["BROKERLAB_CACHE"] = kept


def measure(how: str) -> dict[str, float]:
    """Seconds from the import to the first answer of one session."""
    began = time.perf_counter()
    if how == "plain":
        from pyspark.sql import SparkSession

        spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
    else:
        from lab.analytics.session import start

        spark = start("bench", "local[2]")
    spark.range(100_000).selectExpr("sum(id)").first()
    found = {"seconds": time.perf_counter() - began}
    spark.stop()
    return found


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
