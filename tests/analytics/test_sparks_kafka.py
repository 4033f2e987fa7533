"""Spark's own Kafka source and sink (spark-sql-kafka-0-10) against a lab that runs, beside our own source on its disks."""

from __future__ import annotations

import json
import time

import pytest
from confluent_kafka import Producer

from tests.conftest import PATIENCE_S, start_lab

pytestmark = [pytest.mark.clients, pytest.mark.slow, pytest.mark.timeout(240)]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
WANTED = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]


@pytest.fixture(scope="module")
def lab(with_kafka_module, tmp_path_factory):
    """Three brokers of the lab as a process of their own; topics get three partitions and three replicas."""
    settings = ("num.partitions=3", "default.replication.factor=3", "offsets.topic.replication.factor=3")
    started = start_lab(tmp_path_factory.mktemp("lab") / "data", "--preset", "teaching", *[word for one in settings for word in ("--set", one)])
    yield started
    started.stop()


@pytest.fixture(scope="module")
def with_kafka_module(spark, kafka_jars):
    from tests.conftest import missing

    if not kafka_jars:
        missing("spark-sql-kafka-0-10 (Maven, and the script that fetches it)")
    return spark


def source(spark, lab, topic, **options):
    """A batch read of a topic, with headers."""
    reader = spark.read.format("kafka").option("kafka.bootstrap.servers", lab.bootstrap).option("includeHeaders", "true")
    return reader.options(**({} if "assign" in options or "subscribePattern" in options else {"subscribe": topic}), **options).load().select(*WANTED)


def write(lab, frame, topic, **options):
    frame.write.format("kafka").option("kafka.bootstrap.servers", lab.bootstrap).option("topic", topic).options(**options).save()


def values(frame):
    return sorted(row["value"] for row in frame.selectExpr("decode(value, 'UTF-8') as value").collect())


def numbered(spark, count, text="v"):
    """Rows with key, value and two headers."""
    return spark.range(count).selectExpr(
        "cast(id % 7 as string) as key", f"concat('{text}-', lpad(cast(id as string), 4, '0')) as value",
        "array(struct('n' as key, cast(cast(id as string) as binary) as value), struct('none' as key, cast(null as binary) as value)) as headers")


@pytest.fixture
def stream(spark, lab, tmp_path):
    """`stream(topic, rows)`: a started streaming read at a checkpoint of this test."""
    started = []

    def make(topic, rows, **options):
        reader = spark.readStream.format("kafka").option("kafka.bootstrap.servers", lab.bootstrap).option("subscribe", topic)
        frame = reader.option("startingOffsets", "earliest").options(**options).load().selectExpr("decode(value, 'UTF-8') as value")
        started.append(frame.writeStream.foreachBatch(lambda batch, _: rows.extend(row["value"] for row in batch.collect())).option(
            "checkpointLocation", str(tmp_path / "checkpoint")).trigger(processingTime="0 seconds").start())
        return started[-1]

    yield make
    for one in started:
        one.stop()


def test_what_spark_writes_is_what_both_sources_read(spark, lab):
    for codec in CODECS:
        write(lab, numbered(spark, 200, codec), "mixed", includeHeaders="true", **{"kafka.compression.type": codec, "kafka.linger.ms": "20"})
    theirs = source(spark, lab, "mixed", startingOffsets="earliest")
    assert values(theirs) == sorted(f"{codec}-{n:04}" for codec in CODECS for n in range(200))
    read = spark.read.format("brokerlab.segments").option("topic", "mixed")
    best = read.load(str(lab.data)).where("error is null").select("broker", "codec", *WANTED)
    assert {row["codec"] for row in best.select("codec").distinct().collect()} == set(CODECS)
    for broker in (1, 2, 3):
        ours = best.where(f"broker = {broker}").select(*WANTED)
        assert lines(ours) == lines(theirs), f"the disk of broker {broker}"


def lines(frame):
    from pyspark.sql import functions as f

    return sorted(row[0] for row in frame.select(f.to_json(f.struct(*WANTED))).collect())


