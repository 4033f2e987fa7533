"""Share groups (KIP-932), asked of Apache Kafka 4.3 and of a KRaft lab: the state that the share coordinator keeps."""

from __future__ import annotations

import base64
import time
import uuid
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import batch, make_topic

NOBODY = uuid.UUID(int=78)
Batch = tuple[int, int, int, int]


def one_topic(kind: Any, topic: str, topic_id: uuid.UUID, partitions: list[Any], group: str) -> Any:
    """A request about partitions of one topic."""
    return kind(group_id=group, topics=[getattr(kind, topic)(topic_id=topic_id, partitions=partitions)])


class States:
    """The share coordinator's APIs, about one topic."""

    def __init__(self, k: Script, topic_id: uuid.UUID, group: str = "share") -> None:
        self.k = k
        self.topic_id = topic_id
        self.group = group

    def initialize(self, title: str, *parts: tuple[int, int, int], topic_id: uuid.UUID | None = None, group: str | None = None) -> None:
        kind = m.InitializeShareGroupStateRequest
        said = [kind.PartitionData(partition=number, state_epoch=epoch, start_offset=start) for number, epoch, start in parts]
        request = one_topic(kind, "InitializeStateData", topic_id or self.topic_id, said, self.group if group is None else group)
        self.k(title, ApiKey.INITIALIZE_SHARE_GROUP_STATE, 0, request)

    def read(self, title: str, *parts: tuple[int, int], topic_id: uuid.UUID | None = None) -> None:
        kind = m.ReadShareGroupStateRequest
        said = [kind.PartitionData(partition=number, leader_epoch=epoch) for number, epoch in parts]
        request = one_topic(kind, "ReadStateData", topic_id or self.topic_id, said, self.group)
        self.k(title, ApiKey.READ_SHARE_GROUP_STATE, 0, request)

    def write(self, title: str, number: int, epoch: int, leader: int, start: int, *batches: Batch, done: int = 0, version: int = 1) -> None:
        kind = m.WriteShareGroupStateRequest
        told = [
            kind.StateBatch(first_offset=first, last_offset=last, delivery_state=state, delivery_count=count)
            for first, last, state, count in batches
        ]
        said = kind.PartitionData(
            partition=number, state_epoch=epoch, leader_epoch=leader, start_offset=start, delivery_complete_count=done, state_batches=told
        )
        self.k(title, ApiKey.WRITE_SHARE_GROUP_STATE, version, one_topic(kind, "WriteStateData", self.topic_id, [said], self.group))

    def summarize(self, title: str, *numbers: int, topic_id: uuid.UUID | None = None) -> None:
        kind = m.ReadShareGroupStateSummaryRequest
        said = [kind.PartitionData(partition=number, leader_epoch=0) for number in numbers]
        request = one_topic(kind, "ReadStateSummaryData", topic_id or self.topic_id, said, self.group)
        for version in (0, 1):
            self.k(title, ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, version, request)

    def delete(self, title: str, *numbers: int, topic_id: uuid.UUID | None = None) -> None:
        kind = m.DeleteShareGroupStateRequest
        said = [kind.PartitionData(partition=number) for number in numbers]
        request = one_topic(kind, "DeleteStateData", topic_id or self.topic_id, said, self.group)
        self.k(title, ApiKey.DELETE_SHARE_GROUP_STATE, 0, request)


def coordinator_key(group: str, topic_id: uuid.UUID, partition: int) -> str:
    return f"{group}:{base64.urlsafe_b64encode(topic_id.bytes).decode().rstrip('=')}:{partition}"


