"""Tables as Parquet: one file for each table and replay, however many runs it is of.

    OUT/elections/part-....parquet      the column `run` says whose row it is

Hundreds of small runs would otherwise be thousands of files, which take longer than what stands in them. A run that is
there already is replaced: files that hold it are written again without it.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as compute
import pyarrow.parquet as parquet

from lab.analytics.schemas import TABLES

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

UNIQUE = 32
"""Letters behind the dot of a file that a task writes."""
ROWS = 1 << 17
"""Rows that are in memory at once while a file is written again."""


def write_table(frame: DataFrame, out: Path, name: str, runs: Collection[str]) -> None:
    """Add the rows of these runs to OUT/NAME, in the place of what is there of them."""
    table = out / name
    remove_runs(table, runs)
    frame.select(*TABLES[name].names).write.mode("append").parquet(str(table))
    _drop_empty(table)


def adopt(table: Path, files: Sequence[Path], runs: Collection[str]) -> None:
    """Take files with the rows of these runs, which tasks have written there, for what is there of them."""
    remove_runs(table, runs)
    for path in files:
        path.rename(table / f"part-{path.name.lstrip('.')}.parquet")
    for left in table.glob(f".{'?' * UNIQUE}"):  # of a task that was repeated, or broke off
        left.unlink()
    _drop_empty(table)


def remove_runs(table: Path, runs: Collection[str]) -> None:
    """Take away what is there of these runs."""
    wanted = pa.array(list(runs), pa.string())
    for path in sorted(table.glob("*.parquet")):
        there = compute.unique(parquet.read_table(path, columns=["run"])["run"])
        gone = compute.is_in(there, value_set=wanted)
        if compute.all(gone).as_py():  # also of a file without rows
            path.unlink()
        elif compute.any(gone).as_py():
            _without(path, wanted)


def _without(path: Path, runs: pa.Array) -> None:
    """Write a file again without the rows of these runs."""
    other = path.with_suffix(".rest")
    with parquet.ParquetFile(path) as file, parquet.ParquetWriter(other, file.schema_arrow) as writer:
        for batch in file.iter_batches(ROWS):
            writer.write_batch(batch.filter(compute.invert(compute.is_in(batch["run"], value_set=runs))))
    other.replace(path)


def _drop_empty(table: Path) -> None:
    """Files without rows say what the columns are: one is enough, and none where there are rows."""
    files = {path: parquet.read_metadata(path).num_rows for path in sorted(table.glob("*.parquet"))}
    empty = [path for path, rows in files.items() if not rows]
    for path in empty[0 if len(empty) < len(files) else 1 :]:
        path.unlink()
