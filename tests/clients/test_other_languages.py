"""kafkajs and franz-go against a lab: what their users do, and the death of a leader under load.

Both come from their registries (versions and checksums stand in package-lock.json and go.sum) into a cache
directory outside of the checkout. Without `npm` or `go`, or where the registries do not answer, these tests skip,
also in CI: on Debian 12 npm brings some hundred packages with it, and Go is too old. What came with another checksum
than it should, and what does not compile, fails.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from lab.clusters.spec import run_from_dict
from lab.live import LiveLab
from tests.clients.conftest import HERE, Cluster, Running, run
from tests.clients.test_death_of_a_leader import ENOUGH, check, kill_and_restart
from tests.clients.test_next_generation import OWN
from tests.conftest import PATIENCE_S, free_ports

pytestmark = [pytest.mark.clients, pytest.mark.timeout(900)]  # a compiler may be at work
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "brokerlab-clients"
Client = Callable[..., tuple[str, ...]]


def place(*files: Path) -> Path:
    """A directory of the cache for exactly these files."""
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in sorted(files))).hexdigest()[:16]
    found = CACHE / f"{files[0].parent.name}-{digest}"
    found.mkdir(parents=True, exist_ok=True)
    return found


FORGED = ("EINTEGRITY", "SECURITY ERROR", "checksum mismatch")


def fetched(*command: str, cwd: Path) -> None:
    """Run what only brings packages from a registry; a registry that cannot be had is a reason to skip."""
    try:
        ended = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{' '.join(command)} took too long")
    if ended.returncode != 0:
        assert not any(word in ended.stderr for word in FORGED), ended.stderr[-3000:]
        pytest.skip(f"{' '.join(command)} did not get its packages: {ended.stderr[-300:]}")


def needed(program: str) -> str:
    found = shutil.which(program)
    if found is None:
        pytest.skip(f"the program {program} is not installed")
    return found


@pytest.fixture(scope="module")
def kafkajs() -> Client:
    """`kafkajs("tour", BOOTSTRAP)`: the command."""
    node, npm, sources = needed("node"), needed("npm"), HERE / "kafkajs"
    target = place(*sources.glob("*.json"), *sources.glob("*.js"))
    if not (target / "node_modules" / "kafkajs" / "package.json").exists():
        for path in sources.iterdir():
            shutil.copy(path, target)
        fetched(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=target)
    return lambda name, *arguments: (node, str(target / f"{name}.js"), *arguments)


@pytest.fixture(scope="module")
def franz() -> Client:
    """`franz("tour", BOOTSTRAP)`: the command."""
    go, sources = needed("go"), HERE / "franz"
    target = place(*sources.iterdir()) / "franz"
    if not target.exists():
        fetched(go, "mod", "download", cwd=sources)
        subprocess.run([go, "build", "-mod=readonly", "-o", str(target), "."], cwd=sources, check=True, timeout=600)
    return lambda name, *arguments: (str(target), name, *arguments)


@pytest.fixture(params=["kafkajs", "franz"])
def client(request: pytest.FixtureRequest) -> Client:
    found: Client = request.getfixturevalue(request.param)
    return found


def test_a_client_sees_what_it_expects_of_a_broker(cluster: Cluster, client: Client) -> None:
    assert run(*client("tour", cluster.bootstrap)).endswith("done\n")


def test_a_client_loses_nothing(cluster: Cluster, running: Callable[..., Running], client: Client,
                                request: pytest.FixtureRequest) -> None:
    topic = f"death-{request.node.callspec.params['client']}"
    cluster.create(topic)
    producer = running(*client("produce", cluster.bootstrap, topic))
    acked = lambda: [line for line in list(producer.lines) if line.isdigit()]  # noqa: E731
    producer.wait_for(lambda lines: len(lines) > ENOUGH)
    kill_and_restart(cluster, topic, lambda: len(acked()))
    assert producer.end() == 0
    check(cluster, topic, acked())
    assert set(acked()) == set(cluster.values(topic))


@pytest.fixture
def today(tmp_path: Path) -> Iterator[Cluster]:
    """Three brokers with KRaft, which have the groups of today; the topic of share groups can be made by two of them."""
    state = "share.coordinator.state.topic."
    settings = {**OWN, f"{state}num.partitions": "3", f"{state}replication.factor": "2", f"{state}min.isr": "1"}
    described = {"brokers": 3, "controller": "kraft", "port": free_ports(103), "preset": "teaching", "settings": settings}
    lab = LiveLab(run_from_dict({"cluster": described, "epoch_ms": time.time_ns() // 1_000_000}), tmp_path)
    yield Cluster(lab, lab.start().bootstrap)
    lab.stop()


def test_members_and_workers_of_the_groups_of_today_share_their_topic(today: Cluster, franz: Client, running: Callable[..., Running]) -> None:
    """franz-go with KIP-848, whose coordinator dies, and with KIP-932."""
    today.create("work", 4)
    client = running(*franz("modern", today.bootstrap))
    client.wait_for(lambda lines: "shared" in lines, 2 * PATIENCE_S)
    today.do(do="kill", broker=today.state()["groups"]["modern"]["coordinator"])
    assert client.end(timeout_s=2 * PATIENCE_S) == 0, client.lines[-20:]
    assert client.lines[-1] == "done"
