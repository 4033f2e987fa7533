"""Share sessions: which partitions a member fetches from a broker, so that it need not say so each time.

| epoch | session    | then                                                                          |
|-------|------------|-------------------------------------------------------------------------------|
| 0     | any        | a new one with the partitions named; with acknowledgements: INVALID_REQUEST   |
| -1    | there      | acknowledgements count, what is still acquired is released, the session ends  |
| n     | at n       | partitions are added and forgotten, the session goes on at n + 1              |
| n     | at another | INVALID_SHARE_SESSION_EPOCH                                                   |
| -1, n | not there  | SHARE_SESSION_NOT_FOUND                                                       |

A session ends with its connection. Source: SharePartitionManager.newContext, ShareSessionCache.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable

from broker_core.wire.errors import NONE, ErrorCode

INITIAL, FINAL = 0, -1
LAST_EPOCH = 0x7FFFFFFF
Place = tuple[uuid.UUID, int]
Name = tuple[str, str]
"""Group and member."""


class ShareSession:
    """`places` in the order in which they are answered."""

    __slots__ = ("epoch", "connection", "places")

    def __init__(self, connection: int, places: Iterable[Place]) -> None:
        self.epoch = 1
        self.connection = connection
        self.places: dict[Place, None] = dict.fromkeys(places)

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1


class ShareSessions:
    """The sessions of a broker, by group and member; not more than `limit`."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.sessions: dict[Name, ShareSession] = {}

    def resume(
        self, name: Name, epoch: int, connection: int, named: list[Place], forgotten: list[Place], acknowledges: bool
    ) -> ErrorCode:
        """What a ShareFetch says of its session; NONE: `sessions[name]` is as it should be now."""
        session = self.sessions.get(name)
        if epoch == INITIAL:
            if acknowledges:
                return ErrorCode.INVALID_REQUEST
            self.sessions.pop(name, None)
            if len(self.sessions) >= self.limit:
                return ErrorCode.SHARE_SESSION_LIMIT_REACHED
            self.sessions[name] = ShareSession(connection, named)
            return NONE
        if epoch == FINAL:
            return ErrorCode.SHARE_SESSION_NOT_FOUND if session is None else NONE
        error = self._check(session, epoch)
        if not error and session is not None:
            session.places.update(dict.fromkeys(named))
            for place in forgotten:
                session.places.pop(place, None)
            session.advance()
        return error

    def acknowledge(self, name: Name, epoch: int) -> ErrorCode:
        """What a ShareAcknowledge says of its session."""
        session = self.sessions.get(name)
        if epoch == INITIAL:
            return ErrorCode.INVALID_SHARE_SESSION_EPOCH
        if epoch == FINAL:
            return ErrorCode.SHARE_SESSION_NOT_FOUND if session is None else NONE
        error = self._check(session, epoch)
        if not error and session is not None:
            session.advance()
        return error

    def _check(self, session: ShareSession | None, epoch: int) -> ErrorCode:
        if session is None:
            return ErrorCode.SHARE_SESSION_NOT_FOUND
        return NONE if session.epoch == epoch else ErrorCode.INVALID_SHARE_SESSION_EPOCH

    def end(self, name: Name) -> list[Place]:
        """The session is over; what it was about."""
        session = self.sessions.pop(name, None)
        return [] if session is None else list(session.places)

    def of_connection(self, connection: int) -> list[Name]:
        """Sessions that go with this connection."""
        return [name for name, session in self.sessions.items() if session.connection == connection]
