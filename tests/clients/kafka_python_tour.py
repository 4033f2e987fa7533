"""kafka-python does everything that people use it for: `kafka_python_tour.py BOOTSTRAP`. It ends with "done"."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewPartitions, NewTopic
from kafka.errors import KafkaError, MessageSizeTooLargeError

BOOTSTRAP = sys.argv[1].split(",")
TOPIC, GROUP = "kafka-python", "kafka-python-group"
admin = KafkaAdminClient(bootstrap_servers=BOOTSTRAP)


def topics() -> None:
    admin.create_topics([NewTopic(TOPIC, 2, 3, topic_configs={"retention.ms": "86400000"}),
                         NewTopic("kafka-python-compacted", 1, 3, topic_configs={"cleanup.policy": "compact"})])
    admin.create_partitions({TOPIC: NewPartitions(3)})
    wait_for(lambda: len(admin.describe_topics([TOPIC])[0]["partitions"]) == 3)
    assert TOPIC in admin.list_topics()
    assert "86400000" in str(admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC)]))
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, configs={"retention.ms": "7200000"})])
    wait_for(lambda: "7200000" in str(admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC)])))
    try:
        admin.create_topics([NewTopic(TOPIC, 1, 3)])
    except KafkaError as error:
        assert "AlreadyExists" in type(error).__name__, error
    else:
        raise AssertionError("a topic was created twice")


def produce(topic: str, records: list[dict[str, Any]], **settings: Any) -> list[Any]:
    """What became of each record: its metadata or the error."""
    producer = KafkaProducer(bootstrap_servers=BOOTSTRAP, **{"acks": "all", **settings})
    sent = [producer.send(topic, **record) for record in records]
    producer.flush(30)
    found = [future.exception if future.failed() else future.value for future in sent]
    producer.close()
    return found


def records() -> None:
    for codec in (None, "gzip"):
        sent = [{"key": f"{codec}-{n}".encode(), "value": b"x" * 300, "headers": [("h", b"1")]} for n in range(20)]
        found = produce(TOPIC, sent, compression_type=codec, enable_idempotence=codec == "gzip")
        assert all(one.offset >= 0 for one in found), found
    assert produce(TOPIC, [{"key": None, "value": b"v"}, {"key": b"k", "value": None}])[0].offset >= 0
    assert produce(TOPIC, [{"value": bytes(1_000_000)}])[0].offset >= 0
    large = produce(TOPIC, [{"value": bytes(1_200_000)}], max_request_size=5_000_000)
    assert isinstance(large[0], MessageSizeTooLargeError), large
    keyless = produce("kafka-python-compacted", [{"value": b"v"}])
    assert "InvalidRecord" in type(keyless[0]).__name__, keyless


def groups() -> None:
    common = {"bootstrap_servers": BOOTSTRAP, "group_id": GROUP, "auto_offset_reset": "earliest",
              "enable_auto_commit": False}
    first = KafkaConsumer(TOPIC, consumer_timeout_ms=30_000, **common)
    found = [message for _, message in zip(range(43), first)]
    assert {message.key for message in found} == {f"{c}-{n}".encode() for c in (None, "gzip") for n in range(20)} | {
        None, b"k"}
    assert [list(one.headers) for one in found if one.key == b"gzip-3"] == [[("h", b"1")]]
    first.commit()
    shares: list[int] = []
    ended = threading.Event()
    member = threading.Thread(target=second_member, args=(common, shares, ended))
    member.start()
    wait_for(lambda: first.poll(100) is not None and len(first.assignment()) < 3 and shares and shares[-1] > 0)
    wait_for(lambda: first.poll(100) is not None and len(first.assignment()) + shares[-1] == 3)
    described = admin.describe_groups([GROUP])
    assert "Stable" in str(described), described
    ended.set()
    member.join(30)
    wait_for(lambda: first.poll(100) is not None and len(first.assignment()) == 3)
    first.close()
    assert GROUP in str(admin.list_groups())
    offsets = admin.list_group_offsets({GROUP: None})[GROUP]
    assert sum(one.offset for one in offsets.values()) == 43, offsets
    admin.delete_groups([GROUP])
    assert GROUP not in str(admin.list_groups())


def second_member(common: dict[str, Any], shares: list[int], ended: threading.Event) -> None:
    consumer = KafkaConsumer(TOPIC, **common)
    while not ended.is_set():
        consumer.poll(100)
        shares.append(len(consumer.assignment()))
    consumer.close()


def offsets() -> None:
    parts = [TopicPartition(TOPIC, number) for number in range(3)]
    consumer = KafkaConsumer(bootstrap_servers=BOOTSTRAP)
    ends = consumer.end_offsets(parts)
    assert sum(ends.values()) == 43
    assert set(consumer.beginning_offsets(parts).values()) == {0}
    assert consumer.offsets_for_times({parts[0]: 1})[parts[0]].offset == 0
    admin.delete_records({parts[0]: ends[parts[0]]})
    assert consumer.beginning_offsets(parts)[parts[0]] == ends[parts[0]]
    consumer.close()
    admin.delete_topics([TOPIC, "kafka-python-compacted"])
    wait_for(lambda: TOPIC not in admin.list_topics())


def wait_for(condition: Any) -> None:
    deadline = time.monotonic() + 90
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.05)


if __name__ == "__main__":
    assert len(admin.describe_cluster()["brokers"]) == 3
    for step in (topics, records, groups, offsets):
        step()
    print("done")
