"""What invariants look at: only the partitions that were touched since the last look, and not too many at once.

A partition is touched by a state transition that names it, or by a patrol that walks over all replicas and
compares log end and high watermark with what they were. What does not fit into one look stays in the queue
for the next: a look has a bounded cost.

| per look | at most |
|---|---|
| partitions | `LOOKS` |
| batch headers that are read | `BATCHES` |
| partitions on patrol | `PATROL` |
| batches read again with checksums | `AUDIT` |
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.names import broker_node
from broker_core.kernel.world import World
from broker_core.log.cleaning import rewritten_to
from broker_core.metadata.partition import LeaderAndIsr
from broker_core.replication.partition import OFFLINE, Partition
from lab.checkers.invariants_log import CommittedLog, Copy
from lab.clusters import observe
from lab.truth import truth_of
from lab.truth.kraft import QuorumReplica, process_of

LOOKS, BATCHES, PATROL, AUDIT = 100, 2000, 128, 16
WITHOUT_BOUND = 1 << 40
UNCLEAN = "unclean"
Place = tuple[str, int]
Moment = tuple[int, int]
Truth = Callable[[World, str, int], LeaderAndIsr | None]
Hosted = list[tuple[int, dict[Place, Partition]]]

TOUCHING = tuple(
    code.name
    for code in (
        events.TRUNCATED, events.BECAME_LEADER, events.BECAME_FOLLOWER,
        events.LEADER_ELECTED, events.ISR_SHRUNK, events.ISR_EXPANDED, events.REPLICA_STOPPED, events.LOG_LOADED,
        events.LOG_RECOVERED, events.LOG_START_MOVED, events.SEGMENT_ROLLED, events.SEGMENT_DELETED,
        events.INDEX_REBUILT, events.PARTITION_OFFLINE,
    )
)  # fmt: skip


class History:
    """What is remembered of one partition.

    `excused`: offsets below it may have been lost or written anew by an unclean election. `unclean`: whether the last
    election was one, as the page's reducers remember it.
    """

    __slots__ = ("committed", "copies", "acked_end", "excused", "unclean_epoch", "unclean")

    def __init__(self) -> None:
        self.committed = CommittedLog()
        self.copies: dict[int, Copy] = {}
        self.acked_end = 0
        self.excused = 0
        self.unclean_epoch = -1
        self.unclean = False

    def lose(self, epoch: int) -> None:
        """An unclean election: what was promised is off, as recorded."""
        ends = [copy.end for copy in self.copies.values()]
        self.excused = max(self.excused, self.committed.end, self.acked_end, *ends, 0)
        self.acked_end = 0
        self.unclean_epoch = epoch

    def begin_again(self) -> None:
        """The unclean leader leads: what it has is what counts."""
        self.committed.restart(-1)
        self.unclean_epoch = -1
        for copy in self.copies.values():
            copy.agreed, copy.mismatch = -1, None


class PartitionLook:
    """One partition now. `replicas`: of processes that run; `leader`: who leads in the cluster's own epoch."""

    __slots__ = ("topic", "index", "seq", "t", "state", "replicas", "history", "leader", "presumed")

    def __init__(
        self, place: Place, moment: Moment, state: LeaderAndIsr | None, replicas: dict[int, Partition], history: History
    ) -> None:
        self.topic, self.index = place
        self.seq, self.t = moment
        self.state = state
        self.replicas = replicas
        self.history = history
        self.presumed = {broker: one for broker, one in replicas.items() if one.is_leader}
        self.leader: Partition | None = None
        if state is not None:
            leader = self.presumed.get(state.leader)
            if leader is not None and leader.leader_epoch == state.leader_epoch:
                self.leader = leader


