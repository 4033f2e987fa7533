"""The disks of one run: `records`, `batches`, `segments` and `damages`, and the questions about keys and space."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.compute as compute

from broker_core.kernel.problems import problem
from lab.analytics import places, schemas
from lab.analytics.by_run.figures import share
from lab.analytics.by_run.happened import deletions
from lab.analytics.by_run.recording import Recording
from lab.analytics.columns import ARROW
from lab.analytics.declaring import Table
from lab.analytics.errors import kept
from lab.analytics.facts import Hurt
from lab.analytics.places import SegmentPlace
from lab.analytics.segment_reader import SegmentReader

Row = dict[str, Any]
_KEYS = ("broker", "topic", "partition", "key", "control", "segment", "position", "error")
"""What the questions need of a record."""
_INDEXES = (("index", 8, "index_size"), ("timeindex", 12, "time_index_size"))


class Disks:
    """Those of one run. `whole`: records are decoded with all their columns, for their table."""

    def __init__(self, run: Recording, hurt: list[Hurt], whole: bool) -> None:
        self.run = run
        self._hurt = hurt
        self._whole = whole

    @cached_property
    def _files(self) -> list[SegmentPlace]:
        return places.segments_of(self.run.place)

    def _read(self, table: Table, names: tuple[str, ...] = ()) -> pa.Table:
        types = {column.name: ARROW[column.type] for column in table.columns}
        schema = pa.schema([pa.field(name, types[name]) for name in names or table.names])
        found: list[pa.RecordBatch] = []
        for place in self._files:
            reader = SegmentReader(place, schema)
            rows = {"records": reader.records, "batches": reader.batches, "segments": reader.segment}[table.name]
            found += rows()
        return pa.Table.from_batches(found, schema)

    @cached_property
    def _all(self) -> pa.Table:
        return self._read(schemas.RECORDS, () if self._whole else _KEYS)

    @cached_property
    def records(self) -> pa.Table:
        """Records on every broker's disk."""
        return self._all.filter(compute.is_null(self._all["error"]))

    def batches(self) -> pa.Table:
        """Rows of that table."""
        found = self._read(schemas.BATCHES)
        return found.filter(compute.is_null(found["error"]))

    @cached_property
    def segments(self) -> pa.Table:
        """Rows of that table."""
        return self._read(schemas.SEGMENTS)

    # -- damage -----------------------------------------------------------------------------
    @cached_property
    def damages(self) -> list[Row]:
        """Places that could not be read, in segments, indexes, journals, histories; a recording that ended early."""
        hurt = self._all.filter(compute.is_valid(self._all["error"]))
        rows = [{"run": self.run.name, "broker": row["broker"], "topic": row["topic"], "partition": row["partition"],
                 "file": row["segment"], "position": row["position"], "error": row["error"]}
                for row in hurt.to_pylist()]
        for name, told in ((places.JOURNAL, self.run.journal), (places.OPERATIONS, self.run.history)):
            rows += [self._line(name, row[6], row[7]) for row in told.bad]
        rows += self._hurt_indexes()
        rows += [dict(zip(schemas.DAMAGES.names, one)) for one in self._hurt]
        return sorted(rows, key=_order)

    def _line(self, file: str, position: int, error: str) -> Row:
        return {"run": self.run.name, "broker": -1, "topic": None, "partition": None, "file": file,
                "position": position, "error": error}

    def _hurt_indexes(self) -> Iterator[Row]:
        for row in self.segments.to_pylist():
            for suffix, entry, column in _INDEXES:
                size = row[column]
                if size is None or size % entry:
                    what = problem("index_missing") if size is None else problem("index_cut", size=size, expected=entry)
                    yield {"run": self.run.name, "broker": row["broker"], "topic": row["topic"],
                           "partition": row["partition"], "file": f"{row['segment'].split('.', 1)[0]}.{suffix}",
                           "position": size - size % entry if size is not None else 0, "error": kept(what)}

    # -- questions --------------------------------------------------------------------------
    def key_skew(self) -> Iterator[Row]:
        """How records spread over partitions and keys, on the replica that holds most."""
        rows = self.records.filter(compute.invert(self.records["control"]))
        counted = rows.select(["broker", "topic", "partition", "key"]).group_by(
            ["broker", "topic", "partition", "key"]).aggregate([([], "count_all")])
        disks: dict[tuple[str, int], dict[int, dict[bytes | None, int]]] = {}
        columns = (counted[name].to_pylist() for name in ("broker", "topic", "partition", "key", "count_all"))
        for broker, topic, partition, key, count in zip(*columns):
            if not topic.startswith("__"):
                disks.setdefault((topic, partition), {}).setdefault(broker, {})[key] = count
        best = {place: max(brokers.items(), key=_most)[1] for place, brokers in sorted(disks.items())}
        totals: dict[str, int] = {}
        for (topic, _), keys in best.items():
            totals[topic] = totals.get(topic, 0) + sum(keys.values())
        for (topic, partition), keys in best.items():
            records = sum(keys.values())
            named = [(count, key) for key, count in keys.items() if key is not None]
            top, key = max(named, key=lambda one: one[0], default=(0, None))
            yield {"run": self.run.name, "topic": topic, "partition": partition, "records": records,
                   "share": share(records, totals[topic]), "keys": len(named),
                   "top_key": None if key is None else key.decode("utf-8", "replace"),
                   "top_key_share": share(top, records)}

    def retention(self) -> Iterator[Row]:
        """What retention and compaction have saved, by broker and topic."""
        found: dict[tuple[int, str], dict[str, list[int]]] = {}
        for row in self.segments.select(["broker", "topic", "size"]).to_pylist():
            found.setdefault((row["broker"], row["topic"]), {}).setdefault("kept", []).append(row["size"])
        for broker, topic, what, size in deletions(self.run):
            if what == "deleted" and broker is not None:
                found.setdefault((broker, topic), {}).setdefault("deleted", []).append(size)
        for broker, topic, what, size in deletions(self.run):
            if what == "compacted" and broker is not None and (broker, topic) in found:
                found[broker, topic].setdefault("compacted", []).append(size)
        recorded = self.run.facts.get("kind", "disks") != "disks"
        for (broker, topic), sizes in sorted(found.items()):
            kept_, deleted, compacted = (sizes.get(name, []) for name in ("kept", "deleted", "compacted"))
            gone = sum(deleted) + sum(compacted)
            saved = (share(gone, gone + sum(kept_)) or 0.0) if recorded else None
            yield {"run": self.run.name, "broker": broker, "topic": topic,
                   "deleted": len(deleted) if recorded else None, "deleted_bytes": sum(deleted) if recorded else None,
                   "compacted_bytes": sum(compacted) if recorded else None, "kept": len(kept_),
                   "kept_bytes": sum(kept_), "saved": saved}


def _most(disk: tuple[int, dict[bytes | None, int]]) -> tuple[int, int]:
    """The replica with the most records counts, of equal ones that of the lower broker."""
    return sum(disk[1].values()), -disk[0]


def _order(row: Row) -> tuple[Any, ...]:
    return (row["broker"], row["topic"] or "", -1 if row["partition"] is None else row["partition"],
            -1 if row["position"] is None else row["position"], row["file"])
