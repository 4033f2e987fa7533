"""One Spark session for all tests of this directory, and runs that several of them look at."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.conftest import have_modules, missing

if have_modules("pyspark", "pyarrow", "numba"):
    from lab.analytics import session
    from lab.analytics.errors import AnalyticsError
    from lab.experiments.run import run_scenario
    from tests.analytics.scenarios import short
else:
    collect_ignore_glob = ["test_[!n]*.py"]  # test_not_installed.py stays, and says so


@pytest.fixture(scope="session")
def kafka_jars() -> str:
    """The value of `spark.jars` for Spark's own Kafka source; empty where Maven or its script is missing."""
    script = Path(os.environ.get("BROKERLAB_ORACLE", Path(__file__).resolve().parents[3] / "shared" / "oracle" / "oracle.py"))
    if not (script.exists() and shutil.which("mvn")):
        return ""
    told = subprocess.run([sys.executable, str(script), "spark-jars"], capture_output=True, text=True, check=False)
    return told.stdout.strip() if told.returncode == 0 else ""


@pytest.fixture(scope="session")
def spark(kafka_jars):
    try:
        started = session.start("brokerlab tests", "local[2]", memory="2g", settings={"spark.jars": kafka_jars} if kafka_jars else None)
    except AnalyticsError as error:
        missing(f"what Spark needs ({error})")
    yield started
    session.stop(started)


@pytest.fixture
def with_kafka(spark, kafka_jars):
    """The session, with Spark's own Kafka source in it."""
    if not kafka_jars:
        missing("spark-sql-kafka-0-10 (Maven, and the script that fetches it)")
    return spark


@pytest.fixture(scope="session")
def short_runs(tmp_path_factory) -> Path:
    """A directory with three short runs: acks=0, 1, all, each with a leader that dies."""
    home = tmp_path_factory.mktemp("runs")
    for acks in ("0", "1", "all"):
        run_scenario(short(acks), out=home / f"acks-{acks}")
    return home


@pytest.fixture(scope="session")
def scenario(tmp_path_factory) -> str:
    """One that is over in a fraction of a second, as a file that commands take: with acks=1 it loses records."""
    path = tmp_path_factory.mktemp("scenario") / "short.yaml"
    document = short("1").document
    del document["record_level"]
    path.write_text(yaml.safe_dump(document))
    return str(path)
