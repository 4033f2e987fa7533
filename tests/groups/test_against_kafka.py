"""The same requests to a real Kafka and to the coordinator here get the same answers, field by field.

What Apache Kafka 3.9 answered stands in kafka_3_9_answers.json, member ids as numbers in order of
appearance. With BROKERLAB_KAFKA=host:port (a running 3.9 with group.initial.rebalance.delay.ms=500) it
is asked again, and BROKERLAB_RECORD=1 writes its answers down.
"""

from __future__ import annotations

import json
import os
import socket
import struct
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.conftest import PATIENCE_S
import pytest

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.codec import decode_response, decode_response_header, encode_request

ADDRESS = os.environ.get("BROKERLAB_KAFKA", "")


class Pending:
    """A request at the real broker, on a connection of its own: it may be parked."""

    def __init__(self, key: ApiKey, version: int, request: Any, client: str) -> None:
        self.key, self.version = key, version
        host, port = ADDRESS.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        self.socket.sendall(b"".join(map(bytes, encode_request(key, version, 1, client, request))))
        self.found: Any = None

    @property
    def body(self) -> Any:
        if self.found is None:
            frame = self._read(struct.unpack(">i", self._read(4))[0])
            header = decode_response_header(self.key, self.version, frame)
            self.found = decode_response(self.key, self.version, header.body)
            self.socket.close()
        return self.found

    def _read(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            part = self.socket.recv(size - len(data))
            assert part, "the broker closed the connection"
            data += part
        return data


class Kafka:
    """The real broker behind the lab's `send` and `run`."""

    def send(self, key: ApiKey, version: int, request: Any, client: str = "consumer") -> Pending:
        pending = Pending(key, version, request, client)
        time.sleep(0.1)
        return pending

    def run(self, ms: int) -> None:
        time.sleep(ms / 1000)


class Ours:
    """The coordinator here, with time passing as it does at the real one."""

    def __init__(self, lab: Any) -> None:
        self.lab = lab
        self.run = lab.run
        self.real_send = lab.send

    def send(self, key: ApiKey, version: int, request: Any, client: str = "consumer") -> Any:
        answer = self.real_send(key, version, request, client)
        self.lab.run(100)
        return answer


def prepare(kafka: Kafka, group: str) -> None:
    """The topic that offsets are committed for, and the coordinator's own topic."""
    topic = m.CreateTopicsRequest.CreatableTopic(name="t", num_partitions=10, replication_factor=1)
    assert kafka.send(ApiKey.CREATE_TOPICS, 4, m.CreateTopicsRequest(topics=[topic], timeout=10_000)).body.topics
    for _ in range(100):
        found = kafka.send(ApiKey.FIND_COORDINATOR, 2, m.FindCoordinatorRequest(key=group, key_type=0)).body
        fetched = kafka.send(ApiKey.OFFSET_FETCH, 7, m.OffsetFetchRequest(group_id=group, topics=None)).body
        if (found.error_code, fetched.error_code) == (0, 0):
            return
    raise AssertionError("no coordinator")


class Script:
    """Sends, and writes down what came back with names for member ids."""

    def __init__(self, side: Any, lab: Any, group: str) -> None:
        self.side, self.lab, self.group = side, lab, group
        self.lines: list[str] = []
        self.names: dict[str, str] = {}

    def request(self, method: str, *args: Any, **fields: Any) -> Any:
        """Builds a request as the lab does, but sends it to this script's side."""
        kept, self.lab.send = self.lab.send, self.side.send
        try:
            return getattr(self.lab, method)(*args, group=self.group, **fields)
        finally:
            self.lab.send = kept

    def name(self, member: str) -> str:
        if member.startswith(("consumer-", "static-")):
            return self.names.setdefault(member, f"member {len(self.names) + 1}")
        return member

    def note(self, title: str, answer: Any) -> Any:
        body = answer.body
        self.lines.append(f"{title}: {self._shown(body)}")
        return body

    def _shown(self, value: Any) -> Any:
        if hasattr(value, "FIELDS"):
            skipped = ("throttle_time", "authorized_operations")
            return {name: self._shown(getattr(value, name)) for name in value.FIELDS if name not in skipped}
        if isinstance(value, list):
            return sorted((self._shown(one) for one in value), key=str)
        if isinstance(value, str):
            return self.name(value).replace(self.group, "GROUP")
        return bytes(value) if isinstance(value, (bytes, memoryview)) else value


def script(run: Script) -> list[str]:
    r, note, wait = run.request, run.note, run.side.run
    for version in (0, 3, 7, 9):
        note(f"join with an unknown id v{version}", r("join", "consumer-x", version=version))
    note("no protocols", r("join", protocols={}))
    note("session too short", r("join", session_ms=5))
    first = note("join", r("join", version=9)).member_id
    parked = r("join", first, version=9)
    wait(600)
    joined = note("joined", parked)
    note("join again, same metadata", r("join", first, version=6))
    note("wrong generation", r("sync", first, 9, version=5))
    note("wrong protocol", r("sync", first, 1, version=5, protocol="sticky"))
    note("commit while completing", r("commit", {("t", 0): 1}, first, 1, version=8))
    note("sync", r("sync", first, 1, {first: b"share"}, version=5))
    note("sync again", r("sync", first, 1, version=0))
    note("commit", r("commit", {("t", 0): 5, ("t", 1): 6}, first, 1, version=8, metadata="m"))
    note("commit null metadata", r("commit", {("t", 2): 6}, first, 1, version=8, metadata=None))
    note("commit without member", r("commit", {("t", 0): 5}))
    note("commit stranger", r("commit", {("t", 0): 5}, "consumer-y", 1))
    note("commit old", r("commit", {("t", 0): 5}, first, 0))
    note("commit too long", r("commit", {("t", 0): 5}, first, 1, metadata="x" * 5000))
    for version in (1, 5, 7):
        topics = [m.OffsetFetchRequest.OffsetFetchRequestTopic(name="t", partition_indexes=[0, 1, 2, 9])]
        note(f"fetch v{version}", run.side.send(
            ApiKey.OFFSET_FETCH, version, m.OffsetFetchRequest(group_id=run.group, topics=topics)))
    several = [m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=one, topics=None) for one in (run.group, "none")]
    note("fetch v9", run.side.send(ApiKey.OFFSET_FETCH, 9, m.OffsetFetchRequest(groups=several)))
    for version in (0, 4, 5):
        wanted = m.DescribeGroupsRequest(groups=[run.group, "none"])
        note(f"describe v{version}", run.side.send(ApiKey.DESCRIBE_GROUPS, version, wanted))
    note("delete", run.side.send(ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=[run.group])))
    note("other protocol", r("join", protocols={"other": b""}, version=5))
    second = r("join", version=3)
    wait(100)
    note("heartbeat", r("heartbeat_answer", first, 1))
    note("sync while preparing", r("sync", first, 1))
    back = r("join", first)
    note("leader", back)
    follower = note("follower", second).member_id
    waiting = r("sync", follower, 2)
    static = r("join", instance="static", version=5)
    wait(100)
    note("parked sync", waiting)
    rejoin = [r("join", first), r("join", follower)]
    for one in rejoin:
        note("again", one)
    one_static = note("static joined", static).member_id
    leader = rejoin[0].body.leader
    syncs = [r("sync", one, 3) for one in (first, follower) if one != leader]
    syncs.append(r("sync", one_static, 3, instance="static"))
    note("leader syncs", r("sync", leader, 3, {leader: b"1", one_static: b"2"}))
    for one in syncs:
        note("synced", one)
    replaced = note("static again", r("join", instance="static", version=5)).member_id
    note("fenced heartbeat", r("heartbeat_answer", one_static, 3, instance="static"))
    note("fenced sync", r("sync", one_static, 3, instance="static"))
    note("unknown instance", r("heartbeat_answer", first, 3, instance="nobody"))
    note("share", r("sync", replaced, 3, instance="static"))
    strangers = [("", "static"), ("", "no"), ("consumer-z", None), (first, "no")]
    for version, members in ((3, strangers), (4, [(follower, None)])):
        identities = [m.LeaveGroupRequest.MemberIdentity(member_id=a, group_instance_id=b) for a, b in members]
        note("leave", run.side.send(
            ApiKey.LEAVE_GROUP, version, m.LeaveGroupRequest(group_id=run.group, members=identities)))
    goodbye = m.LeaveGroupRequest(group_id=run.group, member_id=first)
    note("last leaves", run.side.send(ApiKey.LEAVE_GROUP, 0, goodbye))
    note("leaves twice", run.side.send(ApiKey.LEAVE_GROUP, 2, goodbye))
    note("describe empty", run.side.send(ApiKey.DESCRIBE_GROUPS, 5, m.DescribeGroupsRequest(groups=[run.group])))
    note("commit to empty", r("commit", {("t", 3): 5}))
    one = m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)
    topic = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(name="t", partitions=[one])
    for group in (run.group, "none", ""):
        note("offset delete", run.side.send(
            ApiKey.OFFSET_DELETE, 0, m.OffsetDeleteRequest(group_id=group, topics=[topic])))
    note("delete", run.side.send(
        ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=[run.group, "none", ""])))
    note("fetch deleted", run.side.send(
        ApiKey.OFFSET_FETCH, 7, m.OffsetFetchRequest(group_id=run.group, topics=None)))
    assert joined.generation_id == 1
    return run.lines


