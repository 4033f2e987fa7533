"""The data source `brokerlab.journal`: what happened, and what clients did.

```python
spark.read.format("brokerlab.journal").load("DIR")                                 rows of journal.jsonl
spark.read.format("brokerlab.journal").option("what", "operations").load("DIR")    rows of operations.jsonl
spark.readStream.format("brokerlab.journal").load("DATA")                          and what is written from now on
```
A line of the journal is `[seq,t_us,"node","code",cause,{params}]`. It is parsed, so that damage anywhere in it is
seen; the parameters are handed on as the JSON that stands there, for each question needs others (`from_json`). A
line that is no JSON, or not such a row, becomes a row with `error`.

Large files are read in parts: a part begins with the first line that begins in it, and ends with the last
one that does. Of a file that is being written, the line behind the last newline waits. The option
`maxBytesPerTrigger` says how much of all files one micro-batch of a stream takes at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem
from lab import heap
from lab.analytics import places, schemas
from lab.analytics.errors import AnalyticsError, kept, read
from lab.analytics.errors import told_plainly
from lab.analytics.segments import Pack, arrow_schema, pack

FILES = {"events": (places.JOURNAL, schemas.EVENTS), "operations": (places.OPERATIONS, schemas.OPERATIONS)}
PART = 16 * 1024 * 1024
ROWS = 16_384
BLOCK = 1024 * 1024
_OPERATION = ("seq", "t", "process", "kind", "op")


@dataclass(slots=True)
class Lines:
    """The lines of a file that begin in these bytes."""

    run: str
    path: str
    start: int
    end: int


@dataclass(slots=True)
class Choice:
    """The options of a read."""

    paths: list[str]
    what: str
    most: int | None

    @classmethod
    def of(cls, options: Any) -> Choice:
        what = options.get("what", "events")
        if what not in FILES:
            raise ValueError(f"what {what}: expected one of {', '.join(FILES)}")
        return cls(places.wanted_paths(options), what, places.whole(options, "maxBytesPerTrigger", None))

    def files(self) -> list[tuple[str, Path]]:
        """(run, file) of every run that has such a file."""
        return self._files_of(places.find_runs(self.paths))

    def growing(self) -> list[tuple[str, Path]]:
        """The same; none of directories that hold no run yet."""
        return self._files_of(places.found_by_now(self.paths))

    def _files_of(self, runs: Sequence[places.RunPlace]) -> list[tuple[str, Path]]:
        name = FILES[self.what][0]
        found = [(run.name, run.journal / name) for run in runs if run.journal is not None]
        return [(run, path) for run, path in found if path.is_file()]

    def read(self, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of the parts of a pack."""
        if not isinstance(partition, Pack):
            return  # there are no files; Spark asks nevertheless, with a partition of its own
        columns = arrow_schema(schema, FILES[self.what][1])
        try:
            for part in partition.parts:
                yield from read_lines(part, columns, event_of if self.what == "events" else operation_of)
        finally:
            heap.settle_executor()


