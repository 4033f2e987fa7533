"""What `pip install` brings: the wheel in an environment of its own, far from the checkout: lab, page, lesson, fixture."""

from __future__ import annotations

import json
import os
import re
import signal
import site
import subprocess
import sys
import urllib.request
import venv
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import CHECKOUT, IN_CI, PATIENCE_S, missing

pytestmark = pytest.mark.slow
MINUTES = 600


class NoIndexError(Exception):
    """Nothing can be had from the package index."""


class Environment:
    """A virtual environment with the wheel in it; what runs there knows nothing of the checkout."""

    def __init__(self, home: Path, wheel: Path, shared: bool) -> None:
        self.home = home
        venv.create(home / "venv", with_pip=not shared)
        self.python = str(home / "venv" / "bin" / "python")
        if shared:  # its packages are those that the tests run with, without the checkout
            version = f"python{sys.version_info.major}.{sys.version_info.minor}"
            place = home / "venv" / "lib" / version / "site-packages"
            (place / "shared.pth").write_text("\n".join(path for path in site.getsitepackages() if Path(path).is_dir()))
            installer = [sys.executable, "-m", "pip", "--python", self.python, "install", "--no-deps"]
        else:
            installer = [self.python, "-m", "pip", "install"]
        more = [] if shared else ["pytest"]
        done = subprocess.run([*installer, "-q", "--disable-pip-version-check", str(wheel), *more], text=True,
                              capture_output=True, cwd=home, timeout=MINUTES)  # fmt: skip
        if done.returncode and not shared:
            raise NoIndexError(done.stderr[-300:])
        assert not done.returncode, done.stderr

    @property
    def variables(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith(("BROKERLAB", "PYTHON", "DJANGO", "PYTEST"))}  # fmt: skip
        return kept | {"XDG_DATA_HOME": str(self.home / "share"), "LANG": "C.UTF-8"}

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=self.home, env=self.variables, text=True, capture_output=True, timeout=MINUTES)

    def brokerlab(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return self.run(str(self.home / "venv" / "bin" / "brokerlab"), *arguments)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from the checkout, in an environment of its own as pip does it."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q", "-w", str(out), str(CHECKOUT)]
    done = subprocess.run(command, cwd=out, text=True, capture_output=True, timeout=MINUTES)
    found = list(out.glob("*.whl"))
    if not found:
        if "hatchling" in done.stderr:
            missing("what builds a wheel (hatchling, from the package index)")
        pytest.fail(done.stderr)
    return found[0]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """With what the package index gives; where there is none, with the packages that the tests run with."""
    try:
        return Environment(tmp_path_factory.mktemp("empty"), wheel, shared=False)
    except NoIndexError as failure:
        if IN_CI:
            missing(f"the package index ({failure})")
        return Environment(tmp_path_factory.mktemp("shared"), wheel, shared=True)


def test_nothing_comes_from_the_checkout(installed: Environment) -> None:
    code = "import lab, web, cli, broker_core, lab.places as p; print(lab.__file__, p.INSTALLED, p.home())"
    done = installed.run(installed.python, "-c", code)
    assert done.stdout.split()[1:] == ["True", str(installed.home / "share" / "brokerlab")], done.stderr
    assert str(CHECKOUT) not in done.stdout


def test_a_lesson_runs_and_can_be_executed_again(installed: Environment) -> None:
    listed = installed.brokerlab("lessons", "--language", "ko")
    assert "내구성" in listed.stdout, listed.stderr
    done = installed.brokerlab("run", "acks-1", "--json", "--out", str(installed.home / "run"))
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["receipt"]["lost"] > 0
    assert installed.brokerlab("verify", str(installed.home / "run")).returncode == 0


def test_help_tells_where_the_data_is_and_what_a_checkout_alone_can(installed: Environment) -> None:
    shown = re.sub(r"\s+", "", installed.brokerlab("up", "--help").stdout)
    assert str(installed.home / "share" / "brokerlab") in shown
    assert "retention.ms" in installed.brokerlab("settings", "retention").stdout
    refused = installed.brokerlab("bench")
    assert (refused.returncode, "checkout" in refused.stderr) == (2, True)


@pytest.fixture(scope="module")
def page(installed: Environment) -> Iterator[str]:
    """The address of a lab's page, started as a user does it, in the user's place."""
    command = [str(installed.home / "venv" / "bin" / "brokerlab"), "up", "--port", "0", "--kafka-port", "0", "--preset", "teaching"]
    process = subprocess.Popen(command, cwd=installed.home, env=installed.variables, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line.rstrip())
        if line.startswith("Stop: "):
            break
    else:
        pytest.fail("\n".join(lines))
    yield next(line.removeprefix("Page: ") for line in lines if line.startswith("Page: "))
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE_S) == 0
    process.stdout.close()


def text_of(address: str, language: str = "en") -> str:
    request = urllib.request.Request(address, headers={"Accept-Language": language})
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as answer:
        return str(answer.read().decode())


def test_the_page_has_its_templates_scripts_lessons_and_texts(installed: Environment, page: str) -> None:
    first = text_of(page)
    scripts = re.findall(r"""(?:src|href)="(/static/[^"]+)""", first)
    assert any(name.endswith(".js") for name in scripts)
    assert any(name.endswith(".css") for name in scripts)
    assert all(text_of(page.rstrip("/") + name) for name in scripts)
    assert len(json.loads(text_of(f"{page}api/scenarios"))["items"]) > 50
    assert "한" in re.sub(r"[가-힣]", "한", text_of(f"{page}glossary/", "ko"))
    assert "ZooKeeper" in text_of(f"{page}not-modelled/", "ko")
    assert json.loads(text_of(f"{page}api/settings"))["items"]
    assert (installed.home / "share" / "brokerlab" / "web").is_dir()


A_TEST = '''
import pytest

@pytest.mark.kafka(brokers=1, topics={"orders": 1})
def test_of_an_application(kafka_cluster):
    assert kafka_cluster.produce("orders", "1", partition=0)["offset"] == 0

def test_of_a_world(simulated_cluster):
    simulated_cluster.kill(controller=True)
    simulated_cluster.wait(controller="any", is_=">= 1")
'''


def test_pytest_finds_the_fixtures_by_itself(installed: Environment) -> None:
    (installed.home / "test_app.py").write_text(A_TEST)
    done = installed.run(installed.python, "-m", "pytest", "-q", "--strict-markers", "-p", "no:cacheprovider", "test_app.py")
    assert "2 passed" in done.stdout, done.stdout + done.stderr
