"""Tables of transactions and of share groups, and the questions about them.

| event | at | gives |
|---|---|---|
| transaction_begins, transaction_ends | leader of a partition | a transaction in one log, from first record to marker |
| transaction_state | coordinator | whose producer id it is; how transactions ended |
| share_acquired | leader of a share-partition | the delivery of each record |
| share_settled, share_locks_expired | the same | how a delivery ended |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.analytics.answers import ask

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.history import History
    from lab.analytics.tables import Tables

TRANSACTED = ("transaction_begins", "transaction_ends", "transaction_state")
SHARED = ("share_acquired", "share_settled", "share_locks_expired")
_PLACE = "partition by run, `group`, topic, partition, offset order by position"


def transactions(events: DataFrame) -> DataFrame:
    """The table `transactions`: each beginning with the first end behind it of what began there."""
    told = events.where("code <> 'transaction_state'").selectExpr(
        "run", "seq", "t_us", "node", "code", "position", "p.topic as topic", "p.partition as partition",
        "p.producer_id as producer_id", "if(code = 'transaction_ends', p.first_offset, p.offset) as first_offset",
        "if(code = 'transaction_ends', struct(p.offset as marker_offset, p.outcome as outcome, t_us as ended_us), null)"
        " as closing")
    ended = told.selectExpr(
        "*", "first(closing, true) over (partition by run, topic, partition, producer_id, first_offset"
        " order by position rows between 1 following and unbounded following) as e")
    owners = events.where("code = 'transaction_state'").selectExpr(
        "run", "p.producer_id as producer_id", "p.transactional_id as transactional_id").groupBy(
        "run", "producer_id").agg({"transactional_id": "max"}).withColumnRenamed(
        "max(transactional_id)", "transactional_id")
    return ended.where("code = 'transaction_begins'").join(owners, ["run", "producer_id"], "left").selectExpr(
        "run", "seq", "t_us", "node", "topic", "partition", "producer_id", "transactional_id", "first_offset",
        "e.marker_offset as marker_offset", "e.outcome as outcome", "e.ended_us as ended_us")


def share_deliveries(events: DataFrame) -> DataFrame:
    """The table `share_deliveries`: each record by itself, and what came next to it."""
    each = events.selectExpr(
        "run", "seq", "t_us", "node", "code", "position", "p.`group` as `group`", "p.topic as topic",
        "p.partition as partition", "p.client as client", "p.count as delivery", "p.lock_ms as lock_ms",
        "p.state as state", "explode(sequence(p.first, p.last)) as offset")
    said = ("case code when 'share_settled' then state when 'share_locks_expired' then 'lock ran out'"
            " else 'another leader' end")
    told = each.selectExpr("*", f"{said} as said").selectExpr(
        "*", f"lead(said) over ({_PLACE}) as ended", f"lead(t_us) over ({_PLACE}) as ended_us")
    return told.where("code = 'share_acquired'").selectExpr(
        "run", "seq", "t_us", "node", "`group`", "topic", "partition", "offset", "client", "delivery",
        "t_us + lock_ms * 1000 as lock_until_us", "ended", "ended_us")


def stable_gap(tables: Tables, history: History) -> DataFrame:
    """How long the last stable offset of a partition stood behind the high watermark: while a transaction was open.

    From the first record of a transaction to its marker; overlapping ones count once. One that never ended counts to
    the end of the run. Until the marker is replicated some milliseconds more pass.
    """
    return ask(tables, """
        with spans as (select run, topic, partition, t_us as from_us, coalesce(ended_us, end_us) as to_us
                       from {transactions} join {ends} using (run) where topic not like '\\\\_\\\\_%'),
        before as (select *, max(to_us) over (partition by run, topic, partition order by from_us, to_us
                                              rows between unbounded preceding and 1 preceding) as reach from spans),
        islands as (select *, sum(if(reach is null or from_us > reach, 1, 0))
                           over (partition by run, topic, partition order by from_us, to_us) as island from before),
        gaps as (select run, topic, partition, count(*) as n, max(to_us) - min(from_us) as gap_us
                 from islands group by run, topic, partition, island)
        select run, topic, partition, sum(n) as transactions, sum(gap_us) / 1e6 as seconds,
               max(gap_us) / 1e3 as longest_ms, sum(gap_us) / max(end_us) as share
        from gaps join {ends} using (run) group by run, topic, partition order by run, topic, partition""",
        ends=tables.ends)


def aborted_share(tables: Tables, history: History) -> DataFrame:
    """How the transactions of each transactional id ended, as its coordinator decided; the share of aborted ones."""
    return ask(tables, """
        with told as (select run, code, get_json_object(params, '$.transactional_id') as producer,
                             get_json_object(params, '$.after') as after
                      from {events} where code in ('transaction_state', 'transaction_timed_out')),
        counted as (select run, producer, count_if(after = 'PrepareCommit') as committed,
                           count_if(after = 'PrepareAbort') as aborted,
                           count_if(code = 'transaction_timed_out') as expired
                    from told group by run, producer)
        select *, coalesce(try_divide(aborted, committed + aborted), 0) as share
        from counted order by run, producer""")
