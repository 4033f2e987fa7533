"""`replay` and `sweep` as they are typed: trouble inside Spark is one line, too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from lab.analytics import places
from lab.analytics.errors import AnalyticsError, one_line
from tests.conftest import CHECKOUT

PATIENCE_S = 300


def brokerlab(*arguments: str, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-P", "-m", "lab.cli", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(CHECKOUT), **environment}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_a_table_that_cannot_be_written_is_told_in_one_line(short_runs, tmp_path):
    (tmp_path / "records").touch()
    done = brokerlab("replay", str(short_runs / "acks-1"), "--query", "receipt", "--out", str(tmp_path))
    _, told = done.communicate(timeout=PATIENCE_S)
    assert done.returncode == 1
    assert told.startswith("brokerlab: ") and told.count("\n") == 1 and f"{tmp_path}/records" in told, told


@pytest.mark.slow
def test_an_interrupted_sweep_says_nothing_and_leaves_nothing(tmp_path):
    done = brokerlab("sweep", "acks-all", "--seeds", "1..500", TMPDIR=str(tmp_path))
    until = time.monotonic() + PATIENCE_S
    while not list(tmp_path.glob("brokerlab-sweep-*/brokerlab-run-*")):
        assert done.poll() is None and time.monotonic() < until
        time.sleep(0.1)
    done.send_signal(signal.SIGINT)
    assert done.communicate(timeout=PATIENCE_S) == ("", "")
    assert done.returncode == 130
    assert not list(tmp_path.glob("brokerlab-*"))


def test_paths_are_a_json_list_or_names_between_commas():
    assert places.given_paths(places.joined_paths(["/a,b", "/c"])) == ["/a,b", "/c"]
    assert places.given_paths("/a, /b") == ["/a", "/b"]
    assert places.given_paths("[odd") == ["[odd"]


class Gone(Exception):
    """An error whose text died with the virtual machine."""

    def __str__(self) -> str:
        raise RuntimeError


def test_an_error_is_one_line():
    assert one_line(AnalyticsError("no such directory")) == "no such directory"
    assert one_line(ValueError("first\nsecond")) == "ValueError: first"
    assert one_line(Gone()) == "Gone"
    java = "An error occurred while calling o1.parquet.\n: java.io.IOException: cannot be written\n\tat a.b.C.d(E.java:1)"
    assert one_line(RuntimeError(java)) == "IOException: cannot be written"
    inside = "An exception was thrown from the Python worker:\nTraceback (most recent call last):\n  File x\nValueError: byte 7 is odd\n"
    assert one_line(RuntimeError(inside)) == "RuntimeError: ValueError: byte 7 is odd"
