"""A member of a classic group: confluent_member.py BOOTSTRAP TOPIC GROUP ASSIGNOR. Each value that it reads is a line; commits as it goes."""

from __future__ import annotations

import sys

from confluent_kafka import Consumer

bootstrap, topic, group, assignor = sys.argv[1:]
consumer = Consumer({
    "bootstrap.servers": bootstrap, "group.id": group, "partition.assignment.strategy": assignor, "auto.offset.reset": "earliest",
    "session.timeout.ms": 6000, "heartbeat.interval.ms": 500, "auto.commit.interval.ms": 300, "topic.metadata.refresh.interval.ms": 1000,
})  # fmt: skip
consumer.subscribe([topic])
while True:
    message = consumer.poll(1)
    if message is not None and message.error() is None:
        print(message.value().decode(), flush=True)
