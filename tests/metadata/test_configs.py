"""Settings are Kafka's: names, defaults, synonyms, limits, messages.

The JSON file holds what Apache Kafka 3.9 answered to DescribeConfigs.
"""

import json
from pathlib import Path

import pytest

from broker_core.broker.configs import LOG_SETTINGS
from broker_core.log.config import LogConfig
from broker_core.metadata.configs import BROKER_SETTINGS, TOPIC_SETTINGS, BrokerConfig, ConfigError, ConfigSource
from broker_core.metadata.configs_topic import SYNONYMS
from broker_core.metadata.configs_topics import check_topic_overrides, describe_topic, topic_config
from broker_core.metadata.configs_types import KRAFT, ConfigType

KAFKA = json.loads(Path(__file__).with_name("kafka_3_9_described.json").read_text())
KAFKA_4 = json.loads(Path(__file__).with_name("kafka_4_3_described.json").read_text())
SOURCES = {
    ConfigSource.STATIC_BROKER: "STATIC_BROKER_CONFIG", ConfigSource.DEFAULT: "DEFAULT_CONFIG",
    ConfigSource.DYNAMIC_DEFAULT_BROKER: "DYNAMIC_DEFAULT_BROKER_CONFIG",
}  # fmt: skip


def test_a_broker_describes_every_setting_as_kafka_3_9_does():
    config = BrokerConfig(KAFKA["static"])
    ours = {}
    for name in config.names():
        entry = config.describe(name)
        synonyms = ", ".join(f"{SOURCES[s.source]}:{s.name}={s.value}" for s in entry.synonyms)
        ours[name] = [entry.value, entry.sensitive, entry.read_only, synonyms]
    assert ours == KAFKA["broker"]


def test_a_broker_describes_every_setting_as_kafka_4_3_does():
    config = BrokerConfig(KAFKA_4["static"], KRAFT)
    config.set_dynamic("min.insync.replicas", "1", all_brokers=True, running=False)  # as a cluster with ELR is formatted
    ours = {}
    for name in config.names():
        entry = config.describe(name)
        synonyms = ", ".join(f"{SOURCES[s.source]}:{s.name}={s.value}" for s in entry.synonyms)
        ours[name] = [entry.value, entry.sensitive, entry.read_only, int(entry.type), synonyms]
    assert ours == KAFKA_4["broker"]


def test_a_topic_describes_every_setting_as_kafka_3_9_does():
    entries = describe_topic({"retention.ms": "1000", "compression.type": "gzip"}, BrokerConfig(KAFKA["static"]))
    assert {entry.name: entry.value for entry in entries} == KAFKA["topic"]


def test_milliseconds_win_over_minutes_and_minutes_over_hours():
    hours = {"log.retention.hours": "2"}
    minutes = hours | {"log.retention.minutes": "3"}
    milliseconds = minutes | {"log.retention.ms": "4"}
    expected = ["7200000", "180000", "4"]
    assert [topic_config({}, BrokerConfig(c))["retention.ms"] for c in (hours, minutes, milliseconds)] == expected
    assert [BrokerConfig(c).milliseconds("log.retention") for c in (hours, minutes, milliseconds)] == [
        int(text) for text in expected]


def test_unlimited_retention_stays_unlimited_in_every_unit():
    assert topic_config({}, BrokerConfig({"log.retention.hours": "-1"}))["retention.ms"] == "-1"
    assert BrokerConfig({"log.retention.hours": "-1"}).milliseconds("log.retention") == -1


def test_a_topics_own_setting_wins_over_the_brokers():
    broker = BrokerConfig({"log.segment.bytes": "5000"})
    assert topic_config({}, broker)["segment.bytes"] == "5000"
    assert topic_config({"segment.bytes": "6000"}, broker)["segment.bytes"] == "6000"


def test_dynamic_settings_win_and_can_be_taken_back():
    config = BrokerConfig({"log.cleaner.threads": "2"})
    config.set_dynamic("log.cleaner.threads", "3", all_brokers=True)
    config.set_dynamic("log.cleaner.threads", "4")
    assert (config["log.cleaner.threads"], config.source("log.cleaner.threads")) == (4, ConfigSource.DYNAMIC_BROKER)
    assert [s.value for s in config.synonyms("log.cleaner.threads")] == ["4", "3", "2", "1"]
    config.set_dynamic("log.cleaner.threads", None)
    config.set_dynamic("log.cleaner.threads", None, all_brokers=True)
    assert (config["log.cleaner.threads"], config.source("log.cleaner.threads")) == (2, ConfigSource.STATIC_BROKER)


