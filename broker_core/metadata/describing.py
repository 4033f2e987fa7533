"""Settings as DescribeConfigs 32 shows them, at a broker or at a controller.

| resource | name | read at |
|---|---|---|
| topic (2) | orders | any broker, any controller |
| broker (4) | "1", "101" | that broker or controller |
| broker (4) | "" (all brokers) | any of them |
| loggers (8), with KRaft | "1", "101" | that broker or controller |
| group (32), with KRaft | billing | any broker, any controller; whether there is such a group or not |

Source: ConfigHelper.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from broker_core.metadata.config_entities import node_id_in
from broker_core.metadata.configs import BrokerConfig, ConfigEntry
from broker_core.metadata.configs_group import describe_group
from broker_core.metadata.configs_topics import describe_topic
from broker_core.metadata.configs_types import KRAFT
from broker_core.metadata.loggers import Loggers
from broker_core.metadata.topic_names import problem_with
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

TOPIC, BROKER, BROKER_LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32


@dataclass(frozen=True, slots=True)
class Described:
    """Who is asked: its id, its own settings, what topics have set (None: there is no such topic), and groups; the
    levels of its loggers, with KRaft."""

    id: int
    config: BrokerConfig
    overrides: Callable[[str], Mapping[str, str] | None]
    of_group: Callable[[str], Mapping[str, str]]
    loggers: Loggers | None = None


def describe(owner: Described, resource: Any, request: Any) -> Any:
    """What is told of one resource of a DescribeConfigs request."""
    answer = m.DescribeConfigsResponse.DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=[]
    )
    asked = resource.configuration_keys
    try:
        if resource.resource_type == BROKER_LOGGER and owner.loggers is not None:
            found = owner.loggers.describe(resource.resource_name)
        else:
            found = [_shown(entry, request) for entry in _entries(owner, resource)]
    except LookupError as error:
        answer.error_code, answer.error_message = error.args
        return answer
    answer.configs = [one for one in found if not asked or one.name in asked]
    return answer


def _entries(owner: Described, resource: Any) -> list[ConfigEntry]:
    """All settings of a resource. Raises LookupError(error code, message)."""
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        if problem_with(name) is not None:
            raise LookupError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem_with(name)}")
        overrides = owner.overrides(name)
        if overrides is None:
            raise LookupError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return describe_topic(overrides, owner.config)
    if resource.resource_type == CLIENT_METRICS:
        message = "Config type client-metrics is only supported on KRaft clusters"
        if not name:
            message = "Client metrics subscription name must not be empty"
        raise LookupError(ErrorCode.INVALID_REQUEST, message)
    if resource.resource_type == GROUP and owner.config.era == KRAFT:
        if not name:
            raise LookupError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
        return describe_group(owner.of_group(name), owner.config)
    if resource.resource_type != BROKER:
        raise LookupError(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST.message)
    if name == "":
        return [owner.config.describe_default(key) for key in owner.config.dynamic(all_brokers=True)]
    if node_id_in(name) is None:
        raise LookupError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if name != str(owner.id):
        message = f"Unexpected broker id, expected {owner.id} or empty string, but received {name}"
        raise LookupError(ErrorCode.INVALID_REQUEST, message)
    return broker_entries(owner.config)


def broker_entries(config: BrokerConfig) -> list[ConfigEntry]:
    """All settings of a broker."""
    return [config.describe(key) for key in config.described()]


def _shown(entry: ConfigEntry, request: Any) -> Any:
    synonym = m.DescribeConfigsResponse.DescribeConfigsSynonym
    return m.DescribeConfigsResponse.DescribeConfigsResourceResult(
        name=entry.name,
        value=entry.value,
        read_only=entry.read_only,
        config_source=int(entry.source),
        is_sensitive=entry.sensitive,
        synonyms=[
            synonym(name=one.name, value=one.value, source=int(one.source)) for one in entry.synonyms
        ] if request.include_synonyms else [],
        config_type=int(entry.type),
        documentation=(entry.doc or None) if request.include_documentation else None,
    )  # fmt: skip
