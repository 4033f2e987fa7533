"""Settings of topics and brokers as they stood behind an event, for branches that begin in the past.

The truth of a cluster has only what stands there now. `Past` notes each change of topics and settings, by a watcher of
state transitions, so that the journal is the same whoever looks:

| entity | says |
|---|---|
| ("exists", "orders") | whether there is a topic |
| ("topics", "orders") | its own settings |
| ("brokers", "1"), ("brokers", "<default>") | dynamic settings of a broker, of all brokers |
"""

from __future__ import annotations

from broker_core.kernel.journal import Row
from broker_core.kernel.world import World
from broker_core.metadata.config_entities import Entity
from lab.truth import Truth, truth_of
from lab.truth.port import EXISTS


class Past:
    """Entity -> (event, settings behind it), oldest first; None where it was deleted."""

    def __init__(self) -> None:
        self.truth: Truth | None = None
        self.changes: dict[Entity, list[tuple[int, dict[str, str] | None]]] = {}

    def watch(self, world: World) -> None:
        """From the world's first event on."""
        self.truth = truth_of(world)
        world.journal.transition_watchers.append(self.truth.heard)
        world.journal.transition_watchers.append(self._take)

    def _take(self, row: Row) -> None:
        changed = None if self.truth is None else self.truth.setting_changed(row)
        if changed is not None:
            entity, values = changed
            self.changes.setdefault(entity, []).append((row[0], values))

    def _behind(self, entity: Entity, seq: int) -> dict[str, str] | None:
        return next((values for at, values in reversed(self.changes.get(entity, ())) if at <= seq), None)

    def has_topic(self, topic: str, seq: int) -> bool:
        return self._behind((EXISTS, topic), seq) is not None

    def overrides(self, kind: str, name: str, seq: int) -> dict[str, str]:
        """What an entity (`topics` | `brokers`) has of its own."""
        return self._behind((kind, name), seq) or {}
