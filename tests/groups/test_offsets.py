"""OffsetCommit, OffsetFetch, and forgetting."""

from __future__ import annotations

from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E

ORDERS = ("orders", 0)
WEEK_MS = 7 * 24 * 3_600_000


def error_of(answer: Any) -> int:
    return int(answer.topics[0].partitions[0].error_code)


def delete_groups(lab: Any, *groups: str) -> list[int]:
    answer = lab.send(ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=list(groups)))
    return [one.error_code for one in answer.results]


def delete_offsets(lab: Any, topic: str, partition: int, group: str = "g") -> Any:
    one = m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=partition)
    topics = [m.OffsetDeleteRequest.OffsetDeleteRequestTopic(name=topic, partitions=[one])]
    return lab.send(ApiKey.OFFSET_DELETE, 0, m.OffsetDeleteRequest(group_id=group, topics=topics))


def test_a_commit_is_answered_and_seen_when_its_record_is_committed(lab: Any) -> None:
    lab.topic.commit_delay_ms = 5
    answer = lab.commit({ORDERS: 42}, metadata="from node 3")
    assert not answer and lab.committed() == {}
    lab.run(5)
    assert error_of(answer) == 0
    assert lab.committed() == {ORDERS: (42, "from node 3")}
    assert lab.journal("offsets_committed") == [{"group": "g", "topic": "orders", "partition": 0, "offset": 42}]


def test_while_a_commit_is_pending_stable_readers_are_told_to_wait(lab: Any) -> None:
    lab.commit({ORDERS: 1})
    lab.run(0)
    lab.topic.commit_delay_ms = 5
    lab.commit({ORDERS: 2})
    assert lab.committed() == {ORDERS: (1, "")}
    answer = lab.send(ApiKey.OFFSET_FETCH, 7, m.OffsetFetchRequest(group_id="g", topics=None, require_stable=True))
    assert answer.topics[0].partitions[0].error_code == E.UNSTABLE_OFFSET_COMMIT


def test_a_commit_that_fails_changes_nothing(lab: Any) -> None:
    lab.commit({ORDERS: 1})
    lab.run(0)
    answers = {E.NOT_ENOUGH_REPLICAS_AFTER_APPEND: 15, E.NOT_LEADER_OR_FOLLOWER: 16, E.MESSAGE_TOO_LARGE: 28}
    for failure, shown in answers.items():
        lab.topic.failure = failure
        answer = lab.commit({ORDERS: 2})
        lab.run(0)
        assert error_of(answer) == shown
    assert lab.committed(stable=True) == {ORDERS: (1, "")}


def test_of_two_commits_on_their_way_the_later_one_stays(lab: Any) -> None:
    lab.topic.commit_delay_ms = 5
    lab.commit({ORDERS: 1})
    lab.run(2)
    lab.commit({ORDERS: 2})
    lab.run(3)
    assert lab.committed() == {ORDERS: (1, "")}
    lab.run(2)
    assert lab.committed(stable=True) == {ORDERS: (2, "")}


def test_metadata_come_back_as_they_were_in_every_version(lab: Any) -> None:
    for version in range(2, 10):
        answer = lab.commit({ORDERS: version}, metadata=f"né {version}", version=version, retention_time=-1)
        lab.run(0)
        assert error_of(answer) == 0
        assert lab.committed() == {ORDERS: (version, f"né {version}")}


def test_too_long_metadata_are_refused_for_their_partition_only(lab: Any) -> None:
    answer = lab.commit({ORDERS: 1}, metadata="x" * 4097)
    assert error_of(answer) == E.OFFSET_METADATA_TOO_LARGE
    assert lab.committed() == {}
    lab.commit({ORDERS: 1}, metadata="x" * 4096)
    lab.run(0)
    assert lab.committed() == {ORDERS: (1, "x" * 4096)}


