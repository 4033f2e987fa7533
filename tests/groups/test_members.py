"""Sessions, heartbeats, leaving, syncing, static members."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E


def leave(lab: Any, *members: tuple[str, str | None], version: int = 4, group: str = "g") -> Any:
    identities = [m.LeaveGroupRequest.MemberIdentity(member_id=one, group_instance_id=inst) for one, inst in members]
    request = m.LeaveGroupRequest(group_id=group, members=identities, member_id=members[0][0])
    return lab.send(ApiKey.LEAVE_GROUP, version, request)


def static_group(lab: Any, version: int = 5) -> list[Any]:
    """Two static members, a (leader) and b, in Stable."""
    joins = [lab.join(instance=name, version=version) for name in ("a", "b")]
    lab.run(6000)
    lab.settle(joins)
    return joins


def test_a_silent_leader_is_expired_and_the_others_go_on_without_it(lab: Any) -> None:
    (leader, second, third), generation = lab.stable_group(3)
    for _ in range(9):
        lab.run(1000)
        assert lab.heartbeat(second, generation) == lab.heartbeat(third, generation) == 0
    lab.run(1000)
    assert lab.heartbeat(second, generation) == E.REBALANCE_IN_PROGRESS
    assert lab.heartbeat(leader, generation) == E.UNKNOWN_MEMBER_ID
    joins = [lab.join(second), lab.join(third)]
    assert [join.leader for join in joins] == [second, second]
    assert lab.journal("member_left") == [{"group": "g", "member": leader, "reason": "session timeout"}]
    lab.settle(joins)


def test_heartbeats_keep_a_member_for_ever_with_one_armed_timer(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    before = lab.world.executed
    for _ in range(100):
        lab.run(3000)
        assert lab.heartbeat(member, generation) == 0
    assert lab.world.executed - before < 50
    lab.run(9999)
    assert lab.describe().group_state == "Stable"
    lab.run(1)
    assert lab.describe().group_state == "Empty"


def test_a_parked_member_does_not_expire_and_a_new_one_does_after_five_minutes(lab: Any) -> None:
    (first,), _ = lab.stable_group(rebalance_ms=1_000_000, session_ms=1_000_000)
    newcomer = lab.join(lab.new_member_id(), rebalance_ms=1_000_000)
    lab.run(300_000)
    assert newcomer.error_code == E.UNKNOWN_MEMBER_ID and newcomer.member_id == ""
    assert [member.member_id for member in lab.describe().members] == [first]


def test_requests_of_another_generation_are_fenced(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    assert lab.heartbeat(member, generation - 1) == E.ILLEGAL_GENERATION
    assert lab.sync(member, generation + 1).error_code == E.ILLEGAL_GENERATION
    assert lab.heartbeat("stranger", generation) == E.UNKNOWN_MEMBER_ID
    assert lab.heartbeat(member, generation, group="other") == E.UNKNOWN_MEMBER_ID


def test_sync_while_the_group_is_called_together_is_sent_back_to_join(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    lab.join(lab.new_member_id())
    assert lab.sync(member, generation).error_code == E.REBALANCE_IN_PROGRESS


def test_followers_get_their_share_when_the_leaders_assignment_is_committed(lab: Any) -> None:
    lab.topic.commit_delay_ms = 20
    joins = [lab.join(version=3), lab.join(version=3)]
    lab.run(6000)
    leader, follower = joins[0].member_id, joins[1].member_id
    parked = lab.sync(follower, 1)
    answer = lab.sync(leader, 1, {leader: b"mine", follower: b"yours"})
    lab.run(19)
    assert not parked and not answer
    assert lab.heartbeat(follower, 1) == 0
    lab.run(1)
    assert (answer.assignment, parked.assignment) == (b"mine", b"yours")
    assert lab.sync(follower, 1).assignment == b"yours"


def test_an_assignment_that_cannot_be_written_starts_the_rebalance_again(lab: Any) -> None:
    join = lab.join(version=3)
    lab.run(3000)
    lab.topic.failure = E.NOT_ENOUGH_REPLICAS
    answer = lab.sync(join.member_id, 1, {join.member_id: b"mine"})
    lab.run(0)
    assert answer.error_code == E.COORDINATOR_NOT_AVAILABLE
    assert lab.describe().group_state == "PreparingRebalance"
    lab.topic.failure = 0
    again = lab.join(join.member_id)
    assert again.generation_id == 2


def test_members_that_the_leader_forgets_get_an_empty_share(lab: Any) -> None:
    joins = [lab.join(version=3), lab.join(version=3)]
    lab.run(6000)
    parked = lab.sync(joins[1].member_id, 1)
    lab.sync(joins[0].member_id, 1, {joins[0].member_id: b"all"})
    lab.run(0)
    assert (parked.error_code, parked.assignment) == (0, b"")


def test_who_joins_and_never_syncs_is_removed_after_the_rebalance_timeout(lab: Any) -> None:
    (first, second), _ = lab.stable_group(2, rebalance_ms=20_000)
    joins = [lab.join(first, rebalance_ms=20_000), lab.join(second, protocols={"range": b""}, rebalance_ms=20_000)]
    lab.sync(first, joins[0].generation_id, {first: b"x"})
    for _ in range(19):
        lab.run(1000)
        assert lab.heartbeat(second, 2) == lab.heartbeat(first, 2) == 0
    lab.run(1000)
    assert lab.heartbeat(second, 2) == E.UNKNOWN_MEMBER_ID
    assert lab.heartbeat(first, 2) == E.REBALANCE_IN_PROGRESS


def test_sync_names_the_protocol_from_version_5_on(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    assert lab.sync(member, generation, version=5).protocol_name == "range"
    for wrong in ({"protocol": "sticky"}, {"kind": "connect"}, {"protocol": None}):
        assert lab.sync(member, generation, version=5, **wrong).error_code == E.INCONSISTENT_GROUP_PROTOCOL


def test_the_last_member_that_leaves_empties_the_group_and_its_generation_is_kept(lab: Any) -> None:
    (member,), _ = lab.stable_group()
    assert leave(lab, (member, None), version=2).error_code == 0
    assert lab.describe().group_state == "Empty"
    assert leave(lab, (member, None), version=2).error_code == E.UNKNOWN_MEMBER_ID
    _, generation = lab.stable_group()
    assert generation == 3


def test_several_members_leave_in_one_request_each_with_its_own_error(lab: Any) -> None:
    (first, second, third), generation = lab.stable_group(3)
    answer = leave(lab, (first, None), ("stranger", None), (second, "no-instance"), (third, None))
    assert answer.error_code == 0
    assert [one.error_code for one in answer.members] == [0, E.UNKNOWN_MEMBER_ID, E.UNKNOWN_MEMBER_ID, 0]
    assert lab.heartbeat(second, generation) == E.REBALANCE_IN_PROGRESS


def test_an_id_that_was_only_handed_out_can_leave_and_the_others_need_not_wait(lab: Any) -> None:
    (first,), _ = lab.stable_group()
    pending = lab.new_member_id()
    join = lab.join(first)
    assert not join
    assert leave(lab, (pending, None)).members[0].error_code == 0
    assert join.generation_id == 2


def test_a_static_member_that_restarts_keeps_its_place_without_a_rebalance(lab: Any) -> None:
    old = static_group(lab)[1]
    back = lab.join(instance="b")
    lab.run(0)
    assert (back.error_code, back.generation_id) == (0, 1) and back.member_id != old.member_id
    assert lab.describe().group_state == "Stable"
    share = lab.sync(back.member_id, 1, instance="b")
    assert share.assignment[-8:-4] == b"\0\0\0\1"
    assert lab.heartbeat(old.member_id, 1, instance="b") == E.FENCED_INSTANCE_ID
    assert lab.commit({("orders", 1): 5}, old.member_id, 1, instance="b").topics[0].partitions[0].error_code == 82
    assert lab.join(old.member_id, instance="b").error_code == E.FENCED_INSTANCE_ID


def test_a_static_leader_that_restarts_does_not_assign_again(lab: Any) -> None:
    old = static_group(lab)[0]
    back = lab.join(instance="a", version=8)
    lab.run(0)
    assert back.leader == old.member_id and back.members == []
    again = lab.join(instance="a", version=9)
    lab.run(0)
    assert again.leader == again.member_id and again.skip_assignment and len(again.members) == 2


def test_a_static_member_that_restarts_while_the_assignment_is_computed_starts_the_rebalance_again(lab: Any) -> None:
    joins = [lab.join(instance=name) for name in ("a", "b")]
    lab.run(6000)
    parked = lab.sync(joins[1].member_id, 1, instance="b")
    back = lab.join(instance="b")
    assert parked.error_code == E.FENCED_INSTANCE_ID
    assert not back and lab.describe().group_state == "PreparingRebalance"
    leader = lab.join(joins[0].member_id, instance="a")
    assert leader.generation_id == back.generation_id == 2


def test_a_replacement_that_cannot_be_written_is_taken_back(lab: Any) -> None:
    old = static_group(lab)[1]
    lab.topic.failure = E.NOT_ENOUGH_REPLICAS
    back = lab.join(instance="b")
    lab.run(0)
    assert (back.error_code, back.member_id) == (E.COORDINATOR_NOT_AVAILABLE, "")
    assert lab.heartbeat(old.member_id, 1, instance="b") == 0


def test_a_static_member_that_is_away_survives_a_rebalance_and_falls_to_its_session(lab: Any) -> None:
    first, second = static_group(lab)
    join = lab.join(first.member_id, instance="a", rebalance_ms=6000, protocols={"range": b"new"})
    other = lab.join(second.member_id, instance="b", rebalance_ms=6000)
    assert join.generation_id == other.generation_id == 2
    again = lab.join(first.member_id, instance="a", rebalance_ms=6000, protocols={"range": b"newer"})
    lab.run(6000)
    assert again.generation_id == 3 and len(again.members) == 2
    lab.sync(first.member_id, 3, {first.member_id: b"x"}, instance="a")
    for _ in range(4):
        lab.run(1000)
        assert lab.heartbeat(first.member_id, 3, instance="a") == 0
    assert len(lab.describe().members) == 2


def test_a_tool_removes_a_static_member_by_its_instance_id(lab: Any) -> None:
    static_group(lab)
    answer = leave(lab, ("", "b"), ("", "nobody"))
    assert [one.error_code for one in answer.members] == [0, E.UNKNOWN_MEMBER_ID]
    assert lab.journal("member_left")[-1]["reason"] == "removed"


def test_the_id_of_a_static_member_begins_with_its_instance_even_with_one_without_a_name(lab: Any) -> None:
    """KIP-345: the coordinator makes `instance-uuid`; "" is an instance as well."""
    answer = lab.join(instance="")
    lab.run(4000)
    assert answer.members[0].group_instance_id == "" and answer.member_id.startswith("-")


OPERATIONS = 0b110101001000  # READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS


@pytest.mark.parametrize(("version", "nobodys"), [(3, OPERATIONS), (5, OPERATIONS), (6, -(1 << 31))])
def test_what_may_be_done_with_a_group_is_told_when_asked(lab: Any, version: int, nobodys: int) -> None:
    lab.stable_group()

    def told(asked: bool) -> list[int]:
        request = m.DescribeGroupsRequest(groups=["g", "nobody"], include_authorized_operations=asked)
        groups = lab.send(ApiKey.DESCRIBE_GROUPS, version, request).groups
        return [group.authorized_operations for group in groups]

    assert told(True) == [OPERATIONS, nobodys]
    assert told(False) == [-(1 << 31)] * 2
