"""Executes a recorded run again, and holds all that it has left against what comes out.

| | a scenario's run | live runs, branches, swarm runs |
|---|---|---|
| executed from | the scenario and its seed, as `./brokerlab run` does | spec, disks at the start and recorded inputs |
| compared | journal, operations, inputs, every file of the disks | journal, operations; a simulated run's disks |
| run.json | every key: receipt, expectations, steps, invariants | receipt, copies, invariants, counts, end |

Nothing else decides: what differs has come from outside the rules (a clock, a set's order, a file, a hand), and is
named with its file, its place and what was expected there (`differences`). What an execution cannot know, a title or
which run a fork came from, is held by the seal of run.json, and in a run that came as a pack by its manifest
(`packing`). The disks that a live run began with are held by what was read of them.
"""

from __future__ import annotations

import contextlib
import platform
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from broker_core.clients.consumer import ConsumerMachine
from broker_core.drivers.recording import execute_recording
from broker_core.kernel.errors import KernelError, what_of
from broker_core.kernel.names import CHECKER
from broker_core.kernel.problems import Problem, problem, told
from broker_core.kernel.world import World
from lab.checkers.copies import copies_of
from lab.checkers.invariants import InvariantMonitor
from lab.checkers.lineage import read_lineage
from lab.checkers.receipt import make_receipt
from lab.checkers.receipt_fates import Evidence
from lab.clusters.build import memory
from lab.clusters.checks import SpecError
from lab.experiments import differences, packing
from lab.experiments.anew import execute_again, wrong_in
from lab.experiments.comparison import parting
from lab.experiments.differences import Against
from lab.experiments.directory import (
    INPUTS,
    JOURNAL,
    OPERATIONS,
    RUN,
    SEAL,
    DirectoryError,
    RunDirectory,
    read_facts,
    read_operations,
    seal_of,
    write_disks,
)
from lab.experiments.driven import RunError
from lab.experiments.run import SCENARIO, Execution
from lab.scenarios import grammar

MOST = 1000
PARTED = ("forked_at_seq", "forked_at_us")
NOT_EXECUTED = ("kind", "python", SEAL, "parent", *PARTED)
"""Keys of run.json that executing a scenario again says nothing about."""


@dataclass(slots=True)
class Verdict:
    """What is not as it should be; of an honest run nothing."""

    events: int
    differences: list[Problem] = field(default_factory=list)

    @property
    def same(self) -> bool:
        return not self.differences

    @property
    def reason(self) -> str:
        """In English, for a terminal."""
        return "; ".join(map(told, self.differences))

    def to_dict(self) -> dict[str, Any]:
        """`differences` with their English text."""
        found = [{**one, "text": told(one)} for one in self.differences]
        return {"same": self.same, "events": self.events, "differences": found}


def verify(directory: Path | str) -> Verdict:
    """Execute again; raises DirectoryError when this is no run that can be."""
    path = Path(directory)
    facts = read_facts(path)
    if facts.get("scenario") is not None and facts.get("steps_by") == SCENARIO:
        verdict = _scenario_again(path, facts)
    else:
        verdict = _inputs_again(path, facts)
    verdict.differences += islice(_sealed(path), MOST)
    if not verdict.same and facts.get("python") != (here := ".".join(platform.python_version_tuple()[:2])):
        verdict.differences.insert(0, problem("other_python", given=str(facts.get("python")), expected=here))
    return verdict


def _sealed(path: Path) -> Iterator[Problem]:
    """What nobody can execute."""
    facts = orjson.loads((path / RUN).read_bytes())
    if facts.get(SEAL) != (expected := seal_of(facts)):
        yield problem("seal_broken", path=RUN, expected=expected, given=str(facts.get(SEAL)))
    yield from packing.unlike_manifest(path)


# -- a scenario -----------------------------------------------------------------------------
def _scenario_again(path: Path, facts: dict[str, Any]) -> Verdict:
    try:
        scenario = grammar.from_dict(facts["scenario"], str(facts.get("name") or "scenario"))
    except SpecError as error:
        raise wrong_in(path, error) from None
    with tempfile.TemporaryDirectory(prefix="brokerlab-verify-") as home:
        files = RunDirectory(Path(home) / "run")
        execution = Execution(scenario, files, False, memory)
        with contextlib.suppress(RunError):  # it ends there in each execution
            execution.run()
        found = _unlike(path, facts, files.path, list(execution.world.nodes))
        return Verdict(execution.world.journal.count, list(islice(found, MOST)))


