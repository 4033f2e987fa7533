"""Next-generation groups (KIP-848), asked of Apache Kafka 4.3 and of a KRaft lab: both versions of each API."""

from __future__ import annotations

import time
import uuid
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import make_topic
from tests.oracle.script_transactions import Asking as InTransactions

NOBODY = uuid.UUID(int=77)
Owned = list[tuple[uuid.UUID, list[int]]]
INTERVAL_S = 1.2
"""A group is not assigned anew more often than once a second (KIP-1263)."""


class Asking:
    """Heartbeats to one group. Ids that the broker has made are told by number."""

    def __init__(self, k: Script, group: str) -> None:
        self.k = k
        self.group = group
        find = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group])
        k.until(ApiKey.FIND_COORDINATOR, 4, find, lambda answer: not answer.coordinators[0].error_code)
        unknown = m.ConsumerGroupDescribeRequest(group_ids=[group])
        k.until(ApiKey.CONSUMER_GROUP_DESCRIBE, 0, unknown, lambda answer: answer.groups[0].error_code == 69)

    def beat(self, title: str, version: int, member: str, epoch: int, topics: list[str] | None = None, owned: Owned | None = None, **more: Any) -> Any:
        """A heartbeat; the first one of a member says everything."""
        request = self.request(member, epoch, topics, owned, **more)
        answer = self.k.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, version, request)
        shown = self.k.shown(answer)
        if len(answer.member_id or "") == 22:
            shown["member_id"] = self.k.name("member", answer.member_id)
        self.k.heard(f"{title} v{version}", answer)
        self.k.answers[f"{title} v{version}"] = shown
        return answer

    def request(self, member: str, epoch: int, topics: list[str] | None = None, owned: Owned | None = None, **more: Any) -> Any:
        c = m.ConsumerGroupHeartbeatRequest
        had = [] if epoch == 0 and owned is None else owned
        parts = None if had is None else [c.TopicPartitions(topic_id=one, partitions=numbers) for one, numbers in had]
        fields = {"group_id": self.group, "rebalance_timeout": 30_000 if epoch == 0 else -1, **more}
        return c(member_id=member, member_epoch=epoch, subscribed_topic_names=topics, topic_partitions=parts, **fields)

    def describe(self, title: str, *groups: str) -> None:
        for version in (0, 1):
            request = m.ConsumerGroupDescribeRequest(group_ids=list(groups or (self.group,)), include_authorized_operations=True)
            answer = self.k.ask(ApiKey.CONSUMER_GROUP_DESCRIBE, version, request)
            for one in (one for group in answer.groups for one in group.members):
                if len(one.member_id) == 22:
                    one.member_id = self.k.name("member", one.member_id)
            self.k.note(f"{title} v{version}", answer)

    def commit(self, title: str, version: int, member: str, epoch: int, topic_id: uuid.UUID, name: str, **more: Any) -> None:
        o = m.OffsetCommitRequest
        part = o.OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="m")
        topics = [o.OffsetCommitRequestTopic(**({"topic_id": topic_id} if version >= 10 else {"name": name}), partitions=[part])]
        request = o(group_id=self.group, member_id=member, generation_id_or_member_epoch=epoch, topics=topics, **more)
        self.k(title, ApiKey.OFFSET_COMMIT, version, request)

    def fetch(self, title: str, version: int, member: str | None, epoch: int) -> None:
        o = m.OffsetFetchRequest
        asked = o.OffsetFetchRequestGroup(group_id=self.group, member_id=member, member_epoch=epoch, topics=None)
        self.k(title, ApiKey.OFFSET_FETCH, version, o(groups=[asked]))


