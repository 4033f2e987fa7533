"""The directories `TABLE/run=NAME` of tables that are written as Parquet."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from lab.analytics.schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ESCAPED = frozenset('"#%\'*/:=?\\{[]^\x7f') | {chr(code) for code in range(1, 32)}
"""What Spark writes as %XX in the name of such a directory."""


def directory_of(table: Path, run: str) -> Path:
    """Where Spark puts the rows of a run."""
    return table / ("run=" + "".join(f"%{ord(letter):02X}" if letter in _ESCAPED else letter for letter in run))


def remove_runs(table: Path, runs: Collection[str]) -> None:
    """Take away what is there of these runs: Spark replaces only those that have rows."""
    for path in table.glob("run=*"):
        if unquote(path.name.removeprefix("run=")) in runs:
            shutil.rmtree(path)


def ensure_schema(spark: SparkSession, table: Path, run: str) -> None:
    """A table without rows gets a file that holds the schema, so that it can be read like any other."""
    if next(table.glob("run=*/*.parquet"), None) is None:
        declared = TABLES[table.name]
        columns = declared.ddl([name for name in declared.names if name != "run"])
        spark.createDataFrame([], columns).write.mode("overwrite").parquet(str(directory_of(table, run)))
