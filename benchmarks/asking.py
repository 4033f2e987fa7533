"""One question by Kafka's protocol: a connection that is kept, a request, its answer."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from broker_core.wire.codec import decode_response, decode_response_header, encode_request

T = TypeVar("T")
_kept = threading.local()


def ask(port: int, key: int, version: int, message: Any, timeout_s: float = 2.0) -> Any:
    """The decoded answer; OSError when there is none. Each thread keeps its connections."""
    known: dict[int, socket.socket] = _kept.__dict__.setdefault("connections", {})
    connection = known.pop(port, None) or socket.create_connection(("127.0.0.1", port), timeout=timeout_s)
    try:
        connection.settimeout(timeout_s)
        connection.sendall(b"".join(map(bytes, encode_request(key, version, 1, "bench", message))))
        frame = _read(connection, struct.unpack(">i", _read(connection, 4))[0])
    except OSError:
        connection.close()
        raise
    known[port] = connection
    return decode_response(key, version, decode_response_header(key, version, frame).body)


def _read(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionResetError("closed in the middle of an answer")
        data += part
    return data


def at_all(question: Callable[[int], T | None], ports: Iterable[int]) -> T | None:
    """What the first of them says; who does not answer says nothing."""
    for port in ports:
        with contextlib.suppress(OSError):
            if (found := question(port)) is not None:
                return found
    return None
