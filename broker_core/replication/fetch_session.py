"""Incremental fetch sessions, the broker's side (KIP-227).

A client that follows a thousand partitions would name them all in every request. In a session the
broker remembers them, and only what changed travels, both ways:

| request (id, epoch) | means                                     | answer                                   |
|---------------------|-------------------------------------------|------------------------------------------|
| (0, -1)             | no session                                | all partitions asked for                 |
| (0, 0)              | full fetch, make a session                | all, and the new session id (0 = no room) |
| (7, n), n > 0       | changes since n-1, and topics to forget   | partitions with news                     |
| (7, 0)              | close 7, make a new one                   | all, and the new id                      |
| (7, -1)             | close 7                                   | all partitions asked for                 |

n not the expected epoch => INVALID_FETCH_SESSION_EPOCH; 7 unknown => FETCH_SESSION_ID_NOT_FOUND.

The broker does not look at a thousand partitions either. Each session keeps a list of *dirty* ones,
about which there may be something to say: a partition puts its positions there when its log end, high
watermark, log start or leadership moves. A thousand partitions and one append cost one look.

The cache has `max.incremental.fetch.session.cache.slots` [1000] slots, dealt to eight shards (KAFKA-9401): each gets an
eighth of them, rounded down, and an eighth of all ids. New sessions go to the shards in turn, so one may be refused, or
displace another, while slots of other shards are free. Within its shard a session not used for two minutes gives way to
any other; else a follower's session displaces a consumer's, and a session with more partitions displaces a smaller one
that is older than two minutes.
"""

from __future__ import annotations

import uuid
from random import Random
from typing import TYPE_CHECKING, Any

from broker_core.kernel.node import Node
from broker_core.wire.errors import NONE, ErrorCode

if TYPE_CHECKING:
    from broker_core.replication.partition import Partition
    from broker_core.replication.replica import Replica

INVALID_SESSION_ID = 0
INITIAL_EPOCH = 0
FINAL_EPOCH = -1
EVICTION_MS = 120_000  # min.incremental.fetch.session.eviction.ms, fixed in Kafka
SHARDS = 8  # NUM_FETCH_SESSION_CACHE_SHARDS, fixed in Kafka
IDS_PER_SHARD = 0x7FFFFFFF // SHARDS
TOPIC_ID_VERSION = 13
NIL = uuid.UUID(int=0)
PositionKey = tuple[str | int, int]
"""Topic name, or the topic id as a number (a UUID takes three calls to be looked up); partition."""


class FetchPosition:
    """One partition of a fetch: where its reader stands, and what was said to him last."""

    __slots__ = (
        "topic", "topic_id", "index", "fetch_offset", "max_bytes", "leader_epoch", "last_fetched_epoch",
        "log_start_offset", "sent_high_watermark", "sent_log_start", "session", "partition", "replica",
    )  # fmt: skip

    def __init__(self, topic: str, topic_id: uuid.UUID, asked: Any, session: FetchSession | None = None) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.index: int = asked.partition
        self.session = session
        self.sent_high_watermark = -1
        self.sent_log_start = -1
        self.leader_epoch: int = -1
        self.partition: Partition | None = None
        self.replica: Replica | None = None
        self.update(asked)

    def update(self, asked: Any) -> None:
        """Take over what a request says (a FetchPartition); in a new epoch everything is said anew."""
        if asked.current_leader_epoch != self.leader_epoch:
            self.sent_high_watermark = self.sent_log_start = -1
        self.fetch_offset: int = asked.fetch_offset
        self.max_bytes: int = asked.partition_max_bytes
        self.leader_epoch = asked.current_leader_epoch
        self.last_fetched_epoch: int = asked.last_fetched_epoch
        self.log_start_offset: int = asked.log_start_offset

    def touch(self) -> None:
        """There may be something new to say about it."""
        session = self.session
        if session is not None and self not in session.dirty:
            session.dirty[self] = None
            if self.replica is not None:
                self.replica.freeze()

    def settle(self) -> None:
        """It has nothing to say: not dirty any more, unless

        a limit kept it from being read, a mark has just moved, or it is a follower outside the ISR:
        each of its fetches may be the one that brings it in.
        """
        partition, session, replica = self.partition, self.session, self.replica
        if partition is None or session is None:
            return
        log = partition.log
        if log.high_watermark != self.sent_high_watermark or log.log_start_offset != self.sent_log_start:
            return
        if replica is None:
            if self.fetch_offset < log.high_watermark:
                return
        elif self.fetch_offset < log.log_end_offset or replica.broker_id not in partition.isr.committed:
            return
        session.dirty.pop(self, None)

    def link(self, partition: Partition, replica: Replica | None) -> None:
        """Be told from now on when this partition moves."""
        self.partition = partition
        self.replica = replica
        if self.session is not None:
            listeners = partition.consumer_positions if replica is None else partition.follower_positions
            listeners[self] = None

    def unlink(self) -> None:
        """The partition is gone from this broker, or the position from its session."""
        partition, self.partition, self.replica = self.partition, None, None
        if partition is not None:
            partition.follower_positions.pop(self, None)
            partition.consumer_positions.pop(self, None)


