"""Fetching as a member of a share group: what is acquired, and what is said of it (`ShareConsumeRequestManager`).

    poll --> ShareFetch to each leader   <-- records, each with the how manyth delivery it is
    the application acknowledges          --> with the next ShareFetch, or in a ShareAcknowledge of its own

A **share session** is the broker's memory of one member: partitions are named once, and a request whose epoch is not
the next one is refused. A session that is gone has released what was acquired in it, so nothing more is said about it:

| the broker answers                                     | acknowledgements on their way | next request      |
|--------------------------------------------------------|-------------------------------|-------------------|
| NONE                                                   | each partition has its result | epoch + 1         |
| SHARE_SESSION_NOT_FOUND, INVALID_SHARE_SESSION_EPOCH, nothing | have failed            | epoch 0, anew     |

There is one request at a time to each broker. Offsets that were acquired but have no record (markers, compacted away)
are acknowledged as gaps, batches that do not fit their checksum are rejected.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from broker_core.clients.connections import Connections, error_of
from broker_core.clients.fetcher import joined
from broker_core.clients.metadata import Metadata, TopicPartition
from broker_core.clients.settings import ShareConsumerSettings
from broker_core.kernel import events
from broker_core.kernel.names import broker_node
from broker_core.kernel.node import Node, Timer
from broker_core.records.batch import decode_records
from broker_core.records.errors import RecordsError
from broker_core.records.header import ensure_valid, iterate_batches
from broker_core.records.record import Record
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import NONE, ErrorCode

GAP, ACCEPT, RELEASE, REJECT, RENEW = 0, 1, 2, 3, 4
TYPES = {GAP: "gap", ACCEPT: "accept", RELEASE: "release", REJECT: "reject", RENEW: "renew"}
BATCH_OPTIMIZED, RECORD_LIMIT = 0, 1
INITIAL, FINAL = 0, -1
LAST_EPOCH = 0x7FFFFFFF
Said = dict[TopicPartition, dict[int, int]]
"""What is said of which offset."""


class ShareSession:
    """What one broker remembers of us. `pending`: a request is under way; `said`: goes with the next one; `ending`:
    with the answer the session is over."""

    __slots__ = ("epoch", "known", "pending", "said", "ending")

    def __init__(self) -> None:
        self.epoch = INITIAL
        self.known: dict[TopicPartition, None] = {}
        self.pending = self.ending = False
        self.said: Said = {}

    def answered(self) -> None:
        self.epoch = 1 if self.epoch == LAST_EPOCH else self.epoch + 1


@dataclass(slots=True)
class Delivered:
    """Records of one partition, acquired at `dest`; `counts`: the how manyth delivery, by offset."""

    tp: TopicPartition
    dest: str
    records: list[Record] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=dict)


class ShareFetcher:
    """Keeps sessions with the leaders of `partitions`. The owner has

    - `arrived()`: there is something in `buffered`
    - `acknowledged(tp, said, error)`: what became of acknowledgements
    """

    def __init__(
        self, node: Node, settings: ShareConsumerSettings, connections: Connections, metadata: Metadata, owner: Any
    ) -> None:
        self.node = node
        self.settings = settings
        self.connections = connections
        self.metadata = metadata
        self.owner = owner
        self.member_id = ""
        self.partitions: list[TopicPartition] = []
        self.sessions: dict[str, ShareSession] = {}
        self.buffered: deque[Delivered] = deque()
        self.lock_ms = 0
        self._blocked: dict[TopicPartition, int] = {}
        self._timer: Timer | None = None

    @property
    def busy(self) -> bool:
        """Whether something is still to be said, or an answer to come."""
        return any(session.pending or session.said for session in self.sessions.values())

    def say(self, dest: str, tp: TopicPartition, offset: int, kind: int) -> None:
        """Goes out with the next request to where the record was acquired."""
        self.sessions[dest].said.setdefault(tp, {})[offset] = kind

    # -- asking -----------------------------------------------------------------------------
    def fetch(self) -> None:
        """A ShareFetch to each leader that has none to answer."""
        now = self.node.now_us()
        by_broker: dict[str, list[TopicPartition]] = {}
        for tp in self.partitions:
            leader = self.metadata.leader(*tp)
            if leader < 0:
                self.metadata.request_update()
            elif self._blocked.get(tp, 0) > now:
                self._wake_at(self._blocked[tp])
            else:
                by_broker.setdefault(broker_node(leader), []).append(tp)
        for dest, partitions in by_broker.items():
            session = self.sessions.setdefault(dest, ShareSession())
            if not session.pending:
                self._fetch(dest, session, partitions)
        self.acknowledge(skip=by_broker)

    def _fetch(self, dest: str, session: ShareSession, partitions: list[TopicPartition]) -> None:
        settings, kind, said = self.settings, m.ShareFetchRequest, self._take_said(session)
        new = [tp for tp in partitions if tp not in session.known]
        gone = [tp for tp in session.known if tp not in partitions]
        topics = self._topics(kind, [*new, *(tp for tp in said if tp not in new)], said)
        forgotten = [
            kind.ForgottenTopic(topic_id=topic, partitions=numbers) for topic, numbers in self._by_id(gone).items()
        ]
        session.known = dict.fromkeys(partitions)
        body = kind(
            group_id=settings.group_id, member_id=self.member_id, share_session_epoch=session.epoch,
            max_wait=settings.fetch_max_wait_ms, min_bytes=settings.fetch_min_bytes, max_bytes=settings.fetch_max_bytes,
            max_records=settings.max_poll_records, batch_size=settings.max_poll_records,
            share_acquire_mode=RECORD_LIMIT if settings.share_acquire_mode == "record_limit" else BATCH_OPTIMIZED,
            topics=topics, forgotten_topics_data=forgotten,
        )  # fmt: skip
        session.pending = True
        self.connections.call(dest, ApiKey.SHARE_FETCH, body, self._answered, (dest, session, said))

    def acknowledge(self, skip: Collection[str] = ()) -> None:
        """What is to be said and goes with no fetch."""
        for dest, session in self.sessions.items():
            said = {} if dest in skip or session.pending else self._take_said(session)
            if said:
                self._send(dest, session, said, session.epoch)

    def end(self) -> None:
        """What is to be said, and that was all: sessions go with the answers."""
        for dest, session in list(self.sessions.items()):
            if session.pending:
                continue
            said = self._take_said(session)
            if session.epoch == INITIAL:
                del self.sessions[dest]
            else:
                session.ending = True
                self._send(dest, session, said, FINAL)

    def renew(self, held: dict[str, Said]) -> None:
        """Locks begin anew (KIP-1222), and what is to be said goes along; a broker that owes an answer is not asked."""
        for dest, said in held.items():
            session = self.sessions.get(dest)
            if session is not None and session.epoch != INITIAL and not session.pending:
                for tp, about in self._take_said(session).items():
                    said.setdefault(tp, {}).update(about)
                self._send(dest, session, said, session.epoch, True)

    def _send(self, dest: str, session: ShareSession, said: Said, epoch: int, renewal: bool = False) -> None:
        kind = m.ShareAcknowledgeRequest
        body = kind(
            group_id=self.settings.group_id, member_id=self.member_id, share_session_epoch=epoch, is_renew_ack=renewal,
            topics=self._topics(kind, list(said), said),
        )  # fmt: skip
        session.pending = True
        self.connections.call(dest, ApiKey.SHARE_ACKNOWLEDGE, body, self._answered, (dest, session, said))

    def _take_said(self, session: ShareSession) -> Said:
        """Acknowledgements of a session that is gone count for nobody."""
        said, session.said = session.said, {}
        if said and session.epoch == INITIAL:
            self._fail(said, ErrorCode.SHARE_SESSION_NOT_FOUND)
            return {}
        return said

    def _topics(self, kind: Any, partitions: list[TopicPartition], said: Said) -> list[Any]:
        topic_kind = getattr(kind, "FetchTopic", None) or kind.AcknowledgeTopic
        part_kind = getattr(kind, "FetchPartition", None) or kind.AcknowledgePartition
        return [
            topic_kind(topic_id=topic_id, partitions=[
                part_kind(partition_index=number, acknowledgement_batches=_batches(kind, said.get((name, number), {})))
                for number in numbers
            ])
            for topic_id, numbers in self._by_id(partitions).items() for name in [self._name(topic_id)]
        ]  # fmt: skip

    def _by_id(self, partitions: list[TopicPartition]) -> dict[uuid.UUID, list[int]]:
        found: dict[uuid.UUID, list[int]] = {}
        for topic, number in partitions:
            info = self.metadata.topics.get(topic)
            if info is not None and info.topic_id is not None:
                found.setdefault(info.topic_id, []).append(number)
        return found

    def _name(self, topic_id: uuid.UUID) -> str:
        return next((name for name, info in self.metadata.topics.items() if info.topic_id == topic_id), "")

    def _wake_at(self, at_us: int) -> None:
        if self._timer is None:
            self._timer = self.node.after(max(at_us - self.node.now_us(), 0), self._woken)

    def _woken(self) -> None:
        self._timer = None
        self.owner.wake()

    # -- answers ----------------------------------------------------------------------------
    def _answered(self, context: tuple[str, ShareSession, Said], response: Any) -> None:
        dest, session, said = context
        session.pending = False
        if session.ending:
            del self.sessions[dest]
        error = ErrorCode.NETWORK_EXCEPTION if response is None else error_of(response.error_code)
        if error is not NONE:
            if response is None:
                self.connections.failed(dest)
            self._lost(dest, session, said, error)
            return
        session.answered()
        self.lock_ms = response.acquisition_lock_timeout or self.lock_ms
        for topic in response.responses:
            name = self._name(topic.topic_id)
            for part in topic.partitions:
                tp = (name, part.partition_index)
                about = said.pop(tp, {})
                fetched = hasattr(part, "acquired_records")
                if about:
                    told = part.acknowledge_error_code if fetched else part.error_code
                    self.owner.acknowledged(tp, about, error_of(told))
                if part.error_code:
                    self._wrong(tp, error_of(part.error_code))
                if fetched and part.acquired_records:
                    self._take(dest, tp, part)
        self._fail(said, ErrorCode.UNKNOWN_SERVER_ERROR)
        if self.buffered:
            self.owner.arrived()
        self.owner.wake()

    def _lost(self, dest: str, session: ShareSession, said: Said, error: ErrorCode) -> None:
        """The session is gone, and with it what was acquired there and not acknowledged yet."""
        session.epoch, session.known = INITIAL, {}
        for about in (said, session.said):
            self._fail(about, error)
        session.said = {}
        self._note(None, error)
        self.metadata.request_update()
        until = self.node.now_us() + self.settings.retry_backoff_ms * 1000
        for tp in self.partitions:
            if broker_node(self.metadata.leader(*tp)) == dest:
                self._blocked[tp] = until
        self._wake_at(until)

    def _fail(self, said: Said, error: ErrorCode) -> None:
        for tp, about in said.items():
            self.owner.acknowledged(tp, about, error)

    def _wrong(self, tp: TopicPartition, error: ErrorCode) -> None:
        self._note(tp, error)
        self.metadata.request_update()
        self._blocked[tp] = self.node.now_us() + self.settings.retry_backoff_ms * 1000
        self._wake_at(self._blocked[tp])

    def _note(self, tp: TopicPartition | None, error: ErrorCode) -> None:
        if self.node.messages:
            topic, partition = (None, None) if tp is None else tp
            reaction = "new session" if tp is None else "refresh metadata"
            self.node.emit(
                events.CLIENT_ERROR, api="ShareFetch", error=error.name, reaction=reaction, topic=topic,
                partition=partition,
            )  # fmt: skip

    def _take(self, dest: str, tp: TopicPartition, part: Any) -> None:
        counts = {
            offset: one.delivery_count
            for one in part.acquired_records for offset in range(one.first_offset, one.last_offset + 1)
        }  # fmt: skip
        found = Delivered(tp, dest)
        for offsets, records in _read(joined(part.records), self.settings.check_crcs):
            if records is None:
                for offset in offsets:
                    if counts.pop(offset, 0):
                        self.say(dest, tp, offset, REJECT)
                continue
            for record in records:
                if record.offset in counts:
                    found.records.append(record)
                    found.counts[record.offset] = counts.pop(record.offset)
        for offset in counts:
            self.say(dest, tp, offset, GAP)
        if found.records:
            self.buffered.append(found)


def _read(data: bytes, check_crcs: bool) -> Iterator[tuple[range, list[Record] | None]]:
    """Each batch's offsets and its records; None of one that does not fit its checksum."""
    for batch in iterate_batches(data, 0):
        header = batch.header
        offsets = range(header.base_offset, header.last_offset + 1)
        try:
            if check_crcs:
                ensure_valid(batch)
            yield offsets, [] if header.is_control else decode_records(batch)
        except RecordsError:
            yield offsets, None


def _batches(kind: Any, about: dict[int, int]) -> list[Any]:
    """Neighbours with one type stand together."""
    found: list[Any] = []
    for offset, what in sorted(about.items()):
        before = found[-1] if found else None
        if before is not None and before.last_offset + 1 == offset and before.acknowledge_types == [what]:
            before.last_offset = offset
        else:
            found.append(kind.AcknowledgementBatch(first_offset=offset, last_offset=offset, acknowledge_types=[what]))
    return found
