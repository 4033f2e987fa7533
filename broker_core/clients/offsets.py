"""Committed offsets: how a group remembers where it is.

What is committed is the offset of the *next* record to read: after reading offset 41, 42. At-least-once
commits after the records were dealt with, at-most-once before. The leader epoch of the last record goes with it
(KIP-320): who takes the offset up can tell whether the log was cut in between.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.connections import error_of
from broker_core.clients.converging_member import ConvergingMember
from broker_core.clients.group_member import FORGOTTEN, LOST, GroupMember
from broker_core.clients.metadata import TopicPartition
from broker_core.clients.positions import COMMITTED, Positions
from broker_core.kernel.node import Node
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode

RETRY = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.REQUEST_TIMED_OUT)

# number, offsets, leader epochs, done, retry until, generation that it was sent in
Commit = tuple[int, dict[TopicPartition, int], dict[TopicPartition, int], Any, int, int]


class Offsets:
    """OffsetCommit and OffsetFetch of one member. `found()` is told when positions were fetched."""

    def __init__(self, node: Node, member: GroupMember | ConvergingMember, positions: Positions, found: Any) -> None:
        self.node = node
        self.member = member
        self.positions = positions
        self.found = found
        self.committed: dict[TopicPartition, int] = {}
        self._fetching = False
        self._commits = 0

    # -- commit -----------------------------------------------------------------------------
    def commit(self, offsets: dict[TopicPartition, int], done: Any, retry_until_us: int = 0) -> None:
        """Store offsets, then `done(ok)`. Errors that pass are tried again until `retry_until_us`, and so long it waits
        for a coordinator. Who has left the group or was expelled is not to commit: what it read is somebody else's now
        (CommitFailedException), and an empty group would take it. Between JoinGroup and SyncGroup nothing is committed
        either, and what the group refuses because it has moved on means nothing for the generation that came."""
        member = self.member
        waits = self.node.now_us() < retry_until_us
        if not offsets or (member.coordinator is None and not waits):
            done(not offsets)
            return
        self._commits += 1
        number = self._commits
        self._record("invoke", number, offsets)
        if not member.may_commit:
            self._record("fail", number, offsets)
            done(False)
            return
        epochs = {tp: self.positions.of[tp].epoch for tp in offsets if tp in self.positions.of}
        self._send((number, offsets, epochs, done, retry_until_us, member.generation))

    def _send(self, what: Commit) -> None:
        member = self.member
        number, offsets, epochs, done, retry_until_us, generation = what
        is_member = member.still(generation)
        if is_member and member.coordinator is None and self.node.now_us() < retry_until_us:
            self._later(what)
            return
        if not is_member or member.coordinator is None:
            self._record("info", number, offsets)
            done(False)
            return
        topics: dict[str, list[Any]] = {}
        for (topic, partition), offset in offsets.items():
            one = m.OffsetCommitRequest.OffsetCommitRequestPartition(
                partition_index=partition, committed_offset=offset,
                committed_leader_epoch=epochs.get((topic, partition), -1), committed_metadata="",
            )  # fmt: skip
            topics.setdefault(topic, []).append(one)
        body = m.OffsetCommitRequest(
            group_id=member.settings.group_id, generation_id_or_member_epoch=member.generation,
            member_id=member.member_id, group_instance_id=member.settings.group_instance_id or None,
            topics=[m.OffsetCommitRequest.OffsetCommitRequestTopic(name=n, partitions=p) for n, p in topics.items()],
        )  # fmt: skip
        member.connections.call(member.coordinator, ApiKey.OFFSET_COMMIT, body, self._answered, what)

    def _answered(self, what: Commit, response: Any) -> None:
        number, offsets, _, done, retry_until_us, generation = what
        error = _first_error(response)
        if error == ErrorCode.NONE:
            self.committed.update(offsets)
            self._record("ok", number, offsets)
            done(True)
            return
        if error in LOST:
            self.member.lose_coordinator()
        if (error in RETRY or error in LOST) and self.node.now_us() < retry_until_us:
            self._later(what)
            return
        self._record("info" if response is None else "fail", number, offsets)
        if error in FORGOTTEN and generation == self.member.generation:
            self.member.expelled(error)
        done(False)

    def _later(self, what: Commit) -> None:
        self.node.after(self.member.settings.retry_backoff_ms * 1000, self._send, what)

    def _record(self, kind: str, number: int, offsets: dict[TopicPartition, int]) -> None:
        rows = [[topic, partition, offset] for (topic, partition), offset in offsets.items()]
        self.node.operation(
            kind, "commit", id=f"{self.node.incarnation}-c{number}", group=self.member.settings.group_id, offsets=rows
        )

    # -- fetch ------------------------------------------------------------------------------
    def fetch(self) -> None:
        """Ask where the group is, for all positions in state `committed`."""
        member = self.member
        wanted = [tp for tp, position in self.positions.of.items() if position.state == COMMITTED]
        if not wanted or self._fetching or member.coordinator is None:
            return
        self._fetching = True
        topics: dict[str, list[int]] = {}
        for topic, partition in wanted:
            topics.setdefault(topic, []).append(partition)
        member_id, member_epoch = member.told_as
        asked = m.OffsetFetchRequest.OffsetFetchRequestGroup(
            group_id=member.settings.group_id,
            member_id=member_id,
            member_epoch=member_epoch,
            topics=[
                m.OffsetFetchRequest.OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
                for name, numbers in topics.items()
            ],
        )
        body = m.OffsetFetchRequest(groups=[asked], require_stable=True)
        member.connections.call(member.coordinator, ApiKey.OFFSET_FETCH, body, self._fetched)

    def _fetched(self, context: None, response: Any) -> None:
        self._fetching = False
        group = None if response is None else response.groups[0]
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE if group is None else error_of(group.error_code)
        if group is not None and error == ErrorCode.NONE:
            for topic in group.topics:
                for answer in topic.partitions:
                    self._place((topic.name, answer.partition_index), answer)
        elif error in LOST:
            self.member.lose_coordinator()
        elif error in FORGOTTEN:
            self.member.expelled(error)
        if any(position.state == COMMITTED for position in self.positions.of.values()):
            self.node.after(self.member.settings.retry_backoff_ms * 1000, self.fetch)
        self.found()

    def _place(self, tp: TopicPartition, answer: Any) -> None:
        position = self.positions.of.get(tp)
        if position is None or position.state != COMMITTED or answer.error_code != ErrorCode.NONE:
            return
        if answer.committed_offset >= 0:
            self.committed[tp] = answer.committed_offset
            self.positions.begin_at(tp, answer.committed_offset, answer.committed_leader_epoch)
        else:
            self.positions.reset(tp)


def _first_error(response: Any) -> ErrorCode:
    if response is None:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    for topic in response.topics:
        for partition in topic.partitions:
            if partition.error_code != ErrorCode.NONE:
                return error_of(partition.error_code)
    return ErrorCode.NONE
