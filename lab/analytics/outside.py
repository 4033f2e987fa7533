"""Clients that the lab did not start, as far as the brokers see them: the second opinion on `receipt_outside`.

Its definitions are those of `lab/checkers/receipt_outside.py`: the unit is the batch that a Produce request of a
connection appended; it is acked when the answer said NONE, and lost when the log of the last leader does not
hold it. That module plays the journal through; here every copy is a row that lives from its append until
something takes it away, and points at the copy from which it was made:

```
write  node      offset  from       until
    1  broker-1       5  (a client)             the batch itself
    2  broker-2       5  broker-1        9      cut at position 9
    3  broker-3       5  broker-2               points at write 2, that at write 1: the same batch
```
A write's pointer is the write that was alive in the log that its broker followed. Each join that follows pointers
doubles their length; there are as many as the longest way from a copy to its batch needs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lab.analytics.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIGURES = ("batches", "records", "acked", "acked_records", "lost", "lost_records")
SEEN = ("request_received", "response_sent", "log_appended", "truncated", "log_loaded", "became_leader",
        "became_follower", "topic_deleted")
_PARAMS = ("struct<topic string, partition int, base_offset bigint, last_offset bigint, role string, leader int,"
           "after bigint, `end` bigint, api string, source string, to string, correlation bigint, error string>")
_TP = ["run", "topic", "partition"]


class Outside:
    """Batches of outside clients, as data frames made when first asked for."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    @cached_property
    def _events(self) -> DataFrame:
        rows = self.tables.with_params(SEEN, _PARAMS)
        return self.tables._keep(rows.selectExpr("run", "seq", "node", "code", "position", "p.*"))

    @cached_property
    def batches(self) -> DataFrame:
        """What outside clients appended: with its request, without what went with its topic."""
        asked = self._events.where(
            "code = 'request_received' and api = 'Produce' and source rlike '^[0-9]+$'").selectExpr(
            "run", "seq", "node", "source", "correlation", "position as asked")
        appends = self._events.where("code = 'log_appended' and role = 'leader'").selectExpr(
            *_TP, "seq", "node", "base_offset as offset", "last_offset as last", "position as id")
        found = appends.join(asked, ["run", "seq", "node"]).where("asked < id").groupBy(
            *_TP, "node", "offset", "last", "id").agg(_latest("source", "correlation", by="asked"))
        deleted = self._events.where("code = 'topic_deleted'").selectExpr("run", "topic", "position as gone")
        kept = found.join(deleted, ["run", "topic"], "left").groupBy(*found.columns).agg({"gone": "max"}).where(
            "`max(gone)` is null or `max(gone)` < id")
        return self.tables._keep(kept.selectExpr(
            *_TP, "node", "offset", "last", "id", "at.source as source", "at.correlation as correlation"))

    @cached_property
    def acked(self) -> DataFrame:
        """Batches whose answer, the first one behind the append, was good."""
        answers = self._events.where("code = 'response_sent' and api = 'Produce'").selectExpr(
            "run", "node", "to as source", "correlation", "error", "position as answered")
        first = self.batches.join(answers, ["run", "node", "source", "correlation"]).where("answered > id").groupBy(
            *_TP, "offset", "last", "id").agg(_earliest("error", by="answered"))
        return first.where("at.error = 'NONE'").select(*_TP, "offset", "last", "id")

    @cached_property
    def _writes(self) -> DataFrame:
        """Every copy of a batch's first record: node, position, `id` where it is the batch itself, whom it followed."""
        own = self.batches.selectExpr(*_TP, "offset", "node", "id as position", "id", "cast(null as string) as source")
        following = self._events.where("code = 'became_follower' or (code = 'log_appended' and role = 'follower')")
        line = "partition by run, node, topic, partition order by position"
        copies = following.selectExpr(
            *_TP, "node", "code", "base_offset", "last_offset", "position",
            f"concat('broker-', last(if(code = 'became_follower', leader, null), true) over ({line})) as source",
        ).where("code = 'log_appended' and source is not null")
        taken = copies.join(self.batches.select(*_TP, "offset").distinct(), _TP).where(
            "offset between base_offset and last_offset").selectExpr(
            *_TP, "offset", "node", "position", "cast(null as bigint) as id", "source")
        writes = own.unionByName(taken)
        next_one = "lead(position) over (partition by run, topic, partition, offset, node order by position) as next"
        cuts = self._events.where("code in ('truncated', 'log_loaded', 'topic_deleted')").selectExpr(
            "run", "topic", "partition as part", "if(code = 'topic_deleted', null, node) as at",
            "case code when 'truncated' then after when 'log_loaded' then `end` else 0 end as cut", "position as gone")
        dying = writes.selectExpr("*", next_one).join(cuts, ["run", "topic"], "left")
        ends = ("min(if(gone > position and cut <= offset and (at is null or (at = node and part = partition)),"
                " gone, null)) as gone")
        return self.tables._keep(dying.groupBy(*writes.columns, "next").agg(_sql(ends)).selectExpr(
            *writes.columns, "coalesce(least(next, gone), 9223372036854775807) as until"))

    @cached_property
    def copies(self) -> DataFrame:
        """Writes with the batch (`id`) that each one is a copy of; null: of something else."""
        of = [*_TP, "offset"]
        lenders = self._writes.selectExpr(*of, "node as source", "position as parent", "until as ended")
        known = self._writes.join(lenders, [*of, "source"], "left").selectExpr(
            *of, "node", "position", "until", "id",
            "if(parent < position and position < ended, parent, null) as parent").groupBy(
            *of, "node", "position", "until", "id").agg({"parent": "max"}).withColumnRenamed("max(parent)", "parent")
        while not (known := self.tables._keep(known)).where("id is null and parent is not null").isEmpty():
            above = known.selectExpr(*of, "position as parent", "id as above", "parent as next").groupBy(
                *of, "parent").agg({"above": "max", "next": "max"})
            known = known.join(above, [*of, "parent"], "left").selectExpr(
                *of, "node", "position", "until", "coalesce(id, `max(above)`) as id",
                "if(id is null and `max(above)` is null, `max(next)`, null) as parent")
        return known

    @cached_property
    def lost(self) -> DataFrame:
        """Acked batches that the log of the last leader does not hold."""
        if self.batches.isEmpty():  # no outside client, as in most runs: the joins can be spared
            return self.acked
        leaders = self._events.where("code = 'became_leader' or (code = 'log_appended' and role = 'leader')").groupBy(
            *_TP).agg(_latest("node", by="position")).selectExpr(*_TP, "at.node as node")
        held = self.copies.where("until = 9223372036854775807 and id is not null").join(leaders, [*_TP, "node"])
        of = [*_TP, "offset", "id"]
        return self.tables._keep(self.acked.join(held.select(*of), of, "left_anti"))

    @cached_property
    def figures(self) -> DataFrame:
        """One row for each run with outside clients; `complete`: the journal has every message."""
        parts = [(self.batches, ("batches", "records")), (self.acked, ("acked", "acked_records")),
                 (self.lost, ("lost", "lost_records"))]
        rows = None
        for frame, (count, records) in parts:
            part = frame.groupBy("run").agg(_sql(f"count(*) as {count}"), _sql(f"sum(last - offset + 1) as {records}"))
            rows = part if rows is None else rows.join(part, "run", "left")
        assert rows is not None
        summed = self.tables.events.where("code = 'summed_up' and params rlike "
                                          "'\"(request_received|response_sent|log_appended)\"'").select("run").distinct()
        return rows.fillna(0).join(summed.selectExpr("run", "false as told"), "run", "left").selectExpr(
            "run", *FIGURES, "coalesce(told, true) as complete")


def _latest(*names: str, by: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.max_by(f.struct(*names), by).alias("at")


def _earliest(*names: str, by: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.min_by(f.struct(*names), by).alias("at")


def _sql(text: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.expr(text)
