"""Produce with acks=all until standard input ends; one line for each acked value. `aiokafka_produce.py BOOTSTRAP TOPIC`"""

from __future__ import annotations

import asyncio
import select
import sys

from aiokafka import AIOKafkaProducer


async def send(producer: AIOKafkaProducer, value: str) -> None:
    await producer.send_and_wait(sys.argv[2], value.encode())
    print(value, flush=True)


async def main() -> None:
    waiting = []
    async with AIOKafkaProducer(bootstrap_servers=sys.argv[1], acks="all", linger_ms=5) as producer:
        while not select.select([sys.stdin], [], [], 0)[0]:
            waiting.append(asyncio.create_task(send(producer, str(len(waiting)))))
            await asyncio.sleep(0.002)
        await asyncio.wait(waiting, timeout=60)


asyncio.run(main())
