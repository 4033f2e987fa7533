"""Real servers that tests start themselves: Redis and PostgreSQL, on free ports, in directories of their own."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.conftest import PATIENCE_S, free_ports

POSTGRES_USER = "postgres"


def wait_for_port(port: int, process: subprocess.Popen[str], seconds: float = PATIENCE_S) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise AssertionError("the server did not start")


@contextmanager
def redis_server(program: str, port: int | None = None) -> Iterator[str]:
    """Its URL; nothing is written to a disk."""
    port = port or free_ports(1)
    with tempfile.TemporaryDirectory() as directory:
        command = [program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no",
                   "--dir", directory]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        try:
            wait_for_port(port, process)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


def postgres_program(name: str) -> str | None:
    """Debian keeps the server's programs out of the path."""
    found = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"))
    return shutil.which(name) or (str(found[-1]) if found else None)


@contextmanager
def postgres_server(initdb: str, postgres: str) -> Iterator[str]:
    """The URL of an empty database. PostgreSQL refuses to run as root: then it runs as its own user."""
    user = POSTGRES_USER if os.geteuid() == 0 else None
    directory = tempfile.mkdtemp(prefix="brokerlab-postgres-")
    if user is not None:
        owner = pwd.getpwnam(user)
        os.chown(directory, owner.pw_uid, owner.pw_gid)
    port = free_ports(1)
    data = f"{directory}/data"
    options = {"user": user, "group": user} if user is not None else {}
    try:
        subprocess.run([initdb, "-D", data, "-U", "lab", "-A", "trust", "--no-sync", "-E", "UTF8"], check=True,
                       capture_output=True, cwd=directory, **options)
        command = [postgres, "-D", data, "-p", str(port), "-k", directory, "-h", "127.0.0.1", "-F"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                   cwd=directory, **options)
        try:
            wait_for_port(port, process)
            yield f"postgresql://lab@127.0.0.1:{port}/postgres"
        finally:
            process.send_signal(signal.SIGINT)  # a fast shutdown: it waits for no client to leave
            process.wait(120)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
