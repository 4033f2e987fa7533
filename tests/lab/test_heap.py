"""Memory of a live lab in which brokers die."""

from __future__ import annotations

import time
import weakref
from pathlib import Path

import pytest
from tests.conftest import PATIENCE_S, free_ports

from lab import heap, live
from lab.clusters.spec import run_from_dict


@pytest.mark.interpreted  # nobody can watch how an object of the compiled core goes
def test_what_a_broker_had_in_memory_goes_though_python_does_not_look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "TRIM_S", 0.1)
    monkeypatch.setattr(heap, "settle", lambda: None)  # what other tests have left would stay for ever
    lab = live.LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 1}), tmp_path)
    try:
        lab.start()
        with heap.unsearched():
            died = weakref.ref(lab.main.world.nodes["broker-1"].machine)
            assert lab.main.submit({"do": "kill", "broker": 1}).result(PATIENCE_S)["ok"]
            deadline = time.monotonic() + PATIENCE_S
            while died() is not None:
                assert time.monotonic() < deadline
                time.sleep(0.05)
    finally:
        lab.stop()
