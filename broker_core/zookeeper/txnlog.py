"""The transaction log and the snapshots of a coordination server: what survives its process.

    version-2/log.1           transactions from zxid 1 on, one a line, flushed before any answer
    version-2/snapshot.186a0  the whole tree after transaction 0x186a0

A line is its CRC-32 and the transaction as JSON, so that a person can read it and a torn last line
is noticed: reading stops there and the file is cut. At the start the newest snapshot that can be read
is loaded and the logs behind it are replayed; a transaction that is damaged while there are others behind
it, or missing, ends the server: it must not forget what it has answered. Every `snap_count` transactions
[100,000] a snapshot is written, with its CRC-32 in front, and a new log begins; three of each are kept
(`autopurge.snapRetainCount`). ZooKeeper's own files hold the same in its binary encoding.
"""

from __future__ import annotations

import json
import re
import zlib
from collections import deque
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
    ErrorTxn,
    MultiTxn,
    Session,
    SetDataTxn,
    Txn,
    Znode,
)

DIRECTORY = "version-2"
RETAINED = 3
REMEMBERED = 500
"""Transactions that a server of an ensemble has at hand for followers that lack a few (`commitLogCount`)."""
_HEX = re.compile("[0-9a-f]{1,16}")


class DamagedTree(Exception):
    """The tree cannot be built from what lies on the disk: `path` is damaged, and nothing else says what it said."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason


def follows(last: int, zxid: int) -> bool:
    """Whether `zxid` may be the next transaction after `last`: the next number, or the first one of a later epoch.

    0x300000007 -> 0x300000008, or 0x500000001 when the leaders of epochs 4 and 5 came between (an epoch may be empty).
    """
    return zxid == last + 1 or (zxid >> 32 > last >> 32 and zxid & 0xFFFF_FFFF == 1)


def _gap(path: str, last: int, following: int) -> DamagedTree:
    return DamagedTree(path, f"transactions {last + 1:x}..{following - 1:x} are missing")


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
        case ErrorTxn():
            return ["error", txn.codes]


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
        case "error":
            return ErrorTxn(rest[0])
    raise ValueError(f"unknown transaction kind {kind}")


def encode_line(zxid: int, time_ms: int, txn: Txn) -> bytes:
    body = json.dumps([zxid, time_ms, txn_to_json(txn)], separators=(",", ":")).encode()
    return b"%08x %s\n" % (zlib.crc32(body), body)


def decode_line(line: bytes) -> tuple[int, int, Txn] | None:
    """(zxid, time, transaction), or None when the line is torn or damaged."""
    checksum, _, body = line.partition(b" ")
    if len(checksum) != 8 or b"%08x" % zlib.crc32(body) != checksum:
        return None
    try:
        zxid, time_ms, fields = json.loads(body)
        return zxid, time_ms, txn_from_json(fields)
    except (ValueError, TypeError, LookupError):
        return None


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


def _checked(snapshot: str) -> str:
    """The JSON of a snapshot whose checksum fits; one of an earlier version has none. Raises ValueError."""
    if snapshot.startswith("{"):
        return snapshot
    checksum, _, text = snapshot.partition(" ")
    if f"{zlib.crc32(text.encode()):08x}" != checksum:
        raise ValueError("the checksum does not fit")
    return text


def _end_of(data: bytes, zxid: int) -> int:
    """The position behind the last transaction that is not above `zxid`."""
    position = 0
    for line in data.splitlines(keepends=True):
        entry = decode_line(line[:-1]) if line.endswith(b"\n") else None
        if entry is None or entry[0] > zxid:
            break
        position += len(line)
    return position


class TransactionLog:
    """Where transactions stand before they are answered."""

    def __init__(self, storage: Storage, snap_count: int) -> None:
        self.storage = storage
        self.snap_count = snap_count
        self._file: File | None = None
        self._since_snapshot = 0
        self.given_up: list[tuple[str, str]] = []
        self.read: deque[tuple[int, int, Txn]] = deque(maxlen=REMEMBERED)
        self.before_read = 0

    def load(self) -> DataTree:
        """The tree of the newest snapshot with every whole transaction behind it. Raises DamagedTree, StorageError."""
        tree = self._newest_snapshot()
        logs = self._numbers("log")
        self.read.clear()
        self.before_read = tree.last_zxid
        if logs and tree.last_zxid < logs[0] and not follows(tree.last_zxid, logs[0]):
            raise _gap(self._path("log", logs[0]), tree.last_zxid, logs[0])
        for number in logs:
            self._replay(tree, self._path("log", number), number == logs[-1])
        return tree

    def _newest_snapshot(self) -> DataTree:
        """The newest one that can be read (`FileSnap` does the same); the logs behind an older one are kept."""
        for number in reversed(self._numbers("snapshot")):
            path = self._path("snapshot", number)
            try:
                return tree_from_json(json.loads(_checked(self.storage.read_text(path))))
            except (ValueError, TypeError, LookupError, AttributeError):
                self.given_up.append((path, "not a snapshot"))
        return DataTree()

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
        self.snapshot(tree)
        return True

    def snapshot(self, tree: DataTree) -> None:
        """Write one and begin a new log; also what a follower does with the tree that its leader has sent."""
        self._since_snapshot = 0
        text = json.dumps(tree_to_json(tree))
        self.storage.write_text(self._path("snapshot", tree.last_zxid), f"{zlib.crc32(text.encode()):08x} {text}")
        self._close()
        self._purge()

    def truncate(self, zxid: int) -> None:
        """Forget every transaction behind `zxid`: a leader has never heard of them. Read the tree again afterwards."""
        self._close()
        for number in self._numbers("snapshot"):
            if number > zxid:
                self.storage.delete(self._path("snapshot", number))
        for number in self._numbers("log"):
            if number > zxid:
                self.storage.delete(self._path("log", number))
                continue
            file = self.storage.open(self._path("log", number))
            file.truncate(_end_of(bytes(file.read(0, file.size)), zxid))
            file.close()

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _replay(self, tree: DataTree, path: str, last: bool) -> None:
        file = self.storage.open(path)
        position = 0
        data = bytes(file.read(0, file.size))
        for line in data.splitlines(keepends=True):
            entry = decode_line(line[:-1]) if line.endswith(b"\n") else None
            if entry is None:
                self._cut(file, position, data[position + len(line) :], last)
                break
            position += len(line)
            if entry[0] > tree.last_zxid:
                if not follows(tree.last_zxid, entry[0]):
                    raise _gap(path, tree.last_zxid, entry[0])
                tree.replay(*entry)
                if len(self.read) == REMEMBERED:
                    self.before_read = self.read[0][0]
                self.read.append(entry)
                self._since_snapshot += 1
        self._file = file

    def _cut(self, file: File, position: int, rest: bytes, last: bool) -> None:
        """A torn end is nothing that was answered; damage with whole transactions behind it is (ZooKeeper: CRC check
        failed, the server does not start)."""
        if not last or any(decode_line(line) is not None for line in rest.split(b"\n")):
            raise DamagedTree(file.path, f"damaged at byte {position}, with transactions behind it")
        if file.size > position:
            self.given_up.append((file.path, f"torn at byte {position}"))
        file.truncate(position)

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
        return sorted(int(number, 16) for name, _, number in names if name == kind and _HEX.fullmatch(number))

    def _path(self, kind: str, zxid: int) -> str:
        return f"{DIRECTORY}/{kind}.{zxid:x}"
