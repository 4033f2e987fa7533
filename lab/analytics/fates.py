"""The fate of every acknowledged value, in SQL: the words of `lab/checkers/fates.py` by another engine.

A value's places are where it was acked and where it was read; the best of them decides: there, else removed, else cut.
Places of reads are looked up only for values that are not where they were acked, and only other places than that one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.analytics.standing import Standing, inside, same

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.history import History

_VALUE = ["run", "label", "number"]
_PARTITION = ["run", "topic", "partition"]
_PLACE = ["topic", "partition", "offset"]
_RANK = "case stand when 'there' then 0 when 'removed' then 1 when 'cut' then 2 else 3 end"
_COLUMNS = ["run", "label", "number", "topic", "partition", "offset", "stand", "reign", "cleaned"]
_FATE = """case
    when stand = 'cut' then 'lost' when was_read then 'read' when stand = 'removed' then 'removed'
    when offset < 0 then if(read_back or later, 'lost', 'unread')
    when stand = 'unknown' then if(passed, 'lost', 'unread')
    when offset < cleaned and (passed or read_back) then 'removed'
    when not read_back then 'unread' when is_damaged and coalesce(thin, 1) > 0 then 'unread' else 'lost' end"""
_TEST = """case
    when fate <> 'lost' then null when stand = 'cut' then 'cut'
    when offset < 0 then if(read_back, 'missing', 'never-there') when stand = 'unknown' then 'passed'
    when is_damaged then 'unreadable' else 'missing' end"""


def fates(history: History, standing: Standing) -> DataFrame:
    """run, label, number, topic, partition, offset (null: nobody knows), fate, test, copies."""
    rows = _with_disks(_best(history, standing), standing)
    known = rows.join(history.values_read.selectExpr(*_VALUE, "true as was_read"), _VALUE, "left").join(
        history.bounds, _PARTITION, "left").join(_read_back(history), ["run"], "left").join(
        _latest(history), [*_PARTITION, "label"], "left")
    facts = known.selectExpr(
        *_COLUMNS, "thin", "is_damaged", "coalesce(was_read, false) as was_read",
        "coalesce(read_back, false) as read_back",
        "offset <= coalesce(bound, -1) as passed",
        "label <> '' and coalesce(latest, -1) > coalesce(try_cast(number as bigint), -1) as later")
    told = facts.selectExpr("*", f"{_FATE} as fate").selectExpr("*", f"{_TEST} as test")
    return told.selectExpr(
        *_VALUE, "topic", "partition", "if(offset < 0, null, offset) as offset", "fate", "test",
        "if(stand = 'there' and fate in ('read', 'unread'), thin, null) as copies")


def _best(history: History, standing: Standing) -> DataFrame:
    """The place of each value that decides."""
    acked = history.tables._keep(standing(history.acked).select(*_COLUMNS))
    elsewhere = acked.where("stand <> 'there'").join(history.values_read.select(*_VALUE), _VALUE, "left_semi")
    reads = history.read.select(*_VALUE, "topic", "partition", "offset", "seq", "seen").selectExpr(
        "*", "'' as node").join(elsewhere.select(*_VALUE), _VALUE, "left_semi").join(
        elsewhere.select(*_VALUE, *_PLACE), [*_VALUE, *_PLACE], "left_anti")
    nowhere = "struct(-1L as position, -1L as index)"
    places = elsewhere.where("offset >= 0").selectExpr(*_COLUMNS, f"{nowhere} as seen").unionByName(
        standing(reads).select(*_COLUMNS, "seen"))
    line = f"row_number() over (partition by {', '.join(_VALUE)} order by {_RANK}, seen) as nth"
    best = places.selectExpr("*", line).where("nth = 1").select(*_COLUMNS)
    return acked.join(elsewhere.select(*_VALUE), _VALUE, "left_anti").unionByName(best)


def _with_disks(rows: DataFrame, standing: Standing) -> DataFrame:
    """`thin`: on how many disks, where these are too few; `is_damaged`: somebody's copy cannot be trusted."""
    from pyspark.sql import functions as f

    hurt = standing.damaged.alias("d")
    within = f.expr(f"{same('d')} and p.offset >= d.first and p.offset < d.last")
    few = rows.alias("p").join(standing.thin.alias("t"), inside("t"), "left").selectExpr("p.*", "t.copies as thin")
    told = few.alias("p").join(hurt, within, "left").selectExpr("p.*", "d.first is not null as hurt")
    return told.groupBy(*_COLUMNS, "thin").agg({"hurt": "max"}).withColumnRenamed("max(hurt)", "is_damaged")


def _read_back(history: History) -> DataFrame:
    """Whether a reader has read every log from end to end, by run.json."""
    return history.tables.runs.selectExpr("run", "get_json_object(facts, '$.read_back') = 'true' as read_back")


def _latest(history: History) -> DataFrame:
    """The largest number of a label that was read in a partition."""
    numbers = history.read.where("label <> '' and nth = 1").selectExpr(
        *_PARTITION, "label", "cast(number as bigint) as n")
    return numbers.groupBy(*_PARTITION, "label").agg({"n": "max"}).withColumnRenamed("max(n)", "latest")
