"""Clients from outside on a controller listener: tools with `--bootstrap-controller` (KIP-919).

    kafka-metadata-quorum --bootstrap-controller 127.0.0.1:9192 describe --status

| asked | answered by |
|---|---|
| ApiVersions, DescribeCluster | here |
| DescribeQuorum, AddRaftVoter, UpdateFeatures, CreateTopics, ... | as if a process of the cluster had asked |
| a version or an API that is not offered | the connection is closed |

A connection's requests are answered one after the other, in their order. Only the active controller decides: the others
say NOT_CONTROLLER, and DescribeCluster says who it is. Source: ControllerApis, SocketServer.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from broker_core.cluster.kraft.controller_listener import OFFERED, ControllerListener
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.wire.apis import API_NAMES, ApiKey, is_supported
from broker_core.wire.codec import (
    decode_request,
    decode_request_header,
    encode_response,
    encode_unsupported_api_versions,
)
from broker_core.wire.errors import WireError


@dataclass(slots=True)
class _Client:
    """`busy`: a request is being answered; `waiting` are the frames behind it."""

    number: int
    busy: bool = False
    waiting: deque[memoryview] = field(default_factory=deque)


class ControllerClients:
    """Of one process with a controller listener."""

    def __init__(self, node: Node, listener: ControllerListener) -> None:
        self.node = node
        self.listener = listener
        self.clients: dict[int, _Client] = {}

    def opened(self, number: int) -> None:
        self.clients[number] = _Client(number)

    def closed(self, number: int) -> None:
        self.clients.pop(number, None)

    def frame(self, number: int, frame: memoryview) -> None:
        """One request."""
        client = self.clients.get(number)
        if client is not None:
            client.waiting.append(frame)
            self._next(client)

    def _next(self, client: _Client) -> None:
        while client.waiting and not client.busy and client.number in self.clients:
            client.busy = True
            try:
                self._read(client, client.waiting.popleft())
            except WireError as error:
                self._refuse(client, str(error))

    def _read(self, client: _Client, frame: memoryview) -> None:
        header = decode_request_header(frame)
        key, version = header.api_key, header.api_version
        context = (client, key, version, header.correlation_id)
        if not is_supported(key, version, "controller") or key not in OFFERED:
            if key != ApiKey.API_VERSIONS:
                raise WireError(f"{API_NAMES[key]} v{version}", "not offered by a controller")
            self._write(client, encode_unsupported_api_versions(header.correlation_id, "controller"))
            return
        self.listener.serve(key, version, decode_request(key, version, header.body), self._answered, context)

    def _answered(self, context: tuple[_Client, int, int, int], answer: Any) -> None:
        client, key, version, correlation_id = context
        if answer is None:
            self._refuse(client, "the controller has not answered")
        elif client.number in self.clients:
            self._write(client, encode_response(key, version, correlation_id, answer))

    def _write(self, client: _Client, buffers: list[Any]) -> None:
        self.node.write(client.number, buffers)
        client.busy = False
        self._next(client)

    def _refuse(self, client: _Client, reason: str) -> None:
        if self.clients.pop(client.number, None) is not None:
            source = str(client.number)
            self.node.emit(events.FRAME_REFUSED, connection=client.number, source=source, reason=reason)
            self.node.close_connection(client.number, reason)
