"""What is answered about a broker that is dead: it leads, coordinates, and has the only copies. Asked of the two others, of both
generations, before, while and after it is away.

Goes on with the cluster of `script_elsewhere`: partition 1 of `asked` and of the three internal topics is broker 2's alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.coordinators.partitioning import partition_for
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode as E
from tests.oracle.asking import Script
from tests.oracle.requests import batch, controller_of, fetch, list_offsets, make_topic, metadata, produce
from tests.oracle.script_elsewhere import (
    ELSEWHERE, GROUPS, HERE, IDS, PARTITIONS, THIRD, Cluster, adding, committing, ending, errors, found, starting,
)  # fmt: skip
from tests.oracle.script_share import coordinator_key

Deaths = Callable[[str, int], None]
""" "kill", "restart", "pause" or "resume", and which broker."""
ALIVE = {HERE, THIRD}
NEVER_VERIFIED = 2
"""Produce up to this version carries messages, which belong to no transaction."""


def dead(cluster: Cluster, deaths: Deaths) -> None:
    """The broker ELSEWHERE dies and comes back."""
    k = cluster.k
    make_topic(k, "spread", assigned=[(0, [ELSEWHERE, THIRD, HERE])])
    maps(cluster, "before")
    opened = begun(cluster, IDS[HERE], HERE)
    waiting = begun(cluster, IDS[ELSEWHERE], ELSEWHERE)
    added(cluster, IDS[HERE], opened, HERE, "before")
    records = batch(b"v", producer_id=opened[0], producer_epoch=opened[1], base_sequence=0, transactional=True)
    k.note("written before", cluster.settled(ApiKey.PRODUCE, 11, produce("asked", records, -1, 1, transactional_id=IDS[HERE]), ELSEWHERE))
    deaths("kill", ELSEWHERE)
    for broker in ALIVE:
        k.until(ApiKey.METADATA, 12, metadata("spread"), moved, broker)
    maps(cluster, "while it is dead")
    found(cluster, "of the dead")
    leaderless(cluster)
    coordinated(cluster)
    cut_off(cluster, opened, waiting)
    deaths("restart", ELSEWHERE)
    k.connect_again(ELSEWHERE)
    for broker in GROUPS:
        k.until(ApiKey.METADATA, 12, metadata("asked", "spread"), whole, broker)
    back(cluster, opened)


def led_by(k: Script, deaths: Deaths, broker: int) -> None:
    """With ZooKeeper one of the brokers is the controller. What happens to partitions when it dies depends on that, so it is
    this one: whoever else is, stands still until it is not any more."""
    others = {one: next(other for other in GROUPS if other != one) for one in GROUPS}
    while (who := controller_of(k)) != broker:
        deaths("pause", who)
        k.default = others[who]
        k.until(ApiKey.METADATA, 9, metadata(), lambda answer, who=who: answer.controller_id not in (-1, who))
        deaths("resume", who)
        k.until(ApiKey.METADATA, 9, metadata(), lambda answer: len(answer.brokers) == len(GROUPS))
    k.default = HERE


def moved(answer: Any) -> bool:
    """Only two are alive, and one of them leads what has other copies."""
    (part,) = answer.topics[0].partitions
    return {one.node_id for one in answer.brokers} == ALIVE and part.leader_id in ALIVE and set(part.isr_nodes) == ALIVE


def whole(answer: Any) -> bool:
    parts = [part for one in answer.topics for part in one.partitions]
    return len(answer.brokers) == len(GROUPS) and all(part.leader_id > 0 and not part.offline_replicas for part in parts) and all(
        sorted(part.isr_nodes) == sorted(part.replica_nodes) for part in parts)  # fmt: skip


def maps(cluster: Cluster, when: str) -> None:
    """Metadata: some topics, one that is nowhere, all of them, and by id."""
    one = m.MetadataRequest.MetadataRequestTopic
    for version in cluster.versions(ApiKey.METADATA):
        names = ["asked", "followed", "spread", *(["nowhere"] if version >= 4 else [])]
        by_id = m.MetadataRequest(topics=[one(topic_id=cluster.topic_id, name=None)], allow_auto_topic_creation=False)
        everything = m.MetadataRequest(topics=None if version else [], allow_auto_topic_creation=False)
        for broker in sorted(ALIVE):
            for title, request in (("some", metadata(*names)), ("all", everything), *([("by id", by_id)] if version >= 12 else [])):
                cluster.k(f"metadata of {title} {when}, at {broker}", ApiKey.METADATA, version, request, broker)


def begun(cluster: Cluster, name: str, broker: int) -> tuple[int, int]:
    said = cluster.settled(ApiKey.INIT_PRODUCER_ID, 4, starting(name), broker)
    return said.producer_id, said.producer_epoch


def adds(name: str, who: tuple[int, int], *numbers: int) -> Any:
    a = m.AddPartitionsToTxnRequest
    return a(v3_and_below_transactional_id=name, v3_and_below_producer_id=who[0], v3_and_below_producer_epoch=who[1],
             v3_and_below_topics=[a.AddPartitionsToTxnTopic(name="asked", partitions=list(numbers))])  # fmt: skip


def added(cluster: Cluster, name: str, who: tuple[int, int], broker: int, when: str) -> None:
    cluster.k.note(f"partitions added {when}", cluster.settled(ApiKey.ADD_PARTITIONS_TO_TXN, 3, adds(name, who, 0, 1), broker))


def leaderless(cluster: Cluster) -> None:
    """A partition whose only replica is dead."""
    p, e, d = m.ProduceRequest, m.OffsetForLeaderEpochRequest, m.DeleteRecordsRequest
    for version in cluster.versions(ApiKey.PRODUCE):
        if version > NEVER_VERIFIED:
            request = produce("asked", batch(b"x"), -1, 1)
            if version >= 13:
                data = p.PartitionProduceData(index=1, records=batch(b"x"))
                request = p(acks=-1, timeout=3000, transactional_id=None, topic_data=[p.TopicProduceData(topic_id=cluster.topic_id, partition_data=[data])])
            cluster.k("produce to the dead", ApiKey.PRODUCE, version, request, HERE)
    cluster.everywhere("fetch from the dead", ApiKey.FETCH, lambda version: fetch(cluster.topic_id if version >= 13 else "asked", partition=1))
    cluster.everywhere("end of the dead", ApiKey.LIST_OFFSETS, lambda version: list_offsets("asked", -1, 1))
    part = e.OffsetForLeaderPartition(partition=1, current_leader_epoch=-1, leader_epoch=0)
    cluster.everywhere("epoch of the dead", ApiKey.OFFSET_FOR_LEADER_EPOCH, lambda version: e(
        replica_id=-1, topics=[e.OffsetForLeaderTopic(topic="asked", partitions=[part])]))  # fmt: skip
    below = d.DeleteRecordsTopic(name="asked", partitions=[d.DeleteRecordsPartition(partition_index=1, offset=0)])
    cluster.everywhere("delete records of the dead", ApiKey.DELETE_RECORDS, lambda version: d(topics=[below], timeout=3000))
    one = m.DescribeProducersRequest.TopicRequest(name="asked", partition_indexes=[1])
    cluster.everywhere("producers of the dead", ApiKey.DESCRIBE_PRODUCERS, lambda version: m.DescribeProducersRequest(topics=[one]))


def coordinated(cluster: Cluster) -> None:
    """Who is asked for a group or an id of the dead one, and who keeps a share group's state."""
    k, group = cluster.k, GROUPS[ELSEWHERE]
    cluster.everywhere("commit for the dead", ApiKey.OFFSET_COMMIT, lambda version: cluster.commit(group, version), HERE, THIRD)
    cluster.everywhere("describe the groups", ApiKey.DESCRIBE_GROUPS, lambda version: m.DescribeGroupsRequest(groups=list(GROUPS.values())))
    cluster.everywhere("describe the ids", ApiKey.DESCRIBE_TRANSACTIONS, lambda version: m.DescribeTransactionsRequest(
        transactional_ids=list(IDS.values())))  # fmt: skip
    if cluster.mode == "kraft":
        keys = {1 + partition_for(key, PARTITIONS): key for number in range(20) if (key := coordinator_key(f"share-{number}", cluster.topic_id, 0))}
        answer = k.ask(ApiKey.FIND_COORDINATOR, 6, m.FindCoordinatorRequest(key_type=2, coordinator_keys=list(keys.values())), HERE)
        for one in answer.coordinators:
            one.key = f"of {next(broker for broker, key in keys.items() if key == one.key)}"
        k.note("find who keeps states v6", answer)


