"""The tree of znodes: paths, data, versions, owners. Pure state, changed by `replay` alone.

A znode has data (a few bytes), children, and a stat:

| path | data | version | owner | what it means |
|---|---|---|---|---|
| /controller | {"brokerid":2,...} | 0 | session 0x1...3 | broker 2 is controller as long as its session lives |
| /controller_epoch | 7 | 7 | - | the seventh controller |
| /brokers/ids/2 | {"host":...} | 0 | session 0x1...3 | czxid of this znode = broker epoch |

*Decide, then replay.* `proposals` checks a request against the tree and makes a transaction of it,
a plain record that says what to do and can no longer fail. The server writes transactions to its
log with a growing number, the zxid; `replay(zxid, time, txn)` carries one out and returns what
changed. A server that starts again replays its log and has the same tree.

Creation count and change count: internally `creations` counts the children ever created below a
znode; it numbers sequential children (`n-0000000007`). Outside, `cversion` = 2 * creations -
children now, which counts creations *and* deletions (ZooKeeper `DataNode.copyStat`).
Left out: access control lists, quotas, container and TTL nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from broker_core.zookeeper.protocol import Stat

ROOT = "/"


@dataclass(slots=True)
class CreateTxn:
    path: str
    data: bytes
    owner: int
    creations: int  # the parent's count after this creation


@dataclass(slots=True)
class DeleteTxn:
    path: str


@dataclass(slots=True)
class SetDataTxn:
    path: str
    data: bytes
    version: int  # the version after this change


@dataclass(slots=True)
class CheckTxn:
    path: str


@dataclass(slots=True)
class CreateSessionTxn:
    session: int
    password: int
    timeout_ms: int
    client: str  # node that opened it


@dataclass(slots=True)
class CloseSessionTxn:
    session: int
    paths: list[str]  # its ephemeral znodes, which go with it
    expired: bool


@dataclass(slots=True)
class ErrorTxn:
    """A request that an ensemble's leader refused: it changes nothing, but stands in the same order as what does."""

    codes: list[int]


@dataclass(slots=True)
class MultiTxn:
    txns: list[CreateTxn | DeleteTxn | SetDataTxn | CheckTxn]


Txn: TypeAlias = (
    "CreateTxn | DeleteTxn | SetDataTxn | CheckTxn | MultiTxn | CreateSessionTxn | CloseSessionTxn | ErrorTxn"
)


@dataclass(slots=True)
class Session:
    """A session as all servers know it; the deadline is the business of the leader alone."""

    id: int
    password: int
    timeout_ms: int
    client: str
    ephemerals: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class Znode:
    """One node. owner != 0 implies no children."""

    data: bytes
    owner: int
    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int = 0
    creations: int = 0
    children: dict[str, None] = field(default_factory=dict)

    def stat(self) -> Stat:
        count = len(self.children)
        return Stat(
            self.czxid,
            self.mzxid,
            self.pzxid,
            self.ctime,
            self.mtime,
            self.version,
            2 * self.creations - count,
            self.owner,
            len(self.data),
            count,
        )


@dataclass(slots=True)
class Change:
    """One thing that a transaction did: kind is "created", "deleted" or "changed"."""

    kind: str
    path: str
    version: int = 0
    owner: int = 0


def parent_of(path: str) -> str:
    """`/a/b` -> `/a`, `/a` -> `/`."""
    return path.rpartition("/")[0] or ROOT


def is_valid_path(path: str) -> bool:
    """Absolute, no empty, `.` or `..` part, no slash at the end, no control characters."""
    if path == ROOT:
        return True
    parts = path.split("/")
    return path.startswith("/") and all(part not in ("", ".", "..") for part in parts[1:]) and path.isprintable()


class DataTree:
    """All znodes and sessions up to transaction `last_zxid`.

    Invariants
        - every znode but the root is in the children of its parent
        - a session's `ephemerals` are exactly the znodes that name it as owner
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Znode] = {ROOT: Znode(b"", 0, 0, 0, 0, 0, 0)}
        self.sessions: dict[int, Session] = {}
        self.last_zxid = 0

    def replay(self, zxid: int, time_ms: int, txn: Txn) -> list[Change]:
        """Carry out transaction `zxid`; its changes in the order in which they happen."""
        if zxid <= self.last_zxid:
            raise ValueError(f"transaction {zxid} after {self.last_zxid}")
        self.last_zxid = zxid
        return self._replay(zxid, time_ms, txn)

    def _replay(self, zxid: int, time_ms: int, txn: Txn) -> list[Change]:
        match txn:
            case CreateTxn():
                return [self._create(zxid, time_ms, txn)]
            case DeleteTxn():
                return [self._delete(zxid, txn.path)]
            case SetDataTxn():
                return [self._set_data(zxid, time_ms, txn)]
            case MultiTxn():
                return [change for part in txn.txns for change in self._replay(zxid, time_ms, part)]
            case CreateSessionTxn():
                self.sessions[txn.session] = Session(txn.session, txn.password, txn.timeout_ms, txn.client)
            case CloseSessionTxn():
                changes = [self._delete(zxid, path) for path in txn.paths if path in self.nodes]
                self.sessions.pop(txn.session, None)
                return changes
        return []

    def _create(self, zxid: int, time_ms: int, txn: CreateTxn) -> Change:
        parent = self.nodes[parent_of(txn.path)]
        parent.children[txn.path.rpartition("/")[2]] = None
        parent.creations = max(parent.creations, txn.creations)
        parent.pzxid = zxid
        self.nodes[txn.path] = Znode(txn.data, txn.owner, zxid, zxid, zxid, time_ms, time_ms)
        if txn.owner:
            self.sessions[txn.owner].ephemerals[txn.path] = None
        return Change("created", txn.path, 0, txn.owner)

    def _delete(self, zxid: int, path: str) -> Change:
        node = self.nodes.pop(path)
        parent = self.nodes[parent_of(path)]
        del parent.children[path.rpartition("/")[2]]
        parent.pzxid = zxid
        if node.owner and node.owner in self.sessions:
            self.sessions[node.owner].ephemerals.pop(path, None)
        return Change("deleted", path, node.version, node.owner)

    def _set_data(self, zxid: int, time_ms: int, txn: SetDataTxn) -> Change:
        node = self.nodes[txn.path]
        node.data, node.version, node.mzxid, node.mtime = txn.data, txn.version, zxid, time_ms
        return Change("changed", txn.path, node.version, node.owner)
