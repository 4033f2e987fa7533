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
