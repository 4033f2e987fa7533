"""aiokafka does everything that people use it for: `aiokafka_tour.py BOOTSTRAP`. It ends with "done"."""

from __future__ import annotations

import asyncio
import sys
import time
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import KafkaError, MessageSizeTooLargeError

BOOTSTRAP = sys.argv[1]
TOPIC, GROUP = "aiokafka", "aiokafka-group"
CODECS = (None, "gzip", "snappy", "lz4", "zstd")


async def topics(admin: AIOKafkaAdminClient) -> None:
    await admin.create_topics([NewTopic(TOPIC, 2, 3, topic_configs={"retention.ms": "86400000"}),
                               NewTopic("aiokafka-compacted", 1, 3, topic_configs={"cleanup.policy": "compact"})])
    await admin.create_partitions({TOPIC: NewPartitions(3)})
    await wait_for(lambda: partitions(admin), 3)
    resource = ConfigResource(ConfigResourceType.TOPIC, TOPIC)
    assert "86400000" in str(await admin.describe_configs([resource]))
    await admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, TOPIC, configs={"retention.ms": "7200000"})])
    assert "7200000" in str(await admin.describe_configs([resource]))
    assert "36" in str(await admin.create_topics([NewTopic(TOPIC, 1, 3)]))  # TOPIC_ALREADY_EXISTS


async def partitions(admin: AIOKafkaAdminClient) -> int:
    return len((await admin.describe_topics([TOPIC]))[0]["partitions"])


async def produce(topic: str, records: list[dict[str, Any]], **settings: Any) -> list[Any]:
    """What became of each record: its metadata or the error."""
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, **{"acks": "all", **settings}) as producer:
        sent = [await producer.send(topic, **record) for record in records]
        return await asyncio.gather(*sent, return_exceptions=True)


async def records() -> None:
    for codec in CODECS:
        sent = [{"key": f"{codec}-{n}".encode(), "value": b"x" * 300, "headers": [("h", b"1")]} for n in range(20)]
        found = await produce(TOPIC, sent, compression_type=codec, enable_idempotence=codec == "zstd")
        assert all(one.offset >= 0 for one in found), found
    nothing = [{"key": None, "value": b"v"}, {"key": b"k", "value": None}]
    assert all(one.offset >= 0 for one in await produce(TOPIC, nothing))
    assert (await produce(TOPIC, [{"value": bytes(1_000_000)}]))[0].offset >= 0
    large = await produce(TOPIC, [{"value": bytes(1_200_000)}], max_request_size=5_000_000)
    assert isinstance(large[0], MessageSizeTooLargeError), large
    keyless = await produce("aiokafka-compacted", [{"value": b"v"}])
    assert isinstance(keyless[0], KafkaError), keyless  # it does not know INVALID_RECORD by name


async def groups(admin: AIOKafkaAdminClient) -> None:
    common = {"bootstrap_servers": BOOTSTRAP, "group_id": GROUP, "auto_offset_reset": "earliest",
              "enable_auto_commit": False, "metadata_max_age_ms": 500}
    first, second = AIOKafkaConsumer(TOPIC, **common), AIOKafkaConsumer(TOPIC, **common)
    await first.start()
    found = [await asyncio.wait_for(first.getone(), 90) for _ in range(103)]
    assert {message.key for message in found} == {f"{c}-{n}".encode() for c in CODECS for n in range(20)} | {None, b"k"}
    assert [list(one.headers) for one in found if one.key == b"gzip-3"] == [[("h", b"1")]]
    await first.commit()
    await second.start()
    await wait_for(lambda: shares(first, second), [1, 2])
    assert "Stable" in str(await admin.describe_consumer_groups([GROUP]))
    await second.stop()
    await wait_for(lambda: shares(first), [3])
    await first.stop()
    assert GROUP in [name for name, *_ in await admin.list_consumer_groups()]
    offsets = await admin.list_consumer_group_offsets(GROUP)
    assert sum(one.offset for one in offsets.values()) == 103, offsets


async def shares(*consumers: AIOKafkaConsumer) -> list[int]:
    return sorted(len(consumer.assignment()) for consumer in consumers)


async def transactions() -> None:
    """What is aborted is as if it had never been; offsets count with what was committed."""
    topic = "aiokafka-whole"
    async with AIOKafkaProducer(bootstrap_servers=BOOTSTRAP, transactional_id="aiokafka-tx") as producer:
        for end in ("abort", "commit"):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, end.encode())
            await producer.send_offsets_to_transaction({TopicPartition(topic, 0): 7 if end == "abort" else 3}, "aiokafka-copier")
            await (producer.abort_transaction() if end == "abort" else producer.commit_transaction())
        async with producer.transaction():
            await producer.send_and_wait(topic, b"again")
    for isolation, wanted in (("read_committed", [b"commit", b"again"]), ("read_uncommitted", [b"abort", b"commit", b"again"])):
        reader = AIOKafkaConsumer(topic, bootstrap_servers=BOOTSTRAP, isolation_level=isolation, auto_offset_reset="earliest",
                                  group_id=None)  # fmt: skip
        await reader.start()
        found = sorted([await asyncio.wait_for(reader.getone(), 90) for _ in wanted], key=lambda one: one.timestamp)
        assert [one.value for one in found] == wanted, found
        await reader.stop()
    copier = AIOKafkaConsumer(topic, bootstrap_servers=BOOTSTRAP, group_id="aiokafka-copier", enable_auto_commit=False)
    await copier.start()
    assert await copier.committed(TopicPartition(topic, 0)) == 3
    await copier.stop()


async def offsets(admin: AIOKafkaAdminClient) -> None:
    parts = [TopicPartition(TOPIC, number) for number in range(3)]
    consumer = AIOKafkaConsumer(bootstrap_servers=BOOTSTRAP)
    await consumer.start()
    ends = await consumer.end_offsets(parts)
    assert sum(ends.values()) == 103
    assert (await consumer.offsets_for_times({parts[0]: 1}))[parts[0]].offset == 0
    await admin.delete_records({parts[0]: RecordsToDelete(ends[parts[0]])})
    assert (await consumer.beginning_offsets(parts))[parts[0]] == ends[parts[0]]
    await consumer.stop()
    await admin.delete_topics([TOPIC, "aiokafka-compacted"])
    await wait_for(lambda: listed(admin), False)


async def listed(admin: AIOKafkaAdminClient) -> bool:
    return TOPIC in await admin.list_topics()


async def wait_for(question: Any, wanted: Any) -> None:
    deadline = time.monotonic() + 90
    while (found := await question()) != wanted:
        assert time.monotonic() < deadline, f"waited too long: {found}"
        await asyncio.sleep(0.05)


async def tour() -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=BOOTSTRAP)
    await admin.start()
    assert len((await admin.describe_cluster())["brokers"]) == 3
    await topics(admin)
    await records()
    await groups(admin)
    await transactions()
    await offsets(admin)
    await admin.close()
    print("done")


if __name__ == "__main__":
    asyncio.run(tour())
