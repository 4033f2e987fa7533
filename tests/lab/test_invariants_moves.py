"""The lights that look at moves turn red when a move goes wrong, and no light for one that is as it should be."""

from __future__ import annotations

import pytest
from tests.lab.moving_stories import MOVES_BROKEN, MovingLab

IDS = [f"{story.__name__}-{controller}" for story, controller, _ in MOVES_BROKEN]


@pytest.mark.interpreted
@pytest.mark.parametrize(("story", "controller", "expected"), MOVES_BROKEN, ids=IDS)
def test_a_move_that_goes_wrong_turns_exactly_its_light_red(story, controller, expected, monkeypatch):
    lab = MovingLab(controller)
    story(lab, monkeypatch)
    assert list(lab.monitor.red()) == expected
    assert all(light["first"]["text"] for light in lab.monitor.lights().values() if not light["ok"])


@pytest.mark.parametrize("controller", ["zookeeper", "kraft"])
def test_moves_as_they_should_be_turn_no_light_red(controller):
    lab = MovingLab(controller)
    lab.begin_and_cancel()
    assert set(lab.state["replicas"]) == {1, 2, 3}
    lab.reassign(4, 2)
    lab.move(2)
    lab.run(4)
    assert lab.state["replicas"] == [4, 2] and sorted(lab.state["isr"]) == [2, 4]
    lab.reassign(3, 1, 2)
    lab.run(4)
    assert lab.state["replicas"] == [3, 1, 2]
    assert lab.monitor.red() == {}
