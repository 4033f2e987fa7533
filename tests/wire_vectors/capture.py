"""A loopback proxy that keeps the frames between Kafka clients and a real Kafka.

    python capture.py --listen 24150 --to 24101 --out kafka-4.1.json -- python workload.py 24150 modern

Start Kafka with its advertised listener set to the proxy's port, so that clients (and, in ZooKeeper mode, the
controller) go through it. The command behind `--` is run, and when it has ended the frames are written: for
each API, version and direction at most `PER_KIND` of different lengths, none longer than `LONGEST` bytes.
The proxy reads only API key, version and correlation id, so what it keeps owes nothing to our own codec.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import struct
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path

PER_KIND = 3
LONGEST = 8000


@dataclass
class Capture:
    """Frames by (api key, version, direction)."""

    kept: dict[tuple[int, int, str], list[bytes]] = field(default_factory=dict)

    def add(self, key: int, version: int, direction: str, frame: bytes) -> None:
        frames = self.kept.setdefault((key, version, direction), [])
        known = {len(other) for other in frames}
        if len(frames) < PER_KIND and len(frame) <= LONGEST and len(frame) not in known:
            frames.append(frame)

    def as_json(self) -> str:
        rows = [
            json.dumps({"api_key": key, "version": version, "direction": direction, "frame": frame.hex()})
            for (key, version, direction), frames in sorted(self.kept.items())
            for frame in frames
        ]
        return "[\n" + ",\n".join(rows) + "\n]\n"


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = struct.unpack(">i", await reader.readexactly(4))[0]
    return await reader.readexactly(size)


async def serve(capture: Capture, port: int, client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
    try:
        broker, to_broker = await asyncio.open_connection("127.0.0.1", port)
    except ConnectionError:  # Kafka is starting or has stopped
        to_client.close()
        return
    waiting: dict[int, tuple[int, int]] = {}

    async def requests() -> None:
        while True:
            frame = await read_frame(client)
            key, version, correlation_id = struct.unpack_from(">hhi", frame)
            waiting[correlation_id] = (key, version)
            capture.add(key, version, "request", frame)
            to_broker.write(struct.pack(">i", len(frame)) + frame)

    async def responses() -> None:
        while True:
            frame = await read_frame(broker)
            key, version = waiting.pop(struct.unpack_from(">i", frame)[0])
            capture.add(key, version, "response", frame)
            to_client.write(struct.pack(">i", len(frame)) + frame)

    async def until_closed(direction: Callable[[], Awaitable[None]]) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            await direction()
        to_client.close()
        to_broker.close()

    await asyncio.gather(until_closed(requests), until_closed(responses))


async def run(options: argparse.Namespace) -> int:
    capture = Capture()
    server = await asyncio.start_server(lambda r, w: serve(capture, options.to, r, w), "127.0.0.1", options.listen)
    async with server:
        process = await asyncio.create_subprocess_exec(*options.command)
        status = await process.wait()
    Path(options.out).write_text(capture.as_json())
    print(f"{sum(map(len, capture.kept.values()))} frames of {len(capture.kept)} kinds")
    return status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--listen", type=int, required=True)
    parser.add_argument("--to", type=int, required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("command", nargs="+")
    return asyncio.run(run(parser.parse_args()))


if __name__ == "__main__":
    sys.exit(main())