def heartbeats(k: Script) -> None:
    """What a heartbeat may say, and what comes of it."""
    asking = Asking(k, "modern")
    topic_id = make_topic(k, "modern", 4)
    beat = asking.beat
    for version in (0, 1):
        for title, member, epoch, more in (
            ("no group", "a", 0, {"group_id": ""}), ("a blank group", "a", 0, {"group_id": "  "}), ("below", "a", -3, {}),
            ("no member goes on", "", 1, {}), ("no topics", "a", 0, {"topics": None}), ("no rebalance time-out", "a", 0, {"rebalance_timeout": -1}),
            ("owns at the first", "a", 0, {"owned": [(topic_id, [0])]}), ("an empty instance", "a", 0, {"instance_id": ""}),
            ("an empty rack", "a", 0, {"rack_id": ""}), ("an empty pattern", "a", 0, {"topics": None, "subscribed_topic_regex": ""}),
            ("a bad pattern", "a", 0, {"topics": None, "subscribed_topic_regex": "(ab"}), ("no such assignor", "a", 0, {"server_assignor": "sticky"}),
            ("a static leave without a name", "a", -2, {}), ("unknown group", "a", 3, {}), ("leaves an unknown group", "a", -1, {}),
        ):  # fmt: skip
            topics = more.pop("topics", ["modern"] if epoch == 0 else None)
            beat(title, version, member, epoch, topics, **more)
    asking.describe("unknown", "modern", "", "nobody")
    beat("no member", 1, "", 0, ["modern"])
    one = beat("without an id", 0, "", 0, ["modern"])
    first, now = one.member_id, one.member_epoch
    asking.describe("one")
    beat("says nothing new", 0, first, now)
    beat("has it", 1, first, now, owned=[(topic_id, [0, 1, 2, 3])])
    beat("an older epoch", 1, first, now - 1, owned=[])
    beat("joins again", 1, first, 0, ["modern"])
    beat("a newer epoch", 1, first, now + 6)
    beat("unknown member", 1, "b", 3)
    beat("unknown member leaves", 1, "b", -1)
    time.sleep(INTERVAL_S)
    new = beat("second", 1, "b", 0, ["modern"], server_assignor="range", rack_id="r").member_epoch
    asking.describe("two, the first has all yet")
    beat("the second waits", 1, "b", new)
    told = beat("the first is told", 1, first, now, owned=[(topic_id, [0, 1, 2, 3])])
    keeps = list(told.assignment.topic_partitions[0].partitions)
    gives = [number for number in range(4) if number not in keeps]
    asking.describe("the first gives back")
    beat("says nothing while it gives back", 1, first, now)
    beat("gave back too little", 1, first, now, owned=[(topic_id, [*keeps, gives[0]])])
    beat("gave back", 1, first, now, owned=[(topic_id, keeps)])
    beat("the epoch before, and has what it has", 1, first, now, owned=[(topic_id, keeps)])
    beat("the epoch before, and has more", 1, first, now, owned=[(topic_id, [0, 1, 2, 3])])
    beat("the second gets", 1, "b", new, owned=[])
    beat("the second has", 1, "b", new, owned=[(topic_id, gives)])
    asking.describe("two")
    for version in (9, 10):
        for title, member, epoch in (("right", first, new), ("an old epoch", first, now), ("a newer one", first, new + 1), ("unknown", "c", new), ("nobody", "", -1)):
            asking.commit(f"commit, {title}", version, member, epoch, topic_id, "modern")
            asking.fetch(f"fetch, {title}", version, member, epoch)
        asking.fetch("fetch without a member", version, None, -1)
    asking.commit("commit to what is not there", 10, first, new, NOBODY, "")
    time.sleep(INTERVAL_S)
    beat("another rack", 1, "b", new, rack_id="s")
    time.sleep(INTERVAL_S)
    changed = beat("another assignor", 1, "b", new, server_assignor="uniform").member_epoch
    beat("no such assignor now", 1, "b", changed, server_assignor="sticky")
    asking.describe("changed")
    beat("leaves", 1, "b", -1)
    time.sleep(INTERVAL_S)
    beat("the first is alone", 1, first, new)
    others(k, "modern")
    beat("the first leaves", 0, first, -1)
    asking.describe("empty")
    k("deleted", ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=["modern"]))
    asking.describe("gone")


