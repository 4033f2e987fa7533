"""What follows when the log has grown, was cut, or more of it is committed.

| what happened | what follows |
|---|---|
| the leader has written, and flushed | its own end counts for the high watermark; parked fetches are answered |
| a follower has copied, and flushed if it may have a vote | with its next Fetch the leader learns of it |
| a voters' record came in or was cut off | other voters decide, from now on |
| the high watermark has moved | listeners are told, changes of voters are complete, followers hear of it |

Leader and voters flush first: what counts for a majority must survive a power loss. Source: in KafkaRaftClient
appendAsLeader, appendAsFollower, onUpdateLeaderHighWatermark, updateFollowerHighWatermark.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from broker_core.kernel import events
from broker_core.records.control import read_control
from broker_core.raft.leader import Leader
from broker_core.raft.metadata_log import PARTITION, TOPIC
from broker_core.raft.states import Follower
from broker_core.records.batch import decode_records
from broker_core.records.header import CONTROL, iterate_batches

if TYPE_CHECKING:
    from broker_core.raft.client import RaftClient


class Progress:
    """The part of a replica that its log moves."""

    def __init__(self, client: RaftClient) -> None:
        self.client = client

    def write(self, leader: Leader) -> None:
        """All that waits goes to the log, and is flushed before it counts. Raises StorageError."""
        for batch in leader.accumulator.drain(leader.epoch):
            size, control = len(batch), _holds_control([batch])
            first, last = self.client.log.append_as_leader(batch, leader.epoch)
            self._appended(first, last, size, "leader", control)
        self.client.log.flush()
        self.client.thread.go_out(self._written, leader)

    def _written(self, leader: Leader) -> None:
        if self.client.quorum.leader is not leader:
            return
        if leader.update_local(self.client.log.end_offset, self.client.history.last_voters):
            self.committed()
        self.client.fetching.wake()

    def copied(self, records: Sequence[Any]) -> None:
        """A follower appends what came. Raises RecordsError, LogError, StorageError.

        A voter flushes before it asks on, for its next fetch says that it has the records; so does a controller without
        a vote, which the leader may have among the voters already. A broker that only reads along promises nobody
        anything, and leaves the flush to the operating system (KafkaRaftClient.appendAsFollower)."""
        control = _holds_control(records)
        first, last = self.client.log.append_as_follower(records)
        if self.client.quorum.is_voter or self.client.own.listeners:
            self.client.log.flush()
        self._appended(first, last, sum(map(len, records)), "follower", control)

    def _appended(self, first: int, last: int, size: int, role: str, control: bool) -> None:
        self.client.node.emit(
            events.METADATA_APPENDED, base_offset=first, last_offset=last, bytes=size, role=role,
            epoch=self.client.quorum.epoch,
        )  # fmt: skip
        if control:
            self._read_control_records(first)

    def read_control_records_anew(self) -> None:
        """Voters and kraft.version from the newest snapshot and the log behind it."""
        self.client.history.clear()
        latest = self.client.log.latest_snapshot_id
        snapshot = self.client.log.open_snapshot(latest) if latest is not None else None
        if snapshot is not None:
            offset = snapshot.id.end_offset - 1
            for control in snapshot.controls():
                self.client.history.take(offset, control)
        self._read_control_records(max(self.client.log.start_offset, latest.end_offset if latest else 0))

    def _read_control_records(self, start: int) -> None:
        for batch in self.client.log.batches(start, self.client.log.end_offset):
            if not batch.header.attributes & CONTROL:
                continue
            for record in decode_records(batch):
                control = read_control(record)
                if control is not None and self.client.history.take(record.offset, control):
                    self._voters_changed(record.offset)

    def truncated(self, end_offset: int) -> None:
        """The log was cut; with it perhaps a record that changed the voters."""
        if self.client.history.truncate_from(end_offset):
            self._voters_changed(end_offset)

    def _voters_changed(self, offset: int) -> None:
        self.client.node.emit(events.QUORUM_VOTERS, voters=self.client.history.last_voters.ids, offset=offset)

    def committed(self) -> None:
        """The leader's high watermark has moved."""
        leader = self.client.leading()
        self._move_high_watermark(leader.high_watermark or 0)
        self.client.reconfiguration.committed(leader)
        offset = self.client.history.last_voters_offset
        if not self.client.quorum.is_voter and offset is not None and (leader.high_watermark or 0) > offset:
            leader.resign_requested = True
        self.client.fetching.wake()

    def follow_high_watermark(self, follower: Follower, offset: int) -> None:
        """What the leader says is committed, as far as it is here."""
        offset = min(offset, self.client.log.end_offset)
        if offset >= 0 and offset > (-1 if follower.high_watermark is None else follower.high_watermark):
            follower.high_watermark = offset
            self._move_high_watermark(offset)

    def _move_high_watermark(self, offset: int) -> None:
        before = self.client.log.high_watermark
        self.client.log.update_high_watermark(offset)
        self.client.node.emit(events.HIGH_WATERMARK, topic=TOPIC, partition=PARTITION, before=before, after=offset)

    def heard_of_leader(self, follower: Follower) -> None:
        """The leader has answered: no election for another fetch timeout."""
        follower.fetched = True
        follower.wait_for(self.client.node.now_us(), self.client.settings.fetch_timeout_ms)


def _holds_control(parts: Sequence[Any]) -> bool:
    """Whether one of the batches is for the quorum itself; it is read again from the log then. Raises RecordsError."""
    return any(batch.header.attributes & CONTROL for part in parts for batch in iterate_batches(part))
