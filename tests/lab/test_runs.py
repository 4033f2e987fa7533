"""Runs of whole clusters: the three promises of acks, and the same journal wherever a run is executed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from pathlib import Path

import pytest
from tests.shared_runs import run_once

from broker_core.drivers.files import DiskStorage
from broker_core.kernel.problems import told
from lab.checkers.receipt import COUNTS
from lab.experiments import commands
from lab.experiments.directory import DirectoryError, RunDirectory, read_facts, shed
from lab.experiments.findings import read_rows
from lab.experiments.driven import RunError
from lab.experiments.run import RunResult, run_scenario
from lab.experiments.verify import verify
from lab.scenarios import grammar

ROOT = Path(__file__).resolve().parents[2]
SMALL = """\
scenario: small
cluster: {brokers: 3, preset: teaching, link_delay_ms: 0.5}
seed: 11
topics: [{name: orders, partitions: 3, replication_factor: 3}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 50, keys: 10, settings: {acks: all}}
  - {name: reader, kind: consumer, topic: orders, settings: {group.id: billing, auto.offset.reset: earliest}}
steps:
  - {at: 1s, do: delay_link, between: [broker-1, broker-2], delay_ms: 5}
  - {at: 2s, do: kill, leader_of: orders-0}
  - {after: 100ms, do: produce, topic: orders, partition: 1, value: by hand}
  - {when: {leader_of: orders-0, is: changed}, do: alter_config, topic: orders, set: {retention.ms: 1000000}}
