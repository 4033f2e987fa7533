"""Fetch: from the request to the response.

    request -> session (which positions) -> one look -> enough, or wrong, or no wait?  -> response
                                                     -> else parked; appends make it look again

The same path serves consumers and followers; a follower's fetch also tells its position (see
`reading`). In a session only positions with news are read and answered.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel.node import Node
from broker_core.purgatory.operations import DelayedOperationPurgatory
from broker_core.replication.delayed_fetch import DelayedFetch, Readings
from broker_core.replication.fetch_session import (
    FINAL_EPOCH,
    NIL,
    TOPIC_ID_VERSION,
    FetchPosition,
    FetchSession,
    FetchSessionCache,
    apply_changes,
)
from broker_core.replication.meters import Meters
from broker_core.replication.reading import READ_COMMITTED, FetchParams, Reader, Reading, Told
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

Done = Callable[[Any, Any], None]
LEADER_HINT_VERSION = 16


class Fetching:
    """Serves Fetch requests of one broker."""

    def __init__(
        self, node: Node, reader: Reader, sessions: FetchSessionCache, purgatory: DelayedOperationPurgatory,
        fetch_max_bytes: int, meters: Meters | None = None,
    ) -> None:  # fmt: skip
        self.node = node
        self.reader = reader
        self.sessions = sessions
        self.purgatory = purgatory
        self.fetch_max_bytes = fetch_max_bytes
        self.meters = meters or Meters()
        self._no_divergence = m.FetchResponse.EpochEndOffset()
        self._no_leader = m.FetchResponse.LeaderIdAndEpoch()
        self._no_snapshot = m.FetchResponse.SnapshotId()

    def fetch(self, request: Any, version: int, done: Done, context: Any, told: Told | None = None) -> None:
        """Later, or before this returns, `done(context, FetchResponse)`; just before it `told(readings)`."""
        session, error = self.sessions.resume(request, version)
        if error:
            done(context, m.FetchResponse(error_code=error))
            return
        params = FetchParams(request, version, self.fetch_max_bytes, told)
        positions: list[FetchPosition] = []
        full = session is None
        if session is not None:
            apply_changes(session, request, self.reader.topic_name)
            if not session.positions:
                self.sessions.remove(session.id)
                session, full = None, True
        else:
            session = self._open(request, version, params)
        if session is None:
            positions = self._positions(request)
        else:
            session.broker_epoch = params.broker_epoch
            if self.reader.chooses_for(params):  # another replica may be nearer by now, whether anything moved or not
                for position in session.positions.values():
                    position.touch()
            if full:
                positions = [*session.positions.values()]
        self.serve(DelayedFetch(params, session, positions, full, self.reader, self.answer, done, context))

    def _open(self, request: Any, version: int, params: FetchParams) -> FetchSession | None:
        """A new session if the request wants one and there is room."""
        if request.session_epoch == FINAL_EPOCH or not request.topics:
            return None
        size = sum(len(topic.partitions) for topic in request.topics)
        session = self.sessions.create(params.is_follower, version >= TOPIC_ID_VERSION, size)
        if session is not None:
            apply_changes(session, request, self.reader.topic_name)
        return session

    def _positions(self, request: Any) -> list[FetchPosition]:
        """The positions of a request without a session."""
        return [
            FetchPosition(topic.topic, topic.topic_id or NIL, asked)
            for topic in request.topics
            for asked in topic.partitions
        ]

    def serve(self, fetch: DelayedFetch) -> None:
        """Answer at once, or park."""
        session, wait_ms = fetch.session, fetch.params.max_wait_ms
        if fetch.look(True) or wait_ms <= 0 or (session is None and not fetch.positions):
            fetch.force_complete()
            return
        fetch.readings = None
        keys: list[Any] = [position.partition for position in fetch.positions] if session is None else [session]
        self.purgatory.watch(fetch, keys, wait_ms)

    # -- the response -----------------------------------------------------------------------
    def answer(self, fetch: DelayedFetch, readings: Readings) -> None:
        """Build the response and note in the session what was said."""
        session = fetch.session
        if session is not None and not fetch.full and session.epoch != fetch.epoch:
            fetch.done(fetch.context, m.FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH))
            return
        topics: dict[Any, Any] = {}
        size = 0
        for position, reading in readings:
            size += reading.size
            key = position.topic or position.topic_id
            data = reading.data or self._partition_data(reading, position, fetch.params)
            if key in topics:
                topics[key].partitions.append(data)
            else:
                topics[key] = m.FetchResponse.FetchableTopicResponse.make(
                    topic=position.topic, topic_id=position.topic_id, partitions=[data]
                )
            if session is not None:
                self._said(session, position, reading)
        if fetch.params.told is not None:
            fetch.params.told(readings)
        if fetch.params.replica_id >= 0:
            if size:
                self._copied(fetch.params.replica_id, readings, size)
            if self.reader.quota.topics:
                self._count(readings)
        else:
            self.meters.bytes_out += size
        response = m.FetchResponse.make(
            session_id=session.id if session is not None else 0, responses=[*topics.values()]
        )
        fetch.done(fetch.context, response)

    def _copied(self, replica_id: int, readings: Readings, size: int) -> None:
        """A follower takes so many bytes with it, some of them perhaps for a replica that is being added there."""
        self.meters.replication_bytes_out += size
        for position, one in readings:
            if one.size and position.partition is not None and replica_id in position.partition.adding:
                self.meters.reassignment_bytes_out += one.size

    def _count(self, readings: Readings) -> None:
        """What followers have got of throttled partitions counts, whether they are in sync or not; nothing, too."""
        quota = self.reader.quota
        quota.record(sum(one.size for position, one in readings if quota.counts(position.topic, position.index)))

    def _said(self, session: FetchSession, position: FetchPosition, reading: Reading) -> None:
        """With records or an error there may be more: the position moves to the end of the line.

        After an error or a divergence the marks are said again: the reader has not taken them over.
        """
        dirty = session.dirty
        position.sent_high_watermark = -1 if reading.urgent else reading.high_watermark
        position.sent_log_start = reading.log_start_offset
        if reading.size or reading.urgent:
            if len(dirty) > 1:
                dirty.pop(position, None)
            dirty[position] = None
        else:
            position.settle()

    def _partition_data(self, reading: Reading, position: FetchPosition, params: FetchParams) -> Any:
        error = reading.error
        plain = not error and params.isolation != READ_COMMITTED
        reading.data = data = m.FetchResponse.PartitionData.make(
            partition_index=position.index,
            error_code=error,
            high_watermark=reading.high_watermark,
            last_stable_offset=reading.last_stable_offset,
            log_start_offset=reading.log_start_offset,
            aborted_transactions=None if plain else self._aborted(reading, params),
            preferred_read_replica=reading.preferred_replica,
            records=reading.slices,
            diverging_epoch=self._no_divergence,
            current_leader=self._no_leader,
            snapshot_id=self._no_snapshot,
        )
        if reading.diverging is not None:
            data.diverging_epoch = m.FetchResponse.EpochEndOffset(
                epoch=reading.diverging[0], end_offset=reading.diverging[1]
            )
        if error and params.version >= LEADER_HINT_VERSION:
            self._hint(data, position)
        return data

    def _aborted(self, reading: Reading, params: FetchParams) -> list[Any] | None:
        """With read_committed they are told, if only that there are none, also for an unknown partition."""
        if reading.error:
            unknown = reading.error in (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)
            return [] if unknown else None
        if params.isolation != READ_COMMITTED:
            return None
        kind = m.FetchResponse.AbortedTransaction
        return [kind(producer_id=one.producer_id, first_offset=one.first_offset) for one in reading.aborted]

    def _hint(self, data: Any, position: FetchPosition) -> None:
        """With NOT_LEADER_OR_FOLLOWER and FENCED_LEADER_EPOCH: who leads now (KIP-951)."""
        partition = self.reader.partitions.get((position.topic, position.index))
        if partition is None or data.error_code not in (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            ErrorCode.FENCED_LEADER_EPOCH,
        ):
            return
        data.current_leader = m.FetchResponse.LeaderIdAndEpoch(
            leader_id=partition.leader_id, leader_epoch=partition.leader_epoch
        )
