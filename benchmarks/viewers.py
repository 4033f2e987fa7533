"""Viewers of the page: `python -m benchmarks.viewers PORT COUNT`, until standard input ends."""

from __future__ import annotations

import asyncio
import json
import sys

from websockets.asyncio.client import connect


async def watch(port: int, attached: asyncio.Semaphore) -> None:
    """Say hello as the page does, then take whatever comes."""
    url, origin = f"ws://127.0.0.1:{port}/live/", f"http://127.0.0.1:{port}"
    async with connect(url, origin=origin, max_size=None) as viewer:  # type: ignore[arg-type]
        await viewer.send(json.dumps({"k": "hello", "run": None, "epoch": None, "last": None}))
        await viewer.recv()
        attached.release()
        async for _ in viewer:
            pass


async def main(port: int, count: int) -> None:
    attached = asyncio.Semaphore(0)
    tasks = [asyncio.create_task(watch(port, attached)) for _ in range(count)]
    waiting = asyncio.gather(*(attached.acquire() for _ in range(count)))
    done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED, timeout=60)
    if waiting not in done:
        sys.exit("the viewers could not attach")
    print("attached", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    for task in tasks:
        task.cancel()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