class _Calm:
    """What a patrol over everything has found as it was: nothing has to be compared again while it stays so.

    A look, a cut and another log of a replica end it, too (`View`).
    """

    __slots__ = ("hosted", "logs")

    def __init__(self, hosted: Hosted) -> None:
        self.hosted = [(partitions, len(partitions)) for _, partitions in hosted]
        logs = (one.log for _, partitions in hosted for one in partitions.values() if one.role != OFFLINE)
        self.logs = [(log, log.log_end_offset, log.high_watermark) for log in logs if log is not None]

    def is_over(self, hosted: Hosted) -> bool:
        """Brokers have come or gone, or got replicas; or a log has another end or mark."""
        if len(hosted) != len(self.hosted):
            return True
        for (_, partitions), (before, count) in zip(hosted, self.hosted, strict=True):
            if partitions is not before or len(partitions) != count:
                return True
        return any(log.log_end_offset != end or log.high_watermark != mark for log, end, mark in self.logs)


class View:
    """Shared by all invariants of one world. As of the look: `running` brokers and the replicas of the `quorum`."""

    def __init__(self, world: World, truth: Truth | None = None) -> None:
        self.world = world
        self.cluster = truth_of(world)
        self._given = truth
        self.histories: dict[Place, History] = {}
        self.touched: dict[Place, Moment] = {}
        self.looks: list[PartitionLook] = []
        self.running: list[tuple[int, Any]] = []
        self.quorum: list[QuorumReplica] = []
        self.bounded = True
        self._last_seq = 0
        self._left = 0
        self._patrol: list[Place] = []
        self._calm: _Calm | None = None
        self._votes: list[Any] = []
        self._audit: list[tuple[Place, int]] = []
        self._audit_at = -1

    def truth(self, topic: str, index: int) -> LeaderAndIsr | None:
        """Leader and ISR as the cluster has decided."""
        if self._given is not None:
            return self._given(self.world, topic, index)
        return self.cluster.leader_and_isr(topic, index)

    def version(self) -> Any:
        """Of the truth (`Truth.version`)."""
        return None if self._given is not None else self.cluster.version()

    def history(self, topic: str, index: int) -> History:
        """Of a partition, from the first time that somebody asks."""
        found = self.histories.get((topic, index))
        if found is None:
            found = self.histories[topic, index] = History()
        return found

    def machines(self) -> list[tuple[int, Any]]:
        """(id, machine) of brokers whose processes are there, paused ones too."""
        return [(broker, node.machine) for broker, node in observe.brokers(self.world) if node.machine is not None]

    def _quorum(self) -> list[QuorumReplica]:
        """Processes that have the metadata log, paused ones too."""
        found = [process_of(node.machine) for node in self.world.nodes.values() if node.machine is not None]
        return [one for one in found if one is not None and one.is_open]

    def replicas(self, place: Place) -> dict[int, Partition]:
        """Broker -> its replica, where it has one that works; as of the look."""
        found: dict[int, Partition] = {}
        for broker, machine in self.running:
            partition = machine.replicas.partitions_by_name.get(place)
            if partition is not None and partition.log is not None and partition.role != OFFLINE:
                found[broker] = partition
        return found

    def leader(self, topic: str, index: int) -> Partition | None:
        """The replica that leads in the cluster's own epoch, if its process is there."""
        state = self.truth(topic, index)
        node = self.world.nodes.get(broker_node(state.leader)) if state is not None else None
        machine: Any = node.machine if node is not None else None
        found: Partition | None = machine.replicas.partitions_by_name.get((topic, index)) if machine else None
        if found is None or state is None or not found.is_leader or found.leader_epoch != state.leader_epoch:
            return None
        return found

    def now(self) -> Moment:
        """The last event. When it was, and not what the clock says: between two events the clock stands where whoever
        drives the world has let it go to, and that is no part of the run."""
        tail = self.world.journal.tail
        return self.world.seq, tail[-1][1] if tail else self.world.now_us

    # -- rows -------------------------------------------------------------------------------
    def row(self, row: Row) -> None:
        """A row that touches a partition."""
        params = row[5]
        self.touch((params["topic"], params["partition"]), (row[0], row[1]))

    def touch(self, place: Place, moment: Moment) -> None:
        """Look at this partition next time."""
        self.touched[place] = moment

    def truncated(self, row: Row) -> None:
        """A replica was cut."""
        params = row[5]
        history = self.histories.get((params["topic"], params["partition"]))
        copy = history.copies.get(_broker(row[2])) if history is not None else None
        if copy is not None:
            copy.cut(params["after"])
        self._calm = None

    def elected(self, row: Row) -> None:
        """Unclean elections excuse the loss that they cause."""
        params = row[5]
        history = self.history(params["topic"], params["partition"])
        history.unclean = params["reason"] == UNCLEAN
        if history.unclean:
            history.lose(params["leader_epoch"])

    def topic_changed(self, row: Row) -> None:
        """Created or deleted: what a topic of this name was before does not count."""
        for place in [place for place in self.histories if place[0] == row[5]["topic"]]:
            del self.histories[place]
        self._calm = None

    def moved(self, _: Row) -> None:
        """A replica's log is another one now."""
        self._calm = None

    def handlers(self) -> dict[str, list[Callable[[Row], None]]]:
        """Code -> methods of the view."""
        found: dict[str, list[Callable[[Row], None]]] = {code: [self.row] for code in TOUCHING}
        found[events.TRUNCATED.name].append(self.truncated)
        found[events.LEADER_ELECTED.name].append(self.elected)
        for code in (events.TOPIC_CREATED, events.TOPIC_DELETED):
            found[code.name] = [self.topic_changed]
        found[events.REPLICA_MOVED.name] = [self.moved]
        return found

    # -- one look -----------------------------------------------------------------------------
    def look(self, bounded: bool = True, audits: int = 1) -> None:
        """Gather `looks`, of what was `touched`, and read a little of `audits` replicas again; without bounds
        everything there is."""
        self.bounded = bounded
        self.running = self.machines()
        self.quorum = self._quorum()
        self._left = BATCHES if bounded else WITHOUT_BOUND
        if not bounded:
            now = self.now()
            self.touched = {place: self.touched.get(place, now) for place in sorted({**self.touched, **self._places()})}
        self._audit_some(audits)
        self.looks = []
        self._calm = None
        for place in list(self.touched)[: LOOKS if bounded else None]:
            look = self._look_at(place, self.touched.pop(place))
            if look is not None:
                self.looks.append(look)

    def looked(self) -> None:
        """The look is over."""
        self._last_seq = self.world.seq

    def moment(self, look: PartitionLook) -> Moment:
        """The last event since the look before that names the partition, as far as the journal has it in memory."""
        for row in reversed(self.world.journal.tail):
            if row[0] <= self._last_seq:
                break
            if row[5].get("topic") == look.topic and row[5].get("partition") == look.index:
                return row[0], row[1]
        return look.seq, look.t

    def _places(self) -> dict[Place, None]:
        found: dict[Place, None] = {}
        for _, machine in self.running:
            found.update(dict.fromkeys(machine.replicas.partitions_by_name))
        return found

    def patrol(self) -> bool:
        """Touch partitions that have changed without a row that says so; whether there is anything to look at: one of
        them, or an epoch or a vote of the quorum."""
        self.running = self.machines()
        hosted = [(broker, machine.replicas.partitions_by_name) for broker, machine in self.running]
        if self._calm is None or self._calm.is_over(hosted):
            self._walk(hosted)
        states = [one.raft.quorum.state for one in self._quorum()]
        votes, self._votes = self._votes, [(state.epoch, state.voted) for state in states]
        return bool(self.touched) or votes != self._votes

    def _walk(self, hosted: Hosted) -> None:
        """Compare as many partitions as a patrol may."""
        is_whole = not self._patrol
        if is_whole:
            self._patrol = list(self._places())
        for _ in range(min(PATROL, len(self._patrol))):
            place = self._patrol.pop()
            if place not in self.touched and self._has_changed(place, hosted):
                self.touch(place, self.now())
        self._calm = None if self.touched or self._patrol or not is_whole else _Calm(hosted)

    def _has_changed(self, place: Place, hosted: Hosted) -> bool:
        """Whether one of its `replicas` is not what it was: of all partitions ten times a second, in one piece."""
        history = self.histories.get(place)
        copies: dict[int, Copy] = {} if history is None else history.copies
        for broker, partitions in hosted:
            partition = partitions.get(place)
            log = None if partition is None else partition.log
            if partition is None or log is None or partition.role == OFFLINE:
                continue
            copy = copies.get(broker)
            if copy is None or copy.log is not log or copy.end != log.log_end_offset or copy.mark != log.high_watermark:
                return True
        return False

    def _look_at(self, place: Place, moment: Moment) -> PartitionLook | None:
        replicas = self.replicas(place)
        state = self.truth(*place)
        if not replicas and state is None:
            return None
        history = self.history(*place)
        look = PartitionLook(place, moment, state, replicas, history)
        self._compare(look)
        return look

    def _compare(self, look: PartitionLook) -> None:
        """Old promises against the leader first, then the leader's new ones, then the others against both."""
        history, leader = look.history, look.leader
        committed = history.committed
        if leader is not None and 0 <= history.unclean_epoch <= leader.leader_epoch:
            history.begin_again()
        copies = {broker: self._copy(history, broker, partition) for broker, partition in look.replicas.items()}
        cleaned = max((rewritten_to(copy.log) for copy in copies.values()), default=0)
        if cleaned > committed.start:
            committed.forget_below(cleaned)
            for copy in copies.values():
                copy.forget_below(cleaned)
        if leader is not None and look.state is not None:
            mine = copies[look.state.leader]
            self._left -= mine.compare(committed, self._left)
            if mine.mismatch is None and mine.is_compared(committed):
                self._left -= committed.extend(leader.log, self._left)
        for copy in copies.values():
            self._left -= copy.compare(committed, self._left)
            copy.end, copy.mark = copy.log.log_end_offset, copy.log.high_watermark
        if self._left <= 0:
            self.touched.setdefault((look.topic, look.index), (look.seq, look.t))

    def _copy(self, history: History, broker: int, partition: Partition) -> Copy:
        copy = history.copies.get(broker)
        if copy is None or copy.log is not partition.log:
            copy = history.copies[broker] = Copy(partition.log)
        return copy

    def _audit_some(self, audits: int) -> None:
        """Read a little of some replicas again; everything, when nothing is bounded."""
        if not self._audit:
            self._audit = [(place, broker) for place, history in self.histories.items() for broker in history.copies]
        if self.bounded:
            for _ in range(audits):
                self._audit_one(AUDIT)
            return
        for _ in range(len(self._audit)):
            self._audit_at = -1
            self._audit_one(WITHOUT_BOUND)

    def _audit_one(self, limit: int) -> None:
        if not self._audit:
            return
        place, broker = self._audit[-1]
        history = self.histories.get(place)
        copy = history.copies.get(broker) if history is not None else None
        partition = self.replicas(place).get(broker)
        if history is None or copy is None or partition is None or partition.log is not copy.log:
            self._next_audit()
            return
        if copy.mismatch is None:
            self._audit_at = copy.audit(history.committed, self._audit_at, limit)
            if copy.mismatch is not None:
                self.touch(place, self.now())
        if self._audit_at >= copy.agreed or copy.mismatch is not None:
            self._next_audit()

    def _next_audit(self) -> None:
        self._audit.pop()
        self._audit_at = -1


def _broker(node: str) -> int:
    number = node.rpartition("-")[2]
    return int(number) if number.isdigit() else -1