def others(k: Script, group: str) -> None:
    """The group, asked about as if it were a classic or a share group."""
    k("as a classic group", ApiKey.DESCRIBE_GROUPS, 6, m.DescribeGroupsRequest(groups=[group]))
    k("as a share group", ApiKey.SHARE_GROUP_DESCRIBE, 1, m.ShareGroupDescribeRequest(group_ids=[group]))
    k("a classic heartbeat", ApiKey.HEARTBEAT, 4, m.HeartbeatRequest(group_id=group, generation_id=1, member_id="x"))
    k("a classic leave", ApiKey.LEAVE_GROUP, 5, m.LeaveGroupRequest(group_id=group, members=[m.LeaveGroupRequest.MemberIdentity(member_id="x")]))
    share = m.ShareGroupHeartbeatRequest(group_id=group, member_id="s", member_epoch=0, subscribed_topic_names=["modern"])
    k("a share member", ApiKey.SHARE_GROUP_HEARTBEAT, 1, share)
    k("delete with members", ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=[group]))
    for version in (4, 5):
        for states, types in (([], ["consumer"]), (["stable"], []), (["Empty"], ["Consumer"])):
            answer = k.ask(ApiKey.LIST_GROUPS, version, m.ListGroupsRequest(states_filter=states, types_filter=types if version == 5 else []))
            answer.groups = [one for one in answer.groups if one.group_id == group]
            k.note(f"listed {states} {types} v{version}", answer)


def static_members(k: Script) -> None:
    """Members with a name of their own, and those that subscribe to a pattern."""
    asking = Asking(k, "named")
    topic_id = make_topic(k, "named-1", 2)
    beat = asking.beat
    now = beat("joins", 1, "a", 0, ["named-1"], instance_id="i").member_epoch
    beat("joins again", 1, "a", 0, ["named-1"], instance_id="i")
    beat("another with the name", 1, "b", 0, ["named-1"], instance_id="i")
    beat("goes on without the name", 1, "a", now)
    beat("goes on with another name", 1, "a", now, instance_id="j")
    beat("has it", 1, "a", now, instance_id="i", owned=[(topic_id, [0, 1])])
    beat("leaves for a while", 1, "a", -2, instance_id="i")
    asking.describe("away")
    beat("goes on though away", 1, "a", now, instance_id="i")
    beat("comes back with another id", 1, "b", 0, ["named-1"], instance_id="i")
    asking.describe("back")
    beat("the one before", 1, "a", now, instance_id="i")
    asking.commit("the one before commits", 9, "a", now, topic_id, "named-1", group_instance_id="i")
    beat("leaves by a wrong name", 1, "b", -1, instance_id="x")
    beat("leaves", 1, "b", -1, instance_id="i")
    asking.describe("empty")
    by_pattern = Asking(k, "patterns")
    time.sleep(INTERVAL_S)
    by_pattern.beat("a pattern", 1, "p", 0, None, subscribed_topic_regex="named-[0-9]")
    deadline = time.monotonic() + 30
    epoch = 0
    while True:  # patterns are resolved in the background
        answer = k.ask(ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, by_pattern.request("p", epoch, None, subscribed_topic_regex="named-[0-9]"))
        if answer.assignment is not None and answer.assignment.topic_partitions:
            break
        assert time.monotonic() < deadline
        epoch = answer.member_epoch
        time.sleep(0.05)
    beat = by_pattern.beat
    beat("the pattern and a name", 1, "p", answer.member_epoch, ["named-1"], subscribed_topic_regex="named-[0-9]")
    beat("a bad pattern", 1, "p", answer.member_epoch, None, subscribed_topic_regex="[")
    beat("leaves", 0, "p", -1)


