"""Settings are shown: DescribeConfigs 32 (`metadata.describing`); whose there are: ListConfigResources 74 (KIP-1142).

Changing them is the cluster's business (`cluster.port`); each broker is told and takes it over (`broker.configs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from broker_core.broker.connections import RequestContext
from broker_core.metadata import describing
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.broker.broker import Broker


def describe(broker: Broker, context: RequestContext) -> None:
    """Values with where they come from, and on wish the chain of synonyms and the documentation.

    The settings of a topic are asked for: this broker may have no replica of it.
    """
    asked = [one.resource_name for one in context.body.resources if one.resource_type == describing.TOPIC]
    known = [name for name in dict.fromkeys(asked) if broker.cache.contains(name)]
    broker.cluster.read_topic_settings(known, _describe_all, (broker, context))


def _describe_all(state: tuple[Broker, RequestContext]) -> None:
    broker, context = state

    def overrides(topic: str) -> Mapping[str, str] | None:
        return broker.configs.overrides.get(topic, {}) if broker.cache.contains(topic) else None

    def of_group(group: str) -> Mapping[str, str]:
        return broker.groups.registry.overrides.get(group, {})

    owner = describing.Described(broker.broker_id, broker.config, overrides, of_group, broker.cluster.loggers)
    results = [describing.describe(owner, resource, context.body) for resource in context.body.resources]
    context.respond(m.DescribeConfigsResponse(results=results))


def list_resources(broker: Broker, context: RequestContext) -> None:
    """Topics, brokers, their loggers, and the groups that have settings of their own; without a wish all of them.

    Version 0 asks for client metrics alone, of which there are none.
    """
    cache = broker.cache
    brokers = [str(one) for one in sorted(cache.brokers)]
    named = {
        describing.TOPIC: sorted(cache.topic_names.values()), describing.BROKER: brokers,
        describing.BROKER_LOGGER: brokers, describing.CLIENT_METRICS: [],
        describing.GROUP: [name for name, own in sorted(broker.groups.registry.overrides.items()) if own],
    }  # fmt: skip
    wanted = context.body.resource_types or list(named) if context.api_version else [describing.CLIENT_METRICS]
    if not named.keys() >= set(wanted):
        context.respond(m.ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=[]))
        return
    kind = m.ListConfigResourcesResponse.ConfigResource
    found = [kind(resource_name=name, resource_type=one) for one in dict.fromkeys(wanted) for name in named[one]]
    context.respond(m.ListConfigResourcesResponse(error_code=ErrorCode.NONE, config_resources=found))
