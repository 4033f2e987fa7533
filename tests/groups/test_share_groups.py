"""Share groups at their coordinator: who has what, what the log says of it, and who is told of new partitions."""

from __future__ import annotations

import random
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

from broker_core.groups.consumer.assignors import Wish
from broker_core.groups.share.assignor import simple
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E

TOPICS = [uuid.UUID(int=number) for number in range(1, 4)]


def beat(lab: Any, member: str, epoch: int, topics: list[str] | None = None, group: str = "g") -> Any:
    request = m.ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=topics)
    answer = lab.send(ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)
    lab.run(lab.topic.commit_delay_ms)
    return answer


def numbers(answer: Any) -> list[int]:
    return sorted(number for one in answer.assignment.topic_partitions for number in one.partitions)


def joined(lab: Any, *members: str) -> None:
    """All members are there and the partitions are known."""
    for member in members:
        assert beat(lab, member, 0, ["orders"]).error_code == 0
    while lab.persister.asked:
        lab.persister.answer()
    lab.run(1000)


def test_partitions_are_assigned_when_the_share_coordinator_knows_them(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    first = beat(lab, "a", 0, ["orders"])
    assert (first.member_epoch, numbers(first)) == (2, [])
    asked = lab.persister.answer()
    assert [number for _, number in asked] == list(range(len(asked))) and asked
    lab.run(1000)
    assert numbers(beat(lab, "a", 2)) == [number for _, number in asked]
    assert lab.persister.asked == []


def test_a_partition_that_could_not_be_made_known_is_tried_again(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    beat(lab, "a", 0, ["orders"])
    lab.persister.answer(E.COORDINATOR_NOT_AVAILABLE)
    lab.run(0)
    beat(lab, "a", 2)
    assert len(lab.persister.asked) == 1


def test_a_partition_may_have_several_readers(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    joined(lab, *"abcdefgh")
    epoch = lab.coordinator().share.groups["g"].epoch
    for member in "abcdefgh":
        beat(lab, member, 0, ["orders"])
        lab.run(1000)
    assert lab.coordinator().share.groups["g"].epoch >= epoch
    shared = [numbers(beat(lab, member, 0, ["orders"])) for member in "abcdefgh"]
    partitions = {number for one in shared for number in one}
    assert all(shared)
    assert len(partitions) < 8


def test_who_is_silent_is_out(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    joined(lab, "a", "b")
    lab.run(30_000)
    epoch = beat(lab, "a", 0, ["orders"]).member_epoch
    lab.run(20_000)
    assert list(lab.coordinator().share.groups["g"].members) == ["a"]
    assert beat(lab, "a", epoch).error_code == 0
    assert beat(lab, "b", 3).error_code == E.UNKNOWN_MEMBER_ID


def test_the_next_coordinator_knows_the_group(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    joined(lab, "a", "b")
    first, second = beat(lab, "a", 0, ["orders"]), beat(lab, "b", 0, ["orders"])
    before = lab.coordinator().share.groups["g"]
    lab.lead("broker-2", 1)
    after = lab.coordinator().share.groups["g"]
    assert after is not before
    for name in ("epoch", "metadata_hash", "assignment_epoch", "members", "targets", "deleting"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.assignable() == before.assignable()
    assert beat(lab, "a", first.member_epoch).error_code == 0
    assert beat(lab, "b", second.member_epoch).error_code == 0


def test_a_group_is_deleted_when_the_share_coordinator_has_forgotten_it(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    joined(lab, "a")
    errors: list[E] = []
    lab.coordinator().share.delete("g", errors.append)
    assert errors == [E.NON_EMPTY_GROUP]
    beat(lab, "a", -1)
    lab.coordinator().share.delete("g", errors.append)
    lab.run(0)
    assert lab.persister.asked[0][0] == "delete"
    lab.persister.answer()
    lab.run(0)
    assert errors[-1] == E.NONE
    assert lab.coordinator().share.groups == {}
    lab.lead("broker-2", 1)
    assert lab.coordinator().share.groups == {}


def test_two_deletions_at_once_delete_it_once(make_lab: Any) -> None:
    lab = make_lab()
    joined(lab, "a")
    beat(lab, "a", -1)
    errors: list[E] = []
    for _ in range(2):
        lab.coordinator().share.delete("g", errors.append)
    lab.run(1000)
    assert sorted(errors) == [E.NONE, E.GROUP_ID_NOT_FOUND]
    assert lab.coordinator().share.groups == {}


def test_a_topic_that_is_deleted_is_none_of_its_partitions_any_more(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    joined(lab, "a")
    group = lab.coordinator().share.groups["g"]
    (topic,) = group.initialized
    lab.coordinator().share.topics_deleted([uuid.UUID(int=77)])
    assert group.assignable()
    lab.coordinator().share.topics_deleted([topic])
    lab.run(1000)
    assert group.assignable() == set()
    lab.lead("broker-2", 1)
    assert lab.coordinator().share.groups["g"].assignable() == set()


def test_an_id_is_of_one_kind(make_lab: Any) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 4)
    joined(lab, "a")
    assert lab.join(group="g").error_code == E.INCONSISTENT_GROUP_PROTOCOL
    assert lab.commit({("orders", 0): 4}, group="g").topics[0].partitions[0].error_code == E.GROUP_ID_NOT_FOUND
    lab.join(group="classic")
    assert beat(lab, "a", 0, ["orders"], group="classic").error_code == E.GROUP_ID_NOT_FOUND


def test_any_assignment_gives_everybody_something_and_every_partition_a_reader() -> None:
    for seed in range(300):
        chance = random.Random(seed)
        partitions = [(topic, number) for topic in TOPICS for number in range(chance.randrange(1, 5))]
        members = [f"m{number}" for number in range(chance.randrange(1, 9))]
        alike = chance.random() < 0.5
        before = {member: frozenset(chance.sample(partitions, chance.randrange(len(partitions)))) for member in members}
        wishes = {
            member: Wish(frozenset(TOPICS if alike else chance.sample(TOPICS, chance.randrange(1, 4))), before[member])
            for member in members
        }
        found = simple(wishes, partitions)
        for member, target in found.items():
            assert {topic for topic, _ in target} <= wishes[member].topics
        for one in partitions:
            readers = [member for member in members if one in found[member]]
            wanting = [member for member in members if one[0] in wishes[member].topics]
            assert bool(readers) == bool(wanting), (seed, one)
        if alike:
            sizes = [len(target) for target in found.values()]
            assert min(sizes) > 0 and max(sizes) - min(sizes) <= 1 + (len(members) > len(partitions)), (seed, sizes)


def test_apaches_decoder_reads_what_a_share_group_writes(make_lab: Any, require_oracle: Path, tmp_path: Path) -> None:
    lab = make_lab()
    lab.topic.topics.set("orders", 2)
    joined(lab, "a")
    beat(lab, "a", 2)
    beat(lab, "a", -1)
    lab.coordinator().share.delete("g", lambda error: None)
    lab.run(0)
    lab.persister.answer()
    lab.run(0)
    segment = tmp_path / "00000000000000000000.log"
    segment.write_bytes(b"".join(lab.topic.files()))
    tool = ["--newest", "tool", "org.apache.kafka.tools.DumpLogSegments", "--offsets-decoder", "--files", str(segment)]
    shown = subprocess.run([sys.executable, str(require_oracle), *tool], capture_output=True, text=True, timeout=120, check=True).stdout
    for expected in (
        'key: {"type":"10","data":{"groupId":"g","memberId":"a"}}', '"subscribedTopicNames":["orders"]',
        'key: {"type":"11","data":{"groupId":"g"}}', 'key: {"type":"12","data":{"groupId":"g"}} payload: {"version":"0","data":{"assignmentEpoch":3',
        'key: {"type":"13","data":{"groupId":"g","memberId":"a"}} payload: {"version":"0","data":{"topicPartitions":[{"topicId":',
        '"memberEpoch":3,"previousMemberEpoch":2,"state":0', '"initializingTopics":[{', '"initializedTopics":[{', '"deletingTopics":[{',
        'key: {"type":"15","data":{"groupId":"g"}} payload: <DELETE>',
    ):  # fmt: skip
        assert expected in shown, f"{expected}\n{shown}"
