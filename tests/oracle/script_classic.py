"""Classic groups, asked of Apache Kafka and of a lab: a group's whole life in every version of each of its APIs.

Written for both generations: 3.9 with ZooKeeper and 4.3 offer different versions of the offsets' APIs.
"""

from __future__ import annotations

import copy
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Connection, Script
from tests.oracle.requests import make_topic

TOPIC = "classic"
MADE = re.compile(r"^(asker|s)-[0-9a-f]{8}-[0-9a-f]{4}-")  # a member's id, which the broker has made of the client's or the instance's
SUBSCRIPTION = bytes.fromhex("0001000000010007") + b"classic" + bytes(8)
REFUSED_AT_FIRST = 79  # MEMBER_ID_REQUIRED
NOBODY = uuid.UUID(int=77)
Members = list[tuple[str, str | None]]


class Group:
    """Requests about one group, at versions that are given once; members' ids are told by number."""

    def __init__(self, k: Script, group: str, join: int) -> None:
        self.k = k
        self.group = group
        self.join_version = join
        self.version = {ApiKey.SYNC_GROUP: min(join, 5), ApiKey.HEARTBEAT: min(join, 4), ApiKey.LEAVE_GROUP: min(join, 5)}
        k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group]),
                lambda answer: not answer.coordinators[0].error_code)  # fmt: skip
        k.until(ApiKey.OFFSET_FETCH, 7, m.OffsetFetchRequest(group_id=group, topics=None), lambda answer: not answer.error_code)

    def say(self, title: str, key: ApiKey, version: int, request: Any) -> Any:
        return self.note(title, version, self.k.ask(key, version, request))

    def note(self, title: str, version: int, answer: Any) -> Any:
        """Write down with the members told by number, and give back what was said."""
        self.k.note(f"{title} v{version}", renamed(self.k, copy.deepcopy(answer)))
        return answer

    def joining(self, member: str = "", instance: str | None = None, names: tuple[str, ...] = ("range",), **more: Any) -> Any:
        j = m.JoinGroupRequest
        protocols = [j.JoinGroupRequestProtocol(name=name, metadata=SUBSCRIPTION) for name in names]
        fields = {"session_timeout": 30_000, "rebalance_timeout": 60_000, "protocol_type": "consumer", "group_id": self.group, **more}
        return j(member_id=member, group_instance_id=instance if self.join_version >= 5 else None, protocols=protocols, **fields)

    def join(self, title: str, *args: Any, **more: Any) -> Any:
        return self.say(title, ApiKey.JOIN_GROUP, self.join_version, self.joining(*args, **more))

    def enter(self, title: str, instance: str | None = None) -> str:
        """The first member's way in, which is two requests from version 4 on; its id."""
        answer = self.join(title, "", instance)
        if answer.error_code == REFUSED_AT_FIRST:
            self.join(f"{title}, with its id", answer.member_id, instance)
        member: str = answer.member_id
        return member

    @contextmanager
    def parked(self, title: str, key: ApiKey, version: int, request: Any) -> Iterator[None]:
        """A request whose answer comes only after what is done inside."""
        connection: Connection = self.k.fresh()
        connection.send(key, version, request)
        yield
        self.note(title, version, connection.read(key, version))
        connection.close()

    def syncing(self, member: str, generation: int, shares: dict[str, bytes] | None = None, **more: Any) -> Any:
        s = m.SyncGroupRequest
        told = [s.SyncGroupRequestAssignment(member_id=one, assignment=share) for one, share in (shares or {}).items()]
        fields = {"group_id": self.group, "protocol_type": "consumer", "protocol_name": "range", **more}
        return s(generation_id=generation, member_id=member, assignments=told, **fields)

    def sync(self, title: str, *args: Any, **more: Any) -> None:
        self.say(title, ApiKey.SYNC_GROUP, self.version[ApiKey.SYNC_GROUP], self.syncing(*args, **more))

    def beat(self, title: str, member: str, generation: int, **more: Any) -> None:
        request = m.HeartbeatRequest(**{"group_id": self.group, "generation_id": generation, "member_id": member, **more})
        self.say(title, ApiKey.HEARTBEAT, self.version[ApiKey.HEARTBEAT], request)

    def leave(self, title: str, members: Members, **more: Any) -> None:
        version = self.version[ApiKey.LEAVE_GROUP]
        who = m.LeaveGroupRequest.MemberIdentity
        told = [who(member_id=one, group_instance_id=instance, reason="it was enough" if version >= 5 else None) for one, instance in members]
        request = m.LeaveGroupRequest(**{"group_id": self.group, "member_id": members[0][0] if members else "", "members": told, **more})
        self.say(title, ApiKey.LEAVE_GROUP, version, request)

    def described(self, title: str, *groups: str) -> None:
        for version in range(6) if self.join_version == 9 else (self.join_version % 6,):
            request = m.DescribeGroupsRequest(groups=list(groups or (self.group,)), include_authorized_operations=version >= 3)
            self.say(title, ApiKey.DESCRIBE_GROUPS, version, request)

    def listed(self, title: str) -> None:
        """Of all groups this one, by every filter that a version knows."""
        for version in range(6) if self.join_version == 9 else (self.join_version % 6,):
            for states in ([], ["Stable"], ["empty", "nonsense"]) if version >= 4 else ([],):
                for types in ([], ["Classic"], ["consumer"]) if version == 5 else ([],):
                    answer = self.k.ask(ApiKey.LIST_GROUPS, version, m.ListGroupsRequest(states_filter=states, types_filter=types))
                    answer.groups = [one for one in answer.groups if one.group_id == self.group]
                    self.k.note(f"{title}: listed {states} {types} v{version}", answer)


