"""A coordination server that stands alone: the machine that holds the tree.

A request goes through the stages of ZooKeeper's processor chain:

    receive    touch the session; for a write: decide -> a transaction with the next zxid
    sync       everything that came meanwhile goes to the log in one append and one flush
    commit     in order: replay each transaction, ring the watches, answer

Reads wait in the same line, so that a client sees its own writes. A flushed transaction is committed, for
nobody else has to agree; `ensemble` is the server that asks others. `request_cost_us` is the time that one
request occupies the server; 0 makes the tree infinitely fast.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from broker_core.kernel.node import Node
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.errors import Code, ZkError
from broker_core.zookeeper.proposals import Outlook, decide, decide_close, decide_multi, refusal
from broker_core.zookeeper.serving import Connection, Pending, TreeServer, ZooKeeperConfig
from broker_core.zookeeper.sessions import ExpiryClock, ExpiryQueue
from broker_core.zookeeper.tree import Txn
from broker_core.zookeeper.txnlog import encode_line


class ZooKeeperServer(TreeServer):
    """The machine of an ensemble of one."""

    def __init__(self, node: Node, config: ZooKeeperConfig | None = None) -> None:
        super().__init__(node, config)
        self.outlook = Outlook(self.tree)
        self.expiry = ExpiryQueue(self.config.limits.tick_ms)
        self._proposed_zxid = self.tree.last_zxid
        self._line: deque[Pending] = deque()
        self._syncing = False
        self.clock = ExpiryClock(node, self.expiry, self._expire)

    def start(self) -> None:
        """Sessions of the log get a whole timeout to come back in."""
        if not self._open_tree():
            return
        for session in self.tree.sessions.values():
            self.expiry.touch(session.id, self._now_ms(), session.timeout_ms)
        self.clock.arm()

    def receive(self, source: str, message: Any) -> None:
        self._hear(source, message)

    # --- receive ---------------------------------------------------------------------------------

    def _open_session(self, connection: Connection, message: p.Connect) -> None:
        txn = self._new_session(connection.client, message)
        self.expiry.touch(txn.session, self._now_ms(), txn.timeout_ms)
        self.clock.arm()
        self._propose(Pending(connection, message), txn)

    def _reconnect(self, connection: Connection, message: p.Connect) -> None:
        session = self.tree.sessions.get(message.session)
        if session is None or session.id not in self.expiry or session.password != message.password:
            self._refuse_session(connection)
            return
        connection.session = session.id
        self._touch(session.id)
        reply = p.ConnectReply(
            connection.number, self._count(connection), session.id, session.password, session.timeout_ms
        )
        self._send(connection, reply)

    def _ask(self, pending: Pending) -> None:
        assert pending.connection is not None and isinstance(pending.request, p.Request)
        op, session = pending.request.op, pending.connection.session
        txn: Txn | None = None
        if isinstance(op, p.Create | p.Delete | p.SetData | p.Check | p.Multi):
            if session not in self.expiry:  # its end is under way: what it made now would have no owner
                pending.codes = refusal(op, Code.SESSIONEXPIRED)
            elif isinstance(op, p.Multi):
                txn, pending.codes = decide_multi(self.outlook, session, op)
            else:
                try:
                    txn = decide(self.outlook, session, op)
                except ZkError as error:
                    pending.codes = [error.code]
        self._propose(pending, txn)

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
            if pending.txn is not None:
                self._apply(pending.zxid, pending.time_ms, pending.txn)
            self._answer(pending)
        if self._line:
            self._arm_sync()
        else:
            self.outlook.settle()
        self._maybe_snapshot()

    # --- sessions --------------------------------------------------------------------------------

    def _touch(self, session: int) -> None:
        known = self.tree.sessions.get(session)
        if known is not None and session in self.expiry:
            self.expiry.touch(session, self._now_ms(), known.timeout_ms)
            self.clock.arm()

    def _expire(self, session: int) -> None:
        self._close_session(session, expired=True)
