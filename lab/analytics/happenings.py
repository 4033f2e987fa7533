"""Tables of what happened to disks, and of faults with their length.

A fault begins with the event that tells it and ends with the next one of the same target:

| kind | begins with | ends with |
|---|---|---|
| crash, power_loss, halted | process_ended (a shutdown is no fault) | process_started |
| paused | process_paused | process_resumed, or its start or end |
| link | link_changed to something that is not healthy | the next link_changed of that direction |
| disk | disks_changed to some faults | the next disks_changed of the node |
| protection | protection_set to off | the next protection_set of it |
| clock_skew | the command | the next one for that node, or stop_all_faults |
| bit_flip, lose_index, wipe, expire_session, lose_next, hold_next, drop_next | the command | at once |

A link is healthy when nothing is lost, doubled, overtaken, limited or late beyond the cluster's own delay.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lab.analytics.nodes import BROKER_ENDS, broker_of_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

CHANGES = {
    "log_loaded": "loaded", "log_recovered": "recovered", "index_rebuilt": "index rebuilt", "segment_rolled": "rolled",
    "segment_deleted": "deleted", "log_start_moved": "start moved", "flushed": "flushed",
    "log_cleaned": "compacted",
}  # fmt: skip
CODES = (*CHANGES, "log_appended", "truncated", "process_ended")
FAULTY = (
    "process_started", "process_ended", "process_paused", "process_resumed", "link_changed", "disks_changed",
    "protection_set", "command", "command_refused",
)  # fmt: skip
AT_ONCE = ("bit_flip", "lose_index", "wipe", "expire_session", "lose_next", "hold_next", "drop_next")


def storage(events: DataFrame) -> DataFrame:
    """The table `storage`. What a log holds is known from what was appended and cut since it was loaded. When the power
    goes, a row for each such log says where it ended; the next `loaded` says how much of that is not there any more."""
    place = "partition by run, node, p.topic, p.partition order by position"
    end = ("case code when 'log_appended' then p.last_offset + 1 when 'truncated' then p.after"
           " when 'log_loaded' then -1 end")
    known = events.where("code <> 'process_ended'").selectExpr(
        "*", f"nullif(last({end}, true) over ({place} rows between unbounded preceding and 1 preceding), -1) as held",
        f"coalesce(lead(position) over ({place}), 9223372036854775807) as next",
        f"last({end}, true) over ({place}) as ends")
    change = " ".join(f"when '{code}' then '{name}'" for code, name in CHANGES.items())
    told = known.where("code not in ('log_appended', 'truncated')").selectExpr(
        "run", "seq", "t_us", "node", "p.topic as topic", "p.partition as partition",
        f"case code {change} end as change",
        "if(code in ('segment_rolled', 'segment_deleted'), p.base_offset, null) as base_offset",
        "case code when 'log_loaded' then p.start when 'log_start_moved' then p.offset end as log_start",
        "case when code = 'flushed' then p.offset"
        " when code in ('log_loaded', 'log_recovered', 'log_cleaned') then p.`end` end as log_end",
        "coalesce(p.bytes_cut, p.bytes, p.bytes_before - p.bytes_after) as bytes", "p.clean as clean",
        "if(code = 'log_loaded', greatest(held - p.`end`, 0), null) as lost", "p.file as file", "p.reason as reason")
    power = events.where("code = 'process_ended' and p.how = 'power_loss'").selectExpr(
        "run", "seq", "t_us", "node", "position as gone_at")
    logs = known.selectExpr("run", "node", "p.topic as topic", "p.partition as partition", "position", "next", "ends")
    lost = logs.join(
        power, ["run", "node"]).where("position < gone_at and gone_at < next and ends >= 0").selectExpr(
        "run", "seq", "t_us", "node", "topic", "partition", "'page cache lost' as change",
        "cast(null as bigint) as base_offset", "cast(null as bigint) as log_start", "ends as log_end",
        "cast(null as bigint) as bytes", "cast(null as boolean) as clean", "cast(null as bigint) as lost",
        "cast(null as string) as file", "'power loss' as reason")
    return told.unionByName(lost)


def faults(events: DataFrame, ends: DataFrame, runs: DataFrame) -> DataFrame:
    """The table `faults`."""
    refused = events.where("code = 'command_refused' and node = 'world'").select("run", "seq")
    commands = events.where("code = 'command'").join(refused, ["run", "seq"], "left_anti").selectExpr(
        "run", "seq", "t_us", "node", "cause", "position", "p.command as command",
        "get_json_object(p.command, '$.do') as did")
    marks = _processes(events).unionByName(_links(events, runs)).unionByName(_switches(events)).unionByName(
        _clocks(commands)).unionByName(_at_once(commands))
    told = marks.selectExpr(
        "*", "if(at_once, t_us, lead(t_us) over (partition by run, line order by position)) as until_us")
    return told.where("bad").join(commands.select("run", "seq", "command"), ["run", "seq"], "left").join(
        ends, ["run"]).selectExpr(
        "run", "seq", "t_us", "node", "kind", "target", "details", "command", "cause", "until_us",
        "coalesce(until_us, end_us) - t_us as duration_us")


def _mark(
    frame: DataFrame, kind: str, target: str, bad: str, details: str = "to_json(p)", node: str = "node",
    line: str = "", at_once: bool = False,
) -> DataFrame:  # fmt: skip
    """Rows of one kind of fault: `bad` ones begin a fault; each ends the one before it on the same line."""
    return frame.selectExpr(
        "run", "seq", "t_us", f"{node} as node", "cause", "position", f"{kind} as kind", f"{target} as target",
        f"{details} as details", f"{line or target} as line", f"coalesce({bad}, false) as bad",
        f"{str(at_once).lower()} as at_once")


def _processes(events: DataFrame) -> DataFrame:
    of = events.where("code in ('process_started', 'process_ended', 'process_paused', 'process_resumed')")
    return _mark(of, "if(code = 'process_ended', p.how, 'paused')", "node", line="concat('process ', node)",
                 bad="code = 'process_paused' or (code = 'process_ended' and p.how <> 'shutdown')")


def _links(events: DataFrame, runs: DataFrame) -> DataFrame:
    changed = events.where("code = 'link_changed'")
    usual = runs.selectExpr(
        "run", "cast(get_json_object(facts, '$.spec.cluster.link_delay_ms') as double) * 1000 as own_us").join(
        changed.selectExpr("run", "p.delay_us as delay_us").groupBy("run").agg({"delay_us": "min"}), "run").selectExpr(
        "run", "cast(coalesce(own_us, `min(delay_us)`) as bigint) as usual_us")
    bad = ("p.partitioned or p.`drop` > 0 or p.duplicate > 0 or p.reorder > 0 or p.bandwidth > 0 or p.jitter_us > 0"
           " or p.delay_us <> usual_us")
    return _mark(changed.join(usual, "run"), "'link'", "concat(p.source, ' -> ', p.dest)", bad)


def _switches(events: DataFrame) -> DataFrame:
    disks = _mark(events.where("code = 'disks_changed'"), "'disk'", "node", "size(p.faults) > 0",
                  "concat('[', array_join(p.faults, ','), ']')", line="concat('disk ', node)")
    off = _mark(events.where("code = 'protection_set'"), "'protection'", "p.protection", "not p.`on`",
                line="concat('protection ', p.protection)")
    return disks.unionByName(off)


_BROKER = broker_of_id("get_json_object(command, '$.broker')")
_NODE = (f"coalesce(get_json_object(command, '$.node'), {_BROKER},"
         " concat('leader_of:', get_json_object(command, '$.leader_of')),"
         " concat('follower_of:', get_json_object(command, '$.follower_of')),"
         " if(get_json_object(command, '$.controller') is null, null, 'controller'))")


def _clocks(commands: DataFrame) -> DataFrame:
    skews = commands.where("did = 'clock_skew'").selectExpr("*", f"{_NODE} as named")
    right = commands.where("did = 'stop_all_faults'").join(
        skews.select("run", "named").distinct(), "run").select(*skews.columns)
    bad = "did = 'clock_skew' and cast(get_json_object(command, '$.ms') as bigint) <> 0"
    return _mark(skews.unionByName(right), "'clock_skew'", "named", bad, "command", line="concat('clock ', named)")


def _at_once(commands: DataFrame) -> DataFrame:
    names = ", ".join(f"'{name}'" for name in AT_ONCE)
    record = ("concat(get_json_object(command, '$.topic'), '-', get_json_object(command, '$.partition'), ' at ',"
              " get_json_object(command, '$.offset'))")
    ends = "array_join(from_json(get_json_object(command, '$.between'), 'array<string>'), ' -> ')"
    between = f"regexp_replace({ends}, '{BROKER_ENDS[0]}', '{BROKER_ENDS[1]}')"
    target = f"if(did = 'bit_flip', concat({_NODE}, ' ', {record}), coalesce({_NODE}, {between}))"
    return _mark(commands.where(f"did in ({names})"), "did", target, "true", "command",
                 line="concat('at once ', position)", at_once=True)
