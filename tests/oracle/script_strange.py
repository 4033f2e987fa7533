"""What nobody should ask of a coordinator: every API about groups of every other kind, the same thing twice in one request, names that are too long.

Asked of Apache Kafka 4.3 and of a KRaft lab; what there is in 3.9, of it and of a lab with ZooKeeper, too.
"""

from __future__ import annotations

import time
import uuid
from functools import partial
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import make_topic
from tests.oracle.script_classic import SUBSCRIPTION, Group
from tests.oracle.script_next_generation import INTERVAL_S
from tests.oracle.script_next_generation import Asking as NextGeneration
from tests.oracle.script_transactions import Asking as Transactions

TOPIC, NOWHERE = "strange", "strange-nowhere"
NOBODY = uuid.UUID(int=79)
STRANGER = "stranger"
LONG = "x" * 300
Questions = dict[str, tuple[ApiKey, tuple[int, ...], Any]]
"""Title -> API, versions, request."""


def classic(group: str, generation: int = 1) -> Questions:
    """What members of a classic group ask."""
    j, s, leave = m.JoinGroupRequest, m.SyncGroupRequest, m.LeaveGroupRequest
    protocols = [j.JoinGroupRequestProtocol(name="range", metadata=SUBSCRIPTION)]
    who = leave.MemberIdentity(member_id=STRANGER, reason=None)
    return {
        "join": (ApiKey.JOIN_GROUP, (9,), j(group_id=group, member_id=STRANGER, session_timeout=30_000, rebalance_timeout=60_000,
                                             protocol_type="consumer", protocols=protocols)),
        "sync": (ApiKey.SYNC_GROUP, (3, 5), s(group_id=group, generation_id=generation, member_id=STRANGER, protocol_type="consumer",
                                             protocol_name="range", assignments=[])),
        "heartbeat": (ApiKey.HEARTBEAT, (3, 4), m.HeartbeatRequest(group_id=group, generation_id=generation, member_id=STRANGER)),
        "leave": (ApiKey.LEAVE_GROUP, (2, 5), leave(group_id=group, member_id=STRANGER, members=[who])),
    }  # fmt: skip


