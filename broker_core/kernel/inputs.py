"""What reaches a world from outside. Everything else in it follows from its spec and its seed.

Inputs are recorded with their virtual time and the count of events executed before them; a world
that is built from the same spec and given the same inputs does the same things.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, TypeAlias


@dataclass(slots=True)
class Command:
    """A click, a REST call or a scenario step. `result` is filled in when it was carried out."""

    command: dict[str, Any]
    result: dict[str, Any] | None = field(default=None, compare=False)


@dataclass(slots=True)
class ConnectionOpened:
    """A client has connected: to a broker's listener, or to another one of the process, which has a name."""

    node: str
    connection: int
    peer: str
    listener: str = ""


@dataclass(slots=True)
class FrameReceived:
    """One request frame, without its size. The buffer belongs to the world from now on."""

    connection: int
    frame: bytes | bytearray | memoryview


@dataclass(slots=True)
class ConnectionClosed:
    """A client has gone, or what it sent cannot be framed (`reason` says so)."""

    connection: int
    reason: str


Input: TypeAlias = Command | ConnectionOpened | FrameReceived | ConnectionClosed
