"""The share coordinator of one broker: it keeps what the leaders of share-partitions must not forget.

A request is about many share-partitions; each of them is decided by itself, one decision at a time
(`coordinators.lanes`), and the answer goes out when the last one is committed.

| API                          | who asks                          |
|------------------------------|-----------------------------------|
| InitializeShareGroupState 83 | the group coordinator             |
| ReadShareGroupState 84       | the partition's leader, once      |
| WriteShareGroupState 85      | the partition's leader            |
| DeleteShareGroupState 86     | the group coordinator             |
| ReadShareGroupStateSummary 87 | the group coordinator            |

Share-partitions that nobody writes to get a snapshot every now and then
(`share.coordinator.cold.partition.snapshot.interval.ms`), and those of topics that are deleted go. What stands before
the last snapshot of each is cut off the log every `share.coordinator.state.topic.prune.interval.ms` (5 min).
Source: ShareCoordinatorService of 4.3.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from typing import Any

from broker_core.coordinators.lanes import Lanes
from broker_core.coordinators.ports import CutTopicPort
from broker_core.coordinators.runtime import CoordinatorRuntime, KeyValue
from broker_core.coordinators.stored import Buffer
from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.records.header import BatchHeader
from broker_core.sharing.decisions import Decision, Decisions, PartitionCount, ShareStateRefused
from broker_core.sharing.records import Record, ShareKey, decoded, encoded
from broker_core.sharing.state import ShareStates, snapshot_record, tombstone
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

Done = Callable[[Any, Any], None]
Decide = Callable[[ShareStates, ShareKey, Any, int], Decision]


class _Gathering:
    """An answer whose parts come one by one; it goes out with the last one, in the order of the question."""

    def __init__(self, kind: Any, result: Any, count: int, done: Done, context: Any) -> None:
        self.kind = kind
        self.result = result
        self.results: list[Any] = []
        self.missing = count
        self.done = done
        self.context = context

    def came(self) -> None:
        """Another part is there."""
        self.missing -= 1
        if not self.missing:
            self.done(self.context, self.kind(results=self.results))


class _Outcome:
    """What was decided about one share-partition. `part`, `gathering`: where the answer goes; None: nobody waits.

    `offset`: where its records begin: at the end of the `log` of the partition `place` when they are asked for.
    """

    __slots__ = ("states", "decision", "part", "what", "gathering", "log", "place", "offset")

    def __init__(
        self, states: ShareStates | None, decision: Decision, part: Any, what: str, to: _Gathering | None,
        log: Callable[[int], Any], place: int,
    ) -> None:  # fmt: skip
        self.states = states
        self.decision = decision
        self.part = part
        self.what = what
        self.gathering = to
        self.log = log
        self.place = place
        self.offset = 0

    def lines(self) -> list[KeyValue]:
        log = self.log(self.place)
        self.offset = 0 if log is None else log.log_end_offset
        return [encoded(record) for record in self.decision.records]


class ShareShard:
    """What has been read of one partition."""

    __slots__ = ("states",)

    def __init__(self, limit: int) -> None:
        self.states = ShareStates(limit)

    def replay(self, key: Buffer | None, value: Buffer | None, header: BatchHeader) -> None:
        record = decoded(key, value)
        if record is not None:
            self.states.replay(record, header.base_offset)

    def replay_marker(self, header: BatchHeader, commit: bool) -> None:
        """No transaction writes here."""


class ShareCoordinator:
    """Keeps the share-partitions whose partition of `__share_group_state` this broker leads.

    `config`: read are share.coordinator.state.topic.num.partitions, .snapshot.update.records.per.snapshot,
    .state.topic.prune.interval.ms and .cold.partition.snapshot.interval.ms. `partition_count`: of a
    topic of the cluster, by its id.
    """

    def __init__(
        self, node: Node, config: Mapping[str, Any], topic: CutTopicPort, partition_count: PartitionCount
    ) -> None:
        self.node = node
        self.topic = topic
        self.prune_ms = int(config["share.coordinator.state.topic.prune.interval.ms"])
        self.pruned: dict[int, int] = {}
        self.limit = int(config["share.coordinator.snapshot.update.records.per.snapshot"])
        self.cold_ms = int(config["share.coordinator.cold.partition.snapshot.interval.ms"])
        partitions = int(config["share.coordinator.state.topic.num.partitions"])
        self.runtime = CoordinatorRuntime(node, topic, partitions, self)
        self.decisions = Decisions(partition_count, self.limit)
        self.partitions: dict[int, ShareStates] = {}
        self.lanes = Lanes(self._finish)

    # --- which share-partitions -----------------------------------------------------------------

    def partition_for(self, name: str) -> int:
        """The partition of `__share_group_state` whose leader keeps the share-partition of this name."""
        return self.runtime.partition_for(name)

    def on_election(self, partition: int, leader_epoch: int) -> None:
        """This broker has become leader of a partition of `__share_group_state`."""
        if not self.runtime.timers:  # a broker that keeps nothing has nothing to look after
            self.runtime.every(self.prune_ms, self.prune)
            self.runtime.every(self.cold_ms, self.snapshot_cold)
        self.runtime.elected(partition, leader_epoch)

    def on_resignation(self, partition: int, leader_epoch: int | None) -> None:
        """This broker leads the partition no longer; None when the replica was stopped or deleted."""
        self.runtime.resigned(partition, leader_epoch)

    def shut_down(self) -> None:
        """The broker is stopping: from now on COORDINATOR_NOT_AVAILABLE."""
        self.runtime.shut_down()

    # --- requests -------------------------------------------------------------------------------

    def initialize(self, request: m.InitializeShareGroupStateRequest, done: Done, context: Any) -> None:
        self._each(request, m.InitializeShareGroupStateResponse, "initialize", self.decisions.initialize, done, context)

    def read(self, request: m.ReadShareGroupStateRequest, done: Done, context: Any) -> None:
        self._each(request, m.ReadShareGroupStateResponse, "read", self.decisions.read, done, context)

    def write(self, request: m.WriteShareGroupStateRequest, done: Done, context: Any) -> None:
        self._each(request, m.WriteShareGroupStateResponse, "write", self.decisions.write, done, context)

    def delete(self, request: m.DeleteShareGroupStateRequest, done: Done, context: Any) -> None:
        self._each(request, m.DeleteShareGroupStateResponse, "delete", self.decisions.delete, done, context)

    def summarize(self, request: m.ReadShareGroupStateSummaryRequest, done: Done, context: Any) -> None:
        kind = m.ReadShareGroupStateSummaryResponse
        self._each(request, kind, "summarize", self.decisions.summarize, done, context)

    def _each(self, request: Any, kind: Any, what: str, decide: Decide, done: Done, context: Any) -> None:
        """Decides about each share-partition; who names no group, or nothing of it, is answered with nothing."""
        if not request.group_id or not all(topic.partitions for topic in request.topics):
            done(context, kind())
            return
        made = next(one for name, one in kind.CLASSES.items() if name.endswith("Result") and name != "PartitionResult")
        asked = [(topic, said) for topic in request.topics for said in topic.partitions]
        gathering = _Gathering(kind, made, len(asked), done, context)
        if not asked:
            done(context, kind())
            return
        places: list[tuple[ShareKey, Any, Any]] = []
        for topic in request.topics:
            result = made(topic_id=topic.topic_id, partitions=[])
            gathering.results.append(result)
            for said in topic.partitions:
                part = kind.PartitionResult(partition=said.partition)
                result.partitions.append(part)
                places.append((ShareKey(request.group_id, topic.topic_id, said.partition), said, part))
        for key, said, part in places:
            self.lanes.run(self.runtime, key.name, self._decide, key, said, part, what, decide, gathering)

    def _decide(
        self, key: ShareKey, said: Any, part: Any, what: str, decide: Decide, gathering: _Gathering
    ) -> _Outcome | None:
        error = self.runtime.status(key.name)
        try:
            if error is not ErrorCode.NONE:
                raise ShareStateRefused(error, _unable(what, error))
            states = self.partitions[self.runtime.partition_for(key.name)]
            decision = decide(states, key, said, self.node.wall_ms())
        except ShareStateRefused as refusal:
            part.error_code, part.error_message = refusal.error, refusal.message
            gathering.came()
            return None
        place = self.runtime.partition_for(key.name)
        return _Outcome(states, decision, part, what, gathering, self.topic.read, place)

    def _finish(self, outcome: _Outcome, code: int, in_the_log: bool) -> None:
        """Replays what is in the log, and answers."""
        if in_the_log and outcome.states is not None:
            for record in outcome.decision.records:
                outcome.states.replay(record, outcome.offset)
        if outcome.gathering is None:
            return
        for name in outcome.part.FIELDS:
            setattr(outcome.part, name, getattr(outcome.decision.result, name))
        if code != ErrorCode.NONE:
            error = ErrorCode.COORDINATOR_NOT_AVAILABLE if in_the_log else NOT_WRITTEN.get(code, ErrorCode(code))
            outcome.part.error_code = error
            outcome.part.error_message = _unable(outcome.what, error)
        outcome.gathering.came()

    # --- what happens by itself -----------------------------------------------------------------

    def snapshot_cold(self) -> None:
        """Share-partitions that were last written long ago are written whole, unless that is all there is."""
        now_ms = self.node.wall_ms()
        for states in self.partitions.values():
            if all(one.created_ms != one.written_ms for one in states.states.values()):
                continue
            for key, state in list(states.states.items()):
                if now_ms - state.written_ms >= self.cold_ms:
                    after = replace(state, snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)
                    self._write_alone(states, key, snapshot_record(key, after))

    def topics_deleted(self, topic_ids: Collection[uuid.UUID]) -> None:
        """Nobody will ask for their share-partitions any more."""
        for states in self.partitions.values():
            for key in [one for one in states.states if one.topic_id in topic_ids]:
                self._write_alone(states, key, tombstone(key))

    def _write_alone(self, states: ShareStates, key: ShareKey, record: Record) -> None:
        """A record that nobody waits for; one that a request overtakes is not needed."""
        if not self.lanes.busy(key.name):
            decision, place = Decision([record], None), self.runtime.partition_for(key.name)
            self.lanes.run(self.runtime, key.name, _Outcome, states, decision, None, "", None, self.topic.read, place)

    def prune(self) -> None:
        """Records that later snapshots have replaced are cut off."""
        for partition, states in self.partitions.items():
            if states.needed > self.pruned.get(partition, 0):
                self.topic.cut(partition, states.needed)
                self.pruned[partition] = states.needed

    # --- moving (`coordinators.ports.Shards`) ---------------------------------------------------

    def blank(self, partition: int) -> ShareShard:
        return ShareShard(self.limit)

    def take_over(self, partition: int, shard: ShareShard) -> None:
        self.partitions[partition] = shard.states
        if shard.states.states:
            self.node.emit(events.SHARE_STATE_LOADED, partition=partition, share_partitions=len(shard.states.states))

    def give_up(self, partition: int, known: bool) -> None:
        self.partitions.pop(partition, None)
        self.pruned.pop(partition, None)
        self.lanes.give_up([name for name in list(self.lanes.lanes) if self.runtime.partition_for(name) == partition])
        if known:
            self.node.emit(events.SHARE_STATE_UNLOADED, partition=partition)

    def refuse(self, partition: int, offset: int, reason: str) -> None:
        self.node.emit(events.SHARE_RECORD_REFUSED, partition=partition, offset=offset, reason=reason)


NOT_WRITTEN: dict[int, ErrorCode] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
}
"""What a write that failed means to who asked."""


def _unable(what: str, error: ErrorCode) -> str:
    """Kafka's words for what could not be done. Source: ShareCoordinatorService.handleOperationException."""
    done = "read share group state summary" if what == "summarize" else f"{what} share group state"
    return f"Unable to {done}: {error.message}"