def _unlike(path: Path, facts: dict[str, Any], again: Path, nodes: list[str]) -> Iterator[Problem]:
    for name in (JOURNAL, OPERATIONS, INPUTS):
        difference = differences.of_file(path, name, again, lines=name != INPUTS)
        if difference is not None:
            yield difference
    yield from differences.of_disks(path, again, nodes)
    wanted, found = ({key: one for key, one in each.items() if key not in NOT_EXECUTED}
                     for each in (read_facts(again), facts))  # fmt: skip
    yield from differences.of_facts(wanted, found, RUN)
    yield from _parted(path, facts)


def _parted(path: Path, facts: dict[str, Any]) -> Iterator[Problem]:
    """Where the fork of a scenario says that it left its parent, which may be somewhere else."""
    parent = path.parent / str(facts.get("parent"))
    if "parent" in facts and (parent / JOURNAL).is_file() and not (path / packing.MANIFEST).exists():
        parted = parting(parent, path)
        wanted = dict(zip(PARTED, (parted.seq, parted.t_us), strict=True))
        yield from differences.of_facts(wanted, {key: facts.get(key) for key in PARTED}, RUN)


# -- recorded inputs ------------------------------------------------------------------------
def _inputs_again(path: Path, facts: dict[str, Any]) -> Verdict:
    world = execute_again(path)
    monitor = InvariantMonitor(world)
    journal, operations = (Against(path, name, lines=True) for name in (JOURNAL, OPERATIONS))
    world.journal.sink, world.operations.sink = journal.take, operations.take
    world.operations.keep = False
    try:
        whole = execute_recording(world, path / INPUTS)
    except (OSError, KernelError) as error:
        raise DirectoryError(problem("wrong_in", place=str(path), what=what_of(error))) from None
    world.journal.flush()
    found = [one for one in (journal.end(), operations.end()) if one is not None]
    if not whole:
        found.append(problem("not_all_inputs", path=INPUTS))
    if not found:
        found += islice(_facts_unlike(path, facts, world, monitor), MOST)
    return Verdict(world.journal.count, found)


def _facts_unlike(path: Path, facts: dict[str, Any], world: World, monitor: InvariantMonitor) -> Iterator[Problem]:
    """Of a run whose journal and operations are what they should be. One whose process was killed tells less."""
    operator: Any = world.operator
    judged = "receipt" in facts
    if judged:
        monitor.finish()
    known = {
        "seed": operator.spec.seed, "end_us": world.now_us, "events": world.journal.count,
        "operations": world.operations.count, "invariants": _lights(monitor.to_dict()),
        "copies": copies_of(world, operator.spec, checksums=judged),
    }  # fmt: skip
    if judged:
        reader = world.nodes.get(CHECKER)
        machine = reader.machine if reader is not None else None
        known["read_back"] = isinstance(machine, ConsumerMachine) and machine.at_end()
        evidence = Evidence.of_facts(read_lineage(path / JOURNAL), known)
        known["receipt"] = make_receipt(read_operations(path), evidence).to_dict()
        with tempfile.TemporaryDirectory(prefix="brokerlab-verify-") as home:
            write_disks(world, Path(home))
            yield from differences.of_disks(path, Path(home), list(world.nodes))
    wanted = orjson.loads(orjson.dumps(known, option=orjson.OPT_NON_STR_KEYS))
    if "end_us" not in facts:
        wanted = {"seed": wanted["seed"]}
    found = {key: facts[key] for key in wanted if key in facts}
    if "invariants" in found:
        found["invariants"] = _lights(found["invariants"])
    yield from differences.of_facts(wanted, found, RUN)


def _lights(invariants: Any) -> Any:
    """What they have seen; how often they have looked depends on who asked in between."""
    return {**invariants, "looks": None} if isinstance(invariants, dict) else invariants
