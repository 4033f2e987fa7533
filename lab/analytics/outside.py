"""Clients that the lab did not start, as far as the brokers see them: the second opinion on `receipt_outside`.

Its definitions are those of `lab/checkers/receipt_outside.py`: the unit is the batch that a Produce request of a
connection appended, judged by its last record; it is acked when the answer said NONE. Which batches are in the log that
counts, `standing` says; here they are rows that are joined with answers, reads and disks.

```
id    node      offset  last  reign  stand   answer   in an answer or poll
1012  broker-1       0     1      0  there   NONE     yes
1020  broker-1       2     3      0  cut     NONE     no           lost
1090  broker-2       2     3      1  there   NONE     no           unread
```
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from lab.analytics.frames import local
from lab.analytics.standing import Standing, inside, same
from lab.analytics.tables import Tables
from lab.checkers.receipt_outside import WORDS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIGURES = ("batches", "records", "acked", "acked_records", "lost", "lost_records",
           *(f"{word}_records" for word in WORDS))
SEEN = ("request_received", "response_sent", "log_appended", "records_sent", "topic_deleted")
_PARAMS = ("struct<topic string, partition int, base_offset bigint, last_offset bigint, role string, api string,"
           "source string, to string, correlation bigint, error string, client_id string, crc bigint, bytes bigint>")
_TP = ["run", "topic", "partition"]
_BATCH = ("run string, topic string, partition int, node string, seq bigint, offset bigint, last bigint, id bigint,"
          " source string, correlation bigint, client string, crc bigint, bytes bigint, reign bigint, stand string,"
          " cleaned bigint, thin int")


class Outside:
    """Batches of outside clients, as data frames made when first asked for."""

    def __init__(self, tables: Tables, standing: Standing | None = None) -> None:
        self.tables = tables
        self.standing = standing or Standing(tables)

    @cached_property
    def _events(self) -> DataFrame:
        rows = self.tables.with_params(SEEN, _PARAMS)
        return self.tables._keep(rows.selectExpr("run", "seq", "node", "code", "position", "p.*"))

    @cached_property
    def nobody(self) -> bool:
        """No outside client has produced, as in most runs: then nothing has to be followed."""
        return self.tables.events.where(
            "code = 'request_received' and params like '%Produce%' and get_json_object(params, '$.api') = 'Produce'"
            " and get_json_object(params, '$.source') rlike '^[0-9]+$'").isEmpty()

    @cached_property
    def batches(self) -> DataFrame:
        """What outside clients appended: with its request and how it stands, without what went with its topic."""
        if self.nobody:
            return local(self.tables.spark, [], _BATCH)
        asked = self._events.where(
            "code = 'request_received' and api = 'Produce' and source rlike '^[0-9]+$'").selectExpr(
            "run", "seq", "node", "source", "correlation", "coalesce(client_id, '') as client", "position as asked")
        appends = self._events.where("code = 'log_appended' and role = 'leader'").selectExpr(
            *_TP, "seq", "node", "base_offset as offset", "last_offset as last", "position as id", "crc", "bytes")
        columns = [*_TP, "seq", "node", "offset", "last", "id", "crc", "bytes"]
        found = appends.join(asked, ["run", "seq", "node"]).where("asked < id").groupBy(*columns).agg(
            _latest("source", "correlation", "client", by="asked"))
        deleted = self._events.where("code = 'topic_deleted'").selectExpr("run", "topic", "position as gone")
        kept = found.join(deleted, ["run", "topic"], "left").groupBy(*found.columns).agg({"gone": "max"}).where(
            "`max(gone)` is null or `max(gone)` < id").selectExpr(*columns, "at.*")
        return self.tables._keep(self._stands(kept))

    def _stands(self, kept: DataFrame) -> DataFrame:
        """`kept` with what holds for its last record: reign, stand, cleaned; `thin`: on how many disks, if too few."""
        judged = self.standing(kept.withColumnRenamed("offset", "base").withColumnRenamed("last", "offset"))
        thin = self.standing.thin.alias("t")
        rows = judged.alias("p").join(thin, inside("t"), "left").selectExpr("p.*", "t.copies as thin")
        return rows.withColumnRenamed("offset", "last").withColumnRenamed("base", "offset")

    @cached_property
    def acked(self) -> DataFrame:
        """Batches whose answer, the first one behind the append, was good."""
        return self._answered.where("error = 'NONE'").drop("error")

    @cached_property
    def _answered(self) -> DataFrame:
        """Every batch with the `error` of its answer; null: there was none."""
        answers = self._events.where("code = 'response_sent' and api = 'Produce'").selectExpr(
            "run", "node", "to as source", "correlation", "error", "position as answered")
        first = self.batches.join(answers, ["run", "node", "source", "correlation"]).where("answered > id").groupBy(
            "run", "id").agg(_earliest("error", by="answered")).selectExpr("run", "id", "at.error as error")
        return self.tables._keep(self.batches.join(first, ["run", "id"], "left"))

    @cached_property
    def _seen(self) -> DataFrame:
        """run, id of batches whose last record was in an answer that left for a consumer outside, or in a poll."""
        sent = self._events.where("code = 'records_sent'").selectExpr(
            *_TP, "seq", "node", "base_offset as first", "last_offset as to_last")
        polled = self.tables.polls.selectExpr(*_TP, "seq", "'' as node", "offset as first", "offset as to_last")
        reads = sent.unionByName(polled).alias("r")
        mine = self.batches.alias("p").join(reads, _sql(f"{same('r')} and p.last between r.first and r.to_last"))
        places = mine.selectExpr("p.run", "p.topic", "p.partition", "p.id", "p.reign as wanted", "p.last as offset",
                                 "r.seq as seq", "r.node as node")
        return self.standing(places).where("reign = wanted").select("run", "id").distinct()

    @cached_property
    def lost(self) -> DataFrame:
        """Acked batches that are not in the log that counts."""
        return self.acked.where("stand = 'cut'")

    @cached_property
    def _never_read(self) -> DataFrame:
        return self.tables._keep(self.acked.join(self._seen, ["run", "id"], "left_anti"))

    @cached_property
    def unread(self) -> DataFrame:
        """Acked, there, and nobody has read it yet."""
        return self._never_read.where("stand = 'there' and last >= cleaned")

    @cached_property
    def removed(self) -> DataFrame:
        """Acked, and deleted by a rule before anybody had read it."""
        return self._never_read.where("stand = 'removed'")

    @cached_property
    def at_risk(self) -> DataFrame:
        """Acked, there, and on fewer disks than promised."""
        return self.acked.where("stand = 'there' and thin is not null")

    @cached_property
    def duplicated(self) -> DataFrame:
        """There, and the same bytes of the same client stand before it, which had a reason to send again."""
        there = self._answered.where("stand = 'there'")
        alike = ("p.client = b.client and p.crc = b.crc and p.bytes = b.bytes and p.last - p.offset = b.last - b.offset"
                 " and b.id < p.id and (b.source <> p.source or b.error is null or b.error <> 'NONE')")
        return there.alias("p").join(there.alias("b"), _sql(f"{same('b')} and {alike}"), "left_semi")

    @cached_property
    def figures(self) -> DataFrame:
        """One row for each run with outside clients; `complete`: the journal has every message."""
        counted = [(self.batches, ("batches", "records")), (self.acked, ("acked", "acked_records")),
                   (self.lost, ("lost", "lost_records")),
                   *((getattr(self, word), ("", f"{word}_records")) for word in WORDS)]
        rows: DataFrame | None = None
        for frame, (count, records) in counted:
            wanted = [_sql(f"count(*) as {count}")] if count else []
            part = frame.groupBy("run").agg(*wanted, _sql(f"sum(last - offset + 1) as {records}"))
            rows = part if rows is None else rows.join(part, "run", "left")
        assert rows is not None
        summed = self.tables.transitions.where("code = 'summed_up' and params rlike "
                                          "'\"(request_received|response_sent|log_appended)\"'").select("run").distinct()
        known = local(self.tables.spark, [(run,) for run in self.standing.copies], "run string")
        told = rows.fillna(0).join(summed.selectExpr("run", "false as told"), "run", "left").join(
            known.selectExpr("run", "true as disks"), "run", "left")
        figures = [f"if(disks, {name}, null) as {name}" if name == "at_risk_records" else name for name in FIGURES]
        return told.selectExpr("run", *figures, "coalesce(told, true) as complete")


def _latest(*names: str, by: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.max_by(f.struct(*names), by).alias("at")


def _earliest(*names: str, by: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.min_by(f.struct(*names), by).alias("at")


def _sql(text: str):  # type: ignore[no-untyped-def]
    from pyspark.sql import functions as f

    return f.expr(text)
