"""Watches: one-shot bells on paths.

| a watch left by | on | fires at |
|---|---|---|
| GetData, Exists | data of the path | NodeCreated, NodeDataChanged, NodeDeleted |
| GetChildren | children of the path | NodeChildrenChanged, NodeDeleted |

A watch rings once and is gone. Who reads again and leaves a new watch sees the *newest* state, not
every state in between: two changes, one bell. That is why the Kafka controller compares what it
reads with what it knows, and never counts events.
A watcher that watches both data and children of a znode hears of its deletion once.
"""

from __future__ import annotations

from broker_core.zookeeper.protocol import NODE_CHILDREN_CHANGED, NODE_CREATED, NODE_DATA_CHANGED, NODE_DELETED
from broker_core.zookeeper.tree import Change, parent_of

Firing = tuple[str, str, str]  # watcher, kind, path


class WatchTable:
    """Who watches what: path -> watchers, in the order in which they came."""

    def __init__(self) -> None:
        self.data: dict[str, dict[str, None]] = {}
        self.child: dict[str, dict[str, None]] = {}

    def watch_data(self, path: str, watcher: str) -> None:
        self.data.setdefault(path, {})[watcher] = None

    def watch_children(self, path: str, watcher: str) -> None:
        self.child.setdefault(path, {})[watcher] = None

    def forget(self, watcher: str) -> None:
        """Its connection is gone, and its watches with it."""
        for table in (self.data, self.child):
            for path in [path for path, watchers in table.items() if watcher in watchers]:
                del table[path][watcher]
                if not table[path]:
                    del table[path]

    def fire(self, change: Change) -> list[Firing]:
        """The bells that a change rings; each is taken off the table."""
        path, parent = change.path, parent_of(change.path)
        if change.kind == "changed":
            return [(watcher, NODE_DATA_CHANGED, path) for watcher in self.data.pop(path, {})]
        if change.kind == "created":
            firings = [(watcher, NODE_CREATED, path) for watcher in self.data.pop(path, {})]
        else:
            both = {**self.data.pop(path, {}), **self.child.pop(path, {})}
            firings = [(watcher, NODE_DELETED, path) for watcher in both]
        return firings + [(watcher, NODE_CHILDREN_CHANGED, parent) for watcher in self.child.pop(parent, {})]