def test_a_refused_dynamic_change_leaves_the_value_as_it_was():
    config = BrokerConfig()
    with pytest.raises(ConfigError, match="must be unlimited"):
        config.set_dynamic("log.retention.ms", "0")
    assert config["log.retention.ms"] is None


def test_a_running_broker_keeps_what_it_does_not_know_and_never_shows_its_value():
    config = BrokerConfig()
    config.set_dynamic("my.plugin.password", "secret", all_brokers=True)
    entry = config.describe("my.plugin.password")
    assert (entry.value, entry.sensitive, entry.source) == (None, True, ConfigSource.DYNAMIC_DEFAULT_BROKER)
    assert [one.value for one in entry.synonyms] == [None]
    assert (entry.read_only, entry.doc) == (True, ""), "as Kafka describes what it does not know"
    assert "my.plugin.password" in config.described() and len(dict(config)) == len(config)
    config.set_dynamic("my.plugin.password", None, all_brokers=True)
    assert config.dynamic(all_brokers=True) == {} and "my.plugin.password" not in config.described()


def test_limits_of_throttled_moves_are_checked_and_shown_while_they_are_set():
    config, name = BrokerConfig(), "leader.replication.throttled.rate"
    assert name not in config.described()
    config.set_dynamic(name, "2000", all_brokers=True)
    config.set_dynamic(name, "3000")
    entry = config.describe(name)
    assert (entry.value, entry.sensitive, entry.type) == ("3000", False, ConfigType.LONG)
    assert [(one.value, one.source) for one in entry.synonyms] == [
        ("3000", ConfigSource.DYNAMIC_BROKER), ("2000", ConfigSource.DYNAMIC_DEFAULT_BROKER),
    ]  # fmt: skip
    assert config.describe_default(name).value == "2000"
    for text, problem in (("-1", "Value must be at least 0"), ("abc", "Not a number of type LONG")):
        with pytest.raises(ConfigError, match=f"Invalid value {text} for configuration {name}: {problem}"):
            config.set_dynamic(name, text)
    assert config.describe(name).value == "3000"
    for everywhere in (True, False):
        config.set_dynamic(name, None, all_brokers=everywhere)
    assert name not in config.described()
    assert "Unknown broker setting" in str(BrokerConfig({name: "5"}).unused[name])


@pytest.mark.parametrize(("settings", "message"), [
    ({"log.segment.bytes": "3"}, "Invalid value 3 for configuration log.segment.bytes: Value must be at least 14"),
    ({"num.io.threads": "many"}, "Invalid value many for configuration num.io.threads: Not a number of type INT"),
    ({"log.preallocate": "yes"}, "Expected value to be either true or false"),
    ({"log.cleanup.policy": "keep"}, "String must be one of: compact, delete"),
    ({"broker.id": "1001"}, "not greater than reserved.broker.max.id"),
    ({"replica.lag.time.max.ms": "100"}, "to prevent frequent changes in ISR"),
])
def test_a_broker_refuses_what_kafka_refuses(settings, message):
    with pytest.raises(ConfigError, match=message):
        BrokerConfig(settings)


@pytest.mark.parametrize(("name", "message"), [
    ("retention.ms", "its broker setting is log.retention.ms"),
    ("log.retention.hour", "did you mean log.retention.hours"),
    ("share.coordinator.threads", "exists only in KRaft mode (Kafka 4.x)"),
    ("allow.everyone.if.no.acl.found", "Unknown broker setting"),
])
def test_a_setting_that_no_broker_knows_is_kept_unseen_and_told(name, message):
    config = BrokerConfig({name: "secret", "num.io.threads": "4"})
    assert message in str(config.unused[name]) and config["num.io.threads"] == 4 and "secret" not in str(config.unused)
    assert config.copy().static()[name] == "secret"
    if name in config.described():
        assert config.describe(name).value is None