def renamed(k: Script, value: Any) -> Any:
    """A message with the ids of members replaced by numbers, in order of appearance."""
    if hasattr(value, "FIELDS"):
        for name in value.FIELDS:
            setattr(value, name, renamed(k, getattr(value, name)))
        return value
    if isinstance(value, list):
        return [renamed(k, one) for one in value]
    return k.name("member", value) if isinstance(value, str) and MADE.match(value) else value


def refused(group: Group) -> None:
    """What is said to who should not have asked."""
    for title, member, more in (
        ("no group", "", {"group_id": ""}), ("an unknown member", "stranger", {}), ("a short session", "", {"session_timeout": 5}),
        ("a long session", "", {"session_timeout": 2_000_000}), ("no protocols", "", {"names": ()}), ("no type", "", {"protocol_type": ""}),
    ):  # fmt: skip
        group.join(f"join: {title}", member, **more)
    for title, member, more in (("no group", "stranger", {"group_id": ""}), ("no such group", "stranger", {}), ("no member", "", {})):
        group.sync(f"sync: {title}", member, 1, **more)
        group.beat(f"heartbeat: {title}", member, 1, **more)
        group.leave(f"leave: {title}", [(member, None)], **more)


def in_order(group: Group, first: str) -> None:
    """One member, from its share to a wrong generation."""
    modern = group.join_version >= 5
    group.described("before the share")
    group.beat("heartbeat before the share", first, 1)
    group.join("joins as before", first)
    group.sync("sync of a wrong generation", first, 7)
    group.sync("sync of a stranger", "stranger", 1)
    if modern:
        group.sync("sync by another protocol", first, 1, protocol_name="sticky")
        group.sync("sync by another type", first, 1, protocol_type="connect")
        group.sync("sync without a protocol", first, 1, protocol_type=None, protocol_name=None)
    group.sync("sync", first, 1, {first: b"share"})
    group.sync("sync again", first, 1, {first: b"another"})
    group.described("stable")
    group.listed("stable")
    for title, member, generation in (("right", first, 1), ("an old generation", first, 0), ("a newer one", first, 2), ("a stranger", "stranger", 1)):
        group.beat(f"heartbeat: {title}", member, generation)
    if group.join_version >= 5:
        group.beat("heartbeat by an unknown instance", first, 1, group_instance_id="nobody")
        group.sync("sync by an unknown instance", first, 1, group_instance_id="nobody")
        group.join("joins by an unknown instance", first, "nobody")
    group.join("another type", "", protocol_type="connect")
    group.join("nothing in common", "", names=("sticky",))


