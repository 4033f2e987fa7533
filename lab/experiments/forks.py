"""Another course: a run of a scenario goes on otherwise from the moment that its `fork` names.

A run is its document and its seed, so the fork is executed from the start: its steps are those of the run up to
there, and so is its journal, byte for byte. Where the two journals part is looked up in them (`comparison`).

    run 0007    ..........................|................   the leader dies unprotected
    run 0008    ..........................\\...............    forked from 0007: the protection is in place
                                          forked_at_seq, forked_at_us
"""

from __future__ import annotations

from pathlib import Path

from broker_core.kernel.errors import what_of
from broker_core.kernel.problems import problem
from lab.clusters.checks import SpecError
from lab.experiments.directory import DirectoryError, read_facts
from lab.scenarios import grammar, variants
from lab.scenarios.grammar import Scenario


def fork_of(path: Path) -> Scenario:
    """The other course of the run in a directory. Raises DirectoryError when there is none."""
    facts = read_facts(path)
    document = facts.get("scenario")
    if document is None:
        raise DirectoryError(problem("not_of_scenario", run=path.name))
    try:
        scenario = grammar.from_dict(document, facts.get("name") or "scenario")
        return grammar.variant_of(scenario, variants.FORK)
    except SpecError as error:
        if "fork" not in document:
            raise DirectoryError(problem("no_fork", run=path.name)) from None
        raise DirectoryError(problem("wrong_in", place=path.name, what=what_of(error))) from None
