"""A run that has left its end is opened there: no event is executed again, and all is as if it had been."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from errno import ENOSPC
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import free_ports

from lab import beginnings
from lab.branch import Branch
from lab.clusters.build import memory
from lab.clusters.spec import run_from_dict
from lab.endings import Shown
from lab.experiments.directory import RunDirectory, read_facts
from lab.experiments.packing import Pack
from lab.experiments.run import RunResult, run_scenario
from lab.experiments.verify import verify
from lab.live import LiveLab
from lab.places import ROOT
from lab.scenarios import grammar
from lab.snapshots.ending import ending_of
from lab.snapshots.keeper import KEY, SECRET
from lab.snapshots.shelf import Shelf

SOURCE = """
cluster: {controller: kraft, preset: teaching, link_delay_ms: 1}
topics: [{name: orders, partitions: 2, replication_factor: 3}]
clients:
  - {name: producer-orders, kind: producer, topic: orders, rate: 50, settings: {acks: "1"}}
  - {name: consumer-orders, kind: consumer, topic: orders, settings: {auto.offset.reset: earliest}}
steps:
  - {at: 2s, do: kill, leader_of: orders-0}
  - {at: 9s, do: add_broker}
duration: 12s
"""
PATIENCE_S = 60


def shown(path: Any, key: bytes = KEY) -> RunResult:
    return Shown(grammar.parse(SOURCE, "shown.yaml"), RunDirectory(path), False, memory, key).run()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveLab]:
    data = tmp_path_factory.mktemp("endings") / "data"
    lab = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3}), data)
    lab.start()
    yield lab
    lab.stop()


def all_of(branch: Branch) -> dict[str, Any]:
    """What a page can ask of it, without its name."""
    past, seq = [], 0
    for frame in branch.seen.keyframes:
        found = branch.history(frame.seq).result(PATIENCE_S)
        past += json.loads(found["ev"])
        seq = max(seq, found["last"])
    counts = [row for row in past if row[2] == "progress"]
    state = json.loads(branch.snapshot().result(PATIENCE_S)[1])["state"]
    rows = [row for row in past if row[2] != "progress"]
    story = json.loads(branch.story(branch.world.seq).result(PATIENCE_S))
    return {"state": state, "rows": rows, "counts": len(counts) > 20, "story": story, "clock": branch.clock(),
            "metrics": branch.metrics().result(PATIENCE_S), "lights": branch.monitor.lights()}  # fmt: skip


def test_an_opened_run_stands_at_its_end_and_goes_on_as_if_it_had_been_executed_again(
    lab: LiveLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = lab.data / "runs"
    told = shown(runs / "0900")
    plain = run_scenario(grammar.parse(SOURCE, "shown.yaml"), out=runs / "0901")
    for name in ("journal.jsonl", "operations.jsonl", "inputs.bin"):
        assert (runs / "0900" / name).read_bytes() == (runs / "0901" / name).read_bytes()
    assert told.receipt.to_dict() == plain.receipt.to_dict() and told.violations == plain.violations
    assert read_facts(runs / "0900")["invariants"] == read_facts(runs / "0901")["invariants"]

    with monkeypatch.context() as patch:
        patch.setattr(beginnings, "from_the_beginning", None)
        restored = lab.branch(lab.open_run("0900").result(PATIENCE_S))
    again = lab.branch(lab.open_run("0901").result(PATIENCE_S))
    assert restored.world.seq == again.world.seq and restored.world.executed == again.world.executed
    assert len(restored.seen.keyframes) > 2
    assert all_of(restored) == all_of(again)
    fork = lab.branch(lab.fork(restored.run_id, seq=1000).result(PATIENCE_S))
    fork.ask(fork.files.flush, fork.world).result(PATIENCE_S)
    journal = (fork.files.path / "journal.jsonl").read_bytes()
    assert fork.world.seq == 1000 and journal and (runs / "0900" / "journal.jsonl").read_bytes().startswith(journal)

    for branch in (restored, again):
        assert branch.submit({"do": "kill", "leader_of": "orders-1"}).result(PATIENCE_S)["ok"]
        branch.ask(branch.world.run_until, branch.world.now_us + 8_000_000).result(PATIENCE_S)
        branch.ask(branch.files.flush, branch.world).result(PATIENCE_S)
        lab.close_branch(branch.run_id).result(PATIENCE_S)
        branch.files.wait()
        assert verify(branch.files.path).same
    for name in ("journal.jsonl", "operations.jsonl"):
        assert (restored.files.path / name).read_bytes() == (again.files.path / name).read_bytes()


def test_a_run_is_executed_again_where_its_end_is_nobodys_that_we_know(lab: LiveLab) -> None:
    path = lab.data / "runs" / "0902"
    shown(path, b"of another process")
    assert ending_of(path) is None
    branch = lab.branch(lab.open_run("0902").result(PATIENCE_S))
    assert branch.world.now_us == read_facts(path)["end_us"]


def test_an_end_is_no_part_of_what_a_run_leaves(lab: LiveLab) -> None:
    path = lab.data / "runs" / "0903"
    shown(path)
    assert ending_of(path) is not None and verify(path).same
    assert not [name for name in Pack.of(path).manifest["files"] if "snapshots" in name]


def test_a_host_knows_the_key_that_it_was_started_with_and_passes_it_on_to_nobody() -> None:
    code = "import os; from lab.snapshots.keeper import KEY, SECRET; print(KEY.hex(), SECRET in os.environ)"
    environment = os.environ | {"PYTHONPATH": str(ROOT), SECRET: KEY.hex()}
    told = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == [KEY.hex(), "False"]


def test_a_run_is_no_worse_where_its_end_cannot_be_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(ENOSPC, "no space left on device")

    monkeypatch.setattr(Shelf, "put", full)
    assert shown(tmp_path / "run").receipt.total.acked > 0
    assert ending_of(tmp_path / "run") is None and verify(tmp_path / "run").same