def offsets(group: str) -> Questions:
    """What is asked about a group's offsets by a stranger."""
    c, f, d, t = m.OffsetCommitRequest, m.OffsetFetchRequest, m.OffsetDeleteRequest, m.TxnOffsetCommitRequest
    part = c.OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="", commit_timestamp=-1)
    topics = [c.OffsetCommitRequestTopic(name=TOPIC, partitions=[part])]
    all_of = f.OffsetFetchRequestGroup(group_id=group, topics=None)
    by_member = f.OffsetFetchRequestGroup(group_id=group, topics=None, member_id=STRANGER, member_epoch=1)
    gone = d.OffsetDeleteRequestTopic(name=TOPIC, partitions=[d.OffsetDeleteRequestPartition(partition_index=0)])
    moved = t.TxnOffsetCommitRequestTopic(name=TOPIC, partitions=[t.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")])
    return {
        "commit as a member": (ApiKey.OFFSET_COMMIT, (7, 8, 9), c(group_id=group, member_id=STRANGER, generation_id_or_member_epoch=1, topics=topics, retention_time=-1)),
        "fetch": (ApiKey.OFFSET_FETCH, (8, 9), f(groups=[all_of])),
        "fetch as a member": (ApiKey.OFFSET_FETCH, (9,), f(groups=[by_member])),
        "delete offsets": (ApiKey.OFFSET_DELETE, (0,), d(group_id=group, topics=[gone])),
        "a transaction's offsets": (ApiKey.TXN_OFFSET_COMMIT, (3, 4), t(
            transactional_id="strange", group_id=group, producer_id=1, producer_epoch=0, member_id=STRANGER, generation_id=1, topics=[moved])),
    }  # fmt: skip


def of_today(group: str) -> Questions:
    """What members of groups of KIP-848 and of share groups ask, and whoever looks at either."""
    c, s = m.ConsumerGroupHeartbeatRequest, m.ShareGroupHeartbeatRequest
    d, a, x = m.DescribeShareGroupOffsetsRequest, m.AlterShareGroupOffsetsRequest, m.DeleteShareGroupOffsetsRequest
    found: Questions = {
        "described": (ApiKey.DESCRIBE_GROUPS, (5, 6), m.DescribeGroupsRequest(groups=[group, group])),
        "described as consumers": (ApiKey.CONSUMER_GROUP_DESCRIBE, (0, 1), m.ConsumerGroupDescribeRequest(group_ids=[group, group])),
        "described as workers": (ApiKey.SHARE_GROUP_DESCRIBE, (1,), m.ShareGroupDescribeRequest(group_ids=[group, group])),
        "shared offsets": (ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS, (0, 1), d(groups=[d.DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None)])),
        "alter shared offsets": (ApiKey.ALTER_SHARE_GROUP_OFFSETS, (0,), a(group_id=group, topics=[])),
        "delete shared offsets": (ApiKey.DELETE_SHARE_GROUP_OFFSETS, (0,), x(group_id=group, topics=[])),
    }
    for epoch in (1, -1, -2):
        found[f"a consumer's heartbeat, epoch {epoch}"] = ApiKey.CONSUMER_GROUP_HEARTBEAT, (0, 1), c(
            group_id=group, member_id=STRANGER, member_epoch=epoch, instance_id="i" if epoch == -2 else None)  # fmt: skip
        found[f"a worker's heartbeat, epoch {epoch}"] = ApiKey.SHARE_GROUP_HEARTBEAT, (1,), s(group_id=group, member_id=STRANGER, member_epoch=epoch)
    return found


def ask(k: Script, title: str, questions: Questions) -> None:
    for name, (key, versions, request) in questions.items():
        for version in versions:
            k(f"{title}: {name}", key, version, request)


def kinds(k: Script) -> None:
    """A group of each kind, and what is none, asked about in every way."""
    make_topic(k, TOPIC, 2)
    Transactions(k).init("an id of another", 4, "strange-other")
    for kind in ("classic", "consumer", "share", "simple"):
        find = m.FindCoordinatorRequest(key_type=0, coordinator_keys=[f"strange-{kind}"])
        k.until(ApiKey.FIND_COORDINATOR, 4, find, lambda answer: not answer.coordinators[0].error_code)
    old = Group(k, "strange-classic", 5)
    first = old.enter("a classic group")
    old.sync("a classic group has its share", first, 1, {first: b"share"})
    NextGeneration(k, "strange-consumer").beat("a group of today", 1, "a", 0, [TOPIC])
    worker = m.ShareGroupHeartbeatRequest(group_id="strange-share", member_id="a", member_epoch=0, subscribed_topic_names=[TOPIC])
    k("a share group", ApiKey.SHARE_GROUP_HEARTBEAT, 1, worker)
    c = m.OffsetCommitRequest
    part = c.OffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata="")
    alone = c(group_id="strange-simple", member_id="", generation_id_or_member_epoch=-1, topics=[c.OffsetCommitRequestTopic(name=TOPIC, partitions=[part])])
    k("a group of nobody", ApiKey.OFFSET_COMMIT, 9, alone)
    for group in ("strange-classic", "strange-consumer", "strange-share", "strange-simple", "strange-none", "", "  ", LONG):
        title = group if len(group) < 50 else f"{len(group)} letters"
        if group == "strange-consumer":
            time.sleep(INTERVAL_S)  # so that whoever joins is given its share at once
        ask(k, f"{title!r}", {**classic(group), **offsets(group)})
        for name, (key, versions, request) in of_today(group).items():
            for version in versions:
                old.say(f"{title!r}: {name}", key, version, request)
    for group in ("strange-classic", "strange-consumer", "strange-share"):
        k(f"{group} is deleted", ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=[group]))
        alone.group_id = group
        k(f"{group}: commit as nobody", ApiKey.OFFSET_COMMIT, 9, alone)
    long_names(k)


def long_names(k: Script) -> None:
    """Names of members, instances, racks and topics."""
    asking = NextGeneration(k, "strange-names")
    for length in (36, 37, 250, 300):
        name = "m" * length
        for title, request in (
            ("member", asking.request(name, 0, [TOPIC])), ("instance", asking.request("m", 0, [TOPIC], instance_id=name)),
            ("rack", asking.request("r", 0, [TOPIC], rack_id=name)), ("topic", asking.request("t", 0, [name])),
        ):  # fmt: skip
            k(f"a consumer's {title} of {length} letters", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, request)
        s = m.ShareGroupHeartbeatRequest
        k(f"a worker's name of {length} letters", ApiKey.SHARE_GROUP_HEARTBEAT, 1, s(
            group_id="strange-workers", member_id=name, member_epoch=0, subscribed_topic_names=[TOPIC]))  # fmt: skip
    for title, names in (("twice", [TOPIC, TOPIC]), ("no name", [""]), ("a bad name", ["a b"]), ("dots", [".."])):
        k(f"subscribed to {title}", ApiKey.CONSUMER_GROUP_HEARTBEAT, 1, asking.request(f"s-{title}", 0, names))
        k(f"a worker's topics: {title}", ApiKey.SHARE_GROUP_HEARTBEAT, 1, m.ShareGroupHeartbeatRequest(
            group_id="strange-workers", member_id=f"s-{title}", member_epoch=0, subscribed_topic_names=names))  # fmt: skip


