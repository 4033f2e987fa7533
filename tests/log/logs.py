"""What the tests of the log share: a log on a memory disk, and payloads."""

from __future__ import annotations

from typing import Any

from broker_core.kernel.events import EventCode
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.log import LogConfig, PartitionLog
from broker_core.records import encode_batch

NOW = 1_700_000_000_000
DAY = 24 * 60 * 60 * 1000


class Journal:
    """Keeps what was emitted."""

    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def emit(self, code: EventCode, **params: Any) -> None:
        assert set(params) <= set(code.params), f"{code.name} has no parameter {set(params) - set(code.params)}"
        self.events.append((code.name, params))

    def named(self, name: str) -> list[dict[str, Any]]:
        return [params for code, params in self.events if code == name]


def open_log(storage: MemoryStorage, now_ms: int = NOW, **more: Any) -> PartitionLog:
    """`config` fields and constructor arguments mixed: each goes where it belongs."""
    fields = {name: more.pop(name) for name in list(more) if name in LogConfig.__dataclass_fields__}
    directory = more.pop("directory", "data/orders-0")
    return PartitionLog(storage, directory, "orders", 0, LogConfig(**fields), now_ms, **more)


def batch(count: int = 1, timestamp: int = NOW, size: int = 10, **fields: Any) -> bytearray:
    return encode_batch([(timestamp, b"k", b"x" * size, ())] * count, **fields)


def offsets(log: PartitionLog) -> list[int]:
    return [record.offset for record in log.records(0, log.log_end_offset)]


def contents(log: PartitionLog) -> bytes:
    """All bytes of all segments."""
    return b"".join(bytes(segment.log.read(0, segment.size)) for segment in log.segments)
