"""Settings that change while the broker runs: what stands below /config in the coordination tree.

    /config/topics/orders      overrides of one topic          -> its logs' LogConfig
    /config/brokers/1          dynamic settings of one broker  -> BrokerConfig
    /config/brokers/<default>  dynamic settings of all brokers -> BrokerConfig
    /config/changes/config_change_0000000007   "topics/orders has changed", a slip for all brokers

Everything is read once after each registration; from then on the slips say what to read again. A
topic that is created with settings of its own has no slip: they are read when the controller gives this
broker its first replica of the topic, before the log is made.
A slip is taken down by whoever reads it 15 minutes later (Kafka's ZkNodeChangeNotificationListener).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from broker_core.kernel import events
from broker_core.log.config import LogConfig
from broker_core.log.errors import InvalidConfig
from broker_core.metadata import znodes
from broker_core.metadata.configs import ConfigError
from broker_core.metadata.configs_topics import topic_config
from broker_core.zookeeper import protocol as p

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

SLIP_LIFETIME_MS = 15 * 60 * 1000
TOPICS, BROKERS = "topics", "brokers"
UNCLEAN = "unclean.leader.election.enable"
Entity = tuple[str, str]  # kind, name
LOG_SETTINGS = frozenset(one.name.replace("_", ".") for one in fields(LogConfig))


class ConfigStore:
    """What this broker knows of /config. `overrides` holds each topic's own settings."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.overrides: dict[str, dict[str, str]] = {}
        self._last_slip = ""
        self._loaded: Callable[[], None] | None = None

    def start(self) -> None:
        """Hear of changes."""
        self.broker.zk.on_children(znodes.CONFIG_CHANGES, self._rang)

    # -- what a topic's logs go by ------------------------------------------------------------
    def log_config(self, topic: str, overrides: dict[str, str]) -> LogConfig:
        """The effective settings of a topic with these overrides, as far as a log goes by them."""
        values = topic_config(overrides, self.broker.config)
        return LogConfig.from_strings({name: text for name, text in values.items() if name in LOG_SETTINGS})

    def log_config_of(self, topic: str) -> LogConfig:
        """The effective settings of a topic as they stand."""
        return self.broker.log_manager.config_of(topic)

    # -- reading everything -------------------------------------------------------------------
    def load(self, loaded: Callable[[], None]) -> None:
        """Read all of it; then `loaded()`."""
        self._loaded = loaded
        reads: list[p.Operation] = [p.GetChildren("/config/topics"), p.GetChildren("/config/brokers"),
                                    p.GetChildren(znodes.CONFIG_CHANGES)]  # fmt: skip
        self.broker.zk.batch(reads, self._names_read)

    def _names_read(self, context: object, results: list[p.Result]) -> None:
        wanted = [(TOPICS, name) for name in results[0].children]
        wanted += [(BROKERS, name) for name in results[1].children]
        self._last_slip = max(results[2].children, default=self._last_slip)
        self._read(wanted, self._all_read)

    def _read(self, entities: list[tuple[str, str]], done: Callable[[Any, list[p.Result]], None]) -> None:
        """What other brokers are told is no business of this one."""
        mine = (str(self.broker.broker_id), znodes.DEFAULT_ENTITY)
        entities = [(kind, name) for kind, name in entities if kind != BROKERS or name in mine]
        if not entities:
            done(entities, [])
            return
        reads: list[p.Operation] = [p.GetData(znodes.config_path(*entity)) for entity in entities]
        self.broker.zk.batch(reads, done, entities)

    def _all_read(self, entities: list[tuple[str, str]], results: list[p.Result]) -> None:
        self._take(entities, results)
        loaded, self._loaded = self._loaded, None
        if loaded is not None:
            loaded()

    # -- slips ----------------------------------------------------------------------------------
    def _rang(self, kind: str, path: str) -> None:
        self.broker.zk.batch([p.GetChildren(znodes.CONFIG_CHANGES)], self._slips_listed)

    def _slips_listed(self, context: object, results: list[p.Result]) -> None:
        names = sorted(results[0].children)
        fresh = [name for name in names if name > self._last_slip]
        self._last_slip = max(names, default=self._last_slip)
        paths = [f"{znodes.CONFIG_CHANGES}/{name}" for name in names]
        if fresh:
            self.broker.zk.batch([p.GetData(path) for path in paths], self._slips_read, (paths, len(fresh)))

    def _slips_read(self, context: tuple[list[str], int], results: list[p.Result]) -> None:
        paths, fresh = context
        changed = [znodes.decode_config_change(result.data) for result in results[-fresh:] if result.ok]
        self._read(list(dict.fromkeys(changed)), self._changed)
        too_old = self.broker.node.wall_ms() - SLIP_LIFETIME_MS
        for path, result in zip(paths, results, strict=True):
            if result.stat is not None and result.stat.ctime < too_old:
                self.broker.zk.submit(p.Delete(path), self._taken_down)

    def _taken_down(self, context: object, result: p.Result) -> None:
        """Another broker may have been faster: no matter."""

    # -- single topics ----------------------------------------------------------------------------
    def read_topics(self, topics: list[str], done: Callable[[Any], None], context: Any) -> None:
        """Read the settings of these topics as they stand now; then `done(context)`."""
        if not topics:
            done(context)
            return
        entities = [(TOPICS, topic) for topic in topics]
        reads: list[p.Operation] = [p.GetData(znodes.config_path(*entity)) for entity in entities]
        self.broker.zk.batch(reads, self._topics_read, (entities, done, context))

    def _topics_read(self, state: tuple[list[Entity], Callable[[Any], None], Any], results: list[p.Result]) -> None:
        entities, done, context = state
        self._take(entities, results)
        done(context)

    # -- taking over ----------------------------------------------------------------------------
    def _take(self, entities: list[tuple[str, str]], results: list[p.Result]) -> None:
        for (kind, name), result in zip(entities, results, strict=True):
            values = znodes.decode_config(result.data) if result.ok else {}
            if kind == TOPICS:
                self._take_topic(name, values)
            elif kind == BROKERS:
                self._take_broker(name, values)

    def _changed(self, entities: list[tuple[str, str]], results: list[p.Result]) -> None:
        """Take over; who may have an unclean leader from now on gets it (`TopicConfigHandler`, `DynamicLogConfig`)."""
        config, controller = self.broker.config, self.broker.controller
        before = config[UNCLEAN]
        self._take(entities, results)
        if config[UNCLEAN] and not before:
            controller.unclean_election_enabled()
        for kind, name in entities:
            if kind == TOPICS and self.overrides.get(name, {}).get(UNCLEAN, "").lower() == "true":
                controller.unclean_election_enabled(name)

    def _take_topic(self, topic: str, values: dict[str, str]) -> None:
        try:
            config = self.log_config(topic, values)
        except (ConfigError, InvalidConfig, ValueError) as error:
            self._refused(TOPICS, topic, error)
            return
        self.overrides[topic] = values
        self.broker.log_manager.update_topic_config(topic, config)

    def _take_broker(self, name: str, values: dict[str, str]) -> None:
        config = self.broker.config
        everybody = name == znodes.DEFAULT_ENTITY
        before = config.dynamic(all_brokers=everybody)
        for key in [*values, *[key for key in before if key not in values]]:
            try:
                config.set_dynamic(key, values.get(key), all_brokers=everybody, running=self._loaded is None)
            except ConfigError as error:
                self._refused(BROKERS, name, error)
        self._broker_settings_changed()

    def _broker_settings_changed(self) -> None:
        logs = self.broker.log_manager
        logs.update_default_config(self.log_config("", {}))
        logs.update_producer_expiration(self.broker.config["producer.id.expiration.ms"])
        for topic, overrides in self.overrides.items():
            logs.update_topic_config(topic, self.log_config(topic, overrides))

    def _refused(self, kind: str, name: str, error: Exception) -> None:
        self.broker.node.emit(events.COMMAND_REFUSED, command={"config": f"{kind}/{name}"}, reason=str(error))
