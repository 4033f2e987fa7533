"""A server of an ensemble of three or five: looks for a leader, then follows it or leads. Messages: `zab`.

    LOOKING    an election is under way; no client is served     a majority agrees => LEADING | FOLLOWING
    FOLLOWING  see `following`                                   leader lost or silent => LOOKING
    LEADING    see `leading`                                     majority lost => LOOKING

| servers | majority | may be lost |
|---|---|---|
| 1 | 1 | none |
| 3 | 2 | one |
| 5 | 3 | two |

Any server serves clients: reads from its own tree, which may be a moment behind the leader's; writes go to the leader
and are answered here when their commit arrives. Requests of a connection are answered in their order, so a client sees
its own writes. A server that loses its leader closes its clients' connections; each client tries the next server and
goes on there with its session and its watches. Where no majority is left every server refuses.

What is on the disk of a server is in its log, committed or not. The tree that clients see holds what is committed.
When a server begins to look, the flushed rest is carried out, too: its log counts in the election, and a leader that
has never heard of the rest has it cut off. Source: QuorumPeer, FollowerRequestProcessor, CommitProcessor.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.node import Node
from broker_core.kernel.transitions import Transitions
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper import zab
from broker_core.zookeeper.election import Election
from broker_core.zookeeper.errors import Code
from broker_core.zookeeper.following import Following
from broker_core.zookeeper.history import Entry, Epochs, History
from broker_core.zookeeper.leading import Leading
from broker_core.zookeeper.serving import Connection, Pending, TreeServer, ZooKeeperConfig
from broker_core.zookeeper.tree import ErrorTxn, MultiTxn
from broker_core.zookeeper.txnlog import DamagedTree, encode_line, tree_from_json, tree_to_json
from broker_core.zookeeper.zab import FOLLOWING, LEADING, LOOKING

STATES = Transitions("ensemble server", {
    LOOKING: (LOOKING, FOLLOWING, LEADING), FOLLOWING: (LOOKING,), LEADING: (LOOKING,),
})  # fmt: skip


class EnsembleServer(TreeServer):
    """The machine of one of several servers.

    - `_received` are not flushed yet, `_flushed_only` are flushed and not committed. The tree holds the transactions up
      to the last committed one; while it looks, all that are flushed

    Invariants
        - zxids go up: of the tree's last transaction, of `_flushed_only`, of `_received`
    """

    def __init__(self, node: Node, config: ZooKeeperConfig) -> None:
        super().__init__(node, config)
        self.state = LOOKING
        self.role: Leading | Following | None = None
        peers = dict(enumerate(config.servers, start=1))
        self.election = Election(node, config.server_id, peers, self._decided)
        self.epochs = Epochs(node.storage)
        self._read_epochs()
        self.history = History(self.log.before_read, self.log.read)
        self._untold: list[tuple[int, events.EventCode, dict[str, Any]]] = []
        self._received: deque[zab.Proposal] = deque()
        self._flushed_only: deque[zab.Proposal] = deque()
        self._commit_to = 0
        self._syncing = False
        self._next_request = 0
        self._waiting: dict[int, Pending] = {}

    def _read_epochs(self) -> None:
        try:
            self.epochs.load()
        except StorageError as error:
            self.damage = error.path, str(error)

    @property
    def serving(self) -> bool:
        return self.role is not None and self.role.serving

    @property
    def leads(self) -> bool:
        return self.state == LEADING and self.serving

    @property
    def epoch(self) -> int:
        """That of the leader it has, or had last."""
        return self.epochs.current

    def start(self) -> None:
        if self._open_tree():
            self.election.look(self.epochs.current, self.tree.last_zxid)

    # --- the machine's verbs ---------------------------------------------------------------------

    def receive(self, source: str, message: Any) -> None:
        match message:
            case zab.Notification():
                self.election.heard(self.server_of(source), message)
            case zab.Packet() | zab.Refused():
                self._hear_peer(source, message)
            case p.Connect() if not self.serving:
                self.node.send(source, p.Closed(message.connection))
            case _:
                self._hear(source, message)

    def _hear_peer(self, source: str, message: zab.Packet | zab.Refused) -> None:
        asks = isinstance(message, zab.Packet) and isinstance(message.body, zab.FollowerInfo)
        if self.role is not None and not (asks and self.state != LEADING):
            self.role.receive(source, message)
        elif isinstance(message, zab.Packet):
            self.node.send(source, zab.Refused(message.connection))

    def peer_down(self, peer: str) -> None:
        if peer not in self.config.servers:
            super().peer_down(peer)
            return
        self.election.peer_back(self.server_of(peer))
        if self.role is not None:
            self.role.peer_down(peer)

    def server_of(self, node: str) -> int:
        return self.config.servers.index(node) + 1

    # --- election --------------------------------------------------------------------------------

    def look(self, reason: str) -> None:
        """Without a leader: whoever is connected has to go, and the election begins again."""
        before, self.state = self.state, STATES.step(self.state, LOOKING)
        if self.role is not None:
            self.role.stop()
            self.role = None
        self._emit_state(before, reason)
        self._waiting.clear()
        for connection in list(self.connections.values()):
            self._hang_up(connection)
        self._carry_out_rest()
        self.election.look(self.epochs.current, self.tree.last_zxid)

    def _decided(self, vote: zab.Vote) -> None:
        leads = vote.leader == self.config.server_id
        before, self.state = self.state, STATES.step(self.state, LEADING if leads else FOLLOWING)
        self.role = Leading(self) if leads else Following(self, vote.leader)
        self._emit_state(before, "elected")
        self.role.start()

    def _emit_state(self, before: str, reason: str) -> None:
        leader = self.election.vote.leader if self.state != LOOKING else -1
        self.node.emit(
            events.ENSEMBLE_STATE, before=before, after=self.state, server=self.config.server_id, leader=leader,
            epoch=self.epochs.current, zxid=f"{self.tree.last_zxid:#x}", reason=reason,
        )  # fmt: skip

    def begin_to_lead(self, epoch: int, followers: list[int]) -> None:
        """A majority has taken over this log: all of it is committed now, and clients may come. What the last leader
        may have committed without a word reaching this server is told now."""
        self.node.emit(
            events.ENSEMBLE_EPOCH, server=self.config.server_id, epoch=epoch, followers=sorted(followers),
            zxid=f"{self.tree.last_zxid:#x}",
        )  # fmt: skip
        for _, code, params in self._untold:
            self.node.emit(code, **params)
        self._untold.clear()

    def up_to_date(self) -> None:
        """The leader serves clients, and has told what was untold."""
        self._untold.clear()

    def _tell(self, code: events.EventCode, **params: Any) -> None:
        """A change is carried out at every server, and told by the leader alone. One that the last leader may have
        told or not waits for who leads next."""
        if self.leads:
            self.node.emit(code, **params)
        elif not self.serving:
            self._untold.append((self.tree.last_zxid, code, params))

    # --- the log ---------------------------------------------------------------------------------

    def stored(self, write: Callable[[int], None], epoch: int) -> bool:
        """Whether a promise is on the disk; a server that cannot keep one ends."""
        try:
            write(epoch)
        except StorageError as error:
            self._disk_failed(error)
            return False
        return True

    def _disk_failed(self, error: StorageError) -> None:
        self.node.emit(events.DISK_FAULT, path=error.path, error=str(error), operation=error.operation)
        self.node.halt()

    def take(self, proposal: zab.Proposal) -> None:
        """A proposal of the leader (or of this server, as leader): to be flushed."""
        self._received.append(proposal)
        if not self._syncing:
            self._syncing = True
            self.node.after(self.config.request_cost_us, self._sync)

    def _sync(self) -> None:
        """One append and one flush for all that has come meanwhile."""
        self._syncing = False
        if self._flush_received() and self.role is not None and self._flushed_only:
            self.role.flushed(self._flushed_only[-1].zxid)
            self._carry_out()

    def _flush_received(self) -> bool:
        if not self._received:
            return True
        lines = [encode_line(each.zxid, each.time_ms, each.txn) for each in self._received]
        if not self._flushed(lines, self._received[0].zxid):
            return False
        self._flushed_only.extend(self._received)
        self._received.clear()
        return True

    def commit_to(self, zxid: int) -> None:
        """The leader says that everything up to `zxid` is committed."""
        self._commit_to = max(self._commit_to, zxid)
        self._carry_out()

    def _carry_out(self) -> None:
        while self._flushed_only and self._flushed_only[0].zxid <= self._commit_to:
            proposal = self._flushed_only.popleft()
            self._apply_entry((proposal.zxid, proposal.time_ms, proposal.txn))
            if proposal.origin == self.config.server_id and proposal.request in self._waiting:
                self._committed(self._waiting.pop(proposal.request), proposal)
        self._maybe_snapshot()

    def _carry_out_rest(self) -> None:
        """What is flushed and not committed. The tree as the clients knew it is left as it was."""
        self._received.clear()
        if self._flushed_only:
            self.tree = tree_from_json(json.loads(json.dumps(tree_to_json(self.tree))))
            for each in self._flushed_only:
                self._apply_entry((each.zxid, each.time_ms, each.txn))
            self._flushed_only.clear()

    def _apply_entry(self, entry: Entry) -> None:
        self._apply(*entry)
        self.history.add(entry)

    # --- the leader's log becomes this one -------------------------------------------------------

    def add_committed(self, entries: tuple[Entry, ...]) -> None:
        """What this server lacked."""
        if entries and self._flushed([encode_line(*entry) for entry in entries], entries[0][0]):
            for entry in entries:
                self._apply_entry(entry)

    def truncate(self, zxid: int) -> None:
        """Cut off what was never committed. A log that does not reach back to `zxid` is given up as a whole."""
        had = self.tree.last_zxid
        try:
            self.log.truncate(zxid)
            self.tree = self.log.load()
            if self.tree.last_zxid != zxid:
                self.log.truncate(-1)
                self.tree = self.log.load()
        except (DamagedTree, StorageError) as error:
            self._tree_lost(error)
            return
        self.history = History(self.log.before_read, self.log.read)
        self._untold = [each for each in self._untold if each[0] <= zxid]
        self.node.emit(events.ENSEMBLE_TRUNCATED, before=f"{had:#x}", zxid=f"{self.tree.last_zxid:#x}")
        if self.tree.last_zxid != zxid:
            self.look("no common log")

    def _tree_lost(self, error: DamagedTree | StorageError) -> None:
        self.node.emit(events.DISK_FAULT, path=error.path, error=str(error), operation="synchronise")
        self.node.halt()

    def install(self, text: str) -> None:
        """The leader's whole tree takes the place of this one."""
        self.tree = tree_from_json(json.loads(text))
        try:
            self.log.snapshot(self.tree)
        except StorageError as error:
            self._disk_failed(error)
            return
        self.history = History(self.tree.last_zxid, deque())
        self._untold.clear()

    # --- clients ---------------------------------------------------------------------------------

    def _open_session(self, connection: Connection, message: p.Connect) -> None:
        txn = self._new_session(connection.client, message)
        self._forward(Pending(connection, message), 0, txn)

    def _reconnect(self, connection: Connection, message: p.Connect) -> None:
        request = self._wait(Pending(connection, message))
        question = zab.Revalidate(message.session, message.password, request)
        if isinstance(self.role, Leading):
            self.revalidated(zab.Revalidated(request, self.role.revalidate(self.config.server_id, question)))
        elif self.role is not None:
            self.role.revalidate(question)

    def revalidated(self, answer: zab.Revalidated) -> None:
        """The leader knows whether a session that has come here lives."""
        pending = self._waiting.pop(answer.request, None)
        if pending is None or pending.connection is None or not isinstance(pending.request, p.Connect):
            return
        connection, asked = pending.connection, pending.request
        if connection.watcher not in self.connections:
            return
        if not answer.timeout_ms:
            self._refuse_session(connection)
            return
        connection.session = asked.session
        reply = p.ConnectReply(
            connection.number, self._count(connection), asked.session, asked.password, answer.timeout_ms
        )
        self._send(connection, reply)
        self._client_here(connection, moved=True)

    def _answer_connect(self, connection: Connection, pending: Pending) -> None:
        super()._answer_connect(connection, pending)
        self._client_here(connection, moved=False)

    def _client_here(self, connection: Connection, moved: bool) -> None:
        self.node.emit(
            events.ENSEMBLE_CLIENT, server=self.config.server_id, owner=connection.client,
            session=f"{connection.session:#x}", moved=moved,
        )  # fmt: skip

    def _ask(self, pending: Pending) -> None:
        assert pending.connection is not None and isinstance(pending.request, p.Request)
        pending.connection.line.append(pending)
        op = pending.request.op
        if isinstance(op, p.Exists | p.GetData | p.GetChildren | p.SetWatches):
            pending.ready = True
            self._answer_line(pending.connection)
        else:
            self._forward(pending, pending.connection.session, op)

    def _wait(self, pending: Pending) -> int:
        self._next_request += 1
        self._waiting[self._next_request] = pending
        return self._next_request

    def _forward(self, pending: Pending, session: int, op: Any) -> None:
        request = self._wait(pending)
        if self.role is not None:
            self.role.submit(zab.Forward(session, request, op))

    def _committed(self, pending: Pending, proposal: zab.Proposal) -> None:
        """A request of one of this server's clients has come back as a transaction."""
        txn = proposal.txn
        pending.ready, pending.zxid = True, proposal.zxid
        if isinstance(txn, ErrorTxn):
            pending.codes = [Code(code) for code in txn.codes]
        else:
            pending.txn = txn
            pending.codes = [Code.OK] * (len(txn.txns) if isinstance(txn, MultiTxn) else 1)
        if pending.connection is None:
            return
        if isinstance(pending.request, p.Connect):
            self._answer(pending)
        elif Code.SESSIONMOVED in pending.codes:
            self._hang_up(pending.connection)
        else:
            self._answer_line(pending.connection)

    def _answer_line(self, connection: Connection) -> None:
        """Answers go out in the order of the requests: a read waits for the writes before it."""
        while connection.line and connection.line[0].ready:
            self._answer(connection.line.popleft())

    # --- sessions --------------------------------------------------------------------------------

    def _close_session(self, session: int, expired: bool) -> None:
        if self.role is not None:
            self.role.submit(zab.Forward(session, 0, zab.EndSession(session, expired)))

    def _touch(self, session: int) -> None:
        if self.role is not None:
            self.role.touch(session)