def share_states(k: Script) -> None:
    """Epochs that fence, batches that replace each other, what is unknown; in each version."""
    topic_id = make_topic(k, "shared-state", 3)
    find = m.FindCoordinatorRequest
    names = [coordinator_key("share", topic_id, number) for number in range(3)]
    k.until(ApiKey.FIND_COORDINATOR, 6, find(key_type=2, coordinator_keys=names), lambda answer: not any(
        one.error_code for one in answer.coordinators))  # fmt: skip
    nowhere = coordinator_key("", NOBODY, 0)
    for title, name in (("no colon", "x"), ("no group", nowhere), ("no number", f"g{nowhere[:-1]}z")):
        k(f"find: {title}", ApiKey.FIND_COORDINATOR, 6, find(key_type=2, coordinator_keys=[name]))
    states = States(k, topic_id)
    first = m.ReadShareGroupStateSummaryRequest
    said = [first.PartitionData(partition=number, leader_epoch=0) for number in range(3)]
    k.until(ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, 1, one_topic(first, "ReadStateSummaryData", topic_id, said, "share"),
            lambda answer: not any(part.error_code for part in answer.results[0].partitions))  # fmt: skip
    states.summarize("nothing there", 0)
    states.summarize("no such partition", 9)
    states.summarize("below", -1)
    states.summarize("no such topic", 0, topic_id=NOBODY)
    states.read("not initialized", (0, 0))
    states.write("write, not initialized", 0, 0, 0, 5)
    states.delete("delete, not initialized", 0)
    states.delete("delete in nothing", 0, topic_id=NOBODY)
    states.initialize("initialize", (0, 2, -1), (1, 2, 7))
    states.initialize("initialize nothing", (0, 0, 0), topic_id=NOBODY)
    states.initialize("initialize below", (-1, 0, 0))
    states.initialize("initialize nobody's", (0, 0, 0), group="")
    states.initialize("an older state epoch", (1, 1, 3))
    states.summarize("initialized", 0)
    states.summarize("initialized elsewhere", 1)
    states.read("a leader begins", (0, 4))
    states.read("an older leader", (0, 3))
    states.read("read in nothing", (0, 0), topic_id=NOBODY)
    states.write("an older leader writes", 0, 2, 3, 0)
    states.write("an older state writes", 0, 1, 4, 0)
    states.write("first", 0, 2, 4, 0, (0, 9, 0, 1))
    states.write("second", 0, 2, 4, 0, (2, 4, 2, 1), (7, 9, 4, 5), done=6)
    states.read("what is known", (0, 4))
    states.write("older versions count nothing", 0, 2, 4, 3, (5, 6, 2, 2), version=0)
    states.read("after the start has moved", (0, 5))
    states.summarize("summary", 0)
    states.delete("delete", 0)
    states.read("deleted", (0, 5))
    states.summarize("summary of the deleted", 0)
    for key, kind in (
        (ApiKey.INITIALIZE_SHARE_GROUP_STATE, m.InitializeShareGroupStateRequest), (ApiKey.READ_SHARE_GROUP_STATE, m.ReadShareGroupStateRequest),
        (ApiKey.WRITE_SHARE_GROUP_STATE, m.WriteShareGroupStateRequest), (ApiKey.DELETE_SHARE_GROUP_STATE, m.DeleteShareGroupStateRequest),
        (ApiKey.READ_SHARE_GROUP_STATE_SUMMARY, m.ReadShareGroupStateSummaryRequest),
    ):  # fmt: skip
        k(f"nothing of {key.name}", key, 0, kind(group_id="share", topics=[]))


