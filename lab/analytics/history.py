"""What became of what was sent: the exact tests on the history of operations.

They are the tests of the durability receipt (`lab/checkers/receipt.py`), said once more in another language
and computed by another engine: what both find is what happened. A *value* is (label, number): the producer's
name in it and its running number. Values written by hand have no label; the same text twice in one
partition is one value per copy, `text`, `text#1`, ..., in the order of sending and of reading.

| word | exact test |
|---|---|
| acked | values of `ok` sends |
| read | different values that reads returned |
| lost | acked, never read: `lost-write` at or below the last offset read of its partition, else `unseen` |
| duplicated | offsets of a value beyond its first |
| reordered | read in a partition behind a later number of the same label |
| inconsistent | two values at one offset: in two reads, or acked there and another one read |
| stale | a poll that begins before what the same consumer had read, by its index in the partition's version order |
| skipped | a poll that begins more than one index behind what the same consumer had read |
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lab.analytics.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

COUNTS = ("acked", "read", "lost", "duplicated", "reordered")
MORE = ("lost_writes", "unseen", "inconsistent", "failed_read", "unknown", "unknown_read")
_VALUE = ["run", "label", "number"]
_TP = "run, topic, partition"


class History:
    """Sends and reads sorted out, as data frames made when first asked for."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @cached_property
    def sends(self) -> DataFrame:
        """Sends with copies of texts told apart."""
        copy = f"row_number() over (partition by {_TP}, label, number order by position, copy_order) - 1"
        rows = self.tables.sends.selectExpr("*", "monotonically_increasing_id() as copy_order")
        texts = rows.where("label = ''").selectExpr("*", f"{copy} as copy").selectExpr(
            "* except (number, copy)", "if(copy > 0, concat(number, '#', copy), number) as number")
        return rows.where("label <> ''").unionByName(texts)

    @cached_property
    def acked(self) -> DataFrame:
        """One row a value: the last place where it was acked."""
        return self.tables._keep(self.sends.where("kind = 'ok'").groupBy(*_VALUE).agg(_last()).selectExpr(
            *_VALUE, "at.topic as topic", "at.partition as partition", "at.offset as offset"))

    @cached_property
    def read(self) -> DataFrame:
        """One row an offset: the value that was read there first, and whether another one was."""
        first = self.tables.polls.groupBy("run", "topic", "partition", "offset").agg(*_firsts())
        copy = f"row_number() over (partition by {_TP}, label, number order by seen) - 1"
        texts = first.where("label = ''").selectExpr("*", f"{copy} as copy").selectExpr(
            "* except (number, copy)", "if(copy > 0, concat(number, '#', copy), number) as number")
        return self.tables._keep(first.where("label <> ''").unionByName(texts))

    @cached_property
    def values_read(self) -> DataFrame:
        """One row a value that was read, with the number of its places."""
        return self.read.groupBy(*_VALUE).count().withColumnRenamed("count", "copies")

    @cached_property
    def lost(self) -> DataFrame:
        """Acked and never read."""
        bounds = self.read.groupBy("run", "topic", "partition").agg({"offset": "max"}).withColumnRenamed(
            "max(offset)", "bound")
        missing = self.acked.join(self.values_read, _VALUE, "left_anti")
        test = "if(offset >= 0 and offset <= coalesce(bound, -1), 'lost-write', 'unseen')"
        return missing.join(bounds, ["run", "topic", "partition"], "left").selectExpr(
            *_VALUE, "topic", "partition", "offset", f"{test} as test")

    @cached_property
    def duplicated(self) -> DataFrame:
        """Every place of a value beyond its first, in the order of reading."""
        order = "row_number() over (partition by run, label, number order by seen) as nth"
        return self.read.selectExpr("*", order).where("nth > 1").select(*_VALUE, "topic", "partition", "offset")

    @cached_property
    def reordered(self) -> DataFrame:
        """Values behind a later one; a second copy of a value does not count."""
        numbers = self.read.where("label <> ''").selectExpr(
            *_VALUE, "topic", "partition", "offset", "cast(number as bigint) as n",
            f"row_number() over (partition by {_TP}, label, number order by offset) as nth").where("nth = 1")
        behind = (f"max(n) over (partition by {_TP}, label order by offset"
                  " rows between unbounded preceding and 1 preceding)")
        return numbers.selectExpr("*", f"{behind} as behind").where("n < behind").select(
            *_VALUE, "topic", "partition", "offset", "behind")

    @cached_property
    def inconsistent(self) -> DataFrame:
        """Reads that disagree, and acked values in whose place another one was read."""
        place = ["run", "topic", "partition", "offset"]
        among = self.tables.polls.where("label <> ''").join(
            self.read.selectExpr(*place, "label as first_label", "number as first_number"), place
        ).where("label <> first_label or number <> first_number").selectExpr(*_VALUE, *place[1:])
        acked = self.sends.where("kind = 'ok' and offset >= 0 and label <> ''").groupBy(
            *place[:3], "label", "number").agg({"offset": "max"}).withColumnRenamed("max(offset)", "offset")
        against = acked.join(self.read.selectExpr(*place, "label as first_label", "number as first_number"), place)
        return among.unionByName(
            against.where("label <> first_label or number <> first_number").selectExpr(*_VALUE, *place[1:]))

    @cached_property
    def steps(self) -> DataFrame:
        """Each poll of a consumer with its step in version order from the one before; none over a rebalance."""
        versions = self.read.selectExpr(
            "run", "topic", "partition", "offset", f"row_number() over (partition by {_TP} order by offset) as version")
        polls = self.tables.polls.groupBy("run", "process", "topic", "partition", "position", "t_us").agg(
            {"offset": "min"}).withColumnRenamed("min(offset)", "first")
        last = self.tables.polls.groupBy("run", "process", "topic", "partition", "position").agg(
            {"offset": "max"}).withColumnRenamed("max(offset)", "last")
        both = polls.join(last, ["run", "process", "topic", "partition", "position"])
        for name in ("first", "last"):
            both = both.join(versions.selectExpr("run", "topic", "partition", f"offset as {name}",
                                                 f"version as {name}_version"), ["run", "topic", "partition", name])
        moves = self.tables.operations.where("op = 'assign'").selectExpr("run", "process", "position as moved")
        era = both.join(moves, ["run", "process"], "left").groupBy(*both.columns).agg(_moves())
        line = f"partition by {_TP}, process, era order by position"
        return era.selectExpr("*", f"first_version - lag(last_version) over ({line}) as step",
                              f"lag(last) over ({line}) as before").where("step is not null")

    @cached_property
    def counts(self) -> DataFrame:
        """The figures of the receipt, one row a run and producer; `operator` wrote by hand."""
        owner = "if(label = '', 'operator', substring_index(label, '~', 1)) as producer"
        parts = [(self.acked, "acked"), (self.values_read, "read"), (self.lost, "lost"),
                 (self.duplicated, "duplicated"), (self.reordered, "reordered")]
        rows = None
        for frame, name in parts:
            part = frame.selectExpr("run", owner, f"'{name}' as figure")
            rows = part if rows is None else rows.unionByName(part)
        assert rows is not None
        figures = rows.groupBy("run", "producer").pivot("figure", list(COUNTS)).count().fillna(0)
        return figures.select("run", "producer", *COUNTS)

    @cached_property
    def more(self) -> DataFrame:
        """The receipt's other figures, one row a run."""
        fates = {kind: self.sends.where(f"kind = '{kind}'").select(*_VALUE).distinct() for kind in ("fail", "info")}
        known = self.values_read.select(*_VALUE)
        parts = [
            (self.lost.where("test = 'lost-write'"), "lost_writes"), (self.lost.where("test = 'unseen'"), "unseen"),
            (self.inconsistent, "inconsistent"), (fates["fail"].join(known, _VALUE, "left_semi"), "failed_read"),
            (fates["info"], "unknown"), (fates["info"].join(known, _VALUE, "left_semi"), "unknown_read"),
        ]  # fmt: skip
        rows = None
        for frame, name in parts:
            part = frame.selectExpr("run", f"'{name}' as figure")
            rows = part if rows is None else rows.unionByName(part)
        assert rows is not None
        counted = rows.groupBy("run").pivot("figure", list(MORE)).count()
        return self.tables.runs.select("run").join(counted, "run", "left").fillna(0).select("run", *MORE)


def _last():  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.max_by(f.struct("topic", "partition", "offset"), "position").alias("at")


def _firsts():  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    seen = f.struct("position", "index")
    return [f.min_by("label", seen).alias("label"), f.min_by("number", seen).alias("number"), f.min(seen).alias("seen")]


def _moves():  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.count(f.when(f.col("moved") < f.col("position"), 1)).alias("era")
