"""Ranges of files go to clients by sendfile: in order, counted, and with memory that stays small."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

from broker_core.drivers.files import DiskCaches, DiskStorage
from broker_core.drivers.pump import LivePump
from broker_core.drivers.sending import ZERO_COPY_FROM
from broker_core.drivers.tcp import ClientConnection, TcpServer
from broker_core.kernel.node import Node
from broker_core.kernel.world import World

SHELF = "shelf-1"
CONTENT = bytes(range(256)) * 256 * 64  # 4 MiB: more than a socket's buffers take
HEAD = struct.Struct(">i")


class Shelf:
    """Answers a frame "position size" with that range of its file."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def start(self) -> None:
        self.file = self.node.storage.open("data/file")
        self.file.append([CONTENT])
        self.node.listen("127.0.0.1", 0)

    def connection_opened(self, connection: int, peer: str) -> None:
        pass

    def frame_received(self, connection: int, frame: memoryview) -> None:
        position, size = map(int, bytes(frame).split())
        self.node.write(connection, [HEAD.pack(size), self.file.slice(position, size)])

    def connection_closed(self, connection: int) -> None:
        pass


@contextlib.asynccontextmanager
async def shelf(directory: Path, tail_budget: int) -> AsyncIterator[tuple[TcpServer, Shelf]]:
    world = World(seed=1)
    world.add_node(SHELF, DiskStorage(directory, DiskCaches(tail_budget)), Shelf)
    loop = asyncio.get_running_loop()
    server = TcpServer("127.0.0.1", {SHELF: 0}, 1 << 20)
    server.bind()
    pump = LivePump(world, None, server.flush)
    world.output = server
    server.attach(pump, loop)
    world.start_node(SHELF)
    pump.start(loop)
    while not server.listening:
        await asyncio.sleep(0)
    try:
        yield server, world.nodes[SHELF].machine  # type: ignore[misc]
    finally:
        pump.stop()
        server.shut_down()


def asked(*ranges: tuple[int, int]) -> bytes:
    frames = (f"{position} {size}".encode() for position, size in ranges)
    return b"".join(HEAD.pack(len(frame)) + frame for frame in frames)


async def answers(reader: asyncio.StreamReader, count: int) -> list[bytes]:
    found = []
    for _ in range(count):
        size = HEAD.unpack(await reader.readexactly(4))[0]
        found.append(await reader.readexactly(size))
    return found


def test_long_ranges_go_by_sendfile_in_order_with_short_ones(tmp_path: Path) -> None:
    ranges = [(0, 10), (100, ZERO_COPY_FROM), (7, 3), (0, len(CONTENT)), (5, 5), (1, len(CONTENT) - 1)]

    async def scene() -> None:
        async with shelf(tmp_path, tail_budget=0) as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[SHELF])
            writer.write(asked(*ranges))
            assert await answers(reader, len(ranges)) == [CONTENT[start : start + size] for start, size in ranges]
            writer.write(asked((1, 2)))
            assert await answers(reader, 1) == [CONTENT[1:3]]
            long = sum(size for _, size in ranges if size >= ZERO_COPY_FROM)
            assert server.zero_copied == {SHELF: long}
            assert server.bytes_out[SHELF] == sum(size for _, size in ranges) + 2 + 4 * (len(ranges) + 1)
            writer.close()

    asyncio.run(scene())


def test_what_is_still_in_memory_is_sent_from_there(tmp_path: Path) -> None:
    async def scene() -> None:
        async with shelf(tmp_path, tail_budget=2 * len(CONTENT)) as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[SHELF])
            writer.write(asked((0, len(CONTENT))))
            assert await answers(reader, 1) == [CONTENT]
            assert not server.zero_copied
            writer.close()

    asyncio.run(scene())


def test_a_client_that_reads_nothing_is_asked_for_no_more(tmp_path: Path) -> None:
    async def scene() -> None:
        async with shelf(tmp_path, tail_budget=0) as (server, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[SHELF], limit=1024)
            whole = (0, len(CONTENT))
            writer.write(asked(whole))
            (client,) = await connected(server)
            while client.sending is None:
                await asyncio.sleep(0)
            writer.write(asked(whole, whole))
            await asyncio.sleep(0.02)
            assert not client.reading and server.bytes_out[SHELF] == len(CONTENT) + 4
            assert await answers(reader, 3) == [CONTENT] * 3
            writer.close()

    asyncio.run(scene())


def test_a_range_whose_file_was_cut_closes_the_connection(tmp_path: Path) -> None:
    async def scene() -> None:
        async with shelf(tmp_path, tail_budget=0) as (server, machine):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[SHELF])
            writer.write(asked((0, len(CONTENT)), (0, 5)))
            (client,) = await connected(server)
            while client.sending is None:
                await asyncio.sleep(0)
            machine.file.truncate(1000)
            assert len(await reader.read()) < len(CONTENT) + 4
            writer.close()
            while server.connections:
                await asyncio.sleep(0)

    asyncio.run(scene())


def test_a_renamed_and_deleted_file_is_still_sent_to_its_end(tmp_path: Path) -> None:
    async def scene() -> None:
        async with shelf(tmp_path, tail_budget=0) as (server, machine):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.ports[SHELF])
            writer.write(asked((0, len(CONTENT))))
            (client,) = await connected(server)
            while client.sending is None:
                await asyncio.sleep(0)
            machine.node.storage.delete("data/file")
            server.close(client.number, "asked for")
            assert await answers(reader, 1) == [CONTENT]
            assert await reader.read() == b""
            writer.close()

    asyncio.run(scene())


async def connected(server: TcpServer) -> list[ClientConnection]:
    while not server.connections:
        await asyncio.sleep(0)
    return list(server.connections.values())


def test_no_piece_of_an_answer_waits_for_the_acknowledgement_of_another(tmp_path: Path) -> None:
    async def asked() -> bool:
        async with shelf(tmp_path, 0) as (server, _):
            _, writer = await asyncio.open_connection("127.0.0.1", server.ports[SHELF])
            while not server.connections:
                await asyncio.sleep(0)
            transport = next(iter(server.connections.values())).transport
            assert transport is not None
            option = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
            writer.close()
            return bool(option)

    assert asyncio.run(asked())
