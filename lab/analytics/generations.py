"""ZooKeeper against KRaft: what the same cluster costs and how long it stands still, in each generation.

A run is of the generation that its journal shows: where there is a quorum, replicas change their states in it. Runs of
one scenario stand next to each other, so that the difference is read from line to line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.analytics.answers import ask, windows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from lab.analytics.history import History
    from lab.analytics.tables import Tables

_ENDS = ("controller_elected", "controller_resigned", "process_ended", "process_paused")
_ELECTED = "struct<epoch bigint>"


def zookeeper_and_kraft(tables: Tables, history: History) -> DataFrame:
    """Each run by its generation: elections of the controller and the longest time without one, the longest time in
    which a partition had no leader, and the work for it.

    control_requests: of the controller to brokers · tree_writes: znodes made, changed and deleted, without those of
    neighbours, who have chroots of their own · metadata_records: written by leaders of the quorum · votes: given in it.
    """
    return ask(tables, """
        with marks as (
          select *, sum(if(code = 'controller_elected', 1, 0)) over (partition by run order by position) as term,
                 last(if(code = 'controller_elected', node, null), true) over (partition by run order by position
                      rows between unbounded preceding and 1 preceding) as old from {ends}),
        gone as (
          select m.run, m.t_us as at_us, lead(m.t_us) over (partition by m.run order by m.position) as next_us, m.code
          from (select * from marks where code = 'controller_elected' or node = old) m),
        controllers as (
          select run, count_if(code = 'controller_elected') as elections,
                 max(if(code <> 'controller_elected', next_us - at_us, null)) / 1e6 as without_controller
          from gone group by run),
        leaders as (select w.run, max(coalesce(w.to_us, r.end_us) - w.from_us) / 1e6 as without_leader
                    from {windows} w join {last} r on r.run = w.run group by w.run),
        others as (select distinct run, concat(get_json_object(params, '$.chroot'), '/') as chroot from {events}
                   where code = 'neighbour_changed'),
        written as (
          select e.run, count(*) as tree_writes from {events} e left anti join others o
          on o.run = e.run and startswith(concat(get_json_object(e.params, '$.path'), '/'), o.chroot)
          where e.code in ('znode_created', 'znode_changed', 'znode_deleted') group by e.run),
        work as (
          select run, count_if(code = 'control_request') as control_requests,
                 coalesce(sum(if(code = 'metadata_appended' and get_json_object(params, '$.role') = 'leader',
                              cast(get_json_object(params, '$.last_offset') as bigint)
                              - cast(get_json_object(params, '$.base_offset') as bigint) + 1, 0)), 0) as records,
                 count_if(code = 'quorum_vote') as votes,
                 if(count_if(code = 'quorum_state') > 0, 'KRaft', 'ZooKeeper') as generation
          from {events} group by run)
        select k.run, r.name as scenario, k.generation, coalesce(c.elections, 0) as elections, c.without_controller,
               l.without_leader, k.control_requests, coalesce(t.tree_writes, 0) as tree_writes,
               k.records as metadata_records, k.votes
        from work k join {runs} r on r.run = k.run left join controllers c on c.run = k.run
        left join leaders l on l.run = k.run left join written t on t.run = k.run
        order by scenario, k.generation desc, k.run""",
        ends=tables.with_params(_ENDS, _ELECTED), windows=windows(tables), last=tables.ends, events=tables.events,
        runs=tables.runs)  # fmt: skip
