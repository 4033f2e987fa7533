"""The start script: which Python it takes, and what it says when there is no environment to be had."""

from __future__ import annotations

import contextlib
import functools
import http.server
import threading
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lab import bootstrap
from tests.conftest import CHECKOUT, PATIENCE_S


def start(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(CHECKOUT / "brokerlab"), *arguments], env=os.environ | environment, capture_output=True,
                          text=True, timeout=PATIENCE_S, check=False)


def python_of_version(directory: Path, version: str) -> str:
    """A program that answers as an old Python would."""
    program = directory / "python3"
    program.write_text(f'#!/bin/sh\ncase "$2" in *platform*) echo {version} ;; *) exit 1 ;; esac\n')
    program.chmod(0o755)
    return str(program)


@pytest.fixture
def ready(tmp_path):
    """An environment that counts as complete: this test's own Python and a copy of the lock file."""
    environment = tmp_path / "environment"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (environment / bootstrap.MARK).touch()
    lock = (CHECKOUT / "requirements" / "run.txt").read_bytes()
    (environment / "installed-run.txt").write_bytes(lock)
    return environment


def test_a_python_that_is_too_old_is_named(tmp_path):
    done = start("up", BROKERLAB_PYTHON=python_of_version(tmp_path, "3.9.2"), BROKERLAB_VENV=str(tmp_path / "none"))
    assert done.returncode == 1
    assert done.stderr.startswith("brokerlab: Python 3.11 or newer is needed; found only: ")
    assert done.stderr.endswith("is 3.9.2\n")


def test_no_python_at_all_is_one_line(tmp_path):
    done = start("up", BROKERLAB_PYTHON="no-such-python", BROKERLAB_VENV=str(tmp_path / "none"))
    assert (done.returncode, done.stderr) == (1, "brokerlab: Python 3.11 or newer is needed\n")


def test_somebody_elses_directory_is_never_touched(tmp_path):
    (tmp_path / "mine").write_text("precious")
    done = start("up", BROKERLAB_PYTHON=sys.executable, BROKERLAB_VENV=str(tmp_path))
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "not Brokerlab's own" in done.stderr
    assert (tmp_path / "mine").read_text() == "precious"


def test_a_place_that_cannot_be_written_is_one_line():
    done = start("up", BROKERLAB_PYTHON=sys.executable, BROKERLAB_VENV="/proc/nowhere")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("brokerlab: cannot make /proc/nowhere: ")


def test_a_complete_environment_is_used_as_it_is_from_any_directory_and_through_a_link(ready, tmp_path):
    (tmp_path / "lab").mkdir()
    link = tmp_path / "brokerlab"
    link.symlink_to(CHECKOUT / "brokerlab")
    site = next(path for path in sys.path if path.endswith("site-packages"))
    environment = os.environ | {"BROKERLAB_VENV": str(ready), "PYTHONPATH": site}
    done = subprocess.run([str(link), "settings", "broker.rack"], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Rack of this broker" in done.stdout


def test_an_interrupted_environment_is_made_anew(ready, monkeypatch, tmp_path):
    (ready / "installed-run.txt").unlink()
    (ready / "half").touch()
    installed = []
    monkeypatch.setattr(bootstrap.venv, "create", lambda directory, **_: installed.append("environment"))
    monkeypatch.setattr(bootstrap, "install", lambda _, lock: installed.append(lock.name))
    bootstrap.prepare(CHECKOUT, ready, ["run", "test"])
    assert installed == ["environment", "run.txt", "test.txt"]
    assert not (ready / "half").exists()
    assert (ready / "installed-test.txt").read_bytes() == (CHECKOUT / "requirements" / "test.txt").read_bytes()


@pytest.mark.parametrize(("command", "groups"), [
    ("replay", ["spark"]), ("sweep", ["spark"]), ("test", ["test", "spark"]), ("bench", ["test", "spark"]),
    ("pictures", ["test"]),
])
def test_a_command_that_needs_more_gets_it_first_and_then_starts_at_once(ready, command, groups):
    assert bootstrap.groups_of([command, "--help"]) == ["run", *groups]
    assert bootstrap.groups_of(["up"]) == bootstrap.groups_of([]) == ["run"]
    for group in groups:
        lock = (CHECKOUT / "requirements" / f"{group}.txt").read_bytes()
        (ready / f"installed-{group}.txt").write_bytes(lock)
    site = next(path for path in sys.path if path.endswith("site-packages"))
    done = start(command, "--help", BROKERLAB_VENV=str(ready), PYTHONPATH=site, BROKERLAB_PYTHON="no-such-python")
    assert (done.returncode, f"usage: brokerlab {command}" in done.stdout) == (0, True), done.stderr


def test_only_a_lock_file_that_changed_is_installed(ready, monkeypatch):
    installed = []
    monkeypatch.setattr(bootstrap, "install", lambda _, lock: installed.append(lock.name))
    (ready / "installed-test.txt").write_text("older pins\n")
    bootstrap.prepare(CHECKOUT, ready, ["run", "test"])
    assert installed == ["test.txt"]


def test_a_python_without_its_bundled_pip_gets_the_pinned_one(tmp_path, monkeypatch):
    monkeypatch.setattr(bootstrap.importlib.util, "find_spec", lambda _: None)
    wheel = tmp_path / "index" / "pip" / f"pip-{bootstrap.PIP_VERSION}-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"not the pinned one")
    (wheel.parent / "index.html").write_text(f'<a href="{wheel.name}#sha256=0">pip</a>')
    with serving(tmp_path / "index") as address:
        monkeypatch.setenv("PIP_INDEX_URL", address)
        with pytest.raises(bootstrap.BootstrapError, match="does not have the pinned hash"):
            bootstrap.make_environment(tmp_path / "new")
        monkeypatch.setattr(bootstrap, "PIP_VERSION", "0.0.1")
        with pytest.raises(bootstrap.BootstrapError, match=r"not on the index.*sudo apt install python3\.\d+-venv"):
            bootstrap.fetch_pip()
    assert not bootstrap.usable(tmp_path / "new")


@contextlib.contextmanager
def serving(directory):
    """The files of a directory over HTTP on the loopback."""
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=directory)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
