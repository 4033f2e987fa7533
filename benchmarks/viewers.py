"""Viewers of the page: `python -m benchmarks.viewers PORT COUNT`, until standard input ends.

Each checks what it gets as the page does: a delta continues the one before, or a snapshot was taken meanwhile (a
resync, which is counted). At the end one line of JSON tells what they have seen together.
"""

from __future__ import annotations

import asyncio
import json
import sys
from dataclasses import asdict, dataclass
from typing import Any

from websockets.asyncio.client import connect


@dataclass(slots=True)
class Seen:
    """What one viewer was told."""

    messages: int = 0
    events: int = 0
    resyncs: int = -1  # the first snapshot is none
    holes: int = 0
    last: int = 0

    def take(self, text: str | bytes) -> None:
        """A message: one object, or a list of deltas that waited together."""
        self.messages += 1
        found: Any = json.loads(text)
        for one in found if isinstance(found, list) else [found]:
            if one["k"] == "snap":
                self.resyncs += 1
                self.last = one["seq"]
            elif one["k"] == "d":
                self.holes += one["from"] > self.last
                new = [row for row in one["ev"] if row[0] > self.last]
                self.events += len(new)
                self.last = max(self.last, one["to"])


async def watch(port: int, attached: asyncio.Semaphore, seen: Seen) -> None:
    """Say hello as the page does, then take whatever comes."""
    url, origin = f"ws://127.0.0.1:{port}/live/", f"http://127.0.0.1:{port}"
    async with connect(url, origin=origin, max_size=None) as viewer:  # type: ignore[arg-type]
        await viewer.send(json.dumps({"k": "hello", "run": None, "epoch": None, "last": None}))
        seen.take(await viewer.recv())
        attached.release()
        async for text in viewer:
            seen.take(text)


async def main(port: int, count: int) -> None:
    attached = asyncio.Semaphore(0)
    all_seen = [Seen() for _ in range(count)]
    tasks = [asyncio.create_task(watch(port, attached, seen)) for seen in all_seen]
    waiting = asyncio.gather(*(attached.acquire() for _ in range(count)))
    done, _ = await asyncio.wait([waiting, *tasks], return_when=asyncio.FIRST_COMPLETED, timeout=60)
    if waiting not in done:
        sys.exit("the viewers could not attach")
    print("attached", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    lost = sum(task.done() for task in tasks)
    for task in tasks:
        task.cancel()
    print(json.dumps({"lost": lost, "viewers": [asdict(seen) for seen in all_seen]}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
