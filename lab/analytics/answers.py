"""The answers that come from the journal and the disks, each one statement of SQL over the tables.

Times are virtual microseconds of the run. A statement names its tables in braces; `ask` fills them in.
Percentiles are exact (`percentile`), not estimated: runs are small enough.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from broker_core.kernel.names import CHECKER
from lab.analytics.blocked import BLOCKED
from lab.analytics.cut_off import cut_off
from lab.analytics.history import History
from lab.analytics.tables import Tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WINDOWS = """
with leads as (
  select run, get_json_object(params, '$.topic') as topic,
         cast(get_json_object(params, '$.partition') as int) as partition,
         cast(get_json_object(params, '$.leader_epoch') as int) as leader_epoch, node, t_us, seq
  from {transitions} where code = 'became_leader'),
terms as (
  select *, lead(t_us) over w as next_us, lead(node) over w as next_node, lead(leader_epoch) over w as next_epoch
  from leads window w as (partition by run, topic, partition order by t_us, seq)),
ends as (
  select run, node, t_us, seq, coalesce(get_json_object(params, '$.how'), 'paused') as how, null as topic,
         null as partition
  from {transitions} where code in ('process_ended', 'process_paused')
  union all
  select run, node, t_us, seq, 'stepped down' as how, get_json_object(params, '$.topic'),
         cast(get_json_object(params, '$.partition') as int)
  from {transitions} where code in ('became_follower', 'replica_stopped')
    and coalesce(get_json_object(params, '$.deleted'), 'false') <> 'true'),
resumed as (select run, node, t_us from {transitions} where code = 'process_resumed'),
ended as (
  select t.run, t.topic, t.partition, t.node, t.leader_epoch, t.next_us, t.next_node, t.next_epoch,
         e.t_us, e.seq, e.how,
         least(t.next_us, min(r.t_us)) as to_us
  from terms t join ends e on e.run = t.run and e.node = t.node and e.t_us >= t.t_us
    and (t.next_us is null or e.t_us < t.next_us)
    and (e.topic is null or (e.topic = t.topic and e.partition = t.partition))
  left join resumed r on r.run = e.run and r.node = e.node and e.how = 'paused' and r.t_us >= e.t_us
  group by all),
first_ends as (
  select *, max(coalesce(to_us, 9223372036854775807)) over (
    partition by run, topic, partition, node, leader_epoch, next_us order by t_us, seq
    rows between unbounded preceding and 1 preceding) as without_until
  from ended)
select run, topic, partition, node as leader, how, seq, t_us as from_us, to_us, next_node as next_leader,
       next_epoch
