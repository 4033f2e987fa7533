"""The data source `brokerlab.segments`: segment files of ours and of any Kafka, for Spark.

```python
spark.read.format("brokerlab.segments").load("DIR")                                   every record
spark.read.format("brokerlab.segments").schema("topic string, offset bigint").load("DIR")   only these columns
spark.read.format("brokerlab.segments").option("level", "batches").load("DIR")        batches | segments
spark.readStream.format("brokerlab.segments").load("DATA")                            and what is appended
```
The first columns are those of Spark's own Kafka source, so the same query runs on both. Python data sources
are not told which columns a query uses; the schema that is asked for says it, and what is not in it is not
decoded. Damage becomes rows with `error`; where that column was not asked for, the read fails.

| option | meaning |
|---|---|
| path | directories of runs or of disks: separated by commas, or a JSON list (`places.joined_paths`) |
| level | records (default), batches, segments |
| topic, broker | only this topic, this broker's disk |
| checksums | false: do not compute checksums, except of batches larger than a piece (`pieces`) |
| split | bytes of a file for one task (default 64 MiB); it takes the batch in which they end, too |
| maxBytesPerTrigger | streaming: bytes that one micro-batch takes at most (default: all there is) |

Streaming: an offset says of each file how far it was taken in (`growing`). What is truncated on disk after it was
read is not taken back, but told: a row with `error`, then what stands there now.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit, ReadMaxBytes, SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from broker_core.kernel.problems import Problem, problem
from lab import heap
from lab.analytics import places, schemas
from lab.analytics.declaring import Table
from lab.analytics.errors import told_plainly
from lab.analytics.places import RunPlace, SegmentPlace

LEVELS = {"records": schemas.RECORDS, "batches": schemas.BATCHES, "segments": schemas.SEGMENTS}
SPLIT = 64 * 1024 * 1024
SMALLEST_TASK = 8 * 1024 * 1024
TASKS = 16


@dataclass(slots=True)
class Part:
    """Bytes of one segment file."""

    place: SegmentPlace
    start: int
    end: int
    note: Problem | None = None


@dataclass(slots=True)
class Pack(InputPartition):
    """What one task reads: parts of files, many when they are small."""

    parts: list[Any]


def pack(parts: Sequence[Any], most: int) -> list[Pack]:
    """Parts (with `start` and `end`) in packs of at most about `most` bytes: a task costs more than a small file."""
    total = sum(part.end - part.start for part in parts)
    wanted = min(most, max(SMALLEST_TASK, total // TASKS))
    packs: list[Pack] = []
    size = wanted
    for part in parts:
        if size >= wanted:
            packs.append(Pack([]))
            size = 0
        packs[-1].parts.append(part)
        size += part.end - part.start
    return packs


def arrow_schema(schema: StructType, table: Table) -> pa.Schema:
    """The Arrow types of the columns that are asked for; a column that the table lacks is refused."""
    from lab.analytics.columns import ARROW

    known = {column.name: column.type for column in table.columns}
    for name in schema.names:
        if name not in known:
            raise ValueError(f"there is no column {name} in {table.name}; there are {', '.join(known)}")
    return pa.schema([pa.field(name, ARROW[known[name]]) for name in schema.names])


@dataclass(slots=True)
class Choice:
    """The options of a read."""

    paths: list[str]
    level: str
    topic: str | None
    broker: int | None
    checksums: bool
    split: int
    most: int | None

    @classmethod
    def of(cls, options: Any) -> Choice:
        level = options.get("level", "records")
        if level not in LEVELS:
            raise ValueError(f"level {level}: expected one of {', '.join(LEVELS)}")
        checksums = str(options.get("checksums", "true")).lower()
        if checksums not in ("true", "false"):
            raise ValueError(f"checksums {checksums}: expected true or false")
        return cls(
            places.wanted_paths(options), level, options.get("topic"), places.whole(options, "broker", None, 0),
            checksums == "true", places.whole(options, "split", SPLIT),
            places.whole(options, "maxBytesPerTrigger", None),
        )  # fmt: skip

    def segments(self) -> list[SegmentPlace]:
        """The files that are meant."""
        return self._of(places.find_runs(self.paths))

    def growing(self) -> list[SegmentPlace]:
        """The files that are there by now; of a directory that is still empty, or not made yet, none."""
        return self._of(places.found_by_now(self.paths))

    def _of(self, runs: Sequence[RunPlace]) -> list[SegmentPlace]:
        return [one for run in runs for one in places.segments_of(run) if self._means(one)]

    def place_of(self, path: str) -> SegmentPlace:
        """The place of a segment file that may be gone by now."""
        for run in places.found_by_now(self.paths):
            if run.disks is not None and run.disks in Path(path).parents:
                return places.segment_place(Path(path), run.disks, run.name)
        return places.segment_place(Path(path), Path(self.paths[0]).resolve(), "")

    def _means(self, place: SegmentPlace) -> bool:
        return self.topic in (None, place.topic) and self.broker in (None, place.broker)

    def read(self, schema: StructType, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Rows of the parts of a pack."""
        from lab.analytics.segment_reader import SegmentReader

        if not isinstance(partition, Pack):
            return  # there are no segments; Spark asks nevertheless, with a partition of its own
        columns = arrow_schema(schema, LEVELS[self.level])
        try:
            for part in partition.parts:
                reader = SegmentReader(part.place, columns, part.start, part.end, self.checksums, part.note)
                rows = {"records": reader.records, "batches": reader.batches, "segments": reader.segment}[self.level]
                yield from rows()
        finally:
            heap.settle_executor()


