"""Produce with acks=all until standard input ends; one line for each acked value. `kafka_python_produce.py BOOTSTRAP TOPIC`"""

from __future__ import annotations

import functools
import select
import sys
import time
from typing import Any

from kafka import KafkaProducer


def acked(value: str, metadata: Any) -> None:
    print(value, flush=True)


producer = KafkaProducer(bootstrap_servers=sys.argv[1].split(","), acks="all", linger_ms=5, delivery_timeout_ms=60_000,
                         request_timeout_ms=10_000)
number = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    producer.send(sys.argv[2], str(number).encode()).add_callback(functools.partial(acked, str(number)))
    time.sleep(0.002)
    number += 1
producer.flush(60)
producer.close()
