"""The list of mutants fits the code, covers the rooms that a swarm enters, and each kind of noticing works."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from lab.checkers.invariants import described
from lab.faults import probes
from lab.faults.mutant_list import MUTANTS
from lab.faults.mutants import FAULT, RECEIPT, REST, Mutant, StaleMutant, applied, hunt, mutated, noticed
from lab.faults.nemesis import STORIES
from lab.faults.swarm import run_swarm, story_of
from tests.house.sources import CHECKOUT

NOT_ENTERED = {"drivers"}
"""Rooms without a mutant: drivers are real input."""
BY_NAME = {one.name: one for one in MUTANTS}


@pytest.mark.interpreted
@pytest.mark.parametrize("mutant", MUTANTS, ids=list(BY_NAME))
def test_the_piece_of_a_mutant_stands_in_the_code_once(mutant: Mutant) -> None:
    mutated(mutant)
    assert mutant.by in (*described(), RECEIPT, REST, FAULT) and mutant.seeds <= 50


def test_there_are_mutants_in_each_room_that_a_swarm_enters() -> None:
    rooms = Counter(one.room for one in MUTANTS)
    there = {path.name for path in (CHECKOUT / "broker_core").iterdir() if (path / "__init__.py").exists()}
    assert len(BY_NAME) == len(MUTANTS) >= 40 and set(rooms) == there - NOT_ENTERED


def test_the_page_says_of_each_mutant_who_notices_it_within_how_many_seeds() -> None:
    rows = [line for line in (CHECKOUT / "docs" / "invariants.md").read_text().split("\n") if line.startswith("| `")]
    said = {room: dict(re.findall(r"([\w-]+) (\d+ \(\w+\))", row)) for row in rows if (room := row.split("`")[1]) in {one.room for one in MUTANTS}}
    assert said == {room: {one.name: f"{one.seeds} ({one.by})" for one in MUTANTS if one.room == room} for room in said}
    assert sum(map(len, said.values())) == len(MUTANTS)


def test_a_mutant_lives_in_its_block_only_and_a_stale_one_is_told() -> None:
    mutant = Mutant("half", "lab.faults.swarm:story_of", "seed % 5", "seed % 7", REST, 1)
    assert story_of(5) and not story_of(7)
    with applied(mutant):
        assert story_of(7) and not story_of(5)
    assert story_of(5) and not story_of(7)
    with pytest.raises(StaleMutant, match="stands 0 times"):
        mutated(Mutant("gone", "lab.faults.swarm:story_of", "seed % 11", "0", REST, 1))
    with pytest.raises(StaleMutant, match="no_story"):
        mutated(Mutant("gone", "lab.faults.swarm:no_story", "seed", "0", REST, 1))


@pytest.mark.interpreted
@pytest.mark.parametrize(("name", "seed"), [("never-shrink-the-isr", 5), ("zombie-is-obeyed", 10)])
def test_what_survived_a_hundred_seeds_once_is_noticed(name: str, seed: int) -> None:
    assert hunt(BY_NAME[name], first=seed) is not None


@pytest.mark.parametrize("seed", [5 * number for number in range(1, 1 + len(STORIES))])
def test_a_story_turns_no_light_red(seed: int) -> None:
    assert noticed(seed) == {}


def test_a_story_reaches_its_path(tmp_path: Path) -> None:
    directory = run_swarm(10, tmp_path / "run").directory
    reached = probes.reached(directory)
    assert reached["a controller that was replaced is fenced"] == 1
    assert probes.told(reached, 1)[-1].startswith("     1 of 1 runs: ")
    assert probes.unreached(reached, probes.ENOUGH - 1) == [] and "a disk fails" in probes.unreached(reached - reached, probes.ENOUGH)
