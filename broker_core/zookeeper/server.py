"""One server of the coordination ensemble: the machine that holds the tree.

A request goes through the stages of ZooKeeper's processor chain:

    receive    touch the session; for a write: decide -> a transaction with the next zxid
    sync       everything that came meanwhile goes to the log in one append and one flush
    commit     in order: replay each transaction, ring the watches, answer

Reads wait in the same line, so that a client sees its own writes. With an ensemble of one a flushed
transaction is committed; in a larger one `_sync` is where a leader sends its proposals and `_commit`
what it does when a majority has flushed them. `request_cost_us` is the time that one request
occupies the server; 0 makes the tree infinitely fast.

Sessions belong to the tree and survive connections: a client that comes back within its timeout,
here or at another server, goes on. Watches belong to the connection and die with it.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.errors import StorageError
from broker_core.kernel.names import zookeeper_node
from broker_core.kernel.node import Node, Timer
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code, ZkError
from broker_core.zookeeper.proposals import Outlook, decide, decide_close, decide_multi
from broker_core.zookeeper.reads import changed_since, read
from broker_core.zookeeper.sessions import ExpiryQueue, SessionLimits
from broker_core.zookeeper.tree import (
    Change,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DataTree,
    MultiTxn,
    Txn,
)
from broker_core.zookeeper.txnlog import DamagedTree, TransactionLog, encode_line
from broker_core.zookeeper.watches import WatchTable


@dataclass(slots=True)
class ZooKeeperConfig:
    """zoo.cfg: tickTime, min/maxSessionTimeout, snapCount, and the ensemble's servers by node name."""

    server_id: int = 1
    servers: list[str] = field(default_factory=lambda: [zookeeper_node(1)])
    limits: SessionLimits = field(default_factory=SessionLimits)
    snap_count: int = 100_000
    request_cost_us: int = 0


@dataclass(slots=True)
class Connection:
    """A client's connection; session 0 until its ConnectReply has been sent."""

    client: str
    number: int
    session: int = 0
    last_xid: int = 0
    sequence: int = 0

    @property
    def watcher(self) -> str:
        return f"{self.client}/{self.number}"


@dataclass(slots=True)
class Pending:
    """A request on its way to its answer. zxid 0: it changes nothing."""

    connection: Connection | None
    request: p.Request | p.Connect | None
    zxid: int = 0
    time_ms: int = 0
    txn: Txn | None = None
    codes: list[Code] = field(default_factory=list)