class FetchSession:
    """What one client follows.

    Invariants
        * a position that is not in `dirty` has nothing to read and was told the current marks
    """

    __slots__ = (
        "id", "epoch", "privileged", "uses_topic_ids", "positions", "dirty", "created_ms", "last_fetch_ms",
        "broker_epoch",
    )  # fmt: skip

    def __init__(self, session_id: int, privileged: bool, uses_topic_ids: bool, now_ms: int) -> None:
        self.id = session_id
        self.epoch = 1
        self.privileged = privileged
        self.uses_topic_ids = uses_topic_ids
        self.positions: dict[PositionKey, FetchPosition] = {}
        self.dirty: dict[FetchPosition, None] = {}
        self.created_ms = now_ms
        self.last_fetch_ms = now_ms
        self.broker_epoch = -1

    def __str__(self) -> str:
        return f"session {self.id}"

    def forget(self, key: PositionKey) -> None:
        """The client follows this partition no longer."""
        position = self.positions.pop(key, None)
        if position is not None:
            self.dirty.pop(position, None)
            position.unlink()

    def close(self) -> None:
        """Partitions tell it nothing any more."""
        for position in self.positions.values():
            position.unlink()
        self.positions.clear()
        self.dirty.clear()


class FetchSessionShard:
    """An eighth of the cache; the session used longest ago first."""

    __slots__ = ("number", "slots", "sessions", "evictions")

    def __init__(self, number: int, slots: int) -> None:
        self.number = number
        self.slots = slots
        self.sessions: dict[int, FetchSession] = {}
        self.evictions = 0

    def new_id(self, stream: Random) -> int:
        """One of the shard's ids that is free; 0 is no session's."""
        while True:
            number = stream.randrange(max(1, self.number * IDS_PER_SHARD), (self.number + 1) * IDS_PER_SHARD)
            if number not in self.sessions:
                return number

    def remove(self, session_id: int) -> None:
        session = self.sessions.pop(session_id, None)
        if session is not None:
            session.close()

    def touch(self, session: FetchSession) -> None:
        """It was used just now."""
        if len(self.sessions) > 1:
            self.sessions[session.id] = self.sessions.pop(session.id)

    def make_room(self, privileged: bool, size: int, now_ms: int) -> bool:
        """A free slot: else the stale give way first, then the least valuable if the new one is worth more."""
        if len(self.sessions) < self.slots:
            return True
        if not self.sessions:
            return False
        oldest = next(iter(self.sessions.values()))
        if now_ms - oldest.last_fetch_ms <= EVICTION_MS:
            candidates = [
                session for session in self.sessions.values()
                if now_ms - session.created_ms > EVICTION_MS or (privileged and not session.privileged)
            ]  # fmt: skip
            if not candidates:
                return False
            oldest = min(candidates, key=_value)
            if (privileged, size) < _value(oldest)[:2]:
                return False
        self.evictions += 1
        self.remove(oldest.id)
        return True