from first_ends where without_until is null or t_us >= without_until
"""


def ask(tables: Tables, statement: str, **frames: DataFrame) -> DataFrame:
    """Run a statement; `{name}` in it is the table of that name, or a frame that is handed in."""
    from lab.analytics.schemas import TABLES

    wanted = set(re.findall(r"\{(\w+)\}", statement))
    named: dict[str, Any] = {name: tables.get(name) for name in TABLES if name in wanted} | frames
    named |= {name: getattr(tables, name) for name in ("transitions", "keys", "sent") if name in wanted}
    return tables.spark.sql(statement, **named)


def windows(tables: Tables) -> DataFrame:
    """One row a term of a leader that has ended; computed once for all questions about it."""
    if tables.windows is None:
        tables.windows = tables._keep(ask(tables, _WINDOWS))
    return tables.windows


def blocked(tables: Tables) -> DataFrame:
    """Windows in which the leader was there and writes with acks=all had to wait or were refused."""
    return ask(tables, BLOCKED)


def unavailability(tables: Tables, history: History) -> DataFrame:
    """When a partition took no writes, and the cause; windows of different causes may overlap.

    no leader: from the end (or pause, or stepping down) of one to the next; nothing could be written.
    too few in ISR: fewer than `min.insync.replicas`; writes with acks=all were refused.
    waits for ISR: a member of the ISR did not fetch and was not yet removed; writes with acks=all waited.
    leader cut off: no producer reached it (how: clients), or no other member of the ISR did (how: followers); in the
    second, writes with acks=all waited.
    `to_us` is null when it lasted until the end of the run.
    """
    return ask(tables, """
        with leaderless as (
          select run, topic, partition, seq, from_us, to_us, 'no leader' as cause, leader, how, next_leader
          from {windows}
          union all
          select run, topic, partition, seq, from_us, to_us, cause, leader, null, null from {blocked}
          union all
          select run, topic, partition, seq, from_us, to_us, cause, leader, how, next_leader from {cut_off})
        select w.run, w.topic, w.partition, w.seq, w.from_us, w.to_us,
               (coalesce(w.to_us, r.end_us) - w.from_us) / 1e6 as seconds, w.cause, w.leader, w.how, w.next_leader
        from leaderless w join {ends} r on r.run = w.run
        where w.to_us is null or w.to_us > w.from_us
        order by w.run, w.topic, w.partition, w.from_us, w.cause""",
        windows=windows(tables), blocked=blocked(tables), cut_off=cut_off(tables), ends=tables.ends)  # fmt: skip


def write_gaps(tables: Tables, history: History) -> DataFrame:
    """The longest time under load without an acknowledgement in each partition: what its producers noticed.

    From the first send to the end of the load, as `unavailability.PARTITION` of a scenario's expectations: what
    is still unanswered at the end counts. Where no scenario says when the load ended, it is the end of the last
    producer's process, or of the run.
    """
    return ask(tables, """
        with lives as (
          select run, node, max_by(code, struct(t_us, seq)) = 'process_ended' as gone, max(t_us) as t_us
          from {transitions} where code in ('process_started', 'process_ended') group by run, node),
        stops as (
          select p.run, if(bool_and(coalesce(l.gone, false)), max(l.t_us), null) as t_us
          from (select distinct run, process from {sent}) p left join lives l on l.run = p.run and l.node = p.process
          group by p.run),
        untils as (select e.run, coalesce(e.load_end_us, s.t_us, e.end_us) as t_us
                   from {ends} e left join stops s on s.run = e.run),
        marks as (
          select run, topic, partition, min(t_us) as t_us from {sent} where partition >= 0 group by all
          union
          select s.run, topic, partition, s.t_us from {sent} s join untils u on u.run = s.run and s.t_us <= u.t_us
          where kind = 'ok' and partition >= 0
          union
          select u.run, s.topic, s.partition, u.t_us from untils u
          join (select run, topic, partition, min(t_us) as t_us from {sent} where partition >= 0 group by all) s
            on s.run = u.run and s.t_us <= u.t_us),
        gaps as (
          select *, t_us - lag(t_us) over (partition by run, topic, partition order by t_us) as gap_us from marks)
        select run, topic, partition, max_by(t_us - gap_us, gap_us) as from_us, max_by(t_us, gap_us) as to_us,
               max(gap_us) / 1e6 as seconds
        from gaps where gap_us is not null group by run, topic, partition order by run, topic, partition""",
        ends=tables.ends)  # fmt: skip


def failovers(tables: Tables, history: History) -> DataFrame:
    """Each loss of a leader's process, step by step, in seconds after it.

    detected: the session of the node expired · controller: the next controller was elected, if the node was it ·
    decided: the controller chose a leader, null when it kept the old one · took_over: that one leads ·
    first_ack: a producer heard yes again.
    """
    return ask(tables, """
        with sessions as (select run, get_json_object(params, '$.owner') as owner, t_us from {transitions}
                          where code in ('session_expired', 'session_closed')),
        acks as (select distinct run, topic, partition, t_us from {sends} where kind = 'ok'),
        controllers as (select run, node, t_us from {transitions} where code = 'controller_elected')
        select w.run, w.topic, w.partition, w.seq, w.from_us, w.leader, w.how, w.next_leader,
               (min(s.t_us) - w.from_us) / 1e6 as detected, (min(c.t_us) - w.from_us) / 1e6 as controller,
               (min(e.t_us) - w.from_us) / 1e6 as decided, (w.to_us - w.from_us) / 1e6 as took_over,
               (min(a.t_us) - w.from_us) / 1e6 as first_ack
        from {windows} w
        left join sessions s on s.run = w.run and s.owner = w.leader and s.t_us between w.from_us and w.to_us
        left join controllers c on c.run = w.run and c.t_us between w.from_us and w.to_us
        left join {elections} e on e.run = w.run and e.topic = w.topic and e.partition = w.partition
             and e.leader >= 0 and e.leader_epoch = w.next_epoch and e.t_us >= w.from_us
        left join acks a on a.run = w.run and a.topic = w.topic and a.partition = w.partition
             and a.t_us >= w.to_us
        where w.how not in ('stepped down', 'paused') and w.to_us > w.from_us
        group by w.run, w.topic, w.partition, w.seq, w.from_us, w.leader, w.how, w.next_leader, w.to_us
        order by w.run, w.from_us, w.topic, w.partition""", windows=windows(tables))


def elections(tables: Tables, history: History) -> DataFrame:
    """Decisions on leaders by reason, and how long the chosen one took to take over."""
    return ask(tables, """
        select run, reason, count(*) as elections, count_if(leader >= 0 and took_over_us is null) as never_took_over,
               percentile(took_over_us - t_us, 0.5) / 1e3 as takeover_ms_p50,
               max(took_over_us - t_us) / 1e3 as takeover_ms_max
        from {elections} group by run, reason order by run, reason""")


def isr_churn(tables: Tables, history: History) -> DataFrame:
    """Changes that each partition's leader made to the ISR, how small it was and how long it was smaller than at its
    largest. An election makes it smaller, too: who has died does not stay in it."""
    return ask(tables, """
        with told as (
          select run, topic, partition, seq, t_us, change, isr from {isr_changes} where change <> 'refused' union all
          select run, topic, partition, seq, t_us, 'elected', isr from {elections} where isr is not null),
        steps as (
          select *, size(isr) as members, lead(t_us) over (partition by run, topic, partition order by seq) as next_us,
                 max(size(isr)) over (partition by run, topic, partition) as full_size from told)
        select s.run, s.topic, s.partition, count_if(change = 'shrunk') as shrunk,
               count_if(change = 'expanded') as expanded,
               min(s.members) as smallest,
               sum(if(s.members < s.full_size, coalesce(s.next_us, r.end_us) - s.t_us, 0)) / 1e6 as seconds_below_full
        from steps s join {ends} r using (run)
        group by s.run, s.topic, s.partition having shrunk + expanded > 0 or smallest < max(s.full_size)
        order by s.run, s.topic, s.partition""", ends=tables.ends)


def replication_lag(tables: Tables, history: History) -> DataFrame:
    """How long after the leader's append the same last offset stood on each follower, in milliseconds.

    From what the journal recorded: above its budget of rows in a second, appends are not told one by one.
    """
    return ask(tables, """
        with leader as (select run, topic, partition, last_offset, max(t_us) as t_us from {replication}
                        where role = 'leader' group by all)
        select f.run, f.topic, f.partition, f.node as follower, count(*) as appends,
               percentile(f.t_us - l.t_us, 0.5) / 1e3 as p50_ms, percentile(f.t_us - l.t_us, 0.95) / 1e3 as p95_ms,
               percentile(f.t_us - l.t_us, 0.99) / 1e3 as p99_ms, max(f.t_us - l.t_us) / 1e3 as max_ms
        from {replication} f join leader l on f.run = l.run and f.topic = l.topic and f.partition = l.partition
             and f.last_offset = l.last_offset
        where f.role = 'follower' and f.t_us >= l.t_us
        group by f.run, f.topic, f.partition, f.node order by f.run, f.topic, f.partition, f.node""")


def latency(tables: Tables, history: History) -> DataFrame:
    """Where the time of a request goes, by API: medians and 99th percentiles in milliseconds.

    way_there: from the client to the broker · queue, local, remote (purgatory), response: the stages of the
    pipeline, told from record level `details` on · total: until the broker sends the answer. The final read-back is the
    judge's own work, and left out.
    """
    stages = ", ".join(
        f"percentile({name}_us, {share}) / 1e3 as {name}_p{suffix}"
        for name in ("queue", "local", "remote", "response") for share, suffix in (("0.5", "50"), ("0.99", "99"))
    )  # fmt: skip
    return ask(tables, f"""
        select run, api, count(*) as requests, count_if(expired) as expired,
               percentile(received_us - sent_us, 0.5) / 1e3 as way_there_p50, {stages},
               percentile(answered_us - coalesce(sent_us, received_us), 0.5) / 1e3 as total_p50,
               percentile(answered_us - coalesce(sent_us, received_us), 0.99) / 1e3 as total_p99
        from {{requests}} where answered_us is not null and not client <=> '{CHECKER}'
        group by run, api order by run, api""")


def rebalance_cost(tables: Tables, history: History) -> DataFrame:
    """What rebalances of a group cost: how many, how long it was in each state that is not Stable.

    joining, assigning: of the classic protocol, and nobody reads · converging: of KIP-848, and only what changes hands
    stands still.
    """
    return ask(tables, """
        with spent as (select *, coalesce(until_us, t_us) - t_us as us from {group_generations})
        select run, `group`, max(generation) as generations,
               count_if(after in ('PreparingRebalance', 'Assigning')
                        or after = 'Reconciling' and before in ('Empty', 'Stable')) as rebalances,
               sum(if(after = 'PreparingRebalance', us, 0)) / 1e3 as joining_ms,
               sum(if(after = 'CompletingRebalance', us, 0)) / 1e3 as assigning_ms,
               sum(if(after in ('Assigning', 'Reconciling'), us, 0)) / 1e3 as converging_ms,
               max(if(after in ('PreparingRebalance', 'CompletingRebalance', 'Assigning', 'Reconciling'), us, 0))
               / 1e3 as longest_ms
        from spent group by run, `group` order by run, `group`""")


def leader_skew(tables: Tables, history: History) -> DataFrame:
    """What each broker had to do as a leader: share of the bytes appended, and partitions led at some time."""
    return ask(tables, """
        select run, node as broker, count(distinct topic, partition) as partitions, sum(bytes) as bytes,
               sum(bytes) / sum(sum(bytes)) over (partition by run) as share
        from {replication} where role = 'leader' group by run, node order by run, node""")


def key_skew(tables: Tables, history: History) -> DataFrame:
    """How records spread over partitions and keys: share of each partition, and of its most frequent key.

    Counted on the replica that holds most, so that replicas do not count twice. Markers do not count.
    """
    return ask(tables, """
        with counted as (select run, broker, topic, partition, key, count(*) as n from {keys}
                         where topic not like '\\\\_\\\\_%' group by all),
        disks as (select run, broker, topic, partition, sum(n) as records, count(key) as keys,
                         max_by(decode(key, 'UTF-8'), if(key is null, -1, n)) as top_key,
                         coalesce(max(if(key is null, null, n)), 0) as top
                  from counted group by run, broker, topic, partition),
        best as (select run, topic, partition,
                        max_by(struct(records, keys, top_key, top), struct(records, -broker)) as b
                 from disks group by run, topic, partition)
        select run, topic, partition, b.records as records,
               b.records / sum(b.records) over (partition by run, topic) as share, b.keys as keys, b.top_key as top_key,
               b.top / b.records as top_key_share
        from best order by run, topic, partition""")


def retention(tables: Tables, history: History) -> DataFrame:
    """What retention and compaction have saved: bytes that they deleted beside bytes that are still there, by broker
    and topic. What was deleted is null where there is no journal."""
    return ask(tables, """
        with cleaned as (select run, cast(substring_index(node, '-', -1) as int) as broker,
                                get_json_object(params, '$.topic') as topic,
                                sum(cast(get_json_object(params, '$.bytes_before') as bigint)
                                    - cast(get_json_object(params, '$.bytes_after') as bigint)) as compacted_bytes
                         from {transitions} where code = 'log_cleaned' group by all),
        gone as (select run, cast(substring_index(node, '-', -1) as int) as broker,
                             get_json_object(params, '$.topic') as topic, count(*) as deleted,
                             sum(cast(get_json_object(params, '$.bytes') as bigint)) as deleted_bytes
                      from {transitions} where code = 'segment_deleted'
                        and get_json_object(params, '$.reason') <> 'topic deleted' group by all),
        kept as (select run, broker, topic, count(*) as kept, sum(size) as kept_bytes from {segments} group by all),
        found as (
          select run, broker, topic, if(recorded, coalesce(deleted, 0), null) as deleted,
                 if(recorded, coalesce(deleted_bytes, 0), null) as deleted_bytes,
                 if(recorded, coalesce(compacted_bytes, 0), null) as compacted_bytes,
                 coalesce(kept, 0) as kept, coalesce(kept_bytes, 0) as kept_bytes
          from kept full join gone using (run, broker, topic) left join cleaned using (run, broker, topic)
          join (select run, kind <> 'disks' as recorded from {runs}) using (run))
        select *, coalesce(try_divide(deleted_bytes + compacted_bytes, deleted_bytes + compacted_bytes + kept_bytes),
                           if(deleted_bytes is null, null, 0)) as saved
        from found order by run, broker, topic""")


def damages(tables: Tables, history: History) -> DataFrame:
    """Places in segment files, journals and histories that could not be read."""
    return tables.damages.orderBy("run", "broker", "topic", "partition", "position")
