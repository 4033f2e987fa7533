"""Lights of the coordination ensemble: the swarm's mutants turn red those that must notice, sound servers none."""

from __future__ import annotations

import pytest

from lab.checkers.invariants import described
from lab.faults.mutant_list import MUTANTS
from lab.faults.mutants import applied
from tests.lab.ensemble_stories import ENSEMBLE_BROKEN, WAYS, EnsembleLab

BY_NAME = {one.name: one for one in MUTANTS if one.room == "zookeeper" and one.by in described()}


def test_every_mutant_that_a_light_of_the_ensemble_must_notice_has_a_story() -> None:
    assert {name for name, _, _ in ENSEMBLE_BROKEN} == set(BY_NAME)


@pytest.mark.parametrize(("name", "story", "expected"), ENSEMBLE_BROKEN, ids=[one[0] for one in ENSEMBLE_BROKEN])
def test_a_mutant_turns_exactly_its_lights_red(name, story, expected):
    assert BY_NAME[name].by in expected
    with applied(BY_NAME[name]):
        lab = EnsembleLab()
        assert lab.monitor.red() == {}
        began = lab.world.seq
        story(lab)
    assert list(lab.monitor.red()) == expected
    for light in expected:
        first = lab.monitor.lights()[light]["first"]
        assert first["seq"] >= began and first["text"] and first["t"] <= lab.world.now_us


@pytest.mark.parametrize(("story", "way"), list(WAYS.items()), ids=[one.__name__ for one in WAYS])
def test_the_same_story_with_sound_servers_turns_no_light_red(story, way):
    lab = EnsembleLab()
    told: list[str] = []
    lab.world.journal.transition_watchers.append(lambda row: told.append(row[3]))
    story(lab)
    lab.monitor.finish()
    assert way in told and {one[1] for one in ENSEMBLE_BROKEN} == set(WAYS)
    assert lab.monitor.red() == {}
