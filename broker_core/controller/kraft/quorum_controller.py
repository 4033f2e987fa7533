"""The controller: one in each voter; the quorum's leader is the active one, the others follow and are ready.

    request -> decide (look at the image) -> records -> append to the metadata log, replay on the image
                                                       |
    answer  <------------- the high watermark has passed them

Invariants
    - only `MetadataImage.replay` changes what a controller knows; a standby does nothing else
    - an answer waits until everything before it is committed, also one that changed nothing: else it could tell of a
      decision that a new controller has never seen
    - the active controller replays at once, before the commit, so that the next decision builds on this one; if it
      loses its epoch, what was not committed may never have been: it throws its image away and reads the log anew

What the active one does by itself:

| task | every | |
|---|---|---|
| NoOp record | 0.5 s, `metadata.max.idle.interval.ms` | so that every process can say how far it is behind (KIP-835) |
| fence who is silent, one at a time | 1.125 s, an eighth of `broker.session.timeout.ms` | gone after 9 to 10.125 s |
| preferred leaders | 5 min, `leader.imbalance.check.interval.seconds` | 1,000 at a time |
| unclean elections | 5 min, `unclean.leader.election.interval.ms` | of topics that have come to allow them |

Source: QuorumController (KIP-500, KIP-631).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from broker_core.controller.kraft.controls import APIS, Controls, Surroundings, refused
from broker_core.controller.kraft.result import Records
from broker_core.kernel import events
from broker_core.kernel.node import Node, Timer
from broker_core.metadata import records as r
from broker_core.metadata.configs import BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import topic_values
from broker_core.metadata.errors import RequestError
from broker_core.metadata.feature_levels import ELR_VERSION, NEW_CLUSTER
from broker_core.metadata.image import BROKER, TOPIC, MetadataImage
from broker_core.raft.client import NotLeader, RaftClient
from broker_core.raft.listeners import CommittedBatch, LeaderAndEpoch
from broker_core.raft.snapshot_schedule import SnapshotSchedule
from broker_core.raft.snapshots import SnapshotId, SnapshotReader
from broker_core.wire.errors import ErrorCode

__all__ = ["APIS", "QuorumController"]

Reply = Callable[[Any, Any], None]
AT_ONCE_MS = 10
MOST_ELECTIONS = 1000
"""That are written together."""


class Waiting(NamedTuple):
    """An answer that goes out when everything up to `offset` is committed."""

    offset: int
    reply: Reply
    context: Any
    answer: Any


class QuorumController:
    """See the module. `config`: the settings of this controller; `bootstrap`: the features of a new cluster.
    `timed_out`: at which offset it has fenced a broker for its silence."""

    def __init__(
        self, node: Node, raft: RaftClient, config: BrokerConfig, bootstrap: dict[str, int] | None = None
    ) -> None:
        self.node = node
        self.raft = raft
        self.config = config
        self.bootstrap = dict(NEW_CLUSTER if bootstrap is None else bootstrap)
        self.epoch: int | None = None
        self.appended = -1  # the last offset that this active controller has appended
        self.committed = -1
        self.last_epoch = 0
        self.waiting: deque[Waiting] = deque()
        self.timed_out: dict[int, int] = {}
        self._timers: dict[str, Timer] = {}
        self._snapshots = SnapshotSchedule(
            config["metadata.log.max.record.bytes.between.snapshots"], config["metadata.log.max.snapshot.interval.ms"],
            self._now_ms,
        )  # fmt: skip
        self._start_over()

    def _start_over(self) -> None:
        """An empty image: the log says the rest."""
        self.image = MetadataImage()
        self._settings: dict[str, dict[str, Any]] = {}
        self.controls = Controls(self.image, self.config, Surroundings(
            self.raft.own.key.id, self.raft.cluster_id, self, self.node.random("assignment"),
            self.node.uuid, self.setting, self._config_of_brokers,
        ))  # fmt: skip
        self.appended = self.committed = -1

    @property
    def is_active(self) -> bool:
        return self.epoch is not None

    def kraft_level(self) -> int:
        return self.raft.history.last_version

    def voter_ids(self) -> list[int]:
        return self.raft.history.last_voters.ids

    def upgrade_kraft(self, level: int) -> None:
        """Raise kraft.version: what is answered after that waits for its record, too. Raises ValueError."""
        self.appended = self.raft.upgrade(level)

    @property
    def _now_ms(self) -> int:
        return self.node.now_us() // 1000

    def setting(self, topic: str, name: str) -> Any:
        """A topic's setting as it holds now: its own, else the default of all brokers, else the controller's."""
        values = self._settings.get(topic)
        if values is None:
            own = self.image.configs.get((TOPIC, topic), {})
            values = self._settings[topic] = topic_values(own, self._config_of_brokers())
        return values[name]

    def _config_of_brokers(self) -> BrokerConfig:
        """This controller's settings under those that hold for all brokers; one that it cannot have is left out."""
        config = self.config.copy()
        for key, text in self.image.configs.get((BROKER, ""), {}).items():
            try:
                config.set_dynamic(key, text, all_brokers=True, running=False)
            except ConfigError:
                continue
        return config

    def _replay(self, record: Any) -> None:
        self.image.replay(record)
        if type(record).__name__ in ("ConfigRecord", "RemoveTopicRecord"):
            self._settings.clear()

    # -- listener of the metadata log -------------------------------------------------------------
    def handle_load_snapshot(self, snapshot: SnapshotReader) -> None:
        """Begin anew with what a snapshot says."""
        self._start_over()
        for value in snapshot.values():
            self._replay(r.decode(value))
        self.committed = snapshot.id.end_offset - 1
        self.last_epoch = snapshot.id.epoch
        self._snapshots.begin(self._now_ms)

    def handle_commit(self, batches: list[CommittedBatch]) -> None:
        """Replay what is new here, and answer who waited for it."""
        for batch in batches:
            if batch.last_offset > self.appended:
                for value in batch.values:
                    self._replay(r.decode(value))
            self.committed, self.last_epoch = batch.last_offset, batch.epoch
        self._snapshots.count(batches)
        if self._snapshots.is_due(self._now_ms):
            self.write_snapshot(batches[-1].append_time_ms)
        self._answer()

    def handle_leader_change(self, leader: LeaderAndEpoch) -> None:
        """This replica leads, or does so no longer."""
        own = leader.leader_id == self.raft.own.key.id
        if own and self.epoch is None:
            self._activate(leader.epoch)
        elif not own and self.epoch is not None:
            self._resign()

    def _activate(self, epoch: int) -> None:
        self.epoch = epoch
        self.appended = self.committed
        self.node.emit(events.CONTROLLER_ELECTED, broker=self.raft.own.key.id, epoch=epoch)
        self.controls.brokers.activated(self.node.now_us())
        self._do(self._first_records())
        self._begin_tasks()

    def _first_records(self) -> Records:
        """What a new controller writes: a transaction of the former one that is open ends (KIP-868), and the first of
        a new cluster writes its levels."""
        found: list[Any] = []
        if self.image.in_transaction:
            found.append(r.AbortTransactionRecord(reason="Controller failover"))
        if self.image.is_empty:
            found.append(r.BeginTransactionRecord(name="Bootstrap records"))
            found += [r.FeatureLevelRecord(name=name, feature_level=level) for name, level in self.bootstrap.items()]
            if self.bootstrap.get(ELR_VERSION):
                found += [record for record, _ in self.controls.settings.one_minimum(self.config)]
            found.append(r.EndTransactionRecord())
        return [(record, 0) for record in found]

    def _resign(self) -> None:
        """Another one decides now. Nobody knows what became of what was not committed."""
        assert self.epoch is not None
        self.node.emit(events.CONTROLLER_RESIGNED, broker=self.raft.own.key.id, epoch=self.epoch, reason="leader")
        self.epoch = None
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
        waiting, self.waiting = self.waiting, deque()
        for one in waiting:
            one.reply(one.context, None)
        self._start_over()
        self.raft.unregister(self)
        self.raft.register(self)

    # -- requests ---------------------------------------------------------------------------------
    def handle(self, api_key: int, body: Any, reply: Reply, context: Any) -> None:
        """One of `APIS`; `reply(context, answer)` once its records are committed; None when that is not known."""
        try:
            if not self.is_active:
                raise RequestError(ErrorCode.NOT_CONTROLLER)
            result = self.controls.decide(api_key, body, self._next_offset, self.node.now_us())
            if result.records:
                self._append(result.records)
        except RequestError as error:
            reply(context, refused(api_key, error, body))
            return
        except NotLeader:
            reply(context, refused(api_key, RequestError(ErrorCode.NOT_CONTROLLER), body))
            return
        self.waiting.append(Waiting(self.appended, reply, context, result.answer))
        self._answer()

    @property
    def _next_offset(self) -> int:
        leader = self.raft.quorum.leader
        return leader.accumulator.next_offset if leader is not None else 0

    # -- append and answer ------------------------------------------------------------------------
    def _append(self, records: Sequence[tuple[Any, int]]) -> None:
        """Write together, and replay. Raises NotLeader."""
        assert self.epoch is not None
        self.appended = self.raft.append(self.epoch, [r.encode(record, version) for record, version in records])
        for record, _ in records:
            self._replay(record)

    def _answer(self) -> None:
        while self.waiting and self.waiting[0].offset <= self.committed:
            one = self.waiting.popleft()
            one.reply(one.context, one.answer)

    # -- by itself --------------------------------------------------------------------------------
    def _do(self, records: Sequence[tuple[Any, int]]) -> None:
        if records and self.is_active:
            try:
                self._append(records)
            except NotLeader:
                return

    def _begin_tasks(self) -> None:
        """Each runs again after its period, or at once when it has stopped half way."""
        config = self.config
        self._schedule("no-op", config["metadata.max.idle.interval.ms"], self._tick)
        self._schedule("fencing", max(1, config["broker.session.timeout.ms"] // 8), self._fence_one)
        self._schedule("unclean", config["unclean.leader.election.interval.ms"], self._elect_uncleanly)
        if config["auto.leader.rebalance.enable"]:
            self._schedule("balance", config["leader.imbalance.check.interval.seconds"] * 1000, self._balance)

    def _schedule(self, name: str, period_ms: int, task: Callable[[], bool], soon: bool = False) -> None:
        """`task` says whether there is more to do at once. A period of 0: never."""
        if period_ms:
            after_us = 1000 * (AT_ONCE_MS if soon else period_ms)
            self._timers[name] = self.node.after(after_us, self._run, (name, period_ms, task))

    def _run(self, scheduled: tuple[str, int, Callable[[], bool]]) -> None:
        name, period_ms, task = scheduled
        more = task()
        if self.is_active:
            self._schedule(name, period_ms, task, more)

    def _tick(self) -> bool:
        """Time has passed, says the log."""
        self._do([(r.NoOpRecord(), 0)])
        return False

    def _fence_one(self) -> bool:
        """A broker that was silent for a whole session is fenced; the next one after that has had its effect."""
        overdue = self.controls.brokers.overdue(self.node.now_us())
        if not overdue:
            return False
        self.node.emit(events.BROKER_GONE, broker=overdue[0], reason="session timeout")
        records = self.controls.fence(overdue[0])
        self.timed_out[overdue[0]] = self.appended + len(records)
        self._do(records)
        return True

    def _balance(self) -> bool:
        """Preferred leaders take over again."""
        records = self.controls.partitions.imbalance(MOST_ELECTIONS)
        self._do(records)
        return len(records) == MOST_ELECTIONS

    def _elect_uncleanly(self) -> bool:
        """Partitions without a leader whose topics have come to allow it."""
        records = self.controls.partitions.unclean_elections(MOST_ELECTIONS)
        self._do(records)
        return len(records) == MOST_ELECTIONS

    # -- snapshots --------------------------------------------------------------------------------
    def write_snapshot(self, timestamp_ms: int) -> SnapshotId | None:
        """All that is committed, in one file; None while something is under way, or where there is one.

        `timestamp_ms`: when the last record that is in it was written.
        """
        if self.image.in_transaction or (self.is_active and self.appended > self.committed):
            return None
        snapshot_id = SnapshotId(self.committed + 1, self.last_epoch)
        writer = self.raft.create_snapshot(snapshot_id, timestamp_ms)
        if writer is None:
            return None
        writer.append([r.encode(record, version) for record, version in self.image.records()])
        writer.freeze()
        self.raft.snapshot_written(writer)
        self._snapshots.begin(self._now_ms)
        return snapshot_id

