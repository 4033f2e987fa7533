"""Runs of shipped scenarios that several tests look at: each is run once, by whoever comes first, in whichever worker.
That it comes out the same again, elsewhere, is asked with `assert_same` of those that the page has run.

    first to ask ---> lock ---> run ---> its directory and its result     everybody else: wait, load

`BROKERLAB_SHARED` (set by `./brokerlab test`) names a directory that all workers have in common; without it the
process keeps its own. Nobody may change what is in a shared run. Of other seeds than the scenario's own only the
result is kept: they are many.
"""

from __future__ import annotations

import atexit
import fcntl
import gc
import itertools
import json
import os
import pickle
import shutil
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from lab.experiments.directory import read_facts
from lab.experiments.run import RunResult, run_scenario
from lab.quizzes.deciding import asked_of
from lab.scenarios import grammar

LEFT = ("journal.jsonl", "operations.jsonl", "inputs.bin")
COLLECTED = 4
_RUNS = itertools.count(1)
FACTS = ("receipt", "unmet", "notes", "passed", "prediction", "answer", "moment", "stops", "steps", "invariants", "events")


@cache
def _home() -> Path:
    given = os.environ.get("BROKERLAB_SHARED")
    if given:
        return Path(given)
    made = Path(tempfile.mkdtemp(prefix="brokerlab-shared-runs-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made


@cache
def documents() -> dict[str, dict[str, Any]]:
    """The lessons as they stand in their files, not checked: what tests there are is asked by each process, which then
    runs a few of them."""
    return {name: grammar.document(name) for name in grammar.names()}


def run_once(name: str, variant: str | None = None, seed: int | None = None, generation: str | None = None) -> RunResult:
    """The result of `run_scenario` with these arguments, whose directory is shared. A variant that is but a title for
    what the file says anyway is the same run as none; so is the generation that is the file's own."""
    scenario = grammar.load(name)
    if generation is not None and generation != scenario.generation:
        scenario = grammar.load(name, None, {"controller": generation})
    else:
        generation = None
    own = scenario.spec.seed
    seed = own if seed is None else seed
    titles = [one for one, more in scenario.document.get("variants", {}).items() if set(more) == {"title"}]
    setting, _, rest = (variant or "").partition("/")
    if setting in titles:
        variant = rest or None
    place = _home() / f"{name}.{(variant or '').replace('/', '+')}.{seed}{'.' + generation if generation else ''}"
    place.mkdir(parents=True, exist_ok=True)
    with open(place / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = place / "result"
        if kept.exists():
            found: RunResult = pickle.loads(kept.read_bytes())
            return found
        shutil.rmtree(place / "run", ignore_errors=True)  # of somebody whose run broke off
        chosen = grammar.load(name, variant, {"controller": generation} if generation else None)
        if seed == own and generation is None:
            courses = [variant, *(f"{one}/{variant}" if variant else one for one in titles)]  # by all names of this run
            chosen.asked = list(dict.fromkeys(key for course in courses for key in asked_of(name, course)))
        result = run_scenario(chosen, seed, out=place / "run")
        if next(_RUNS) % COLLECTED == 0:
            gc.collect()  # worlds that are over: a few hundred would fill the memory before Python looks by itself
        if seed != own:
            shutil.rmtree(result.directory)
        kept.write_bytes(pickle.dumps(result))
    return result


def assert_same(one: Path, other: Path) -> None:
    """Two directories of one run: the same bytes, and the same that was found in them."""
    for name in LEFT:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name
    mine, theirs = read_facts(one), read_facts(other)
    for fact in FACTS:
        assert mine[fact] == theirs[fact], fact


def assert_has_the_past_of(fork: Path, parent: Path) -> None:
    """Up to where it parts the branch is its parent, event by event; the next event is another one."""
    facts = read_facts(fork)
    assert facts["parent"] == parent.name and 0 < facts["forked_at_us"] < read_facts(parent)["end_us"]
    mine, theirs = ((path / "journal.jsonl").read_bytes().splitlines() for path in (fork, parent))
    parted = next(index for index, (one, other) in enumerate(zip(mine, theirs, strict=False)) if one != other)
    assert json.loads(mine[parted - 1])[1] == facts["forked_at_us"]
    assert facts["forked_at_seq"] < min(json.loads(mine[parted])[0], json.loads(theirs[parted])[0])
    assert read_facts(parent)["began_us"] < facts["forked_at_us"]
