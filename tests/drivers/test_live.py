"""A live world over real TCP gives the same journal when its recorded inputs are executed again."""

from __future__ import annotations

import asyncio
import socket
import struct
from pathlib import Path
from typing import Any

import pytest

from broker_core.drivers.pump import LivePump
from broker_core.drivers.recording import Recorder, execute_recording
from broker_core.drivers.tcp import TcpServer
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World

ECHO = "echo-1"


class Echo:
    """Answers each frame with itself after a random moment."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def start(self) -> None:
        self.node.listen("127.0.0.1", 0)

    def connection_opened(self, connection: int, peer: str) -> None:
        pass

    def frame_received(self, connection: int, frame: memoryview) -> None:
        self.node.after(self.node.random("delay").randrange(500), self.answer, connection, bytes(frame))

    def answer(self, connection: int, frame: bytes) -> None:
        self.node.emit(events.LOG_APPENDED, topic=frame.decode(), partition=connection)
        self.node.write(connection, [struct.pack(">i", len(frame)), frame])

    def connection_closed(self, connection: int) -> None:
        pass

    def receive(self, source: str, message: Any) -> None:
        pass

    def peer_down(self, peer: str) -> None:
        pass

    def shut_down(self) -> None:
        self.node.exit()


class Operator:
    def apply(self, world: World, command: dict[str, Any]) -> dict[str, Any]:
        getattr(world, command["do"])(ECHO)
        return {}


def echo_world() -> tuple[World, list[bytes]]:
    world = World(seed=7)
    world.operator = Operator()
    lines: list[bytes] = []
    world.journal.sink = lines.append
    world.add_node(ECHO, MemoryStorage(), Echo)
    world.start_node(ECHO)
    return world, lines


def frame(text: str) -> bytes:
    return struct.pack(">i", len(text)) + text.encode()


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, texts: list[str]) -> list[str]:
    writer.write(b"".join(frame(text) for text in texts))
    answers = []
    for _ in texts:
        size = struct.unpack(">i", await reader.readexactly(4))[0]
        answers.append((await reader.readexactly(size)).decode())
    return answers


async def live(path: Path, script: Any) -> bytes:
    world, lines = echo_world()
    server = TcpServer("127.0.0.1", {ECHO: 0}, 1 << 20)
    server.bind()
    world.output = server
    recorder = Recorder(path)
    pump = LivePump(world, recorder, server.flush)
    loop = asyncio.get_running_loop()
    server.attach(pump, loop)
    pump.start(loop)
    while ECHO not in server.listening:
        await asyncio.sleep(0)
    try:
        await script(pump, server.ports[ECHO])
    finally:
        pump.stop()
        server.shut_down()
        recorder.end(world)
        world.journal.flush()
    return b"".join(lines)


def executed_again(path: Path) -> bytes:
    world, lines = echo_world()
    assert execute_recording(world, path)
    world.journal.flush()
    return b"".join(lines)


async def _two_clients(pump: LivePump, port: int) -> None:
    one = await asyncio.open_connection("127.0.0.1", port)
    two = await asyncio.open_connection("127.0.0.1", port)
    answers = await asyncio.gather(talk(*one, ["a", "b", "c"]), talk(*two, ["d"]))
    assert sorted(answers[0]) == ["a", "b", "c"] and answers[1] == ["d"]
    assert pump.command({"do": "crash"})["ok"]
    assert await one[0].read() == b""
    assert pump.command({"do": "start_node"})["ok"]
    pump.command({"do": "time", "speed": 0.5})
    again = await asyncio.open_connection("127.0.0.1", port)
    assert await talk(*again, ["e"]) == ["e"]
    again[1].close()
    await asyncio.sleep(0.01)


async def _stepping(pump: LivePump, port: int) -> None:
    connection = await asyncio.open_connection("127.0.0.1", port)
    assert await talk(*connection, ["a"]) == ["a"]
    pump.control({"do": "time", "speed": "pause"})
    connection[1].write(frame("b") + frame("c"))
    await asyncio.sleep(0.01)
    before = pump.world.now_us
    pump.control({"do": "time", "speed": "step_event"})
    assert not pump.command({"do": "crash", "x": 1}).get("problem")
    assert pump.world.now_us - before < 1000
    pump.control({"do": "time", "speed": "play"})
    await asyncio.sleep(0.005)


@pytest.mark.parametrize("script", [_two_clients, _stepping])
def test_a_recorded_live_run_is_executed_again_byte_for_byte(tmp_path: Path, script: Any) -> None:
    journal = asyncio.run(live(tmp_path / "inputs.bin", script))
    assert journal == executed_again(tmp_path / "inputs.bin")
    assert b"connection_opened" in journal


async def _garbage(pump: LivePump, port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as bad:
        bad.setblocking(False)
        bad.sendall(struct.pack(">i", 2**31 - 1) + b"x" * 100)
        good = await asyncio.open_connection("127.0.0.1", port)
        assert await talk(*good, ["fine"]) == ["fine"]
        await asyncio.sleep(0.01)
        assert bad.recv(1) == b""


def test_a_frame_of_two_gigabytes_closes_only_its_own_connection(tmp_path: Path) -> None:
    journal = asyncio.run(live(tmp_path / "inputs.bin", _garbage))
    assert b"refused frame" in journal


def test_a_recording_beyond_its_limit_says_so(tmp_path: Path) -> None:
    world, _ = echo_world()
    recorder = Recorder(tmp_path / "i", limit=100)
    from broker_core.kernel.inputs import ConnectionOpened

    for number in range(5):
        recorder.record(world, ConnectionOpened(ECHO, number, "x"))
    recorder.end(world)
    assert recorder.bounded_at_us == 0
    assert not execute_recording(echo_world()[0], tmp_path / "i")


@pytest.mark.parametrize(("next_call_s", "now_s"), [(60, 9), (7, 7.1), (1, 1.1)], ids=["idle", "one pass", "machine slept"])
def test_idle_time_passes_at_once_and_a_sleep_of_the_machine_is_not_for_the_world(next_call_s: int, now_s: float) -> None:
    async def scene() -> None:
        world, _ = echo_world()
        pump = LivePump(world, None, lambda: None)
        pump.start(asyncio.get_running_loop())
        echo = world.nodes[ECHO]
        echo.after(next_call_s * 1_000_000 - world.now_us, echo.emit, events.LISTENING)
        pump._base_wall -= 9  # nine seconds go by
        pump.take([])
        assert world.now_us == pytest.approx(now_s * 1_000_000, abs=60_000)
        pump.stop()

    asyncio.run(scene())
