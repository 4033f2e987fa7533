"""What a coordination server does for its clients: connections, reads, watches, answers.

The same in a server that stands alone (`server`) and in one of an ensemble (`ensemble`). What differs is who
decides about a write, and when it is committed:

| hook | alone | in an ensemble |
|---|---|---|
| `_open_session`, `_ask`, `_close_session` | decides, logs, commits by itself | the leader does; commits on its word |
| `_reconnect` | looks into its own tree | asks the leader, who knows when a session ends |
| `_touch` | moves the session's deadline | tells the leader with the next ping |

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
from broker_core.kernel.node import Node
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code
from broker_core.zookeeper.reads import changed_since, read
from broker_core.zookeeper.sessions import SessionLimits
from broker_core.zookeeper.tree import (
    Change,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DataTree,
    MultiTxn,
    Txn,
)
from broker_core.zookeeper.txnlog import DamagedTree, TransactionLog
from broker_core.zookeeper.watches import WatchTable


@dataclass(slots=True)
class ZooKeeperConfig:
    """zoo.cfg: tickTime, min/maxSessionTimeout, snapCount, initLimit and syncLimit, and the ensemble's servers by
    node name: server 1 is the first of them."""

    server_id: int = 1
    servers: list[str] = field(default_factory=lambda: [zookeeper_node(1)])
    limits: SessionLimits = field(default_factory=SessionLimits)
    snap_count: int = 100_000
    request_cost_us: int = 0
    init_limit: int = 10
    sync_limit: int = 5


@dataclass(slots=True)
class Pending:
    """A request on its way to its answer. zxid 0: it changes nothing."""

    connection: Connection | None
    request: p.Request | p.Connect | None
    zxid: int = 0
    time_ms: int = 0
    txn: Txn | None = None
    codes: list[Code] = field(default_factory=list)
    ready: bool = False


@dataclass(slots=True)
class Connection:
    """A client's connection; session 0 until its ConnectReply has been sent. `line`: requests that wait for their
    answers, in their order, at a server that waits for a leader."""

    client: str
    number: int
    session: int = 0
    last_xid: int = 0
    sequence: int = 0
    line: deque[Pending] = field(default_factory=deque)

    @property
    def watcher(self) -> str:
        return f"{self.client}/{self.number}"


class TreeServer:
    """The side of a coordination server that its clients see."""

    def __init__(self, node: Node, config: ZooKeeperConfig | None = None) -> None:
        self.node = node
        self.config = config or ZooKeeperConfig()
        self.log = TransactionLog(node.storage, self.config.snap_count)
        self.damage: tuple[str, str] | None = None
        self.tree = self._load()
        self.watches = WatchTable()
        self.connections: dict[str, Connection] = {}
        self._next_session = 0

    def _load(self) -> DataTree:
        try:
            return self.log.load()
        except DamagedTree as error:
            self.damage = error.path, error.reason
        except StorageError as error:
            self.damage = error.path, str(error)
        return DataTree()

    def _open_tree(self) -> bool:
        """Whether it can serve. Says what could not be read; a server without its tree ends."""
        for path, reason in self.log.given_up:
            reaction = "an older one is read" if "snapshot" in path else "taken as empty"
            self.node.emit(events.FILE_GIVEN_UP, path=path, error=reason, reaction=reaction)
        if self.damage is not None:
            self.node.emit(events.DISK_FAULT, path=self.damage[0], error=self.damage[1], operation="start")
            self.node.halt()
            return False
        self._next_session = self.config.server_id << 56 | (self.node.wall_ms() << 24 & 0xFF_FFFF_FFFF_FFFF) >> 8
        return True

    def peer_down(self, peer: str) -> None:
        """Its connections are gone; its session lives on until the timeout."""
        for connection in [each for each in self.connections.values() if each.client == peer]:
            self._drop(connection)

    def shut_down(self) -> None:
        self.node.exit()

    # --- what a client says ----------------------------------------------------------------------

    def _hear(self, source: str, message: Any) -> None:
        if isinstance(message, p.Connect):
            self._connect(source, message)
            return
        connection = self.connections.get(f"{source}/{message.connection}")
        if connection is None:
            if not isinstance(message, p.Hangup):
                self.node.send(source, p.Closed(message.connection))
            return
        if isinstance(message, p.Hangup):
            self._drop(connection)
            return
        self._touch(connection.session)
        match message:
            case p.Ping():
                self._send(connection, p.Pong(connection.number, self._count(connection)))
            case p.Request():
                self._request(connection, message)
            case p.CloseSession():
                self._close_session(connection.session, expired=False)

    def _connect(self, client: str, message: p.Connect) -> None:
        connection = Connection(client, message.connection)
        if message.last_zxid_seen > self.tree.last_zxid and message.session:
            self.node.send(client, p.Closed(message.connection))  # it has seen more than this server
            return
        TreeServer.peer_down(self, client)
        self.connections[connection.watcher] = connection
        if message.session:
            self._reconnect(connection, message)
        else:
            self._open_session(connection, message)

    def _request(self, connection: Connection, request: p.Request) -> None:
        if request.xid <= connection.last_xid:
            return
        if request.xid != connection.last_xid + 1 or not connection.session:
            self._hang_up(connection)
            return
        connection.last_xid = request.xid
        self._ask(Pending(connection, request))

    def _new_session(self, client: str, message: p.Connect) -> CreateSessionTxn:
        self._next_session += 1
        timeout_ms = self.config.limits.negotiate(message.timeout_ms)
        password = self.node.random("session-passwords").getrandbits(64)
        return CreateSessionTxn(self._next_session, password, timeout_ms, client)

    # --- hooks: who decides ----------------------------------------------------------------------

    def _open_session(self, connection: Connection, message: p.Connect) -> None:
        raise NotImplementedError

    def _reconnect(self, connection: Connection, message: p.Connect) -> None:
        raise NotImplementedError

    def _ask(self, pending: Pending) -> None:
        raise NotImplementedError

    def _close_session(self, session: int, expired: bool) -> None:
        raise NotImplementedError

    def _touch(self, session: int) -> None:
        raise NotImplementedError

    def expire_session(self, session: int) -> None:
        """As if its owner had been silent for too long."""
        self._close_session(session, expired=True)

    # --- commit ----------------------------------------------------------------------------------

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

    def _answer(self, pending: Pending) -> None:
        """What the client hears of it, if its connection still stands."""
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

    def _refuse_session(self, connection: Connection) -> None:
        """The session that the client asks for has expired."""
        self._send(connection, p.ConnectReply(connection.number, self._count(connection), 0, 0, 0))
        self._drop(connection)

    def _apply(self, zxid: int, time_ms: int, txn: Txn) -> None:
        owner = self._owner_name(txn.session) if isinstance(txn, CloseSessionTxn) else ""
        changes = self.tree.replay(zxid, time_ms, txn)
        match txn:
            case CreateSessionTxn():
                self._tell(
                    events.SESSION_OPENED, session=f"{txn.session:#x}", owner=txn.client, timeout_ms=txn.timeout_ms
                )
                self._touch(txn.session)
            case CloseSessionTxn():
                code = events.SESSION_EXPIRED if txn.expired else events.SESSION_CLOSED
                self._tell(code, session=f"{txn.session:#x}", owner=owner)
                self._end_connections(txn.session)
        for change in changes:
            self._announce(change, owner)
            for watcher, kind, path in self.watches.fire(change):
                self._fire(watcher, kind, path)

    def _announce(self, change: Change, gone_owner: str) -> None:
        """Journal one change of the tree."""
        if change.kind == "created":
            owner = self._owner_name(change.owner) or gone_owner if change.owner else None
            self._tell(events.ZNODE_CREATED, path=change.path, ephemeral=owner)
        elif change.kind == "changed":
            self._tell(events.ZNODE_CHANGED, path=change.path, version=change.version)
        else:
            self._tell(events.ZNODE_DELETED, path=change.path)

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

    def _tell(self, code: events.EventCode, **params: Any) -> None:
        """Into the journal: something of the tree has changed."""
        self.node.emit(code, **params)

    # --- connections -----------------------------------------------------------------------------

    def _end_connections(self, session: int) -> None:
        for connection in [each for each in self.connections.values() if each.session == session]:
            self._hang_up(connection)

    def _hang_up(self, connection: Connection) -> None:
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
