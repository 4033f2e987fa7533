"""The rows of every table of one run, as Arrow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

from lab.analytics import facts
from lab.analytics.by_run import happened, metadata_log, transacted
from lab.analytics.by_run.beliefs import beliefs
from lab.analytics.by_run.faults import faults
from lab.analytics.by_run.questions import Run
from lab.analytics.columns import ARROW
from lab.analytics.schemas import TABLES

TYPES: dict[str, pa.DataType] = {
    **ARROW, "array<int>": pa.list_(pa.int32()), "map<string,array<int>>": pa.map_(pa.string(), pa.list_(pa.int32())),
}  # fmt: skip
_ROWS: dict[str, Callable[[Run], Iterable[Sequence[Any]]]] = {
    "sends": lambda run: ((one.t_us, one.kind, one.topic, one.partition, one.label, _text(one.number), one.offset,
                           one.broker, one.seq, one.position) for one in run.judged.values.sends),
    "polls": lambda run: ((one.t_us, one.process, one.topic, one.partition, one.offset, one.label, _text(one.number),
                           one.seq, one.position, one.at) for one in run.judged.values.polls),
    "commits": lambda run: run.judged.values.commits(),
    "requests": lambda run: run.messages.requests,
    "control_requests": lambda run: run.messages.control_requests(),
    "metadata": lambda run: beliefs(run.recording),
    "isr_changes": lambda run: run.leaders.isr_changes,
    "elections": lambda run: run.leaders.elections,
    "group_generations": lambda run: happened.generations(run.recording),
    "group_members": lambda run: happened.members(run.recording),
    "group_epochs": lambda run: happened.epochs(run.recording),
    "transactions": lambda run: transacted.transactions(run.recording),
    "share_deliveries": lambda run: transacted.share_deliveries(run.recording),
    "stored_offsets": lambda run: happened.stored_offsets(run.recording),
    "replication": lambda run: run.messages.replication(),
    "storage": lambda run: happened.storage(run.recording),
    "faults": lambda run: faults(run.recording),
    "metadata_records": lambda run: metadata_log.records(run.recording),
    "quorum_elections": lambda run: metadata_log.quorum_elections(run.recording),
    "broker_registrations": lambda run: metadata_log.broker_registrations(run.recording),
    "runs": lambda run: [facts.row_of(run.recording.place, run.recording.facts)[1:]],
    "damages": lambda run: ([*row.values()][1:] for row in run.disks.damages),
}  # fmt: skip
"""Table -> its rows, without the column `run`."""
_WHOLE: dict[str, Callable[[Run], pa.Table]] = {
    "records": lambda run: run.disks.records, "batches": lambda run: run.disks.batches(),
    "segments": lambda run: run.disks.segments, "events": lambda run: run.recording.journal.arrow(run.name),
    "operations": lambda run: run.recording.history.arrow(run.name),
}  # fmt: skip
"""Those that come in columns."""


def schema_of(name: str) -> pa.Schema:
    """A table's columns."""
    return pa.schema([pa.field(column.name, TYPES[column.type]) for column in TABLES[name].columns])


def table_of(run: Run, name: str) -> pa.Table:
    """A run's rows of a table."""
    schema = schema_of(name)
    if name in _WHOLE:
        return _WHOLE[name](run).select(schema.names).cast(schema)
    columns: list[Any] = [*zip(*_ROWS[name](run))]
    made = [_column(values, kind) for values, kind in zip(columns or [()] * len(schema.names), schema.types[1:])]
    return pa.Table.from_arrays([pa.repeat(pa.scalar(run.name, pa.string()), len(made[0])), *made], schema=schema)


def _text(number: Any) -> str | None:
    return None if number is None else str(number)


def _column(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Values of a column; what is of another type (a journal may hold anything) is null, as SQL reads it."""
    if pa.types.is_map(kind):
        values = [[*value.items()] if isinstance(value, dict) else value for value in values]
    try:
        return pa.array(values, kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return pa.array([_fitting(value, kind) for value in values], kind)


def _fitting(value: Any, kind: pa.DataType) -> Any:
    try:
        pa.array([value], kind)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        return None
    return value