def cut_off(cluster: Cluster, opened: tuple[int, int], waiting: tuple[int, int]) -> None:
    """Transactions of which the dead one leads a partition, coordinates the id, or coordinates the group."""
    k, mine, its = cluster.k, IDS[HERE], IDS[ELSEWHERE]
    newest = max(cluster.versions(ApiKey.PRODUCE))
    for version in (*range(NEVER_VERIFIED + 1, 12), *([12] if newest >= 12 else [])):
        records = batch(b"v", producer_id=waiting[0], producer_epoch=waiting[1], base_sequence=0, transactional=True)
        k("written for the dead", ApiKey.PRODUCE, version, produce("asked", records, -1, 0, transactional_id=its), HERE)
    k("group of the dead added", ApiKey.ADD_OFFSETS_TO_TXN, 3, adding(mine, *opened, GROUPS[ELSEWHERE]), HERE)
    k("offsets for the dead", ApiKey.TXN_OFFSET_COMMIT, 3, committing(mine, *opened, GROUPS[ELSEWHERE]), HERE)
    k("partitions of the dead added", ApiKey.ADD_PARTITIONS_TO_TXN, 3, adds(mine, opened, 0, 1), HERE)
    k("ended while the dead has a part", ApiKey.END_TXN, 3, ending(mine, *opened), HERE)
    described = m.DescribeTransactionsRequest(transactional_ids=[mine])
    k.note("described while the dead has a part", k.until(ApiKey.DESCRIBE_TRANSACTIONS, 0, described, told_the_living, HERE))
    k("ended twice", ApiKey.END_TXN, 3, ending(mine, *opened), HERE)
    k("begun anew while the dead has a part", ApiKey.INIT_PRODUCER_ID, 4, starting(mine), HERE)


