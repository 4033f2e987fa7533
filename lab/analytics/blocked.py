"""When writes with acks=all got no answer although the partition had a leader; one statement of SQL.

| cause | from | to |
|---|---|---|
| too few in ISR | the ISR is smaller than `min.insync.replicas`, or that setting grew | it is large enough again |
| waits for ISR | a member did not fetch up to the end of the log any more, or its process ended | it left the ISR |

In the first the leader refuses, in the second it waits: the high watermark needs every member. The minimum is the
topic's, else the cluster's (KIP-226), else 1, and never more than there are replicas, as
in `Partition.isUnderMinIsr`. A member that came back before it was removed is not told.
"""

from __future__ import annotations

from lab.analytics.nodes import broker_of_id

BLOCKED = """
with shrinks as (
  select c.run, c.topic, c.partition, c.t_us, c.seq, c.reason, c.removed, c.node,
         array_max(map_values(from_json(get_json_object(t.params, '$.lag_ms'), 'map<string, bigint>'))) as lag_ms
  from {isr_changes} c join {transitions} t on t.run = c.run and t.seq = c.seq and t.code = 'isr_shrunk'
    and get_json_object(t.params, '$.topic') = c.topic
    and cast(get_json_object(t.params, '$.partition') as int) = c.partition
  where c.change = 'shrunk'),
marks as (
  select run, topic, partition, t_us, seq, size(isr) as members, cast(null as int) as copies, null as leader,
         cast(null as int) as own, cast(null as int) as common
  from {isr_changes} where change <> 'refused'
  union all
  select run, get_json_object(params, '$.topic'), cast(get_json_object(params, '$.partition') as int), t_us, seq,
         size(from_json(get_json_object(params, '$.isr'), 'array<int>')),
         size(from_json(get_json_object(params, '$.replicas'), 'array<int>')),
         <leader>, null, null
  from {transitions} where code = 'leader_elected'),
settings as (
  select run, get_json_object(params, '$.topic') as topic, t_us, seq,
         cast(get_json_object(params, "$.configs['min.insync.replicas']") as int) as own, cast(null as int) as common
  from {transitions} where code = 'topic_created'
  union all
  select run, if(resource = 'topic', name, null), t_us, seq, if(resource = 'topic', value, null),
         if(resource = 'default', value, null)
  from (select run, t_us, seq, get_json_object(params, '$.resource') as resource,
               get_json_object(params, '$.name') as name,
               coalesce(cast(get_json_object(params, '$.value') as int), -1) as value
        from {transitions} where code = 'config_changed'
          and get_json_object(params, '$.key') = 'min.insync.replicas')),
line as (
  select * from marks
  union all
  select p.run, p.topic, p.partition, s.t_us, s.seq, null, null, null, s.own, s.common
  from (select distinct run, topic, partition from marks) p join settings s
    on s.run = p.run and (s.topic is null or s.topic = p.topic)),
known as (
  select run, topic, partition, t_us, seq, last(members, true) over w as members, last(copies, true) over w as copies,
         last(leader, true) over w as leader, nullif(last(own, true) over w, -1) as own,
         nullif(last(common, true) over w, -1) as common
  from line window w as (partition by run, topic, partition order by t_us, seq)),
judged as (
  select k.*, coalesce(members < least(copies, coalesce(own, common,
      cast(get_json_object(r.facts, "$.spec.cluster.settings['min.insync.replicas']") as int), 1)), false) as few
  from known k join {runs} r on r.run = k.run),
turns as (
  select * from (
    select *, lag(few, 1, false) over w as few_before from judged
    window w as (partition by run, topic, partition order by t_us, seq)) where few <> few_before),
told as (
  select *, lead(t_us) over w as to_us from turns window w as (partition by run, topic, partition order by t_us, seq)),
lives as (
  select run, node, t_us, code in ('process_ended', 'process_paused') as down from {transitions}
  where code in ('process_ended', 'process_paused', 'process_started', 'process_resumed')),
members_gone as (
  select s.run, s.topic, s.partition, s.seq, s.t_us, s.gone, max(struct(l.t_us, l.down)) as last
  from (select *, explode(transform(removed, id -> <removed>)) as gone from shrinks) s
  join lives l on l.run = s.run and l.node = s.gone and l.t_us <= s.t_us
  group by s.run, s.topic, s.partition, s.seq, s.t_us, s.gone),
waits as (
  select run, topic, partition, seq, t_us - lag_ms * 1000 as from_us, t_us as to_us, null as gone
  from shrinks where reason = 'no fetch'
  union all
  select run, topic, partition, seq, last.t_us, t_us, gone from members_gone where last.down),
led as (
  select w.*, max_by(k.leader, k.t_us) as leader
  from waits w join known k on k.run = w.run and k.topic = w.topic and k.partition = w.partition and k.t_us < w.to_us
  group by all)
select run, topic, partition, seq, t_us as from_us, to_us, 'too few in ISR' as cause, leader from told where few
union all
select run, topic, partition, seq, from_us, to_us, 'waits for ISR', leader
from led where gone is null or gone <> leader
""".replace("<leader>", broker_of_id("get_json_object(params, '$.leader')")).replace("<removed>", broker_of_id("id"))
