"""Where Spark is not installed the other tests of this directory are left out; this one says so, and fails in CI."""

from __future__ import annotations

from tests.conftest import have_modules, missing


def test_spark_is_there() -> None:
    if not have_modules("pyspark", "pyarrow", "numba"):
        missing("PySpark (pip install -r requirements/spark.txt)")
