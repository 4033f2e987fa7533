"""Raw requests to a broker, Kafka's or ours, and its answers in a form that can be compared.

`Script` asks and writes down. What may differ is replaced: ids by numbers in order of appearance, hosts
and ports by words, moments of now by NOW; fields that hold their default are left out, lists are sorted.
"""

from __future__ import annotations

import json
import re
import socket
import struct
import time
import uuid
from typing import Any

from broker_core.records import decode_records
from broker_core.records.header import iterate_batches
from broker_core.wire.apis import ApiKey
from broker_core.wire.codec import decode_response, decode_response_header, encode_request
from broker_core.wire.errors import ErrorCode

CLOSED = "the connection is closed"
SILENCE = "no answer"
SKIPPED = {"controller_id", "throttle_time", "throttle_time_ms", "cluster_id", "total_bytes", "usable_bytes"}
PLACES = {"host", "port", "log_dir", "rack"}
NUMBERED = {"producer_id": "producer", "session_id": "session"}
ADDRESS = re.compile(r"127\.0\.0\.1:\d{4,5}\b")
LIMITS = re.compile(r"\[\d{13}, \d{13}\]")
RECENT_MS = 1_750_000_000_000


class Silence(Exception):
    """The broker neither answers nor closes the connection."""


class Connection:
    """One TCP connection to a broker."""

    def __init__(self, address: str, timeout_s: float = 8) -> None:
        host, port = address.rsplit(":", 1)
        self.socket = socket.create_connection((host, int(port)), timeout=timeout_s)

    def close(self) -> None:
        self.socket.close()

    def ask(self, key: int, version: int, message: Any, client: str | None = "asker") -> Any:
        """The decoded answer, or CLOSED."""
        self.send(key, version, message, client)
        return self.read(key, version)

    def send(self, key: int, version: int, message: Any, client: str | None = "asker") -> None:
        self.write(b"".join(map(bytes, encode_request(key, version, 1, client, message))))

    def write(self, data: bytes) -> None:
        try:
            self.socket.sendall(data)
        except (ConnectionResetError, BrokenPipeError):
            pass

    def read(self, key: int, version: int) -> Any:
        try:
            frame = self.frame()
        except Silence:
            return SILENCE
        if frame is None:
            return CLOSED
        return decode_response(key, version, decode_response_header(key, version, frame).body)

    def frame(self) -> bytes | None:
        """The next frame without its size; None when the broker has closed the connection."""
        size = self._read(4)
        return None if size is None else self._read(struct.unpack(">i", size)[0])

    def _read(self, size: int) -> bytes | None:
        data = b""
        while len(data) < size:
            try:
                part = self.socket.recv(size - len(data))
            except ConnectionResetError:
                return None
            except TimeoutError:
                raise Silence from None
            if not part:
                return None
            data += part
        return data


