"""Tables of groups: who was in which generation with what, and which offsets a coordinator has stored.

| event | at | gives |
|---|---|---|
| member_joined | coordinator | client_id, instance, joined_us |
| group_assigned | coordinator | a row for each member of the generation, with its assignment |
| assignment_taken | consumer | taken_us: the first of that client in that generation |
| member_left | coordinator | left_us, left_reason: of the generation that it was in |
| member_reconciled | coordinator | a step of a member of KIP-848 |
| offsets_committed | coordinator | a stored offset |
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def members(events: DataFrame) -> DataFrame:
    """The table `group_members`. What is told of a member lies between its generation and the next one."""
    assigned = events.where("code = 'group_assigned'").selectExpr(
        "*", "lead(position) over (partition by run, p.`group` order by position) as next")
    rows = assigned.selectExpr(
        "run", "seq", "t_us", "node", "position", "next", "p.`group` as `group`", "p.generation as generation",
        "explode(p.assignment) as (member, assignment)")
    joined = events.where("code = 'member_joined'").selectExpr(
        "run", "p.`group` as `group`", "p.member as member", "position as joined_at",
        "struct(p.client_id as client_id, p.instance as instance, t_us as joined_us) as j")
    left = events.where("code = 'member_left'").selectExpr(
        "run", "p.`group` as `group`", "p.member as member", "position as left_at",
        "struct(t_us as left_us, p.reason as reason) as l")
    taken = events.where("code = 'assignment_taken'").selectExpr(
        "run", "node as client_id", "p.generation as generation", "position as taken_at", "t_us as taken_us")
    key = ["run", "seq", "t_us", "node", "position", "next", "group", "generation", "member", "assignment"]
    known = rows.join(joined, ["run", "group", "member"], "left").where(
        "joined_at is null or joined_at < position").groupBy(key).agg({"j": "max"}).withColumnRenamed("max(j)", "j")
    gone = rows.join(left, ["run", "group", "member"]).where(
        "left_at > position and (next is null or left_at < next)").groupBy("run", "position", "member").agg(
        {"l": "min"}).withColumnRenamed("min(l)", "l")
    took = known.selectExpr("run", "position", "next", "generation", "member", "j.client_id as client_id").join(
        taken, ["run", "generation", "client_id"]).where(
        "taken_at > position and (next is null or taken_at < next)").groupBy("run", "position", "member").agg(
        {"taken_us": "min"}).withColumnRenamed("min(taken_us)", "taken_us")
    return known.join(took, ["run", "position", "member"], "left").join(
        gone, ["run", "position", "member"], "left").selectExpr(
        "run", "seq", "t_us", "node", "`group`", "generation", "member", "j.client_id as client_id",
        "j.instance as instance", "aggregate(map_values(assignment), 0, (n, one) -> n + size(one)) as partitions",
        "assignment", "j.joined_us as joined_us", "taken_us", "l.left_us as left_us", "l.reason as left_reason")


def epochs(events: DataFrame) -> DataFrame:
    """The table `group_epochs`."""
    of_member = "partition by run, p.`group`, p.member order by position"
    told = events.selectExpr(
        "*", f"lead(if(code = 'member_joined', null, t_us)) over ({of_member}) as until_us",
        f"last(p.client_id, true) over ({of_member}) as client_id")
    return told.where("code = 'member_reconciled'").selectExpr(
        "run", "seq", "t_us", "node", "p.`group` as `group`", "p.member as member", "client_id", "p.epoch as epoch",
        "p.state as state", "aggregate(map_values(p.assigned), 0, (n, one) -> n + size(one)) as partitions",
        "p.assigned as assignment", "p.revoking as revoking", "until_us")


def stored_offsets(events: DataFrame) -> DataFrame:
    """The table `stored_offsets`."""
    told = events.selectExpr(
        "*", "last(p.generation, true) over (partition by run, p.`group` order by position) as generation")
    place = "partition by run, p.`group`, p.topic, p.partition order by position"
    return told.where("code = 'offsets_committed'").selectExpr(
        "run", "seq", "t_us", "node", "p.`group` as `group`", "p.topic as topic", "p.partition as partition",
        "p.offset as offset", f"p.offset - lag(p.offset) over ({place}) as moved", "generation")
