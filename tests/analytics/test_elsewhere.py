"""Spark somewhere else: a cluster of one master and two workers, spark-submit, a Spark Connect server.

Nothing that is started here finds the package by itself: it travels as a zip.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pyspark
import pytest

from lab.analytics.java import find_java
from tests.conftest import CHECKOUT, free_ports, have_modules, missing

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
HOME = os.path.dirname(pyspark.__file__)
QUICK = {"JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}  # as the lab's own sessions; executors inherit it


@contextmanager
def java(log: Path, ready: bytes, *words: str):
    """One of Spark's own programs, until the block ends; waits until its log says that it is ready."""
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "SPARK_REMOTE")} | {
        "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOG_DIR": str(log.parent), "JAVA_HOME": str(find_java().home), "SPARK_HOME": HOME,
        "PYSPARK_PYTHON": sys.executable, **QUICK}
    with open(log, "wb") as file:
        process = subprocess.Popen([f"{HOME}/bin/spark-class", *words], env=environment, stdout=file, stderr=file, cwd=log.parent)
        try:
            until = time.monotonic() + 120
            while ready not in log.read_bytes():
                assert process.poll() is None and time.monotonic() < until, log.read_text()[-3000:]
                time.sleep(0.3)
            yield
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A standalone cluster on the loopback: one master, two workers of one core; its URL."""
    home, port = tmp_path_factory.mktemp("cluster"), free_ports(4)
    url = f"spark://127.0.0.1:{port}"
    with ExitStack() as stack:
        stack.enter_context(java(home / "master.log", b"New state: ALIVE", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1",
                                 "--port", str(port), "--webui-port", str(port + 1)))
        for number in (1, 2):
            stack.enter_context(java(
                home / f"worker-{number}.log", b"Successfully registered with master", "org.apache.spark.deploy.worker.Worker", url, "--host", "127.0.0.1",
                "--cores", "1", "--memory", "1g", "--webui-port", str(port + 1 + number), "--work-dir", str(home / f"work-{number}")))
        yield url


@pytest.fixture(scope="module")
def connect(tmp_path_factory):
    """A Spark Connect server; its URL."""
    if not have_modules("grpc", "grpc_status", "google.rpc"):
        missing("what Spark Connect needs (pip install -r requirements/spark.txt)")
    home, port = tmp_path_factory.mktemp("connect"), free_ports(1)
    settings = {"spark.connect.grpc.binding.port": str(port), "spark.connect.grpc.binding.address": "127.0.0.1", "spark.ui.enabled": "false",
                "spark.driver.memory": "700m"}
    with java(home / "connect.log", b"Spark Connect server started", "org.apache.spark.deploy.SparkSubmit", "--master", "local[2]",
              *[word for pair in settings.items() for word in ("--conf", "=".join(pair))],
              "--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"):
        yield f"sc://127.0.0.1:{port}"


def told(tmp_path, *command, **environment):
    """What a command prints; it must succeed."""
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=400,
                          env=os.environ | {"PYTHONPATH": str(CHECKOUT)} | environment)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def one_core(home: Path) -> Path:
    """A directory of settings with which a program takes one core of a cluster, and with it one executor's Java."""
    (home / "conf").mkdir()
    (home / "conf" / "spark-defaults.conf").write_text("spark.cores.max 1\n")
    return home / "conf"


BROKERLAB = (sys.executable, "-P", "-m", "cli")
SWEEP = ("--grid", "acks=1,all", "--seeds", "1..3")


@pytest.mark.every
def test_a_sweep_works_on_a_cluster(cluster, scenario, tmp_path):
    """Both workers take part. What differs from `spark-submit` is who starts the driver; a replay starts it here, too."""
    assert re.search(r"acks=all +3 +0 ", told(tmp_path, *BROKERLAB, "sweep", scenario, *SWEEP, "--master", cluster))


def test_a_replay_works_on_a_cluster(cluster, short_runs, tmp_path):
    """As one task."""
    assert "producer-orders" in told(tmp_path, *BROKERLAB, "replay", str(short_runs / "acks-1"), "--query", "receipt", "--master", cluster,
                                     SPARK_CONF_DIR=str(one_core(tmp_path)))


def test_spark_submit_takes_a_sweep_to_a_cluster(cluster, scenario, tmp_path):
    """The command of docs/tour/analytics.md; the driver has the checkout, the workers get its zip."""
    submit = (f"{HOME}/bin/spark-submit", "--master", cluster, "--conf", "spark.ui.enabled=false", "--conf", "spark.cores.max=1",
              str(CHECKOUT / "cli" / "__main__.py"))
    found = told(tmp_path, *submit, "sweep", scenario, *SWEEP, JAVA_HOME=str(find_java().home), PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1",
                 SPARK_HOME=HOME, **QUICK)
    assert re.search(r"acks=all +3 +0 ", found), found


def test_a_sweep_and_a_replay_work_at_a_spark_connect_server(connect, scenario, short_runs, tmp_path):
    assert re.search(r"acks=all +3 +0 ", told(tmp_path, *BROKERLAB, "sweep", scenario, *SWEEP, SPARK_REMOTE=connect))
    replayed = told(tmp_path, *BROKERLAB, "replay", str(short_runs / "acks-1"), "--query", "receipt", "--query", "lost", SPARK_REMOTE=connect)
    assert "producer-orders" in replayed and "cut" in replayed


def test_a_server_that_is_not_there_is_told_in_one_line(tmp_path, short_runs):
    done = subprocess.run([*BROKERLAB, "replay", str(short_runs / "acks-1"), "--master", "sc://127.0.0.1:1"], cwd=tmp_path, capture_output=True, text=True,
                          check=False, timeout=200, env=os.environ | {"PYTHONPATH": str(CHECKOUT)})
    assert done.returncode == 2
    assert re.search(r"no Spark Connect server answers at sc://127\.0\.0\.1:1", done.stderr), done.stderr
