"""Incremental fetch sessions, the follower's side (KIP-227; Kafka: FetchSessionHandler).

The first request is full; its answer carries a session id. From then on a request names only
partitions that moved since the last one, and those to forget:

    full      (0, 0)   orders-0 from 0, orders-1 from 0          -> session 7
    next      (7, 1)   nothing: tell me of both
    answer             orders-1: offsets 0..9
    next      (7, 2)   orders-1 from 10

After an error or a lost connection the next request is full again.
"""

from __future__ import annotations

from typing import Any

from broker_core.replication.follower_state import FollowerState
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

FULL_EPOCH = 0


class FetcherSession:
    """One session with one leader."""

    __slots__ = ("id", "epoch", "known", "changed", "forgotten")

    def __init__(self) -> None:
        self.id = 0
        self.epoch = FULL_EPOCH
        self.known: dict[tuple[str, int], FollowerState] = {}
        self.changed: dict[tuple[str, int], FollowerState] = {}
        self.forgotten: dict[tuple[str, int], FollowerState] = {}

    def put(self, state: FollowerState) -> None:
        """The partition is to be fetched from where `state` stands."""
        key = state.key
        state.sent = False
        self.changed[key] = state
        if self.forgotten and self.forgotten.pop(key, None) is not None:
            self.known[key] = state  # the leader was not told to forget it, and has to be if it goes again

    def drop(self, state: FollowerState) -> None:
        """The partition is not to be fetched (for now)."""
        key = state.key
        state.sent = False
        self.changed.pop(key, None)
        if self.known.pop(key, None) is not None:
            self.forgotten[key] = state

    @property
    def empty(self) -> bool:
        return not self.known and not self.changed

    def next_request(self, max_bytes: int) -> tuple[list[Any], list[Any]]:
        """(topics, forgotten topics) of the next request; everything named counts as sent."""
        if self.epoch == FULL_EPOCH:
            states = {**self.known, **self.changed}
            self.forgotten.clear()
        else:
            states = self.changed
        if not states:
            return [], self._forgotten_topics() if self.forgotten else []
        self.known.update(self.changed)
        self.changed = {}
        topics: dict[str, Any] = {}
        for state in states.values():
            state.sent = True
            partition = state.partition
            asked = m.FetchRequest.FetchPartition.make(
                partition=partition.index,
                current_leader_epoch=state.leader_epoch,
                fetch_offset=state.fetch_offset,
                last_fetched_epoch=state.last_fetched_epoch,
                log_start_offset=partition.log.log_start_offset,
                partition_max_bytes=max_bytes,
            )
            name = partition.topic
            if name in topics:
                topics[name].partitions.append(asked)
            else:
                topics[name] = m.FetchRequest.FetchTopic.make(
                    topic=name, topic_id=partition.topic_id, partitions=[asked]
                )
        return [*topics.values()], self._forgotten_topics() if self.forgotten else []

    def _forgotten_topics(self) -> list[Any]:
        topics: dict[str, Any] = {}
        for (name, index), state in self.forgotten.items():
            topic = topics.get(name)
            if topic is None:
                topic = topics[name] = m.FetchRequest.ForgottenTopic(
                    topic=name, topic_id=state.partition.topic_id, partitions=[]
                )
            topic.partitions.append(index)
        self.forgotten = {}
        return list(topics.values())

    def answered(self, response: Any) -> bool:
        """Move to the next epoch; False when the answer is an error and the session begins anew."""
        if response.error_code:
            unknown = response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            self.restart(0 if unknown else self.id)
            return False
        if self.epoch == FULL_EPOCH:
            self.id = response.session_id
            self.epoch = 1 if self.id else FULL_EPOCH
        else:
            self.epoch = self.epoch % 0x7FFFFFFF + 1
        return True

    def restart(self, session_id: int) -> None:
        """The next request is full; it closes the session with this id."""
        self.id = session_id
        self.epoch = FULL_EPOCH
