"""In which of its log directories a broker holds a replica: the controller has to know (KIP-858).

A broker with one directory needs to say nothing: the controller writes that one down with the replica. With several
the broker chooses, so the first record says "unassigned", and the broker tells:

    PartitionRecord  many-0   replicas [2, 3, 4]   directories [unassigned, unassigned, unassigned]
    broker 2 makes the log in b/many-0
    broker 2 -> controller    AssignReplicasToDirs   directory of b: many-0
    PartitionChangeRecord     directories [b's id, unassigned, unassigned]

From then on a heartbeat with "directory b is offline" is enough: the controller elects others for what lies there.
What is not answered is sent again with the next assignment, or after half a second. Source: AssignmentsManager.

A replica that moves to another directory (`replication.moves`) is assigned to it before it lies there: the copy takes
the log's place when the controller has agreed (`promise`). A move that ends early is taken back the same way.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from broker_core.cluster.kraft.channel import ControllerChannel
from broker_core.cluster.kraft.lifecycle import NO_EPOCH, BrokerLifecycle
from broker_core.cluster.port import Member
from broker_core.metadata.delta import ReplicaChange
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey

AGAIN_US = 500_000
MOST = 2_250
"""Assignments in one request."""
Replica = tuple[uuid.UUID, int]  # topic id, partition
Agreed = tuple[Callable[[Any], None], Any]


class DirectoryAssignments:
    """`waiting`: replicas of which the log does not say (yet) where they are. `directories`: log directory -> id.
    `promised`: of those that are about to lie elsewhere, where; `agreed`: who waits for the controller's word on it."""

    def __init__(
        self, member: Member, lifecycle: BrokerLifecycle, channel: ControllerChannel,
        directories: Mapping[str, uuid.UUID],
    ) -> None:  # fmt: skip
        self.member = member
        self.lifecycle = lifecycle
        self.channel = channel
        self.directories = directories
        self.waiting: dict[Replica, uuid.UUID] = {}
        self.promised: dict[Replica, uuid.UUID] = {}
        self.agreed: dict[Replica, Agreed] = {}
        self._in_flight = False

    def check(self, changes: Sequence[ReplicaChange]) -> None:
        """Compare what has just been applied with where its logs are."""
        for change in changes:
            replica, actual = (change.topic_id, change.partition), self._actual(change)
            if actual is None or actual == self._recorded(change):
                self.waiting.pop(replica, None)
                self._agree(replica)
            else:
                self.waiting[replica] = actual
        self._send()

    def promise(self, replica: Replica, log_dir: str, done: Callable[[Any], None] | None, context: Any) -> None:
        """It is going to lie there; `done(context)` when the controller has written it down. No `done`: it stays."""
        self.agreed.pop(replica, None)
        self.promised.pop(replica, None)
        directory = self.directories.get(log_dir)
        if directory is None:
            return
        if done is not None:
            self.promised[replica] = directory
            self.agreed[replica] = done, context
        self.waiting[replica] = directory
        self._send()

    def _agree(self, replica: Replica) -> None:
        if replica in self.agreed:
            done, context = self.agreed.pop(replica)
            self.member.node.soon(done, context)

    def _actual(self, change: ReplicaChange) -> uuid.UUID | None:
        logs, promised = self.member.replicas.log_manager, self.promised.get((change.topic_id, change.partition))
        if promised is not None and logs.futures.get(change.topic, change.partition) is not None:
            return promised
        log = logs.get(change.topic, change.partition)
        return None if log is None else self.directories.get(logs.dir_of(log))

    def _recorded(self, change: ReplicaChange) -> uuid.UUID | None:
        held = dict(zip(change.registration.replicas, change.registration.directories, strict=False))
        return held.get(self.member.broker_id)

    def _send(self) -> None:
        if self._in_flight or not self.waiting:
            return
        self._in_flight = True
        if self.lifecycle.epoch == NO_EPOCH:
            self.member.node.after(AGAIN_US, self._again)
            return
        self.channel.call(ApiKey.ASSIGN_REPLICAS_TO_DIRS, 0, self._request(), self._answered, None)

    def _request(self) -> Any:
        kind = m.AssignReplicasToDirsRequest
        topics: dict[tuple[uuid.UUID, uuid.UUID], Any] = {}
        directories: dict[uuid.UUID, Any] = {}
        for (topic_id, number), directory in list(self.waiting.items())[:MOST]:
            if directory not in directories:
                directories[directory] = kind.DirectoryData(id_=directory, topics=[])
            if (directory, topic_id) not in topics:
                topics[directory, topic_id] = kind.TopicData(topic_id=topic_id, partitions=[])
                directories[directory].topics.append(topics[directory, topic_id])
            topics[directory, topic_id].partitions.append(kind.PartitionData(partition_index=number))
        return kind(
            broker_id=self.member.broker_id, broker_epoch=self.lifecycle.epoch, directories=list(directories.values())
        )

    def _answered(self, context: None, answer: Any) -> None:
        """What was written down is heard of again as a change; whatever was refused is of no use any more."""
        if answer is None or answer.error_code:
            self.member.node.after(AGAIN_US, self._again)
            return
        for directory in answer.directories:
            for topic in directory.topics:
                for one in topic.partitions:
                    replica = topic.topic_id, one.partition_index
                    if self.waiting.get(replica) != directory.id_:
                        continue
                    del self.waiting[replica]
                    if not one.error_code:
                        self._agree(replica)
        self._again()

    def _again(self) -> None:
        self._in_flight = False
        self._send()
