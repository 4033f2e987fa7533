"""Settings are changed while everything runs: AlterConfigs (33) and IncrementalAlterConfigs (44, KIP-339).

    /config/topics/orders or /config/brokers/1   read, changed, checked, written back
    /config/changes/config_change_N              a slip, so that every broker reads it again

Any broker may change a topic or the default of all brokers; a single broker's settings only that broker
itself. What the operations mean stands in `controller.config_rules`.

Source: `ZkAdminManager.alterConfigs`, `AdminZkClient`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from broker_core.kernel import events
from broker_core.kernel.node import Node
from broker_core.controller import config_rules as rules
from broker_core.controller.zk import znodes
from broker_core.metadata.config_entities import DEFAULT_ENTITY
from broker_core.metadata.cache import MetadataCache
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.errors import RequestError
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from broker_core.zookeeper import protocol as p
from broker_core.zookeeper.client import ZkClient

Done = Callable[[Any, Any], None]
Settings = rules.Settings


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
        rules.check_keys(resource)
        if resource.resource_type == rules.TOPIC:
            if not self.cache.contains(name):
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{name}' does not exist.")
        elif resource.resource_type != rules.BROKER:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Unknown resource type {resource.resource_type}")
        else:
            rules.check_broker_name(name, self.broker_id)

    # --- change and write ------------------------------------------------------------------------

    def _change(self, alteration: _Alteration, found: list[p.Result]) -> None:
        ops: list[p.Operation] = []
        written: list[tuple[Any, Any, Settings, Settings]] = []
        for (resource, answer), result in zip(alteration.accepted, found, strict=True):
            before = znodes.decode_config(result.data) if result.ok else {}
            try:
                after = rules.altered(resource, before)
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
        check = rules.check_topic if resource.resource_type == rules.TOPIC else rules.check_broker
        check(resource.resource_name, after, self.config)

    def _announce(self, resource: Any, before: Settings, after: Settings) -> None:
        entity, name = _entity(resource)
        shown = "default" if name == DEFAULT_ENTITY else entity.removesuffix("s")
        for key in dict.fromkeys([*before, *after]):
            if before.get(key) != after.get(key):
                self.node.emit(events.CONFIG_CHANGED, resource=shown, name=name, key=key, value=after.get(key))


def _entity(resource: Any) -> tuple[str, str]:
    """("topics", "orders") or ("brokers", "1" | "<default>")."""
    if resource.resource_type == rules.TOPIC:
        return "topics", resource.resource_name
    return "brokers", resource.resource_name or DEFAULT_ENTITY


def _path(resource: Any) -> str:
    return znodes.config_path(*_entity(resource))
