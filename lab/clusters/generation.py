"""Of which generation a lab's directory is: a directory of one is not opened with the other.

A lab that is started without a word about it goes on with the one that its directory is of (`shape_of`).

What `meta.properties` says in the brokers' log directories decides, and the directories of dedicated controllers: what
the cluster has decided lies on the voters' disks, so another number of them would be another cluster.

| on the disks | asked for | |
|---|---|---|
| nothing | anything | it is made |
| version=0 | zookeeper | opened |
| version=1, controller-101, -102, -103 | kraft, 3 controllers | opened |
| version=1, `combined` says 5 | kraft, five brokers that are controllers, too | opened |
| version=1 | zookeeper, or kraft with other voters | refused |
| zookeeper-1, -2, -3 | zookeeper with an ensemble of another size | refused |
"""

from __future__ import annotations

from pathlib import Path

import orjson

from broker_core.kernel.problems import Problem, problem
from lab.clusters.brokers import ClusterSpec
from lab.clusters.checks import SpecError
from lab.clusters.joining import CONTROLLER, JOINED

COMBINED = "combined"
"""File with the number of brokers that are controllers, too, where it is not the usual one."""
VERSIONS = {"version=0": "zookeeper", "version=1": "kraft"}


def generation_of(directory: Path) -> str | None:
    """None where no broker has ever started. Raises OSError."""
    for path in sorted(directory.glob("broker-*/*/meta.properties")):
        for line in path.read_text(errors="replace").split("\n"):
            if line.strip() in VERSIONS:
                return VERSIONS[line.strip()]
    return None


def shape_of(directory: Path) -> tuple[str, int, int] | None:
    """Generation, number of dedicated controllers (without those that have joined since), and of brokers that are
    controllers, too (0: the usual one), that a directory is of; None where no broker has ever started. Raises OSError,
    SpecError."""
    found = generation_of(directory)
    if found is None:
        return None
    return found, len(list(directory.glob("controller-*"))) - _joined(directory), _combined(directory)


def _combined(directory: Path) -> int:
    """Raises OSError, SpecError where the file is no number."""
    try:
        return int((directory / COMBINED).read_text())
    except FileNotFoundError:
        return 0
    except ValueError:
        raise SpecError((), problem("damaged", path=COMBINED)) from None


def remember(directory: Path, cluster: ClusterSpec) -> None:
    """What a later start cannot see in the brokers' directories. Raises OSError."""
    if cluster.combined:
        (directory / COMBINED).write_text(f"{cluster.combined}\n")


def _joined(directory: Path) -> int:
    """Controllers that have joined; what is wrong with the file is said when the lab reads it."""
    try:
        rows = orjson.loads((directory / JOINED).read_bytes())
        return sum(CONTROLLER in row for row in rows)
    except (FileNotFoundError, ValueError, TypeError):
        return 0


def misfit(directory: Path, cluster: ClusterSpec) -> Problem | None:
    """Why a directory cannot be opened with this description; None when it can. Raises OSError, SpecError."""
    found = generation_of(directory)
    if found is None:
        return None
    if found != cluster.controller:
        return problem("other_generation", path=str(directory), given=found)
    dedicated = len(list(directory.glob("controller-*"))) - len(cluster.added)
    if cluster.is_kraft and dedicated != cluster.controllers:
        return problem("other_voters", path=str(directory), n=dedicated)
    if _combined(directory) != cluster.combined:
        return problem("other_combined", path=str(directory), n=_combined(directory))
    servers = len(list(directory.glob("zookeeper-*")))
    if not cluster.is_kraft and servers != cluster.ensemble:
        return problem("other_ensemble", path=str(directory), n=servers)
    return None