def share_groups(k: Script) -> None:
    """ShareGroupHeartbeat, ShareGroupDescribe, and share groups among the others."""
    make_topic(k, "shared", 4)
    make_topic(k, "shared-too", 1)
    k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["sharing"]),
            lambda answer: not answer.coordinators[0].error_code)  # fmt: skip
    kind = m.ShareGroupHeartbeatRequest

    def beat(member: str, epoch: int, topics: list[str] | None = None, group: str = "sharing", rack: str | None = None) -> Any:
        return kind(group_id=group, member_id=member, member_epoch=epoch, rack_id=rack, subscribed_topic_names=topics)

    def say(title: str, request: Any) -> None:
        k(title, ApiKey.SHARE_GROUP_HEARTBEAT, 1, request)

    def describe(title: str, *groups: str) -> None:
        k(title, ApiKey.SHARE_GROUP_DESCRIBE, 1, m.ShareGroupDescribeRequest(group_ids=list(groups), include_authorized_operations=True))

    k.until(ApiKey.SHARE_GROUP_HEARTBEAT, 1, beat("x", 5, group="elsewhere"), lambda answer: answer.error_code == NOT_FOUND)
    say("no member", beat("", 0, ["shared"]))
    say("no group", beat("a", 0, ["shared"], ""))
    say("an empty rack", beat("a", 0, ["shared"], rack=""))
    say("no topics", beat("a", 0))
    say("an empty list", beat("a", 0, []))
    say("below", beat("a", -2))
    say("unknown group", beat("a", 3))
    say("leaves an unknown group", beat("a", -1))
    describe("nobody", "sharing", "")
    say("first", beat("a", 0, ["shared"]))
    describe("one", "sharing")

    def settled(member: str, epoch: int, wanted: int) -> None:
        """Heartbeats until the member has reached the epoch."""
        deadline = time.monotonic() + 60
        while epoch != wanted:
            assert time.monotonic() < deadline
            time.sleep(0.02)
            answer = k.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, beat(member, epoch))
            assert answer.error_code == 0, answer
            epoch = answer.member_epoch

    settled("a", 2, 3)
    first = 3
    describe("with four", "sharing")
    say("says nothing new", beat("a", first))
    say("an old epoch", beat("a", first - 1))
    say("an older one", beat("a", first - 2))
    say("says all again", beat("a", first, ["shared"]))
    say("a newer one", beat("a", first + 1))
    say("unknown member", beat("b", 3))
    time.sleep(1.2)  # (KIP-1263: not more than one assignment a second)
    say("second", beat("b", 0, ["shared"], rack="r"))
    settled("a", 3, 4)
    describe("two", "sharing")
    time.sleep(1.2)
    say("others", beat("b", 4, ["shared-too"]))
    describe("different", "sharing")
    say("unknown leaves", beat("c", -1))
    for version in (4, 5):
        for states, types in (([], ["share"]), (["stable"], []), (["Empty"], ["Share"])):
            listed = m.ListGroupsRequest(states_filter=states, types_filter=types if version == 5 else [])
            answer = k.ask(ApiKey.LIST_GROUPS, version, listed)
            answer.groups = [one for one in answer.groups if one.group_id == "sharing"]
            k.note(f"listed {states} {types} v{version}", answer)
    k("as a classic group", ApiKey.DESCRIBE_GROUPS, 6, m.DescribeGroupsRequest(groups=["sharing"]))
    k("as a next-generation group", ApiKey.CONSUMER_GROUP_DESCRIBE, 1, m.ConsumerGroupDescribeRequest(group_ids=["sharing"]))
    k("joined as such", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, m.ConsumerGroupHeartbeatRequest(
        group_id="sharing", member_id="z", member_epoch=0, rebalance_timeout=1000, subscribed_topic_names=["shared"], topic_partitions=[]))
    k("delete with members", ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=["sharing"]))
    say("leaves", beat("a", -1))
    say("leaves too", beat("b", -1))
    describe("empty", "sharing")
    k("delete", ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=["sharing", "nobody"]))
    describe("deleted", "sharing")


