"""What only several brokers can answer: who leads, who is controller, what followers say, too few replicas."""

from __future__ import annotations

from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import batch, controller_of, create, fetch, list_offsets, make_topic, metadata, produce, topic

PRODUCE, FETCH = ApiKey.PRODUCE, ApiKey.FETCH


def three_brokers(k: Script) -> None:
    """Topics are assigned by hand, so that the same broker leads on both sides."""
    replicated = make_topic(k, "replicated", assigned=[(0, [1, 2, 3]), (1, [2, 3, 1])])
    elsewhere = make_topic(k, "elsewhere", assigned=[(0, [2])])
    make_topic(k, "wanting", assigned=[(0, [1, 2])], min_insync_replicas="3")
    controller = controller_of(k)
    other = 1 + controller % 3
    for version in range(0, 13):
        k("metadata", ApiKey.METADATA, version, metadata("replicated", "elsewhere"), 3) if version > 3 else None
    k("by an old client", ApiKey.METADATA, 0, metadata("elsewhere"), 2)
    for version in (3, 9, 10, 11):
        for name, broker in (("replicated", 2), ("elsewhere", 1)):
            k(f"produce to {name} at {broker}", PRODUCE, version, produce(name, batch(b"x"), -1), broker)
        k("too few replicas", PRODUCE, version, produce("wanting", batch(b"x"), -1), 1)
        k("acks 1 suffices", PRODUCE, version, produce("wanting", batch(b"x"), 1), 1)
    for acks in (-1, 1):
        k(f"acks {acks}", PRODUCE, 9, produce("replicated", batch(b"a", b"b"), acks), 1)
    k.until(FETCH, 11, fetch("replicated"), lambda answer: answer.responses[0].partitions[0].high_watermark == 4, 1)
    k.until(FETCH, 11, fetch("replicated"), lambda answer: answer.responses[0].partitions[0].high_watermark == 4, 2)
    for version in (4, 9, 10, 11, 12, 13, 15, 16, 17):
        name: Any = "replicated" if version < 13 else replicated
        single: Any = "elsewhere" if version < 13 else elsewhere
        k("fetch from the leader", FETCH, version, fetch(name), 1)
        k("fetch from a follower", FETCH, version, fetch(name), 2)
        k("fetch beyond, from a follower", FETCH, version, fetch(name, 9), 2)
        k("fetch where no replica is", FETCH, version, fetch(single), 1)
        k("fetch with an epoch of the future", FETCH, version, fetch(name, current_leader_epoch=7), 2)
    for version in (1, 4, 5, 7, 9):
        for broker in (1, 2):
            k(f"end at {broker}", ApiKey.LIST_OFFSETS, version, list_offsets("replicated", -1), broker)
            k(f"end of elsewhere at {broker}", ApiKey.LIST_OFFSETS, version, list_offsets("elsewhere", -1), broker)
    e = m.OffsetForLeaderEpochRequest
    part = e.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
    for broker in (1, 2):
        k(f"epoch at {broker}", ApiKey.OFFSET_FOR_LEADER_EPOCH, 3,
          e(replica_id=-1, topics=[e.OffsetForLeaderTopic(topic="replicated", partitions=[part])]), broker)
    d = m.DeleteRecordsRequest
    below = d.DeleteRecordsTopic(name="replicated", partitions=[d.DeleteRecordsPartition(partition_index=0, offset=2)])
    for broker in (2, 1):
        k(f"delete records at {broker}", ApiKey.DELETE_RECORDS, 2, d(topics=[below], timeout=5000), broker)
    k("read what is left", FETCH, 11, fetch("replicated", 2), 1)
    for broker in (1, 2):
        one = m.DescribeProducersRequest.TopicRequest
        asked = [one(name=name, partition_indexes=[0]) for name in ("replicated", "elsewhere")]
        k(f"producers at {broker}", ApiKey.DESCRIBE_PRODUCERS, 0, m.DescribeProducersRequest(topics=asked), broker)
    _at_another(k, other)
    k("factor 4", ApiKey.CREATE_TOPICS, 7, create(topic("four", 1, 4)), controller)
    c = m.CreatePartitionsRequest
    for title, *added in (("fewer replicas", [1], [2, 3]), ("one replica", [1]), ("twice the same", [1, 1, 2])):
        one = c.CreatePartitionsTopic(name="replicated", count=2 + len(added),
                                      assignments=[c.CreatePartitionsAssignment(broker_ids=ids) for ids in added])
        k(f"grow: {title}", ApiKey.CREATE_PARTITIONS, 2, c(topics=[one], timeout=5000), controller)
    k("uneven", ApiKey.CREATE_TOPICS, 7, create(topic("uneven", assigned=[(0, [1]), (1, [2, 3])])), controller)


def _at_another(k: Script, other: int) -> None:
    """Requests for the controller, sent to another broker."""
    for version in (1, 5, 7):
        k("create elsewhere", ApiKey.CREATE_TOPICS, version, create(topic("here")), other)
    state = m.DeleteTopicsRequest.DeleteTopicState
    for version in (1, 5, 6):
        k("delete elsewhere", ApiKey.DELETE_TOPICS, version, m.DeleteTopicsRequest(
            topic_names=["elsewhere"], topics=[state(name="elsewhere")], timeout=3000), other)
    c = m.CreatePartitionsRequest
    k("grow elsewhere", ApiKey.CREATE_PARTITIONS, 3, c(topics=[c.CreatePartitionsTopic(
        name="elsewhere", count=3, assignments=None)], timeout=3000), other)
    x = m.ElectLeadersRequest
    k("elect elsewhere", ApiKey.ELECT_LEADERS, 2, x(
        election_type=0, topic_partitions=[x.TopicPartitions(topic="replicated", partitions=[0])], timeout=3000), other)
    r = m.AlterPartitionReassignmentsRequest
    moved = r.ReassignableTopic(name="replicated", partitions=[r.ReassignablePartition(partition_index=0, replicas=[1])])
    k("reassign elsewhere", ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, r(topics=[moved], timeout=3000), other)
    k("list moves elsewhere", ApiKey.LIST_PARTITION_REASSIGNMENTS, 0,
      m.ListPartitionReassignmentsRequest(topics=None, timeout=3000), other)