@pytest.mark.parametrize(("settings", "message"), [
    ({"segment.bytes": "3"}, "Invalid value 3 for configuration segment.bytes: Value must be at least 14"),
    ({"retention.ms": "abc"}, "Invalid value abc for configuration retention.ms: Not a number of type LONG"),
    ({"retention.ms": "-5"}, "Invalid value -5 for configuration retention.ms: Value must be at least -1"),
    ({"min.cleanable.dirty.ratio": "2"}, "Invalid value 2.0 .*: Value must be no more than 1"),
    ({"compression.gzip.level": "10"}, "Value must be between 1 and 9 or equal to -1"),
    ({"message.format.version": "9"}, "Version 9 is not a valid version"),
    ({"leader.replication.throttled.replicas": "x"}, r"literal '\*' or a list of replicas"),
    ({"min.compaction.lag.ms": "99", "max.compaction.lag.ms": "5"}, r"\(99\) > max.compaction.lag.ms \(5\)"),
    ({"remote.storage.enable": "true"}, "Tiered Storage functionality is disabled"),
    ({"log.retention.hours": "1"}, "Unknown topic config name: .*its topic setting is retention.ms"),
])
def test_a_topic_refuses_what_kafka_refuses(settings, message):
    with pytest.raises(ConfigError, match=message):
        check_topic_overrides(settings, BrokerConfig())


@pytest.mark.parametrize(("name", "value", "message"), [
    ("num.partitions", "3", r"Cannot update these configs dynamically: Set\(num.partitions\)"),
    ("num.io.threads", "100", "should not be greater than double the current value 8"),
    ("num.io.threads", "2", "should be at least half the current value 8"),
])
def test_a_running_broker_refuses_what_kafka_refuses(name, value, message):
    with pytest.raises(ConfigError, match=message):
        BrokerConfig().set_dynamic(name, value)


def test_threads_grow_step_by_step_from_what_they_are_now():
    config = BrokerConfig()
    for count in ("16", "32"):
        config.set_dynamic("num.io.threads", count)
    with pytest.raises(ConfigError, match="at least half the current value 32"):
        config.set_dynamic("num.io.threads", None)
    config.set_dynamic("num.io.threads", "90", all_brokers=True)
    assert config["num.io.threads"] == 32


def test_a_starting_broker_takes_the_threads_it_finds():
    config = BrokerConfig()
    config.set_dynamic("num.io.threads", "32", running=False)
    assert config.copy()["num.io.threads"] == 32


def test_settings_of_one_broker_cannot_be_set_for_all_at_once():
    with pytest.raises(ConfigError, match="at default cluster level"):
        BrokerConfig().set_dynamic("advertised.listeners", "PLAINTEXT://h:1", all_brokers=True)
    with pytest.raises(ConfigError, match="only per-listener using the listener prefix"):
        BrokerConfig().set_dynamic("ssl.keystore.location", "keys")


def test_no_setting_is_said_to_be_meant_for_itself():
    with pytest.raises(ConfigError) as caught:
        topic_config({"message.format.version": "3.0"}, BrokerConfig({}, "kraft"))
    assert "mean message.format.version" not in str(caught.value)


@pytest.mark.parametrize("text", ["-5", "-1", "0", "1", "2", "14", "0.5", "1.5", "2147483648", str(2**63), "", "x", "true", "gzip"])
def test_what_a_running_broker_takes_a_log_can_go_by(text):
    for name in {stand_in for chain in SYNONYMS.values() for stand_in, _ in chain}:
        config = BrokerConfig()
        try:
            config.set_dynamic(name, text)
        except ConfigError:
            continue
        values = topic_config({}, config)
        LogConfig.from_strings({key: value for key, value in values.items() if key in LOG_SETTINGS})


@pytest.mark.parametrize("text", ["9" * 5000, "0" * 5000 + "x", "1_0", "\u0665", "0x1", ""])
def test_what_java_reads_as_no_number_is_none(text):
    for name in ("log.retention.ms", "log.cleaner.min.cleanable.ratio"):
        with pytest.raises(ConfigError, match=r"Not a number|no more than"):
            BrokerConfig({name: text})


@pytest.mark.parametrize("era", ["zookeeper", "kraft"])
def test_every_default_fits_its_own_type_and_limits(era):
    for setting in [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()]:
        if setting.era in (None, era):
            setting.parse(setting.default_in(era), era)


def test_broker_id_and_node_id_are_one_number():
    assert BrokerConfig({"broker.id": "7"})["node.id"] == 7


def test_defaults_follow_the_era():
    eras = [BrokerConfig({}, era)["num.recovery.threads.per.data.dir"] for era in ("zookeeper", "kraft")]
    assert eras == [1, 2]
