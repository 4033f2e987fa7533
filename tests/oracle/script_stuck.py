"""A topic that is being deleted while a broker with a replica of it is gone: it is neither there nor free."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import batch, controller_of, create, fetch, list_offsets, make_topic, metadata, produce, topic

Deed = Callable[[int], None]


def stuck_in_deletion(k: Script, kill: Deed, restart: Deed) -> None:
    """The broker that dies is not the controller; topics are led by one that lives."""
    controller = controller_of(k)
    gone, other = 1 + controller % 3, 1 + (controller + 1) % 3
    known = make_topic(k, "stuck", assigned=[(0, [other, gone]), (1, [controller, gone])])
    kill(gone)
    k.connections.pop(gone).close()
    for broker in (controller, other):
        k.until(ApiKey.METADATA, 9, metadata(), lambda answer: len(answer.brokers) == 2, broker)
    k("delete", ApiKey.DELETE_TOPICS, 5, m.DeleteTopicsRequest(topic_names=["stuck"], timeout=5000), controller)
    for broker in (controller, other):
        k.until(ApiKey.METADATA, 9, metadata("stuck"), lambda answer: answer.topics[0].error_code == 3, broker)
    for where, broker in (("controller", controller), ("other", other)):
        _clients(k, where, broker, known)
    _admin(k, controller, known)
    restart(gone)
    k.until(ApiKey.CREATE_TOPICS, 7, create(topic("stuck")), lambda answer: answer.topics[0].error_code == 0, controller)
    k("created again", ApiKey.CREATE_TOPICS, 7, create(topic("stuck")), controller)


def _clients(k: Script, where: str, broker: int, known: Any) -> None:
    """What those that read and write are told."""
    by_id = m.MetadataRequest(topics=[m.MetadataRequest.MetadataRequestTopic(topic_id=known, name=None)])
    asked = {f"metadata v{version}": (version, metadata("stuck", auto=auto)) for version, auto in
             ((1, False), (5, True), (9, True), (12, True))}  # fmt: skip
    asked |= {"not to be created": (9, metadata("stuck")), "by id": (12, by_id), "all topics": (9, m.MetadataRequest(topics=None))}
    for title, (version, message) in asked.items():
        k.note(f"{title} at {where}", k.ask(ApiKey.METADATA, version, message, broker).topics)
    for acks in (1, -1):
        k(f"produce acks {acks} at {where}", ApiKey.PRODUCE, 9, produce("stuck", batch(b"x"), acks), broker)
    k(f"fetch at {where}", ApiKey.FETCH, 11, fetch("stuck"), broker)
    k(f"fetch by id at {where}", ApiKey.FETCH, 13, fetch(known), broker)
    k(f"end at {where}", ApiKey.LIST_OFFSETS, 7, list_offsets("stuck", -1), broker)
    e = m.OffsetForLeaderEpochRequest
    part = e.OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=0)
    k(f"epoch at {where}", ApiKey.OFFSET_FOR_LEADER_EPOCH, 3,
      e(replica_id=-1, topics=[e.OffsetForLeaderTopic(topic="stuck", partitions=[part])]), broker)


def _admin(k: Script, controller: int, known: Any) -> None:
    """What those that administer are told, by the controller."""
    for only in (False, True):
        k(f"create, only={only}", ApiKey.CREATE_TOPICS, 7, create(topic("stuck"), only=only), controller)
    state = m.DeleteTopicsRequest.DeleteTopicState
    k("delete again", ApiKey.DELETE_TOPICS, 5, m.DeleteTopicsRequest(topic_names=["stuck"], timeout=500), controller)
    for title, one in (("name", state(name="stuck")), ("id", state(name=None, topic_id=known))):
        k(f"delete again by {title}", ApiKey.DELETE_TOPICS, 6, m.DeleteTopicsRequest(topics=[one], timeout=500), controller)
    c = m.CreatePartitionsRequest
    k("grow", ApiKey.CREATE_PARTITIONS, 3, c(topics=[c.CreatePartitionsTopic(name="stuck", count=4, assignments=None)], timeout=500), controller)
    d = m.DescribeConfigsRequest
    k("describe settings", ApiKey.DESCRIBE_CONFIGS, 4, d(resources=[d.DescribeConfigsResource(
        resource_type=2, resource_name="stuck", configuration_keys=["retention.ms"])]), controller)
    i = m.IncrementalAlterConfigsRequest
    change = i.AlterableConfig(name="retention.ms", config_operation=0, value="60000")
    k("change a setting", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, i(resources=[i.AlterConfigsResource(
        resource_type=2, resource_name="stuck", configs=[change])], validate_only=False), controller)
    a = m.AlterConfigsRequest
    k("replace settings", ApiKey.ALTER_CONFIGS, 2, a(resources=[a.AlterConfigsResource(
        resource_type=2, resource_name="stuck", configs=[a.AlterableConfig(name="retention.ms", value="70000")])],
        validate_only=False), controller)
    r = m.AlterPartitionReassignmentsRequest
    moved = r.ReassignableTopic(name="stuck", partitions=[r.ReassignablePartition(partition_index=0, replicas=[controller])])
    k("reassign", ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, r(topics=[moved], timeout=500), controller)
    x = m.ElectLeadersRequest
    k("elect", ApiKey.ELECT_LEADERS, 2, x(election_type=0, topic_partitions=[
        x.TopicPartitions(topic="stuck", partitions=[0])], timeout=500), controller)
    f = m.DeleteRecordsRequest
    below = f.DeleteRecordsTopic(name="stuck", partitions=[f.DeleteRecordsPartition(partition_index=0, offset=0)])
    k("delete records", ApiKey.DELETE_RECORDS, 2, f(topics=[below], timeout=500), controller)
