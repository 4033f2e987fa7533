"""The client: librdkafka through confluent-kafka, the same for both sides."""

from __future__ import annotations

import mmap
import os
import random
import time
from dataclasses import dataclass
from typing import Any

import psutil
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

PARTITIONS = 6
TOUCHED = 2 * 1024**3
CEILING = {"test.mock.num.brokers": 3}


class LoadError(RuntimeError):
    """A record was refused: the figure would mean nothing."""


@dataclass(frozen=True, slots=True)
class Produced:
    """A finished run of a producer."""

    seconds: float
    records: int
    size: int

    @property
    def records_per_second(self) -> float:
        return self.records / self.seconds


def settle() -> None:
    """Nothing of the last run may be waiting for the disk when the next one begins, and free memory has to be there.

    A virtual machine may give free memory back to its host; the first write to each page of it then costs several
    times the write itself, whoever comes first. So a part of it is touched, on behalf of both sides.
    """
    os.sync()
    time.sleep(0.5)
    touched = min(TOUCHED, psutil.virtual_memory().available // 4)
    with mmap.mmap(-1, touched) as memory:
        for start in range(0, touched, mmap.PAGESIZE):
            memory[start] = 1


def make_topic(bootstrap: str, topic: str, partitions: int = PARTITIONS, replicas: int = 3) -> None:
    """A topic that every broker knows when this returns."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.create_topics([NewTopic(topic, partitions, replicas)])[topic].result(60)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        found = admin.list_topics(topic, timeout=10).topics[topic].partitions
        if len(found) == partitions and all(one.leader >= 0 and len(one.isrs) == replicas for one in found.values()):
            return
        time.sleep(0.05)
    raise LoadError(f"topic {topic} did not get its leaders")


def delete_topic(bootstrap: str, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.delete_topics([topic])[topic].result(60)


def payload(size: int) -> bytes:
    """The same bytes on both sides, in every run."""
    return random.Random(size).randbytes(size)


def produce(bootstrap: str, topic: str, size: int, records: int, acks: str, **more: Any) -> Produced:
    """Send records as fast as the client can; the time until the last one is acknowledged."""
    refused: list[str] = []

    def delivered(error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            refused.append(str(error))

    settings = {"bootstrap.servers": bootstrap, "acks": acks, "log_level": 0, "linger.ms": 5,
                "delivery.report.only.error": True,
                "queue.buffering.max.messages": 1_000_000, "queue.buffering.max.kbytes": 512 * 1024,
                "on_delivery": delivered, **more}
    producer = Producer(settings)
    producer.list_topics(topic, timeout=30)
    value = payload(size)
    started = time.perf_counter()
    for _ in range(records):
        while True:
            try:
                producer.produce(topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(300)
    seconds = time.perf_counter() - started
    if left or refused:
        raise LoadError(f"{left} records not acknowledged, {len(refused)} refused: {refused[:1]}")
    return Produced(seconds, records, size)


def ceiling(size: int, records: int) -> float:
    """Records a second that the client makes when its own mock cluster takes them."""
    return produce("127.0.0.1:1", "ceiling", size, records, "1", **CEILING).records_per_second


def consume(
    bootstrap: str, topic: str, records: int, partitions: int = PARTITIONS, fetch_bytes: int = 8 * 1024 * 1024
) -> float:
    """Records a second from the beginning of a topic, counted from the first record's arrival on."""
    consumer = Consumer({
        "bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False, "check.crcs": False,
        "queued.min.messages": 1_000_000, "fetch.message.max.bytes": fetch_bytes,
    })
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    first = consumer.consume(1, timeout=60)
    read, started = len(first), time.perf_counter()
    while read < records and time.perf_counter() < started + 300:
        for message in consumer.consume(min(10_000, records - read), timeout=1):
            if message.error():
                raise KafkaException(message.error())
            read += 1
    seconds = time.perf_counter() - started
    consumer.close()
    if read < records:
        raise LoadError(f"{read} of {records} records could be read")
    return records / seconds


def latencies(bootstrap: str, topic: str, records: int) -> list[float]:
    """Milliseconds of each record, one at a time, acks=all."""
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "socket.nagle.disable": True})
    value, found = payload(100), []
    for number in range(records + 100):
        started = time.perf_counter()
        producer.produce(topic, value)
        if producer.flush(60):
            raise LoadError("a record was not acknowledged")
        if number >= 100:
            found.append((time.perf_counter() - started) * 1000)
    return found


def first_ack(bootstrap: str, topic: str) -> None:
    """Return as soon as one record with acks=all is acknowledged."""
    refused: list[object] = []
    producer = Producer({"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "reconnect.backoff.ms": 5,
                         "reconnect.backoff.max.ms": 20, "retry.backoff.ms": 10, "log_level": 0,
                         "topic.metadata.refresh.fast.interval.ms": 10,
                         "on_delivery": lambda error, _: refused.append(error) if error else None})
    producer.produce(topic, b"first")
    if producer.flush(120) or refused:
        raise LoadError(f"the first record was not acknowledged: {refused}")
