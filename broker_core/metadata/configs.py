"""The settings of a broker as they stand: what was given, what changed while it ran, what is left at its default.

A value is looked for in this order, and DescribeConfigs shows the whole chain as synonyms (KIP-226):

    dynamic, this broker  >  dynamic, all brokers  >  given at the start (static)  >  default

>>> config = BrokerConfig({"log.retention.minutes": "10"})
>>> config["log.retention.minutes"], config["num.io.threads"], config["log.retention.ms"]
(10, 8, None)
>>> config.milliseconds("log.retention")
600000

What they mean for a topic stands in configs_topics.py. Limits that two settings put on each other
stand in configs_rules.py.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from broker_core.kernel.problems import Problem, problem
from broker_core.metadata import configs_rules
from broker_core.metadata.configs_broker import BROKER_SETTINGS, BROKER_SYNONYMS
from broker_core.metadata.configs_listeners import LISTENER_SETTINGS, check_listeners
from broker_core.metadata.configs_replication import DYNAMIC_ONLY
from broker_core.metadata.configs_topic import SYNONYMS, TOPIC
from broker_core.metadata.configs_types import (
    ERAS,
    KRAFT,
    ZOOKEEPER,
    ConfigError,
    ConfigSource,
    ConfigType,
    Setting,
    UpdateMode,
    shown,
)

__all__ = ["BROKER_SETTINGS", "TOPIC_SETTINGS", "BrokerConfig", "ConfigEntry", "ConfigError", "ConfigSource", "Synonym"]

TOPIC_SETTINGS: dict[str, Setting] = {setting.name: setting for setting in TOPIC}
_PLUGIN_PREFIXES = ("rsm.config.", "rlmm.config.")
_UNITS = (("ms", 1), ("minutes", 60_000), ("hours", 3_600_000))


@dataclass(frozen=True, slots=True)
class Synonym:
    """One place of the chain in which a value is looked for."""

    name: str
    value: str | None
    source: ConfigSource


@dataclass(frozen=True, slots=True)
class ConfigEntry:
    """One setting as DescribeConfigs returns it; `value` is None when unset or sensitive."""

    name: str
    value: str | None
    source: ConfigSource
    read_only: bool
    sensitive: bool
    type: ConfigType
    synonyms: tuple[Synonym, ...]
    doc: str


GIVEN_IN_KRAFT = ("node.id", "process.roles")
"""What 4.x has no default for: whoever starts a process says it."""


def era_of(settings: Mapping[str, str]) -> str:
    """The generation that a process is started in: one with a role is KRaft's."""
    return KRAFT if settings.get("process.roles") else ZOOKEEPER


def broker_setting(name: str, era: str = ZOOKEEPER) -> Setting:
    """The table's entry of a broker setting; ConfigError with a hint when there is none in this era."""
    setting = BROKER_SETTINGS.get(_base_name(name))
    if setting is None:
        raise ConfigError(problem("unknown_broker_setting", name=name), name, _hint(name, BROKER_SETTINGS, broker=True))
    if setting.era not in (None, era):
        mode = "ZooKeeper mode (Kafka 3.9)" if setting.era == ZOOKEEPER else "KRaft mode (Kafka 4.x)"
        raise ConfigError(problem("setting_of_era", name=name, mode=mode), name)
    return setting


def is_unknown(name: str) -> bool:
    """Whether no broker of any era has a setting of this name."""
    return _base_name(name) not in BROKER_SETTINGS


def topic_setting(name: str, era: str = ZOOKEEPER) -> Setting:
    """The table's entry of a topic setting; ConfigError with Kafka's message and a hint when there is none."""
    setting = TOPIC_SETTINGS.get(name)
    if setting is None or setting.era not in (None, era):
        raise ConfigError(problem("unknown_topic_setting", name=name), name, _hint(name, TOPIC_SETTINGS, broker=False))
    return setting


def _base_name(name: str) -> str:
    """`listener.name.inner.ssl.keystore.location` is `ssl.keystore.location` of one listener (KIP-103)."""
    if name.startswith("listener.name."):
        return name.split(".", 3)[-1]
    return name


def _hint(name: str, known: Mapping[str, Setting], *, broker: bool) -> Problem | None:
    if broker:
        stand_ins = SYNONYMS.get(name)
        if stand_ins is not None:
            return problem("hint_topic_setting", name=name, other=stand_ins[0][0])
    else:
        for topic_name, stand_ins in SYNONYMS.items():
            if any(name == broker_name for broker_name, _ in stand_ins):
                return problem("hint_broker_setting", name=name, other=topic_name)
        if name in BROKER_SETTINGS:
            return problem("hint_broker_only", name=name)
    near = [one for one in difflib.get_close_matches(name, known, n=4, cutoff=0.75) if one != name]
    return problem("did_you_mean", known=near) if near else None


