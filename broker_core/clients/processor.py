"""The built-in processor: consume, transform, produce, the loop that every stream application is made of.

```
while True:
    for record in consumer.poll():                     from `topic`, as a member of a group
        producer.send(into, key=value of the record, value=running number)       takes `process_us`
    producer.flush()
    consumer.commitSync()                              at least once; `commit` may say otherwise
```
Every record becomes one record: its key is the value that it was made of, so that one sees in the log where it comes
from, and whether there are two of them. The history tells the same (`transform`).

Offsets and records are two writes to two places. Dies the process between them, the records of the last poll are read
and written a second time; with `commit: before` they are never written. Only a transaction makes one of the two (see
`transactional_processor`). What could not be written is read again, from the committed offsets on.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

from broker_core.clients import history
from broker_core.clients.accumulator import Batch
from broker_core.clients.consumer import ConsumerLoad, ConsumerMachine
from broker_core.clients.fates import FateCounts
from broker_core.clients.metadata import TopicPartition
from broker_core.clients.positions import COMMITTED
from broker_core.clients.producer import Producer
from broker_core.clients.settings import ProducerSettings, halves, parse
from broker_core.kernel.node import Node, Timer
from broker_core.records.record import Record
from broker_core.wire.rpc import Response


@dataclass(slots=True)
class ProcessorLoad(ConsumerLoad):
    """What the application does: it writes `into` a topic, one record for each that it reads.

    With a transactional id it ends a transaction after the poll with which this has `transaction_records` records, or
    `transaction_ms` after its first one (0: not for this reason), and aborts `abort_share` of them, as one draws.
    """

    into: str = ""
    transaction_records: int = 0
    transaction_ms: int = 0
    abort_share: float = 0.0


class ProcessorMachine(FateCounts, ConsumerMachine):
    """A process with a consumer, a producer, and an application thread between the two."""

    kind = "processor"

    def __init__(self, node: Node, load: ProcessorLoad, given: dict[str, Any], bootstrap: list[str]) -> None:
        reads, writes = halves(given)
        super().__init__(node, load, reads, bootstrap)
        self.given = given
        self.work = load
        self.producer = Producer(node, parse(ProducerSettings, writes), bootstrap, self)
        self.label = history.label(node)
        self._todo: deque[Record] = deque()
        self._busy: Timer | None = None
        self._blocked: Timer | None = None
        self._flushing = False
        self._wrong = False  # something was not written

    def start(self) -> None:
        self.producer.metadata.add_topic(self.work.into)
        super().start()

    # -- the application's thread -----------------------------------------------------------
    def _note(self, found: list[tuple[TopicPartition, list[Record]]]) -> int:
        """The records at hand, and what each becomes."""
        count, number = super()._note(found), self.sent
        for (topic, partition), records in found:
            values: list[tuple[int, bytes | None]] = []
            values += [(one.offset, history.value_of(self.label, nth, 0)) for nth, one in enumerate(records, number)]
            self.node.operation(
                "info", "transform", topic=topic, partition=partition, runs=history.runs_of(values), into=self.work.into
            )
            number += len(records)
            self._todo.extend(records)
        return count

    def _process(self, count: int) -> None:
        self._watch(count * self.load.process_us)
        self._busy = self.node.after(self.load.process_us, self._work_on)

    def _work_on(self) -> None:
        """Write one record after the other."""
        self._busy = None
        while self._todo:
            if not self._write(self._todo[0]):
                limit_us = self.producer.settings.max_block_ms * 1000
                self._blocked = self._blocked or self.node.after(limit_us, self._blocked_too_long)
                return
            self._todo.popleft()
            if self._todo and self.load.process_us:
                self._busy = self.node.after(self.load.process_us, self._work_on)
                return
        self._end_watch()
        self._all_sent()

    def _write(self, record: Record) -> bool:
        """send(); False: it would block now."""
        source = bytes(record.value or b"").rstrip(b".")
        value = history.value_of(self.label, self.sent, len(record.value or b""))
        if not self.producer.send(self.work.into, source, value, self.sent):
            return False
        self.sent += 1
        return True

    def unblocked(self) -> None:
        """There may be metadata, or memory, now."""
        if self._blocked is not None:
            self._blocked.cancel()
            self._blocked = None
            self._work_on()

    def _blocked_too_long(self) -> None:
        self._blocked = None
        self._wrong = True
        self._give_up_poll()
        self._all_sent()

    def _give_up_poll(self) -> None:
        """What this poll gave is not dealt with any more; the numbers of its records are not used again."""
        self.sent += len(self._todo)
        self._todo.clear()
        for timer in (self._busy, self._blocked):
            if timer is not None:
                timer.cancel()
        self._busy = self._blocked = None
        self._end_watch()

    def _all_sent(self) -> None:
        """flush()"""
        self._flushing = True
        self.producer.flush()
        self._maybe_written()

    def _maybe_written(self) -> None:
        if self._flushing and self.producer.idle:
            self._flushing = self.producer.accumulator.flushing = False
            self.node.soon(self._written)

    def _written(self) -> None:
        """The brokers have everything, or something is wrong."""
        if self._wrong:
            self._wrong = False
            self._rewind()
            self._poll()
        else:
            self._processed()

    def _rewind(self) -> None:
        """Go back to the committed offsets."""
        owned = list(self.positions.of)
        self.positions.assign([], COMMITTED)
        if self.member is not None and self.member.generation >= 0:
            self.assigned(owned)

    # -- what the producer reports ----------------------------------------------------------
    def batch_settled(self, batch: Batch, kind: str, offset: int, error: str) -> None:
        """A batch has its fate."""
        self.count_batch(batch, kind)
        self._wrong = self._wrong or kind != "ok"
        self._maybe_written()

    # -- the process ------------------------------------------------------------------------
    def receive(self, source: str, message: Any) -> None:
        if not isinstance(message, Response) or not self.producer.receive(source, message):
            super().receive(source, message)

    def peer_down(self, peer: str) -> None:
        super().peer_down(peer)
        self.producer.peer_down(peer)

    def view(self) -> dict[str, Any]:
        """What viewers show."""
        return {
            **super().view(), "acked": self.acked, "failed": self.failed, "unknown": self.unknown, "sent": self.sent,
            "topics": list(self.load.topics), "into": self.work.into,
        }  # fmt: skip
