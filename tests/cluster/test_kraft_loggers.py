"""Levels of loggers (BROKER_LOGGER) of brokers and controllers: the answers are those of Apache Kafka 4.3."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.cluster.kraft.config_admin import refusals_of, together, without
from broker_core.kernel.world import World
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

RAFT, SET, DELETE, APPEND = "org.apache.kafka.raft.KafkaRaftClient", 0, 1, 2
NO_LEVEL = (" as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN")
Wish = tuple[str, int, str | None]
INVALID_REQUEST, INVALID_CONFIG, UNKNOWN = 42, 40, -1
STEPS: list[tuple[str, Wish, tuple[int, str | None], tuple[str, str]]] = [
    ("101", (RAFT, SET, "DEBUG"), (0, None), ("DEBUG", "INFO")),
    ("101", (RAFT, SET, "debug"), (INVALID_CONFIG, f"Cannot set the log level of {RAFT} to debug{NO_LEVEL}"), ("DEBUG", "INFO")),
    ("101", ("kafka", SET, "INFO"), (INVALID_CONFIG, "Logger kafka does not exist!"), ("DEBUG", "INFO")),
    ("101", ("root", SET, "ERROR"), (0, None), ("DEBUG", "ERROR")),
    ("101", (RAFT, DELETE, None), (0, None), ("ERROR", "ERROR")),
    ("101", ("root", DELETE, None), (INVALID_REQUEST, "Removing the log level of the root logger is not allowed"), ("ERROR", "ERROR")),
    ("101", (RAFT, APPEND, "INFO"), (INVALID_REQUEST, "APPEND operation is not allowed for the BROKER_LOGGER resource"), ("ERROR", "ERROR")),
    ("102", (RAFT, SET, "INFO"), (INVALID_REQUEST, "Unexpected node id. Expected 101, but received 102"), ("ERROR", "ERROR")),
    *((name, (RAFT, SET, "INFO"), (INVALID_REQUEST, f"Node id must be an integer, but it is: {name}"), ("ERROR", "ERROR"))
      for name in ("", "--101", "\u00b2", "1" * 5000, "101 ", "4294967397")),
]


@pytest.fixture(scope="module")
def world() -> World:
    found = build_world(run_from_dict({"cluster": {"brokers": 1, "controllers": 3, "controller": "kraft"}, "seed": 1}))
    found.run_until(8_000_000)
    return found


def alter(name: str, *wishes: Wish, validate_only: bool = False) -> Any:
    kind = m.IncrementalAlterConfigsRequest
    configs = [kind.AlterableConfig(name=one, config_operation=how, value=value) for one, how, value in wishes]
    resource = kind.AlterConfigsResource(resource_type=8, resource_name=name, configs=configs)
    return kind(resources=[resource], validate_only=validate_only)


def asked(world: World, key: ApiKey, version: int, body: Any, controller: int = 101) -> Any:
    answers: list[Any] = []
    machine: Any = world.nodes[f"controller-{controller}"].machine
    machine.process.listener.serve(key, version, body, lambda _, answer: answers.append(answer), None)
    return answers[0]


def levels(world: World, name: str, *loggers: str) -> Any:
    kind = m.DescribeConfigsRequest
    resource = kind.DescribeConfigsResource(resource_type=8, resource_name=name, configuration_keys=list(loggers) or None)
    return asked(world, ApiKey.DESCRIBE_CONFIGS, 4, kind(resources=[resource])).results[0]


def test_a_controller_sets_the_levels_of_its_own_loggers_whether_it_is_active_or_not(world: World) -> None:
    for name, wish, said, then in STEPS:
        found = asked(world, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, alter(name, wish)).responses[0]
        assert (found.error_code, found.error_message, found.resource_type, found.resource_name) == (*said, 8, name)
        assert tuple(one.value for one in levels(world, "101", RAFT, "root").configs) == then, wish
    bad = alter("101", (RAFT, 9, "INFO"))
    found = asked(world, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, bad).responses[0]
    assert (found.error_code, found.error_message) == (
        UNKNOWN, "The server experienced an unexpected error when processing the request.")
    for controller in (102, 103):  # one of them is a standby at least
        body = alter(str(controller), (RAFT, SET, "TRACE"))
        assert asked(world, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body, controller).responses[0].error_code == 0


@pytest.mark.parametrize("controller", [101, 102, 103])
def test_they_are_changed_one_by_one_only(world: World, controller: int) -> None:
    kind = m.AlterConfigsRequest
    one = kind.AlterConfigsResource(resource_type=8, resource_name="", configs=[kind.AlterableConfig(name=RAFT, value="INFO")])
    found = asked(world, ApiKey.ALTER_CONFIGS, 2, kind(resources=[one], validate_only=False), controller).responses[0]
    assert (found.error_code, found.error_message) == (INVALID_REQUEST, "Unexpected resource type BROKER_LOGGER.")


def test_what_is_only_checked_changes_nothing(world: World) -> None:
    before = levels(world, "101", RAFT).configs[0].value
    body = alter("101", (RAFT, SET, "FATAL"), validate_only=True)
    assert asked(world, ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, body).responses[0].error_code == 0
    assert levels(world, "101", RAFT).configs[0].value == before


def test_each_process_shows_its_own_loggers_as_dynamic_settings(world: World) -> None:
    found = levels(world, "101")
    assert {(one.config_source, one.read_only, one.config_type, one.documentation) for one in found.configs} == {(6, False, 0, "")}
    names = {one.name for one in found.configs}
    assert len(names) == 115 and "kafka.server.ControllerApis" in names and "kafka.server.KafkaApis" not in names
    for name, message in (("", "Broker id must not be empty"), ("x", "Broker id must be an integer, but it is: x"),
                          ("1", "Unexpected broker id, expected 101 but received 1")):  # fmt: skip
        refused = levels(world, name)
        assert (refused.error_code, refused.error_message, refused.configs) == (INVALID_REQUEST, message, [])


def test_a_broker_keeps_them_from_the_controller_and_answers_in_the_order_of_the_request(world: World) -> None:
    machine: Any = world.nodes["broker-1"].machine
    loggers = machine.cluster.loggers
    assert len(loggers.names) == 135
    request = alter("1", ("kafka.server.KafkaApis", SET, "TRACE"))
    request.resources += alter("2", (RAFT, SET, "INFO")).resources
    refusals = refusals_of(request, 1, machine.config, loggers)
    assert without(request, refusals).resources == []
    answers = together(request, refusals, None).responses
    assert [(one.error_code, one.error_message) for one in answers] == [
        (0, None), (INVALID_REQUEST, "Unexpected node id. Expected 1, but received 2")]
    assert loggers.level("kafka.server.KafkaApis") == "TRACE"
