"""JoinGroup: who becomes a member, and how long a rebalance waits."""

from __future__ import annotations

from typing import Any

from broker_core.wire.errors import ErrorCode as E


def test_a_dynamic_member_joins_in_two_round_trips_from_version_4_on(lab: Any) -> None:
    first = lab.join(client="app")
    assert first.error_code == E.MEMBER_ID_REQUIRED and first.member_id.startswith("app-")
    second = lab.join(first.member_id, client="app")
    assert not second
    lab.run(3000)
    assert (second.error_code, second.generation_id, second.leader) == (0, 1, first.member_id)
    assert [member.member_id for member in second.members] == [first.member_id]


def test_before_version_4_one_round_trip_is_enough_and_errors_have_an_empty_protocol(lab: Any) -> None:
    answer = lab.join(version=0)
    lab.run(3000)
    assert (answer.error_code, answer.protocol_name) == (0, "range")
    refused = lab.join("nobody", version=0)
    assert (refused.error_code, refused.protocol_name) == (E.UNKNOWN_MEMBER_ID, "")


def test_an_id_that_is_not_used_is_forgotten_after_the_session_timeout(lab: Any) -> None:
    member = lab.new_member_id()
    lab.run(10_000)
    assert lab.join(member).error_code == E.UNKNOWN_MEMBER_ID


def test_the_first_rebalance_waits_for_more_members_and_is_extended_by_each(lab: Any) -> None:
    first = lab.join(version=3)
    lab.run(2000)
    second = lab.join(version=3)
    lab.run(1000)  # 3 s: the second one has come meanwhile
    assert not first
    lab.run(3000)
    assert first.generation_id == second.generation_id == 1
    assert {member.member_id for member in first.members} == {first.member_id, second.member_id}
    assert second.members == []


def test_the_extension_ends_with_the_rebalance_timeout(lab: Any) -> None:
    joins = [lab.join(version=3, rebalance_ms=7000)]
    for _ in range(3):
        lab.run(2000)
        joins.append(lab.join(version=3, rebalance_ms=7000))
    lab.run(999)
    assert not joins[0]
    lab.run(1)
    assert [join.generation_id for join in joins] == [1, 1, 1, 1]


def test_a_second_member_brings_the_first_one_back_into_the_next_generation(lab: Any) -> None:
    (first,), generation = lab.stable_group()
    other = lab.join(lab.new_member_id())
    assert lab.heartbeat(first, generation) == E.REBALANCE_IN_PROGRESS
    again = lab.join(first)
    assert again.generation_id == other.generation_id == 2
    assert again.leader == other.leader == first


def test_a_member_that_joins_again_while_the_rebalance_is_prepared_keeps_its_place(lab: Any) -> None:
    """An answer to the first join never comes: it is superseded by the second one, as in Kafka."""
    (first, second), _ = lab.stable_group(2)
    early = lab.join(second, protocols={"range": b"\0\0\0\0\0\0"})
    retry = lab.join(second, protocols={"range": b"\0\0\0\0\0\0"})
    leader = lab.join(first)
    assert not early and retry.generation_id == leader.generation_id == 2


def test_who_does_not_join_in_the_rebalance_timeout_is_out(lab: Any) -> None:
    (first, second), generation = lab.stable_group(2)
    join = lab.join(first)
    for _ in range(59):
        lab.run(1000)
        assert lab.heartbeat(second, generation) == E.REBALANCE_IN_PROGRESS
    assert not join
    lab.run(1000)
    assert [member.member_id for member in join.members] == [first]
    assert lab.heartbeat(second, generation) == E.UNKNOWN_MEMBER_ID
    assert lab.journal("member_left")[-1]["reason"] == "rebalance timeout"


def test_chained_rebalances_never_lose_a_member_that_keeps_its_turn(lab: Any) -> None:
    """Members come one after the other, each into the rebalance that the last one began."""
    members, _ = lab.stable_group()
    for _ in range(5):
        newcomer = lab.new_member_id()
        joins = [lab.join(newcomer)] + [lab.join(member) for member in members]
        assert [join.error_code for join in joins] == [0] * len(joins)
        # the next one comes while the assignment is still outstanding: all go back to joining
        leader = next(join for join in joins if join.leader == join.member_id)
        follower = next(join for join in joins if join is not leader)
        parked = lab.sync(follower.member_id, follower.generation_id)
        late = lab.new_member_id()
        latecomer = lab.join(late)
        assert parked.error_code == E.REBALANCE_IN_PROGRESS
        members = [join.member_id for join in joins] + [late]
        again = [lab.join(member) for member in members[:-1]] + [latecomer]
        assert [join.error_code for join in again] == [0] * len(again)
        lab.settle(again)
    assert len(members) == 11 and lab.describe().group_state == "Stable"


