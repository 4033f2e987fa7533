"""What the group coordinator needs from the broker around it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from broker_core.kernel.errors import StorageError
from broker_core.log.salvage import Segmented


class RecordView(Protocol):
    """A record as a log hands it out."""

    @property
    def offset(self) -> int: ...

    @property
    def key(self) -> bytes | memoryview | None: ...

    @property
    def value(self) -> bytes | memoryview | None: ...


class LogView(Segmented, Protocol):
    """The log of one partition of `__consumer_offsets`, as far as loading reads it."""

    @property
    def log_start_offset(self) -> int: ...


class GroupLogPort(Protocol):
    """`__consumer_offsets` as the coordinator uses it. The broker implements it on its replicas."""

    def append(self, partition: int, records: bytearray, done: Callable[[Any, int], None], context: Any) -> None:
        """Appends a batch with acks=-1; later, once: `done(context, error_code)`. It may be called at once."""
        ...

    def read(self, partition: int) -> LogView | None:
        """The local log of the partition, None when this broker has no replica of it."""
        ...

    def failed(self, error: StorageError) -> None:
        """A partition could not be read: its log directory is given up, and its leadership with it."""
        ...

    def partition_count(self) -> int | None:
        """Number of partitions of `__consumer_offsets`, None while it does not exist."""
        ...
