"""Tables that take several events for one row: a request and its stages, an election and who took over.

The events of one request, in the order of the journal:

| event | at | gives |
|---|---|---|
| request_sent | client | sent_us |
| request_received, caused by the former | broker | received_us |
| request_stages (level `details`) | broker | queue_us, local_us, remote_us, response_us |
| response_sent, right behind the stages | broker | answered_us, error |
| purgatory_expired, right beside it | broker | expired |
| control_request, in front of request_sent | controller | partitions, epoch: of the table `control_requests` |

The answer is the next one between the same two nodes with the same API and correlation id. Where the journal's
budget of a second was spent (`summed_up`), events are missing, and what they would tell is null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.analytics.nodes import broker_of_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_STAGES = ("queue_us", "local_us", "remote_us", "response_us")
BESIDE = ("request_stages", "purgatory_completed", "purgatory_expired")
"""Events that stand beside an answer, from record level `details` on."""


def requests(events: DataFrame, detailed: bool = True) -> DataFrame:
    """The table `requests`; `detailed`: there are events of `BESIDE`."""
    received = events.where("code = 'request_received'").selectExpr(
        "run", "node as broker", "p.source as client", "p.client_id as client_id", "p.api as api",
        "p.version as version", "p.correlation as correlation", "t_us as received_us", "seq", "cause", "position")
    answered = _answers(events) if detailed else _bare_answers(events)
    stages = ", ".join(_STAGES)
    both = received.selectExpr("*", *(f"cast(null as bigint) as {name}" for name in ("answered_us", *_STAGES)),
                               "cast(null as boolean) as expired", "cast(null as string) as error").unionByName(
        answered, allowMissingColumns=True)
    key = "partition by run, broker, client, api, correlation order by position"
    paired = both.selectExpr(
        "*", f"lead(struct(answered_us, {stages}, expired, error)) over ({key}) as answer").where("seq is not null")
    sent = events.where("code = 'request_sent'").selectExpr(
        "run", "p.to as broker", "p.api as api", "p.correlation as correlation", "seq as cause",
        "p.connection as connection", "t_us as sent_us")
    return paired.join(sent, ["run", "broker", "api", "correlation", "cause"], "left").selectExpr(
        "run", "broker", "client", "connection", "client_id", "api", "version", "correlation", "sent_us",
        "received_us", "answer.answered_us as answered_us", *(f"answer.{name} as {name}" for name in _STAGES),
        "if(answer.expired, coalesce(answer.remote_us, answer.answered_us - received_us), answer.remote_us)"
        " as purgatory_us", "coalesce(answer.expired, false) as expired", "answer.error as error", "seq")


def _bare_answers(events: DataFrame) -> DataFrame:
    """What went back, where nothing more is told of it."""
    return events.where("code = 'response_sent'").selectExpr(
        "run", "node as broker", "p.to as client", "p.api as api", "p.correlation as correlation",
        "t_us as answered_us", *(f"cast(null as bigint) as {name}" for name in _STAGES), "false as expired",
        "p.error as error", "position")


def _answers(events: DataFrame) -> DataFrame:
    """What went back, with the stages that stand in front of it and the end of its waiting beside it."""
    near = "partition by run, node order by position"
    expired = " or ".join(
        f"({side}(code) over ({near}) = 'purgatory_expired' and {side}(seq) over ({near}) = seq"
        f" and {side}(p.operation) over ({near}) = p.api)" for side in ("lag", "lead"))
    beside = events.where(
        "code in ('request_stages', 'response_sent', 'purgatory_completed', 'purgatory_expired')"
    ).selectExpr(
        "*", f"if(lag(code) over ({near}) = 'request_stages', lag(p) over ({near}), null) as stages",
        f"coalesce({expired}, false) as expired")
    return beside.where("code = 'response_sent'").selectExpr(
        "run", "node as broker", "p.to as client", "p.api as api", "p.correlation as correlation",
        "t_us as answered_us", *(f"stages.{name} as {name}" for name in _STAGES), "expired", "p.error as error",
        "position")


def control_requests(events: DataFrame, requests: DataFrame) -> DataFrame:
    """The table `control_requests`. A controller has one request under way to each broker: what it sends there next is
    that request."""
    channel = "partition by run, node, broker, api order by position"
    told = events.selectExpr(
        "*", f"if(code = 'control_request', {broker_of_id('p.`to`')}, p.`to`) as broker", "p.api as api")
    sent = told.selectExpr(
        "*", f"if(lead(code) over ({channel}) = 'request_sent', lead(struct(t_us, seq, p.correlation as correlation))"
        f" over ({channel}), null) as s").where("code = 'control_request'")
    came = requests.selectExpr("run", "broker", "api", "client as node", "correlation", "sent_us as s_us",
                               "received_us", "answered_us", "error")
    return sent.selectExpr("run", "seq", "t_us", "node", "broker", "api", "p.partitions as partitions",
                           "p.epoch as epoch", "s.t_us as s_us", "s.correlation as correlation").join(
        came, ["run", "node", "broker", "api", "correlation", "s_us"], "left").selectExpr(
        "run", "seq", "t_us", "node", "broker", "api", "partitions", "epoch", "s_us as sent_us", "received_us",
        "answered_us", "error")


OPENINGS = ("broker_registered", "config_changed")
"""What may end the time of a partition that has nobody to lead it."""


def elections(events: DataFrame) -> DataFrame:
    """The table `elections`: decisions, and when the chosen one became leader.

    A controller marks the partitions of a dead leader as offline before it elects. Such a mark counts only when it
    is all that the controller could do: when no election follows, or only after a broker came or a setting changed.
    """
    openings = ", ".join(f"'{code}'" for code in OPENINGS)
    place = "partition by run, p.topic, p.partition order by position"
    told = events.where("code <> 'became_leader'").selectExpr(
        "*", f"count_if(code in ({openings})) over (partition by run order by position) as opened").where(
        f"code not in ({openings})").selectExpr(
        "*", f"lead(code) over ({place}) = 'leader_elected' and lead(opened) over ({place}) = opened as at_once")
    decided = told.where("code = 'leader_elected' or not coalesce(at_once, false)").selectExpr(
        "run", "seq", "t_us", "node", "p.topic as topic", "p.partition as partition",
        "if(code = 'partition_offline', -1, p.leader) as leader", "coalesce(p.previous, -1) as previous",
        "p.leader_epoch as leader_epoch", "p.isr as isr",
        "if(code = 'partition_offline', 'no replica of the ISR is alive', p.reason) as reason")
    took = events.where("code = 'became_leader'").groupBy(
        "run", "p.topic", "p.partition", "p.leader_epoch", "node").agg({"t_us": "min"}).selectExpr(
        "run", "topic", "partition", "leader_epoch", "cast(substring_index(node, '-', -1) as int) as leader",
        "`min(t_us)` as took_over_us")
    return decided.join(took, ["run", "topic", "partition", "leader_epoch", "leader"], "left").selectExpr(
        "run", "seq", "t_us", "node", "topic", "partition", "leader", "previous", "leader_epoch", "isr", "reason",
        "took_over_us")


_PARTITION = "concat(p.topic, '-', p.partition)"
BELIEFS = {
    "znode_created": (
        "znode", "p.path", "concat('exists', if(p.ephemeral is null, '', concat(', of ', p.ephemeral)))", "0",
    ),
    "znode_changed": ("znode", "p.path", "concat('version ', p.version)", "p.version"),
    "znode_deleted": ("znode", "p.path", "'gone'", "null"),
    "session_opened": ("session", "p.session", "concat('open, of ', p.owner)", "null"),
    "session_expired": ("session", "p.session", "concat('expired, of ', p.owner)", "null"),
    "session_closed": ("session", "p.session", "concat('closed, of ', p.owner)", "null"),
    "controller_elected": ("controller", "concat('broker ', p.broker)", "'controller'", "p.epoch"),
    "controller_resigned": (
        "controller", "concat('broker ', p.broker)", "concat('not controller: ', p.reason)", "p.epoch",
    ),
    "broker_registered": ("broker", "concat('broker ', p.broker)", "'registered'", "null"),
    "controller_loaded": (
        "controller", "'the cluster'", "concat(p.partitions, ' partitions read')", "p.epoch",
    ),
    "controller_fenced": (
        "fenced", "concat('controller on broker ', p.controller)",
        "concat(p.api, ' of epoch ', p.epoch, ' refused: the epoch is ', p.current)", "p.current",
    ),
    "replica_fenced": (
        "fenced", _PARTITION, "concat('request of ', p.source, ' with epoch ', p.epoch, ' refused')", "p.current",
    ),
    "broker_gone": ("broker", "concat('broker ', p.broker)", "concat('gone: ', p.reason)", "null"),
    "leader_elected": (
        "leadership", _PARTITION, "concat('leader ', p.leader, ', ISR ', array_join(p.isr, ' '))", "p.leader_epoch",
    ),
    "partition_offline": ("leadership", _PARTITION, "'offline'", "p.leader_epoch"),
    "became_leader": ("leadership", _PARTITION, "'I lead'", "p.leader_epoch"),
    "became_follower": ("leadership", _PARTITION, "concat('I follow broker ', p.leader)", "p.leader_epoch"),
    "replica_stopped": ("leadership", _PARTITION, "if(p.deleted, 'no replica, deleted', 'no replica')", "null"),
    "topic_created": (
        "topic", "p.topic", "concat(p.partitions, ' partitions, ', p.replication_factor, ' copies')", "null",
    ),
    "topic_grown": ("topic", "p.topic", "concat(p.partitions, ' partitions')", "null"),
    "topic_deleted": ("topic", "p.topic", "'gone'", "null"),
    "config_changed": (
        "topic", "concat(p.resource, ' ', coalesce(p.name, ''))",
        "concat(p.`key`, ' = ', coalesce(p.value, 'default'))", "null",
    ),
    "request_received": ("cache", "p.api", "concat('as ', p.source, ' says')", "null"),
    "group_partition_loaded": (
        "coordinator", "concat('__consumer_offsets-', p.partition)", "'I coordinate its groups'", "null",
    ),
    "group_partition_unloaded": (
        "coordinator", "concat('__consumer_offsets-', p.partition)", "'not mine any more'", "null",
    ),
    "assignment_taken": ("client", "'its partitions'", "p.partitions", "p.generation"),
    "read_replica": ("client", _PARTITION, "concat('I read from broker ', p.broker, ' (', p.reason, ')')", "null"),
    "metadata_refreshed": (
        "client", "array_join(p.topics, ' ')", "concat('as ', p.source, ' says (', p.reason, ')')", "null",
    ),
}  # fmt: skip
"""Event code -> (kind, subject, belief, epoch), as expressions over its parameters."""
CACHED = ("UpdateMetadata", "LeaderAndIsr")
"""The requests out of which a broker learns: with each it takes over what its controller says."""


def beliefs(events: DataFrame) -> DataFrame:
    """The table `metadata`."""
    def choose(part: int) -> str:
        return "case code " + " ".join(f"when '{code}' then {row[part]}" for code, row in BELIEFS.items()) + " end"

    kind = "case code " + " ".join(f"when '{code}' then '{row[0]}'" for code, row in BELIEFS.items()) + " end"
    return events.where(f"code <> 'request_received' or p.api in {CACHED}").selectExpr(
        "run", "seq", "t_us", "node", f"{kind} as kind", "code", f"{choose(1)} as subject", f"{choose(2)} as belief",
        f"cast({choose(3)} as bigint) as epoch")
