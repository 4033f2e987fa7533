"""Records that the person at the screen writes, one by one, each with the acks that it was asked for.

A record waits for what a producer waits for: a leader, room in the buffer. After `max.block.ms` it is given up. What
becomes of it is noted under the number of its command: `{"kind", "error", "message", "partition", "offset"}`.

What no client does by itself can be done by hand, once and without another try, to see a broker say no:

| record | is sent | answered with |
|---|---|---|
| `acks: 2` | as it is | INVALID_REQUIRED_ACKS |
| `to: 3` | to broker 3, whoever leads | NOT_LEADER_OR_FOLLOWER, unless it does |
| `damaged: true` | with a bit turned over behind the checksum | CORRUPT_MESSAGE |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.clients.accumulator import Batch
from broker_core.clients.producer import Producer
from broker_core.clients.settings import ProducerSettings, parse
from broker_core.kernel.node import Node, Timer
from broker_core.wire.rpc import Response

KNOWN_ACKS = ("all", "-1", "0", "1")
"""A producer refuses any other in its settings. By hand it is sent all the same, for the broker to say no."""
NULL_TEXT = "null"  # how the history names a value that is none


class RecordsByHand:
    """The producers of one process, one for each kind of acks. `note(number, result)` hears how each command ended."""

    def __init__(self, node: Node, bootstrap: list[str], note: Callable[[int, dict[str, Any]], None]) -> None:
        self.node = node
        self.bootstrap = bootstrap
        self.note = note
        self.producers: dict[str, Producer] = {}
        self.blocked: list[tuple[Producer, dict[str, Any], int, int]] = []
        self._patience: Timer | None = None  # until the first of them is dropped
        self.by_hand: dict[Batch, list[tuple[int, int]]] = {}  # number of a command, place of its record in the batch

    def produce(self, number: int, record: dict[str, Any]) -> None:
        """{topic, partition?, key?, value, headers?, acks?, to?, damaged?} by a producer for each kind of it."""
        acks, astray, damages = str(record.get("acks", "all")), record.get("to"), bool(record.get("damaged"))
        name = "-".join([acks, *([] if astray is None else ["to", str(astray)]), *(["damaged"] if damages else [])])
        producer = self.producers.get(name)
        if producer is None:
            producer = self.producers[name] = self._producer(acks, astray, damages)
            producer.connections.rpc.connection = f"{producer.connections.connection}/acks-{name}"
            producer.connections.connection = producer.connections.rpc.connection
        deadline = self.node.now_us() + producer.settings.max_block_ms * 1000
        self.blocked.append((producer, record, deadline, number))
        self.unblocked()

    def _producer(self, acks: str, astray: int | None, damages: bool) -> Producer:
        given = {"acks": acks if acks in KNOWN_ACKS else "1"}
        if astray is not None or damages:
            given |= {"retries": "0", "enable.idempotence": "false"}
        settings = parse(ProducerSettings, given)
        settings.acks = settings.acks if acks in KNOWN_ACKS else int(acks)
        producer = Producer(self.node, settings, self.bootstrap, self)
        producer.sender.astray, producer.sender.damages = astray, damages
        return producer

    def unblocked(self) -> None:
        """Send what can be sent now, in order; what waits for too long is dropped with a note."""
        now = self.node.now_us()
        waiting, self.blocked = self.blocked, []
        for producer, record, deadline, number in waiting:
            key, value = _encoded(record.get("key")), _encoded(record.get("value"))
            headers = tuple((name, _encoded(one)) for name, one in record.get("headers", {}).items())
            text = NULL_TEXT if value is None else value.decode()
            batch = producer.send(record["topic"], key, value, text, record.get("partition"), headers)
            if batch is not None:
                self.by_hand.setdefault(batch, []).append((number, batch.count - 1))
            elif now >= deadline:
                fields = {"topic": record["topic"], "partition": -1, "values": [], "texts": [text]}
                self.node.operation("fail", "send", id=f"blocked-{now}", error="TIMEOUT", **fields)
                self.note(number, {"kind": "fail", "error": "TIMEOUT", "message": ""})
            else:
                self.blocked.append((producer, record, deadline, number))
        if self._patience is not None:
            self._patience.cancel()
        first = min((deadline for _, _, deadline, _ in self.blocked), default=None)
        self._patience = None if first is None else self.node.after(max(0, first - now), self.unblocked)

    def batch_split(self, batch: Batch, parts: list[Batch]) -> None:
        """MESSAGE_TOO_LARGE: each record is answered with the part that it travels on in."""
        for number, place in self.by_hand.pop(batch, ()):
            for part in parts:
                if place < part.count:
                    self.by_hand.setdefault(part, []).append((number, place))
                    break
                place -= part.count

    def batch_settled(self, batch: Batch, kind: str, offset: int, error: str) -> None:
        """The history has it already; what remains is to say where each record stands."""
        for number, place in self.by_hand.pop(batch, ()):
            where = {"partition": batch.queue.partition, "offset": offset + place if offset >= 0 else -1}
            self.note(number, {"kind": kind, "error": error, "message": "", **where})

    def receive(self, source: str, response: Response) -> bool:
        """Whether it answers one of these producers."""
        return any(producer.receive(source, response) for producer in self.producers.values())

    def peer_down(self, peer: str) -> None:
        for producer in self.producers.values():
            producer.peer_down(peer)


def _encoded(content: Any) -> bytes | None:
    return None if content is None else str(content).encode()
