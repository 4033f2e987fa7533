"""Settings are changed while everything runs: what AlterConfigs and IncrementalAlterConfigs (KIP-339) mean.

AlterConfigs replaces everything that was set before, which is why it was followed by operations on single settings:

| operation | log.cleanup.policy = "delete" becomes |
|---|---|
| SET compact | compact |
| DELETE | not set: the default |
| APPEND compact | delete,compact |
| SUBTRACT delete | "" |

Pure rules, shared by both generations; each has its own order and words where they differ.
Source: `ConfigAdminManager`, `ZkAdminManager.alterConfigs`, `AdminZkClient`.
"""

from __future__ import annotations

from typing import Any

from broker_core.metadata.config_entities import node_id_in
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides
from broker_core.metadata.configs_types import ConfigRuleError, ConfigType
from broker_core.metadata.errors import RequestError
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

TOPIC, BROKER = 2, 4
TYPE_NAMES = {TOPIC: "TOPIC", BROKER: "BROKER"}
SET, DELETE, APPEND, SUBTRACT = range(4)

Settings = dict[str, str]


def is_incremental(resource: Any) -> bool:
    """Whether a resource of a request is changed setting by setting."""
    return isinstance(resource, m.IncrementalAlterConfigsRequest.AlterConfigsResource)


def check_keys(resource: Any) -> None:
    """Each setting once. Raises RequestError."""
    keys = [each.name for each in resource.configs]
    if any(keys.count(key) > 1 for key in keys):
        raise RequestError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")


def check_broker_name(name: str, broker_id: int) -> None:
    """A broker changes its own settings ("1") and those of all brokers (""). Raises RequestError."""
    if name and node_id_in(name) is None:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
    if name not in ("", str(broker_id)):
        message = f"Unexpected broker id, expected {broker_id}, but received {name}"
        raise RequestError(ErrorCode.INVALID_REQUEST, message)


def check_values(resource: Any) -> None:
    """A value for everything that is not taken back. Raises RequestError."""
    incremental = is_incremental(resource)
    nulls = [
        each.name for each in resource.configs
        if each.value is None and not (incremental and each.config_operation == DELETE)
    ]  # fmt: skip
    if nulls:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")


def altered(resource: Any, before: Settings) -> Settings:
    """The settings after the request's operations. Raises RequestError."""
    incremental = is_incremental(resource)
    after = dict(before) if incremental else {}
    check_values(resource)
    for config in resource.configs:
        operation = config.config_operation if incremental else SET
        if operation == DELETE:
            after.pop(config.name, None)
        elif operation == SET:
            after[config.name] = config.value
        elif operation in (APPEND, SUBTRACT):
            after[config.name] = _list_changed(resource, config, after, operation)
        else:
            raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR)
    return after


def _list_changed(resource: Any, config: Any, settings: Settings, operation: int) -> str:
    known = (TOPIC_SETTINGS if resource.resource_type == TOPIC else BROKER_SETTINGS).get(config.name)
    if known is None:
        raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if known.type is not ConfigType.LIST:
        verb = "append" if operation == APPEND else "subtract"
        message = f"Config value {verb} is not allowed for config key: {config.name}"
        raise RequestError(ErrorCode.INVALID_CONFIG, message)
    return changed_list(settings.get(config.name, known.default or ""), config.value, operation)


def changed_list(text: str, given: str, operation: int) -> str:
    """APPEND or SUBTRACT on a list, comma by comma."""
    old, named = [each for each in text.split(",") if each], given.split(",")
    if operation == APPEND:
        return ",".join([*old, *(each for each in named if each not in old)])
    return ",".join(each for each in old if each not in named)


def check_topic(name: str, after: Settings, config: BrokerConfig) -> None:
    """Whether a topic can have these settings; raises RequestError in Kafka's words."""
    try:
        check_topic_overrides(after, config)
    except ConfigError as error:
        if error.what["code"] == "unknown_topic_setting":
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
        described = f"ConfigResource(type=TOPIC, name='{name}')"
        message = f"Invalid config value for resource {described}: {error}"
        raise RequestError(ErrorCode.INVALID_CONFIG, message) from None


def check_broker(name: str, after: Settings, config: BrokerConfig) -> None:
    """Whether a running broker with `config` can have these settings of its own (all brokers: name ""); raises
    RequestError."""
    try:
        probe, everybody = config.copy(), not name
        for key in dict.fromkeys([*after, *probe.dynamic(all_brokers=everybody)]):
            probe.set_dynamic(key, after.get(key), all_brokers=everybody)
    except ConfigError as error:
        required = "requirement failed: " if isinstance(error, ConfigRuleError) else ""
        raise RequestError(ErrorCode.INVALID_REQUEST, required + error.message) from None
