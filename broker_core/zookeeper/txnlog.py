"""The transaction log and the snapshots of a coordination server: what survives its process.

    version-2/log.1           transactions from zxid 1 on, one a line, flushed before any answer
    version-2/snapshot.186a0  the whole tree after transaction 0x186a0

A line is its CRC-32 and the transaction as JSON, so that a person can read it and a torn last line
is noticed: reading stops at the first line that does not check, and the file is cut there. At the
start the newest snapshot is loaded and the log behind it replayed. Every `snap_count` transactions
[100,000] a snapshot is written and a new log begins; three of each are kept
(`autopurge.snapRetainCount`). ZooKeeper's own files hold the same in its binary encoding.
"""

from __future__ import annotations

import json
import zlib
from typing import Any

from broker_core.kernel.storage import File, Storage
from broker_core.zookeeper.tree import (
    ROOT,
    CheckTxn,
    CloseSessionTxn,
    CreateSessionTxn,
    CreateTxn,
    DataTree,
    DeleteTxn,
    MultiTxn,
    Session,
    SetDataTxn,
    Txn,
    Znode,
)

DIRECTORY = "version-2"
RETAINED = 3


def text_of(data: bytes) -> str:
    """Any bytes as text that JSON can carry; UTF-8 stays readable."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def txn_to_json(txn: Txn) -> list[Any]:
    """A transaction as [kind, fields...]."""
    match txn:
        case CreateTxn():
            return ["create", txn.path, text_of(txn.data), txn.owner, txn.creations]
        case DeleteTxn():
            return ["delete", txn.path]
        case SetDataTxn():
            return ["set", txn.path, text_of(txn.data), txn.version]
        case CheckTxn():
            return ["check", txn.path]
        case MultiTxn():
            return ["multi", [txn_to_json(part) for part in txn.txns]]
        case CreateSessionTxn():
            return ["session", txn.session, txn.password, txn.timeout_ms, txn.client]
        case CloseSessionTxn():
            return ["close", txn.session, txn.paths, txn.expired]


def txn_from_json(fields: list[Any]) -> Txn:
    kind, *rest = fields
    match kind:
        case "create":
            return CreateTxn(rest[0], bytes_of(rest[1]), rest[2], rest[3])
        case "set":
            return SetDataTxn(rest[0], bytes_of(rest[1]), rest[2])
        case "multi":
            parts = [txn_from_json(part) for part in rest[0]]
            return MultiTxn([part for part in parts if isinstance(part, CreateTxn | DeleteTxn | SetDataTxn | CheckTxn)])
        case "delete":
            return DeleteTxn(rest[0])
        case "check":
            return CheckTxn(rest[0])
        case "session":
            return CreateSessionTxn(rest[0], rest[1], rest[2], rest[3])
        case "close":
            return CloseSessionTxn(rest[0], rest[1], rest[2])
    raise ValueError(f"unknown transaction kind {kind}")


def encode_line(zxid: int, time_ms: int, txn: Txn) -> bytes:
    body = json.dumps([zxid, time_ms, txn_to_json(txn)], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode_line(line: bytes) -> tuple[int, int, Txn] | None:
    """(zxid, time, transaction), or None when the line is torn or damaged."""
    checksum, _, body = line.partition(b" ")
    if len(checksum) != 8 or b"%08x" % zlib.crc32(body) != checksum:
        return None
    zxid, time_ms, fields = json.loads(body)
    return zxid, time_ms, txn_from_json(fields)


def tree_to_json(tree: DataTree) -> dict[str, Any]:
    """A snapshot: nodes in order of creation, so that parents come before children."""
    return {
        "zxid": tree.last_zxid,
        "sessions": [[each.id, each.password, each.timeout_ms, each.client] for each in tree.sessions.values()],
        "nodes": [
            [
                path,
                text_of(node.data),
                node.owner,
                node.czxid,
                node.mzxid,
                node.pzxid,
                node.ctime,
                node.mtime,
                node.version,
                node.creations,
            ]
            for path, node in tree.nodes.items()
        ],
    }


def tree_from_json(saved: dict[str, Any]) -> DataTree:
    tree = DataTree()
    tree.last_zxid = saved["zxid"]
    tree.sessions = {each[0]: Session(*each) for each in saved["sessions"]}
    for path, data, owner, *numbers in saved["nodes"]:
        tree.nodes[path] = Znode(bytes_of(data), owner, *numbers)
        if path != ROOT:
            parent, _, name = path.rpartition("/")
            tree.nodes[parent or ROOT].children[name] = None
        if owner:
            tree.sessions[owner].ephemerals[path] = None
    return tree


class TransactionLog:
    """Where transactions stand before they are answered."""

    def __init__(self, storage: Storage, snap_count: int) -> None:
        self.storage = storage
        self.snap_count = snap_count
        self._file: File | None = None
        self._since_snapshot = 0

    def load(self) -> DataTree:
        """The tree of the newest snapshot with every whole transaction behind it."""
        snapshots = self._numbers("snapshot")
        tree = DataTree()
        if snapshots:
            tree = tree_from_json(json.loads(self.storage.read_text(self._path("snapshot", snapshots[-1]))))
        for number in self._numbers("log"):
            self._replay(tree, self._path("log", number))
        return tree

    def append(self, lines: list[bytes], first_zxid: int) -> None:
        """Write transactions and flush them. Raises StorageError."""
        if self._file is None:
            self._file = self.storage.open(self._path("log", first_zxid))
        self._file.append(lines)
        self._file.flush()
        self._since_snapshot += len(lines)

    def maybe_snapshot(self, tree: DataTree) -> bool:
        """Write a snapshot when enough has happened since the last one, and begin a new log."""
        if self._since_snapshot < self.snap_count:
            return False
        self._since_snapshot = 0
        self.storage.write_text(self._path("snapshot", tree.last_zxid), json.dumps(tree_to_json(tree)))
        if self._file is not None:
            self._file.close()
            self._file = None
        self._purge()
        return True

    def _replay(self, tree: DataTree, path: str) -> None:
        file = self.storage.open(path)
        position = 0
        for line in bytes(file.read(0, file.size)).splitlines(keepends=True):
            entry = decode_line(line[:-1]) if line.endswith(b"\n") else None
            if entry is None:
                file.truncate(position)
                break
            position += len(line)
            if entry[0] > tree.last_zxid:
                tree.replay(*entry)
                self._since_snapshot += 1
        self._file = file

    def _purge(self) -> None:
        kept = self._numbers("snapshot")[-RETAINED:]
        for number in self._numbers("snapshot"):
            if number < kept[0]:
                self.storage.delete(self._path("snapshot", number))
        logs = self._numbers("log")
        for number, following in zip(logs, logs[1:], strict=False):
            if following <= kept[0] + 1:
                self.storage.delete(self._path("log", number))

    def _numbers(self, kind: str) -> list[int]:
        names = [name.partition(".") for name in self.storage.list(DIRECTORY)]
        return sorted(int(number, 16) for name, _, number in names if name == kind)

    def _path(self, kind: str, zxid: int) -> str:
        return f"{DIRECTORY}/{kind}.{zxid:x}"
