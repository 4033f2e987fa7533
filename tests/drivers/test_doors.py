"""A server that is shut until its cluster is whole: scripts wait for ports, not for what a lab prints."""

from __future__ import annotations

import asyncio

import pytest

from broker_core.drivers.tcp import TcpServer

PLACES = ("broker-1", "broker-1:INSIDE", "broker-2")


async def _opens() -> None:
    server = TcpServer("127.0.0.1", dict.fromkeys(PLACES, 0), 1 << 20)
    server.bind()
    server.loop = asyncio.get_running_loop()
    server.keep_shut()
    try:
        for place in PLACES:
            server.listen(place, server.ports[place])
        assert server.willing == list(PLACES) and server.listening == []
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("127.0.0.1", server.ports["broker-2"])
        server.stop_listening("broker-1")
        assert server.willing == ["broker-2"]
        await server.open()
        assert server.listening == server.willing == ["broker-2"]
        _, writer = await asyncio.open_connection("127.0.0.1", server.ports["broker-2"])
        writer.close()
        server.listen("broker-1", server.ports["broker-1"])
        await server.open()
        assert server.listening == ["broker-2", "broker-1"]
    finally:
        server.shut_down()


def test_a_port_opens_with_all_others_and_from_then_on_at_once():
    asyncio.run(_opens())