def test_only_members_of_the_generation_commit_to_a_group_that_has_members(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    assert error_of(lab.commit({ORDERS: 1})) == E.UNKNOWN_MEMBER_ID
    assert error_of(lab.commit({ORDERS: 1}, "stranger", generation)) == E.UNKNOWN_MEMBER_ID
    assert error_of(lab.commit({ORDERS: 1}, member, generation - 1)) == E.ILLEGAL_GENERATION
    assert error_of(lab.commit({ORDERS: 1}, member, 1, group="unknown")) == E.ILLEGAL_GENERATION
    answer = lab.commit({ORDERS: 1}, member, generation)
    lab.run(0)
    assert error_of(answer) == 0


def test_a_member_commits_during_the_rebalance_but_not_while_the_assignment_is_computed(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    newcomer = lab.join(lab.new_member_id())
    answer = lab.commit({ORDERS: 1}, member, generation)
    lab.run(0)
    assert error_of(answer) == 0 and not newcomer
    lab.join(member)
    assert error_of(lab.commit({ORDERS: 2}, member, generation + 1)) == E.REBALANCE_IN_PROGRESS


def test_a_commit_counts_as_a_heartbeat(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    for number in range(5):
        lab.run(8000)
        lab.commit({ORDERS: number}, member, generation)
    lab.run(9999)
    assert lab.describe().group_state == "Stable"


def test_offset_fetch_answers_one_group_or_several(lab: Any) -> None:
    lab.commit({ORDERS: 1, ("orders", 1): 11}, group="a")
    lab.commit({("bills", 0): 2}, group="b")
    lab.run(0)
    wanted = m.OffsetFetchRequest.OffsetFetchRequestTopics(name="orders", partition_indexes=[1, 2])
    groups = [
        m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="a", topics=[wanted]),
        m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="b", topics=None),
        m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id="unknown", topics=[wanted]),
    ]
    answer = lab.send(ApiKey.OFFSET_FETCH, 8, m.OffsetFetchRequest(groups=groups))
    shown = [
        [(topic.name, one.partition_index, one.committed_offset, one.metadata, one.error_code)
         for topic in group.topics for one in topic.partitions]
        for group in answer.groups
    ]  # fmt: skip
    assert shown == [
        [("orders", 1, 11, "", 0), ("orders", 2, -1, "", 0)],
        [("bills", 0, 2, "", 0)],
        [("orders", 1, -1, "", 0), ("orders", 2, -1, "", 0)],
    ]


def test_version_1_of_offset_fetch_shows_a_group_error_at_each_partition(lab: Any) -> None:
    topic = m.OffsetFetchRequest.OffsetFetchRequestTopic(name="orders", partition_indexes=[0])
    request = m.OffsetFetchRequest(group_id="g", topics=[topic])
    answer = lab.send(ApiKey.OFFSET_FETCH, 1, request, broker="broker-2")
    assert error_of(answer) == E.NOT_COORDINATOR
    assert lab.send(ApiKey.OFFSET_FETCH, 2, request, broker="broker-2").error_code == E.NOT_COORDINATOR


def test_a_group_without_members_is_deleted_with_its_offsets(lab: Any) -> None:
    lab.stable_group()
    assert delete_groups(lab, "g", "nothing") == [E.NON_EMPTY_GROUP, E.GROUP_ID_NOT_FOUND]
    lab.run(10_000)
    lab.commit({ORDERS: 1})
    lab.run(0)
    assert delete_groups(lab, "g") == [0]
    assert lab.committed() == {} and lab.describe().group_state == "Dead"
    lab.lead("broker-2", 1)
    assert lab.committed() == {} and lab.describe().group_state == "Dead"


