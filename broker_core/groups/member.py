"""A member of a group, and the answer that it may be waiting for.

A member is known by the member id that the coordinator made for it (`client.id-UUID`). A *static*
member (KIP-345) also has a `group.instance.id` that survives its restart: the same instance coming
back gets a new member id and keeps its partitions; a second process with the same instance id
fences the first one (FENCED_INSTANCE_ID).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from broker_core.kernel.node import Timer

UNKNOWN_MEMBER_ID = ""
"""What a client sends as member id before the coordinator has given it one."""


class ClientIdentity(NamedTuple):
    """Who sends a group request: `client.id`, address as Java prints it ("/127.0.0.1"), API version."""

    client_id: str
    host: str
    api_version: int


class Reply(NamedTuple):
    """Where an answer goes: `done(context, response)`. Plain data, so a parked request can be pickled."""

    done: Callable[[Any, Any], None]
    context: Any

    def send(self, response: Any) -> None:
        """Hands the response over."""
        self.done(self.context, response)


class Member:
    """One member of a group.

    - `protocols`: (name, metadata) in order of the member's preference; the first is its vote.
    - `awaiting_join` / `awaiting_sync`: its parked request, or None.
    - `is_new`: it has never finished a rebalance: its client does not know its member id yet, so it
      cannot send heartbeats, and the parked join is bounded by five minutes instead.
    - `session_deadline_us`: when the session is over, None while no session is running.
    """

    __slots__ = (
        "member_id", "instance_id", "client_id", "client_host", "rebalance_timeout_ms", "session_timeout_ms",
        "protocol_type", "protocols", "assignment", "awaiting_join", "awaiting_sync", "is_new",
        "session_deadline_us", "session_timer",
    )  # fmt: skip

    def __init__(
        self,
        member_id: str,
        instance_id: str | None,
        client_id: str,
        client_host: str,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        protocol_type: str,
        protocols: list[tuple[str, bytes]],
        assignment: bytes = b"",
    ) -> None:
        self.member_id = member_id
        self.instance_id = instance_id
        self.client_id = client_id
        self.client_host = client_host
        self.rebalance_timeout_ms = rebalance_timeout_ms
        self.session_timeout_ms = session_timeout_ms
        self.protocol_type = protocol_type
        self.protocols = protocols
        self.assignment = assignment
        self.awaiting_join: Reply | None = None
        self.awaiting_sync: Reply | None = None
        self.is_new = False
        self.session_deadline_us: int | None = None
        self.session_timer: Timer | None = None

    @property
    def is_static(self) -> bool:
        """Whether it has a `group.instance.id`."""
        return self.instance_id is not None

    def metadata(self, protocol: str) -> bytes:
        """What the member said with this protocol: its subscription, for consumers."""
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise ValueError(f"member {self.member_id} does not support the protocol {protocol}")

    def vote(self, candidates: list[str]) -> str:
        """Its first protocol that is among the candidates."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise ValueError(f"member {self.member_id} supports none of {candidates}")

    def session_is_excused(self) -> bool:
        """Whether a passed session deadline means nothing: its request is parked *here*, so it is silent
        because of us. New members are not excused, or a client that keeps giving up and joining
        again would leave a growing number of ghosts in the rebalance."""
        return not self.is_new and (self.awaiting_join is not None or self.awaiting_sync is not None)