def edges(run: Script) -> list[str]:
    """Requests that nobody should send."""
    r, note, send, group = run.request, run.note, run.side.send, run.group
    stranger = [m.LeaveGroupRequest.MemberIdentity(member_id="a")]
    for key, request in (
        (ApiKey.HEARTBEAT, m.HeartbeatRequest(group_id="", member_id="a", generation_id=1)),
        (ApiKey.LEAVE_GROUP, m.LeaveGroupRequest(group_id=group, members=stranger)),
        (ApiKey.LEAVE_GROUP, m.LeaveGroupRequest(group_id="", members=stranger)),
        (ApiKey.SYNC_GROUP, m.SyncGroupRequest(group_id="", member_id="a", generation_id=1)),
        (ApiKey.SYNC_GROUP, m.SyncGroupRequest(group_id=group, member_id="a", generation_id=1)),
        (ApiKey.JOIN_GROUP, m.JoinGroupRequest(group_id="", session_timeout=10_000)),
        (ApiKey.JOIN_GROUP, m.JoinGroupRequest(group_id=group, session_timeout=2_000_000)),
        (ApiKey.DELETE_GROUPS, m.DeleteGroupsRequest(groups_names=[group, group])),
        (ApiKey.DESCRIBE_GROUPS, m.DescribeGroupsRequest(groups=[""])),
    ):
        note(key.name, send(key, {ApiKey.DELETE_GROUPS: 1}.get(key, 4), request))
    note("sync without protocol", r("sync", "a", 1, version=5, kind=None))
    note("commit with generation", r("commit", {("t", 0): 5}, "", 3))
    note("commit -1 with member", r("commit", {("t", 0): 5}, "consumer-a", -1))
    note("commit -1 with instance", r("commit", {("t", 0): 5}, "", -1, instance="static"))
    note("no type", r("join", kind=""))
    note("no bytes", r("join", protocols={"p": b""}, version=4))
    member = r("join", protocols={"p": b"1", "q": b"2"}, version=0, session_ms=6000)
    run.side.run(600)
    first = note("joined", member).member_id
    note("describe", send(ApiKey.DESCRIBE_GROUPS, 4, m.DescribeGroupsRequest(groups=[group])))
    note("synced", r("sync", first, 1, {first: b"1", "stranger": b"2"}, version=0))
    note("commit -1", r("commit", {("t", 0): 5}, first, -1))
    note("commit -1 with instance", r("commit", {("t", 0): 5}, "", -1, instance="static"))
    note("list", send(ApiKey.LIST_GROUPS, 4, m.ListGroupsRequest(states_filter=["Dead", "nonsense"])))
    note("share", r("join", first, protocols={"q": b"2"}, version=5, instance="static"))
    run.side.run(6500)
    note("expired", r("heartbeat_answer", first, 1))
    note("describe", send(ApiKey.DESCRIBE_GROUPS, 4, m.DescribeGroupsRequest(groups=[group])))
    note("joins with its old id", r("join", first))
    return run.lines


