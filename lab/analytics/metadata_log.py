"""Tables of the metadata quorum: records of `__cluster_metadata`, elections of its leader, and who was registered when.

| table | from |
|---|---|
| metadata_records | the log on the disks of each process that has a copy, decoded as Kafka 4.3 writes it |
| quorum_elections | quorum_state and quorum_vote of the journal: each leader, and what led to it |
| broker_registrations | broker_registered and broker_gone, of either generation |

A cluster with a coordination tree has rows in the third table only.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from broker_core.metadata.records import text_of
from broker_core.metadata.topic_names import CLUSTER_METADATA_TOPIC
from broker_core.records.control import NAMES, read_control
from broker_core.records.errors import RecordsError
from broker_core.records.record import Record
from broker_core.wire.as_json import as_json
from lab.analytics.nodes import IS_BROKER

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

QUORUM = ("quorum_state", "quorum_vote", "controller_elected", "process_ended", "process_paused")
REGISTRATIONS = ("broker_registered", "broker_gone", "process_started")
_ID = "try_cast(substring_index(node, '-', -1) as int)"
_DATA = "get_json_object(text, '$.data.{}')"


def told(key: bytes | None, value: bytes | None, control: bool | None) -> str:
    """A record of the log as one JSON object: type, version, data; {"error": ...} for one that cannot be read."""
    record = Record(0, 0, None if key is None else bytes(key), None if value is None else bytes(value), ())
    if not control:
        text = text_of(record)
        return text if text.startswith("{") else json.dumps({"error": text.strip("<>")})
    try:
        found = read_control(record)
    except RecordsError as error:
        return json.dumps({"error": str(error)})
    if found is None:
        return json.dumps({"type": "UNKNOWN"})
    kind, message = found
    version = min(message.version, message.TYPE.versions[-1])
    return json.dumps({"type": NAMES[kind], "version": version, "data": as_json(message, version)})


def metadata_records(records: DataFrame) -> DataFrame:
    """The table `metadata_records`, of the table `records`. A topic's name is that of the record which made it."""
    from pyspark.sql import functions as f
    from pyspark.sql.types import StringType

    decoded = records.where(f"topic = '{CLUSTER_METADATA_TOPIC}'").withColumn(
        "text", f.udf(told, StringType())("key", "value", "control"))
    each = decoded.selectExpr(
        "run", "broker", "offset", "leader_epoch as epoch", "timestamp", "control",
        "get_json_object(text, '$.type') as kind", "cast(get_json_object(text, '$.version') as int) as version",
        f"{_DATA.format('topicId')} as topic_id", f"{_DATA.format('name')} as named",
        f"cast({_DATA.format('partitionId')} as int) as partition",
        f"cast(coalesce({_DATA.format('brokerId')}, if(get_json_object(text, '$.type') in"
        f" ('FENCE_BROKER_RECORD', 'UNFENCE_BROKER_RECORD'), {_DATA.format('id')}, null)) as int) as about_broker",
        "get_json_object(text, '$.data') as data", "get_json_object(text, '$.error') as error")
    names = each.where("kind = 'TOPIC_RECORD'").selectExpr("run", "topic_id", "named as topic").distinct()
    return each.join(names, ["run", "topic_id"], "left").selectExpr(
        "run", "broker", "offset", "epoch", "timestamp", "control", "kind", "version", "topic", "partition",
        "about_broker", "data", "error")


def quorum_elections(events: DataFrame) -> DataFrame:
    """The table `quorum_elections`. What belongs to an election stands between it and the one before it."""
    order = "partition by run order by position"
    won = "code = 'quorum_state' and p.after = 'leader'"
    numbered = events.selectExpr(
        "*", f"{_ID} as id",
        f"coalesce(sum(if({won}, 1, 0)) over ({order} rows between unbounded preceding and 1 preceding), 0) as term",
        f"last(if({won}, node, null), true) over ({order} rows between unbounded preceding and 1 preceding) as old")
    asked = "code = 'quorum_state' and p.after in ('prospective', 'candidate')"
    gone = ("node = old and (code in ('process_ended', 'process_paused')"
            " or (code = 'quorum_state' and p.after <> 'leader'))")
    terms = numbered.groupBy("run", "term").agg(*_aggregates(won, asked, gone)).where("won is not null")
    active = events.where("code = 'controller_elected'").selectExpr("run", "p.epoch as epoch", "t_us as active_us")
    active = active.groupBy("run", "epoch").agg({"active_us": "min"}).withColumnRenamed("min(active_us)", "active_us")
    return terms.selectExpr(
        "run", "won.seq as seq", "won.t_us as t_us", "won.node as node", "won.epoch as epoch", "won.id as leader",
        "try_cast(substring_index(old, '-', -1) as int) as previous", "gone_us", "asked_us", "candidates",
        "size(filter(votes, v -> v.epoch = won.epoch and v.candidate = won.id)) as votes").join(
        active, ["run", "epoch"], "left").selectExpr(
        "run", "seq", "t_us", "node", "epoch", "leader", "previous", "gone_us", "asked_us", "candidates", "votes",
        "active_us")


def _aggregates(won: str, asked: str, gone: str) -> list[Column]:
    from pyspark.sql import functions as f

    stood = "code = 'quorum_state' and p.after = 'candidate'"
    return [f.expr(one) for one in (
        f"max(if({won}, struct(seq, t_us, node, p.epoch as epoch, id), null)) as won", "max(old) as old",
        f"min(if({gone}, t_us, null)) as gone_us", f"min(if({asked}, t_us, null)) as asked_us",
        f"cast(array_sort(collect_set(if({stood}, id, null))) as array<int>) as candidates",
        "collect_list(if(code = 'quorum_vote', struct(p.epoch as epoch, p.candidate as candidate), null)) as votes",
    )]  # fmt: skip


def broker_registrations(events: DataFrame) -> DataFrame:
    """The table `broker_registrations`: from each registration to the end of it."""
    place = "partition by run, broker order by position"
    told = events.selectExpr("*", f"if(code = 'process_started', {_ID}, p.broker) as broker").where(
        f"code <> 'process_started' or {IS_BROKER}")
    both = told.selectExpr(
        "*", f"last(if(code = 'process_started', t_us, null), true) over ({place}) as started_us",
        "if(code = 'process_started', null, struct(code, t_us, p.reason as reason)) as news").where("news is not null")
    return both.selectExpr("*", f"lead(news) over ({place}) as next").where("code = 'broker_registered'").selectExpr(
        "run", "seq", "t_us", "node", "broker", "p.broker_epoch as broker_epoch", "started_us",
        "next.t_us as until_us", "if(next.code = 'broker_registered', 'registered again', next.reason) as reason")