def test_offsets_and_timestamps_choose_what_is_read(spark, lab):
    write(lab, numbered(spark, 90, "early"), "chosen")
    border = time.time_ns() // 1_000_000 + 50
    time.sleep(0.2)
    write(lab, numbered(spark, 90, "late"), "chosen")
    every = source(spark, lab, "chosen").collect()
    assert len(every) == 180
    first = json.dumps({"chosen": {"0": 5, "1": -2, "2": 2}})
    last = json.dumps({"chosen": {"0": 9, "1": 3, "2": 2}})
    part = source(spark, lab, "chosen", startingOffsets=first, endingOffsets=last)
    assert sorted((row["partition"], row["offset"]) for row in part.collect()) == [(0, 5), (0, 6), (0, 7), (0, 8), (1, 0), (1, 1), (1, 2)]
    late = [f"late-{n:04}" for n in range(90)]
    assert values(source(spark, lab, "chosen", startingTimestamp=str(border))) == late
    by_partition = json.dumps({"chosen": {str(n): border for n in range(3)}})
    assert values(source(spark, lab, "chosen", startingOffsetsByTimestamp=by_partition)) == late
    assert values(source(spark, lab, "chosen", endingOffsetsByTimestamp=by_partition)) == [f"early-{n:04}" for n in range(90)]
    assert values(source(spark, lab, "chosen", subscribePattern="chos.*")) == sorted([*late, *(f"early-{n:04}" for n in range(90))])
    assigned = source(spark, lab, "chosen", assign=json.dumps({"chosen": [1]})).collect()
    assert [row["offset"] for row in assigned] == [row["offset"] for row in every if row["partition"] == 1]


def test_many_tasks_read_one_partition_in_parts(spark, lab):
    write(lab, numbered(spark, 300), "parts")
    frame = source(spark, lab, "parts", minPartitions="9")
    assert frame.rdd.getNumPartitions() >= 9
    assert values(frame) == [f"v-{n:04}" for n in range(300)]


def test_a_streaming_read_goes_on_at_its_checkpoint_without_loss_or_copies(spark, lab, stream):
    rows = []
    write(lab, numbered(spark, 100, "a"), "streamed")
    query = stream("streamed", rows, maxOffsetsPerTrigger="40")
    query.processAllAvailable()
    assert sorted(rows) == [f"a-{n:04}" for n in range(100)]
    write(lab, numbered(spark, 50, "b"), "streamed")
    query.processAllAvailable()
    query.stop()
    write(lab, numbered(spark, 50, "c"), "streamed")
    again = stream("streamed", rows)
    again.processAllAvailable()
    assert sorted(rows) == [f"{name}-{n:04}" for name, count in (("a", 100), ("b", 50), ("c", 50)) for n in range(count)]


def test_isolation_level_decides_whether_aborted_and_open_transactions_are_read(spark, lab):
    producer = Producer({"bootstrap.servers": lab.bootstrap, "transactional.id": "spark-isolation", "transaction.timeout.ms": 900_000})
    producer.init_transactions(PATIENCE_S)
    ends = (("a", producer.commit_transaction), ("b", producer.abort_transaction), ("c", producer.commit_transaction), ("d", producer.flush))
    for name, end in ends:
        producer.begin_transaction()
        for number in range(12):
            producer.produce("isolated", f"{name}-{number:04}", partition=number % 3)
        assert producer.flush(PATIENCE_S) == 0
        end(PATIENCE_S)
    written = {name: [f"{name}-{number:04}" for number in range(12)] for name, _ in ends}
    assert values(source(spark, lab, "isolated")) == [*written["a"], *written["b"], *written["c"], *written["d"]]
    careful = {"kafka.isolation.level": "read_committed"}
    assert values(source(spark, lab, "isolated", **careful)) == [*written["a"], *written["c"]]  # up to the last stable offset
    producer.commit_transaction(PATIENCE_S)
    until = time.monotonic() + PATIENCE_S
    while (found := values(source(spark, lab, "isolated", **careful))) != [*written["a"], *written["c"], *written["d"]]:
        assert time.monotonic() < until and found == [*written["a"], *written["c"]]  # its markers are on their way


def test_a_stream_over_the_disks_of_one_topic_is_written_to_another(spark, lab, tmp_path):
    """Our streaming source into Spark's Kafka sink: at least once, here exactly once."""
    write(lab, numbered(spark, 120), "before")
    copies = spark.readStream.format("brokerlab.segments").option("topic", "before").option("broker", "1").load(str(lab.data))
    sink = copies.where("error is null").select("key", "value", "headers").writeStream.format("kafka").option("kafka.bootstrap.servers", lab.bootstrap)
    query = sink.option("topic", "after").option("includeHeaders", "true").option("checkpointLocation", str(tmp_path / "c")).start()
    try:
        query.processAllAvailable()
        write(lab, numbered(spark, 30, "more"), "before")
        expected = sorted([*(f"v-{n:04}" for n in range(120)), *(f"more-{n:04}" for n in range(30))])
        until = time.monotonic() + 60
        while len(values(source(spark, lab, "after"))) < 150:  # the third replica follows its leader
            assert time.monotonic() < until
            query.processAllAvailable()
    finally:
        query.stop()
    found = source(spark, lab, "after")
    assert values(found) == expected
    assert all(row["headers"][0]["key"] == "n" and row["headers"][1]["value"] is None for row in found.collect())