def offsets_of_a_transaction(k: Script, group: str, now: int) -> None:
    """Committed for a member of the next generation, and not: every version of TxnOffsetCommit."""
    asking = InTransactions(k)
    said = asking.init("a producer", 5, "for all")
    pid, epoch = said.producer_id, said.producer_epoch
    asking.offsets("the group", 4, "for all", pid, epoch, group)
    for version in range(6):
        for title, member, generation in (("right", "a", now), ("an old epoch", "a", now - 1), ("unknown", "c", now), ("nobody", "", -1)):
            more = {"generation_id": generation, "member_id": member} if version > 2 else {}
            asking.commit(f"a transaction's offsets, {title}", version, "for all", pid, epoch, group, {"asked-by-all": {1: 5}}, **more)
    asking.end("the transaction is aborted", 4, "for all", pid, epoch, committed=False)


def older_versions(k: Script) -> None:
    """A group of the next generation, asked about by those who know older versions only."""
    asking = Asking(k, "asked by all")
    topic_id = make_topic(k, "asked-by-all", 2)
    now = asking.beat("joins", 1, "a", 0, ["asked-by-all"]).member_epoch
    for version in range(2, 9):
        for title, member, epoch in (("right", "a", now), ("an old epoch", "a", now - 1), ("unknown", "c", now), ("nobody", "", -1)):
            asking.commit(f"commit, {title}", version, member, epoch, topic_id, "asked-by-all")
    part = m.OffsetFetchRequest.OffsetFetchRequestTopic(name="asked-by-all", partition_indexes=[0, 1])
    for version in range(1, 8):
        k("fetch", ApiKey.OFFSET_FETCH, version, m.OffsetFetchRequest(group_id="asked by all", topics=[part]))
    asking.fetch("fetch", 8, None, -1)
    offsets_of_a_transaction(k, "asked by all", now)
    for version in range(5):
        k("heartbeat", ApiKey.HEARTBEAT, version, m.HeartbeatRequest(group_id="asked by all", generation_id=now, member_id="a"))
    for version in range(6):
        k("sync", ApiKey.SYNC_GROUP, version, m.SyncGroupRequest(group_id="asked by all", generation_id=now, member_id="a", assignments=[]))
        leaving = [m.LeaveGroupRequest.MemberIdentity(member_id="c", reason=None)]
        k("leave", ApiKey.LEAVE_GROUP, version, m.LeaveGroupRequest(group_id="asked by all", member_id="c", members=leaving))
    for version in range(7):
        k("described", ApiKey.DESCRIBE_GROUPS, version, m.DescribeGroupsRequest(groups=["asked by all"]))
    for version in range(10):
        j = m.JoinGroupRequest
        joining = j(group_id="asked by all", session_timeout=45_000, rebalance_timeout=60_000, member_id="", protocol_type="consumer",
                    protocols=[j.JoinGroupRequestProtocol(name="range", metadata=b"?")])  # fmt: skip
        answer = k.ask(ApiKey.JOIN_GROUP, version, joining)
        if len(answer.member_id) == 22:
            answer.member_id = "made by the broker"
        k.note(f"joins with metadata that nobody can read v{version}", answer)
        joining.protocol_type = "connect"
        k("joins as something else", ApiKey.JOIN_GROUP, version, joining)
    gone = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(
        name="asked-by-all", partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)])
    k("offsets of what is read are deleted", ApiKey.OFFSET_DELETE, 0, m.OffsetDeleteRequest(group_id="asked by all", topics=[gone]))
    for version in range(3):
        k("deleted with members", ApiKey.DELETE_GROUPS, version, m.DeleteGroupsRequest(groups_names=["asked by all"]))
    asking.beat("leaves", 1, "a", -1)
    k("offsets of what nobody reads are deleted", ApiKey.OFFSET_DELETE, 0, m.OffsetDeleteRequest(group_id="asked by all", topics=[gone]))
    for version in range(2):
        k("deleted", ApiKey.DELETE_GROUPS, version, m.DeleteGroupsRequest(groups_names=["asked by all"]))


SCRIPTS = {"next-generation groups": heartbeats, "named members": static_members, "in older versions": older_versions}