def back(cluster: Cluster, opened: tuple[int, int]) -> None:
    """It leads and coordinates again, and knows what it knew; the transaction ends by itself."""
    k = cluster.k
    found(cluster, "of who is back")
    maps(cluster, "when it is back")
    request = m.DescribeTransactionsRequest(transactional_ids=[IDS[HERE]])
    k.note("ended by itself", k.until(ApiKey.DESCRIBE_TRANSACTIONS, 0, request, complete, HERE))
    one = m.DescribeProducersRequest.TopicRequest(name="asked", partition_indexes=[1])
    k("producers of who is back", ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(topics=[one]), ELSEWHERE)
    one = m.OffsetFetchRequest.OffsetFetchRequestGroup(group_id=GROUPS[ELSEWHERE], topics=None)
    waits = {E.COORDINATOR_LOAD_IN_PROGRESS, E.NOT_COORDINATOR, E.UNSTABLE_OFFSET_COMMIT}
    answer = k.until(ApiKey.OFFSET_FETCH, 8, m.OffsetFetchRequest(groups=[one], require_stable=True), lambda answer: not errors(answer.groups) & waits, ELSEWHERE)
    k.note("offsets of who is back", answer)
    said = cluster.settled(ApiKey.INIT_PRODUCER_ID, 4, starting(IDS[ELSEWHERE]), ELSEWHERE)
    k.note("begun at who is back", said)
    k("begun when all is told", ApiKey.INIT_PRODUCER_ID, 4, starting(IDS[HERE]), HERE)


def told_the_living(answer: Any) -> bool:
    """Nobody but the dead broker, if anybody, has yet to hear how the transaction has ended."""
    left = {(topic.topic, number) for topic in answer.transaction_states[0].topics for number in topic.partitions}
    return complete(answer) or bool(left) and ("asked", 0) not in left


def complete(answer: Any) -> bool:
    return not answer.transaction_states[0].transaction_state.startswith("Prepare")
