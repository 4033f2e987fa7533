"""Files, batches and messages as the description (OpenAPI) shows them: bytes with their fields."""

from __future__ import annotations

from typing import Any

from ninja import Schema
from pydantic import ConfigDict, Field


class Closed(Schema):
    """An object with these keys and no others."""

    model_config = ConfigDict(extra="forbid")


class Coded(Closed):
    """What is wrong as a code with parameters, of which one may be of this form again."""

    code: str
    params: dict[str, Any]


# -- files and batches ---------------------------------------------------------------------
class SegmentView(Closed):
    """A segment; `files`: [name, size, flushed]; `index`: [relative offset, position], the last 200."""

    base: int
    next: int
    active: bool
    max_timestamp: int
    files: list[tuple[str, int, int]]
    index: list[list[int]]
    entries: int
    time_entries: int


class CompactionView(Closed):
    """A compacted log: clean below `first_dirty`, cleanable below `first_uncleanable`; ratios from 0 to 1."""

    first_dirty: int
    first_uncleanable: int
    dirty_ratio: float
    min_dirty_ratio: float


class DumpView(Closed):
    """of=dump: a page of a file as kafka-dump-log prints it, from byte `begin`; the next page begins at `next`.

    `cut`: of a batch with very many records, or of an index, only the first lines came."""

    name: str
    broker: int
    file: str
    size: int
    begin: int
    lines: list[str]
    next: int | None
    cut: bool


class FilesView(Closed):
    """of=files."""

    name: str
    broker: int
    directory: str
    size: int
    recovery_point: int
    segment_bytes: int
    index_interval_bytes: int
    segments: list[SegmentView]
    compaction: CompactionView | None


class SegmentOfBatch(Closed):
    """The segment that holds the batch."""

    file: str
    directory: str
    base_offset: int
    position: int
    size: int
    active: bool
    segments: list[int]
    flushed_to: int


class IndexEntry(Closed):
    """An entry of the offset index."""

    slot: int
    offset: int
    position: int
    byte: int


class SearchStep(IndexEntry):
    """One comparison of the binary search between slots `low` and `high`."""

    low: int
    high: int
    is_: str = Field(alias="is")


class Search(Closed):
    """How the index was searched."""

    file: str
    entries: int
    entry_size: int
    section: str
    steps: list[SearchStep]
    found: IndexEntry | None
    around: list[IndexEntry]
    position: int


class Scanned(Closed):
    """A header that was read on the way."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class FieldOfBatch(Closed):
    """A field with its bytes and what it means in both languages."""

    name: str
    offset: int
    size: int
    value: Any
    en: str
    ko: str


class BatchBytes(Closed):
    """The batch, byte by byte; `cut`: there are more."""

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    compression: str
    crc_valid: bool
    hex: str
    cut: bool
    fields: list[FieldOfBatch]


class RecordOfBatch(Closed):
    """A record of the batch."""

    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: list[Any]


class BytesView(Closed):
    """of=bytes."""

    topic: str
    partition: int
    broker: int
    offset: int
    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    segment: SegmentOfBatch
    search: Search
    scan: list[Scanned]
    batch: BatchBytes
    records: list[RecordOfBatch]


# -- messages -------------------------------------------------------------------------------
class FieldOfMessage(FieldOfBatch):
    """A field of a message; `type` in the words of the protocol guide."""

    type: str


class MessageView(Closed):
    """A message between two nodes. `how`: encoded (under way now), or recalled by executing the run again."""

    from_: str = Field(alias="from")
    to: str
    api: str
    version: int
    correlation: int
    answer: bool
    how: str
    size: int
    hex: str
    cut: bool
    fields: list[FieldOfMessage]