RECORDED = Path(__file__).with_name("kafka_3_9_answers.json")
SCRIPTS: dict[str, Callable[[Script], list[str]]] = {"life of a group": script, "edges": edges}


def ours(make_lab: Any, title: str) -> list[str]:
    lab = make_lab(rewritten=False, group_initial_rebalance_delay_ms=500)
    return SCRIPTS[title](Script(Ours(lab), lab, "compare"))


@pytest.mark.parametrize("title", SCRIPTS)
def test_every_answer_is_the_one_that_kafka_gave(make_lab: Any, title: str) -> None:
    assert ours(make_lab, title) == json.loads(RECORDED.read_text())[title]


@pytest.mark.skipif(not ADDRESS, reason="BROKERLAB_KAFKA is not set")
@pytest.mark.parametrize("title", SCRIPTS)
def test_every_answer_is_the_one_that_kafka_gives(make_lab: Any, title: str) -> None:
    group = f"compare-{uuid.uuid4()}"
    prepare(Kafka(), group)
    theirs = SCRIPTS[title](Script(Kafka(), make_lab(), group))
    if os.environ.get("BROKERLAB_RECORD"):
        recorded = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
        RECORDED.write_text(json.dumps({**recorded, title: theirs}, indent=1, ensure_ascii=False) + "\n")
    assert ours(make_lab, title) == theirs
