"""Directories of Apache Kafka itself, and Spark's own Kafka source, give the same records as ours.

BROKERLAB_ORACLE names the script that starts Apache Kafka; without it, Java or Maven these tests are skipped.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys

import pytest

ORACLE = os.environ.get("BROKERLAB_ORACLE", "")
pytestmark = [pytest.mark.oracle, pytest.mark.slow, pytest.mark.timeout(600),
              pytest.mark.skipif(not ORACLE, reason="BROKERLAB_ORACLE is not set"),
              pytest.mark.skipif(not (shutil.which("java") and shutil.which("mvn")), reason="Java or Maven is missing")]
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
EACH = 500
READ = """
import json, sys
from pyspark.sql import functions as f
from lab.analytics import session
directory, bootstrap, jars = sys.argv[1:]
spark = session.start("test", "local[2]", settings={"spark.jars": jars})
wanted = ["key", "value", "topic", "partition", "offset", "timestamp", "timestampType", "headers"]
ours = spark.read.format("brokerlab.segments").option("topic", "orders").load(directory)
codecs = {row["codec"]: row["count"] for row in ours.groupBy("codec").count().collect()}
damaged = ours.where("error is not null").count()
kafka = spark.read.format("kafka").option("kafka.bootstrap.servers", bootstrap).option("subscribe", "orders").option(
    "includeHeaders", "true").option("startingOffsets", "earliest").load().select(*wanted)
def lines(frame):
    return sorted(frame.select(f.to_json(f.struct(*wanted))).toPandas().iloc[:, 0])
print(json.dumps({"codecs": codecs, "damaged": damaged, "count": ours.count(), "same": lines(ours.select(*wanted)) == lines(kafka)}))
session.stop(spark)
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture
def kafka(tmp_path):
    """One broker of Apache Kafka; (bootstrap, directory)."""
    home = str(tmp_path / "kafka")
    try:
        up = subprocess.run([sys.executable, ORACLE, "up", "kraft", "--brokers", "1", "--dir", home, "--port", str(free_port())],
                            capture_output=True, text=True, check=True, timeout=200)
        yield json.loads(up.stdout)["bootstrap"], home
    finally:
        subprocess.run([sys.executable, ORACLE, "down", "--dir", home, "--keep"], capture_output=True, check=False, timeout=60)


def test_segments_of_apache_kafka_read_as_sparks_own_source_reads_the_topic(kafka):
    confluent_kafka = pytest.importorskip("confluent_kafka")
    bootstrap, home = kafka
    jars = subprocess.run([sys.executable, ORACLE, "spark-jars"], capture_output=True, text=True, check=False)
    if jars.returncode:
        pytest.skip("the jars of Spark's Kafka source cannot be had")
    for codec in CODECS:
        producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "compression.type": codec, "linger.ms": 20,
                                             "enable.idempotence": codec != "gzip"})
        for number in range(EACH):
            headers = [("h", b"v"), ("none", None)] if number % 10 == 0 else None
            producer.produce("orders", key=b"k" if number % 3 else None, value=b"%s %d " % (codec.encode(), number) * 10, headers=headers)
        assert producer.flush(30) == 0
    done = subprocess.run([sys.executable, "-c", READ, home, bootstrap, jars.stdout.strip()], capture_output=True, text=True,
                          check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout.strip().splitlines()[-1])
    assert told == {"codecs": dict.fromkeys(CODECS, EACH), "damaged": 0, "count": EACH * len(CODECS), "same": True}
