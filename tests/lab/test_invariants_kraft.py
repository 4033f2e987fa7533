"""Lights of the metadata quorum, of the ELR and of groups: red when what they guard is broken, else green."""

from __future__ import annotations

import pytest

from tests.lab.quorum_stories import KRAFT_BROKEN, KRaftLab, VOTERS, as_params


@pytest.mark.parametrize(("story", "expected"), as_params(KRAFT_BROKEN))
def test_what_is_broken_on_purpose_turns_exactly_its_lights_red(story, expected, monkeypatch):
    lab = KRaftLab()
    assert lab.monitor.red() == {}
    began = lab.world.seq
    story(lab, monkeypatch)
    assert list(lab.monitor.red()) == expected
    for name in expected:
        first = lab.monitor.lights()[name]["first"]
        assert first["seq"] >= began and first["text"] and first["t"] <= lab.world.now_us


def test_a_quorum_that_loses_and_elects_leaders_and_brokers_that_come_and_go_turn_no_light_red():
    lab = KRaftLab()
    for client in ("producer-a", "reader"):
        lab.do(do="start_client", name=client)
    for name in VOTERS:
        lab.do(do="isolate", node=name)
        lab.run(4)
        lab.do(do="stop_all_faults")
        lab.do(do="kill", broker=lab.followers[0])
        lab.run(4)
        for number in (1, 2, 3):
            if lab.world.nodes[f"broker-{number}"].state == "stopped":
                lab.do(do="restart", broker=number)
        lab.run(3)
    lab.do(do="stop_client", name="producer-a")
    lab.run(80)
    lab.monitor.finish()
    assert lab.monitor.red() == {} and lab.raft(lab.active).quorum.epoch > 2


def test_a_quiet_cluster_is_looked_at_twice_a_second_and_a_busy_one_whenever_it_may_have_changed():
    lab = KRaftLab()
    lab.run(10)

    def looks() -> int:
        before = lab.monitor.looks
        lab.run(10)
        return lab.monitor.looks - before

    assert 18 <= looks() <= 22
    lab.do(do="start_client", name="producer-a")
    assert looks() > 100
