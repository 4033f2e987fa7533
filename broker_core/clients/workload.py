"""The built-in producer: an application that sends running numbers at a steady rate.

Value `producer-orders:17`, padded with dots to `size` bytes; the key, if any, one of `keys` names. An
application whose `send` blocks produces nothing meanwhile and does not make up for it afterwards; a
record that is blocked for `max.block.ms` fails, as a TimeoutException.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from broker_core.clients import history
from broker_core.clients.accumulator import Batch
from broker_core.clients.fates import FateCounts
from broker_core.clients.producer import Producer
from broker_core.clients.settings import ProducerSettings, parse
from broker_core.kernel.node import Node, Timer
from broker_core.wire.rpc import Response

TICK_US = 1000


@dataclass(slots=True)
class ProducerLoad:
    """What the application does: `rate` records a second of `size` bytes, `count` of them (0: without end).

    With a transactional id it ends a transaction after `transaction_records` records, or `transaction_ms` after the
    first of them (0: not for this reason), and aborts `abort_share` of them, as one draws.
    """

    topic: str
    rate: float = 100.0
    size: int = 100
    keys: int = 0
    count: int = 0
    partition: int | None = None
    transaction_records: int = 0
    transaction_ms: int = 0
    abort_share: float = 0.0


class ProducerMachine(FateCounts):
    """A process with one producer and an application thread that feeds it."""

    kind = "producer"

    def __init__(self, node: Node, load: ProducerLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        self.node = node
        self.load = load
        self.given = given
        self.producer = Producer(node, parse(ProducerSettings, given), bootstrap, self)
        self.label = history.label(node)
        self.closing = False
        self._base_us = 0
        self._base_sent = 0
        self._blocked_since: int | None = None
        self._key: bytes | None = None
        self._timer: Timer | None = None

    def start(self) -> None:
        self._base_us = self.node.now_us()
        self.producer.metadata.add_topic(self.load.topic)
        self._tick()

    # -- the application's thread -----------------------------------------------------------
    def _tick(self) -> None:
        """Send what is due, then sleep until the next record is."""
        self._timer = None
        load = self.load
        if self.closing or load.rate <= 0 or (load.count and self.sent >= load.count):
            return
        due = self._base_sent + 1 + int((self.node.now_us() - self._base_us) * load.rate) // 1_000_000
        if load.count:
            due = min(due, load.count)
        while self.sent < due:
            if not self._send_one():
                self._block()
                return
        next_us = self._base_us + int((self.sent - self._base_sent) * 1_000_000 / load.rate + 0.999999)
        self._timer = self.node.after(max(TICK_US, next_us - self.node.now_us()), self._tick)

    def _send_one(self) -> bool:
        load = self.load
        key = self._key
        if load.keys and key is None:
            key = self._key = b"key-%d" % self.node.random("keys").randrange(load.keys)
        value = history.value_of(self.label, self.sent, load.size)
        if not self.producer.send(load.topic, key, value, self.sent, load.partition):
            return False
        self.sent += 1
        self._key = None
        return True

    def _block(self) -> None:
        if self._blocked_since is None:
            self._blocked_since = self.node.now_us()
            self._timer = self.node.after(self.producer.settings.max_block_ms * 1000, self._blocked_too_long)

    def unblocked(self) -> None:
        """There may be metadata, or memory, now."""
        if self._blocked_since is not None and not self.closing:
            if not self._send_one():
                return
            self._go_on()

    def _blocked_too_long(self) -> None:
        load = self.load
        fields = {"topic": load.topic, "partition": -1, "acks": self.producer.settings.acks, "label": self.label}
        values = [[self.sent, 1]]
        operation = f"{self.node.incarnation}-blocked-{self.sent}"
        self.node.operation("invoke", "send", id=operation, values=values, **fields)
        self.node.operation("fail", "send", id=operation, values=values, **fields, error="TIMEOUT")
        self.sent += 1
        self.failed += 1
        self._key = None
        self._go_on()

    def _go_on(self) -> None:
        self._blocked_since = None
        if self._timer is not None:
            self._timer.cancel()
        self._base_us, self._base_sent = self.node.now_us(), self.sent
        self._timer = self.node.after(max(TICK_US, int(1_000_000 / self.load.rate)), self._tick)

    def change(self, rate: float, size: int, keys: int) -> None:
        """From now on, also for later lives of the process (which share the load)."""
        self.load.rate, self.load.size, self.load.keys = rate, size, keys
        self._key = None
        self._base_us, self._base_sent = self.node.now_us(), self.sent
        if self._blocked_since is None:
            if self._timer is not None:
                self._timer.cancel()
            self._timer = None
            self._tick()

    # -- what the producer reports ----------------------------------------------------------
    def batch_settled(self, batch: Batch, kind: str, offset: int, error: str) -> None:
        self.count_batch(batch, kind)
        if self.closing and self.producer.idle:
            self.node.exit()

    # -- the process ------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, Response):
            self.producer.connections.receive(source, message)

    def peer_down(self, peer: str) -> None:
        self.producer.peer_down(peer)

    def shut_down(self) -> None:
        """`close()`: no new records; those that wait are sent first."""
        self.closing = True
        if self.producer.idle:
            self.node.exit()
        else:
            self.producer.flush()

    def view(self) -> dict[str, Any]:
        """What viewers show."""
        return {
            "kind": self.kind, "settings": {"acks": _acks(self.producer.settings.acks), **self.given},
            "acked": self.acked, "failed": self.failed, "unknown": self.unknown, "sent": self.sent, "read": 0,
            "waiting": self.producer.accumulator.pending(), "rate": self.load.rate,
        }  # fmt: skip


def _acks(acks: int) -> str:
    return "all" if acks == -1 else str(acks)
