"""What a sweep has found so far, while it still works: rows travel home with the end of each task.

A Spark accumulator is used as a letter box: tasks put rows in, the driver reads what has come. A task that is
repeated sends its rows twice, so a row counts once for each (cell, seed). Spark Connect has no accumulators;
there the stages alone tell how far the work is.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.accumulators import Accumulator
    from pyspark.sql import SparkSession

Row = dict[str, Any]
TOLD = ("cell", "seed", "acked", "read", "lost", "duplicated", "reordered", "write_gap_s", "error", "command")


class Letters:
    """How accumulators join: one list behind the other."""

    def zero(self, value: list[Row]) -> list[Row]:
        return []

    def addInPlace(self, value: list[Row], more: list[Row]) -> list[Row]:
        value.extend(more)
        return value


def letter_box(spark: SparkSession) -> Accumulator[list[Row]] | None:
    """An empty one; None where Spark has none."""
    try:
        return spark.sparkContext.accumulator([], Letters())  # type: ignore[arg-type]
    except Exception:  # Spark Connect
        return None


class Tally:
    """Rows of one sweep, each once."""

    def __init__(self, total: int, box: Accumulator[list[Row]] | None) -> None:
        self.total = total
        self.box = box
        self.rows: list[Row] = []
        self._taken = 0
        self._known: set[tuple[str, int]] = set()
        self._began = time.monotonic()
        self._lock = threading.Lock()

    def look(self) -> list[Row]:
        """Rows that have come since the last look."""
        if self.box is None:
            return []
        letters = self.box.value
        with self._lock:
            fresh = letters[self._taken : len(letters)]
            self._taken += len(fresh)
        return self.add(fresh)

    def add(self, rows: list[Row]) -> list[Row]:
        """Enter rows; those that were not known before."""
        fresh = []
        with self._lock:
            for row in rows:
                key = (row["cell"], row["seed"])
                if key not in self._known:
                    self._known.add(key)
                    fresh.append(row)
            self.rows += fresh
        return fresh

    def facts(self, fresh: list[Row]) -> dict[str, Any]:
        """What is told of it: counts, and the fresh rows in short."""
        return {
            "done": len(self.rows), "failed": sum(row["error"] is not None for row in self.rows), "total": self.total,
            "seconds": round(time.monotonic() - self._began, 3),
            "rows": [{name: row[name] for name in TOLD} for row in fresh],
        }  # fmt: skip
