"""What may be written to the coordination tree can be taken over by every broker that reads it."""

from __future__ import annotations

import pytest
from tests.worlds import do

from broker_core.broker.configs import LOG_SETTINGS
from broker_core.clients import admin_requests as requests
from broker_core.log.config import LogConfig
from broker_core.log.producers import ProducerEntry
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig, ConfigError
from broker_core.metadata.configs_topics import check_topic_overrides, topic_config
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict

S = 1_000_000
TEXTS = ("", "0", "-1", "1", "14", "0.5", str(2**31 - 1), str(2**63 - 1), "true", "delete", "delete,compact", "compact,",
         " compact ", "zstd", "none", "LogAppendTime", "*", "0:1,1:2", "3.0", "a b")  # fmt: skip


def taken(values: dict[str, str]) -> LogConfig:
    return LogConfig.from_strings({name: text for name, text in values.items() if name in LOG_SETTINGS})


@pytest.mark.parametrize("name", TOPIC_SETTINGS)
def test_a_topic_setting_that_is_accepted_fits_a_log(name: str) -> None:
    broker = BrokerConfig()
    for text in TEXTS:
        try:
            check_topic_overrides({name: text}, broker)
        except ConfigError:
            continue
        taken(topic_config({name: text}, broker))


@pytest.mark.parametrize("name", [name for name in BROKER_SETTINGS if name.startswith(("log.", "message.", "compression"))])
def test_a_brokers_setting_that_is_accepted_fits_its_logs(name: str) -> None:
    for text in TEXTS:
        broker = BrokerConfig()
        try:
            broker.set_dynamic(name, text, all_brokers=True)
        except ConfigError:
            continue
        taken(topic_config({}, broker))


def test_a_topic_that_neither_deletes_nor_compacts_is_read_by_all_brokers_also_when_they_start_again() -> None:
    world = build_world(run_from_dict({"cluster": {"preset": "teaching"}, "seed": 4}))
    world.run_until(2 * S)
    for command in (
        {"do": "create_topic", "topic": "kept", "partitions": 1, "replication_factor": 3},
        {"do": "alter_config", "topic": "kept", "set": {"cleanup.policy": ""}},
        {"do": "kill", "broker": 2},
        {"do": "restart", "broker": 2},
    ):
        do(world, **command)
        world.run_until(world.now_us + 4 * S)
    found = {name: node.machine for name, node in world.nodes.items() if name.startswith("broker")}
    configs = [one.log_manager.get("kept", 0).config for one in found.values()]  # type: ignore[union-attr]
    assert [config.cleanup_policy for config in configs] == [[]] * 3
    assert not any(config.is_deleted or config.is_compacted for config in configs)


def test_a_leader_forgets_silent_producers_after_producer_id_expiration_ms() -> None:
    """From the start of a broker, and changed while it runs (KIP-854)."""
    often = {"producer.id.expiration.check.interval.ms": "1000"}
    cluster = {"preset": "teaching", "settings": {"producer.id.expiration.ms": "5000", **often}}
    world = build_world(run_from_dict({"cluster": cluster, "seed": 4}))
    world.run_until(2 * S)
    do(world, do="create_topic", topic="t", partitions=1, replication_factor=3)
    world.run_until(4 * S)
    tables = [world.nodes[f"broker-{number}"].machine.log_manager.get("t", 0).producers for number in (1, 2, 3)]
    assert [table.expiration_ms for table in tables] == [5000] * 3
    do(world, do="alter_config", broker=2, set={"producer.id.expiration.ms": "7000"})
    world.run_until(6 * S)
    assert [table.expiration_ms for table in tables] == [5000, 7000, 5000]
    for table in tables:
        table.entries[9] = ProducerEntry(9)
        table.entries[9].last_timestamp = world.nodes["broker-1"].wall_ms()
    for seconds, known in ((4, [True, True, True]), (6, [False, True, False]), (9, [False, False, False])):
        world.run_until((6 + seconds) * S)
        assert [9 in table.entries for table in tables] == known, "looked for once a second"


@pytest.mark.parametrize("topic", ["t", None])
def test_a_partition_without_a_leader_gets_an_unclean_one_as_soon_as_that_is_allowed(topic: str | None) -> None:
    """For one topic, or for all of them by the default of all brokers."""
    world = build_world(run_from_dict({"cluster": {"preset": "teaching"}, "seed": 4}))
    world.run_until(2 * S)
    do(world, do="create_topic", topic="t", assignment=[[2, 3]])
    world.run_until(4 * S)
    controller = world.nodes["broker-1"].machine.cluster.controller  # type: ignore[union-attr]
    for command in ({"do": "kill", "broker": 3}, {"do": "kill", "broker": 2}, {"do": "restart", "broker": 3}):
        do(world, **command)
        world.run_until(world.now_us + 10 * S)
    state = controller.context.leadership["t", 0]
    assert (controller.is_active, state.leader, state.isr) == (True, -1, [2])
    allow = requests.alter_config(topic, "", {"unclean.leader.election.enable": "true"})  # type: ignore[arg-type]
    world.nodes["broker-1"].machine.cluster.config_admin.incremental_alter_configs(allow, lambda *answer: None)  # type: ignore[union-attr]
    world.run_until(world.now_us + 5 * S)
    state = controller.context.leadership["t", 0]
    assert (state.leader, state.isr) == (3, [3])
