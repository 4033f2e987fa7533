"""What all tests share: programs that a test needs, and a started lab."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import SystemRandom
from typing import Any

import pytest
from hypothesis import settings

import broker_core
from lab import heap
from tests import outside, spending, spreading, time_box

PATIENCE_S = 90  # a test waits this long for what comes at once: the disk of a shared machine may stand still for half a minute
CHECKOUT = Path(__file__).resolve().parent.parent
IN_CI = os.environ.get("CI", "").lower() in ("1", "true", "yes")


def pytest_configure(config: pytest.Config) -> None:
    for plugin in (outside, spending, spreading, time_box):
        config.pluginmanager.register(plugin)
    settings.register_profile("patient", deadline=None)  # no example is wrong because the machine was busy
    settings.load_profile("patient")


def pytest_collection_finish() -> None:
    """As in each process that executes worlds: with all tests in the heap a search for cycles takes longer still."""
    heap.settle()


def pytest_runtest_setup(item: pytest.Item) -> None:
    if broker_core.COMPILED and item.get_closest_marker("interpreted") is not None:
        pytest.skip("the core is compiled")


def missing(what: str) -> None:
    """A part of the system is not there: a reason to skip, but in CI a failure."""
    if IN_CI:
        pytest.fail(f"{what} is missing, and CI must have it", pytrace=False)
    pytest.skip(f"{what} is not installed")


def have_modules(*names: str) -> bool:
    """Whether all of these Python packages are installed."""
    return all(importlib.util.find_spec(name) is not None for name in names)


@pytest.fixture(scope="session", autouse=True)
def own_database(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Servers within the tests' process keep their jobs in a database of their own, not in the checkout's. `./brokerlab
    test` gives each process a data directory."""
    from django.db import connections

    if "BROKERLAB_DATA" in os.environ:
        return
    here = connections.databases["default"]
    if here["ENGINE"].endswith("sqlite3"):
        here["NAME"] = tmp_path_factory.mktemp("database") / "lab.sqlite3"


@pytest.fixture(scope="session")
def require_program() -> Callable[[str], str]:
    """`require_program("kcat")`: its path, or the test skips (fails in CI)."""

    def require(name: str) -> str:
        found = shutil.which(name)
        if found is None:
            missing(f"the program {name}")
        return str(found)

    return require


@pytest.fixture(scope="session")
def require_module() -> Callable[[str], None]:
    """`require_module("confluent_kafka")`: skips (fails in CI) when it cannot be imported."""

    def require(name: str) -> None:
        if importlib.util.find_spec(name) is None:
            missing(f"the Python package {name}")

    return require


@pytest.fixture(scope="session")
def require_oracle(require_program: Callable[[str], str]) -> Path:
    """The script that starts Apache Kafka: BROKERLAB_ORACLE, or `shared/oracle` beside the checkout."""
    require_program("java")
    require_program("mvn")
    default = CHECKOUT.parent / "shared" / "oracle" / "oracle.py"
    script = Path(os.environ.get("BROKERLAB_ORACLE", default))
    if not script.exists():
        missing(f"the script that starts Apache Kafka ({script.name})")
    return script


@pytest.fixture(scope="session", autouse=True)
def database(django_db_blocker: Any) -> Iterator[None]:
    """Servers that run inside the tests' process use their database as they always do."""
    with django_db_blocker.unblock():
        yield


@pytest.fixture(autouse=True)
def no_fault_of_ours(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A call of a world or a request handler that failed is told in a log and everything goes on; not in a test."""
    yield
    if "faulty" not in request.keywords:
        faults = [record for record in caplog.get_records("call")
                  if record.exc_info and record.name in ("brokerlab.world", "brokerlab.broker")]  # fmt: skip
        assert not faults, faults[0].exc_text or faults[0].getMessage()


def free_ports(count: int) -> int:
    """The first of `count` neighbouring ports that nobody listens on, below those that outgoing connections get."""
    for _ in range(200):
        first = SystemRandom().randrange(10_000, 32_000 - count)
        if all(_is_free(first + number) for number in range(count)):
            return first
    raise RuntimeError("no neighbouring free ports")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


@dataclass
class StartedLab:
    """A lab that runs as a process of its own, as a user starts it."""

    process: subprocess.Popen[str]
    data: Path
    lines: list[str] = field(default_factory=list)

    @property
    def page(self) -> str:
        return self._value("Page: ")

    @property
    def bootstrap(self) -> str:
        return self._value("Kafka: ")

    def _value(self, label: str) -> str:
        return next(line.removeprefix(label) for line in self.lines if line.startswith(label))

    def stop(self, timeout_s: float = PATIENCE_S) -> int:
        """SIGTERM; the exit code."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout_s)


def start_lab(
    data: Path, *options: str, web: bool = False, brokers: int = 3, generation: str | None = "zookeeper"
) -> StartedLab:
    """`brokerlab up` on free ports; returns once the brokers listen. `generation`: unless `options` name a controller; None: what a user
    gets who names none."""
    first = free_ports(brokers + 2)  # the page's, the brokers', and one for a broker that joins
    ports = ["--kafka-port", str(first + 1), "--port", str(first), "--brokers", str(brokers)]
    of = ["--controller", generation] if generation and "--controller" not in options else []
    command = [sys.executable, "-P", "-m", "cli", "up", "--data", str(data), *ports, *of, *options]
    environment = os.environ | {"PYTHONPATH": str(CHECKOUT)}
    process = subprocess.Popen(command + ([] if web else ["--no-web"]), text=True, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    lab = StartedLab(process, data)
    assert process.stdout is not None
    for line in process.stdout:
        lab.lines.append(line.rstrip("\n"))
        if re.match(r"Stop: ", line):
            return lab
    raise RuntimeError("the lab did not start:\n" + "\n".join(lab.lines))


@pytest.fixture
def run_lab(tmp_path: Path) -> Iterator[Callable[..., StartedLab]]:
    """`run_lab("--speed", "1/10", web=True)`: a started lab that ends with the test."""
    labs: list[StartedLab] = []

    def run(*options: str, **more: Any) -> StartedLab:
        labs.append(start_lab(more.pop("data", tmp_path / "lab"), *options, **more))
        return labs[-1]

    yield run
    for lab in labs:
        lab.stop()