def together(group: Group, first: str) -> str:
    """A second member comes: who waits for whom, and what is said meanwhile; its id."""
    k, second = group.k, ""
    if group.join_version >= 4:
        second = group.join("the second", "").member_id
        k.name("member", second)
    beat = m.HeartbeatRequest(group_id=group.group, generation_id=1, member_id=first)
    with group.parked("the second joins", ApiKey.JOIN_GROUP, group.join_version, group.joining(second, names=("sticky", "range"))):
        k.until(ApiKey.HEARTBEAT, 0, beat, lambda answer: answer.error_code)
        group.beat("heartbeat while they gather", first, 1)
        group.sync("sync while they gather", first, 1)
        group.described("they gather")
        joined = group.join("the first joins again", first)
    others = [one.member_id for one in joined.members if one.member_id != first]
    second = others[0]
    follower = group.syncing(second, 2)
    with group.parked("the second's share", ApiKey.SYNC_GROUP, group.version[ApiKey.SYNC_GROUP], follower):
        group.described("they wait for the leader")
        group.sync("the leader's share", first, 2, {first: b"1", second: b"2", "stranger": b"3"})
    group.described("two")
    group.beat("heartbeat of the generation before", first, 1)
    return second


def with_a_name(group: Group, first: str, generation: int) -> None:
    """A static member: its second self replaces the first without a new generation."""
    k = group.k
    beat = m.HeartbeatRequest(group_id=group.group, generation_id=generation, member_id=first)
    with group.parked("one with a name", ApiKey.JOIN_GROUP, group.join_version, group.joining("", "s")):
        k.until(ApiKey.HEARTBEAT, 0, beat, lambda answer: answer.error_code)
        joined = group.join("the first joins for it", first)
    named, now = next(one.member_id for one in joined.members if one.group_instance_id == "s"), joined.generation_id
    share = group.syncing(named, now, group_instance_id="s")
    with group.parked("its share", ApiKey.SYNC_GROUP, group.version[ApiKey.SYNC_GROUP], share):
        group.sync("the leader's share with it", first, now, {first: b"1", named: b"2"})
    group.described("one has a name")
    back = group.join("it comes back", "", "s")
    for title, member in (("the one before", named), ("the one now", back.member_id), ("without an id", "")):
        group.beat(f"heartbeat: {title}", member, now, group_instance_id="s")
        group.sync(f"sync: {title}", member, now, group_instance_id="s")
    group.leave("the one before leaves", [(named, "s")])
    group.leave("who is unknown leaves", [("", "nobody"), ("stranger", None), ("", "s")])


def life(k: Script) -> None:
    """Ten groups, one for each version of JoinGroup, with the versions of the others that belong to its time."""
    make_topic(k, TOPIC, 3)
    Group(k, "found", 0)
    for version in range(7):
        names = ["found", ""] if version >= 4 else []
        k("find", ApiKey.FIND_COORDINATOR, version, m.FindCoordinatorRequest(key="found", key_type=0, coordinator_keys=names))
    for version in range(10):
        heard, k.answers = k.answers, {}
        live(Group(k, f"classic-{version}", version), version)
        k.answers = {**heard, **{f"{version}: {title}": answer for title, answer in k.answers.items()}}


def live(group: Group, version: int) -> None:
    refused(group)
    first = group.enter("the first")
    in_order(group, first)
    second = together(group, first)
    group.leave("the second leaves", [(second, None)])
    group.leave("it leaves again", [(second, None)])
    group.join("the first is alone", first)
    group.sync("its share alone", first, 3, {first: b"1"})
    if version >= 5:
        with_a_name(group, first, 3)
    group.leave("the last leaves", [(first, None)])
    group.described("empty")
    group.listed("empty")


def offsets(k: Script, commits: range, fetches: range) -> None:
    """OffsetCommit, OffsetFetch, OffsetDelete and DeleteGroups, of a group that has a member and of one that has none."""
    ids = {"kept-offsets": make_topic(k, "kept-offsets", 2), "nowhere": NOBODY}
    k.names["id", NOBODY] = "nobody's id"
    group = Group(k, "committing", 5)
    first = group.enter("the first")
    group.sync("its share", first, 1, {first: b"share"})
    c = m.OffsetCommitRequest
    for version in commits:
        parts = [c.OffsetCommitRequestPartition(partition_index=index, committed_offset=version, committed_metadata=said, commit_timestamp=-1)
                 for index, said in ((0, "m"), (1, None), (9, ""))]  # fmt: skip
        topics = [c.OffsetCommitRequestTopic(**({"topic_id": one} if version >= 10 else {"name": name}), partitions=parts) for name, one in ids.items()]
        for title, who, member, generation in (
            ("right", "committing", first, 1), ("an old generation", "committing", first, 0), ("a newer one", "committing", first, 2),
            ("a stranger", "committing", "stranger", 1), ("nobody", "committing", "", -1), ("a member without a generation", "committing", first, -1),
            ("a generation without a member", "committing", "", 1), ("no group", "", "", -1), ("a group of its own", f"simple-{version}", "", -1),
            ("a generation of no group", f"none-{version}", "stranger", 3),
        ):  # fmt: skip
            request = c(group_id=who, member_id=member, generation_id_or_member_epoch=generation, topics=topics, retention_time=-1)
            k(f"commit: {title}", ApiKey.OFFSET_COMMIT, version, request)
        too_long = c.OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="x" * 4097, commit_timestamp=-1)
        topics[0].partitions = [too_long]
        k("commit: much said", ApiKey.OFFSET_COMMIT, version, c(
            group_id="committing", member_id=first, generation_id_or_member_epoch=1, topics=topics[:1], retention_time=-1))  # fmt: skip
        if version >= 7:
            k("commit: by an unknown instance", ApiKey.OFFSET_COMMIT, version, c(
                group_id="committing", member_id=first, generation_id_or_member_epoch=1, topics=topics[1:], group_instance_id="nobody"))  # fmt: skip
    for version in fetches:
        fetched(k, version, ids)
    deleted(group, first)


