"""What a setting is: its type, its default, what it accepts, and who may change it while a broker runs.

Kafka describes every setting by a `ConfigDef` entry; a `Setting` here is the same entry as data. The
numbers of `ConfigType` and `ConfigSource` are those of the DescribeConfigs answer, and the texts of
`ConfigError` are Kafka's own, because learners meet them in the logs of real clusters:

| given | refused with |
|---|---|
| segment.bytes=3 | Invalid value 3 for configuration segment.bytes: Value must be at least 14 |
| retention.ms=abc | Invalid value abc for configuration retention.ms: Not a number of type LONG |

Settings have two eras: `zookeeper` (Apache Kafka 3.9) and `kraft` (4.x). Some exist in one of them only,
some changed their default or their limits on the way (KIP-1030).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from typing import Any

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem, told
from broker_core.metadata.configs_checks import Check

ZOOKEEPER, KRAFT = "zookeeper", "kraft"
ERAS = (ZOOKEEPER, KRAFT)


class ConfigType(IntEnum):
    """Types of values, with the numbers of DescribeConfigs (KIP-569)."""

    UNKNOWN = 0
    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9


class UpdateMode(StrEnum):
    """Whether a setting may change while the broker runs (KIP-226)."""

    READ_ONLY = "read-only"
    PER_BROKER = "per-broker"
    CLUSTER_WIDE = "cluster-wide"


class ConfigSource(IntEnum):
    """Where an effective value comes from, with the numbers of DescribeConfigs."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    DYNAMIC_BROKER_LOGGER = 6
    GROUP = 8


class ConfigError(Refusal, ValueError):
    """A setting that is unknown or a value that does not fit; `hint` says what was probably meant.

    The English sentences are Kafka's own, which a broker answers over the wire: `message`, without a hint.
    """

    def __init__(self, what: Problem, name: str, hint: Problem | None = None) -> None:
        super().__init__(what if hint is None else problem("hinted", what=what, hint=hint), name)
        self.what = what
        self.name = name
        self.hint = hint

    @property
    def message(self) -> str:
        """What Kafka says."""
        return told(self.what)

    def __reduce__(self) -> tuple[type[ConfigError], tuple[Problem, str, Problem | None]]:
        return type(self), (self.what, self.name, self.hint)


class ConfigRuleError(ConfigError):
    """Two settings that do not go together; Kafka writes "requirement failed: " in front (Scala's `require`)."""


def invalid(name: str, value: object, words: str) -> ConfigError:
    """A value that does not fit, for the reason that Kafka gives."""
    return ConfigError(problem("invalid_value", given=shown(value), name=name, words=words), name)


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting.

    `default` is the text a file would hold (None: not set); `era` names the only era it exists in;
    what begins with `kraft_` replaces default, check and mode in 4.x, and the type as which it is described there;
    `internal` settings are not described, unless they are `kraft_public` in 4.x.
    """

    name: str
    type: ConfigType
    default: str | None
    check: Check | None
    mode: UpdateMode
    doc: str
    era: str | None = None
    kraft_default: str | None = None
    kraft_check: Check | None = None
    internal: bool = False
    kraft_public: bool = False
    kraft_mode: UpdateMode | None = None
    kraft_type: ConfigType | None = None

    def default_in(self, era: str) -> str | None:
        return self.kraft_default if era == KRAFT and self.kraft_default is not None else self.default

    def check_in(self, era: str) -> Check | None:
        return self.kraft_check if era == KRAFT and self.kraft_check is not None else self.check

    def is_internal(self, era: str) -> bool:
        return self.internal and not (era == KRAFT and self.kraft_public)

    def mode_in(self, era: str) -> UpdateMode:
        return self.kraft_mode if era == KRAFT and self.kraft_mode is not None else self.mode

    def described_type(self, era: str) -> ConfigType:
        return self.kraft_type if era == KRAFT and self.kraft_type is not None else self.type

    def parse(self, text: str | None, era: str = ZOOKEEPER) -> Any:
        """The typed value of a text: bool, int, float, str, list of str, or None when nothing is set."""
        if text is None:
            return None
        value = _PARSERS[self.type](self, text)
        check = self.check_in(era)
        words = check.problem(value) if check is not None else None
        if words is not None:
            raise invalid(self.name, value, words)
        return value

    @property
    def sensitive(self) -> bool:
        """Whether its value is never shown."""
        return self.type is ConfigType.PASSWORD


_LIMITS = {ConfigType.INT: 2**31, ConfigType.SHORT: 2**15, ConfigType.LONG: 2**63}


def _parse_boolean(setting: Setting, text: str) -> bool:
    word = text.strip().lower()
    if word not in ("true", "false"):
        raise invalid(setting.name, text, "Expected value to be either true or false")
    return word == "true"


def _parse_integer(setting: Setting, text: str) -> int:
    word, limit = text.strip(), _LIMITS[setting.type]
    found = re.fullmatch(r"([+-]?)0*([0-9]{1,20})", word)
    if found is None or not -limit <= (value := int(found[1] + found[2])) < limit:
        raise invalid(setting.name, text, f"Not a number of type {setting.type.name}")
    return value


def _parse_double(setting: Setting, text: str) -> float:
    word = text.strip()
    if not re.fullmatch(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?", word):
        raise invalid(setting.name, text, "Not a number of type DOUBLE")
    return float(word)


def _parse_list(_setting: Setting, text: str) -> list[str]:
    return re.split(r"\s*,\s*", text.strip()) if text.strip() else []


def _parse_text(_setting: Setting, text: str) -> str:
    return text.strip()


_PARSERS = {
    ConfigType.BOOLEAN: _parse_boolean,
    ConfigType.INT: _parse_integer,
    ConfigType.SHORT: _parse_integer,
    ConfigType.LONG: _parse_integer,
    ConfigType.DOUBLE: _parse_double,
    ConfigType.LIST: _parse_list,
    ConfigType.STRING: _parse_text,
    ConfigType.CLASS: _parse_text,
    ConfigType.PASSWORD: _parse_text,
}


def shown(value: object) -> str:
    """A typed value as Kafka prints it: `true`, `0.5`, `compact,delete`, `1.7976931348623157E308`."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return ",".join(value)
    if isinstance(value, float):
        return repr(value).replace("e+", "E").replace("e", "E")
    return str(value)
