"""Settings of topics, brokers and groups: AlterConfigs and IncrementalAlterConfigs become ConfigRecords.

    SET retention.ms 60000 of topic orders   ConfigRecord(2, "orders", "retention.ms", "60000")
    DELETE it                                ConfigRecord(2, "orders", "retention.ms", null)

A resource is changed as a whole or not at all; other resources of the request do not care. A broker's settings are
written also where they stay the same: a broker reads files again then. The broker that forwards a request has looked
at its own settings before (`config_rules.check_broker`); the controller cannot, as it does not know them.

Who is eligible to lead depends on `min.insync.replicas`, so with eligible leader replicas (KIP-966)

- a change of it ends with a ClearElrRecord: nobody is eligible beside the ISR from then on
- it stands for all brokers at least, so that every controller decides by the same number, and never for one of them

Source: ConfigurationControlManager, ControllerConfigurationValidator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from broker_core.controller import config_rules as rules
from broker_core.controller.kraft.result import Records, Result
from broker_core.metadata import records as r
from broker_core.metadata.config_entities import node_id_in
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides
from broker_core.metadata.configs_types import ConfigType
from broker_core.metadata.configs_group import check_group
from broker_core.metadata.errors import RequestError
from broker_core.metadata.image import BROKER, GROUP, TOPIC, ConfigResource, MetadataImage
from broker_core.metadata.loggers import LOGGER
from broker_core.metadata.topic_names import validate
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

MIN_ISR = "min.insync.replicas"
ELR_FEATURE = "eligible.leader.replicas.version"
Changes = dict[str, str | None]
"""New values by name; None: not set any more."""


class SettingsControl:
    """Decides about settings. `is_node`: whether a broker or controller of this id is registered; `config`: the
    settings of this controller."""

    def __init__(
        self, image: MetadataImage, config: BrokerConfig, own_id: int, is_node: Callable[[int], bool]
    ) -> None:
        self.own_id = own_id
        self.image = image
        self.config = config
        self.is_node = is_node

    def alter(self, body: Any) -> Result:
        """Either request; each resource by itself."""
        incremental = isinstance(body, m.IncrementalAlterConfigsRequest)
        response = m.IncrementalAlterConfigsResponse if incremental else m.AlterConfigsResponse
        names = [(one.resource_type, one.resource_name) for one in body.resources]
        records: Records = []
        answers: dict[ConfigResource, Any] = {}
        for resource, name in zip(body.resources, names, strict=True):
            answer = answers[name] = response.AlterConfigsResourceResponse(
                resource_type=name[0], resource_name=name[1], error_message=None
            )
            try:
                if names.count(name) > 1:
                    raise RequestError(ErrorCode.INVALID_REQUEST, "Duplicate resource.")
                records += self.changes(name, self._wanted(name, resource))
            except RequestError as error:
                answer.error_code, answer.error_message = int(error.code), error.message
        return Result([] if body.validate_only else records, response(responses=list(answers.values())))

    # -- what is wanted ---------------------------------------------------------------------------
    def _wanted(self, name: ConfigResource, resource: Any) -> Changes:
        if name[0] == LOGGER and rules.is_incremental(resource) and name[1] != str(self.own_id):
            message = f"Unexpected node id. Expected {self.own_id}, but received {name[1]}"
            raise RequestError(ErrorCode.INVALID_REQUEST, message)
        if name[0] == LOGGER:  # whose process sets its levels by itself
            raise RequestError(ErrorCode.INVALID_REQUEST, "Unexpected resource type BROKER_LOGGER.")
        if name[0] not in (TOPIC, BROKER, GROUP):
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION, f"Unknown resource type {name[0]}.")
        now = self.image.configs.get(name, {})
        if not rules.is_incremental(resource):
            given = {one.name: one.value for one in resource.configs}
            return {**given, **{key: None for key in now if key not in given}}
        return {one.name: self._operated(name, one, now.get(one.name)) for one in resource.configs}

    def _operated(self, name: ConfigResource, wish: Any, now: str | None) -> str | None:
        operation = wish.config_operation
        if operation not in (rules.SET, rules.DELETE, rules.APPEND, rules.SUBTRACT):
            raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if operation not in (rules.APPEND, rules.SUBTRACT):
            return wish.value if operation == rules.SET else None
        known = (TOPIC_SETTINGS if name[0] == TOPIC else BROKER_SETTINGS).get(wish.name)
        if known is None or known.type is not ConfigType.LIST:
            verb = "APPEND" if operation == rules.APPEND else "SUBTRACT"
            message = f"Can't {verb} to key {wish.name} because its type is not LIST."
            raise RequestError(ErrorCode.INVALID_CONFIG, message)
        text = now if now is not None else known.default_in(self.config.era) or ""
        return rules.changed_list(text, ",".join(dict.fromkeys(wish.value.split(","))), operation)

    # -- whether it can be ------------------------------------------------------------------------
    def changes(self, name: ConfigResource, wanted: Changes, is_new: bool = False) -> Records:
        """Records of a change. `is_new`: the topic is made in the same breath. Raises RequestError."""
        now = self.image.configs.get(name, {})
        differ = {key: value for key, value in wanted.items() if name[0] == BROKER or now.get(key) != value}
        self._check_min_isr(name, differ)
        after = {key: value for key, value in {**now, **differ}.items() if value is not None}
        self._check(name, after)
        if not is_new:
            self._check_exists(name)
        records: Records = [
            (r.ConfigRecord(resource_type=name[0], resource_name=name[1], name=key, value=value), 0)
            for key, value in differ.items()
        ]
        return records + self._clearing(name, differ)

    def _check(self, name: ConfigResource, after: rules.Settings) -> None:
        kind, resource = name
        if kind == TOPIC:
            if not resource:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Default topic resources are not allowed.")
            validate(resource)
            self._check_settings(check_topic_overrides, after)
        elif kind == GROUP:
            if not resource:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
            self._check_settings(check_group, after)
        elif kind == BROKER and resource:
            named = node_id_in(resource)
            if named is None:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Unable to parse broker name as a base 10 number.")
            if named < 0:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Invalid negative broker ID.")

    def _check_settings(self, check: Callable[[rules.Settings, BrokerConfig], None], after: rules.Settings) -> None:
        try:
            check(after, self.config)
        except ConfigError as error:
            raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from None

    def _check_exists(self, name: ConfigResource) -> None:
        kind, resource = name
        if kind == BROKER and resource and not self.is_node(int(resource)):
            raise RequestError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"No node with id {resource} found.")
        if kind == TOPIC and resource not in self.image.topic_ids:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{resource}' does not exist.")

    # -- eligible leader replicas -----------------------------------------------------------------
    @property
    def _elr(self) -> bool:
        return self.image.features.get(ELR_FEATURE, 0) > 0

    def _check_min_isr(self, name: ConfigResource, wanted: Changes) -> None:
        if name[0] != BROKER or MIN_ISR not in wanted or not self._elr:
            return
        if name[1]:
            message = f"Broker-level {MIN_ISR} cannot be altered while ELR is enabled."
            raise RequestError(ErrorCode.INVALID_CONFIG, message)
        if wanted[MIN_ISR] is None:
            message = f"Cluster-level {MIN_ISR} cannot be removed while ELR is enabled."
            raise RequestError(ErrorCode.INVALID_CONFIG, message)

    def _clearing(self, name: ConfigResource, wanted: Changes) -> Records:
        """What a change of the minimum makes of the eligible leader replicas."""
        if not self._elr or MIN_ISR not in wanted:
            return []
        return [(r.ClearElrRecord(topic_name=name[1] if name[0] == TOPIC else ""), 0)]

    def one_minimum(self, config: BrokerConfig) -> Records:
        """What turns eligible leader replicas on: one minimum for all brokers, none for a single one."""
        name = (BROKER, "")
        found: Records = []
        if MIN_ISR not in self.image.configs.get(name, {}):
            value = str(config[MIN_ISR])
            found.append((r.ConfigRecord(resource_type=BROKER, resource_name="", name=MIN_ISR, value=value), 0))
        for (kind, resource), settings in self.image.configs.items():
            if kind == BROKER and resource and MIN_ISR in settings:
                one = r.ConfigRecord(resource_type=BROKER, resource_name=resource, name=MIN_ISR, value=None)
                found.append((one, 0))
        return found