def doubles(k: Script, newest: bool) -> None:
    """The same partition, group or id twice in one request, and partitions that cannot be."""
    group, asking = "doubled-group", Transactions(k, "doubled")
    Group(k, group, 5)
    pid = asking.init("begins", 4, "doubled").producer_id
    c, f, d, t = m.OffsetCommitRequest, m.OffsetFetchRequest, m.OffsetDeleteRequest, m.TxnOffsetCommitRequest
    for title, numbers in (("twice", [0, 0]), ("below", [-1]), ("far above", [2**31 - 1])):
        for topics in (1, 2):
            parts = [c.OffsetCommitRequestPartition(partition_index=number, committed_offset=at, committed_metadata="", commit_timestamp=-1) for at, number in enumerate(numbers)]
            asked = [c.OffsetCommitRequestTopic(name="doubled", partitions=parts)] * topics
            wanted = [f.OffsetFetchRequestTopics(name="doubled", partition_indexes=numbers)] * topics
            k(f"commit {title}, {topics} topics", ApiKey.OFFSET_COMMIT, 8, c(group_id=group, member_id="", generation_id_or_member_epoch=-1, topics=asked))
            k(f"fetch {title}, {topics} topics", ApiKey.OFFSET_FETCH, 8, f(groups=[f.OffsetFetchRequestGroup(group_id=group, topics=wanted)]))
            gone = [d.OffsetDeleteRequestTopic(name="doubled", partitions=[d.OffsetDeleteRequestPartition(partition_index=number) for number in numbers])] * topics
            k(f"delete {title}, {topics} topics", ApiKey.OFFSET_DELETE, 0, d(group_id=group, topics=gone))
            moved = [t.TxnOffsetCommitRequestPartition(partition_index=number, committed_offset=at, committed_metadata="") for at, number in enumerate(numbers)]
            request = t(transactional_id="doubled", group_id=group, producer_id=pid, producer_epoch=0, topics=[
                t.TxnOffsetCommitRequestTopic(name="doubled", partitions=moved)] * topics)  # fmt: skip
            k(f"a transaction's offsets {title}, {topics} topics", ApiKey.TXN_OFFSET_COMMIT, 3, request)
            a = m.AddPartitionsToTxnRequest
            added = [a.AddPartitionsToTxnTopic(name="doubled", partitions=numbers)] * topics
            asking.say(f"add {title}, {topics} topics", ApiKey.ADD_PARTITIONS_TO_TXN, 3, a(
                v3_and_below_transactional_id="doubled", v3_and_below_producer_id=pid, v3_and_below_producer_epoch=0, v3_and_below_topics=added))  # fmt: skip
            for verify in (True, False):
                one = a.AddPartitionsToTxnTransaction(transactional_id="doubled", producer_id=pid, producer_epoch=0, verify_only=verify, topics=added)
                asking.say(f"{'verify' if verify else 'add by a broker'} {title}, {topics} topics", ApiKey.ADD_PARTITIONS_TO_TXN, 4, a(transactions=[one]))
            p = m.DescribeProducersRequest
            k(f"producers {title}, {topics} topics", ApiKey.DESCRIBE_PRODUCERS, 0, p(topics=[p.TopicRequest(name="doubled", partition_indexes=numbers)] * topics))
    asking.k("ids twice", ApiKey.DESCRIBE_TRANSACTIONS, 0, m.DescribeTransactionsRequest(transactional_ids=["doubled", "doubled"]))
    found(k, newest)
    names = m.DescribeGroupsRequest(groups=[group, group, ""])
    k("groups twice", ApiKey.DESCRIBE_GROUPS, 5, names)
    asking.end("ends", 4, "doubled", pid, 0, False)
    long_ids(asking)
    k("deleted twice", ApiKey.DELETE_GROUPS, 2, m.DeleteGroupsRequest(groups_names=[group, group, ""]))


def found(k: Script, newest: bool) -> None:
    """FindCoordinator: for nothing, twice, of kinds that there are not."""
    for kind in (0, 1, 2, 3, -1):
        for version in (4, 5, 6) if newest else (4, 5):
            for title, keys in (("twice", ["a", "a"]), ("nothing", []), ("no name", [""])):
                k(f"find {title} of kind {kind}", ApiKey.FIND_COORDINATOR, version, m.FindCoordinatorRequest(key_type=kind, coordinator_keys=keys))
        for version in (1, 3):
            k(f"find no name of kind {kind}", ApiKey.FIND_COORDINATOR, version, m.FindCoordinatorRequest(key_type=kind, key=""))


def long_ids(asking: Transactions) -> None:
    """A transactional id may be as long as a string can be."""
    for length in (249, 250, 5000):
        name = "i" * length
        find = m.FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
        asking.k.until(ApiKey.FIND_COORDINATOR, 4, find, lambda answer: not answer.coordinators[0].error_code)
        pid = asking.init(f"an id of {length} letters", 4, name).producer_id
        asking.add(f"add to an id of {length} letters", 3, name, pid, 0, {"doubled": [0]})
        asking.end(f"end of an id of {length} letters", 3, name, pid, 0)


SCRIPTS = {"groups of other kinds": kinds, "twice": partial(doubles, newest=True)}
OF_3_9 = {"twice": partial(doubles, newest=False)}
