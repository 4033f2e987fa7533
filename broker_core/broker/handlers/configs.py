"""Settings are shown: DescribeConfigs 32.

| resource | name | read at |
|---|---|---|
| topic (2) | orders | any broker |
| broker (4) | "1" | that broker |
| broker (4) | "" (all brokers) | any broker |

Changing them is the cluster's business (`cluster.port`); each broker is told and takes it over (`broker.configs`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.broker.connections import RequestContext
from broker_core.metadata.configs import BrokerConfig, ConfigEntry
from broker_core.metadata.configs_topics import describe_topic
from broker_core.metadata.topic_names import problem_with
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker

TOPIC, BROKER, CLIENT_METRICS = 2, 4, 16


def describe(broker: Broker, context: RequestContext) -> None:
    """Values with where they come from, and on wish the chain of synonyms and the documentation.

    The settings of a topic are asked for: this broker may have no replica of it.
    """
    asked = [one.resource_name for one in context.body.resources if one.resource_type == TOPIC]
    known = [name for name in dict.fromkeys(asked) if broker.cache.contains(name)]
    broker.cluster.read_topic_settings(known, _describe_all, (broker, context))


def _describe_all(state: tuple[Broker, RequestContext]) -> None:
    broker, context = state
    results = [_describe(broker, resource, context.body) for resource in context.body.resources]
    context.respond(m.DescribeConfigsResponse(results=results))


def _describe(broker: Broker, resource: Any, request: Any) -> Any:
    answer = m.DescribeConfigsResponse.DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=[]
    )
    try:
        entries = _entries(broker, resource)
    except LookupError as error:
        answer.error_code, answer.error_message = error.args
        return answer
    asked = resource.configuration_keys
    answer.configs = [_shown(entry, request) for entry in entries if not asked or entry.name in asked]
    return answer


def _entries(broker: Broker, resource: Any) -> list[ConfigEntry]:
    """All settings of a resource. Raises LookupError(error code, message)."""
    name = resource.resource_name
    if resource.resource_type == TOPIC:
        if problem_with(name) is not None:
            raise LookupError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic name is invalid: {problem_with(name)}")
        if not broker.cache.contains(name):
            raise LookupError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
        return describe_topic(broker.configs.overrides.get(name, {}), broker.config)
    if resource.resource_type == CLIENT_METRICS:
        message = "Config type client-metrics is only supported on KRaft clusters"
        if not name:
            message = "Client metrics subscription name must not be empty"
        raise LookupError(ErrorCode.INVALID_REQUEST, message)
    if resource.resource_type != BROKER:
        raise LookupError(ErrorCode.INVALID_REQUEST, ErrorCode.INVALID_REQUEST.message)
    if name == "":
        return [broker.config.describe_default(key) for key in broker.config.dynamic(all_brokers=True)]
    if not name.lstrip("-").isdigit():
        raise LookupError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
    if name != str(broker.broker_id):
        message = f"Unexpected broker id, expected {broker.broker_id} or empty string, but received {name}"
        raise LookupError(ErrorCode.INVALID_REQUEST, message)
    return broker_entries(broker.config)


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
