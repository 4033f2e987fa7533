"""What only several brokers can answer about coordinators: every request to one that does not coordinate, does not lead, or
does so for a part of what is asked. Asked of both generations, in every version that each offers.

The three internal topics are assigned by hand, so that the same broker coordinates on both sides: partition P by broker P + 1.
Partition 0 of `asked` is led by broker 1 and partition 1 by broker 2. Broker 1 is asked unless something else is said.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable
from functools import partial
from typing import Any

from broker_core.coordinators.partitioning import partition_for
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey, Mode, version_range
from broker_core.wire.errors import ErrorCode as E
from tests.oracle.asking import Script
from tests.oracle.requests import batch, fetch, list_offsets, make_topic, produce
from tests.oracle.script_share import States, coordinator_key

HERE, ELSEWHERE, THIRD = 1, 2, 3
"""Brokers: the one that is asked, and two others."""
PARTITIONS = 3
MINUTE = 60_000
SUBSCRIPTION = bytes.fromhex("0001000000010005") + b"asked" + bytes(8)
Request = Callable[[int], Any]
"""Version -> what is asked."""


def named(prefix: str, broker: int) -> str:
    """A group or a transactional id that this broker coordinates."""
    return next(name for number in range(99) if partition_for(name := f"{prefix}-{number}", PARTITIONS) == broker - 1)


GROUPS = {broker: named("group", broker) for broker in (HERE, ELSEWHERE, THIRD)}
IDS = {broker: named("tx", broker) for broker in (HERE, ELSEWHERE, THIRD)}


class Cluster:
    """Three brokers of a generation, each of which coordinates a third."""

    def __init__(self, k: Script, mode: Mode) -> None:
        self.k = k
        self.mode = mode
        spread = [(number, [number + 1]) for number in range(PARTITIONS)]
        internal = ("__consumer_offsets", "__transaction_state", *(["__share_group_state"] if mode == "kraft" else []))
        for name in internal:
            make_topic(k, name, assigned=spread, cleanup_policy="compact")
        self.topic_id = make_topic(k, "asked", assigned=[(0, [HERE]), (1, [ELSEWHERE])])
        for kind, names in ((0, GROUPS), (1, IDS)):
            for broker, name in names.items():
                wanted = m.FindCoordinatorRequest(key_type=kind, coordinator_keys=[name])
                k.until(ApiKey.FIND_COORDINATOR, 4, wanted, lambda answer, broker=broker: answer.coordinators[0].node_id == broker)
        for broker in GROUPS:
            self.settled(ApiKey.OFFSET_COMMIT, 6, self.commit(GROUPS[broker], 6), broker)

    def settled(self, key: ApiKey, version: int, request: Any, broker: int) -> Any:
        """Asked of who is right, until nothing is on its way any more."""
        waits = {E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.CONCURRENT_TRANSACTIONS}
        return self.k.until(key, version, request, lambda answer: not errors(answer) & waits, broker)

    def versions(self, key: ApiKey) -> range:
        offered = version_range(key, self.mode)
        return range(0) if offered is None else range(offered[0], offered[1] + 1)

    def everywhere(self, title: str, key: ApiKey, request: Request, *brokers: int) -> None:
        """In every version, at each of these brokers."""
        for version in self.versions(key):
            for broker in brokers or (HERE,):
                self.k(f"{title}, at {broker}" if brokers else title, key, version, request(version), broker)

    def commit(self, group: str, version: int) -> Any:
        c = m.OffsetCommitRequest
        part = c.OffsetCommitRequestPartition(partition_index=0, committed_offset=3, committed_metadata="m", commit_timestamp=-1)
        name = {"topic_id": self.topic_id} if version >= 10 else {"name": "asked"}
        topics = [c.OffsetCommitRequestTopic(**name, partitions=[part])]
        return c(group_id=group, member_id="", generation_id_or_member_epoch=-1, topics=topics, retention_time=-1)


def errors(answer: Any) -> set[int]:
    """Every error code that stands anywhere in an answer."""
    if isinstance(answer, list):
        return set().union(*map(errors, answer)) if answer else set()
    if not hasattr(answer, "FIELDS"):
        return set()
    own = {getattr(answer, name) for name in answer.FIELDS if name in ("error_code", "partition_error_code")}
    return (own - {E.NONE}).union(*(errors(getattr(answer, name)) for name in answer.FIELDS))


def elsewhere(cluster: Cluster) -> None:
    """While all are alive."""
    mode = cluster.mode
    found(cluster)
    groups(cluster, GROUPS[ELSEWHERE])
    listed(cluster)
    groups_of_several(cluster)
    leaders(cluster)
    transactions(cluster)
    if mode == "kraft":
        groups_of_today(cluster, GROUPS[ELSEWHERE])
        transaction_across(cluster, IDS[ELSEWHERE], "new", True)
        shared(cluster)
    transaction_across(cluster, IDS[ELSEWHERE], "old", False)
    markers(cluster)


def found(cluster: Cluster, which: str = "") -> None:
    """FindCoordinator: one by one, and from version 4 on several at once."""
    which = which and f" {which}"
    for kind, names in ((0, GROUPS), (1, IDS)):
        for version in cluster.versions(ApiKey.FIND_COORDINATOR):
            if version >= 4:
                many = m.FindCoordinatorRequest(key_type=kind, coordinator_keys=list(names.values()))
                for broker in (HERE, THIRD):
                    cluster.k(f"find several of kind {kind}{which}, at {broker}", ApiKey.FIND_COORDINATOR, version, many, broker)
                continue
            for name in names.values() if version or not kind else ():
                cluster.k(f"find {name}, of kind {kind}{which}", ApiKey.FIND_COORDINATOR, version, m.FindCoordinatorRequest(key_type=kind, key=name), HERE)


def groups(cluster: Cluster, group: str) -> None:
    """What the members and observers of a group ask of a broker that does not coordinate it."""
    j, s, leave = m.JoinGroupRequest, m.SyncGroupRequest, m.LeaveGroupRequest
    protocols = [j.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)]
    cluster.everywhere("join", ApiKey.JOIN_GROUP, lambda version: j(
        group_id=group, member_id="", session_timeout=30_000, rebalance_timeout=MINUTE, protocol_type="consumer", protocols=protocols))  # fmt: skip
    cluster.everywhere("sync", ApiKey.SYNC_GROUP, lambda version: s(
        group_id=group, generation_id=1, member_id="m", protocol_type="consumer", protocol_name="range", assignments=[]))  # fmt: skip
    cluster.everywhere("heartbeat", ApiKey.HEARTBEAT, lambda version: m.HeartbeatRequest(group_id=group, generation_id=1, member_id="m"))
    members = [leave.MemberIdentity(member_id="m", reason=None)]
    cluster.everywhere("leave", ApiKey.LEAVE_GROUP, lambda version: leave(group_id=group, member_id="m", members=members))
    cluster.everywhere("commit", ApiKey.OFFSET_COMMIT, lambda version: cluster.commit(group, version))
    d = m.OffsetDeleteRequest
    gone = d.OffsetDeleteRequestTopic(name="asked", partitions=[d.OffsetDeleteRequestPartition(partition_index=0)])
    cluster.everywhere("delete offsets", ApiKey.OFFSET_DELETE, lambda version: d(group_id=group, topics=[gone]))
    for version in cluster.versions(ApiKey.OFFSET_FETCH):
        if version < 8:
            topics = [m.OffsetFetchRequest.OffsetFetchRequestTopic(name="asked", partition_indexes=[0, 1])]
            cluster.k("fetch offsets", ApiKey.OFFSET_FETCH, version, m.OffsetFetchRequest(group_id=group, topics=topics), HERE)


def listed(cluster: Cluster) -> None:
    """Each broker lists its own groups."""
    for broker in GROUPS:
        for version in cluster.versions(ApiKey.LIST_GROUPS):
            answer = cluster.k.ask(ApiKey.LIST_GROUPS, version, m.ListGroupsRequest(), broker)
            answer.groups = [one for one in answer.groups if one.group_id in GROUPS.values()]
            cluster.k.note(f"list groups, at {broker} v{version}", answer)


def groups_of_several(cluster: Cluster) -> None:
    """Several groups in one request: one of them is coordinated here."""
    names = list(GROUPS.values())
    cluster.everywhere("describe", ApiKey.DESCRIBE_GROUPS, lambda version: m.DescribeGroupsRequest(groups=names), HERE, ELSEWHERE)
    f = m.OffsetFetchRequest
    for version in cluster.versions(ApiKey.OFFSET_FETCH):
        if version >= 8:
            topic = {"topic_id": cluster.topic_id} if version >= 10 else {"name": "asked"}
            topics = [f.OffsetFetchRequestTopics(**topic, partition_indexes=[0, 1])]
            for wanted in (topics, None):
                asked = [f.OffsetFetchRequestGroup(group_id=name, topics=wanted) for name in names]
                title = f"fetch {'some' if wanted else 'all'} offsets of several"
                cluster.k(title, ApiKey.OFFSET_FETCH, version, f(groups=asked), HERE)
    strangers = [GROUPS[ELSEWHERE], GROUPS[THIRD], named("nobody", HERE)]
    cluster.everywhere("delete groups", ApiKey.DELETE_GROUPS, lambda version: m.DeleteGroupsRequest(groups_names=strangers))


def groups_of_today(cluster: Cluster, group: str) -> None:
    """Groups of KIP-848 and share groups."""
    c, s = m.ConsumerGroupHeartbeatRequest, m.ShareGroupHeartbeatRequest
    cluster.everywhere("a member's heartbeat", ApiKey.CONSUMER_GROUP_HEARTBEAT, lambda version: c(
        group_id=group, member_id="m", member_epoch=0, rebalance_timeout=MINUTE, subscribed_topic_names=["asked"], topic_partitions=[]))  # fmt: skip
    cluster.everywhere("a worker's heartbeat", ApiKey.SHARE_GROUP_HEARTBEAT, lambda version: s(
        group_id=group, member_id="m", member_epoch=0, subscribed_topic_names=["asked"]))  # fmt: skip
    names = list(GROUPS.values())
    cluster.everywhere("describe members", ApiKey.CONSUMER_GROUP_DESCRIBE, lambda version: m.ConsumerGroupDescribeRequest(group_ids=names))
    cluster.everywhere("describe workers", ApiKey.SHARE_GROUP_DESCRIBE, lambda version: m.ShareGroupDescribeRequest(group_ids=names))
    d, a, x = m.DescribeShareGroupOffsetsRequest, m.AlterShareGroupOffsetsRequest, m.DeleteShareGroupOffsetsRequest
    topics = [d.DescribeShareGroupOffsetsRequestTopic(topic_name="asked", partitions=[0, 1])]
    cluster.everywhere("shared offsets", ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, lambda version: d(groups=[
        d.DescribeShareGroupOffsetsRequestGroup(group_id=name, topics=topics) for name in names]))  # fmt: skip
    part = a.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)
    cluster.everywhere("alter shared offsets", ApiKey.ALTER_SHARE_GROUP_OFFSETS, lambda version: a(group_id=group, topics=[
        a.AlterShareGroupOffsetsRequestTopic(topic_name="asked", partitions=[part])]))  # fmt: skip
    cluster.everywhere("delete shared offsets", ApiKey.DELETE_SHARE_GROUP_OFFSETS, lambda version: x(group_id=group, topics=[
        x.DeleteShareGroupOffsetsRequestTopic(topic_name="asked")]))  # fmt: skip


def leaders(cluster: Cluster) -> None:
    """Producing, fetching and looking where another broker leads (KIP-951: who does, from Produce 10 and Fetch 16 on)."""
    followed = make_topic(cluster.k, "followed", assigned=[(0, [ELSEWHERE, HERE])])
    p = m.ProduceRequest
    for version in cluster.versions(ApiKey.PRODUCE):
        for acks in (1, -1) if version >= 3 else ():
            request = produce("asked", batch(b"x"), acks, 1)
            if version >= 13:
                data = [p.PartitionProduceData(index=number, records=batch(b"x")) for number in (0, 1)]
                request = p(acks=acks, timeout=3000, transactional_id=None, topic_data=[p.TopicProduceData(topic_id=cluster.topic_id, partition_data=data)])
            cluster.k(f"produce, acks {acks}", ApiKey.PRODUCE, version, request, HERE)
    led_elsewhere(cluster, "asked", cluster.topic_id, 1)
    led_elsewhere(cluster, "followed", followed, 0)
    one = m.DescribeProducersRequest.TopicRequest
    asked = [one(name="asked", partition_indexes=[0, 1]), one(name="followed", partition_indexes=[0])]
    cluster.everywhere("producers", ApiKey.DESCRIBE_PRODUCERS, lambda version: m.DescribeProducersRequest(topics=asked))


def led_elsewhere(cluster: Cluster, name: str, topic_id: uuid.UUID, partition: int) -> None:
    """Reading and cutting a partition here, of whose leader the client has known, was wrong, or said nothing."""

    def fetching(version: int, epoch: int) -> Any:
        return fetch(topic_id if version >= 13 else name, partition=partition, current_leader_epoch=epoch)

    for epoch in (-1, 0, 9):
        cluster.everywhere(f"fetch {name}, epoch {epoch}", ApiKey.FETCH, partial(fetching, epoch=epoch))
        end = list_offsets(name, -1, partition, epoch)
        cluster.everywhere(f"end of {name}, epoch {epoch}", ApiKey.LIST_OFFSETS, lambda version, end=end: end)
    e, d = m.OffsetForLeaderEpochRequest, m.DeleteRecordsRequest
    part = e.OffsetForLeaderPartition(partition=partition, current_leader_epoch=-1, leader_epoch=0)
    cluster.everywhere(f"epoch of {name}", ApiKey.OFFSET_FOR_LEADER_EPOCH, lambda version: e(
        replica_id=-1, topics=[e.OffsetForLeaderTopic(topic=name, partitions=[part])]))  # fmt: skip
    below = d.DeleteRecordsTopic(name=name, partitions=[d.DeleteRecordsPartition(partition_index=partition, offset=0)])
    cluster.everywhere(f"delete records of {name}", ApiKey.DELETE_RECORDS, lambda version: d(topics=[below], timeout=3000))


def transactions(cluster: Cluster) -> None:
    """What a producer and other brokers ask of a broker that does not coordinate the id; three ids, one of them of here."""
    for broker, one in IDS.items():  # numbered in this order
        known = cluster.settled(ApiKey.INIT_PRODUCER_ID, 4, starting(one), broker)
        cluster.k.name("producer", known.producer_id)
    transactions_of(cluster, IDS[ELSEWHERE], known.producer_id)


def transactions_of(cluster: Cluster, name: str, pid: int) -> None:
    """Everything that is asked about one id, or several."""
    k = cluster.k
    cluster.everywhere("begin", ApiKey.INIT_PRODUCER_ID, lambda version: starting(name))
    a = m.AddPartitionsToTxnRequest
    topics = [a.AddPartitionsToTxnTopic(name="asked", partitions=[0, 1])]
    for version in cluster.versions(ApiKey.ADD_PARTITIONS_TO_TXN):
        if version < 4:
            request = a(v3_and_below_transactional_id=name, v3_and_below_producer_id=pid, v3_and_below_producer_epoch=0, v3_and_below_topics=topics)
            k("add", ApiKey.ADD_PARTITIONS_TO_TXN, version, request, HERE)
            continue
        for verify in (True, False):
            many = [
                a.AddPartitionsToTxnTransaction(transactional_id=one, producer_id=pid, producer_epoch=7, verify_only=verify, topics=topics)
                for one in IDS.values()
            ]
            k(f"{'verify' if verify else 'add'} several", ApiKey.ADD_PARTITIONS_TO_TXN, version, a(transactions=many), HERE)
    cluster.everywhere("add a group", ApiKey.ADD_OFFSETS_TO_TXN, lambda version: adding(name, pid, 0, GROUPS[HERE]))
    cluster.everywhere("end", ApiKey.END_TXN, lambda version: ending(name, pid, 0))
    cluster.everywhere("a transaction's offsets", ApiKey.TXN_OFFSET_COMMIT, lambda version: committing(name, pid, 0, GROUPS[ELSEWHERE]))
    cluster.everywhere("describe ids", ApiKey.DESCRIBE_TRANSACTIONS, lambda version: m.DescribeTransactionsRequest(
        transactional_ids=list(IDS.values())), *IDS)  # fmt: skip
    cluster.everywhere("list ids", ApiKey.LIST_TRANSACTIONS, lambda version: m.ListTransactionsRequest(), *IDS)


def starting(name: str) -> Any:
    return m.InitProducerIdRequest(transactional_id=name, transaction_timeout=MINUTE, producer_id=-1, producer_epoch=-1)


def adding(name: str, pid: int, epoch: int, group: str) -> Any:
    return m.AddOffsetsToTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, group_id=group)


def ending(name: str, pid: int, epoch: int) -> Any:
    return m.EndTxnRequest(transactional_id=name, producer_id=pid, producer_epoch=epoch, committed=True)


def committing(name: str, pid: int, epoch: int, group: str) -> Any:
    t = m.TxnOffsetCommitRequest
    part = t.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    return t(transactional_id=name, group_id=group, producer_id=pid, producer_epoch=epoch, topics=[
        t.TxnOffsetCommitRequestTopic(name="asked", partitions=[part])])  # fmt: skip


def transaction_across(cluster: Cluster, name: str, title: str, newest: bool) -> None:
    """Coordinated by one broker, written to another, with offsets at a third; `newest`: transaction.version 2 of a client."""
    k = cluster.k
    said = cluster.settled(ApiKey.INIT_PRODUCER_ID, 5 if newest else 4, starting(name), ELSEWHERE)
    pid, epoch = said.producer_id, said.producer_epoch

    def write(what: str, version: int, sequence: int, broker: int = HERE, partition: int = 0) -> None:
        records = batch(b"v", producer_id=pid, producer_epoch=epoch, base_sequence=sequence, transactional=True)
        request = produce("asked", records, -1, partition, transactional_id=name)
        k.note(f"{title}: {what} v{version}", cluster.settled(ApiKey.PRODUCE, version, request, broker))

    old = 11
    write("written to what was not added", old, 0)
    write("written where nobody leads", 12 if newest else old, 0, HERE, 1)
    if not newest:
        a = m.AddPartitionsToTxnRequest
        topics = [a.AddPartitionsToTxnTopic(name="asked", partitions=[0, 1])]
        request = a(v3_and_below_transactional_id=name, v3_and_below_producer_id=pid, v3_and_below_producer_epoch=epoch, v3_and_below_topics=topics)
        k.note(f"{title}: added", cluster.settled(ApiKey.ADD_PARTITIONS_TO_TXN, 3, request, ELSEWHERE))
        k.note(f"{title}: group added", cluster.settled(ApiKey.ADD_OFFSETS_TO_TXN, 3, adding(name, pid, epoch, GROUPS[THIRD]), ELSEWHERE))
    write("written", 12 if newest else old, 0)
    write("written elsewhere", 12 if newest else old, 0, ELSEWHERE, 1)
    offsets = committing(name, pid, epoch, GROUPS[THIRD])
    k.note(f"{title}: offsets", cluster.settled(ApiKey.TXN_OFFSET_COMMIT, 5 if newest else 4, offsets, THIRD))
    for broker in (HERE, ELSEWHERE):
        asked = m.DescribeTransactionsRequest(transactional_ids=[name])
        k(f"{title}: described while open, at {broker}", ApiKey.DESCRIBE_TRANSACTIONS, 0, asked, broker)
    stable(cluster, f"{title}: offset while it is open")
    k.note(f"{title}: ended", cluster.settled(ApiKey.END_TXN, 5 if newest else 4, ending(name, pid, epoch), ELSEWHERE))
    for broker, partition in ((HERE, 0), (ELSEWHERE, 1)):
        k.until(ApiKey.FETCH, 11, fetch("asked", 0, partition, isolation_level=1), caught_up, broker)
    one = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUPS[THIRD], topics=None)
    k.until(ApiKey.OFFSET_FETCH, 8, m.OffsetFetchRequest(groups=[one], require_stable=True), lambda answer: not errors(answer.groups[0].topics), THIRD)
    stable(cluster, f"{title}: offset at the end")
    asked = m.DescribeProducersRequest.TopicRequest(name="asked", partition_indexes=[0, 1])
    for broker in (HERE, ELSEWHERE):
        k(f"{title}: producers, at {broker}", ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(topics=[asked]), broker)


def caught_up(answer: Any) -> bool:
    part = answer.responses[0].partitions[0]
    return bool(part.last_stable_offset == part.high_watermark)


def stable(cluster: Cluster, title: str) -> None:
    for require in (False, True):
        one = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUPS[THIRD], topics=None)
        cluster.k(f"{title}, stable: {require}", ApiKey.OFFSET_FETCH, 9, m.OffsetFetchRequest(groups=[one], require_stable=require), THIRD)


def markers(cluster: Cluster) -> None:
    """A coordinator's markers for what is led here and elsewhere, offsets' partitions among it."""
    w = m.WriteTxnMarkersRequest
    topics = [w.WritableTxnMarkerTopic(name=name, partition_indexes=numbers) for name, numbers in (
        ("asked", [0, 1]), ("followed", [0]), ("__consumer_offsets", [0, 1, 2]))]  # fmt: skip
    for epoch, version in enumerate(cluster.versions(ApiKey.WRITE_TXN_MARKERS)):
        mark = w.WritableTxnMarker(
            producer_id=4242, producer_epoch=epoch, transaction_result=False, topics=topics, coordinator_epoch=0,
            **({"transaction_version": 1} if version >= 2 else {}),
        )  # fmt: skip
        cluster.k("mark", ApiKey.WRITE_TXN_MARKERS, version, w(markers=[mark]), HERE)


def shared(cluster: Cluster) -> None:
    """Share groups: fetching and acknowledging where another broker leads, states where another one keeps them."""
    k, kind = cluster.k, m.ShareFetchRequest
    group = member = "workers"
    joined(cluster, group, member)

    def request(session: int, *numbers: int) -> Any:
        topics = [kind.FetchTopic(topic_id=cluster.topic_id, partitions=[kind.FetchPartition(partition_index=one, acknowledgement_batches=[]) for one in numbers])]
        return kind(group_id=group, member_id=member, share_session_epoch=session, max_wait=100, min_bytes=0, max_bytes=1 << 20, max_records=5, batch_size=5, topics=topics)

    for version in cluster.versions(ApiKey.SHARE_FETCH):
        k.until(ApiKey.SHARE_FETCH, 2, request(0, 0), lambda answer: not errors(answer) and answer.responses, HERE)
        k("share fetch where another leads", ApiKey.SHARE_FETCH, version, request(0, 1), HERE)
        k("share fetch of both", ApiKey.SHARE_FETCH, version, request(0, 0, 1), HERE)
        a = m.ShareAcknowledgeRequest
        told = [
            a.AcknowledgePartition(partition_index=one, acknowledgement_batches=[
                a.AcknowledgementBatch(first_offset=90, last_offset=90, acknowledge_types=[1])]) for one in (0, 1)
        ]  # fmt: skip
        k("acknowledge in both", ApiKey.SHARE_ACKNOWLEDGE, version, a(
            group_id=group, member_id=member, share_session_epoch=1, topics=[a.AcknowledgeTopic(topic_id=cluster.topic_id, partitions=told)]), HERE)  # fmt: skip
        k("the session ends", ApiKey.SHARE_FETCH, version, kind(
            group_id=group, member_id=member, share_session_epoch=-1, max_wait=0, min_bytes=0, max_bytes=1, max_records=1, batch_size=1, topics=[]), HERE)  # fmt: skip
    states_elsewhere(cluster)


def joined(cluster: Cluster, group: str, member: str) -> None:
    """Heartbeats until the member has a share of the topic."""
    epoch, deadline = 0, time.monotonic() + 60
    while True:
        beat = m.ShareGroupHeartbeatRequest(group_id=group, member_id=member, member_epoch=epoch, subscribed_topic_names=["asked"])
        answer = cluster.settled(ApiKey.SHARE_GROUP_HEARTBEAT, 1, beat, 1 + partition_for(group, PARTITIONS))
        if answer.assignment is not None and answer.assignment.topic_partitions:
            return
        assert time.monotonic() < deadline, answer
        epoch = answer.member_epoch
        time.sleep(0.05)


def states_elsewhere(cluster: Cluster) -> None:
    """A group's state of one partition, asked of a broker whose partition of `__share_group_state` it is not."""
    k = cluster.k
    names = [f"share-{number}" for number in range(20)]
    keys = [coordinator_key(name, cluster.topic_id, 0) for name in names]
    answer = k.until(ApiKey.FIND_COORDINATOR, 6, m.FindCoordinatorRequest(key_type=2, coordinator_keys=keys),
                     lambda answer: not errors(answer.coordinators), HERE)  # fmt: skip
    at = {one.key: one.node_id for one in answer.coordinators}
    assert set(at.values()) == {HERE, ELSEWHERE, THIRD} and all(at[key] == 1 + partition_for(key, PARTITIONS) for key in keys)
    states = States(k, cluster.topic_id, next(name for name, key in zip(names, keys, strict=True) if at[key] == ELSEWHERE))
    states.initialize("initialize elsewhere", (0, 0, 0))
    states.read("read elsewhere", (0, 0))
    for version in cluster.versions(ApiKey.WRITE_SHARE_GROUP_STATE):
        states.write("write elsewhere", 0, 0, 0, 0, version=version)
    states.summarize("summary elsewhere", 0)
    states.delete("delete elsewhere", 0)
