"""Frames that are cheap to plan: Spark analyses and optimises the whole way to a frame again with each step behind it.

| frame | way |
|---|---|
| `leaf` | what is kept stands for itself: one node, however long its way was |
| `local` | rows that this program has: a relation whose size is known, and which no Python process has to read |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_ARROW = {"string": "string", "int": "int32", "bigint": "int64", "boolean": "bool_"}
"""Spark's name of a type -> the function of PyArrow that makes it."""


def local(spark: SparkSession, rows: Iterable[Sequence[Any]], columns: str) -> DataFrame:
    """Rows as a frame; `columns`: `run string, n bigint`, of strings, whole numbers and truths."""
    import pyarrow as pa

    given = [column.split() for column in columns.split(", ")]
    made = list(rows)
    if not made:  # of which Spark Connect asks for a schema, though the table has one
        return spark.range(0).selectExpr(*(f"cast(null as {kind}) as {name}" for name, kind in given))
    fields = [pa.field(name.strip("`"), getattr(pa, _ARROW[kind])()) for name, kind in given]
    arrays = [pa.array([row[at] for row in made], field.type) for at, field in enumerate(fields)]
    return spark.createDataFrame(pa.Table.from_arrays(arrays, schema=pa.schema(fields)))


def leaf(frame: DataFrame) -> DataFrame:
    """A cached frame as a plan of one node. Where Spark shows no plans (Spark Connect) the frame itself."""
    from pyspark.sql import DataFrame as Frame

    spark = frame.sparkSession
    try:
        machine: Any = spark._jvm
        cached = frame._jdf.queryExecution().withCachedData()
        made = machine.org.apache.spark.sql.classic.Dataset.ofRows(spark._jsparkSession, cached)
    except Exception:  # Connect has no virtual machine here
        return frame
    return Frame(made, spark)
