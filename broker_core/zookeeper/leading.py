"""A leader: begins an epoch with a majority, decides every write, commits what a majority has flushed.

| phase | goes on when | gives up when |
|---|---|---|
| discovery | a majority has promised to obey an epoch newer than all before | `initLimit` ticks, or a longer log |
| synchronisation | a majority has taken over its log (Ack of NewLeader) | `initLimit` ticks |
| broadcast | | it has not heard of a majority for `syncLimit` ticks |

*Majority* always counts the leader itself. Proposals get their zxid here and are committed in this order; one that a
majority has flushed brings all before it along. A leader that has lost its majority stops at once: its clients'
connections close, nobody's session is renewed, and none expires either, as only a leader lets them expire. A new
leader gives every session its whole timeout again.

A session belongs to the server that its client came to last; what an older one of its servers still sends for it is
refused (SESSIONMOVED). Source: Leader, LearnerHandler, PrepRequestProcessor, SessionTrackerImpl.
"""

from __future__ import annotations

import json
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_core.kernel import events
from broker_core.kernel.node import Timer
from broker_core.zookeeper import zab
from broker_core.zookeeper.errors import Code, ZkError
from broker_core.zookeeper.peer_link import BrokenLink, PeerLink
from broker_core.zookeeper.proposals import Outlook, decide, decide_close, decide_multi, refusal
from broker_core.zookeeper.protocol import Multi, WriteOp
from broker_core.zookeeper.sessions import ExpiryClock, ExpiryQueue
from broker_core.zookeeper.tree import CreateSessionTxn, ErrorTxn, Txn
from broker_core.zookeeper.txnlog import tree_to_json

if TYPE_CHECKING:
    from broker_core.zookeeper.ensemble import EnsembleServer

DISCOVERY, SYNCHRONISATION, BROADCAST = "discovery", "synchronisation", "broadcast"


@dataclass(slots=True)
class Learner:
    """A follower as its leader knows it. `synced`: it has taken over the log."""

    server: int
    link: PeerLink
    accepted_epoch: int
    heard_us: int
    promised: bool = False
    last_zxid: int = 0
    forwarded: bool = False
    synced: bool = False


@dataclass(slots=True)
class Outstanding:
    """A proposal and who has flushed it."""

    proposal: zab.Proposal
    flushed: dict[int, None] = field(default_factory=dict)