def share_fetches(k: Script) -> None:
    """ShareFetch and ShareAcknowledge: sessions, states of records, what is refused."""
    topic_id = make_topic(k, "queue", 2)
    change = m.IncrementalAlterConfigsRequest
    config = change.AlterableConfig(name="share.auto.offset.reset", config_operation=0, value="earliest")
    k.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change(resources=[
        change.AlterConfigsResource(resource_type=32, resource_name="workers", configs=[config])]))  # fmt: skip
    k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["workers"]),
            lambda answer: not answer.coordinators[0].error_code)  # fmt: skip
    p = m.ProduceRequest
    for values in ((b"a", b"b", b"c"), (b"d",), (b"e", b"f")):
        data = p.PartitionProduceData(index=0, records=batch(*values))
        k.ask(ApiKey.PRODUCE, 9, p(acks=1, timeout=3000, transactional_id=None, topic_data=[
            p.TopicProduceData(name="queue", partition_data=[data])]))  # fmt: skip
    kind = m.ShareFetchRequest
    beat = m.ShareGroupHeartbeatRequest
    epoch = 0

    def assigned(answer: Any) -> bool:
        nonlocal epoch
        epoch = answer.member_epoch
        return bool(answer.assignment is not None and answer.assignment.topic_partitions)

    deadline = time.monotonic() + 60
    while not assigned(k.ask(ApiKey.SHARE_GROUP_HEARTBEAT, 1, beat(group_id="workers", member_id="w", member_epoch=epoch, subscribed_topic_names=["queue"]))):
        assert time.monotonic() < deadline
        time.sleep(0.05)

    def parts(said: dict[int, list[tuple[int, int, list[int]]]]) -> list[Any]:
        return [
            kind.FetchPartition(partition_index=index, acknowledgement_batches=[
                kind.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types) for first, last, types in batches
            ]) for index, batches in said.items()
        ]  # fmt: skip

    def fetch(
        title: str, session: int, said: dict[int, list[tuple[int, int, list[int]]]] | None = None, member: str = "w", version: int = 2,
        topic: uuid.UUID | None = None, records: int = 500, mode: int = 0, wait: int = 300, **more: Any,
    ) -> Any:  # fmt: skip
        topics = [] if said is None else [kind.FetchTopic(topic_id=topic or topic_id, partitions=parts(said))]
        request = kind(group_id="workers", member_id=member, share_session_epoch=session, max_wait=wait, min_bytes=1, max_bytes=1 << 20,
                       max_records=records, batch_size=500, share_acquire_mode=mode, topics=topics)  # fmt: skip
        for name, value in more.items():
            setattr(request, name, value)
        return k(title, ApiKey.SHARE_FETCH, version, request)

    def acknowledge(title: str, session: int, said: dict[int, list[tuple[int, int, list[int]]]], member: str = "w", version: int = 2, **more: Any) -> None:
        a = m.ShareAcknowledgeRequest
        told = [
            a.AcknowledgePartition(partition_index=index, acknowledgement_batches=[
                a.AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=types) for first, last, types in batches
            ]) for index, batches in said.items()
        ]  # fmt: skip
        k(title, ApiKey.SHARE_ACKNOWLEDGE, version, a(group_id="workers", member_id=member, share_session_epoch=session, topics=[
            a.AcknowledgeTopic(topic_id=topic_id, partitions=told)], **more))  # fmt: skip

    fetch("no session", 3, {0: []})
    fetch("a session that is not there ends", -1)
    fetch("no member", 0, {0: []}, member="")
    fetch("a long member", 0, {0: []}, member="x" * 37)
    fetch("acknowledges at once", 0, {0: [(0, 0, [1])]})
    acknowledge("acknowledges without a session", 1, {0: [(0, 0, [1])]})
    k.until(ApiKey.SHARE_FETCH, 2, kind(group_id="workers", member_id="first", share_session_epoch=0, max_wait=500, min_bytes=0, max_bytes=1 << 20,
        max_records=1, batch_size=1, topics=[kind.FetchTopic(topic_id=topic_id, partitions=parts({1: []}))]), lambda answer: answer.responses)  # fmt: skip
    k.until(ApiKey.SHARE_FETCH, 2, kind(group_id="workers", member_id="first", share_session_epoch=0, max_wait=500, min_bytes=1, max_bytes=1 << 20,
        max_records=1, batch_size=1, topics=[kind.FetchTopic(topic_id=topic_id, partitions=parts({0: []}))]),
        lambda answer: answer.responses and answer.responses[0].partitions[0].acquired_records)  # fmt: skip
    fetch("the first one leaves", -1, member="first")
    fetch("first", 0, {0: [], 1: []}, records=1)
    fetch("second", 1, records=1)
    fetch("the same epoch", 1)
    fetch("a newer epoch", 7)
    acknowledge("at the first epoch", 0, {0: [(0, 0, [1])]})
    acknowledge("some", 2, {0: [(0, 0, [1]), (1, 2, [2, 3])]})
    acknowledge("again", 3, {0: [(0, 0, [1])]})
    acknowledge("of the first again", 4, {0: [(2, 2, [1])]})
    acknowledge("past all", 5, {0: [(3, 99, [1])]})
    acknowledge("out of order", 6, {0: [(3, 3, [1]), (1, 1, [1])]})
    acknowledge("wrong types", 7, {0: [(3, 3, [1, 1])]})
    acknowledge("unknown type", 8, {0: [(3, 3, [9])]})
    acknowledge("no types", 9, {0: [(3, 3, [])]})
    acknowledge("a renewal unasked", 10, {0: [(3, 3, [4])]})
    acknowledge("a renewal", 11, {0: [(3, 3, [4])]}, is_renew_ack=True)
    acknowledge("a renewal of old", 12, {0: [(3, 3, [4])]}, version=1)
    acknowledge("a partition that is not there", 13, {9: [(3, 3, [1])]})
    fetch("another member", 0, {0: []}, member="v")
    fetch("who has it", 1, {0: [(3, 3, [1])]}, member="v", records=1)
    fetch("a renewal that fetches", 14, {0: [(3, 3, [4])]}, is_renew_ack=True)
    fetch("a renewal in a fetch", 14, {0: [(3, 3, [4])]}, is_renew_ack=True, max_bytes=0, min_bytes=0, records=0, wait=0)
    fetch("in a fetch", 15, {0: [(3, 3, [1])]}, mode=1, records=1)
    fetch("as before renewals", 16, records=1, version=1)
    fetch("ends", -1)
    fetch("the other one gets the rest", 2, member="v")
    acknowledge("the other one ends", -1, {0: [(1, 1, [1])]}, member="v")
    fetch("it is over", 3, member="v")


