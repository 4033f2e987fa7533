"""Short ways to make requests, and topics that are ready when the next line asks about them."""

from __future__ import annotations

from typing import Any

from broker_core.records import encode_batch
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script

THEN = 1_700_000_000_000  # when the records of all scripts were made


def batch(*values: bytes | None, key: bytes | None = b"k", at: int = THEN, **more: Any) -> bytearray:
    """Records `values`, one millisecond apart."""
    return encode_batch([(at + number, key, value, ()) for number, value in enumerate(values)], **more)


def produce(topic: str, records: Any, acks: int = 1, partition: int = 0, **more: Any) -> Any:
    data = m.ProduceRequest.PartitionProduceData(index=partition, records=records)
    one = m.ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    return m.ProduceRequest(acks=acks, timeout=3000, topic_data=[one], **{"transactional_id": None, **more})


def fetch(topic: Any, offset: int = 0, partition: int = 0, **more: Any) -> Any:
    """`topic` is a name or a topic id; other fields go to the partition or to the request."""
    inner = ("current_leader_epoch", "last_fetched_epoch", "log_start_offset", "partition_max_bytes")
    own = {name: more.pop(name) for name in inner if name in more}
    part = m.FetchRequest.FetchPartition(
        **{"partition": partition, "fetch_offset": offset, "partition_max_bytes": 1 << 20, "current_leader_epoch": -1,
           "last_fetched_epoch": -1, **own}
    )  # fmt: skip
    key = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    topics = more.pop("topics", [m.FetchRequest.FetchTopic(partitions=[part], **key)])
    defaults = {"replica_id": -1, "max_wait": 50, "min_bytes": 0, "max_bytes": 1 << 20, "session_epoch": -1}
    return m.FetchRequest(topics=topics, **{**defaults, **more})


def list_offsets(topic: str, timestamp: int, partition: int = 0, epoch: int = -1, **more: Any) -> Any:
    part = m.ListOffsetsRequest.ListOffsetsPartition(
        partition_index=partition, timestamp=timestamp, current_leader_epoch=epoch, max_num_offsets=3
    )
    one = m.ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[part])
    return m.ListOffsetsRequest(**{"replica_id": -1, "topics": [one], **more})


def metadata(*topics: str, auto: bool = False, **more: Any) -> Any:
    asked = [m.MetadataRequest.MetadataRequestTopic(name=name) for name in topics]
    return m.MetadataRequest(topics=asked, allow_auto_topic_creation=auto, **more)


def topic(name: str, partitions: int = 1, factor: int = 1, assigned: Any = None, **configs: Any) -> Any:
    """A topic to be created; settings with underscores for dots."""
    c = m.CreateTopicsRequest
    return c.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=factor,
        assignments=[c.CreatableReplicaAssignment(partition_index=index, broker_ids=ids)
                     for index, ids in (assigned or [])],
        configs=[c.CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )  # fmt: skip


def create(*topics: Any, only: bool = False, timeout: int = 10_000) -> Any:
    return m.CreateTopicsRequest(topics=list(topics), timeout=timeout, validate_only=only)


def make_topic(k: Script, name: str, partitions: int = 1, factor: int = 1, assigned: Any = None, **configs: Any) -> Any:
    """Create and wait until the leaders lead; the topic's id."""
    if assigned:
        partitions, factor = -1, -1
    wanted = create(topic(name, partitions, factor, assigned, **configs))
    controller = controller_of(k)
    found = k.ask(ApiKey.CREATE_TOPICS, 5, wanted, controller).topics[0]
    assert found.error_code == 0, found
    for broker in k.addresses:
        answer = k.until(ApiKey.METADATA, 12, metadata(name), lambda answer: ready(answer.topics[0]), broker)
    for part in answer.topics[0].partitions:
        k.until(ApiKey.FETCH, 11, fetch(name, partition=part.partition_index), leads, part.leader_id)
    k.names.setdefault(("id", answer.topics[0].topic_id), f"id of {name}")
    return answer.topics[0].topic_id


def controller_of(k: Script) -> int:
    controller: int = k.until(ApiKey.METADATA, 9, metadata(), lambda answer: answer.controller_id > 0).controller_id
    return controller


def ready(found: Any) -> bool:
    return found.error_code == 0 and all(part.error_code == 0 and part.leader_id >= 0 for part in found.partitions)


def leads(answer: Any) -> bool:
    return answer.responses[0].partitions[0].error_code == 0