class JournalSource(DataSource):
    """`brokerlab.journal`."""

    @classmethod
    def name(cls) -> str:
        return "brokerlab.journal"

    def schema(self) -> str:
        with told_plainly():
            return FILES[Choice.of(self.options).what][1].ddl()

    def reader(self, schema: StructType) -> DataSourceReader:
        return JournalBatchReader(schema, Choice.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return JournalStreamReader(schema, Choice.of(self.options))


class JournalBatchReader(DataSourceReader):
    """All there is now."""

    def __init__(self, schema: StructType, choice: Choice) -> None:
        self.wanted = schema
        self.choice = choice

    def partitions(self) -> Sequence[InputPartition]:
        with told_plainly():
            files = self.choice.files()
        return pack([
            Lines(run, str(path), start, min(start + PART, size))
            for run, path in files for size in (path.stat().st_size,) for start in range(0, size, PART)
        ], PART)  # fmt: skip

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.choice.read(self.wanted, partition)


class JournalStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What is written; an offset is {run: bytes of whole lines}."""

    def __init__(self, schema: StructType, choice: Choice) -> None:
        self.wanted = schema
        self.choice = choice
        self.until: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, int]:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.choice.most is None else ReadMaxBytes(self.choice.most)

    def prepareForTriggerAvailableNow(self) -> None:
        self.until = {run: path.stat().st_size for run, path in self.choice.growing()}

    def latestOffset(self, start: Any, limit: ReadLimit) -> dict[str, int]:
        begin = start if isinstance(start, dict) else {}
        most = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        found = {}
        for run, path in self.choice.growing():
            read = begin.get(run, 0)
            size = path.stat().st_size if self.until is None else self.until.get(run, 0)
            end = size if most is None else min(size, read + most)
            found[run] = _whole_lines(path, read, end)
            if found[run] == read and end < size:
                found[run] = _whole_lines(path, read, size)  # a line longer than the limit
            most = None if most is None else max(0, most - (found[run] - read))
        return found

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        known = dict(self.choice.growing())
        return pack([Lines(run, str(known[run]), start.get(run, 0), until) for run, until in end.items()
                     if run in known and until > start.get(run, 0)], PART)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.choice.read(self.wanted, partition)


def _whole_lines(path: Path, start: int, end: int) -> int:
    """Where the last whole line in front of `end` ends."""
    with open(path, "rb") as file:
        while end > start:
            begin = max(start, end - BLOCK)
            file.seek(begin)
            newline = file.read(end - begin).rfind(b"\n")
            if newline >= 0:
                return begin + newline + 1
            end = begin
    return start


class Wrong(Refusal):
    """A line that is no row."""


Parsed = tuple[Any, ...]
Parser = Callable[[bytes], Parsed]


def event_of(line: bytes) -> Parsed:
    """(seq, t_us, node, code, cause, params)."""
    seq, t_us, node, code, cause, params = orjson.loads(line)
    if type(params) is not dict:
        raise Wrong(problem("line_params"))
    if "{" in node or "{" in code:
        return seq, t_us, node, code, cause, orjson.dumps(params)
    return seq, t_us, node, code, cause, line[line.index(b"{") : -1]


def operation_of(line: bytes) -> Parsed:
    """(seq, t_us, process, kind, op, fields)."""
    row = orjson.loads(line)
    if type(row) is not dict:
        raise Wrong(problem("line_object"))
    seq, t_us, process, kind, op = [row.pop(name) for name in _OPERATION]
    return seq, t_us, process, kind, op, orjson.dumps(row)


_NAMES: dict[Parser, tuple[str, ...]] = {
    event_of: ("seq", "t_us", "node", "code", "cause", "params"),
    operation_of: ("seq", "t_us", "process", "kind", "op", "fields"),
}


def read_lines(part: Lines, schema: pa.Schema, parse: Parser) -> Iterator[pa.RecordBatch]:
    """The lines of a part as record batches; what cannot be parsed is a row with `error`."""
    names = _NAMES[parse]
    rows: list[Parsed] = []
    for position, line in lines_of(part):
        rows.append(row_of(position, line, parse, len(names)))
        if len(rows) == ROWS:
            yield _sound_batch(rows, part, (*names, "position", "error"), schema)
            rows.clear()
    if rows:
        yield _sound_batch(rows, part, (*names, "position", "error"), schema)


def row_of(position: int, line: bytes, parse: Parser, width: int) -> Parsed:
    """A line as a row: what `parse` makes of it (`width` columns), position, error."""
    try:
        if line[-1:] != b"\n":
            raise Wrong(problem("line_cut"))
        return (*parse(line.rstrip()), position, None)
    except KeyError as error:
        return _no_row(width, position, problem("line_missing", key=error.args[0]))
    except Wrong as error:
        return _no_row(width, position, error.problem)
    except (ValueError, TypeError) as error:
        return _no_row(width, position, problem("line_wrong", why=str(error)))


def _no_row(columns: int, position: int, what: Problem) -> Parsed:
    return (*(None,) * columns, position, kept(problem("no_row", what=what)))


def lines_of(part: Lines) -> Iterator[tuple[int, bytes]]:
    """(position, line with its newline) of the lines that begin in the part."""
    with open(part.path, "rb", buffering=BLOCK) as file:
        position = part.start
        if position:
            file.seek(position - 1)
            position += len(file.readline()) - 1
        while position < part.end:
            line = file.readline()
            if not line:
                return
            yield position, line
            position += len(line)


def _sound_batch(rows: list[Parsed], part: Lines, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    """The rows; one whose values are not of the column's type (text for a number, 70 bits) tells that instead."""
    try:
        return _batch(rows, part, names, schema)
    except (pa.ArrowException, OverflowError):
        return _batch([fitting(row, part, names, schema) for row in rows], part, names, schema)


def fitting(row: Parsed, part: Lines, names: Sequence[str], schema: pa.Schema) -> Parsed:
    """A row whose values fit the columns, or one that tells why they do not."""
    try:
        _batch([row], part, names, schema)
    except (pa.ArrowException, OverflowError) as error:
        return _no_row(len(names) - 2, row[-2], problem("line_wrong", why=str(error)))
    return row


def _batch(rows: list[Parsed], part: Lines, names: Sequence[str], schema: pa.Schema) -> pa.RecordBatch:
    if "error" not in schema.names:
        bad = next((row for row in rows if row[-1] is not None), None)
        if bad is not None:
            place = problem("at_file_byte", path=part.path, position=bad[-2])
            raise AnalyticsError(problem("wrong_in", place=place, what=read(bad[-1])))
    columns = dict(zip(names, zip(*rows)))
    made = []
    for field in schema:
        values = columns.get(field.name)
        if values is None:
            made.append(pa.repeat(pa.scalar(part.run, pa.string()), len(rows)))
        elif field.name in ("params", "fields"):
            made.append(pa.array(values, pa.binary()).cast(pa.string()))
        else:
            made.append(pa.array(values, field.type))
    return pa.RecordBatch.from_arrays(made, schema=schema)
