"""Each way in which share groups can go wrong turns its light red, and nothing else does."""

from __future__ import annotations

import pytest
from tests.lab.sharing_stories import EXPLICIT, GROUP, SHARING_BROKEN, SharedLab


@pytest.mark.parametrize(("story", "expected"), SHARING_BROKEN, ids=[one[0].__name__ for one in SHARING_BROKEN])
def test_what_is_broken_on_purpose_turns_exactly_its_lights_red(story, expected, monkeypatch):
    lab = SharedLab()
    story(lab, monkeypatch)
    assert sorted(lab.monitor.red()) == expected


def test_workers_who_fail_die_and_are_slow_turn_no_light_red():
    lab = SharedLab()
    lab.work("worker-1", settings=EXPLICIT, fail_share=0.5)
    lab.work("worker-2", process_ms=300, settings=GROUP)
    lab.run(8)
    lab.do(do="kill", node="worker-2")
    lab.do(do="kill", leader_of="jobs-0")
    lab.run(220)
    assert lab.monitor.red() == {}


def test_a_group_whose_offsets_are_set_back_gets_its_records_again_and_no_light_turns_red():
    lab = SharedLab()
    lab.two_work(5)
    for name in ("worker-1", "worker-2"):
        lab.do(do="stop_client", name=name)
    lab.run(2)
    broker = next(node.machine for node in lab.world.nodes.values() if getattr(node.machine, "groups", None) and "jobs" in node.machine.groups.share.groups)
    done = []
    broker.groups.share.delete("jobs", done.append)
    lab.run(3)
    assert done == [0]
    lab.work("worker-3")
    lab.run(8)
    assert lab.had("worker-3") == 60 and lab.monitor.red() == {}
