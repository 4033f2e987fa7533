"""Runs of shipped scenarios that several tests look at: each is run once, by whoever comes first, in whichever worker.

    first to ask ---> lock ---> run ---> its directory and its result     everybody else: wait, load

`BROKERLAB_SHARED` (set by `./brokerlab test`) names a directory that all workers have in common; without it the
process keeps its own. Nobody may change what is in a shared run. Of other seeds than the scenario's own only the
result is kept: they are many.
"""

from __future__ import annotations

import atexit
import fcntl
import os
import pickle
import shutil
import tempfile
from functools import cache
from pathlib import Path

from lab.experiments.run import RunResult, run_scenario
from lab.scenarios import grammar


@cache
def _home() -> Path:
    given = os.environ.get("BROKERLAB_SHARED")
    if given:
        return Path(given)
    made = Path(tempfile.mkdtemp(prefix="brokerlab-shared-runs-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


def run_once(name: str, variant: str | None = None, seed: int | None = None) -> RunResult:
    """The result of `run_scenario` with these arguments, whose directory is shared. A variant that is but a title for
    what the file says anyway is the same run as none."""
    scenario = grammar.load(name)
    own = scenario.spec.seed
    seed = own if seed is None else seed
    setting, _, rest = (variant or "").partition("/")
    if set(scenario.document.get("variants", {}).get(setting, ())) == {"title"}:
        variant = rest or None
    place = _home() / f"{name}.{(variant or '').replace('/', '+')}.{seed}"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = place / "result"
        if kept.exists():
            found: RunResult = pickle.loads(kept.read_bytes())
            return found
        shutil.rmtree(place / "run", ignore_errors=True)  # of somebody whose run broke off
        result = run_scenario(name, seed, out=place / "run", variant=variant)
        if seed != own:
            shutil.rmtree(result.directory)
        kept.write_bytes(pickle.dumps(result))
    return result
