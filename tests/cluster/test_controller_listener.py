"""The controller listener of a process that is a broker, too: whoever connects there speaks to the controller (KIP-919)."""

from __future__ import annotations

import struct
import time
from collections.abc import Iterator
from typing import Any

import pytest

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.conftest import PATIENCE_S, free_ports
from tests.oracle.asking import CLOSED, Connection
from tests.oracle.requests import create, metadata, topic

PLACE = "broker-1:CONTROLLER"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    cluster = {"brokers": 1, "controller": "kraft", "port": free_ports(101)}
    found = LiveLab(run_from_dict({"cluster": cluster}), tmp_path_factory.mktemp("combined"))
    found.start()
    yield found
    found.stop()


@pytest.fixture
def controller(lab: LiveLab) -> Iterator[Connection]:
    found = Connection(f"127.0.0.1:{lab.server.ports[PLACE]}")
    yield found
    found.close()


def described(connection: Connection) -> Any:
    return connection.ask(ApiKey.DESCRIBE_CLUSTER, 2, m.DescribeClusterRequest(endpoint_type=2))


def test_it_says_where_controllers_listen_and_makes_topics(lab: LiveLab, controller: Connection) -> None:
    found = described(controller)
    assert [(one.broker_id, one.port) for one in found.brokers] == [(1, lab.server.ports[PLACE])]
    assert found.controller_id == 1
    made = controller.ask(ApiKey.CREATE_TOPICS, 7, create(topic("made-there")))
    assert [one.error_code for one in made.topics] == [0]
    broker = Connection(f"127.0.0.1:{lab.server.ports['broker-1']}")
    deadline = time.monotonic() + PATIENCE_S
    while broker.ask(ApiKey.METADATA, 12, metadata("made-there")).topics[0].error_code:
        assert time.monotonic() < deadline
    broker.close()


def test_it_shows_its_own_settings_and_those_of_topics(controller: Connection) -> None:
    retained = topic("kept-briefly", retention_ms="60000")
    assert [one.error_code for one in controller.ask(ApiKey.CREATE_TOPICS, 7, create(retained)).topics] == [0]
    alter = m.IncrementalAlterConfigsRequest
    change = alter.AlterableConfig(name="log.cleaner.threads", config_operation=0, value="2")
    controller.ask(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, alter(
        resources=[alter.AlterConfigsResource(resource_type=4, resource_name="", configs=[change])], validate_only=False,
    ))  # fmt: skip
    asked = m.DescribeConfigsRequest.DescribeConfigsResource
    resources = [(2, "kept-briefly"), (4, "1"), (4, ""), (4, "9"), (2, "nowhere")]
    answer = controller.ask(ApiKey.DESCRIBE_CONFIGS, 4, m.DescribeConfigsRequest(
        resources=[asked(resource_type=kind, resource_name=name, configuration_keys=None) for kind, name in resources],
    ))  # fmt: skip
    shown = [{one.name: (one.value, one.config_source) for one in result.configs} for result in answer.results]
    assert shown[0]["retention.ms"] == ("60000", 1)
    assert shown[1]["node.id"] == ("1", 4) and shown[1]["log.cleaner.threads"] == ("2", 3)
    assert shown[2] == {"log.cleaner.threads": ("2", 3), "min.insync.replicas": ("1", 3)}  # the latter for ELR (KIP-966)
    assert [result.error_code for result in answer.results] == [0, 0, 0, 42, 3]


def test_requests_on_one_connection_are_answered_in_their_order(controller: Connection) -> None:
    for name in ("first", "second", "third"):
        controller.send(ApiKey.CREATE_TOPICS, 7, create(topic(name)))
    answers = [controller.read(ApiKey.CREATE_TOPICS, 7).topics[0].name for _ in range(3)]
    assert answers == ["first", "second", "third"]


def test_what_a_controller_does_not_offer_ends_the_connection(controller: Connection) -> None:
    assert controller.ask(ApiKey.METADATA, 12, metadata()) == CLOSED


def test_bytes_that_are_no_request_end_the_connection(controller: Connection) -> None:
    controller.write(struct.pack(">ihhi", 8, ApiKey.CREATE_TOPICS, 7, 1))
    assert controller.frame() is None


def test_it_listens_again_after_a_new_start(lab: LiveLab, controller: Connection) -> None:
    assert lab.submit({"do": "kill", "broker": 1}).result(30)["ok"]
    assert controller.frame() is None
    assert lab.submit({"do": "restart", "broker": 1}).result(30)["ok"]
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            again = Connection(f"127.0.0.1:{lab.server.ports[PLACE]}")
            break
        except ConnectionRefusedError:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    assert not isinstance(described(again), str)
    again.close()