class Leading:
    """What a server does while it leads, or tries to.

    - `owners`: a session -> the server that its client came to last

    Invariants
        - `outstanding` is in the order of zxids; none of them is in the tree yet
    """

    def __init__(self, server: EnsembleServer) -> None:
        self.server = server
        self.node = server.node
        self.own = server.config.server_id
        self.phase = DISCOVERY
        self.epoch = 0
        self.learners: dict[str, Learner] = {}
        self.outstanding: deque[Outstanding] = deque()
        self.expiry = ExpiryQueue(server.config.limits.tick_ms)
        self.owners: dict[int, int] = {}
        self.outlook = Outlook(server.tree)
        self._zxid = 0
        self._tick_us = server.config.limits.tick_ms * 1000
        self._timers: list[Timer] = []
        self.clock = ExpiryClock(self.node, self.expiry, self._expire)

    @property
    def serving(self) -> bool:
        return self.phase == BROADCAST

    def start(self) -> None:
        limit_us = self.server.config.init_limit * self._tick_us
        self._timers = [self.node.after(limit_us, self.server.look, "no majority")]

    def stop(self) -> None:
        for timer in self._timers:
            timer.cancel()
        self.clock.stop()
        for learner in self.learners.values():
            learner.link.refuse()

    # --- followers -------------------------------------------------------------------------------

    def receive(self, source: str, message: zab.Packet | zab.Refused) -> None:
        learner = self.learners.get(source)
        if isinstance(message, zab.Refused):
            if learner is not None and learner.link.number == message.connection:
                del self.learners[source]
            return
        if isinstance(message.body, zab.FollowerInfo) and message.sequence == 1:
            if learner is None or learner.link.number != message.connection:
                self._new_learner(source, message)
            return
        if learner is None or learner.link.number != message.connection:
            self.node.send(source, zab.Refused(message.connection))
            return
        try:
            body = learner.link.take(message)
        except BrokenLink:
            del self.learners[source]
            learner.link.refuse()
            return
        if body is not None:
            learner.heard_us = self.node.now_us()
            self._hear(learner, body)

    def peer_down(self, peer: str) -> None:
        self.learners.pop(peer, None)

    def _new_learner(self, source: str, message: zab.Packet) -> None:
        link = PeerLink(self.node, source, message.connection)
        link.heard = 1
        server = self.server.server_of(source)
        self.learners[source] = Learner(server, link, message.body.accepted_epoch, self.node.now_us())
        if self.epoch:
            link.send(zab.LeaderInfo(self.epoch))
        elif self._majority(len(self.learners)):
            self._begin_epoch()

    def _hear(self, learner: Learner, body: zab.Body) -> None:
        match body:
            case zab.AckEpoch():
                self._promised(learner, body)
            case zab.Ack():
                self._acked(learner, body.zxid)
            case zab.Forward():
                self.decide(learner.server, body)
            case zab.Revalidate():
                timeout_ms = self.revalidate(learner.server, body)
                learner.link.send(zab.Revalidated(body.request, timeout_ms))
            case zab.Pong():
                for session in body.sessions:
                    self.touch(session)

    def _majority(self, others: int) -> bool:
        """Whether so many others and this server are more than half."""
        return 2 * (others + 1) > len(self.server.config.servers)

    # --- discovery and synchronisation -----------------------------------------------------------

    def _begin_epoch(self) -> None:
        epochs = self.server.epochs
        promised = max(epochs.accepted, *(each.accepted_epoch for each in self.learners.values()))
        if not self.server.stored(epochs.accept, promised + 1):
            return
        self.epoch = promised + 1
        for learner in self.learners.values():
            learner.link.send(zab.LeaderInfo(self.epoch))

    def _promised(self, learner: Learner, body: zab.AckEpoch) -> None:
        server = self.server
        if self.phase == DISCOVERY and (body.current_epoch, body.last_zxid) > (
            server.epochs.current, server.tree.last_zxid
        ):  # fmt: skip
            server.look("longer log")
            return
        learner.promised, learner.last_zxid = True, body.last_zxid
        if self.phase != DISCOVERY:
            self._synchronise(learner)
        elif self._majority(sum(each.promised for each in self.learners.values())):
            if not server.stored(server.epochs.begin, self.epoch):
                return
            self.phase = SYNCHRONISATION
            for each in [one for one in self.learners.values() if one.promised]:
                self._synchronise(each)

    def _synchronise(self, learner: Learner) -> None:
        """Make its log this one: first what is committed, then what is under way, in the order of the zxids."""
        link, known = learner.link, self.server.history.behind(learner.last_zxid)
        if known is None:
            tree = self.server.tree
            link.send(zab.Snapshot(tree.last_zxid, json.dumps(tree_to_json(tree))))
        else:
            cut, entries = known
            if cut != learner.last_zxid:
                link.send(zab.Truncate(cut))
            link.send(zab.Diff(entries))
        learner.forwarded = True
        link.send(zab.NewLeader(zab.first_zxid(self.epoch)))
        for each in self.outstanding:
            link.send(each.proposal)

    def _acked(self, learner: Learner, zxid: int) -> None:
        if zxid == zab.first_zxid(self.epoch):
            learner.synced = True
            if self.phase == BROADCAST:
                learner.link.send(zab.UpToDate())
            elif self._majority(self._synced()):
                self._begin_broadcast()
        self.acknowledge(learner.server, zxid)

    def _synced(self) -> int:
        return sum(each.synced for each in self.learners.values())

    def _begin_broadcast(self) -> None:
        self.phase = BROADCAST
        for timer in self._timers:
            timer.cancel()
        self._zxid = zab.first_zxid(self.epoch)
        self.outlook = Outlook(self.server.tree)
        for session in self.server.tree.sessions.values():
            self.expiry.touch(session.id, self._now_ms(), session.timeout_ms)
        self.clock.arm()
        self.server.begin_to_lead(self.epoch, [each.server for each in self.learners.values() if each.synced])
        for learner in self.learners.values():
            if learner.synced:
                learner.link.send(zab.UpToDate())
        self._timers = [self.node.after(self._tick_us // 2, self._half_tick)]

    def _half_tick(self) -> None:
        """Ping all followers; without signs of life of a majority this reign is over."""
        oldest_us = self.node.now_us() - self.server.config.sync_limit * self._tick_us
        for name, learner in list(self.learners.items()):
            if learner.heard_us < oldest_us:
                del self.learners[name]
                learner.link.refuse()
            elif learner.forwarded:
                learner.link.send(zab.Ping())
        if not self._majority(self._synced()):
            self.server.look("no majority")
            return
        self._timers = [self.node.after(self._tick_us // 2, self._half_tick)]

    # --- broadcast -------------------------------------------------------------------------------

    def submit(self, forward: zab.Forward) -> None:
        self.decide(self.own, forward)

    def decide(self, origin: int, forward: zab.Forward) -> None:
        """Make a transaction of a client's write, or of its refusal, and propose it."""
        session, op = forward.session, forward.op
        txn: Txn
        match op:
            case CreateSessionTxn():
                txn = op
                self.expiry.touch(op.session, self._now_ms(), op.timeout_ms)
                self.owners[op.session] = origin
                self.clock.arm()
            case zab.EndSession():
                if op.session not in self.expiry:
                    return
                txn = self._end(op.session, op.expired)
            case _:
                txn = self._decide_write(origin, session, op)
        self.propose(txn, origin, forward.request)

    def _decide_write(self, origin: int, session: int, op: WriteOp | Multi) -> Txn:
        if session not in self.expiry:
            return _error(refusal(op, Code.SESSIONEXPIRED))
        if self.owners.setdefault(session, origin) != origin:
            return _error(refusal(op, Code.SESSIONMOVED))
        self.touch(session)
        if isinstance(op, Multi):
            txn, codes = decide_multi(self.outlook, session, op)
            return txn if txn is not None else _error(codes)
        try:
            return decide(self.outlook, session, op)
        except ZkError as error:
            return _error([error.code])

    def propose(self, txn: Txn, origin: int, request: int) -> None:
        self._zxid += 1
        proposal = zab.Proposal(self._zxid, self.node.wall_ms(), txn, origin, request)
        self.outstanding.append(Outstanding(proposal))
        for learner in self.learners.values():
            if learner.forwarded:
                learner.link.send(proposal)
        self.server.take(proposal)

    def flushed(self, zxid: int) -> None:
        self.acknowledge(self.own, zxid)

    def acknowledge(self, server: int, zxid: int) -> None:
        """A server has flushed everything up to `zxid`; what a majority has flushed is committed."""
        for each in self.outstanding:
            if each.proposal.zxid > zxid:
                break
            each.flushed[server] = None
        committed: list[Outstanding] = []
        while self.outstanding and 2 * len(self.outstanding[0].flushed) > len(self.server.config.servers):
            committed.append(self.outstanding.popleft())
        if committed:
            self._commit(committed[-1], len(committed))

    def _commit(self, last: Outstanding, count: int) -> None:
        zxid = last.proposal.zxid
        for learner in self.learners.values():
            if learner.forwarded:
                learner.link.send(zab.Commit(zxid))
        self.node.emit(events.ENSEMBLE_COMMITTED, zxid=f"{zxid:#x}", servers=sorted(last.flushed), n=count)
        self.server.commit_to(zxid)
        if not self.outstanding:
            self.outlook.settle()

    # --- sessions --------------------------------------------------------------------------------

    def touch(self, session: int) -> None:
        known = self.server.tree.sessions.get(session)
        if known is not None and session in self.expiry:
            self.expiry.touch(session, self._now_ms(), known.timeout_ms)
            self.clock.arm()

    def revalidate(self, origin: int, question: zab.Revalidate) -> int:
        """The timeout of a session that goes on at `origin`, 0 when it has expired."""
        known = self.server.tree.sessions.get(question.session)
        if known is None or question.session not in self.expiry or known.password != question.password:
            return 0
        self.owners[question.session] = origin
        self.touch(question.session)
        return known.timeout_ms

    def _end(self, session: int, expired: bool) -> Txn:
        self.expiry.remove(session)
        self.owners.pop(session, None)
        return decide_close(self.outlook, session, expired)

    def _expire(self, session: int) -> None:
        self.propose(self._end(session, expired=True), self.own, 0)

    def _now_ms(self) -> int:
        return self.node.now_us() // 1000


def _error(codes: list[Code]) -> ErrorTxn:
    return ErrorTxn([int(code) for code in codes])
