"""The world of a recorded run, built anew: from the spec in run.json, on the disks as the run found them.

Who gives it the recorded inputs at their places in the order (`drivers.recording`) gets the run again.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import problem
from broker_core.kernel.world import World
from lab.clusters.build import build_world
from lab.clusters.checks import SpecError
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import RUN, DirectoryError, read_facts
from lab.experiments.past import MARK
from lab.experiments.start_disks import start_storage


def execute_again(path: Path) -> World:
    """The world of a run, built anew and not yet run. Raises DirectoryError."""
    facts = read_facts(path)
    if facts.get("start") is False:
        raise DirectoryError(problem("start_gone", path=str(path)))
    if (path / MARK).exists():
        raise DirectoryError(problem("not_copied", path=str(path)))
    try:
        spec = run_from_dict(facts["spec"])
    except (KeyError, SpecError) as error:
        raise wrong_in(path, error) from None
    return build_world(spec, partial(start_storage, path))


def wrong_in(path: Path, error: Exception) -> DirectoryError:
    """What run.json says cannot be."""
    return DirectoryError(problem("wrong_in", place=f"{path}: {RUN}", what=what_of(error)))
