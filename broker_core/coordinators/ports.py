"""What a coordinator needs from the broker around it, and what the runtime needs from a coordinator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from broker_core.coordinators.stored import Buffer
from broker_core.kernel.errors import StorageError
from broker_core.log.salvage import Segmented
from broker_core.records.header import BatchHeader


class LogView(Segmented, Protocol):
    """The log of one partition of an internal topic, as far as loading reads it."""

    @property
    def log_start_offset(self) -> int: ...

    @property
    def log_end_offset(self) -> int: ...


class StateTopicPort(Protocol):
    """An internal topic as its coordinator uses it. The broker implements it on its replicas."""

    def append(
        self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any,
        guard: int | None = None,
    ) -> None:  # fmt: skip
        """Appends a batch with acks=-1; later, once: `done(context, error_code)`. It may be called at once.

        `guard`: of a batch that may begin a transaction in the partition (`log.transactions`); None: not verified.
        """
        ...

    def read(self, partition: int) -> LogView | None:
        """The local log of the partition, None when this broker has no replica of it."""
        ...

    def failed(self, error: StorageError) -> None:
        """A partition could not be read: its log directory is given up, and its leadership with it."""
        ...

    def partition_count(self) -> int | None:
        """Number of partitions of the topic, None while it does not exist."""
        ...


class CutTopicPort(StateTopicPort, Protocol):
    """One that is not compacted, whose coordinator says itself what nobody needs any more."""

    def cut(self, partition: int, offset: int) -> None:
        """Records before the offset, which is committed, go; followers hear of it by the log start."""
        ...


class Shard(Protocol):
    """What is known of one partition while it is read. It only replays; nothing else has changed it yet."""

    def replay(self, key: Buffer | None, value: Buffer | None, header: BatchHeader) -> None:
        """One record of a batch with this header. Raises MalformedRecord; a kind that is not known is passed over."""
        ...

    def replay_marker(self, header: BatchHeader, commit: bool) -> None:
        """A transaction of the header's producer has ended in this partition."""
        ...


class Shards(Protocol):
    """A coordinator, as the runtime drives it."""

    def blank(self, partition: int) -> Shard:
        """An empty shard for the replay of a partition."""
        ...

    def take_over(self, partition: int, shard: Any) -> None:
        """The partition is read to its end: from now on this coordinator answers for its keys."""
        ...

    def give_up(self, partition: int, known: bool) -> None:
        """Another broker leads it: forget its keys, send those that wait there. `known`: it was owned or being read."""
        ...

    def refuse(self, partition: int, offset: int, reason: str) -> None:
        """A record could not be read; the last one of its key before it counts."""
        ...
