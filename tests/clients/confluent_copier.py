"""Copies `in` to `out-python`, records and their offsets in one transaction: confluent_copier.py BOOTSTRAP RECORDS PARTITIONS SIZE.

A line for each transaction says how many records are left. It may be killed at any moment and begun again: what is
committed says how far it has come, and its transactional id ends what the one before it left open.
"""

from __future__ import annotations

import sys
import time
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

PATIENCE_S = 90
PAUSE_S = 0.1
"""Between two transactions, for whoever kills brokers to come between them."""
bootstrap, (records, partitions, size) = sys.argv[1], map(int, sys.argv[2:])
producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "python-copier"})
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "python-copier", "group.protocol": "consumer",
                     "auto.offset.reset": "earliest", "enable.auto.commit": False, "isolation.level": "read_committed"})  # fmt: skip


def committed(parts: list[TopicPartition]) -> list[TopicPartition]:
    found = consumer.committed(parts, PATIENCE_S)
    for part in found:
        part.offset = max(part.offset, 0)
    return found


def copied(messages: list[Any]) -> bool:
    """Whether the transaction was committed."""
    try:
        producer.begin_transaction()
        for one in messages:
            producer.produce("out-python", one.value())
        moved = [one for one in consumer.position(consumer.assignment()) if one.offset >= 0]
        producer.send_offsets_to_transaction(moved, consumer.consumer_group_metadata(), PATIENCE_S)
        producer.commit_transaction(PATIENCE_S)
    except KafkaException as error:
        if not error.args[0].txn_requires_abort():
            raise
        producer.abort_transaction(PATIENCE_S)
        return False
    return True


producer.init_transactions(PATIENCE_S)
left = records - sum(one.offset for one in committed([TopicPartition("in", number) for number in range(partitions)]))
consumer.subscribe(["in"])
while left:
    messages = [one for one in consumer.consume(size, 1) if not one.error()]
    if messages and copied(messages):
        left -= len(messages)
        print(left, flush=True)
        time.sleep(PAUSE_S)
    elif messages:
        for part in committed(consumer.assignment()):
            consumer.seek(part)
consumer.close()