def test_offsets_of_a_topic_that_is_read_cannot_be_deleted(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    lab.commit({ORDERS: 1, ("bills", 0): 2}, member, generation)
    lab.run(0)
    assert error_of(delete_offsets(lab, "orders", 0)) == E.GROUP_SUBSCRIBED_TO_TOPIC
    assert error_of(delete_offsets(lab, "bills", 0)) == 0
    assert lab.committed() == {ORDERS: (1, "")}
    assert delete_offsets(lab, "bills", 0, group="unknown").error_code == E.GROUP_ID_NOT_FOUND


def test_offsets_of_a_group_that_is_no_consumer_group_are_deleted_only_when_it_is_empty(lab: Any) -> None:
    join = lab.join(version=3, kind="connect", protocols={"default": b""})
    lab.run(3000)
    assert delete_offsets(lab, "orders", 0).error_code == E.NON_EMPTY_GROUP
    assert join.protocol_name == "default"


def test_offsets_expire_a_week_after_the_group_became_empty(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    lab.commit({ORDERS: 1}, member, generation)
    lab.run(10_000)
    empty_since = lab.world.now_us // 1000
    assert lab.describe().group_state == "Empty"
    lab.world.run_until((empty_since + WEEK_MS - 1) * 1000)
    assert lab.committed() == {ORDERS: (1, "")}
    lab.run(600_001)
    assert lab.committed() == {} and lab.describe().group_state == "Dead"
    assert lab.journal("group_state")[-1]["after"] == "Dead"


def test_offsets_kept_by_hand_expire_a_week_after_the_commit(lab: Any) -> None:
    lab.commit({ORDERS: 1})
    lab.run(WEEK_MS // 2)
    lab.commit({("orders", 1): 1})
    lab.run(WEEK_MS // 2 + 600_000)
    assert lab.committed() == {("orders", 1): (1, "")}


def test_of_a_stable_group_only_offsets_of_topics_that_nobody_reads_expire(lab: Any) -> None:
    (member,), generation = lab.stable_group(session_ms=1_800_000)
    lab.commit({ORDERS: 1, ("bills", 0): 2}, member, generation)
    for _ in range(7 * 24 * 3 + 1):
        lab.run(1_200_000)
        assert lab.heartbeat(member, generation) == 0
    assert lab.committed() == {ORDERS: (1, "")}


def test_an_old_client_may_ask_for_a_retention_of_its_own(lab: Any) -> None:
    lab.commit({ORDERS: 1}, version=2, retention_time=3_600_000)
    lab.run(3_600_000 - 1)
    assert lab.committed() == {ORDERS: (1, "")}
    lab.run(600_001)
    assert lab.committed() == {}


def test_offsets_of_deleted_topics_go_with_them(lab: Any) -> None:
    lab.commit({ORDERS: 1, ("bills", 0): 2})
    lab.run(0)
    lab.coordinator().on_partitions_deleted([ORDERS])
    assert lab.committed() == {("bills", 0): (2, "")}


def test_list_groups_filters_by_state_and_type(lab: Any) -> None:
    lab.stable_group(group="running")
    lab.commit({ORDERS: 1}, group="by-hand")
    lab.run(0)

    def listed(**filters: Any) -> dict[str, str]:
        answer = lab.send(ApiKey.LIST_GROUPS, 5, m.ListGroupsRequest(**filters))
        return {one.group_id: one.group_state for one in answer.groups}

    assert listed() == {"running": "Stable", "by-hand": "Empty"}
    assert listed(states_filter=["stable"]) == {"running": "Stable"}
    assert listed(types_filter=["classic"]) == {"running": "Stable", "by-hand": "Empty"}
    assert listed(types_filter=["consumer"]) == {}


def test_describe_shows_metadata_and_assignment_of_a_stable_group(lab: Any) -> None:
    (member,), _ = lab.stable_group(client="app")
    shown = lab.describe()
    assert (shown.group_state, shown.protocol_type, shown.protocol_data) == ("Stable", "consumer", "range")
    one = shown.members[0]
    assert (one.member_id, one.client_id, one.client_host) == (member, "app", "/127.0.0.1")
    assert one.member_metadata and one.member_assignment
    lab.join(lab.new_member_id())
    again = lab.describe().members[0]
    assert lab.describe().protocol_data == "" and again.member_metadata == b""
    assert again.member_assignment == one.member_assignment, "what it had until now"
    absent = lab.describe("unknown", version=6)
    assert (absent.error_code, absent.error_message) == (E.GROUP_ID_NOT_FOUND, "Group unknown not found.")


def test_a_retention_beyond_all_time_does_no_harm(lab: Any) -> None:
    answer = lab.commit({ORDERS: 1}, version=3, retention_time=2**63 - 1)
    lab.run(0)
    assert error_of(answer) == 0 and lab.committed() == {ORDERS: (1, "")}
    lab.run(600_000)
    assert lab.committed() == {}  # as in Java, the sum of both has wrapped around
