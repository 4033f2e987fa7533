"""Which record format a topic's log is written in: `message.format.version`, and when it counts.

| `inter.broker.protocol.version` | `message.format.version` (topic, else `log.message.format.version`) |
|---|---|
| 3.0-IV1 or later, and KRaft always | ignored: 3.0-IV1 is in force, magic 2 (KIP-724) |
| below that, and the topic's is above it | the topic's is ignored: brokers that are not upgraded could not read it |
| below that | in force |

So an upgrade in the old days had three steps, and the formats changed with the last: new software with both settings at
the old release, then the protocol, then the format, when no old client was left for which to convert.

A broker does not start with a `log.message.format.version` that needs a later protocol: the default, 3.0-IV1, needs
0.11.0. Sources: `TopicConfigHandler.excludedConfigs`, `KafkaConfig.validateValues`, `LogConfig.MessageFormatVersion`
of 3.9.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker_core.kernel.problems import Problem, problem
from broker_core.log.releases import magic_of, release_of
from broker_core.metadata.configs_types import ZOOKEEPER

if TYPE_CHECKING:
    from broker_core.metadata.configs import BrokerConfig

FORMAT = "message.format.version"
BROKER_FORMAT = f"log.{FORMAT}"
PROTOCOL = "inter.broker.protocol.version"
IN_FORCE = "3.0-IV1"
_FIRST_WITHOUT = release_of(IN_FORCE)
_NEEDS = {0: "0.8.0", 1: "0.10.0", 2: "0.11.0"}


def format_in_force(overrides: Mapping[str, str], broker: BrokerConfig) -> str:
    """The release in whose format a topic with these settings is written."""
    if formats_are_ignored(broker):
        return IN_FORCE
    asked = overrides.get(FORMAT)
    if asked is None or release_of(asked) > release_of(broker[PROTOCOL]):
        asked = broker[BROKER_FORMAT]
    return str(asked)


def formats_are_ignored(broker: BrokerConfig) -> bool:
    """Since 3.0 logs are written in magic 2."""
    return broker.era != ZOOKEEPER or release_of(broker[PROTOCOL]) >= _FIRST_WITHOUT


def ignored_format(overrides: Mapping[str, str], broker: BrokerConfig) -> Problem | None:
    """What a broker warns of when a topic gets these settings: its format is not the one that is asked for."""
    asked = overrides.get(FORMAT)
    if asked is None or broker.era != ZOOKEEPER:
        return None
    if formats_are_ignored(broker):
        return problem("format_ignored", given=asked) if magic_of(asked) < 2 else None
    if release_of(asked) > release_of(broker[PROTOCOL]):
        return problem("format_above_protocol", given=asked, most=broker[PROTOCOL])
    return None


def rule_broken(broker: BrokerConfig) -> str | None:
    """Why a broker does not start with these settings, in Kafka's words."""
    if formats_are_ignored(broker) or magic_of(broker[BROKER_FORMAT]) <= magic_of(broker[PROTOCOL]):
        return None
    return (
        f"log.message.format.version {broker[BROKER_FORMAT]} can only be used when inter.broker.protocol.version is"
        f" set to version {_NEEDS[magic_of(broker[BROKER_FORMAT])]} or higher"
    )
