"""Settings as the coordination tree keeps them: what stands below /config.

    /config/topics/orders      overrides of one topic
    /config/brokers/1          dynamic settings of one broker
    /config/brokers/<default>  dynamic settings of all brokers
    /config/changes/config_change_0000000007   "topics/orders has changed", a slip for all brokers

Everything is read once after each registration; from then on the slips say what to read again. A
topic that is created with settings of its own has no slip: they are read when the controller gives this
broker its first replica of the topic, before the log is made.
A slip is taken down by whoever reads it 15 minutes later (Kafka's ZkNodeChangeNotificationListener).

Source: `ZkConfigRepository`, `ZkConfigManager`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from broker_core.cluster.port import Member
from broker_core.controller.zk import znodes
from broker_core.controller.zk.controller import KafkaController
from broker_core.metadata.config_entities import BROKERS, DEFAULT_ENTITY, TOPICS, Entity
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import ZkClient

SLIP_LIFETIME_MS = 15 * 60 * 1000
UNCLEAN = "unclean.leader.election.enable"


class ZkConfigRepository:
    """Reads /config for one broker, and tells it what stands there."""

    def __init__(self, member: Member, zk: ZkClient, controller: KafkaController) -> None:
        self.member = member
        self.zk = zk
        self.controller = controller
        self._last_slip = ""
        self._loaded: Callable[[], None] | None = None

    def start(self) -> None:
        """Hear of changes."""
        self.zk.on_children(znodes.CONFIG_CHANGES, self._rang)

    # -- reading everything -------------------------------------------------------------------
    def load(self, loaded: Callable[[], None]) -> None:
        """Read all of it; then `loaded()`."""
        self._loaded = loaded
        reads: list[p.Operation] = [p.GetChildren("/config/topics"), p.GetChildren("/config/brokers"),
                                    p.GetChildren(znodes.CONFIG_CHANGES)]  # fmt: skip
        self.zk.batch(reads, self._names_read)

    def _names_read(self, context: object, results: list[p.Result]) -> None:
        wanted = [(TOPICS, name) for name in results[0].children]
        wanted += [(BROKERS, name) for name in results[1].children]
        self._last_slip = max(results[2].children, default=self._last_slip)
        self._read(wanted, self._all_read)

    def _read(self, entities: list[Entity], done: Callable[[Any, list[p.Result]], None]) -> None:
        """What other brokers are told is no business of this one."""
        mine = (str(self.member.broker_id), DEFAULT_ENTITY)
        entities = [(kind, name) for kind, name in entities if kind != BROKERS or name in mine]
        if not entities:
            done(entities, [])
            return
        reads: list[p.Operation] = [p.GetData(znodes.config_path(*entity)) for entity in entities]
        self.zk.batch(reads, done, entities)

    def _all_read(self, entities: list[Entity], results: list[p.Result]) -> None:
        self._tell(entities, results)
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded()

    # -- slips ----------------------------------------------------------------------------------
    def _rang(self, kind: str, path: str) -> None:
        self.zk.batch([p.GetChildren(znodes.CONFIG_CHANGES)], self._slips_listed)

    def _slips_listed(self, context: object, results: list[p.Result]) -> None:
        names = sorted(results[0].children)
        fresh = [name for name in names if name > self._last_slip]
        self._last_slip = max(names, default=self._last_slip)
        paths = [f"{znodes.CONFIG_CHANGES}/{name}" for name in names]
        if fresh:
            self.zk.batch([p.GetData(path) for path in paths], self._slips_read, (paths, len(fresh)))

    def _slips_read(self, context: tuple[list[str], int], results: list[p.Result]) -> None:
        paths, fresh = context
        changed = [znodes.decode_config_change(result.data) for result in results[-fresh:] if result.ok]
        self._read(list(dict.fromkeys(changed)), self._changed)
        too_old = self.member.node.wall_ms() - SLIP_LIFETIME_MS
        for path, result in zip(paths, results, strict=True):
            if result.stat is not None and result.stat.ctime < too_old:
                self.zk.submit(p.Delete(path), self._taken_down)

    def _taken_down(self, context: object, result: p.Result) -> None:
        """Another broker may have been faster: no matter."""

    # -- single topics ----------------------------------------------------------------------------
    def read_topics(self, topics: Sequence[str], done: Callable[[Any], None], context: Any) -> None:
        """Read the settings of these topics as they stand now; then `done(context)`."""
        if not topics:
            done(context)
            return
        entities = [(TOPICS, topic) for topic in topics]
        reads: list[p.Operation] = [p.GetData(znodes.config_path(*entity)) for entity in entities]
        self.zk.batch(reads, self._topics_read, (entities, done, context))

    def _topics_read(self, state: tuple[list[Entity], Callable[[Any], None], Any], results: list[p.Result]) -> None:
        entities, done, context = state
        self._tell(entities, results)
        done(context)

    # -- telling ----------------------------------------------------------------------------------
    def _tell(self, entities: list[Entity], results: list[p.Result]) -> None:
        for entity, result in zip(entities, results, strict=True):
            values = znodes.decode_config(result.data) if result.ok else {}
            self.member.take_settings(entity, values, running=self._loaded is None)

    def _changed(self, entities: list[Entity], results: list[p.Result]) -> None:
        """Who may have an unclean leader from now on gets it (`TopicConfigHandler`, `DynamicLogConfig`)."""
        config = self.member.config
        before = config[UNCLEAN]
        self._tell(entities, results)
        if config[UNCLEAN] and not before:
            self.controller.unclean_election_enabled()
        for kind, name in entities:
            if kind == TOPICS and self.member.topic_overrides(name).get(UNCLEAN, "").lower() == "true":
                self.controller.unclean_election_enabled(name)