def test_members_without_a_common_protocol_cannot_be_in_one_group(lab: Any) -> None:
    lab.stable_group()
    assert lab.join(protocols={"sticky": b""}).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert lab.join(kind="connect").error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert lab.join(group="new", protocols={}).error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert lab.join(group="new", kind="").error_code == E.INCONSISTENT_GROUP_PROTOCOL


def test_the_protocol_is_the_one_that_most_members_prefer_among_those_that_all_have(lab: Any) -> None:
    joins = [
        lab.join(version=3, protocols={"sticky": b"", "range": b"1", "roundrobin": b"1"}),
        lab.join(version=3, protocols={"roundrobin": b"2", "range": b"2"}),
        lab.join(version=3, protocols={"roundrobin": b"3", "range": b"3"}),
    ]
    lab.run(6000)
    assert [join.protocol_name for join in joins] == ["roundrobin"] * 3
    assert [member.metadata for member in joins[0].members] == [b"1", b"2", b"3"]


def test_a_session_timeout_outside_the_limits_is_refused(lab: Any) -> None:
    assert lab.join(session_ms=5999).error_code == E.INVALID_SESSION_TIMEOUT
    assert lab.join(session_ms=1_800_001).error_code == E.INVALID_SESSION_TIMEOUT


def test_an_empty_group_id_is_refused(lab: Any) -> None:
    assert lab.join(group="").error_code == E.INVALID_GROUP_ID


def test_a_full_group_takes_nobody(make_lab: Any) -> None:
    lab = make_lab(group_max_size=2)
    (_first, second), _ = lab.stable_group(2)
    assert lab.join().error_code == E.GROUP_MAX_SIZE_REACHED
    assert lab.join(second).error_code == 0
    assert lab.describe().group_state == "Stable"


def test_a_follower_whose_answer_was_lost_gets_the_generation_again(lab: Any) -> None:
    (first, second), generation = lab.stable_group(2)
    assert lab.join(second).generation_id == generation
    assert lab.describe().group_state == "Stable"
    leader = lab.join(first)
    assert not leader and lab.describe().group_state == "PreparingRebalance"


def test_a_follower_with_other_topics_causes_a_rebalance(lab: Any) -> None:
    (_, second), _ = lab.stable_group(2)
    assert not lab.join(second, protocols={"range": b"other"})
    assert lab.describe().group_state == "PreparingRebalance"


def test_a_lost_answer_while_the_assignment_is_computed_is_given_again(lab: Any) -> None:
    member = lab.new_member_id()
    lab.join(member)
    lab.run(3000)
    again = lab.join(member)
    assert again.generation_id == 1 and len(again.members) == 1
    assert lab.describe().group_state == "CompletingRebalance"


def test_in_version_0_the_session_timeout_is_the_rebalance_timeout(lab: Any) -> None:
    first = lab.join(version=0, session_ms=8000)
    lab.run(3000)
    lab.settle([first])
    second = lab.join(version=0, session_ms=8000)
    for _ in range(7):
        lab.run(1000)
        assert lab.heartbeat(first.member_id, 1) == E.REBALANCE_IN_PROGRESS
    assert not second
    lab.run(1000)
    assert [member.member_id for member in second.members] == [second.member_id]


def test_a_node_that_draws_the_same_numbers_again_gives_no_id_twice(lab: Any) -> None:
    numbers = lab.world.nodes[lab.topic.leader].random("uuid")
    before = numbers.getstate()
    first = lab.join(version=3)
    numbers.setstate(before)
    second = lab.join(version=3)
    numbers.setstate(before)
    third = lab.join(version=4)  # told his id, not yet a member
    numbers.setstate(before)
    fourth = lab.join(version=4)
    lab.run(7000)
    assert len({answer.member_id for answer in (first, second, third, fourth)}) == 4