class FetchSessionCache:
    """All sessions of a broker, in shards."""

    def __init__(self, node: Node, slots: int) -> None:
        self.node = node
        self.shards = [FetchSessionShard(number, slots // SHARDS) for number in range(SHARDS)]
        self._next_shard = 0

    @property
    def sessions(self) -> dict[int, FetchSession]:
        """Those of all shards."""
        return {number: session for shard in self.shards for number, session in shard.sessions.items()}

    @property
    def evictions(self) -> int:
        return sum(shard.evictions for shard in self.shards)

    def create(self, privileged: bool, uses_topic_ids: bool, size: int) -> FetchSession | None:
        """A new session for a client of `size` partitions, or None when its shard has no slot for it."""
        now_ms = self.node.now_us() // 1000
        shard = self.shards[self._next_shard]
        self._next_shard = (self._next_shard + 1) % SHARDS
        if not shard.make_room(privileged, size, now_ms):
            return None
        session = FetchSession(shard.new_id(self.node.random("fetch-session")), privileged, uses_topic_ids, now_ms)
        shard.sessions[session.id] = session
        return session

    def _shard_of(self, session_id: int) -> FetchSessionShard:
        """Kafka's FetchSessionCache.getCacheShard; ids that nobody was given belong to the outer ones."""
        return self.shards[min(max(0, session_id // IDS_PER_SHARD), SHARDS - 1)]

    def remove(self, session_id: int) -> None:
        """Close a session; nothing happens when it is unknown."""
        self._shard_of(session_id).remove(session_id)

    def resume(self, request: Any, version: int) -> tuple[FetchSession | None, ErrorCode]:
        """The session that a request goes on with; (None, NONE) when it asks for none or a new one."""
        if request.session_epoch in (INITIAL_EPOCH, FINAL_EPOCH):
            if request.session_id != INVALID_SESSION_ID:
                self.remove(request.session_id)
            return None, NONE
        shard = self._shard_of(request.session_id)
        session = shard.sessions.get(request.session_id)
        if session is None:
            return None, ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.epoch != request.session_epoch:
            return None, ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.uses_topic_ids != (version >= TOPIC_ID_VERSION):
            return None, ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        session.epoch = session.epoch % 0x7FFFFFFF + 1
        session.last_fetch_ms = self.node.world.now_us // 1000
        shard.touch(session)
        return session, NONE


def _value(session: FetchSession) -> tuple[bool, int, int]:
    """What a session is worth when one must go (Kafka's EvictableKey)."""
    return (session.privileged, len(session.positions), session.id)


def apply_changes(session: FetchSession, request: Any, topic_name: Any) -> None:
    """Take what a request adds, moves and forgets. `topic_name(topic_id)` may answer None."""
    by_id = session.uses_topic_ids
    if request.forgotten_topics_data:
        _forget(session, request.forgotten_topics_data)
    positions = session.positions
    for topic in request.topics:
        name: str | int = topic.topic_id.int if by_id else topic.topic
        for asked in topic.partitions:
            key = name, asked.partition
            position = positions.get(key)
            if position is not None:
                position.update(asked)
            else:
                known = topic.topic or (topic_name(topic.topic_id) or "" if by_id else "")
                position = positions[key] = FetchPosition(known, topic.topic_id or NIL, asked, session)
            session.dirty[position] = None


def _forget(session: FetchSession, topics: Any) -> None:
    for topic in topics:
        name: str | int = topic.topic_id.int if session.uses_topic_ids else topic.topic
        for index in topic.partitions:
            session.forget((name, index))
