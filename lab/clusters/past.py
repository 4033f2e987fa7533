"""Settings of topics and brokers as they stood behind an event, for branches that begin in the past.

The coordination tree has only what stands there now. `Past` notes each change of three kinds of znode, by a watcher
of state transitions, so that the journal is the same whoever looks:

| znode | says |
|---|---|
| `/brokers/topics/T` | whether there is a topic T |
| `/config/topics/T` | its own settings |
| `/config/brokers/N`, `/config/brokers/<default>` | dynamic settings of a broker, of all brokers |
"""

from __future__ import annotations

from broker_core.kernel.events import ZNODE_CHANGED, ZNODE_CREATED, ZNODE_DELETED
from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from broker_core.metadata import znodes
from lab.clusters.observe import tree

_CODES = (ZNODE_CREATED.name, ZNODE_CHANGED.name, ZNODE_DELETED.name)
_PARENTS = (znodes.TOPICS, "/config/topics", "/config/brokers")


class Past:
    """Path -> (event, data behind it), oldest first; None where the znode was deleted."""

    def __init__(self) -> None:
        self.world: World | None = None
        self.changes: dict[str, list[tuple[int, bytes | None]]] = {}

    def watch(self, world: World) -> None:
        """From the world's first event on."""
        self.world = world
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        if row[3] not in _CODES or row[5]["path"].rpartition("/")[0] not in _PARENTS or self.world is None:
            return
        path = row[5]["path"]
        node = None if row[3] == ZNODE_DELETED.name else tree(self.world).get(path)
        self.changes.setdefault(path, []).append((row[0], None if node is None else node.data or b""))

    def _data(self, path: str, seq: int) -> bytes | None:
        return next((data for at, data in reversed(self.changes.get(path, ())) if at <= seq), None)

    def has_topic(self, topic: str, seq: int) -> bool:
        return self._data(znodes.topic_path(topic), seq) is not None

    def overrides(self, kind: str, name: str, seq: int) -> dict[str, str]:
        """What an entity (`topics` | `brokers`) has of its own."""
        return znodes.decode_config(self._data(znodes.config_path(kind, name), seq) or b"")
