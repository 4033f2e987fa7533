"""Where Spark is not installed the other tests of this directory are left out; this one says so."""

from __future__ import annotations

import pytest

from tests.conftest import have_modules


def test_spark_is_there() -> None:
    if not have_modules("pyspark", "pyarrow", "numba"):
        pytest.skip("PySpark is not installed: pip install -r requirements/spark.txt")
