"""Fetching: one request at a time to each broker, for all partitions that have nothing buffered.

That is the leader, unless it has named a replica that is nearer (see `read_replicas`).

A **fetch session** (KIP-227) lets the broker remember what a consumer asks for: after the first, full
request only what has changed is named.

| the broker answers | next request |
|---|---|
| session id 17 to a full request | session 17, epoch 1, only changes |
| session id 17 again | epoch + 1 |
| session id 0 | full, without a session |
| FETCH_SESSION_ID_NOT_FOUND | full, a new session |
| INVALID_FETCH_SESSION_EPOCH, or nothing at all | full, session 17 is closed for a new one |

What arrives is kept as bytes and decoded when the application polls, `max.poll.records` at a time (see `fetched`). A
batch is always whole, so records below the position are skipped, and with `isolation.level=read_committed` those of
aborted transactions.

With `check.crcs` [true] each batch is held against its checksum first. One that does not fit ends the reading: `poll()`
throws, now and every time, until the application seeks elsewhere. What is in front of the batch has been handed out.
Nothing is fetched again for it: the broker sends what is on its disk, and knows nothing of the damage.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from broker_core.clients.connections import Connections, error_of
from broker_core.clients.fetched import Aborted, Fetched
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.old_clients import RELEASES
from broker_core.clients.positions import FETCHING, Position, Positions
from broker_core.clients.read_replicas import THE_LEADER, ReadReplicas
from broker_core.clients.settings import ConsumerSettings
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.records.record import Record
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

NO_SESSION = -1  # what stands for the epoch in versions that have none
Wanted = tuple[int, int]  # fetch offset, current leader epoch


class Session:
    """What one broker remembers of our fetches."""

    __slots__ = ("session_id", "epoch", "known")

    def __init__(self) -> None:
        self.session_id = 0
        self.epoch = 0
        self.known: dict[TopicPartition, Wanted] = {}

    def answered(self, session_id: int) -> None:
        """A good answer: an incremental request comes next, if there is a session."""
        if session_id == 0:
            self.lost()
        else:
            self.session_id = session_id
            self.epoch = self.epoch % 0x7FFFFFFF + 1

    def lost(self) -> None:
        """The broker knows no session of ours."""
        self.session_id, self.epoch = 0, 0
        self.known = {}

    def broken(self) -> None:
        """Close the one there is, if it is still there, and begin another."""
        self.epoch = 0
        self.known = {}


class Fetcher:
    """Keeps data coming for all positions in state `fetching`. `arrived()` is told of new data."""

    def __init__(
        self, node: Node, settings: ConsumerSettings, connections: Connections, metadata: Metadata,
        positions: Positions, arrived: Any,
    ) -> None:  # fmt: skip
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.positions = positions
        self.arrived = arrived
        release = RELEASES.get(settings.broker_version_fallback)
        self.newest = None if release is None else release.fetch
        self.read_replicas = ReadReplicas(node, metadata, positions)
        self.sessions: dict[str, Session] = {}
        self.pending: dict[str, None] = {}
        self.buffered: deque[Fetched] = deque()
        self._buffered_partitions: dict[TopicPartition, None] = {}
        self._timer: Timer | None = None

    @property
    def _committed(self) -> bool:
        return self.settings.isolation_level == "read_committed"

    # -- asking -----------------------------------------------------------------------------
    def send(self) -> None:
        """A fetch to every broker that has partitions for us and no fetch to answer."""
        now = self.node.now_us()
        by_broker: dict[str, dict[TopicPartition, Wanted]] = {}
        for tp, position in self.positions.of.items():
            if position.state != FETCHING or tp in self._buffered_partitions:
                continue
            if position.blocked_until_us > now:
                self._wake_at(position.blocked_until_us)
                continue
            broker = self._broker(tp, position)
            if broker >= 0:
                wanted = (position.offset, self.metadata.leader_epoch(*tp))
                by_broker.setdefault(broker_node(broker), {})[tp] = wanted
        for dest, partitions in by_broker.items():
            if dest not in self.pending:
                self._fetch(dest, partitions)

    def _broker(self, tp: TopicPartition, position: Position) -> int:
        """Whom to ask for a partition now; -1: nobody."""
        leader = self.metadata.leader(*tp)
        if leader < 0:
            self.metadata.request_update()
            return leader
        replica = self.read_replicas.choose(tp, position)
        if replica is None:
            self.metadata.request_update()
            self._block([tp])
            return -1
        return leader if replica == THE_LEADER else replica

    def _wake_at(self, at_us: int) -> None:
        if self._timer is None:
            self._timer = self.node.after(at_us - self.node.now_us(), self._woken)

    def _woken(self) -> None:
        self._timer = None
        self.send()

    def _fetch(self, dest: str, partitions: dict[TopicPartition, Wanted]) -> None:
        session = self.sessions.get(dest)
        if session is None:
            session = self.sessions[dest] = Session()
        settings = self.settings
        if session.epoch == 0:
            named, forgotten = list(partitions), []
        else:
            named = [tp for tp, wanted in partitions.items() if session.known.get(tp) != wanted]
            forgotten = [tp for tp in session.known if tp not in partitions]
        topics: dict[str, list[Any]] = {}
        for topic, partition in named:
            offset, epoch = partitions[(topic, partition)]
            asked = m.FetchRequest.FetchPartition(
                partition=partition, fetch_offset=offset, current_leader_epoch=epoch,
                partition_max_bytes=settings.max_partition_fetch_bytes,
            )  # fmt: skip
            topics.setdefault(topic, []).append(asked)
        body = m.FetchRequest(
            replica_id=-1, max_wait=settings.fetch_max_wait_ms, min_bytes=settings.fetch_min_bytes,
            max_bytes=settings.fetch_max_bytes, isolation_level=int(self._committed),
            session_id=session.session_id, session_epoch=session.epoch if self.newest is None else NO_SESSION,
            rack_id=settings.client_rack,
            topics=[m.FetchRequest.FetchTopic(topic=name, partitions=asked) for name, asked in topics.items()],
            forgotten_topics_data=_forgotten(forgotten),
        )  # fmt: skip
        session.known = dict(partitions)
        self.pending[dest] = None
        self.connections.call(dest, ApiKey.FETCH, body, self._answered, (dest, partitions), limit=self.newest)

    # -- answers ----------------------------------------------------------------------------
    def _answered(self, context: tuple[str, dict[TopicPartition, Wanted]], response: Any) -> None:
        dest, asked = context
        self.pending.pop(dest, None)
        session = self.sessions[dest]
        if response is None:
            self.connections.failed(dest)
            session.broken()
            for tp in asked:
                self.read_replicas.failed(tp, ErrorCode.NETWORK_EXCEPTION)
            self._block(list(asked))
            return
        if response.error_code != ErrorCode.NONE:
            if response.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
                session.lost()
            else:
                session.broken()
            self.send()
            return
        session.answered(response.session_id)
        for topic in response.responses:
            for data in topic.partitions:
                tp = (topic.topic, data.partition_index)
                if tp in asked:
                    self._take(tp, asked[tp][0], data)
        if self.buffered:
            self.arrived()
        self.send()

    def _take(self, tp: TopicPartition, offset: int, data: Any) -> None:
        position = self.positions.of.get(tp)
        if position is None or position.state != FETCHING or position.offset != offset:
            return
        if data.error_code != ErrorCode.NONE:
            self._error(tp, data.error_code)
            return
        position.end = data.last_stable_offset if self._committed else data.high_watermark
        if data.preferred_read_replica >= 0:
            self.read_replicas.prefer(tp, position, data.preferred_read_replica)
        records = joined(data.records)
        if records:
            aborted = _aborted(data.aborted_transactions) if self._committed else None
            self.buffered.append(Fetched(tp, records, self.settings.check_crcs, aborted))
            self._buffered_partitions[tp] = None

    def _error(self, tp: TopicPartition, error: int) -> None:
        """What the Java client does; but it asks again at once, and here after `retry.backoff.ms`."""
        was_elsewhere = self.read_replicas.failed(tp, error)
        if error == ErrorCode.OFFSET_OUT_OF_RANGE and was_elsewhere:
            self._note(tp, error, "ask the leader")
            self._block([tp])
        elif error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._note(tp, error, "give up" if self.settings.auto_offset_reset == "none" else "reset")
            self.positions.reset(tp)
            self.positions.find_offsets()
        else:
            self._note(tp, error, "refresh metadata")
            self.metadata.request_update()
            self._block([tp])

    def _note(self, tp: TopicPartition, error: int, reaction: str) -> None:
        if self.node.messages:
            position = self.positions.of.get(tp)
            self.node.emit(
                events.CLIENT_ERROR, api="Fetch", error=error_of(error).name, reaction=reaction, topic=tp[0],
                partition=tp[1], offset=None if position is None else position.offset,
            )  # fmt: skip

    def _block(self, partitions: list[TopicPartition]) -> None:
        until = self.node.now_us() + self.settings.retry_backoff_ms * 1000
        for tp in partitions:
            position = self.positions.of.get(tp)
            if position is not None:
                position.blocked_until_us = until
        self._wake_at(until)

    # -- the application --------------------------------------------------------------------
    def collect(self, count: int) -> list[tuple[TopicPartition, list[Record]]]:
        """At most `count` records for one poll; positions move behind them."""
        found: list[tuple[TopicPartition, list[Record]]] = []
        while count > 0 and self.buffered:
            fetched = self.buffered[0]
            position = self.positions.of.get(fetched.tp)
            known = fetched.damage
            records = [] if position is None else fetched.take(position.offset, count)
            if position is not None and records:
                position.offset, position.epoch = records[-1].offset + 1, fetched.epoch
                count -= len(records)
                found.append((fetched.tp, records))
            if position is not None and fetched.damage is not None:
                if known is None:
                    self._note(fetched.tp, ErrorCode.CORRUPT_MESSAGE, "give up")
                break
            if position is None or fetched.used_up:
                if position is not None and fetched.end >= position.offset:
                    position.offset, position.epoch = fetched.end, fetched.epoch
                self.buffered.popleft()
                self._buffered_partitions.pop(fetched.tp, None)
        return found

    @property
    def is_stuck(self) -> bool:
        """Whether a damaged batch is next: each further poll throws."""
        return bool(self.buffered) and self.buffered[0].damage is not None

    def forget(self) -> None:
        """What was fetched is dropped where it is not wanted any more: not assigned, or to be validated first."""
        positions = self.positions.of
        self.buffered = deque(
            fetched for fetched in self.buffered
            if fetched.tp in positions and positions[fetched.tp].state == FETCHING
        )  # fmt: skip
        self._buffered_partitions = {fetched.tp: None for fetched in self.buffered}


def _forgotten(partitions: list[TopicPartition]) -> list[Any]:
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [m.FetchRequest.ForgottenTopic(topic=name, partitions=numbers) for name, numbers in topics.items()]


def _aborted(transactions: Any) -> list[Aborted]:
    """Of an answer; None: there are none."""
    return [(one.first_offset, one.producer_id) for one in transactions or ()]


def joined(records: Any) -> bytes:
    """The records of an answer as one buffer: they may be a view, or parts in memory and in files."""
    if records is None:
        return b""
    if isinstance(records, list):
        return b"".join(part if isinstance(part, (bytes, bytearray, memoryview)) else part.read() for part in records)
    return bytes(records)
