"""Settings of topics and brokers, changed through the tree."""

from __future__ import annotations

from typing import Any

from broker_core.cluster.zk.config_admin import ConfigAdmin
from broker_core.controller.zk import znodes
from broker_core.metadata.configs import BrokerConfig
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

from tests.controller.skeleton import Cluster

I = m.IncrementalAlterConfigsRequest  # noqa: E741
SET, DELETE, APPEND, SUBTRACT = range(4)


def alter(cluster: Cluster, kind: int, name: str, *changes: tuple[str, int, str | None], only: bool = False,
          config: BrokerConfig | None = None) -> Any:
    broker = cluster.controller
    admin = ConfigAdmin(broker.node, broker.zk, broker.cache, config or BrokerConfig({}), broker.id)
    configs = [I.AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in changes]
    resource = I.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    answer = cluster.ask(admin.incremental_alter_configs, I(resources=[resource], validate_only=only))
    return answer.responses[0]


def settings_of(cluster: Cluster, kind: str, name: str) -> dict[str, str]:
    return znodes.decode_config(cluster.tree.nodes[znodes.config_path(kind, name)].data)


def test_a_topics_setting_is_written_with_a_slip_for_all() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1, 2]], {"retention.ms": "1000"})
    assert alter(cluster, 2, "orders", ("segment.bytes", SET, "2000000")).error_code == ErrorCode.NONE
    assert settings_of(cluster, "topics", "orders") == {"retention.ms": "1000", "segment.bytes": "2000000"}
    slip = cluster.tree.nodes["/config/changes/config_change_0000000000"].data
    assert znodes.decode_config_change(slip) == ("topics", "orders")
    changed = {"resource": "topic", "name": "orders", "key": "segment.bytes", "value": "2000000"}
    assert cluster.events("config_changed") == [changed]


def test_lists_grow_and_shrink() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1]])
    alter(cluster, 2, "orders", ("cleanup.policy", APPEND, "compact"))
    assert settings_of(cluster, "topics", "orders") == {"cleanup.policy": "delete,compact"}
    alter(cluster, 2, "orders", ("cleanup.policy", SUBTRACT, "delete"))
    assert settings_of(cluster, "topics", "orders") == {"cleanup.policy": "compact"}
    alter(cluster, 2, "orders", ("cleanup.policy", DELETE, None))
    assert settings_of(cluster, "topics", "orders") == {}
    assert alter(cluster, 2, "orders", ("retention.ms", APPEND, "1")).error_code == ErrorCode.INVALID_CONFIG


def test_wrong_settings_are_refused_in_kafkas_words() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1]])
    unknown = alter(cluster, 2, "orders", ("log.retention.hours", SET, "1"))
    assert unknown.error_code == ErrorCode.INVALID_CONFIG
    assert "retention.ms" in unknown.error_message
    text = alter(cluster, 2, "orders", ("retention.ms", SET, "soon"))
    assert text.error_code == ErrorCode.INVALID_CONFIG
    assert "ConfigResource(type=TOPIC, name='orders')" in text.error_message
    assert alter(cluster, 2, "nowhere").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(cluster, 4, "9").error_code == ErrorCode.INVALID_REQUEST


def test_a_check_writes_nothing() -> None:
    cluster = Cluster()
    cluster.create_topic("orders", [[1]])
    assert alter(cluster, 2, "orders", ("retention.ms", SET, "5"), only=True).error_code == ErrorCode.NONE
    assert settings_of(cluster, "topics", "orders") == {}


def test_brokers_have_settings_of_their_own_and_common_ones() -> None:
    cluster = Cluster()
    assert alter(cluster, 4, "", ("log.retention.ms", SET, "5000")).error_code == ErrorCode.NONE
    assert settings_of(cluster, "brokers", "<default>") == {"log.retention.ms": "5000"}
    assert alter(cluster, 4, "1", ("broker.id", SET, "7")).error_code == ErrorCode.INVALID_REQUEST


def test_threads_that_have_grown_in_steps_are_no_obstacle_to_other_changes() -> None:
    cluster, config = Cluster(), BrokerConfig({})
    name = str(cluster.controller.id)
    for count in ("16", "32"):
        assert alter(cluster, 4, name, ("num.io.threads", SET, count), config=config).error_code == ErrorCode.NONE
        config.set_dynamic("num.io.threads", count)
    other = alter(cluster, 4, name, ("log.cleaner.backoff.ms", SET, "16000"), config=config)
    assert other.error_code == ErrorCode.NONE
    assert settings_of(cluster, "brokers", name) == {"num.io.threads": "32", "log.cleaner.backoff.ms": "16000"}
    back = alter(cluster, 4, name, ("num.io.threads", DELETE, None), config=config)
    assert back.error_code == ErrorCode.INVALID_REQUEST and "at least half the current value 32" in back.error_message
