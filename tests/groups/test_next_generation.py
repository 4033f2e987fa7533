"""Next-generation groups (KIP-848): epochs, targets, one member after the other; answers as Kafka 4.3 gives them."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E
from tests.groups.next_generation import Player, heartbeat, settle, topic_id

JOIN: dict[str, Any] = {"rebalance_timeout": 60_000, "subscribed_topic_names": ["orders"], "owned": []}

FENCED = (
    "The consumer group member has a {} member epoch ({}) than the one known by the group coordinator (2). "
    "The member must abandon all its partitions and rejoin."
)


@pytest.fixture(autouse=True)
def topics(lab: Any) -> None:
    lab.topic.topics.set("orders", 4)
    lab.topic.topics.set("other", 2)


def describe(lab: Any, group: str = "g") -> Any:
    return lab.send(ApiKey.CONSUMER_GROUP_DESCRIBE, 1, m.ConsumerGroupDescribeRequest(group_ids=[group])).groups[0]


def epochs(lab: Any) -> tuple[str, int, int]:
    found = describe(lab)
    return found.group_state, found.group_epoch, found.assignment_epoch


def test_the_first_member_gets_everything_at_epoch_two_with_its_first_heartbeat(lab: Any) -> None:
    first = Player(lab, "a")
    assert first.turn() == 0
    assert (first.epoch, first.numbers, epochs(lab)) == (2, [0, 1, 2, 3], ("Stable", 2, 2))
    answer = heartbeat(lab, "a", 2)
    assert (answer.member_id, answer.member_epoch, answer.heartbeat_interval, answer.assignment) == ("a", 2, 5000, None)


def test_a_second_member_waits_until_the_first_one_has_said_that_it_owns_no_more(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b")
    settle(first)
    second.turn()
    assert (second.epoch, second.numbers, epochs(lab)) == (3, [], ("Reconciling", 3, 3))
    revoked = heartbeat(lab, "a", 2)
    assert (revoked.member_epoch, revoked.assignment.topic_partitions[0].partitions) == (2, [0, 1])
    second.turn()
    assert second.numbers == []
    assert heartbeat(lab, "a", 2).member_epoch == 2, "it has not said what it owns"
    assert heartbeat(lab, "a", 2, owned=[(topic_id("orders"), 0), (topic_id("orders"), 2)]).member_epoch == 2
    assert heartbeat(lab, "a", 2, owned=[(topic_id("orders"), 0)]).member_epoch == 3
    second.turn()
    assert (second.numbers, epochs(lab)) == ([2, 3], ("Stable", 3, 3))
    said = [(row["member"], row["epoch"], row["state"]) for row in lab.journal("member_reconciled")]
    assert said == [("a", 2, "STABLE"), ("b", 3, "UNRELEASED_PARTITIONS"), ("a", 2, "UNREVOKED_PARTITIONS"),
                    ("a", 3, "STABLE"), ("b", 3, "STABLE")]  # fmt: skip


def test_who_is_described_has_what_it_has_not_given_back_yet(lab: Any) -> None:
    first = Player(lab, "a")
    settle(first)
    Player(lab, "b").turn()
    heartbeat(lab, "a", first.epoch)
    (shown,) = describe(lab).members[0].assignment.topic_partitions
    (target,) = describe(lab).members[0].target_assignment.topic_partitions
    assert (shown.partitions, target.partitions) == ([0, 1, 2, 3], [0, 1])


def test_a_member_without_an_id_is_given_one_as_kafka_writes_it(lab: Any) -> None:
    made = heartbeat(lab, "", 0, version=0, owned=[], subscribed_topic_names=["orders"], rebalance_timeout=60_000)
    assert len(made.member_id) == 22 and describe(lab).members[0].member_id == made.member_id


def test_a_target_is_not_computed_again_before_the_assignment_interval_is_over(make_lab: Any) -> None:
    lab = make_lab(group_consumer_assignment_interval_ms=1000)
    lab.topic.topics.set("orders", 4)
    first, second = Player(lab, "a"), Player(lab, "b")
    settle(first)
    second.turn()
    assert (second.epoch, second.numbers, epochs(lab)) == (2, [], ("Assigning", 3, 2))
    lab.run(999)
    second.turn()
    assert epochs(lab) == ("Assigning", 3, 2)
    lab.run(1)
    second.turn()
    assert (second.epoch, epochs(lab)) == (3, ("Reconciling", 3, 3))


def test_who_leaves_makes_room_with_the_next_heartbeat_of_another(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b")
    settle(first, second)
    assert heartbeat(lab, "a", -1).member_epoch == -1
    assert epochs(lab) == ("Assigning", 4, 3)
    settle(second)
    assert (second.numbers, epochs(lab)) == ([0, 1, 2, 3], ("Stable", 4, 4))
    heartbeat(lab, "b", -1)
    assert epochs(lab) == ("Empty", 5, 4)
    assert lab.journal("member_left")[-1]["reason"] == "left"


def test_silence_and_slowness_end_a_membership(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b", rebalance_timeout=50_000)
    settle(first)
    for _ in range(9):
        lab.run(5000)
        second.turn()
    assert lab.journal("member_left") == [{"group": "g", "member": "a", "reason": "session timeout"}]
    settle(second)
    assert second.numbers == [0, 1, 2, 3]
    third = Player(lab, "c")
    settle(third)
    for _ in range(10):
        heartbeat(lab, "b", second.epoch)
        assert len(describe(lab).members) == 2
        third.turn()
        lab.run(5000)
    assert lab.journal("member_left")[1:] == [{"group": "g", "member": "b", "reason": "rebalance timeout"}]
    assert heartbeat(lab, "b", second.epoch).error_code == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(
    ("said", "error", "message"),
    [
        ({"group": ""}, E.INVALID_REQUEST, "GroupId can't be empty."),
        ({"member": ""}, E.INVALID_REQUEST, "MemberId can't be empty."),
        ({"instance_id": ""}, E.INVALID_REQUEST, "InstanceId can't be empty."),
        ({"rack_id": ""}, E.INVALID_REQUEST, "RackId can't be empty."),
        ({"epoch": -3}, E.INVALID_REQUEST, "MemberEpoch is invalid."),
        ({"epoch": -2}, E.INVALID_REQUEST, "InstanceId can't be null."),
        ({"epoch": -2, "instance_id": "i"}, E.UNKNOWN_MEMBER_ID, "Instance id i is unknown."),
        ({"group": "nope", "epoch": 1}, E.GROUP_ID_NOT_FOUND, "Consumer group nope not found."),
        ({"group": "nope", "epoch": -1}, E.GROUP_ID_NOT_FOUND, "Group nope not found."),
        ({"member": "z", "epoch": 5}, E.UNKNOWN_MEMBER_ID, "Member z is not a member of group g."),
        ({"epoch": 99}, E.FENCED_MEMBER_EPOCH, FENCED.format("greater", 99)),
        ({"epoch": 1}, E.FENCED_MEMBER_EPOCH, FENCED.format("smaller", 1)),
        ({"rebalance_timeout": -1}, E.INVALID_REQUEST, "RebalanceTimeoutMs must be provided in first request."),
        ({"owned": None}, E.INVALID_REQUEST, "TopicPartitions must be empty when (re-)joining."),
        ({"subscribed_topic_names": None}, E.INVALID_REQUEST,
         "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."),
        ({"server_assignor": "foo"}, E.UNSUPPORTED_ASSIGNOR,
         "ServerAssignor foo is not supported. Supported assignors: uniform, range."),
        ({"subscribed_topic_regex": "t("}, E.INVALID_REGULAR_EXPRESSION,
         "SubscribedTopicRegex `t(` is not a valid regular expression: missing closing )."),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_in_kafkas_words(lab: Any, said: dict[str, Any], error: int, message: str) -> None:
    settle(Player(lab, "a"))
    asked = {"member": "a", "epoch": 0, **JOIN, **said}
    answer = heartbeat(lab, **asked)
    assert (answer.error_code, answer.error_message) == (error, message)
    assert epochs(lab) == ("Stable", 2, 2)


def test_an_answer_that_was_lost_does_not_fence(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b")
    settle(first)
    second.turn()
    heartbeat(lab, "a", 2)
    keeps = [(topic_id("orders"), 0), (topic_id("orders"), 1)]
    assert heartbeat(lab, "a", 2, owned=keeps).member_epoch == 3
    assert heartbeat(lab, "a", 2, owned=keeps).member_epoch == 3
    assert heartbeat(lab, "a", 2).error_code == E.FENCED_MEMBER_EPOCH
    assert heartbeat(lab, "a", 0, **JOIN).member_epoch == 3, "who joins again is never fenced"


def test_a_static_member_that_is_back_takes_over_what_it_had(lab: Any) -> None:
    other = Player(lab, "o")
    first = Player(lab, "s1", instance_id="i")
    settle(first, other)
    had = first.numbers
    assert heartbeat(lab, "s2", 0, instance_id="i", **JOIN).error_code == E.UNRELEASED_INSTANCE_ID
    assert heartbeat(lab, "s2", 3, instance_id="i").error_code == E.FENCED_INSTANCE_ID
    assert heartbeat(lab, "s1", -2, instance_id="i").member_epoch == -2
    assert epochs(lab) == ("Reconciling", 3, 3)
    back = heartbeat(lab, "s2", 0, instance_id="i", **JOIN)
    assert (back.member_epoch, back.assignment.topic_partitions[0].partitions) == (3, had)
    assert epochs(lab) == ("Stable", 3, 3), "nobody else has noticed"
    heartbeat(lab, "s2", -2, instance_id="i")
    lab.run(44_000)
    other.turn()
    assert len(describe(lab).members) == 2
    lab.run(1000)
    assert [one.member_id for one in describe(lab).members] == ["o"]


def test_topics_that_come_grow_and_go_move_the_group_on(lab: Any) -> None:
    first = Player(lab, "a", ["orders", "late"])
    settle(first)
    assert (first.epoch, first.numbers) == (2, [0, 1, 2, 3])
    lab.topic.topics.set("late", 1)
    settle(first)
    assert (first.epoch, first.numbers) == (3, [0, 0, 1, 2, 3])
    lab.topic.topics.set("orders", 5)
    settle(first)
    assert (first.epoch, first.numbers) == (4, [0, 0, 1, 2, 3, 4])
    lab.topic.topics.delete("late")
    settle(first)
    assert (first.epoch, first.numbers) == (5, [0, 1, 2, 3, 4])
    lab.topic.topics.set("nobody's", 3)
    settle(first)
    assert first.epoch == 5


def test_a_member_that_changes_its_topics_gives_back_at_once_what_it_no_longer_wants(make_lab: Any) -> None:
    lab = make_lab(group_consumer_assignment_interval_ms=10_000)
    lab.topic.topics.set("orders", 2)
    lab.topic.topics.set("other", 2)
    first = Player(lab, "a", ["orders", "other"])
    settle(first)
    kept = heartbeat(lab, "a", 2, subscribed_topic_names=["other"])
    assert [one.topic_id for one in kept.assignment.topic_partitions] == [topic_id("other")]
    assert epochs(lab) == ("Assigning", 3, 2)


def test_a_pattern_is_resolved_by_the_coordinator_and_finds_new_topics(lab: Any) -> None:
    first = Player(lab, "a", subscribed_topic_names=None, subscribed_topic_regex="o(r|t).*")
    first.turn()
    assert (first.epoch, first.numbers, epochs(lab)) == (1, [], ("Assigning", 2, 1)), "it is resolved behind the answer"
    settle(first)
    assert (first.epoch, first.numbers) == (2, [0, 0, 1, 1, 2, 3])
    lab.topic.topics.set("orders-2", 1)
    lab.topic.topics.set("payments", 1)
    settle(first)
    assert first.epoch == 2, "not more often than every ten seconds"
    lab.run(10_000)
    settle(first)
    assert (first.epoch, first.numbers) == (3, [0, 0, 0, 1, 1, 2, 3])
    assert describe(lab).members[0].subscribed_topic_regex == "o(r|t).*"
    heartbeat(lab, "a", 3, subscribed_topic_regex="", subscribed_topic_names=["other"])
    assert lab.coordinator().registry.consumer_groups["g"].patterns == {}


def test_a_topic_that_goes_is_gone_from_those_of_a_pattern_and_internal_topics_are_not_excepted(lab: Any) -> None:
    for name, partitions in (("orders-2", 1), ("__orders", 2)):
        lab.topic.topics.set(name, partitions)
    member = Player(lab, "a", subscribed_topic_names=None, subscribed_topic_regex=".*orders-?[0-9]?")
    settle(member)
    assert (member.epoch, member.numbers) == (2, [0, 0, 0, 1, 1, 2, 3])
    lab.topic.topics.delete("orders-2")
    lab.run(10_000)
    settle(member)
    assert (member.epoch, member.numbers) == (4, [0, 0, 1, 1, 2, 3]), "once for the topic, once for the pattern"


def test_who_subscribes_by_a_pattern_what_others_have_by_name_gets_a_share_of_it(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b", subscribed_topic_names=None, subscribed_topic_regex="orders")
    settle(first)
    assert first.numbers == [0, 1, 2, 3]
    settle(first, second)
    assert sorted([first.numbers, second.numbers]) == [[0, 1], [2, 3]] and epochs(lab)[0] == "Stable"


def test_the_group_survives_its_coordinator_with_epochs_owners_and_patterns(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b", subscribed_topic_names=None, subscribed_topic_regex="orders")
    settle(first, second)
    third = Player(lab, "c", instance_id="i")
    third.turn()
    first.turn()
    before, patterns = describe(lab), lab.coordinator().registry.consumer_groups["g"].patterns
    assert before.group_state == "Reconciling"
    lab.lead("broker-2", 1)
    assert describe(lab) == before
    assert {name: one.topics for name, one in lab.coordinator().registry.consumer_groups["g"].patterns.items()} == {
        name: one.topics for name, one in patterns.items()}  # fmt: skip
    settle(first, second, third)
    assert epochs(lab)[0] == "Stable"
    assert sorted(first.numbers + second.numbers + third.numbers) == [0, 1, 2, 3]


def test_heartbeats_wait_for_records_on_their_way_and_for_nothing_else(lab: Any) -> None:
    lab.topic.commit_delay_ms = 100
    first, second, elsewhere = Player(lab, "a"), Player(lab, "b"), Player(lab, "c", group="h")
    for player in (first, second, elsewhere):
        player.say()
    lab.run(100)
    assert (first.hear(), second.hear(), elsewhere.hear()) == (0, None, 0)
    lab.run(100)
    assert (second.hear(), first.epoch, second.epoch) == (0, 2, 3)


def test_what_is_not_written_has_not_happened_and_what_timed_out_has(lab: Any) -> None:
    settle(Player(lab, "a"))
    lab.topic.failure = E.NOT_ENOUGH_REPLICAS
    late = heartbeat(lab, "b", 0, **JOIN)
    lab.run(0)
    assert late.error_code == E.COORDINATOR_NOT_AVAILABLE and epochs(lab) == ("Stable", 2, 2)
    lab.topic.failure = 0
    assert Player(lab, "b").turn() == 0


def test_those_who_wait_when_the_partition_moves_are_sent_to_the_other_broker(lab: Any) -> None:
    lab.topic.commit_delay_ms = 100
    first, second = heartbeat(lab, "a", 0, **JOIN), heartbeat(lab, "b", 0, **JOIN)
    lab.lead("broker-2", 1)
    lab.run(100)
    assert first.error_code == second.error_code == E.NOT_COORDINATOR
    assert [one.member_id for one in describe(lab).members] == ["a"], "its record was in the log"


def test_commits_and_fetches_are_fenced_by_member_epochs(lab: Any) -> None:
    first, second = Player(lab, "a"), Player(lab, "b")
    settle(first, second)

    def commit(member: str, epoch: int, partition: int = 0, version: int = 9) -> int:
        answer = lab.commit({("orders", partition): 7}, member, epoch, version=version)
        lab.run(0)
        return int(answer.topics[0].partitions[0].error_code)

    assert commit("a", 3) == 0
    assert commit("a", 2) == 0, "it has had the partition since epoch 2 (KIP-1251)"
    assert commit("b", 2, partition=2) == E.STALE_MEMBER_EPOCH
    assert commit("b", 99, partition=2) == E.STALE_MEMBER_EPOCH
    assert commit("z", 1) == commit("", -1) == E.UNKNOWN_MEMBER_ID
    assert commit("a", 3, version=8) == E.UNSUPPORTED_VERSION

    def fetch(member: str | None, epoch: int) -> int:
        kind = m.OffsetFetchRequest
        asked = kind.OffsetFetchRequestGroup(group_id="g", member_id=member, member_epoch=epoch, topics=None)
        return int(lab.send(ApiKey.OFFSET_FETCH, 9, kind(groups=[asked])).groups[0].error_code)

    assert (fetch("a", 3), fetch(None, -1), fetch("a", 2), fetch("z", 3)) == (
        0, 0, E.STALE_MEMBER_EPOCH, E.UNKNOWN_MEMBER_ID)  # fmt: skip
    assert lab.committed() == {("orders", 0): (7, "")}


def test_tools_see_list_and_delete_such_groups(lab: Any) -> None:
    first = Player(lab, "a")
    settle(first)
    lab.stable_group(group="old")

    def listed(**filters: Any) -> list[tuple[str, str, str, str]]:
        found = lab.send(ApiKey.LIST_GROUPS, 5, m.ListGroupsRequest(**filters)).groups
        return [(one.group_id, one.protocol_type, one.group_state, one.group_type) for one in found]

    assert listed(types_filter=["Consumer"], states_filter=["stable"]) == [("g", "consumer", "Stable", "consumer")]
    assert [one[0] for one in listed(types_filter=["classic"])] == ["old"]
    assert lab.describe().group_state == "Dead" and lab.describe(version=6).error_message == "Group g is not a classic group."
    assert describe(lab, "old").error_message == "Group old is not a consumer group."
    assert describe(lab, "nope").error_message == "Group nope not found."
    assert describe(lab, "").error_code == E.INVALID_GROUP_ID
    shown = lab.coordinator().groups()["g"]
    assert (shown["type"], shown["state"], shown["members"][0]["assignment"]) == ("consumer", "Stable", {"orders": [0, 1, 2, 3]})

    def delete() -> int:
        return int(lab.send(ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=["g"])).results[0].error_code)

    assert delete() == E.NON_EMPTY_GROUP
    leave = m.LeaveGroupRequest.MemberIdentity
    answer = lab.send(ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(group_id="g", members=[leave(member_id="a"), leave(member_id="q")]))
    assert [one.error_code for one in answer.members] == [0, E.UNKNOWN_MEMBER_ID]
    lab.commit({("orders", 0): 1})
    lab.run(0)
    assert delete() == 0 and delete() == E.GROUP_ID_NOT_FOUND
    lab.lead("broker-2", 1)
    assert "g" not in lab.coordinator().groups()


def test_an_empty_group_changes_its_protocol_and_keeps_its_offsets(lab: Any) -> None:
    (member,), generation = lab.stable_group()
    lab.commit({("orders", 1): 5}, member, generation)
    lab.run(0)
    lab.run(10_000)
    first = Player(lab, "a")
    settle(first)
    assert (first.numbers, lab.committed()) == ([0, 1, 2, 3], {("orders", 1): (5, "")})
    lab.lead("broker-2", 1)
    assert epochs(lab) == ("Stable", 2, 2) and lab.committed() == {("orders", 1): (5, "")}
    heartbeat(lab, "a", -1)
    lab.stable_group()
    assert lab.committed() == {("orders", 1): (5, "")}
    lab.lead("broker-1", 2)
    assert lab.describe().group_state == "Stable" and describe(lab).error_code == E.GROUP_ID_NOT_FOUND


def test_offsets_of_topics_that_nobody_reads_expire_and_then_the_empty_group(lab: Any) -> None:
    first = Player(lab, "a")
    settle(first)
    lab.commit({("orders", 0): 1, ("other", 0): 2}, "a", 2, version=9)
    week_ms = 7 * 24 * 3_600_000
    for _ in range(week_ms // 30_000 + 30):
        lab.run(30_000)
        heartbeat(lab, "a", 2)
    assert lab.committed() == {("orders", 0): (1, "")}
    heartbeat(lab, "a", -1)
    lab.run(600_000)
    assert "g" not in lab.coordinator().groups() and lab.journal("group_state")[-1]["after"] == "Dead"


def test_a_group_has_its_own_settings_within_the_brokers_limits(lab: Any) -> None:
    lab.coordinator().take_group_settings("g", {"consumer.heartbeat.interval.ms": "7000", "consumer.session.timeout.ms": "99000"})
    assert heartbeat(lab, "a", 0, **JOIN).heartbeat_interval == 7000
    assert heartbeat(lab, "a", 0, group="h", **JOIN).heartbeat_interval == 5000
    lab.run(59_999)
    assert len(describe(lab).members) == 1 and not describe(lab, "h").members
    lab.run(1)
    assert not describe(lab).members


def test_a_full_group_takes_nobody_else(make_lab: Any) -> None:
    lab = make_lab(group_consumer_max_size=1)
    lab.topic.topics.set("orders", 1)
    settle(Player(lab, "a"))
    assert heartbeat(lab, "b", 0, **JOIN).error_code == E.GROUP_MAX_SIZE_REACHED
    assert heartbeat(lab, "a", 0, **JOIN).error_code == 0