duration: 7s
expect: {receipt.lost: 0, receipt.duplicated: 0}
"""


def _run(out: Path, source: str = SMALL, **more: object) -> RunResult:
    return run_scenario(grammar.parse(source, "small.yaml"), out=out, **more)


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    return _run(tmp_path_factory.mktemp("run") / "small")


@pytest.mark.parametrize(("name", "least", "most"), [("acks-0", 20, 200), ("acks-1", 20, 200), ("acks-all", 0, 0)])
def test_a_leader_that_dies_before_replication_costs_what_acks_says(
    name: str, least: int, most: int
) -> None:
    result = run_once(name)
    assert result.passed and result.notes == []
    assert least <= result.receipt.total.lost <= most
    assert result.receipt.total.acked > 5900 and result.receipt.failed_read == 0


def test_lost_records_of_acks_1_were_acked_at_offsets_that_others_have_now() -> None:
    result = run_once("acks-1")
    lost = result.receipt.places["lost"]
    assert all(place["test"] == "cut" and place["offset"] >= 0 for place in lost)
    assert result.receipt.inconsistent == len(lost) == result.receipt.total.lost


def test_nothing_is_lost_and_every_replica_comes_back(small: RunResult) -> None:
    assert small.passed and small.notes == []
    assert small.receipt.producers["operator"].acked == small.receipt.producers["operator"].read == 1


def test_executing_a_run_again_gives_the_same_journal(small: RunResult) -> None:
    verdict = verify(small.directory)
    assert verdict.same and verdict.events > 1000


def test_another_process_with_another_hash_seed_gives_the_same_journal(small: RunResult, tmp_path: Path) -> None:
    (tmp_path / "small.yaml").write_text(SMALL)
    program = "import sys; from lab.experiments.run import run_scenario; run_scenario(sys.argv[1], out=sys.argv[2])"
    environment = {**os.environ, "PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "small.yaml"), str(tmp_path / "out")],
        check=True, env=environment, cwd=tmp_path,
    )  # fmt: skip
    for name in ("journal.jsonl", "operations.jsonl", "inputs.bin"):
        assert (tmp_path / "out" / name).read_bytes() == (small.directory / name).read_bytes()


def test_storage_on_files_gives_the_same_journal(small: RunResult, tmp_path: Path) -> None:
    on_files = _run(tmp_path / "out", storage_factory=partial(_disk, tmp_path))
    assert (on_files.directory / "journal.jsonl").read_bytes() == (small.directory / "journal.jsonl").read_bytes()
    for log in (small.directory / "broker-2" / "data").rglob("*.log"):
        other = tmp_path / log.relative_to(small.directory)
        assert other.read_bytes()[: log.stat().st_size] == log.read_bytes()


def _disk(root: Path, node: str) -> DiskStorage:
    return DiskStorage(root / node)


def test_another_seed_gives_another_journal(small: RunResult, tmp_path: Path) -> None:
    other = _run(tmp_path / "out", seed=12)
    assert (other.directory / "journal.jsonl").read_bytes() != (small.directory / "journal.jsonl").read_bytes()
    assert verify(other.directory).same


def test_a_journal_that_was_touched_is_told_with_its_line(tmp_path: Path) -> None:
    run = _run(tmp_path / "run", SMALL.replace("duration: 7s", "duration: 1s").split("steps:")[0] + "duration: 1s\n")
    journal = run.directory / "journal.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    lines[200] = lines[200].replace(b"broker", b"brocker", 1)
    journal.write_bytes(b"".join(lines))
    verdict = verify(run.directory)
    (found,) = verdict.differences
    assert found["code"] == "differs_line" and found["params"]["n"] == 201 and "brocker" in found["params"]["found"]


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DirectoryError, match=r"there is no run\.json"):
        verify(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(DirectoryError, match="damaged"):
        verify(tmp_path)


def test_old_live_runs_give_up_what_makes_them_large_and_say_so(tmp_path: Path) -> None:
    for number, kind in ((1, "simulated"), (2, "live"), (3, "live"), (4, "live")):
        run = RunDirectory(tmp_path / f"{number:04d}")
        run.describe(kind=kind, start=True)
        (run.path / "start" / "broker-1").mkdir(parents=True)
        (run.path / "start" / "broker-1" / "file").write_bytes(bytes(1000))
        (run.path / "journal.jsonl").write_bytes(bytes(100))
    (tmp_path / "notes").mkdir()
    assert shed(tmp_path, 10_000) == []
    assert shed(tmp_path, 3_500) == [tmp_path / "0002", tmp_path / "0003"]
    assert read_facts(tmp_path / "0002")["start"] is False and (tmp_path / "0002" / "journal.jsonl").exists()
    with pytest.raises(DirectoryError, match="not kept"):
        verify(tmp_path / "0003")
    assert shed(tmp_path, 1) == [tmp_path / "0004"] and (tmp_path / "0001" / "start").is_dir()


def test_run_json_says_what_the_run_was(small: RunResult) -> None:
    facts = read_facts(small.directory)
    assert facts["seed"] == 11 and facts["passed"] and facts["receipt"]["lost"] == 0 and facts["kind"] == "simulated"
    assert facts["scenario"]["steps"][1]["do"] == "kill"


def test_a_condition_that_never_comes_true_ends_the_run_with_its_name(tmp_path: Path) -> None:
    step = "  - {when: {isr_of: orders-0, is: 9}, within: 2s, do: stop_all_faults}\nduration"
    with pytest.raises(RunError, match=r"steps\[4\]: isr_of orders-0 == 9 did not come true within 2 s"):
        _run(tmp_path / "run", SMALL.replace("duration", step, 1))


def test_a_refused_step_is_not_met_and_the_run_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = SMALL.replace("duration", "  - {after: 1ms, do: resume, broker: 1}\nduration", 1)
    found = _run(tmp_path / "run", text)
    assert not found.passed and found.receipt.total.acked > 0
    (unmet,) = found.unmet
    assert told(unmet).startswith("steps[4]: resume (broker: 1) was refused: ")
    assert not found.notes
    (tmp_path / "refused.yaml").write_text(text)
    assert commands.run(str(tmp_path / "refused.yaml"), out=str(tmp_path / "told")) == 1
    assert f"not met  {told(unmet)}" in capsys.readouterr().out


def test_a_command_that_a_broker_refuses_is_noted(tmp_path: Path) -> None:
    ask = "  - {after: 1ms, do: alter_config, broker: 1, set: {num.io.threads: '100'}}\nduration"
    (note,) = _run(tmp_path / "run", SMALL.replace("duration", ask, 1)).notes
    assert told(note).startswith("alter_config (broker: 1) was refused: INVALID_REQUEST: ") and "num.io.threads=100" in told(note)


def test_a_step_about_a_message_that_is_not_under_way_is_noted(tmp_path: Path) -> None:
    nothing = "  - {after: 1ms, do: drop_next, between: [zookeeper-1, operator]}\nduration"
    found = _run(tmp_path / "other", SMALL.replace("duration", nothing, 1))
    (note,) = [told(one) for one in found.notes if "refused" in told(one)]
    assert note.startswith("steps[4]: drop_next (between: ['zookeeper-1', 'operator']) was refused: nothing is under way")
    assert found.passed and verify(found.directory).same


def test_the_command_line_prints_one_json_object_and_the_exit_code_is_the_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    short = SMALL.split("steps:")[0] + "duration: 1s\nexpect: {receipt.lost: '%s'}\n"
    good, bad, wrong = tmp_path / "good.yaml", tmp_path / "bad.yaml", tmp_path / "wrong.yaml"
    good.write_text(short % "== 0")
    bad.write_text(short % ">= 1")
    wrong.write_text("seed: x\n")
    assert commands.run(str(good), out=str(tmp_path / "g"), as_json=True) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["passed"] and set(printed["receipt"]) == set(COUNTS)
    assert commands.run(str(bad), out=str(tmp_path / "b"), as_json=True) == 1
    assert json.loads(capsys.readouterr().out)["passed"] is False
    assert commands.run(str(wrong)) == commands.validate(str(wrong)) == 2
    assert "wrong.yaml:1: seed: expected a whole number" in capsys.readouterr().err
    assert commands.verify(str(tmp_path / "g"), as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["same"] is True
    assert commands.verify(str(tmp_path)) == 2


def test_a_scenario_is_run_in_the_other_generation_when_asked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "one.yaml", tmp_path / "run"
    file.write_text(SMALL.split("steps:")[0] + "duration: 1s\nexpect: {receipt.lost: 0}\n")
    assert commands.run(str(file), out=str(out), cluster={"controller": "kraft", "controllers": 1}) == 0
    facts = read_facts(out)
    assert (facts["spec"]["cluster"]["controller"], facts["scenario"]["cluster"]["controllers"]) == ("kraft", 1)
    assert any("quorum" in row[3] for row in read_rows(out / "journal.jsonl"))
    assert commands.verify(str(out)) == 0
    capsys.readouterr()
    assert commands.run(str(file), cluster={"controllers": 1}) == 2
    assert "one.yaml:" in (said := capsys.readouterr().err) and "cluster.controllers" in said


GIVEN_UP = """\
scenario: given-up
cluster: {brokers: 3, preset: teaching, settings: {min.insync.replicas: 2}}
seed: 7
topics: [{name: orders, partitions: 3, replication_factor: 3}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 20, keys: 50,
     settings: {acks: all, delivery.timeout.ms: 8000, request.timeout.ms: 3000}}
  - {name: reader, kind: consumer, topic: orders, settings: {group.id: g}}
steps:
  - {at: 2s, do: kill, broker: 2}
  - {at: 2500ms, do: kill, broker: 3}
  - {at: 20s, do: restart, broker: 2}
  - {at: 20s, do: restart, broker: 3}
duration: 45s
expect:
  receipt.lost: 0
  unavailability.orders-0: "<= 28s"
  unavailability.orders-1: "<= 28s"
  unavailability.orders-2: "<= 28s"
"""


def test_an_idempotent_producer_that_gave_batches_up_writes_to_all_partitions_again(tmp_path: Path) -> None:
    """The new epoch that one partition asks for holds for the others, too: their sequences begin at 0 with it."""
    result = run_scenario(grammar.parse(GIVEN_UP, "given-up.yaml"), out=tmp_path / "run")
    assert result.passed, result.unmet