class SegmentSource(DataSource):
    """`brokerlab.segments`."""

    @classmethod
    def name(cls) -> str:
        return "brokerlab.segments"

    def schema(self) -> str:
        with told_plainly():
            return LEVELS[Choice.of(self.options).level].ddl()

    def reader(self, schema: StructType) -> DataSourceReader:
        return SegmentBatchReader(schema, Choice.of(self.options))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        return SegmentStreamReader(schema, Choice.of(self.options))


class SegmentBatchReader(DataSourceReader):
    """All there is now."""

    def __init__(self, schema: StructType, choice: Choice) -> None:
        self.wanted = schema
        self.choice = choice

    def partitions(self) -> Sequence[InputPartition]:
        parts: list[Part] = []
        with told_plainly():
            found = self.choice.segments()
        for place in found:
            if self.choice.level == "segments" or place.size <= self.choice.split:
                parts.append(Part(place, 0, place.size))
            else:
                from lab.analytics.segment_reader import split

                parts += [Part(place, start, end) for start, end in split(place, self.choice.split)]
        return pack(parts, self.choice.split)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.choice.read(self.wanted, partition)


class SegmentStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """What is appended; an offset is {path of a file: step}, see `growing`."""

    def __init__(self, schema: StructType, choice: Choice) -> None:
        self.wanted = schema
        self.choice = choice
        self.until: dict[str, int] | None = None

    def initialOffset(self) -> dict[str, Any]:
        return {}

    def getDefaultReadLimit(self) -> ReadLimit:
        return ReadAllAvailable() if self.choice.most is None else ReadMaxBytes(self.choice.most)

    def prepareForTriggerAvailableNow(self) -> None:
        self.until = {place.path: place.size for place in self.choice.growing()}

    def latestOffset(self, start: Any, limit: ReadLimit) -> dict[str, Any]:
        """Whole batches only: what is being written now comes with the next look."""
        from lab.analytics.growing import look

        begin = start if isinstance(start, dict) else {}
        most = limit.max_bytes if isinstance(limit, ReadMaxBytes) else None
        found: dict[str, Any] = {}
        listed = self.choice.growing()
        homes = [os.path.dirname(place.path) for place in listed]
        for place, home, following in zip(listed, homes, [*homes[1:], ""]):
            before = begin.get(place.path)
            if most is not None and most <= 0:
                step = before
            else:
                size = place.size if self.until is None else min(place.size, self.until.get(place.path, 0))
                try:
                    step = look(place, before, size, most, home == following and size == place.size)
                except FileNotFoundError:
                    continue  # retention has just deleted it
                most = None if most is None or step is before else most - (step["bytes"] - step["from"])
            if step is not None:
                found[place.path] = step
        return found

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        """The bytes of each step that is new; a file that is gone by now is told by its reader."""
        parts = []
        for path, step in end.items():
            before = start.get(path)
            if step == before:
                continue
            read = 0 if before is None else before["bytes"]
            note = None
            if step["from"] < read:
                note = problem("file_was_cut", begin=step["from"], end=read)
            if step["bytes"] > step["from"] or note is not None:
                parts.append(Part(self.choice.place_of(path), step["from"], step["bytes"], note))
        return pack(parts, self.choice.split)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self.choice.read(self.wanted, partition)