class ZooKeeperServer:
    """The machine of one ensemble server."""

    def __init__(self, node: Node, config: ZooKeeperConfig | None = None) -> None:
        self.node = node
        self.config = config or ZooKeeperConfig()
        self.log = TransactionLog(node.storage, self.config.snap_count)
        self.damage: tuple[str, str] | None = None
        self.tree = self._load()
        self.outlook = Outlook(self.tree)
        self.watches = WatchTable()
        self.expiry = ExpiryQueue(self.config.limits.tick_ms)
        self.connections: dict[str, Connection] = {}
        self._proposed_zxid = self.tree.last_zxid
        self._line: deque[Pending] = deque()
        self._syncing = False
        self._expiry_timer: Timer | None = None
        self._next_session = 0

    # --- the machine's verbs ---------------------------------------------------------------------

    def _load(self) -> DataTree:
        try:
            return self.log.load()
        except DamagedTree as error:
            self.damage = error.path, error.reason
        except StorageError as error:
            self.damage = error.path, str(error)
        return DataTree()

    def start(self) -> None:
        """Sessions of the log get a whole timeout to come back in. A server without its tree ends."""
        for path, reason in self.log.given_up:
            reaction = "an older one is read" if "snapshot" in path else "taken as empty"
            self.node.emit(events.FILE_GIVEN_UP, path=path, error=reason, reaction=reaction)
        if self.damage is not None:
            self.node.emit(events.DISK_FAULT, path=self.damage[0], error=self.damage[1], operation="start")
            self.node.halt()
            return
        self._next_session = self.config.server_id << 56 | (self.node.wall_ms() << 24 & 0xFF_FFFF_FFFF_FFFF) >> 8
        for session in self.tree.sessions.values():
            self.expiry.touch(session.id, self._now_ms(), session.timeout_ms)
        self._arm_expiry()

    def receive(self, source: str, message: Any) -> None:
        if isinstance(message, p.Connect):
            self._connect(source, message)
            return
        connection = self.connections.get(f"{source}/{message.connection}")
        if connection is None:
            self.node.send(source, p.Closed(message.connection))
            return
        self._touch(connection.session)
        match message:
            case p.Ping():
                self._send(connection, p.Pong(connection.number, self._count(connection)))
            case p.Request():
                self._request(connection, message)
            case p.CloseSession():
                self._close_session(connection.session, expired=False)

    def peer_down(self, peer: str) -> None:
        """Its connections are gone; its session lives on until the timeout."""
        for connection in [each for each in self.connections.values() if each.client == peer]:
            self._drop(connection)

    def shut_down(self) -> None:
        self.node.exit()

    # --- receive ---------------------------------------------------------------------------------

    def _connect(self, client: str, message: p.Connect) -> None:
        connection = Connection(client, message.connection)
        if message.last_zxid_seen > self.tree.last_zxid and message.session:
            self.node.send(client, p.Closed(message.connection))  # it has seen more than this server
            return
        self.peer_down(client)
        self.connections[connection.watcher] = connection
        if message.session:
            self._reconnect(connection, message)
            return
        self._next_session += 1
        timeout_ms = self.config.limits.negotiate(message.timeout_ms)
        password = self.node.random("session-passwords").getrandbits(64)
        self._propose(Pending(connection, message), CreateSessionTxn(self._next_session, password, timeout_ms, client))

    def _reconnect(self, connection: Connection, message: p.Connect) -> None:
        session = self.tree.sessions.get(message.session)
        if session is None or session.id not in self.expiry or session.password != message.password:
            self._send(connection, p.ConnectReply(connection.number, self._count(connection), 0, 0, 0))
            self._drop(connection)
            return
        connection.session = session.id
        self._touch(session.id)
        reply = p.ConnectReply(
            connection.number, self._count(connection), session.id, session.password, session.timeout_ms
        )
        self._send(connection, reply)

    def _request(self, connection: Connection, request: p.Request) -> None:
        if request.xid <= connection.last_xid:
            return
        if request.xid != connection.last_xid + 1 or not connection.session:
            self._drop(connection)
            self.node.send(connection.client, p.Closed(connection.number))
            return
        connection.last_xid = request.xid
        pending = Pending(connection, request)
        op = request.op
        if isinstance(op, p.Multi):
            txn, pending.codes = decide_multi(self.outlook, connection.session, op)
            self._propose(pending, txn)
        elif isinstance(op, p.Create | p.Delete | p.SetData | p.Check):
            try:
                self._propose(pending, decide(self.outlook, connection.session, op))
            except ZkError as error:
                pending.codes = [error.code]
                self._propose(pending, None)
        else:
            self._propose(pending, None)

    def expire_session(self, session: int) -> None:
        """As if its owner had been silent for too long."""
        self._close_session(session, expired=True)

    def _close_session(self, session: int, expired: bool) -> None:
        self.expiry.remove(session)
        self._propose(Pending(None, None), decide_close(self.outlook, session, expired))

    # --- sync and commit -------------------------------------------------------------------------

    def _propose(self, pending: Pending, txn: Txn | None) -> None:
        """Stand in line; a transaction gets the next zxid."""
        if txn is not None:
            self._proposed_zxid += 1
            pending.zxid, pending.time_ms, pending.txn = self._proposed_zxid, self.node.wall_ms(), txn
        self._line.append(pending)
        if not self._syncing:
            self._arm_sync()

    def _arm_sync(self) -> None:
        self._syncing = True
        self.node.after(self.config.request_cost_us, self._sync)

    def _sync(self) -> None:
        """One append and one flush for all that stand in line (for one of them where each costs time)."""
        count = 1 if self.config.request_cost_us else len(self._line)
        line = [self._line.popleft() for _ in range(count)]
        self._syncing = False
        lines = [encode_line(each.zxid, each.time_ms, each.txn) for each in line if each.txn is not None]
        if lines and not self._flushed(lines, next(each.zxid for each in line if each.zxid)):
            return
        for pending in line:
            self._commit(pending)
        if self._line:
            self._arm_sync()
        else:
            self.outlook.settle()
        self._maybe_snapshot()

    def _maybe_snapshot(self) -> None:
        """Without one the log only grows; the next one may fit."""
        try:
            self.log.maybe_snapshot(self.tree)
        except StorageError as error:
            self.node.emit(events.DISK_FAULT, path=error.path, error=str(error), operation=error.operation)

    def _flushed(self, lines: list[bytes], first_zxid: int) -> bool:
        """Whether the log took it; a server whose disk fails ends, as it could promise nothing."""
        try:
            self.log.append(lines, first_zxid)
        except StorageError as error:
            self.node.emit(events.DISK_FAULT, path=error.path, error=str(error), operation=error.operation)
            self.node.halt()
            return False
        return True

    def _commit(self, pending: Pending) -> None:
        if pending.txn is not None:
            self._apply(pending.zxid, pending.time_ms, pending.txn)
        connection = pending.connection
        if connection is None or connection.watcher not in self.connections:
            return
        match pending.request:
            case p.Connect():
                self._answer_connect(connection, pending)
            case p.Request():
                result = self._result(connection, pending.request.op, pending)
                reply = p.Reply(
                    connection.number, self._count(connection), pending.request.xid, self.tree.last_zxid, result
                )
                self._send(connection, reply, len(result.data))

    def _answer_connect(self, connection: Connection, pending: Pending) -> None:
        txn = pending.txn
        if isinstance(txn, CreateSessionTxn):
            connection.session = txn.session
            self._send(
                connection,
                p.ConnectReply(connection.number, self._count(connection), txn.session, txn.password, txn.timeout_ms),
            )

    def _apply(self, zxid: int, time_ms: int, txn: Txn) -> None:
        owner = self._owner_name(txn.session) if isinstance(txn, CloseSessionTxn) else ""
        changes = self.tree.replay(zxid, time_ms, txn)
        match txn:
            case CreateSessionTxn():
                self.node.emit(
                    events.SESSION_OPENED, session=f"{txn.session:#x}", owner=txn.client, timeout_ms=txn.timeout_ms
                )
                self._touch(txn.session)
            case CloseSessionTxn():
                code = events.SESSION_EXPIRED if txn.expired else events.SESSION_CLOSED
                self.node.emit(code, session=f"{txn.session:#x}", owner=owner)
                self._end_connections(txn.session)
        for change in changes:
            self._announce(change, owner)

    def _announce(self, change: Change, gone_owner: str) -> None:
        """Journal one change of the tree and ring its watches."""
        if change.kind == "created":
            owner = self._owner_name(change.owner) or gone_owner if change.owner else None
            self.node.emit(events.ZNODE_CREATED, path=change.path, ephemeral=owner)
        elif change.kind == "changed":
            self.node.emit(events.ZNODE_CHANGED, path=change.path, version=change.version)
        else:
            self.node.emit(events.ZNODE_DELETED, path=change.path)
        for watcher, kind, path in self.watches.fire(change):
            self._fire(watcher, kind, path)

    def _result(self, connection: Connection, op: p.Operation, pending: Pending) -> p.Result:
        if isinstance(op, p.SetWatches):
            for kind, path in changed_since(self.tree, self.watches, connection.watcher, op):
                self._fire(connection.watcher, kind, path)
            return p.Result(Code.OK)
        if isinstance(op, p.Exists | p.GetData | p.GetChildren):
            return read(self.tree, self.watches, connection.watcher, op)
        if isinstance(op, p.Multi):
            txns = pending.txn.txns if isinstance(pending.txn, MultiTxn) else [None] * len(op.ops)
            results = [self._written(txn, code) for txn, code in zip(txns, pending.codes, strict=True)]
            failed = next((code for code in pending.codes if code not in (Code.OK, Code.RUNTIMEINCONSISTENCY)), Code.OK)
            return p.Result(failed, results=results)
        return self._written(pending.txn, pending.codes[0] if pending.codes else Code.OK)

    def _written(self, txn: Txn | None, code: Code) -> p.Result:
        path = getattr(txn, "path", "")
        node = self.tree.nodes.get(path)
        return p.Result(code, path=path if isinstance(txn, CreateTxn) else "", stat=node.stat() if node else None)

    # --- sessions and connections ----------------------------------------------------------------

    def _touch(self, session: int) -> None:
        known = self.tree.sessions.get(session)
        if known is not None:
            self.expiry.touch(session, self._now_ms(), known.timeout_ms)
            self._arm_expiry()

    def _arm_expiry(self) -> None:
        deadline_ms = self.expiry.next_deadline()
        if deadline_ms is not None and (self._expiry_timer is None or not self._expiry_timer.active):
            self._expiry_timer = self.node.after(max(0, deadline_ms * 1000 - self.node.now_us()), self._expire)

    def _expire(self) -> None:
        self._expiry_timer = None
        for session in self.expiry.expire(self._now_ms()):
            self._close_session(session, expired=True)
        self._arm_expiry()

    def _end_connections(self, session: int) -> None:
        for connection in [each for each in self.connections.values() if each.session == session]:
            self._drop(connection)
            self.node.send(connection.client, p.Closed(connection.number))

    def _drop(self, connection: Connection) -> None:
        self.connections.pop(connection.watcher, None)
        self.watches.forget(connection.watcher)

    def _fire(self, watcher: str, kind: str, path: str) -> None:
        connection = self.connections.get(watcher)
        if connection is not None:
            self.node.emit(events.WATCH_FIRED, path=path, owner=connection.client, kind=kind)
            self._send(connection, p.Event(connection.number, self._count(connection), kind, path, self.tree.last_zxid))

    def _owner_name(self, session: int) -> str:
        known = self.tree.sessions.get(session)
        return known.client if known is not None else ""

    def _count(self, connection: Connection) -> int:
        connection.sequence += 1
        return connection.sequence

    def _send(self, connection: Connection, message: p.ServerMessage, size: int = 0) -> None:
        self.node.send(connection.client, message, 32 + size)

    def _now_ms(self) -> int:
        return self.node.now_us() // 1000
