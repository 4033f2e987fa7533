"""Invariants of the metadata quorum (KRaft): elections, and the log that the whole cluster goes by.

They are Raft's (Ongaro and Ousterhout 2014, figure 3), asked of every replica of `__cluster_metadata` whose process is
there, voters and observers. A cluster with ZooKeeper has none, and nothing of this can be violated.

| Raft | here |
|---|---|
| Election Safety | OneQuorumLeaderPerEpoch; its premise is OneVotePerEpoch |
| Leader Append-Only, Log Matching | QuorumLogMatching: an offset is written once in an epoch, behind the same record |
| Leader Completeness, State Machine Safety | CommittedMetadataKept, QuorumHighWatermarkMonotonic |

Log Matching is seen without comparing each log with each other one: who writes is one replica an epoch, so that
(offset, epoch) names one batch for ever; if each batch also stands behind the same one wherever it stands, two logs
that share a batch share all before it.
"""

from __future__ import annotations

from typing import Any

from broker_core.kernel import events
from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from broker_core.raft.metadata_log import TOPIC
from broker_core.raft.quorum_file import CorruptQuorumState
from broker_core.raft.voters import ReplicaKey
from lab.checkers.invariants_base import Invariant, Violation
from lab.checkers.invariants_log import KEPT, CommittedLog, Copy, walk
from lab.truth.kraft import QuorumReplica

EPOCHS = 4096
"""Epochs, and votes, that are remembered."""
BATCHES = 2000
"""Batch headers that a look reads, of each replica."""
UNKNOWN = -1
Wrong = tuple[str, tuple[Any, ...], dict[str, Any]]


def newest_leader(replicas: list[QuorumReplica]) -> QuorumReplica | None:
    """Who leads in the newest epoch; None as well where the others know of a newer one, and only an old leader that
    has not heard of it is there."""
    newest = max((one.raft.quorum.epoch for one in replicas), default=0)
    leading = [one for one in replicas if one.raft.quorum.leader is not None and one.raft.quorum.epoch == newest]
    return leading[0] if leading else None


class _OfTheQuorum(Invariant):
    """Gathers what rows have shown until the next look."""

    only = "kraft"

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._found: list[Violation] = []

    def note(self, seq: int, t: int, wrong: Wrong | None) -> None:
        if wrong is not None:
            what, key, params = wrong
            self._found.append(self.found(seq, t, what, key, **params))

    def check(self, world: World) -> list[Violation]:
        for replica in self.view.quorum:
            for wrong in self.look(replica):
                self.note(*self.view.now(), wrong)
        found, self._found = self._found, []
        return found

    def look(self, replica: QuorumReplica) -> list[Wrong | None]:
        """What is wrong with one replica now."""
        return []


