"""A fetch that waits for data.

It is complete when, for any of its partitions,

Case A: this broker is no longer the leader (or the replica of a follower read)
Case B: the replica is being moved or was stopped
Case C: the partition, or its topic id, is not known here
Case D: the log cannot be read
Case E: the leader epoch of the request is fenced, or newer than here
Case F: the fetch offset is out of range now (the log was truncated, or its start has moved)
Case H: the reader's log diverges from this one (KIP-595)

or, over all of them,

Case G: `min_bytes` can be read.

A to F are errors of one partition; they go into the answer beside what the others have to say. On
expiration the answer is whatever can be read by then, which may be nothing.

(Kafka: kafka.server.DelayedFetch. Its case F, "the fetch offset is not in the last segment", is part
of G here: what a reader could get is what a read returns.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.purgatory.operations import DelayedOperation
from broker_core.replication.fetch_session import FetchPosition, FetchSession
from broker_core.replication.reading import FetchParams, Reader, Reading

Readings = list[tuple[FetchPosition, Reading]]
FetchDone = Callable[["DelayedFetch", Readings], None]


class DelayedFetch(DelayedOperation):
    """One Fetch request: looked at once when it arrives, then whenever a partition moves."""

    __slots__ = (
        "params", "session", "epoch", "positions", "full", "reader", "answer", "done", "context", "readings",
    )  # fmt: skip

    def __init__(
        self, params: FetchParams, session: FetchSession | None, positions: list[FetchPosition], full: bool,
        reader: Reader, answer: FetchDone, done: Callable[[Any, Any], None], context: Any,
    ) -> None:  # fmt: skip
        DelayedOperation.__init__(self)
        self.params = params
        self.session = session
        self.epoch = session.epoch if session is not None else 0
        self.positions = positions
        self.full = full
        self.reader = reader
        self.answer = answer
        self.done = done
        self.context = context
        self.readings: Readings | None = None

    def look(self, update: bool) -> bool:
        """Read what there is, in a session only what may have news; True when that completes the fetch (A to H)."""
        params, reader, full, session = self.params, self.reader, self.full, self.session
        remaining, size, urgent = params.max_bytes, 0, False
        hard = params.version <= 2
        readings: Readings = []
        for position in self.positions if full or session is None else [*session.dirty]:
            reading: Reading | None
            if position.replica is not None and not full:
                reading = reader.follow(position, params, remaining, size == 0 and not hard, update)
                if reading is None:
                    continue
            else:
                reading = reader.read(position, params, remaining, size == 0 and not hard, update)
                if not full and not reading.is_news_to(position):
                    position.settle()
                    continue
            readings.append((position, reading))
            if reading.urgent:
                urgent = True
            if reading.size:
                size += reading.size
                remaining -= reading.size
                if remaining < 0:
                    remaining = 0
        self.readings = readings
        return urgent or size >= params.min_bytes

    def try_complete(self) -> bool:
        if self.completed:
            return False
        return self.look(update=False) and self.force_complete()

    def on_expiration(self) -> None:
        """The answer was given by `on_complete`."""

    def expire(self) -> None:
        self.readings = None
        super().expire()

    def on_complete(self) -> None:
        if self.readings is None:
            self.look(update=False)
        self.answer(self, self.readings or [])
        self.readings = None
