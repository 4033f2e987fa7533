"""What became of what was sent: the exact tests on the history of operations.

They are the tests of the durability receipt (`lab/checkers/receipt.py`), said once more in another language
and computed by another engine: what both find is what happened. A *value* is (label, number): the producer's
name in it and its running number. Values written by hand have no label; the same text twice in one
partition is one value per copy, `text`, `text#1`, ..., in the order of sending and of reading.

| word | exact test |
|---|---|
| acked | values of `ok` sends |
| read | different values of this run's sends that reads returned |
| lost, unread, at risk, removed | the words of `lab/checkers/fates.py`, said in SQL |
| duplicated | places of a value beyond its first: where it was read, or only acked |
| reordered | read in a partition behind a later number of the same label |
| inconsistent | values beyond the first at one offset, in reads and acknowledgements |
| aborted, aborted_read | values of aborted transactions, and those of them that a reader got; the read-back is none |
| write_cycle, read_cycle, precommitted_read | transactions that depend on themselves (G0, G1c), or read of their own |
| failed_reads | places and readers of values whose write failed (G1a), and the transaction that they were of |
| aborted_reads | places of values that somebody got and that were aborted with their transaction (G1a) |
| steps | from each value that a consumer read to its next one, by index; none over a rebalance |
| falls | acknowledgements of one producer, in the order in which it got them, whose offset goes down |

The version order of a partition is its offsets, from ok sends and from all polls, without gaps; an index is a
place in it. The bound is the largest first index of a value that was read. Offsets and indexes have one order,
so a bound may be compared as offset. Which places are in the log that counts is told by `standing`; of a run without
a journal, what was passed is lost.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from broker_core.kernel.names import CHECKER
from lab.analytics.fates import fates
from lab.analytics.outside import Outside
from lab.analytics.owed import OWED, owed_of_runs
from lab.analytics.standing import Standing
from lab.analytics.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

COUNTS = ("acked", "read", "lost", "unread", "at_risk", "duplicated", "reordered", "removed")
STEPS = ("poll_skip", "nonmonotonic_poll", "int_poll_skip", "int_nonmonotonic_poll")
MORE = (
    "inconsistent", "failed_read", "aborted", "aborted_read", *OWED, "unknown", "unknown_read", *STEPS,
    "nonmonotonic_send",
)  # fmt: skip
TEXT = 200  # polls tell so many characters of a text
_VALUE = ["run", "label", "number"]
_PLACE = ["run", "topic", "partition", "offset"]
_TP = "run, topic, partition"
_WRITTEN = f"if(label = '', substring(coalesce(number, 'null'), 1, {TEXT}), number)"
_NAMED = "if(label = '' and copy > 0, concat(raw, '#', copy), raw) as number"


class History:
    """Sends and reads sorted out, as data frames made when first asked for."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @cached_property
    def sends(self) -> DataFrame:
        """Sends with copies of texts told apart, acked ones first; `raw` is the value as written."""
        copy = (f"row_number() over (partition by {_TP}, label, raw"
                " order by if(kind = 'ok', 0, 1), position, copy_order) - 1 as copy")
        rows = self.tables.sends.selectExpr(
            "* except (number)", f"{_WRITTEN} as raw", "monotonically_increasing_id() as copy_order")
        texts = rows.where("label = ''").selectExpr("*", copy).selectExpr("* except (copy)", _NAMED)
        return rows.where("label <> ''").selectExpr("*", "raw as number").unionByName(texts)

    @cached_property
    def acks(self) -> DataFrame:
        """The places of ok sends."""
        return self.tables._keep(self.sends.where("kind = 'ok' and offset >= 0").select(
            *_PLACE, "label", "number", "raw", "position"))

    @cached_property
    def acked(self) -> DataFrame:
        """One row a value: the last offset at which it was acked."""
        return self.tables._keep(self.sends.where("kind = 'ok'").groupBy(*_VALUE).agg(_last()).selectExpr(
            *_VALUE, "at.topic as topic", "at.partition as partition", "at.offset as offset", "at.seq as seq",
            "at.broker as node"))

    @cached_property
    def read(self) -> DataFrame:
        """One row a value at an offset; `nth` counts the values of an offset by when they were first seen."""
        each = self.tables.polls.selectExpr("* except (number)", f"{_WRITTEN} as raw").groupBy(
            *_PLACE, "label", "raw").agg(*_seen())
        nth = f"row_number() over (partition by {', '.join(_PLACE)} order by seen) as nth"
        copy = f"row_number() over (partition by {_TP}, label, raw order by seen) - 1 as copy"
        rows = each.selectExpr("*", nth)
        texts = rows.where("label = ''").selectExpr("*", copy).selectExpr("* except (copy)", _NAMED)
        return self.tables._keep(rows.where("label <> ''").selectExpr("*", "raw as number").unionByName(texts))

    @cached_property
    def values_read(self) -> DataFrame:
        """One row a value that was read, with the number of its places."""
        return self.read.groupBy(*_VALUE).count().withColumnRenamed("count", "copies")

    def _own(self, values: DataFrame) -> DataFrame:
        """Those that the run sent: a log may hold what was written before, or by outside clients."""
        texts = self.sends.where("label = ''").select(*_VALUE).distinct()
        return values.where("label <> ''").join(self.tables.labels, ["run", "label"], "left_semi").unionByName(
            values.where("label = ''").join(texts, _VALUE, "left_semi"))

    @cached_property
    def bounds(self) -> DataFrame:
        """Of each partition the largest first offset of a value that was read."""
        places = self.read.select(*_PLACE, "label", "number").selectExpr("*", "1 as was_read").unionByName(
            self.acks.where("label <> ''").select(*_PLACE, "label", "number").selectExpr("*", "0 as was_read"))
        return places.groupBy("run", "topic", "partition", "label", "number").agg(*_first()).where(
            "was_read = 1").groupBy("run", "topic", "partition").agg({"first": "max"}).withColumnRenamed(
            "max(first)", "bound")

    @cached_property
    def fates(self) -> DataFrame:
        """One row an acknowledged value: its fate, the place that decided it, the test; `copies`: it is at risk."""
        return self.tables._keep(fates(self, self.standing))

    @cached_property
    def standing(self) -> Standing:
        """Which places are in the log that counts."""
        return Standing(self.tables)

    @cached_property
    def lost(self) -> DataFrame:
        """Acked, and gone from the log that counts."""
        return self._of_fate("lost").drop("copies")

    @cached_property
    def unread(self) -> DataFrame:
        """Acked, there, and nobody has read them."""
        return self._of_fate("unread").drop("test", "copies")

    @cached_property
    def removed(self) -> DataFrame:
        """Acked, never read, and taken away by a rule."""
        return self._of_fate("removed").drop("test", "copies")

    @cached_property
    def at_risk(self) -> DataFrame:
        """Acked, there, and on fewer disks than promised."""
        return self.fates.where("copies is not null").drop("fate", "test")

    def _of_fate(self, fate: str) -> DataFrame:
        return self.fates.where(f"fate = '{fate}'").drop("fate")

    @cached_property
    def duplicated(self) -> DataFrame:
        """Every place of a value beyond its first: in the order of reading, then those that were only acked."""
        only = self.acks.where("label <> ''").join(self.read, [*_PLACE, "label", "number"], "left_anti").groupBy(
            *_PLACE, "label", "number").agg({"position": "min"}).selectExpr(
            *_PLACE, "label", "number", "1 as late", "struct(`min(position)` as position, offset as index) as seen")
        every = self.read.selectExpr(*_PLACE, "label", "number", "0 as late", "seen").unionByName(only)
        order = "row_number() over (partition by run, label, number order by late, seen) as nth"
        more = every.selectExpr("*", order).where("nth > 1").select(*_VALUE, "topic", "partition", "offset")
        return self._own(more)

    @cached_property
    def reordered(self) -> DataFrame:
        """Values behind a later one; a second copy of a value does not count."""
        numbers = self.read.where("label <> '' and nth = 1").selectExpr(
            *_VALUE, "topic", "partition", "offset", "cast(number as bigint) as n",
            f"row_number() over (partition by {_TP}, label, number order by offset) as copy").where("copy = 1")
        behind = (f"max(n) over (partition by {_TP}, label order by offset"
                  " rows between unbounded preceding and 1 preceding)")
        return self._own(numbers.selectExpr("*", f"{behind} as behind").where("n < behind").select(
            *_VALUE, "topic", "partition", "offset", "behind"))

    @cached_property
    def inconsistent(self) -> DataFrame:
        """Values beyond the first at an offset: what was read comes first, then what was acked."""
        acks = self.acks.groupBy(*_PLACE, "label", "raw").agg({"position": "min"}).selectExpr(
            *_PLACE, "label", "raw", "1 as late", "struct(`min(position)` as position, 0L as index) as seen")
        values = self.read.selectExpr(*_PLACE, "label", "raw", "0 as late", "seen").unionByName(acks).groupBy(
            *_PLACE, "label", "raw").agg(_earliest())
        nth = f"row_number() over (partition by {', '.join(_PLACE)} order by at) as nth"
        return values.selectExpr("*", nth).where("nth > 1").selectExpr(
            "run", "label", "raw as number", "topic", "partition", "offset")

    @cached_property
    def failed_reads(self) -> DataFrame:
        """Each place and reader of a value whose write failed."""
        failed = self.sends.where("kind = 'fail'").select(*_VALUE).distinct()
        places = self.read.join(failed, _VALUE, "left_semi").select(*_PLACE, "label", "raw", "number")
        readers = self.tables.polls.selectExpr(*_PLACE, "label", f"{_WRITTEN} as raw", "process as reader")
        found = places.join(readers, [*_PLACE, "label", "raw"]).join(self.tables.taken_back, _VALUE, "left")
        return found.select(*_PLACE, "label", "number", "reader", "transaction").distinct()

    @cached_property
    def aborted_reads(self) -> DataFrame:
        """Each place of a value that was aborted with its transaction and that somebody got, not the read-back."""
        got = self.tables.polls.where(f"process <> '{CHECKER}'").select(*_VALUE).distinct()
        aborted = self.sends.where("kind = 'abort'").select(*_VALUE).distinct().join(got, _VALUE, "left_semi")
        found = self.read.join(aborted.join(self.tables.taken_back, _VALUE, "left"), _VALUE)
        return found.select(*_PLACE, "label", "number", "transaction").distinct()

    @cached_property
    def versions(self) -> DataFrame:
        """The version order: an index for each offset that an ok send or a poll told of, but of no value that was
        aborted or may have been."""
        told = self.sends.where("kind <> 'info'").select(*_VALUE)
        aborted = self.sends.where("kind = 'abort'").select(*_VALUE).unionByName(
            self.tables.begun.select(*_VALUE).join(told, _VALUE, "left_anti")).distinct()
        gone = self.read.join(aborted, _VALUE, "left_semi").select(*_PLACE)
        offsets = self.read.select(*_PLACE).unionByName(self.acks.select(*_PLACE)).distinct().join(
            gone, _PLACE, "left_anti")
        return offsets.selectExpr("*", f"row_number() over (partition by {_TP} order by offset) as version")

    @cached_property
    def steps(self) -> DataFrame:
        """Steps of a consumer from a value to its next one, where that is not the next offset.

        One window over single reads, in the order of polls and inside them; `inside`: both in one poll. An era is
        what lies between two assignments. Deliveries of a queue (share groups) have no order: their readers take none.
        """
        marks = self.tables.polls.selectExpr("run", "process", "position", "0 as moves").distinct().unionByName(
            self.tables.operations.where("op = 'assign'").selectExpr("run", "process", "position", "1 as moves"))
        eras = marks.selectExpr("run", "process", "position", "moves",
                                "sum(moves) over (partition by run, process order by position) as era").where(
            "moves = 0").drop("moves")
        line = f"over (partition by {_TP}, process, era order by position, index)"
        queues = self.tables._fields.where("op = 'poll' and p.delivery is not null").select("run", "process").distinct()
        ordered = self.tables.polls.join(queues, ["run", "process"], "left_anti")
        moves = ordered.join(eras, ["run", "process", "position"]).selectExpr(
            *_PLACE, "process", "t_us", f"lag(offset) {line} as before",
            f"coalesce(position = lag(position) {line}, false) as inside").where("offset <> before + 1")
        befores = self.versions.selectExpr("run", "topic", "partition", "offset as before", "version as last")
        return moves.join(self.versions, _PLACE).join(befores, ["run", "topic", "partition", "before"]).selectExpr(
            "run", "process", "topic", "partition", "t_us", "before", "offset", "inside", "version - last as step")

    @cached_property
    def stale(self) -> DataFrame:
        """Steps other than to the next index, with the name of the test."""
        test = "concat(if(inside, 'int-', ''), if(step > 1, 'poll-skip', 'nonmonotonic-poll')) as test"
        return self.tables._keep(self.steps.where("step <> 1").selectExpr("*", test))

    @cached_property
    def falls(self) -> DataFrame:
        """Acknowledgements whose first offset lies below the last one that the same producer was told before."""
        sends = self.tables._fields.where("op = 'send' and kind = 'ok' and p.offset >= 0").selectExpr(
            "run", "process", "p.topic as topic", "p.partition as partition", "t_us", "position", "p.offset as offset",
            "p.offset - 1 + aggregate(coalesce(p.`values`, array()), 0L, (n, v) -> n + v[1])"
            " + size(coalesce(p.texts, array())) as last").where("last >= offset")
        before = f"lag(last) over (partition by {_TP}, process order by position) as before"
        return sends.selectExpr("*", before).where("offset < before").select(
            "run", "process", "topic", "partition", "t_us", "before", "offset")

    @cached_property
    def owed(self) -> DataFrame:
        """Transactions in cycles of dependencies, and what they have read of their own."""
        return owed_of_runs(self.tables)

    @property
    def write_cycle(self) -> DataFrame:
        """G0."""
        return self.owed.where("anomaly = 'write_cycle'")

    @property
    def read_cycle(self) -> DataFrame:
        """G1c."""
        return self.owed.where("anomaly = 'read_cycle'")

    @property
    def precommitted_read(self) -> DataFrame:
        """What a transaction wrote, and read before it was committed."""
        return self.owed.where("anomaly = 'precommitted_read'")

    @cached_property
    def outside(self) -> Outside:
        """Clients that the lab did not start: they have no operations, only what the brokers saw."""
        return Outside(self.tables, self.standing)

    @cached_property
    def counts(self) -> DataFrame:
        """The figures of the receipt, one row a run and producer; `operator` wrote by hand."""
        owner = "if(label = '', 'operator', substring_index(label, '~', 1)) as producer"
        parts = [(self.acked, "acked"), (self._own(self.values_read), "read"),
                 *((getattr(self, name), name) for name in COUNTS[2:])]
        rows: DataFrame | None = None
        for frame, name in parts:
            part = frame.selectExpr("run", owner, f"'{name}' as figure")
            rows = part if rows is None else rows.unionByName(part)
        assert rows is not None
        figures = rows.groupBy("run", "producer").pivot("figure", list(COUNTS)).count().fillna(0)
        known = list(self.standing.copies)
        risk = f"if(run in ({', '.join(map(repr, known))}), at_risk, null)" if known else "cast(null as bigint)"
        return figures.withColumn("at_risk", _expr(risk)).select("run", "producer", *COUNTS)

    @cached_property
    def more(self) -> DataFrame:
        """The receipt's other figures, one row a run."""
        fates = {kind: self.sends.where(f"kind = '{kind}'").select(*_VALUE).distinct()
                 for kind in ("fail", "abort", "info")}
        known = self.values_read.select(*_VALUE)
        got = self.tables.polls.where(f"process <> '{CHECKER}'").select(*_VALUE).distinct()
        parts = [
            (self.inconsistent, "inconsistent"), (fates["fail"].join(known, _VALUE, "left_semi"), "failed_read"),
            (fates["abort"], "aborted"), (fates["abort"].join(got, _VALUE, "left_semi"), "aborted_read"),
            (fates["info"], "unknown"), (fates["info"].join(known, _VALUE, "left_semi"), "unknown_read"),
            *((self.stale.where(f"test = '{name.replace('_', '-')}'"), name) for name in STEPS),
            (self.falls, "nonmonotonic_send"), *((getattr(self, name), name) for name in OWED),
        ]  # fmt: skip
        rows: DataFrame | None = None
        for frame, name in parts:
            part = frame.selectExpr("run", f"'{name}' as figure")
            rows = part if rows is None else rows.unionByName(part)
        assert rows is not None
        counted = rows.groupBy("run").pivot("figure", list(MORE)).count()
        return self.tables.runs.select("run").join(counted, "run", "left").fillna(0).select("run", *MORE)


def _expr(text: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.expr(text)


def _last() -> Column:
    from pyspark.sql import functions as f

    at = f.struct("topic", "partition", "offset", "seq", "broker")
    return f.max_by(at, f.struct("offset", "position")).alias("at")


def _seen() -> list[Column]:
    from pyspark.sql import functions as f

    return [f.min(f.struct("position", "index")).alias("seen"), f.min("seq").alias("seq")]


def _first() -> list[Column]:
    from pyspark.sql import functions as f

    return [f.min("offset").alias("first"), f.max("was_read").alias("was_read")]


def _earliest() -> Column:
    from pyspark.sql import functions as f

    return f.min(f.struct("late", "seen")).alias("at")
