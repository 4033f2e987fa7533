"""confluent-kafka does everything that people use it for: `confluent_tour.py BOOTSTRAP`. It ends with "done"."""

from __future__ import annotations

import sys
import time
from typing import Any

from confluent_kafka import (
    OFFSET_BEGINNING,
    ConsumerGroupTopicPartitions,
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

BOOTSTRAP = {"bootstrap.servers": sys.argv[1]}
TOPIC, GROUP = "confluent", "confluent-group"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
admin = AdminClient(BOOTSTRAP)


def result(futures: dict[Any, Any]) -> Any:
    return [future.result(30) for future in futures.values()]


def topics() -> None:
    result(admin.create_topics([NewTopic(TOPIC, 2, 3, config={"retention.ms": "86400000"}),
                                NewTopic("confluent-compacted", 1, 3, config={"cleanup.policy": "compact"})]))
    result(admin.create_partitions([NewPartitions(TOPIC, 3)]))
    wait_for(lambda: len(admin.list_topics(TOPIC, timeout=60).topics[TOPIC].partitions) == 3)
    resource = ConfigResource(ResourceType.TOPIC, TOPIC)
    assert result(admin.describe_configs([resource]))[0]["retention.ms"].value == "86400000"
    change = ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)
    result(admin.incremental_alter_configs([ConfigResource(ResourceType.TOPIC, TOPIC, incremental_configs=[change])]))
    assert result(admin.describe_configs([resource]))[0]["retention.ms"].value == "7200000"
    try:
        result(admin.create_topics([NewTopic(TOPIC, 1, 3)]))
    except KafkaException as error:
        assert error.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    else:
        raise AssertionError("a topic was created twice")


def produce(topic: str, records: list[dict[str, Any]], **settings: Any) -> list[Any]:
    """Delivery reports: None or the error."""
    errors: list[Any] = []
    producer = Producer({**BOOTSTRAP, "acks": "all", **settings})
    for record in records:
        producer.produce(topic, on_delivery=lambda error, message: errors.append(error), **record)
    assert producer.flush(30) == 0
    return errors


def records() -> None:
    for codec in CODECS:
        sent = [{"key": f"{codec}-{n}", "value": b"x" * 300, "headers": [("h", b"1"), ("none", None)]} for n in range(20)]
        assert produce(TOPIC, sent, **{"compression.type": codec, "enable.idempotence": codec == "zstd"}) == [None] * 20
    nothing = [{"key": None, "value": None}, {"key": "k", "value": None}, {"key": None, "value": "v"}]
    assert produce(TOPIC, nothing) == [None] * 3
    assert produce(TOPIC, [{"value": bytes(1_000_000)}], **{"message.max.bytes": 5_000_000}) == [None]
    large = produce(TOPIC, [{"value": bytes(1_200_000)}], **{"message.max.bytes": 5_000_000})
    assert [one.code() for one in large] == [KafkaError.MSG_SIZE_TOO_LARGE]
    keyless = produce("confluent-compacted", [{"value": "v"}])
    assert [one.code() for one in keyless] == [KafkaError.INVALID_RECORD]


def read(consumer: Consumer, count: int) -> list[Any]:
    found = []
    deadline = time.monotonic() + 90
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(1)
        if message is not None:
            assert message.error() is None, message.error()
            found.append(message)
    assert len(found) == count, f"{len(found)} of {count} records"
    return found


def groups() -> None:
    common = {**BOOTSTRAP, "group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": False}
    first, second = Consumer(common), Consumer(common)
    first.subscribe([TOPIC])
    found = read(first, 104)
    keys = {message.key() for message in found}
    assert keys == {f"{codec}-{n}".encode() for codec in CODECS for n in range(20)} | {None, b"k"}
    assert [one.headers() for one in found if one.key() == b"gzip-3"] == [[("h", b"1"), ("none", None)]]
    first.commit(asynchronous=False)
    second.subscribe([TOPIC])
    wait_for(lambda: (first.poll(0.1), second.poll(0.1)) and {len(first.assignment()), len(second.assignment())} == {1, 2})
    described = result(admin.describe_consumer_groups([GROUP]))[0]
    assert len(described.members) == 2 and described.state.name == "STABLE", described.state
    second.close()
    wait_for(lambda: first.poll(0.1) is None and len(first.assignment()) == 3)
    first.close()
    assert GROUP in [one.group_id for one in admin.list_consumer_groups().result(30).valid]
    offsets = result(admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(GROUP)]))[0].topic_partitions
    assert sum(one.offset for one in offsets) == 104
    result(admin.delete_consumer_groups([GROUP]))
    assert GROUP not in [one.group_id for one in admin.list_consumer_groups().result(30).valid]


def offsets() -> None:
    parts = [TopicPartition(TOPIC, number) for number in range(3)]
    ends = result(admin.list_offsets({part: OffsetSpec.latest() for part in parts}))
    assert sum(one.offset for one in ends) == 104
    starts = result(admin.list_offsets({part: OffsetSpec.for_timestamp(1) for part in parts}))
    assert [one.offset for one in starts] == [0, 0, 0]
    assert result(admin.list_offsets({part: OffsetSpec.max_timestamp() for part in parts}))
    deleted = result(admin.delete_records([TopicPartition(TOPIC, 0, ends[0].offset)]))
    assert deleted[0].low_watermark == ends[0].offset
    consumer = Consumer({**BOOTSTRAP, "group.id": "watermarks"})
    assert consumer.get_watermark_offsets(parts[0], timeout=60) == (ends[0].offset, ends[0].offset)
    found = consumer.offsets_for_times([TopicPartition(TOPIC, 1, 1)], timeout=60)
    assert found[0].offset == 0
    consumer.assign([TopicPartition(TOPIC, 1, OFFSET_BEGINNING)])
    read(consumer, 1)
    consumer.close()
    result(admin.delete_topics([TOPIC, "confluent-compacted"]))
    wait_for(lambda: TOPIC not in admin.list_topics(timeout=60).topics)


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


if __name__ == "__main__":
    cluster = admin.describe_cluster().result(30)
    assert len(cluster.nodes) == 3 and cluster.controller is not None
    for step in (topics, records, groups, offsets):
        step()
    print("done")
