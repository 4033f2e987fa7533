"""Settings are changed while everything runs: AlterConfigs (33) and IncrementalAlterConfigs (44, KIP-339).

    /config/topics/orders or /config/brokers/1   read, changed, checked, written back
    /config/changes/config_change_N              a slip, so that every broker reads it again

Any broker may change a topic or the default of all brokers; a single broker's settings only that broker
itself. AlterConfigs replaces everything that was set before, which is why it was followed by:

| operation | log.cleanup.policy = "delete" becomes |
|---|---|
| SET compact | compact |
| DELETE | not set: the default |
| APPEND compact | delete,compact |
| SUBTRACT delete | "" |

Source: `ZkAdminManager.alterConfigs`, `AdminZkClient`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.metadata import znodes
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides
from broker_core.metadata.configs_types import ConfigType
from broker_core.metadata.errors import RequestError
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import ZkClient

TOPIC, BROKER = 2, 4
TYPE_NAMES = {TOPIC: "TOPIC", BROKER: "BROKER"}
SET, DELETE, APPEND, SUBTRACT = range(4)

Done = Callable[[Any, Any], None]
Settings = dict[str, str]


@dataclass(slots=True)
class _Alteration:
    """One request on its way. `accepted`: resources that may be changed; all share the order of the request."""

    request: Any
    answers: list[Any]
    response: Any
    done: Done
    context: Any
    accepted: list[tuple[Any, Any]] = field(default_factory=list)  # resource, its answer

    def finish(self) -> None:
        self.done(self.context, self.response)


class ConfigAdmin:
    """One in every broker."""

    def __init__(self, node: Node, zk: ZkClient, cache: MetadataCache, config: BrokerConfig, broker_id: int) -> None:
        self.node = node
        self.zk = zk
        self.cache = cache
        self.config = config
        self.broker_id = broker_id

    def alter_configs(self, request: m.AlterConfigsRequest, done: Done, context: Any = None) -> None:
        """Replace all settings of each resource; `done(context, AlterConfigsResponse)`."""
        self._begin(request, m.AlterConfigsResponse, done, context)

    def incremental_alter_configs(
        self, request: m.IncrementalAlterConfigsRequest, done: Done, context: Any = None
    ) -> None:
        """Change single settings of each resource; `done(context, IncrementalAlterConfigsResponse)`."""
        self._begin(request, m.IncrementalAlterConfigsResponse, done, context)

    # --- read ------------------------------------------------------------------------------------

    def _begin(self, request: Any, kind: Any, done: Done, context: Any) -> None:
        answers = [
            kind.AlterConfigsResourceResponse(
                resource_type=each.resource_type, resource_name=each.resource_name, error_message=None
            )
            for each in request.resources
        ]
        alteration = _Alteration(request, answers, kind(responses=answers), done, context)
        names = [(each.resource_type, each.resource_name) for each in request.resources]
        for resource, answer in zip(request.resources, answers, strict=True):
            try:
                if names.count((resource.resource_type, resource.resource_name)) > 1:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once")
                self._check_resource(resource)
                alteration.accepted.append((resource, answer))
            except RequestError as error:
                answer.error_code, answer.error_message = error.code, error.message
        reads: list[p.Operation] = [p.GetData(_path(resource)) for resource, _ in alteration.accepted]
        self.zk.batch(reads, self._change, alteration)

    def _check_resource(self, resource: Any) -> None:
        """Raises RequestError for a resource that cannot be changed here."""
        name = resource.resource_name
        keys = [each.name for each in resource.configs]
        twice = [key for key in dict.fromkeys(keys) if keys.count(key) > 1]
        if twice:
            raise RequestError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        if resource.resource_type == TOPIC:
            if not self.cache.contains(name):
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        elif resource.resource_type != BROKER:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
        elif name and not name.lstrip("-").isdigit():
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
        elif name not in ("", str(self.broker_id)):
            message = f"Unexpected broker id, expected {self.broker_id}, but received {name}"
            raise RequestError(ErrorCode.INVALID_REQUEST, message)

    # --- change and write ------------------------------------------------------------------------

    def _change(self, alteration: _Alteration, found: list[p.Result]) -> None:
        ops: list[p.Operation] = []
        written: list[tuple[Any, Any, Settings, Settings]] = []
        for (resource, answer), result in zip(alteration.accepted, found, strict=True):
            before = znodes.decode_config(result.data) if result.ok else {}
            try:
                after = _altered(resource, before)
                self._check(resource, after)
            except RequestError as error:
                answer.error_code, answer.error_message = error.code, error.message
                continue
            written.append((resource, answer, before, after))
            path, data = _path(resource), znodes.encode_config(after)
            ops.append(p.SetData(path, data) if result.ok else p.Create(path, data))
            slip = znodes.encode_config_change(*_entity(resource))
            ops.append(p.Create(znodes.CONFIG_CHANGE_PREFIX, slip, sequential=True))
        if alteration.request.validate_only:
            alteration.finish()
        else:
            self.zk.batch(ops, self._written, (alteration, written))

    def _written(
        self, context: tuple[_Alteration, list[tuple[Any, Any, Settings, Settings]]], results: list[p.Result]
    ) -> None:
        alteration, written = context
        for position, (resource, answer, before, after) in enumerate(written):
            if results[2 * position].ok:
                self._announce(resource, before, after)
            else:
                answer.error_code = ErrorCode.UNKNOWN_SERVER_ERROR
                answer.error_message = results[2 * position].code.name
        alteration.finish()

    def _check(self, resource: Any, after: Settings) -> None:
        """Whether the settings fit; raises RequestError in Kafka's words."""
        try:
            if resource.resource_type == TOPIC:
                check_topic_overrides(after, self.config)
            else:
                probe, everybody = self.config.copy(), not resource.resource_name
                for name in dict.fromkeys([*after, *probe.dynamic(all_brokers=everybody)]):
                    probe.set_dynamic(name, after.get(name), all_brokers=everybody)
        except ConfigError as error:
            if error.message.startswith("Unknown topic config name"):
                raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None
            if resource.resource_type == BROKER:
                raise RequestError(ErrorCode.INVALID_REQUEST, error.message) from None
            described = f"ConfigResource(type={TYPE_NAMES[resource.resource_type]}, name='{resource.resource_name}')"
            message = f"Invalid config value for resource {described}: {error}"
            raise RequestError(ErrorCode.INVALID_CONFIG, message) from None

    def _announce(self, resource: Any, before: Settings, after: Settings) -> None:
        entity, name = _entity(resource)
        shown = "default" if name == znodes.DEFAULT_ENTITY else entity.removesuffix("s")
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                self.node.emit(events.CONFIG_CHANGED, resource=shown, name=name, key=key, value=after.get(key))


def _entity(resource: Any) -> tuple[str, str]:
    """("topics", "orders") or ("brokers", "1" | "<default>")."""
    if resource.resource_type == TOPIC:
        return "topics", resource.resource_name
    return "brokers", resource.resource_name or znodes.DEFAULT_ENTITY


def _path(resource: Any) -> str:
    return znodes.config_path(*_entity(resource))


def _altered(resource: Any, before: Settings) -> Settings:
    """The settings after the request's operations. Raises RequestError."""
    incremental = isinstance(resource, m.IncrementalAlterConfigsRequest.AlterConfigsResource)
    after = dict(before) if incremental else {}
    nulls = [
        each.name for each in resource.configs
        if each.value is None and not (incremental and each.config_operation == DELETE)
    ]  # fmt: skip
    if nulls:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {', '.join(nulls)}")
    for config in resource.configs:
        operation = config.config_operation if incremental else SET
        if operation == DELETE:
            after.pop(config.name, None)
            continue
        if operation == SET:
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
    text = settings.get(config.name, known.default or "")
    old, given = [each for each in text.split(",") if each], config.value.split(",")
    if operation == APPEND:
        return ",".join([*old, *(each for each in given if each not in old)])
    return ",".join(each for each in old if each not in given)
