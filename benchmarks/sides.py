"""The two sides: this lab and Apache Kafka, each a cluster of three brokers that can be started, weighed, stopped."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

import psutil

CHECKOUT = Path(__file__).resolve().parent.parent
ORACLE = Path(os.environ.get("BROKERLAB_ORACLE", CHECKOUT.parent / "shared" / "oracle" / "oracle.py"))
BROKERS = 3


class Side(Protocol):
    """A cluster of three brokers."""

    name: str
    bootstrap: str

    def start(self) -> None: ...
    def stop(self) -> None: ...
    def launch_again(self) -> None: ...
    def processes(self) -> list[psutil.Process]: ...


def free_ports(count: int) -> int:
    """The first of neighbouring ports that nobody listens on."""
    for first in range(20_300, 60_000, 500):
        with contextlib.ExitStack() as stack:
            try:
                for port in range(first, first + count):
                    stack.enter_context(socket.socket()).bind(("127.0.0.1", port))
            except OSError:
                continue
            return first
    raise RuntimeError("no free ports")


class Ours:
    """This lab, started as a user starts it who wants ZooKeeper, unless `more` names a controller."""

    name = "ours"

    def __init__(self, web: bool = False, settings: tuple[str, ...] = (), more: tuple[str, ...] = ()) -> None:
        self.web, self.settings, self.more = web, settings, more or ("--controller", "zookeeper")
        self.directory = Path(tempfile.mkdtemp(prefix="brokerlab-bench-"))
        first = free_ports(BROKERS + 1)
        self.page_port, self.ports = first + BROKERS, list(range(first, first + BROKERS))
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)
        self.process: subprocess.Popen[bytes] | None = None

    def launch(self) -> None:
        """Begin to start; returns at once."""
        command = [*self._front_door(), "up", "--data", str(self.directory), "--kafka-port", str(self.ports[0]),
                   "--port", str(self.page_port), "--brokers", str(BROKERS), *self.more]
        command += [] if self.web else ["--no-web"]
        for setting in self.settings:
            command += ["--set", setting]
        with open(self.directory / "output.log", "ab") as log:
            environment = os.environ | {"BROKERLAB_VENV": sys.prefix, "PYTHONPATH": str(CHECKOUT)}
            environment.pop("PYTHONDONTWRITEBYTECODE", None)  # the second start finds the bytecode of the first
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def _front_door(self) -> list[str]:
        """The start script, unless this benchmark runs in an environment that the script did not make."""
        if (Path(sys.prefix) / "installed-run.txt").exists():
            return [str(CHECKOUT / "brokerlab")]
        return [sys.executable, "-P", "-m", "cli"]

    def start(self) -> None:
        self.launch()
        try:
            wait_for_ports(self.ports, 30)
        except RuntimeError as error:
            said = (self.directory / "output.log").read_text().strip().splitlines()[-1:]
            raise RuntimeError(f"{error}; the lab said: {''.join(said) or 'nothing'}") from None

    def launch_again(self) -> None:
        self.launch()

    def stop(self) -> None:
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(60)
            self.process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self.directory, ignore_errors=True)

    def processes(self) -> list[psutil.Process]:
        assert self.process is not None
        parent = psutil.Process(self.process.pid)
        return [parent, *parent.children(recursive=True)]


class OursKRaft(Ours):
    """This lab as `up` starts it: brokers that vote themselves."""

    name = "ours, KRaft"

    def __init__(self, web: bool = False, settings: tuple[str, ...] = ()) -> None:
        super().__init__(web, settings, ("--controller", "kraft"))


OURS = {Ours.name: "", OursKRaft.name: ", KRaft"}
"""Each generation of ours, and what the case of its figure is called behind the words that both share."""


class Kafka:
    """Apache Kafka 4.1 with its own defaults, three combined nodes."""

    name = "Kafka"

    def __init__(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix="kafka-bench-"))
        first = free_ports(120)
        self.port, self.ports = first, [first + node for node in range(1, BROKERS + 1)]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in self.ports)

    def _oracle(self, *arguments: str) -> None:
        done = subprocess.run([sys.executable, str(ORACLE), *arguments, "--dir", str(self.directory)],
                              capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"{ORACLE.name} {arguments[0]}: {done.stderr.strip() or done.stdout.strip()}")

    def start(self) -> None:
        self._oracle("up", "kraft", "--port", str(self.port), "--timeout", "300")

    def stop(self) -> None:
        """The last nodes of a quorum wait for the ones that went before; they are ended after a while."""
        processes = self.processes()
        for process in processes:
            process.terminate()
        _, alive = psutil.wait_procs(processes, timeout=15)
        for process in alive:
            process.kill()
        psutil.wait_procs(alive, timeout=15)

    def launch_again(self) -> None:
        for node in range(1, BROKERS + 1):
            self._oracle("restart", str(node))

    def remove(self) -> None:
        """What did not come up has said why; there is nothing to take down."""
        if (self.directory / "cluster.json").exists():
            self._oracle("down")

    def processes(self) -> list[psutil.Process]:
        nodes = json.loads((self.directory / "cluster.json").read_text())["processes"]
        return [psutil.Process(node["pid"]) for node in nodes if psutil.pid_exists(node["pid"])]


def processor_s(side: Side) -> float:
    """Seconds of the processor that all processes of a side have taken so far, for the program and for the system."""
    return sum(times.user + times.system for process in side.processes() for times in [process.cpu_times()])


def kafka_is_there() -> bool:
    """Whether Apache Kafka can be started here."""
    return ORACLE.exists() and all(shutil.which(program) for program in ("java", "mvn"))


@contextlib.contextmanager
def running(side: Ours | Kafka) -> Iterator[Ours | Kafka]:
    """A started cluster that is gone afterwards, with its files."""
    try:
        side.start()
    except BaseException:
        with contextlib.suppress(RuntimeError):  # why it did not start is what is to be told
            side.remove()
        raise
    try:
        yield side
    finally:
        side.remove()


@contextlib.contextmanager
def both(web: bool = False, generations: bool = False) -> Iterator[list[Ours | Kafka]]:
    """Ours (with `generations` in KRaft, too), and Apache Kafka where it is there."""
    with contextlib.ExitStack() as stack:
        sides = [stack.enter_context(running(Ours(web)))]
        if generations:
            sides.append(stack.enter_context(running(OursKRaft(web))))
        if kafka_is_there():
            sides.append(stack.enter_context(running(Kafka())))
        yield sides


@contextlib.contextmanager
def alone(side: Ours | Kafka, sides: list[Ours | Kafka]) -> Iterator[None]:
    """The other sides stand still meanwhile: three idle nodes of Apache Kafka take a fifth of a core.

    Only for some seconds, less than the sessions of a cluster last.
    """
    others = [process for other in sides if other is not side for process in other.processes()]
    for process in others:
        process.suspend()
    try:
        yield
    finally:
        for process in others:
            process.resume()


def wait_for_ports(ports: list[int], timeout_s: float = 60) -> None:
    """Until somebody listens on each port."""
    deadline = time.monotonic() + timeout_s
    for port in ports:
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                if time.monotonic() > deadline:
                    raise RuntimeError(f"nobody listens on port {port}") from None
                time.sleep(0.002)
