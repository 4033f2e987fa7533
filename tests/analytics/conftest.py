"""One Spark session for all tests of this directory, and runs that several of them look at."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import have_modules

if have_modules("pyspark", "pyarrow", "numba"):
    from lab.analytics import session
    from lab.analytics.errors import AnalyticsError
    from lab.experiments.run import run_scenario
    from tests.analytics.scenarios import short
else:
    collect_ignore_glob = ["test_[!n]*.py"]  # test_not_installed.py stays, and says so


@pytest.fixture(scope="session")
def spark():
    try:
        started = session.start("brokerlab tests", "local[2]")
    except AnalyticsError as error:
        pytest.skip(str(error))
    yield started
    session.stop(started)


@pytest.fixture(scope="session")
def short_runs(tmp_path_factory) -> Path:
    """A directory with three short runs: acks=0, 1, all, each with a leader that dies."""
    home = tmp_path_factory.mktemp("runs")
    for acks in ("0", "1", "all"):
        run_scenario(short(acks), out=home / f"acks-{acks}")
    return home