def share_offsets(k: Script) -> None:
    """DescribeShareGroupOffsets, AlterShareGroupOffsets, DeleteShareGroupOffsets of a group without members."""
    make_topic(k, "kept", 2)
    p = m.ProduceRequest
    data = p.PartitionProduceData(index=0, records=batch(b"a", b"b", b"c"))
    k.ask(ApiKey.PRODUCE, 9, p(acks=1, timeout=3000, transactional_id=None, topic_data=[p.TopicProduceData(name="kept", partition_data=[data])]))
    k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["offsets"]),
            lambda answer: not answer.coordinators[0].error_code)  # fmt: skip
    d, a, g = m.DescribeShareGroupOffsetsRequest, m.AlterShareGroupOffsetsRequest, m.DeleteShareGroupOffsetsRequest

    def describe(title: str, topics: dict[str, list[int]] | None) -> None:
        asked = None if topics is None else [
            d.DescribeShareGroupOffsetsRequestTopic(topic_name=name, partitions=numbers) for name, numbers in topics.items()
        ]  # fmt: skip
        for version in (0, 1):
            k(title, ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, version, d(groups=[d.DescribeShareGroupOffsetsRequestGroup(group_id="offsets", topics=asked)]))

    def alter(title: str, topics: dict[str, dict[int, int]], group: str = "offsets") -> None:
        asked = [
            a.AlterShareGroupOffsetsRequestTopic(topic_name=name, partitions=[
                a.AlterShareGroupOffsetsRequestPartition(partition_index=number, start_offset=start) for number, start in starts.items()
            ]) for name, starts in topics.items()
        ]  # fmt: skip
        k(title, ApiKey.ALTER_SHARE_GROUP_OFFSETS, 0, a(group_id=group, topics=asked))

    def delete(title: str, *topics: str, group: str = "offsets") -> None:
        asked = [g.DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in topics]
        k(title, ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, g(group_id=group, topics=asked))

    k.until(ApiKey.DELETE_SHARE_GROUP_OFFSETS, 0, g(group_id="offsets", topics=[]), lambda answer: answer.error_code == NOT_FOUND)
    k.until(ApiKey.FIND_COORDINATOR, 6, m.FindCoordinatorRequest(key_type=2, coordinator_keys=[coordinator_key("offsets", NOBODY, 0)]),
            lambda answer: not answer.coordinators[0].error_code)  # fmt: skip
    describe("no group", None)
    describe("nothing", {})
    describe("nothing is known", {"kept": [0, 1], "nowhere": [0]})
    delete("of no group", "kept")
    delete("of nobody", "kept", group="")
    alter("set for nobody", {"kept": {0: 1}}, group="")
    alter("set", {"kept": {0: 1, 1: 0, 9: 5}, "nowhere": {0: 1}})
    deadline = time.monotonic() + 30
    while not k.ask(ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, 0, d(groups=[d.DescribeShareGroupOffsetsRequestGroup(group_id="offsets", topics=None)])).groups[0].topics:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    describe("all", None)
    describe("one", {"kept": [0]})
    alter("set again", {"kept": {0: 2}})
    describe("after that", None)
    delete("some", "kept", "nowhere")
    describe("deleted", None)
    delete("again", "kept")
    describe("of the deleted", {"kept": [0]})


NOT_FOUND = 69
SCRIPTS = {
    "share states": share_states, "share groups": share_groups, "share fetches": share_fetches,
    "share offsets": share_offsets,
}