class OneQuorumLeaderPerEpoch(_OfTheQuorum):
    """An epoch of the quorum has one leader, whoever is asked for it; a voter's epoch never goes back, not by a
    restart either (Raft: Election Safety)."""

    meaning = {
        "en": "An epoch of the metadata quorum has one leader, and no voter goes back to an older epoch.",
        "ko": "메타데이터 쿼럼의 에포크마다 리더는 하나뿐이고, 어느 투표자도 더 오래된 에포크로 돌아가지 않습니다.",
    }
    codes = (events.QUORUM_STATE.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._leaders: dict[int, int] = {}
        self._epochs: dict[ReplicaKey, int] = {}

    def row(self, row: Row) -> None:
        self.note(row[0], row[1], self._leads(row[5]["epoch"], row[5]["leader"]))

    def _leads(self, epoch: int, leader: int | None) -> Wrong | None:
        if leader is None:
            return None
        other = self._leaders.setdefault(epoch, leader)
        _forget(self._leaders)
        if other == leader:
            return None
        return "two_quorum_leaders", (epoch, leader), {"epoch": epoch, "leader": leader, "other": other}

    def look(self, replica: QuorumReplica) -> list[Wrong | None]:
        quorum = replica.raft.quorum
        found = [self._leads(quorum.epoch, quorum.leader_id)]
        if quorum.is_voter:
            key, epoch = quorum.own.key, quorum.epoch
            before = self._epochs.get(key, 0)
            if epoch < before:
                params = {"node": replica.node.name, "epoch": epoch, "before": before}
                found.append(("quorum_epoch_went_back", (key.id, epoch), params))
            self._epochs[key] = epoch
        return found


class OneVotePerEpoch(_OfTheQuorum):
    """A voter votes for one candidate in an epoch, itself included, and has it on disk: a restart changes nothing."""

    meaning = {
        "en": "A voter votes once in an epoch, and remembers it on disk.",
        "ko": "투표자는 한 에포크에 한 번만 투표하고, 그것을 디스크에 기억합니다.",
    }
    codes = (events.QUORUM_VOTE.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._votes: dict[tuple[str, int], int] = {}
        self._stored: dict[str, tuple[Any, ...]] = {}

    def row(self, row: Row) -> None:
        self.note(row[0], row[1], self._votes_for(row[2], row[5]["epoch"], row[5]["candidate"]))

    def _votes_for(self, node: str, epoch: int, candidate: int) -> Wrong | None:
        other = self._votes.setdefault((node, epoch), candidate)
        _forget(self._votes)
        if other == candidate:
            return None
        return "voted_twice", (node, epoch), {"node": node, "epoch": epoch, "candidate": candidate, "other": other}

    def look(self, replica: QuorumReplica) -> list[Wrong | None]:
        state, node = replica.raft.quorum.state, replica.node.name
        found = [self._votes_for(node, state.epoch, state.voted.id)] if state.voted is not None else []
        promised = (state.epoch, state.voted, replica.raft)
        if replica.raft.quorum.is_voter and self._stored.get(node) != promised:
            self._stored[node] = promised
            found.append(_not_on_disk(replica))
        return found


def _not_on_disk(replica: QuorumReplica) -> Wrong | None:
    """Whether `quorum-state` lacks what the voter has promised."""
    quorum = replica.raft.quorum
    try:
        stored = quorum.file.read()
    except CorruptQuorumState:
        stored = None
    state, voted = quorum.state, None if stored is None else stored.voted
    same_vote = state.voted is None or (voted is not None and voted.id == state.voted.id)
    if stored is not None and stored.epoch == state.epoch and same_vote:
        return None
    node = replica.node.name
    return "promise_not_on_disk", (node, state.epoch), {"node": node, "epoch": state.epoch}


class _Cursor:
    """How far one log was read, and the epoch of the last record read: UNKNOWN at the start of a log."""

    __slots__ = ("log", "next_offset", "epoch")

    def __init__(self, log: Any) -> None:
        self.log = log
        self.next_offset = log.log_start_offset
        self.epoch = UNKNOWN


class QuorumLogMatching(_OfTheQuorum):
    """(offset, epoch) names one batch on all replicas, and it stands behind a record of the same epoch on all."""

    meaning = {
        "en": "Two metadata logs that share a record share all before it, committed or not.",
        "ko": "같은 레코드를 가진 두 메타데이터 로그는, 커밋 여부와 관계없이 그 앞부분도 모두 같습니다.",
    }
    codes = (events.TRUNCATED.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._cursors: dict[str, _Cursor] = {}
        self._batches: dict[tuple[int, int], tuple[int, int, int]] = {}

    def row(self, row: Row) -> None:
        if row[5]["topic"] == TOPIC:
            self._cursors.pop(row[2], None)

    def look(self, replica: QuorumReplica) -> list[Wrong | None]:
        log, node = replica.raft.log.log, replica.node.name
        cursor = self._cursors.get(node)
        moved = cursor is not None and not log.log_start_offset <= cursor.next_offset <= log.log_end_offset
        if cursor is None or cursor.log is not log or moved:
            cursor = self._cursors[node] = _Cursor(log)
        found: list[Wrong | None] = []
        for batch in walk(log, cursor.next_offset, log.log_end_offset, BATCHES):
            if not batch.good:
                break
            epoch = batch.key >> 32
            found.append(self._batch(node, batch.base, epoch, (batch.last, batch.key & 0xFFFFFFFF, cursor.epoch)))
            cursor.next_offset, cursor.epoch = batch.last + 1, epoch
        return found

    def _batch(self, node: str, base: int, epoch: int, seen: tuple[int, int, int]) -> Wrong | None:
        known = self._batches.setdefault((base, epoch), seen)
        if len(self._batches) > KEPT:
            del self._batches[next(iter(self._batches))]
        if known[:2] == seen[:2] and (known[2] == seen[2] or UNKNOWN in (known[2], seen[2])):
            if known[2] == UNKNOWN and (base, epoch) in self._batches:
                self._batches[base, epoch] = seen
            return None
        return "metadata_differs", (node, base, epoch), {"node": node, "offset": base, "epoch": epoch}


class CommittedMetadataKept(_OfTheQuorum):
    """What was committed once in the metadata log is there for ever: unchanged below every replica's high watermark,
    on every leader of a newer epoch, and on a majority of the voters (Raft: Leader Completeness).

    While a change of the voters is not committed yet half of the new ones may be without it, when one who has it goes:
    those can elect nobody (KIP-853 changes one voter at a time for that reason)."""

    meaning = {
        "en": "Committed metadata is never lost or changed: each leader and a majority of the voters have it.",
        "ko": "커밋된 메타데이터는 사라지거나 바뀌지 않습니다. 리더와 투표자 과반수가 모두 가지고 있습니다.",
    }
    codes = (events.TRUNCATED.name,)

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._committed = CommittedLog()
        self._copies: dict[str, Copy] = {}

    def row(self, row: Row) -> None:
        if row[5]["topic"] == TOPIC and row[2] in self._copies:
            self._copies[row[2]].cut(row[5]["after"])

    def check(self, world: World) -> list[Violation]:
        replicas = self.view.quorum
        if not replicas:
            return []
        for one in replicas:
            self._copy(one).compare(self._committed, BATCHES)
        furthest = max(replicas, key=lambda one: one.raft.log.high_watermark)
        if not self._copy(furthest).differs_below(self._committed.end):
            self._committed.extend(furthest.raft.log.log, BATCHES)
        found = [wrong for one in replicas for wrong in self._below_its_mark(one)]
        found += [*self._on_the_leader(newest_leader(replicas)), *self._on_a_majority(replicas)]
        return [self.found_now(what, key, **params) for what, key, params in found]

    def _copy(self, replica: QuorumReplica) -> Copy:
        log, known = replica.raft.log.log, self._copies.get(replica.node.name)
        if known is None or known.log is not log:
            known = self._copies[replica.node.name] = Copy(log)
        return known

    def _below_its_mark(self, replica: QuorumReplica) -> list[Wrong]:
        copy = self._copy(replica)
        if copy.mismatch is None or not copy.differs_below(replica.raft.log.high_watermark):
            return []
        params = {"node": replica.node.name, "offset": copy.mismatch}
        return [("metadata_changed", tuple(params.values()), params)]

    def _on_the_leader(self, leader: QuorumReplica | None) -> list[Wrong]:
        if leader is None or not self._lacks(leader):
            return []
        params = {"node": leader.node.name, "end": leader.raft.log.end_offset, "offset": self._committed.end}
        return [("metadata_gone", (leader.node.name, leader.raft.quorum.epoch), params)]

    def _lacks(self, replica: QuorumReplica) -> bool:
        """Whether something that is committed is not in its log."""
        end = self._committed.end
        return replica.raft.log.end_offset < end or self._copy(replica).differs_below(end)

    def _on_a_majority(self, replicas: list[QuorumReplica]) -> list[Wrong]:
        """Of those whose process is there it is seen; a dead voter has what it had."""
        wise = newest_leader(replicas) or max(replicas, key=lambda one: one.raft.log.end_offset)
        voters, since = wise.raft.history.last_voters.ids, wise.raft.history.last_voters_offset
        lacking = sorted(one.id for one in replicas if one.id in voters and self._lacks(one))
        settled = (since is None or since < self._committed.end) and not self._lacks(wise)
        majority = len(voters) // 2 + 1
        if len(lacking) <= (len(voters) - majority if settled else majority - 1):
            return []
        return [("metadata_on_minority", (*lacking,), {"lacking": lacking, "offset": self._committed.end})]


class QuorumHighWatermarkMonotonic(_OfTheQuorum):
    """The high watermark of a replica never goes back while its process lives, and that of a new leader, once it is
    known, is not below any that was known before."""

    meaning = {
        "en": "The high watermark of the metadata quorum never goes back, from one leader to the next neither.",
        "ko": "메타데이터 쿼럼의 하이 워터마크는 리더가 바뀌어도 뒤로 가지 않습니다.",
    }

    def __init__(self, view: Any) -> None:
        super().__init__(view)
        self._marks: dict[str, tuple[Any, int]] = {}
        self._highest = -1

    def check(self, world: World) -> list[Violation]:
        replicas = self.view.quorum
        leader = newest_leader(replicas)
        if leader is not None and leader.raft.high_watermark is not None:
            self.note(*self.view.now(), self._went_back(leader, self._highest, leader.raft.high_watermark))
        found = super().check(world)
        self._highest = max([self._highest, *(one.raft.high_watermark or -1 for one in replicas)])
        return found

    def look(self, replica: QuorumReplica) -> list[Wrong | None]:
        mark, raft = replica.raft.high_watermark, replica.raft
        if mark is None:
            return []
        known, before = self._marks.get(replica.node.name, (raft, -1))
        self._marks[replica.node.name] = (raft, mark)
        return [self._went_back(replica, before, mark)] if known is raft else []

    def _went_back(self, replica: QuorumReplica, before: int, after: int) -> Wrong | None:
        if after >= before:
            return None
        name = replica.node.name
        return "quorum_mark_went_back", (name, before, after), {"node": name, "before": before, "after": after}


def _forget(known: dict[Any, Any]) -> None:
    if len(known) > EPOCHS:
        del known[next(iter(known))]
