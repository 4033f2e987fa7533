"""What a client and a coordination server say to each other.

A connection begins with `Connect` (session 0: a new one) and its `ConnectReply`. After that the
client sends `Request`s numbered by `xid` and may send many before the first `Reply` (pipelining);
replies come in the order of the requests. `Ping` keeps a quiet session alive, `Event` is a watch
that fires. A `Closed` stands for the end of the TCP connection.

| operation | changes the tree | result |
|---|---|---|
| Create | yes | path (with its number when sequential), stat |
| Delete | yes | - |
| SetData | yes | stat |
| Check | only inside Multi: nothing, or failure | - |
| Multi | all of its operations or none | results |
| Exists, GetData, GetChildren | no; may leave a watch | stat, data, children |

Version -1 means "whatever version it has". Every message carries the number of its connection, so
that a reply that was under way when the connection broke cannot be taken for one of the next; and
messages of a connection are counted in both directions (`xid`, `sequence`), so that either end
notices when the network has lost one and gives the connection up, as TCP would.
ZooKeeper Programmer's Guide, "ZooKeeper Watches" and "Consistency Guarantees".
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from broker_core.zookeeper.errors import Code

ANY_VERSION = -1
NODE_CREATED, NODE_DELETED = "NodeCreated", "NodeDeleted"
NODE_DATA_CHANGED, NODE_CHILDREN_CHANGED = "NodeDataChanged", "NodeChildrenChanged"


@dataclass(slots=True)
class Stat:
    """What the tree knows of a znode besides its data.

    `cversion` counts changes of the children list (creations and deletions).
    """

    czxid: int
    mzxid: int
    pzxid: int
    ctime: int
    mtime: int
    version: int
    cversion: int
    ephemeral_owner: int
    data_length: int
    num_children: int


@dataclass(slots=True)
class Create:
    """A new znode; `ephemeral` ones end with their session, `sequential` ones get a number."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(slots=True)
class Delete:
    """Remove a znode without children."""

    path: str
    version: int = ANY_VERSION


@dataclass(slots=True)
class SetData:
    """Replace a znode's data, if its version is the expected one (a compare-and-set)."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(slots=True)
class Check:
    """Inside a Multi: fail everything unless the znode has this version."""

    path: str
    version: int


@dataclass(slots=True)
class Exists:
    """The stat of a znode; with `watch` also told of its creation."""

    path: str
    watch: bool = False


@dataclass(slots=True)
class GetData:
    """Data and stat of a znode."""

    path: str
    watch: bool = False


@dataclass(slots=True)
class GetChildren:
    """Names of the children, in the order of their creation, and the stat."""

    path: str
    watch: bool = False


@dataclass(slots=True)
class SetWatches:
    """After a reconnection: the watches that the old connection held.

    The server fires at once what has changed since `relative_zxid` and sets the others again.
    """

    relative_zxid: int
    data: list[str]
    exist: list[str]
    child: list[str]


WriteOp: TypeAlias = "Create | Delete | SetData | Check"
ReadOp: TypeAlias = "Exists | GetData | GetChildren | SetWatches"


@dataclass(slots=True)
class Multi:
    """All of these or none of them."""

    ops: list[WriteOp]


Operation: TypeAlias = "WriteOp | ReadOp | Multi"


@dataclass(slots=True)
class Result:
    """What one operation came to; only the fields of its kind are filled."""

    code: Code
    path: str = ""
    data: bytes = b""
    stat: Stat | None = None
    children: list[str] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)

    @property
    def ok(self) -> bool:
        return self.code is Code.OK


@dataclass(slots=True)
class Connect:
    """Open a session (`session` 0) or take up an old one on a new connection."""

    connection: int
    session: int
    password: int
    timeout_ms: int
    last_zxid_seen: int


@dataclass(slots=True)
class ConnectReply:
    """The session and its negotiated timeout; session 0: the old one has expired."""

    connection: int
    sequence: int
    session: int
    password: int
    timeout_ms: int


@dataclass(slots=True)
class Ping:
    """A sign of life of a quiet client."""

    connection: int


@dataclass(slots=True)
class Pong:
    """The echo of a Ping."""

    connection: int
    sequence: int


@dataclass(slots=True)
class CloseSession:
    """The client leaves: its ephemeral znodes go at once."""

    connection: int


@dataclass(slots=True)
class Hangup:
    """The client gives this connection up and tries another server: the end of the TCP connection."""

    connection: int


@dataclass(slots=True)
class Request:
    """One operation of a session."""

    connection: int
    xid: int
    op: Operation


@dataclass(slots=True)
class Reply:
    """The answer to request `xid`; `zxid` is the newest transaction that this server knows."""

    connection: int
    sequence: int
    xid: int
    zxid: int
    result: Result


@dataclass(slots=True)
class Event:
    """A watch fires. It says that something changed, never what it is now."""

    connection: int
    sequence: int
    kind: str
    path: str
    zxid: int


@dataclass(slots=True)
class Closed:
    """The server closes this connection (its session has ended, or it is not known here)."""

    connection: int


ClientMessage: TypeAlias = "Connect | Ping | CloseSession | Hangup | Request"
ServerMessage: TypeAlias = "ConnectReply | Pong | Reply | Event | Closed"


def message_size(op: Operation) -> int:
    """Bytes that an operation roughly takes on the wire (for links with a bandwidth)."""
    if isinstance(op, Multi):
        return 16 + sum(message_size(part) for part in op.ops)
    if isinstance(op, SetWatches):
        return 32 + sum(4 + len(path) for path in op.data + op.exist + op.child)
    return 24 + len(op.path) + len(getattr(op, "data", b""))
