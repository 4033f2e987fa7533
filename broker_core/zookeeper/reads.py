"""Reading the tree, and leaving watches while doing so."""

from __future__ import annotations

from broker_core.zookeeper.errors import Code
from broker_core.zookeeper.protocol import (
    NODE_CHILDREN_CHANGED,
    NODE_CREATED,
    NODE_DATA_CHANGED,
    NODE_DELETED,
    Exists,
    GetChildren,
    GetData,
    Result,
    SetWatches,
)
from broker_core.zookeeper.tree import DataTree
from broker_core.zookeeper.watches import WatchTable


def read(tree: DataTree, watches: WatchTable, watcher: str, op: Exists | GetData | GetChildren) -> Result:
    """The answer to a read.

    Only Exists leaves a watch on a path that is not there: so one can wait for a creation.
    """
    node = tree.nodes.get(op.path)
    if op.watch and (node is not None or isinstance(op, Exists)):
        if isinstance(op, GetChildren):
            watches.watch_children(op.path, watcher)
        else:
            watches.watch_data(op.path, watcher)
    if node is None:
        return Result(Code.NONODE)
    match op:
        case Exists():
            return Result(Code.OK, stat=node.stat())
        case GetData():
            return Result(Code.OK, data=node.data, stat=node.stat())
        case GetChildren():
            return Result(Code.OK, children=list(node.children), stat=node.stat())


def changed_since(tree: DataTree, watches: WatchTable, watcher: str, op: SetWatches) -> list[tuple[str, str]]:
    """Events that a client missed while it was not connected; watches without one are set again."""
    missed: list[tuple[str, str]] = []
    for path in op.data:
        node = tree.nodes.get(path)
        if node is None:
            missed.append((NODE_DELETED, path))
        elif node.mzxid > op.relative_zxid:
            missed.append((NODE_DATA_CHANGED, path))
        else:
            watches.watch_data(path, watcher)
    for path in op.exist:
        if path in tree.nodes:
            missed.append((NODE_CREATED, path))
        else:
            watches.watch_data(path, watcher)
    for path in op.child:
        node = tree.nodes.get(path)
        if node is None:
            missed.append((NODE_DELETED, path))
        elif node.pzxid > op.relative_zxid:
            missed.append((NODE_CHILDREN_CHANGED, path))
        else:
            watches.watch_children(path, watcher)
    return missed
