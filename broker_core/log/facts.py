"""What a log tells others: the journal's port, and the answer to an append."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from broker_core.kernel import events


class Emit(Protocol):
    """The signature of `Node.emit`."""

    def __call__(self, code: events.EventCode, **params: Any) -> None: ...


def no_journal(code: events.EventCode, **params: Any) -> None:
    """For logs outside a world: nobody listens."""


class AppendInfo(NamedTuple):
    """What an append did. `duplicate`: nothing, these batches are there already, at these offsets."""

    first_offset: int
    last_offset: int
    max_timestamp: int
    log_append_time: int
    log_start_offset: int
    bytes: int
    batch_count: int
    duplicate: bool
    last_crc: int
