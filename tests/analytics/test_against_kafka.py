"""Directories of Apache Kafka itself, and Spark's own Kafka source, give the same records as ours."""

from __future__ import annotations

import json
import subprocess
import sys
import time

import pytest
from pyspark.sql import functions as f

from lab.analytics.history import History
from lab.analytics.queries import QUERIES
from lab.analytics.tables import Tables
from tests.conftest import free_ports

confluent_kafka = pytest.importorskip("confluent_kafka")
pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.timeout(300)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EACH = 500
WANTED = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


def run_kafka(oracle, kind, home, *settings):
    """One broker of Apache Kafka: (bootstrap, directory); generator for fixtures."""
    words = [word for one in settings for word in ("--set", one)]
    try:
        up = subprocess.run([sys.executable, str(oracle), "up", kind, "--brokers", "1", "--dir", home, "--port", str(free_ports(204)), *words],
                            capture_output=True, text=True, timeout=200)
        assert up.returncode == 0, up.stderr[-2000:]
        yield json.loads(up.stdout)["bootstrap"], home
    finally:
        subprocess.run([sys.executable, str(oracle), "down", "--dir", home, "--keep"], capture_output=True, check=False, timeout=60)


@pytest.fixture(scope="module")
def kafka(require_oracle, tmp_path_factory):
    yield from run_kafka(require_oracle, "kraft", str(tmp_path_factory.mktemp("kraft") / "kafka"), "log.cleaner.backoff.ms=100",
                         "transaction.state.log.replication.factor=1", "transaction.state.log.min.isr=1")


@pytest.fixture(scope="module")
def old_kafka(require_oracle, tmp_path_factory):
    """A broker that still writes the format of 0.10 (message.format.version counts below protocol 3.0)."""
    yield from run_kafka(require_oracle, "zookeeper", str(tmp_path_factory.mktemp("zookeeper") / "kafka"),
                         "inter.broker.protocol.version=2.8", "log.message.format.version=0.10.2")


def create(bootstrap, topic, **configs):
    from confluent_kafka.admin import AdminClient, NewTopic

    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.create_topics([NewTopic(topic, 1, 1, config=configs)])[topic].result(30)


def producer(bootstrap, **settings):
    return confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 20, **{key.replace("_", "."): value for key, value in settings.items()}})


def ours(spark, home, topic):
    return spark.read.format("brokerlab.segments").option("topic", topic).load(home)


def lines(frame):
    return sorted(row[0] for row in frame.select(f.to_json(f.struct(*WANTED))).collect())


def theirs(spark, bootstrap, topic):
    """What Spark's own source reads; like any consumer it does not hand out markers."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", topic)
    return reader.option("includeHeaders", "true").option("startingOffsets", "earliest").load().select(*WANTED)


def test_segments_of_apache_kafka_read_as_sparks_own_source_reads_the_topic(with_kafka, kafka):
    bootstrap, home = kafka
    for codec in CODECS:
        sender = producer(bootstrap, compression_type=codec, enable_idempotence=codec != "gzip")
        for number in range(EACH):
            headers = [("h", b"v"), ("none", None)] if number % 10 == 0 else None
            sender.produce("orders", key=b"k" if number % 3 else None, value=b"%s %d " % (codec.encode(), number) * 10, headers=headers)
        assert sender.flush(30) == 0
    found = ours(with_kafka, home, "orders")
    assert {row["codec"]: row["count"] for row in found.groupBy("codec").count().collect()} == dict.fromkeys(CODECS, EACH)
    assert found.where("error is not null").count() == 0
    assert lines(found.select(*WANTED)) == lines(theirs(with_kafka, bootstrap, "orders"))


def test_a_compacted_topic_is_read_with_its_gaps(with_kafka, kafka):
    bootstrap, home = kafka
    create(bootstrap, "latest", **{"cleanup.policy": "compact", "segment.ms": "200", "min.cleanable.dirty.ratio": "0.01",
                                   "delete.retention.ms": "600000"})
    sender = producer(bootstrap)
    until = time.monotonic() + 60
    number = 0
    while True:
        for _ in range(50):
            sender.produce("latest", key=b"k%d" % (number % 5), value=None if number % 7 == 0 else b"%d" % number)
            number += 1
        assert sender.flush(30) == 0
        time.sleep(0.3)
        found = ours(with_kafka, home, "latest")
        if found.count() < number - 60:
            break
        assert time.monotonic() < until, "the cleaner did nothing"
    time.sleep(1)
    read = lines(theirs(with_kafka, bootstrap, "latest"))
    found = ours(with_kafka, home, "latest")
    assert found.where("error is not null").count() == 0
    assert lines(found.select(*WANTED)) == read
    newest = {row["key"]: row["value"] for row in found.orderBy("offset").collect()}
    assert newest == {b"k%d" % (n % 5): None if n % 7 == 0 else b"%d" % n for n in range(number - 5, number)}


def test_markers_and_aborted_records_of_transactions_are_told_apart(with_kafka, kafka):
    bootstrap, home = kafka
    create(bootstrap, "paid")
    sender = producer(bootstrap, transactional_id="t")
    sender.init_transactions(30)
    for number in range(6):
        sender.begin_transaction()
        for step in range(4):
            sender.produce("paid", value=b"%d %d" % (number, step))
        sender.flush(30)
        sender.abort_transaction(30) if number % 3 == 0 else sender.commit_transaction(30)
    found = ours(with_kafka, home, "paid")
    rows = found.collect()
    assert all(row["error"] is None and row["transactional"] for row in rows)
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": "ends"})
    _, end = consumer.get_watermark_offsets(confluent_kafka.TopicPartition("paid", 0), 30)
    consumer.close()
    assert sorted(row["offset"] for row in rows) == list(range(end))
    assert sum(row["control"] for row in rows) == end - 24 == 6
    assert lines(found.where("not control").select(*WANTED)) == lines(theirs(with_kafka, bootstrap, "paid"))
    reader = with_kafka.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "paid")
    committed = reader.option("kafka.isolation.level", "read_committed").load()
    assert sorted(row["value"] for row in committed.collect()) == sorted(b"%d %d" % (n, s) for n in (1, 2, 4, 5) for s in range(4))


def test_every_question_can_be_asked_of_a_directory_of_apache_kafka(spark, kafka):
    """There is no journal and no history: what needs them is empty, what the disks tell is not."""
    with Tables(spark, [kafka[1]]) as tables:
        history = History(tables)
        answers = {name: query.function(tables, history).collect() for name, query in QUERIES.items()}
    assert answers["damages"] == []
    assert {row["topic"] for row in answers["key_skew"]} >= {"orders"} and answers["retention"]
    assert [name for name, rows in answers.items() if rows and name not in ("key_skew", "retention")] == []


def test_messages_of_the_old_formats_are_read_as_the_broker_hands_them_out(with_kafka, old_kafka):
    bootstrap, home = old_kafka
    for codec in ("none", "gzip", "snappy", "lz4"):
        sender = producer(bootstrap, compression_type=codec)
        for number in range(100):
            sender.produce("aged", key=b"k" if number % 3 else None, value=b"%s %d" % (codec.encode(), number))
        assert sender.flush(30) == 0
    found = ours(with_kafka, home, "aged")
    assert {(row["magic"], row["error"]) for row in found.select("magic", "error").distinct().collect()} == {(1, None)}
    assert lines(found.select(*WANTED)) == lines(theirs(with_kafka, bootstrap, "aged"))