def _put(texts: dict[str, str], name: str, text: str | None) -> None:
    texts.pop(name, None)
    if text is not None:
        texts[name] = text


def _same_id(static: dict[str, str]) -> None:
    """`broker.id` and `node.id` are one number: what sets one of them sets the other."""
    for name, other in (("broker.id", "node.id"), ("node.id", "broker.id")):
        if name in static:
            static.setdefault(other, static[name])


class BrokerConfig(Mapping[str, Any]):
    """All settings of one broker.

    - `config[name]` is the typed value (bool, int, float, str, list of str, or None when unset), kept parsed
    - `unused`: names that no table of this era has, and what is wrong with them. They are kept for plug-ins, as in
      Kafka, without looking at the value

    Invariants
        - a value that is present has passed its type, its check and the rules between settings
        - the value of an unknown name is never shown again, as nobody knows whether it is a password
        - limits of throttled moves (`DYNAMIC_ONLY`) exist only as dynamic settings
    """

    def __init__(self, overrides: Mapping[str, str] | None = None, era: str = ZOOKEEPER) -> None:
        if era not in ERAS:
            raise ValueError(f"no such era: {era}")
        self.era = era
        self._static: dict[str, str] = dict(overrides or {})
        _same_id(self._static)
        self._dynamic: dict[str, str] = {}
        self._dynamic_default: dict[str, str] = {}
        self._values: dict[str, Any] = {}
        self.unused: dict[str, ConfigError] = {}
        for name, text in self._static.items():
            if not name.startswith(_PLUGIN_PREFIXES):
                self._check_static(name, text)
        configs_rules.check_broker(self)

    def _check_static(self, name: str, text: str) -> None:
        try:
            setting = broker_setting(name, self.era)
        except ConfigError as error:
            self.unused[name] = error
            return
        setting.parse(text, self.era)

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            setting = broker_setting(name, self.era)
            value = self._values[name] = setting.parse(self.raw(name), self.era)
            return value

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def __len__(self) -> int:
        return len(self.names())

    def get(self, name: str, default: Any = None) -> Any:
        """The typed value, or `default` where the setting does not exist or is not set."""
        if name not in BROKER_SETTINGS:
            return default
        value = self[name]
        return default if value is None else value

    def raw(self, name: str) -> str | None:
        """The effective text of a setting, None when it is not set."""
        for texts in (self._dynamic, self._dynamic_default, self._static):
            if name in texts:
                return texts[name]
        setting = BROKER_SETTINGS.get(name)
        return setting.default_in(self.era) if setting is not None else None

    def milliseconds(self, stem: str) -> int:
        """A time that may stand in ms, minutes or hours, the finer unit first: `milliseconds("log.retention")`."""
        for unit, factor in _UNITS:
            name = f"{stem}.{unit}"
            if name in BROKER_SETTINGS and self[name] is not None:
                value = self[name] * factor
                return -1 if value < 0 else int(value)
        raise ConfigError(problem("no_unit", name=stem), stem)

    def copy(self) -> BrokerConfig:
        """The same settings, to try a change on."""
        other = BrokerConfig(self._static, self.era)
        other._dynamic, other._dynamic_default = dict(self._dynamic), dict(self._dynamic_default)
        other._values.clear()  # read while its rules were checked, before it had dynamic settings
        return other

    def set_dynamic(self, name: str, text: str | None, *, all_brokers: bool = False, running: bool = True) -> None:
        """Change a setting while the broker runs; None takes the change back.

        ConfigError when the setting cannot change, cannot change for all brokers at once, does not fit, or is
        too large a step for a running broker. One that is starting takes what it finds.
        """
        texts = self._dynamic_default if all_brokers else self._dynamic
        if is_unknown(name):
            if name in DYNAMIC_ONLY:
                DYNAMIC_ONLY[name].parse(text, self.era)
            _put(texts, name, text)
            return
        setting = broker_setting(name, self.era)
        mode = setting.mode_in(self.era)
        if name.startswith("ssl.") and mode is UpdateMode.PER_BROKER:
            words = "These security configs can be dynamically updated only per-listener using the listener prefix"
            raise ConfigError(problem("broken_rule", words=f"{words}: HashSet({name})"), name)
        if mode is UpdateMode.READ_ONLY:
            raise ConfigError(problem("not_dynamic", name=name), name)
        if all_brokers and mode is UpdateMode.PER_BROKER:
            raise ConfigError(problem("only_per_broker", name=name), name)
        before, value = dict(texts), self[name]
        addresses = tuple(self[one] for one in LISTENER_SETTINGS)
        _put(texts, name, text)
        self._values.clear()
        try:
            if running:
                configs_rules.check_step(name, value, self[name])
                if name in LISTENER_SETTINGS:
                    check_listeners(self, addresses)
            configs_rules.check_broker(self)
        except ConfigError:
            texts.clear()
            texts.update(before)
            self._values.clear()
            raise

    def dynamic(self, *, all_brokers: bool = False) -> dict[str, str]:
        """The dynamic settings of this broker or of all brokers, as they were given."""
        return dict(self._dynamic_default if all_brokers else self._dynamic)

    def static(self) -> dict[str, str]:
        """What the broker was started with."""
        return dict(self._static)

    def synonyms(self, name: str) -> tuple[Synonym, ...]:
        """Where the value of `name` is looked for: the places that hold something, the one that counts first.

        As in Kafka, places that would win under another name are left out: `log.retention.hours` does not
        name the minutes that overrule it.
        """
        chain = BROKER_SYNONYMS.get(name, (name,))
        places = [synonym for source in ConfigSource for synonym in self._place(source, chain)]
        while places and places[0].name != name:
            places.pop(0)
        return tuple(places)

    def _place(self, source: ConfigSource, chain: tuple[str, ...]) -> Iterator[Synonym]:
        for name in chain:
            setting = broker_setting(name, self.era)
            default = None if self.era == KRAFT and name in GIVEN_IN_KRAFT else setting.default_in(self.era)
            text = {
                ConfigSource.DYNAMIC_BROKER: self._dynamic.get(name),
                ConfigSource.DYNAMIC_DEFAULT_BROKER: self._dynamic_default.get(name),
                ConfigSource.STATIC_BROKER: self._static.get(name),
                ConfigSource.DEFAULT: default,
            }.get(source)
            if text is not None:
                yield Synonym(name, None if setting.sensitive else text, source)

    def source(self, name: str) -> ConfigSource:
        """Where the effective value comes from."""
        places = self.synonyms(name)
        return places[0].source if places else ConfigSource.DEFAULT

    def describe(self, name: str) -> ConfigEntry:
        """One setting for DescribeConfigs."""
        if is_unknown(name):
            return self._describe_unknown(name)
        setting, value, places = broker_setting(name, self.era), self[name], self.synonyms(name)
        return ConfigEntry(
            name=name,
            value=None if value is None or setting.sensitive else shown(value),
            source=places[0].source if places else ConfigSource.DEFAULT,
            read_only=setting.mode_in(self.era) is UpdateMode.READ_ONLY,
            sensitive=setting.sensitive,
            type=setting.described_type(self.era),
            synonyms=places,
            doc=setting.doc,
        )

    def describe_default(self, name: str) -> ConfigEntry:
        """What is set for all brokers, whatever this one has of its own."""
        entry, text = self.describe(name), self._dynamic_default[name]
        places = (Synonym(name, None if entry.sensitive else text, ConfigSource.DYNAMIC_DEFAULT_BROKER),)
        return replace(entry, value=places[0].value, source=ConfigSource.DYNAMIC_DEFAULT_BROKER, synonyms=places)

    def _describe_unknown(self, name: str) -> ConfigEntry:
        """As in Kafka read-only and without documentation; only settings that are always dynamic show a value."""
        shows, type_ = name in DYNAMIC_ONLY, DYNAMIC_ONLY[name].type if name in DYNAMIC_ONLY else ConfigType.UNKNOWN
        found = {
            ConfigSource.DYNAMIC_BROKER: self._dynamic, ConfigSource.DYNAMIC_DEFAULT_BROKER: self._dynamic_default,
            ConfigSource.STATIC_BROKER: self._static,
        }  # fmt: skip
        places = tuple(
            Synonym(name, texts[name] if shows else None, source) for source, texts in found.items() if name in texts
        )
        value, source = (places[0].value, places[0].source) if places else (None, ConfigSource.STATIC_BROKER)
        return ConfigEntry(name, value, source, True, not shows, type_, places, "")

    def names(self) -> list[str]:
        """Names of all settings of this era."""
        return [s.name for s in BROKER_SETTINGS.values() if s.era in (None, self.era) and not s.is_internal(self.era)]

    def described(self) -> list[str]:
        """Names of everything that DescribeConfigs shows: all settings, and what was kept for plug-ins."""
        given = {**self._dynamic, **self._dynamic_default, **self._static}
        return self.names() + [name for name in given if is_unknown(name)]
