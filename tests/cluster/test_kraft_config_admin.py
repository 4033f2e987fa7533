"""A broker of a KRaft cluster refuses what it cannot be set to; the controller hears of the rest only."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.cluster.kraft.config_admin import refusals_of, together, without
from broker_core.metadata.configs import BrokerConfig
from broker_core.metadata.configs_types import KRAFT
from broker_core.metadata.loggers import Loggers
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

INCREMENTAL = m.IncrementalAlterConfigsRequest
TOPIC, BROKER = 2, 4


def resource(kind: int, name: str, *settings: tuple[str, int, str | None]) -> Any:
    configs = [INCREMENTAL.AlterableConfig(name=key, config_operation=how, value=value) for key, how, value in settings]
    return INCREMENTAL.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


@pytest.mark.parametrize(("kind", "name", "settings", "words"), [
    (BROKER, "2", (("num.io.threads", 0, "9"),), "Unexpected broker id, expected 1, but received 2"),
    (BROKER, "x", (("num.io.threads", 0, "9"),), "Node id must be an integer, but it is: x"),
    (BROKER, "1", (("num.io.threads", 0, "99"),), "Dynamic thread count update validation failed"),
    (BROKER, "", (("broker.id", 0, "9"),), "broker.id"),
    (BROKER, "1", (("num.io.threads", 2, "9"),), "Config value append is not allowed for config key: num.io.threads"),
    (TOPIC, "orders", (("retention.ms", 0, None),), "Null value not supported for : retention.ms"),
    (TOPIC, "orders", (("retention.ms", 0, "1"), ("retention.ms", 0, "2")), "Error due to duplicate config keys"),
    (3, "x", (), "Unknown resource type 3"),
])
def test_what_a_broker_refuses_by_itself(kind: int, name: str, settings: Any, words: str):
    request = INCREMENTAL(resources=[resource(kind, name, *settings)])
    found = refusals_of(request, 1, BrokerConfig(era=KRAFT), Loggers(1, ["broker"]))
    assert words in str(found[0].message)


def test_the_rest_is_the_controller_s_and_the_answers_come_in_the_order_of_the_request():
    mine, other = resource(BROKER, "1", ("num.io.threads", 0, "9")), resource(BROKER, "2", ("num.io.threads", 0, "9"))
    topic, twice = resource(TOPIC, "orders"), resource(TOPIC, "twice")
    request = INCREMENTAL(resources=[other, topic, twice, mine, twice])
    found = refusals_of(request, 1, BrokerConfig(era=KRAFT), Loggers(1, ["broker"]))
    assert list(found) == [0, 2, 4]
    assert without(request, found).resources == [topic, mine]
    kind = m.IncrementalAlterConfigsResponse
    said = [kind.AlterConfigsResourceResponse(resource_type=BROKER, resource_name="1", error_message=None),
            kind.AlterConfigsResourceResponse(resource_type=TOPIC, resource_name="orders", error_code=3, error_message="no")]
    answers = together(request, found, kind(responses=said)).responses
    assert [one.resource_name for one in answers] == ["2", "orders", "twice", "1", "twice"]
    assert [one.error_code for one in answers] == [ErrorCode.INVALID_REQUEST, 3, ErrorCode.INVALID_REQUEST, 0, ErrorCode.INVALID_REQUEST]