class Script:
    """Asks the brokers at `addresses` (id -> host:port) and keeps what they answer."""

    def __init__(self, addresses: dict[int, str]) -> None:
        self.addresses = addresses
        self.default = min(addresses)
        self.connections: dict[int, Connection] = {}
        self.answers: dict[str, Any] = {}
        self.names: dict[Any, str] = {}
        self.asked: set[tuple[str, int]] = set()
        """API and version of all that has been written down."""

    def connection(self, broker: int | None = None) -> Connection:
        broker = self.default if broker is None else broker
        if broker not in self.connections:
            self.connections[broker] = Connection(self.addresses[broker])
        return self.connections[broker]

    def fresh(self) -> Connection:
        return Connection(self.addresses[self.default])

    def close(self) -> None:
        for connection in self.connections.values():
            connection.close()

    def connect_again(self, broker: int) -> None:
        """As soon as the broker listens again; what was open to it is forgotten."""
        if broker in self.connections:
            self.connections.pop(broker).close()
        deadline = time.monotonic() + 90
        while True:
            try:
                self.connection(broker)
                return
            except ConnectionRefusedError:
                assert time.monotonic() < deadline, f"nobody listens at {self.addresses[broker]}"
            time.sleep(0.02)

    def ask(self, key: int, version: int, message: Any, broker: int | None = None, client: str = "asker") -> Any:
        """Ask without writing down."""
        broker = self.default if broker is None else broker
        answer = self.connection(broker).ask(key, version, message, client)
        if isinstance(answer, str):
            self.connections.pop(broker).close()
        return answer

    def until(self, key: int, version: int, message: Any, wanted: Any, broker: int | None = None) -> Any:
        """Ask until `wanted(answer)`."""
        deadline = time.monotonic() + 90
        while True:
            answer = self.ask(key, version, message, broker)
            if wanted(answer):
                return answer
            assert time.monotonic() < deadline, f"{ApiKey(key).name}: {answer}"
            time.sleep(0.02)

    def __call__(self, title: str, key: int, version: int, message: Any, broker: int | None = None) -> Any:
        """Ask and write down."""
        return self.note(f"{title} v{version}", self.ask(key, version, message, broker))

    def note(self, title: str, answer: Any) -> Any:
        assert title not in self.answers, title
        self.heard(title, answer)
        self.answers[title] = self.shown(answer)
        return answer

    def heard(self, title: str, answer: Any) -> None:
        version = re.search(r" v(\d+)$", title)
        if version is not None and hasattr(answer, "FIELDS"):
            self.asked.add((type(answer).__name__.removesuffix("Response"), int(version[1])))

    # -- a form that can be compared --------------------------------------------------------
    def name(self, kind: str, value: Any) -> str:
        if (kind, value) not in self.names:
            self.names[kind, value] = f"{kind} {1 + sum(1 for one, _ in self.names if one == kind)}"
        return self.names[kind, value]

    def shown(self, value: Any) -> Any:
        if hasattr(value, "FIELDS"):
            fresh = type(value)()
            fields = {name: self.field(name, getattr(value, name)) for name in value.FIELDS
                      if name not in SKIPPED and getattr(value, name) != getattr(fresh, name)}
            return fields
        if isinstance(value, (list, tuple)):
            return sorted((self.shown(one) for one in value), key=lambda one: json.dumps(one, sort_keys=True))
        if isinstance(value, uuid.UUID):
            return self.name("id", value)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return bytes(value).hex()
        if isinstance(value, str):
            return said(value)
        return value

    def field(self, name: str, value: Any) -> Any:
        if name == "error_code":
            return ErrorCode(value).name
        if name == "documentation" and value:
            return "TEXT"
        if name == "records":
            return None if value is None else self.batches(bytes(value))
        if name in PLACES and value not in ("", -1, None):
            return name.upper()
        if name in NUMBERED and value > 0 or name == "producer_id" and value == 0:
            return self.name(NUMBERED[name], value)
        if isinstance(value, int) and value > RECENT_MS and name.endswith(("timestamp", "time")):
            return "NOW"
        return self.shown(value)

    def batches(self, data: bytes) -> list[Any]:
        """Each whole batch (Kafka's answer may end inside of one): its header in words, its records."""
        found = []
        for batch in iterate_batches(data):
            head = batch.header
            found.append({
                "magic": head.magic, "base": head.base_offset, "epoch": head.leader_epoch,
                "attributes": head.attributes, "sequence": head.base_sequence,
                "records": [[one.offset, self.moment(one.timestamp), text(one.key), text(one.value)]
                            for one in decode_records(batch)],
            })  # fmt: skip
        return found

    @staticmethod
    def moment(timestamp: int) -> Any:
        return "NOW" if timestamp > RECENT_MS else timestamp


def said(message: str) -> str:
    """A message without moments and ports, and without the names that Scala's collections print."""
    message = ADDRESS.sub("HERE", LIMITS.sub("[EARLIEST, LATEST]", message))
    return re.sub(r"HashMap\((.*)\)", r"\1", re.sub(r"(?:ArrayBuffer|Set)\(([-\d, ]*)\)", r"[\1]", message))


def text(value: Any) -> str | None:
    return None if value is None else bytes(value).decode() if len(value) < 50 else f"{len(value)} bytes"
