"""`sweep`: a grid of settings times seeds, whole simulated worlds inside Spark's tasks.

Each run is independent of all others, so Spark has nothing to shuffle: it is used for what it is good at
besides, handing out work to any number of machines and repeating what is lost with one of them.

    OUT/cells/CELL.yaml      the scenario of each cell: `run FILE --seed N` opens any of its runs
    OUT/results.parquet      a row a run
    OUT/sweep.html, sweep.json     heat maps, the table of cells, runs that failed
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import yaml

from broker_core.kernel.problems import Problem, problem
from lab.analytics.errors import kept
from lab.analytics.grid import Cell
from lab.analytics.intervals import quartiles, wilson
from lab.analytics.simulate import COLUMNS, FIGURES, simulate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from lab.analytics.tally import Tally

_SAFE = frozenset("=.-_,")
LONGEST_NAME = 120
TASKS_PER_CORE = 64
"""Small tasks: progress is told by task, and the last ones of a sweep end together."""
_ARROW = {"string": pa.string(), "bigint": pa.int64(), "double": pa.float64()}
SCHEMA = pa.schema([pa.field(name, _ARROW[kind]) for name, kind in COLUMNS])
DDL = ", ".join(f"{name} {kind}" for name, kind in COLUMNS)


@dataclass(frozen=True, slots=True)
class Work:
    """What a task needs: cells as (name, document, command), seeds, and the directory for its files (None: elsewhere,
    where each task takes one of its own). Run n is cell n // seeds, seed n % seeds."""

    cells: list[tuple[str, dict[str, Any], str]]
    seeds: list[int]
    scratch: str | None = None

    def run(self, number: int) -> dict[str, Any]:
        """The row of run `number`."""
        name, document, command = self.cells[number // len(self.seeds)]
        seed = self.seeds[number % len(self.seeds)]
        return simulate(name, document, seed, command.replace("SEED", str(seed)), self.scratch)


def rows(work: Work, box: Any = None) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """What a task does with its numbers: a row for each, handed on as soon as it is there, and put into the letter
    box of a `tally`."""

    def run_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch.column(0).to_pylist():
                row = work.run(number)
                if box is not None:
                    box.add([row])
                yield pa.RecordBatch.from_pylist([row], schema=SCHEMA)

    return run_all


def sweep(
    spark: SparkSession, scenario: str, cells: Sequence[Cell], seeds: Sequence[int], out: Path | None = None,
    box: Any = None, scratch: Path | None = None,
) -> DataFrame:  # fmt: skip
    """A row a run, not yet computed."""
    total = len(cells) * len(seeds)
    work = Work([(cell.name, cell.document, command_of(scenario, cell, out)) for cell in cells], list(seeds),
                str(scratch) if scratch is not None and is_here(spark) else None)
    parts = min(total, TASKS_PER_CORE * parallelism(spark))
    scattered = spark.range(total, numPartitions=1).repartition(parts) if parts > 1 else spark.range(total)
    return scattered.mapInArrow(rows(work, box), DDL)


def parallelism(spark: SparkSession) -> int:
    """How many tasks run at once, as far as it can be known."""
    try:
        return int(spark.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no context to ask
        return 8


def is_here(spark: SparkSession) -> bool:
    """Whether tasks work on this machine."""
    try:
        return str(spark.sparkContext.master).startswith("local")
    except Exception:  # Spark Connect has no context to ask
        return False


def carry_out(frame: DataFrame, count: Tally) -> tuple[list[dict[str, Any]], Exception | None]:
    """The rows of a sweep. When Spark gives up (a task's process died too often): the rows that had come by then, and
    why; raises what it raised when none had."""
    try:
        return [row.asDict() for row in frame.collect()], None
    except Exception as error:
        count.look()
        if not count.rows:
            raise
        return list(count.rows), error


def left_open(
    scenario: str, cells: Sequence[Cell], seeds: Sequence[int], out: Path | None, results: Sequence[dict[str, Any]],
    reason: Problem,
) -> list[dict[str, Any]]:  # fmt: skip
    """A row with `error` for each run that is not among the results, with the command that carries it out."""
    known = {(row["cell"], row["seed"]) for row in results}
    empty = dict.fromkeys(name for name, _ in COLUMNS)
    return [
        {**empty, "cell": cell.name, "seed": seed, "error": kept(problem("left_open", what=reason)),
         "command": command_of(scenario, cell, out).replace("SEED", str(seed))}
        for cell in cells for seed in seeds if (cell.name, seed) not in known
    ]  # fmt: skip


def command_of(scenario: str, cell: Cell, out: Path | None) -> str:
    """What repeats a run of a cell, with SEED for the seed: from its file when there is one, else as a sweep of one."""
    if out is not None:
        return f"./brokerlab run {shlex.quote(str(file_of(cell, out)))} --seed SEED"
    grid = "".join(f" --grid {shlex.quote(f'{key}={value}')}" for key, value in cell.values.items())
    return f"./brokerlab sweep {shlex.quote(scenario)}{grid} --seeds SEED"


def file_of(cell: Cell, out: Path) -> Path:
    """Where the cell's scenario stands: a name that no other cell has, as `acks=1,min.insync.replicas=2.yaml`.

    What the name of a file should not hold is written as %xx. One that is too long, or has capitals (not all disks tell
    them apart), ends with a checksum of the whole.
    """
    safe = "".join(letter if letter.isalnum() or letter in _SAFE else _escaped(letter) for letter in cell.name)
    if safe != safe.lower() or len(safe.encode()) > LONGEST_NAME:
        begin = safe.encode()[:LONGEST_NAME].decode(errors="ignore")
        safe = f"{begin}~{sha256(cell.name.encode()).hexdigest()[:12]}"
    return out / "cells" / f"{safe}.yaml"


def _escaped(letter: str) -> str:
    return "".join(f"%{byte:02x}" for byte in letter.encode())


def write_cells(cells: Sequence[Cell], out: Path) -> None:
    """The scenario of each cell as a file of its own."""
    for cell in cells:
        path = file_of(cell, out)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(cell.document, allow_unicode=True, sort_keys=False), encoding="utf-8")


def summarise(cells: Sequence[Cell], results: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One row a cell: sums, the share of runs that lost something with its interval, how losses spread, the longest
    gap, the worst seed."""
    by_cell: dict[str, list[dict[str, Any]]] = {cell.name: [] for cell in cells}
    for row in results:
        by_cell[row["cell"]].append(row)
    return [_summary(cell, sorted(by_cell[cell.name], key=_seed)) for cell in cells]


def _seed(row: dict[str, Any]) -> int:
    return int(row["seed"])


def _summary(cell: Cell, found: list[dict[str, Any]]) -> dict[str, Any]:
    fine = [row for row in found if row["error"] is None]
    gaps = [row["write_gap_s"] for row in fine if row["write_gap_s"] is not None]
    worst, losing = max(fine, key=_damage, default=None), sum(row["lost"] > 0 for row in fine)
    return {
        "cell": cell.name, "runs": len(fine), "failed": len(found) - len(fine),
        **{name: sum(row[name] for row in fine) for name in FIGURES},
        "runs_with_loss": losing, **dict(zip(("loss_low", "loss_high"), wilson(losing, len(fine)))),
        **dict(zip(("lost_q1", "lost_median", "lost_q3"), quartiles([row["lost"] for row in fine]))),
        "median_gap_s": quartiles(gaps)[1],
        "mean_gap_s": sum(gaps) / len(gaps) if gaps else None, "max_gap_s": max(gaps, default=None),
        "worst_seed": None if worst is None else worst["seed"], "open": None if worst is None else worst["command"],
    }  # fmt: skip


def _damage(row: dict[str, Any]) -> tuple[int, int, int, float]:
    return row["lost"], row["duplicated"], row["reordered"], row["write_gap_s"] or 0.0
