"""How much each class writes to the log: BROKER_LOGGER (8) of DescribeConfigs and IncrementalAlterConfigs, with KRaft.

    SET    org.apache.kafka.raft.KafkaRaftClient DEBUG     its own level
    SET    root ERROR                                      that of all which have none of their own
    DELETE org.apache.kafka.raft.KafkaRaftClient           as root again

A process knows its own loggers only, be it broker or controller, and forgets the levels when it ends: they stand in no
log. Nothing here writes to a log4j: what happens stands in the journal, at every level.
Source: RuntimeLoggerManager, LoggingController (KIP-412, KIP-1025).
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from broker_core.metadata.config_entities import node_id_in
from broker_core.metadata.configs_types import ConfigSource
from broker_core.metadata.errors import RequestError
from broker_core.metadata.logger_names import OF_ANY, OF_BROKERS, OF_CONTROLLERS
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

LOGGER = 8
ROOT = "root"
LEVELS = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
USUAL = "INFO"
SET, DELETE, APPEND, SUBTRACT = range(4)
OF_ROLES = {"broker": OF_BROKERS, "controller": OF_CONTROLLERS}


class Loggers:
    """Of one process; `roles`: as in `process.roles`."""

    def __init__(self, node_id: int, roles: Collection[str]) -> None:
        self.node_id = node_id
        self._levels = {ROOT: USUAL}
        parts = [OF_ANY, *(part for role, part in OF_ROLES.items() if role in roles)]
        found = (f"{package}.{one}" for part in parts for package, classes in part.items() for one in classes.split())
        self.names = (*sorted(one.removeprefix(".") for one in found), ROOT)

    def describe(self, name: str) -> list[Any]:
        """Each with its level, as DescribeConfigs shows it. Raises LookupError(error code, message)."""
        if name == "":
            raise LookupError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
        named = node_id_in(name)
        if named is None:
            raise LookupError(ErrorCode.INVALID_REQUEST, f"Broker id must be an integer, but it is: {name}")
        if named != self.node_id:
            message = f"Unexpected broker id, expected {self.node_id} but received {name}"
            raise LookupError(ErrorCode.INVALID_REQUEST, message)
        kind = m.DescribeConfigsResponse.DescribeConfigsResourceResult
        return [
            kind(name=one, value=self.level(one), read_only=False, is_sensitive=False, synonyms=[],
                 config_source=int(ConfigSource.DYNAMIC_BROKER_LOGGER), config_type=0, documentation="")
            for one in self.names
        ]  # fmt: skip

    def level(self, logger: str) -> str:
        return self._levels.get(logger) or self._levels[ROOT]

    def alter(self, resource: Any, validate_only: bool) -> None:
        """All that is wished of one resource, or nothing. Raises RequestError."""
        name = resource.resource_name
        named = node_id_in(name)
        if named is None:
            raise RequestError(ErrorCode.INVALID_REQUEST, f"Node id must be an integer, but it is: {name}")
        if named != self.node_id:
            message = f"Unexpected node id. Expected {self.node_id}, but received {name}"
            raise RequestError(ErrorCode.INVALID_REQUEST, message)
        for wish in resource.configs:
            self._check(wish)
        if validate_only:
            return
        for wish in resource.configs:
            if wish.config_operation == SET:
                self._levels[wish.name] = wish.value
            else:
                self._levels.pop(wish.name, None)

    def _check(self, wish: Any) -> None:
        operation, logger = wish.config_operation, wish.name
        if operation in (APPEND, SUBTRACT):
            verb = "APPEND" if operation == APPEND else "SUBTRACT"
            message = f"{verb} operation is not allowed for the BROKER_LOGGER resource"
            raise RequestError(ErrorCode.INVALID_REQUEST, message)
        if operation not in (SET, DELETE) or (operation == SET and wish.value is None):
            raise RequestError(ErrorCode.UNKNOWN_SERVER_ERROR)
        if logger not in self.names:
            raise RequestError(ErrorCode.INVALID_CONFIG, f"Logger {logger} does not exist!")
        if operation == SET and wish.value not in LEVELS:
            message = (f"Cannot set the log level of {logger} to {wish.value} as it is not a supported log level."
                       f" Valid log levels are {', '.join(LEVELS)}")  # fmt: skip
            raise RequestError(ErrorCode.INVALID_CONFIG, message)
        if operation == DELETE and logger == ROOT:
            message = "Removing the log level of the root logger is not allowed"
            raise RequestError(ErrorCode.INVALID_REQUEST, message)
