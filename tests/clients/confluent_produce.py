"""Produce with acks=all until standard input ends; one line for each acked value. `confluent_produce.py BOOTSTRAP TOPIC`"""

from __future__ import annotations

import select
import sys
import time
from typing import Any

from confluent_kafka import Producer


def acked(error: Any, message: Any) -> None:
    if error is None:
        print(message.value().decode(), flush=True)


producer = Producer({"bootstrap.servers": sys.argv[1], "acks": "all", "message.timeout.ms": 60_000, "linger.ms": 5})
number = 0
while not select.select([sys.stdin], [], [], 0)[0]:
    producer.produce(sys.argv[2], str(number), on_delivery=acked)
    producer.poll(0)
    time.sleep(0.002)
    number += 1
sys.exit(producer.flush(60))
