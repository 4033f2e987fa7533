"""A follower's fetcher: copies many partitions from one leader broker, one Fetch at a time.

    request  ->  leader parks it until there is something, at most `replica.fetch.wait.max.ms` [500]
    answer   ->  append what came, by reference
                 take over the leader's high watermark (at most the own log end)
    request  ->  its offsets tell the leader what was appended ...

so a record is committed one round trip after it was copied, and a follower learns of it one more
round trip later.

| answer for a partition                   | reaction                                                |
|------------------------------------------|---------------------------------------------------------|
| records                                  | append, then high watermark, then log start             |
| diverging epoch                          | truncate (see `truncation`), fetch again                |
| OFFSET_OUT_OF_RANGE                      | ask for the leader's end, cut or restart there          |
| FENCED_LEADER_EPOCH                      | wait for the controller                                 |
| records that do not fit their checksum   | told, then as any other error: nobody is asked for others |
| any other error                          | again after `replica.fetch.backoff.ms` [1000]           |
| no answer at all (leader gone)           | all partitions again after the same time                |

A partition that is throttled (`quotas`) is left out of the session while the follower's quota is exceeded and it lags.
Each request looks again; when nothing else is to be fetched, `replica.fetch.backoff.ms` later.

(Kafka: AbstractFetcherThread, ReplicaFetcherThread.)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Timer
from broker_core.kernel.storage import FileSlice
from broker_core.log.errors import LogError
from broker_core.records.errors import RecordsError
from broker_core.replication.fetcher_session import FetcherSession
from broker_core.replication.follower_state import (
    DELAYED,
    FENCED,
    FETCHING,
    SEARCHING,
    TRUNCATING,
    FollowerState,
)
from broker_core.replication.leader_endpoint import FetcherHost, LeaderEndpoint
from broker_core.replication.truncation import Truncation
from broker_core.wire.errors import ErrorCode

SESSION_ERRORS = (
    ErrorCode.NONE, ErrorCode.FETCH_SESSION_ID_NOT_FOUND, ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)  # fmt: skip
LATE_CUT_US = 5_000
"""Without `truncate_before_high_watermark`: how long the other partitions of an answer keep a follower from cutting."""


class Fetcher:
    """Follows `states` on one leader. `in_flight`: a Fetch is on its way or parked there."""

    def __init__(self, host: FetcherHost, leader: LeaderEndpoint, truncation: Truncation) -> None:
        self.host = host
        self.leader = leader
        self.truncation = truncation
        self.session = FetcherSession()
        self.states: dict[tuple[str, int], FollowerState] = {}
        self.in_flight = False
        self.closed = False
        self.pause: Timer | None = None
        self.held: dict[tuple[str, int], FollowerState] = {}  # left out: the quota is exceeded
        self.held_timer: Timer | None = None

    # -- which partitions -------------------------------------------------------------------
    def add(self, state: FollowerState, check: bool) -> None:
        """Follow a partition from now on; `run` sends."""
        self.states[state.key] = state
        self.truncation.begin(state, check)
        self._enter(state, state.phase)

    def remove(self, key: tuple[str, int]) -> None:
        """Do not follow it any longer."""
        state = self.states.pop(key, None)
        if state is not None:
            state.cancel()
            self.session.drop(state)
        if self.held:
            self.held.pop(key, None)

    def close(self) -> None:
        """Nothing is sent any more, answers are ignored."""
        self.closed = True
        for state in self.states.values():
            state.cancel()
        self.states.clear()
        self.held.clear()
        for timer in (self.pause, self.held_timer):
            if timer is not None:
                timer.cancel()

    def _current(self, state: FollowerState) -> bool:
        return not self.closed and self.states.get(state.key) is state

    # -- phases -----------------------------------------------------------------------------
    def _enter(self, state: FollowerState, phase: str) -> None:
        state.phase = phase
        if phase == FETCHING:
            self.session.put(state)
            return
        self.session.drop(state)
        if phase == TRUNCATING:
            self.leader.ask_epoch_end(state, self._epoch_end)
        elif phase == SEARCHING:
            self.leader.ask_end(state, self._leader_end)

    def _delay(self, state: FollowerState) -> None:
        """An error: leave the partition alone for a while."""
        state.resume = state.phase
        self._enter(state, DELAYED)
        state.timer = self.host.node.after(self.host.backoff_us, self._resume, state)

    def _resume(self, state: FollowerState) -> None:
        if self._current(state):
            state.timer = None
            self._enter(state, state.resume)
            self.run()

    # -- the request ------------------------------------------------------------------------
    def run(self) -> None:
        """Send the next Fetch, unless one is out, the leader is unreachable, or nothing is to be fetched."""
        session = self.session
        if self.in_flight or self.closed or self.pause is not None:
            return
        if self.held or self.host.quotas.follower.topics:
            self._hold()
        if not (session.known or session.changed):
            return
        self.in_flight = True
        self.leader.fetch(session, self._received)

    def _hold(self) -> None:
        """Leave out what the quota does not allow, take in again what it does (Kafka: shouldFollowerThrottle)."""
        quota, session, before = self.host.quotas.follower, self.session, self.held
        exceeded = quota.exceeded()
        self.held = {
            key: state for key, state in self.states.items()
            if exceeded and state.phase == FETCHING and state.lag != 0 and quota.counts(*key)
        }  # fmt: skip
        for key, state in self.held.items():
            session.drop(state)
            if before.get(key) is not state:
                quota.tell(*key, self.host.broker_id)
        for key, state in before.items():
            if key not in self.held and state.phase == FETCHING:
                session.put(state)
        if self.held and self.held_timer is None and not (session.known or session.changed):
            self.held_timer = self.host.node.after(self.host.backoff_us, self._look_again)

    def _look_again(self) -> None:
        self.held_timer = None
        self.run()

    def _received(self, _: Any, response: Any) -> None:
        """Take the whole answer before the next request: what that one says is not what this one answers."""
        if self.closed:
            return
        if response is None:
            self.session.restart(self.session.id)
        if response is None or response.error_code not in SESSION_ERRORS:
            self.in_flight = False
            self.pause = self.host.node.after(self.host.backoff_us, self._go_on)
            return
        faults = self.host.node.storage.faults
        if faults is not None:
            faults.take_debt()
        if self.session.answered(response):
            states = self.states
            for topic in response.responses:
                name = topic.topic or self._name(topic.topic_id)
                for data in topic.partitions:
                    state = states.get((name, data.partition_index))
                    if state is None or not state.sent or state.phase != FETCHING:
                        continue
                    if data.error_code or data.diverging_epoch.end_offset >= 0:
                        self._refused(state, data)
                    else:
                        self._take(state, data)
        self.in_flight = False
        if faults is not None and (debt_us := faults.take_debt()):  # our own disk is slow
            self.pause = self.host.node.after(debt_us, self._go_on)
            return
        self.run()

    def _go_on(self) -> None:
        self.pause = None
        self.run()

    def _name(self, topic_id: Any) -> str:
        """The topic of an answer that came through the codec, with its id only."""
        for state in self.states.values():
            if state.partition.topic_id == topic_id:
                return state.partition.topic
        return ""

    # -- the answer -------------------------------------------------------------------------
    def _refused(self, state: FollowerState, data: Any) -> None:
        error = data.error_code
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self._enter(state, SEARCHING)
        elif error == ErrorCode.FENCED_LEADER_EPOCH:
            self._enter(state, FENCED)
        elif error:
            self._delay(state)
        else:
            self._diverged(state, data)

    def _take(self, state: FollowerState, data: Any) -> None:
        """Records, then the marks: a high watermark is never taken over before its records."""
        partition = state.partition
        log = partition.log
        try:
            records = records_of(data) if data.records else None
        except StorageError:  # of the leader's disk, which knows it by now
            self._delay(state)
            return
        try:
            if records is not None:
                info = partition.append_as_follower(records)
                quota = self.host.quotas.follower
                if quota.topics and quota.counts(*state.key):
                    quota.record(info.bytes)
                state.fetch_offset = log.log_end_offset
                state.refused = None
                state.last_fetched_epoch = log.leader_epochs.latest_epoch
                self.session.put(state)
            high_watermark = data.high_watermark
            state.lag = high_watermark - state.fetch_offset if high_watermark > state.fetch_offset else 0
            if high_watermark != log.high_watermark:
                partition.move_high_watermark(high_watermark)
            if log.log_start_offset < data.log_start_offset <= log.high_watermark:
                log.delete_records_before(data.log_start_offset, "leader")
                partition.log_start_moved()
                self.session.put(state)
        except (LogError, RecordsError) as refused:
            self._note_refused(state, refused)
            self._delay(state)
        except StorageError as error:
            self._failed_here(state, error)

    def _note_refused(self, state: FollowerState, error: LogError | RecordsError) -> None:
        """What the leader sent does not go into our log: told each time, since nobody else will notice."""
        node = self.host.node
        state.refused = state.fetch_offset
        if node.messages:
            topic, partition = state.key
            node.emit(events.CLIENT_ERROR, api="Fetch", error=error.kafka_error, reaction="fetch again", topic=topic,
                      partition=partition, offset=state.fetch_offset)  # fmt: skip

    def _failed_here(self, state: FollowerState, error: StorageError) -> None:
        """Our own disk: the host gives the whole directory up."""
        self.remove(state.key)
        self.host.storage_failed(state.partition, error)

    def _diverged(self, state: FollowerState, data: Any) -> None:
        """The leader's log of some epoch ends before ours: cut first, marks come with the next answer."""
        if not self.host.protections.truncate_before_high_watermark:
            state.partition.move_high_watermark(data.high_watermark)
            self.session.drop(state)
            self.host.node.after(LATE_CUT_US, self._cut, state, data.diverging_epoch)
            return
        self._cut(state, data.diverging_epoch)

    def _cut(self, state: FollowerState, diverging: Any) -> None:
        """Cut, and fetch from there; when there was nothing to cut, not at once: it would go on for ever."""
        if not self._current(state):
            return
        try:
            changed = self.truncation.cut(state, diverging.epoch, diverging.end_offset)
        except StorageError as error:
            self._failed_here(state, error)
            return
        if changed:
            state.partition.changed()
            self._enter(state, FETCHING)
            self.run()
        else:
            state.phase = FETCHING
            self._delay(state)

    # -- other questions to the leader ------------------------------------------------------
    def _epoch_end(self, state: FollowerState, answer: Any) -> None:
        """Answer to OffsetsForLeaderEpoch: an EpochEndOffset, or None."""
        if not self._current(state):
            return
        if answer is None or answer.error_code:
            self._failed(state, answer)
            return
        try:
            changed = self.truncation.cut(state, answer.leader_epoch, answer.end_offset)
        except StorageError as error:
            self._failed_here(state, error)
            return
        if changed and not self.truncation.finished(state, answer.leader_epoch):
            self._enter(state, TRUNCATING)
            return
        self._enter(state, FETCHING)
        self.run()

    def _leader_end(self, state: FollowerState, answer: Any) -> None:
        """Where the leader's log ends. Ours is longer: cut it. Else the leader's start must be behind us."""
        if not self._current(state):
            return
        if answer is None or answer.error_code:
            self._failed(state, answer)
            return
        log = state.partition.log
        if answer.offset < log.log_end_offset:
            self._restart_log(state, log.truncate_to, answer.offset, "out of range")
        else:
            self.leader.ask_start(state, self._leader_start)

    def _leader_start(self, state: FollowerState, answer: Any) -> None:
        """Where the leader's log starts: beyond our end, everything we have is gone there. Else all is well."""
        if not self._current(state):
            return
        if answer is None or answer.error_code:
            self._failed(state, answer)
            return
        log = state.partition.log
        if answer.offset > log.log_end_offset:
            self._restart_log(state, log.truncate_fully_and_start_at, answer.offset)
        else:
            state.phase = FETCHING
            self._delay(state)

    def _restart_log(self, state: FollowerState, change: Callable[..., object], *args: Any) -> None:
        """Cut the log, and fetch from its new end."""
        try:
            change(*args)
        except StorageError as error:
            self._failed_here(state, error)
            return
        log = state.partition.log
        state.partition.changed()
        state.fetch_offset = log.log_end_offset
        state.last_fetched_epoch = log.leader_epochs.latest_epoch
        self._enter(state, FETCHING)
        self.run()

    def _failed(self, state: FollowerState, answer: Any) -> None:
        if answer is not None and answer.error_code == ErrorCode.FENCED_LEADER_EPOCH:
            self._enter(state, FENCED)
        else:
            self._delay(state)


def records_of(data: Any) -> list[Any]:
    """What a partition's answer has: slices by reference, or one buffer from the codec. Raises StorageError."""
    records = data.records
    if not isinstance(records, list):
        return [records]
    if len(records) == 1 and records[0].__class__ is FileSlice:
        part = records[0]
        return [part.file.peek(part.position, part.size)]
    return [part.read() if isinstance(part, FileSlice) else part for part in records]