def fetched(k: Script, version: int, ids: dict[str, uuid.UUID]) -> None:
    """Some partitions, none and all, in one group and from version 8 on in several."""
    f = m.OffsetFetchRequest
    wanted: list[dict[str, list[int]] | None] = [{"kept-offsets": [0, 1, 9], "nowhere": [0]}, {"kept-offsets": []}, {}, *([None] if version >= 2 else [])]
    for topics in wanted:
        title = f"fetch {topics}"
        if version < 8:
            asked = None if topics is None else [f.OffsetFetchRequestTopic(name=name, partition_indexes=numbers) for name, numbers in topics.items()]
            for group in ("committing", "simple-5", "nobody", ""):
                k(f"{title} of {group!r}", ApiKey.OFFSET_FETCH, version, f(group_id=group, topics=asked, require_stable=version == 7))
            continue
        named = None if topics is None else [
            f.OffsetFetchRequestTopics(**({"topic_id": ids[name]} if version >= 10 else {"name": name}), partition_indexes=numbers)
            for name, numbers in topics.items()
        ]  # fmt: skip
        groups = [f.OffsetFetchRequestGroup(group_id=group, topics=named) for group in ("committing", "simple-5", "nobody", "")]
        for one in groups:
            k(f"{title} of {one.group_id!r}", ApiKey.OFFSET_FETCH, version, f(groups=[one], require_stable=version == 9))
        k(f"{title} of several", ApiKey.OFFSET_FETCH, version, f(groups=groups))
    if version >= 9:
        one = f.OffsetFetchRequestGroup(group_id="committing", topics=None, member_id="stranger", member_epoch=1)
        k("fetch as a member", ApiKey.OFFSET_FETCH, version, f(groups=[one]))


def deleted(group: Group, first: str) -> None:
    """Offsets of what is read and of what is not; groups with and without members, in every version."""
    k, d = group.k, m.OffsetDeleteRequest

    def forget(title: str, who: str, *topics: str) -> None:
        parts = [d.OffsetDeleteRequestPartition(partition_index=index) for index in (0, 9)]
        asked = [d.OffsetDeleteRequestTopic(name=name, partitions=parts) for name in topics]
        k(title, ApiKey.OFFSET_DELETE, 0, d(group_id=who, topics=asked))

    for title, who in (("of a member", "committing"), ("of a simple group", "simple-5"), ("of nobody", "nobody"), ("of no group", "")):
        forget(f"forget {title}", who, "kept-offsets", "nowhere", TOPIC)
    forget("forget nothing", "committing")
    for version in range(3):
        for names in (["committing"], ["nobody", ""], []):
            k(f"delete {names} with a member", ApiKey.DELETE_GROUPS, version, m.DeleteGroupsRequest(groups_names=names))
    group.leave("leaves", [(first, None)])
    for version, names in enumerate((["committing"], ["simple-5", "simple-5"], ["simple-6", "nobody"])):
        k(f"delete {names}", ApiKey.DELETE_GROUPS, version, m.DeleteGroupsRequest(groups_names=names))
    group.described("deleted")


OF_3_9 = {"classic groups": life, "classic offsets": partial(offsets, commits=range(10), fetches=range(10))}
OF_4_3 = {"classic groups": life, "classic offsets": partial(offsets, commits=range(2, 11), fetches=range(1, 11))}
