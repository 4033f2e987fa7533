"""From nothing to a session, and to the first answer: plain, without an archive of classes, and with it.

    python -m benchmarks.spark_startup
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile

_PLAIN = """
import time
began = time.perf_counter()
from pyspark.sql import SparkSession
spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
ready = time.perf_counter()
spark.range(100000).selectExpr("sum(id)").first()
print(ready - began, time.perf_counter() - ready)
"""
_OURS = """
import time
began = time.perf_counter()
from lab.analytics import session
spark = session.start("bench", "local[2]")
ready = time.perf_counter()
spark.range(100000).selectExpr("sum(id)").first()
print(ready - began, time.perf_counter() - ready)
session.stop(spark)
"""


def measure(program: str, cache: str) -> tuple[float, float]:
    """(seconds to the session, to the first answer behind it)."""
    done = subprocess.run([sys.executable, "-c", program], env=os.environ | {"BROKERLAB_CACHE": cache},
                          capture_output=True, text=True, check=True)
    session, job = done.stdout.split()
    return float(session), float(job)


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="brokerlab-bench-") as cache:
        plain = measure(_PLAIN, cache)
        for what, (session, job) in (("plain PySpark", plain), ("ours, cold: no archive yet", measure(_OURS, cache)),
                                     ("ours, with the archive", warm := measure(_OURS, cache))):
            print(f"{what:<30} session {session:>5.1f} s   first job {job:>5.1f} s", flush=True)
        print(f"{sum(plain) / sum(warm):.1f} x as quick as plain PySpark")


if __name__ == "__main__":
    main()
