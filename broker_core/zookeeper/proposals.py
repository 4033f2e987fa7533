"""From requests to transactions: every rule that can refuse a request stands here.

Transactions that are proposed and not yet committed already bind the next decision, or two
creations of `/controller` in one batch would both succeed. So decisions are made against an
*outlook*: the tree, covered by the records of what is under way (ZooKeeper's
`PrepRequestProcessor.outstandingChanges`). A `Multi` decides on an outlook of its own, which is
kept when all of its parts pass and dropped otherwise:

| operations of a Multi | results when the second fails |
|---|---|
| first, second, third | OK, the error, RUNTIMEINCONSISTENCY; nothing is changed |
"""

from __future__ import annotations

from dataclasses import dataclass

from broker_core.zookeeper.errors import Code, ZkError
from broker_core.zookeeper.protocol import ANY_VERSION, Check, Create, Delete, Multi, SetData, WriteOp
from broker_core.zookeeper.tree import (
    ROOT,
    CheckTxn,
    CloseSessionTxn,
    CreateTxn,
    DataTree,
    DeleteTxn,
    MultiTxn,
    SetDataTxn,
    is_valid_path,
    parent_of,
)


@dataclass(slots=True)
class Record:
    """What a znode will look like once everything under way is committed."""

    version: int
    creations: int
    children: int
    owner: int
    exists: bool = True


class Outlook:
    """The tree as it will be. `lookup` answers from the nearest layer that knows the path."""

    def __init__(self, tree: DataTree, below: Outlook | None = None) -> None:
        self.tree = tree
        self.below = below
        self.records: dict[str, Record] = {}

    def lookup(self, path: str) -> Record | None:
        record = self.records.get(path)
        if record is not None:
            return record if record.exists else None
        if self.below is not None:
            return self.below.lookup(path)
        node = self.tree.nodes.get(path)
        return None if node is None else Record(node.version, node.creations, len(node.children), node.owner)

    def ephemerals_of(self, session: int) -> list[str]:
        """Paths that the session will own, those of the tree first."""
        known = self.tree.sessions.get(session)
        paths = list(known.ephemerals) if known is not None else []
        found = [path for path in paths if (record := self.lookup(path)) is not None and record.owner == session]
        found += [
            path
            for path, record in self.records.items()
            if record.exists and record.owner == session and path not in found
        ]
        return found

    def merge(self, upper: Outlook) -> None:
        self.records.update(upper.records)

    def settle(self) -> None:
        """Everything under way has been committed."""
        self.records.clear()


def decide(outlook: Outlook, session: int, op: WriteOp) -> CreateTxn | DeleteTxn | SetDataTxn | CheckTxn:
    """The transaction that carries out `op`; raises ZkError when the rules refuse it."""
    if not is_valid_path(op.path):
        raise ZkError(Code.BADARGUMENTS, op.path)
    match op:
        case Create():
            return _create(outlook, session, op)
        case Delete():
            return _delete(outlook, op)
        case SetData():
            record = _expect(outlook, op.path, op.version)
            changed = Record(record.version + 1, record.creations, record.children, record.owner)
            outlook.records[op.path] = changed
            return SetDataTxn(op.path, op.data, changed.version)
        case Check():
            _expect(outlook, op.path, op.version)
            return CheckTxn(op.path)


def decide_multi(outlook: Outlook, session: int, multi: Multi) -> tuple[MultiTxn | None, list[Code]]:
    """All or nothing: the transaction, or None and the code of every operation."""
    layer = Outlook(outlook.tree, outlook)
    txns: list[CreateTxn | DeleteTxn | SetDataTxn | CheckTxn] = []
    for position, op in enumerate(multi.ops):
        try:
            txns.append(decide(layer, session, op))
        except ZkError as error:
            behind = len(multi.ops) - position - 1
            return None, [Code.OK] * position + [error.code] + [Code.RUNTIMEINCONSISTENCY] * behind
    outlook.merge(layer)
    return MultiTxn(txns), [Code.OK] * len(txns)


def refusal(op: WriteOp | Multi, code: Code) -> list[Code]:
    """The same code for every operation of it."""
    return [code] * (len(op.ops) if isinstance(op, Multi) else 1)


def decide_close(outlook: Outlook, session: int, expired: bool) -> CloseSessionTxn:
    """The end of a session takes its ephemeral znodes along."""
    paths = outlook.ephemerals_of(session)
    for path in paths:
        _remove(outlook, path)
    return CloseSessionTxn(session, paths, expired)


def _create(outlook: Outlook, session: int, op: Create) -> CreateTxn:
    if op.path == ROOT:
        raise ZkError(Code.NODEEXISTS, op.path)
    parent_path = parent_of(op.path)
    parent = outlook.lookup(parent_path)
    if parent is None:
        raise ZkError(Code.NONODE, op.path)
    path = f"{op.path}{parent.creations:010d}" if op.sequential else op.path
    if outlook.lookup(path) is not None:
        raise ZkError(Code.NODEEXISTS, path)
    if parent.owner:
        raise ZkError(Code.NOCHILDRENFOREPHEMERALS, path)
    creations = parent.creations + 1
    outlook.records[parent_path] = Record(parent.version, creations, parent.children + 1, parent.owner)
    owner = session if op.ephemeral else 0
    outlook.records[path] = Record(0, 0, 0, owner)
    return CreateTxn(path, op.data, owner, creations)


def _delete(outlook: Outlook, op: Delete) -> DeleteTxn:
    if op.path == ROOT:
        raise ZkError(Code.BADARGUMENTS, op.path)
    record = _expect(outlook, op.path, op.version)
    if record.children:
        raise ZkError(Code.NOTEMPTY, op.path)
    _remove(outlook, op.path)
    return DeleteTxn(op.path)


def _remove(outlook: Outlook, path: str) -> None:
    outlook.records[path] = Record(0, 0, 0, 0, exists=False)
    parent = outlook.lookup(parent_of(path))
    if parent is not None:
        outlook.records[parent_of(path)] = Record(parent.version, parent.creations, parent.children - 1, parent.owner)


def _expect(outlook: Outlook, path: str, version: int) -> Record:
    record = outlook.lookup(path)
    if record is None:
        raise ZkError(Code.NONODE, path)
    if version not in (ANY_VERSION, record.version):
        raise ZkError(Code.BADVERSION, path)
    return record
