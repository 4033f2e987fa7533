"""Another course: a run of a scenario goes on otherwise from the moment that its `fork` names.

A run is its document and its seed, so the fork is executed from the start: its steps are those of the run up to
there, and so is its journal, byte for byte. Where the two journals part is looked up in them, not assumed.

    run 0007    ..........................|................   the leader dies unprotected
    run 0008    ..........................\\...............    forked from 0007: the protection is in place
                                          forked_at_seq, forked_at_us
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import orjson

from lab.clusters.checks import SpecError
from lab.experiments.directory import JOURNAL, DirectoryError, read_facts
from lab.scenarios import grammar, variants
from lab.scenarios.grammar import Scenario

PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class Parting:
    """What two journals have in common: everything up to event `seq`, at `t_us`."""

    seq: int
    t_us: int
    events: int


def fork_of(path: Path) -> Scenario:
    """The other course of the run in a directory. Raises DirectoryError when there is none."""
    facts = read_facts(path)
    document = facts.get("scenario")
    if document is None:
        raise DirectoryError(f"run {path.name} is not one of a scenario")
    try:
        scenario = grammar.from_dict(document, facts.get("name") or "scenario")
        return grammar.variant_of(scenario, variants.FORK)
    except SpecError as error:
        if "fork" not in document:
            raise DirectoryError(f"the scenario of run {path.name} has no fork") from None
        raise DirectoryError(f"{path.name}: {error}") from None


def parting(one: Path, other: Path) -> Parting:
    """Where the journals of two runs go apart: the last event of their common past."""
    common = b""
    count = 0
    with open(one / JOURNAL, "rb") as left, open(other / JOURNAL, "rb") as right:
        for mine, theirs in zip(left, right, strict=False):
            if mine != theirs:
                return _before(common, min(orjson.loads(mine)[0], orjson.loads(theirs)[0]), count)
            common, count = mine, count + 1
    return _before(common, None, count)


def _before(common: bytes, seq: int | None, count: int) -> Parting:
    """Several events may have one sequence number: the common past ends before the number that differs."""
    last = orjson.loads(common) if common else [0, 0]
    return Parting(last[0] if seq is None else min(last[0], seq - 1), last[1], count)
