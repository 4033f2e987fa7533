"""A disk that takes no more: the run goes on, what was recorded until then stays, and everybody is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.drivers.recording import Recorder
from lab.branch import BranchError, read_rows
from lab.clusters.spec import run_from_dict
from lab.experiments.directory import JOURNAL, LastingFile, RunDirectory
from lab.live import LiveLab
from tests.conftest import free_ports

FULL = Path("/dev/full")
pytestmark = pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")


def test_a_file_is_given_up_at_the_first_error_and_says_why():
    file = LastingFile(FULL)
    file.write(b"x" * 100)
    assert file.broken is None
    file.flush()
    assert file.broken == "No space left on device"
    file.write(b"more")
    file.flush()
    file.close()


def test_a_file_with_a_limit_ends_before_it_and_says_so(tmp_path):
    file = LastingFile(tmp_path / "journal", limit=10)
    file.write(b"123456")
    assert file.broken is None
    file.write(b"78901")
    assert file.broken == "the limit of 10 bytes is reached"
    file.write(b"7")
    file.close()
    assert (tmp_path / "journal").read_bytes() == b"123456"


def test_recorded_inputs_end_there_too():
    recorder = Recorder(FULL)
    recorder._write({"kind": "end"}, b"")
    recorder.flush()
    assert recorder.broken == "No space left on device"
    recorder._write({"kind": "end"}, b"")


def test_a_lab_whose_recording_has_ended_goes_on_and_says_until_when(tmp_path):
    spec = run_from_dict({"cluster": {"brokers": 1, "preset": "teaching", "port": free_ports(1)}})
    lab = LiveLab(spec, tmp_path)
    lab.start()
    try:
        branch = lab.main
        assert branch.view()["recorded_until_us"] is None

        def fill() -> None:
            branch.files._journal = LastingFile(FULL)
            branch.files._journal.write(b"x")
            branch.seen.keyframes.clear()
            branch.keep_keyframe()

        fork = lab.fork(branch.run_id, seq=branch.world.seq)
        lab.close_branch(fork.result(30)).result(10)
        branch.files.recorder._left = 0
        assert branch.view()["inputs_until_us"] is None
        assert lab.submit({"do": "time", "speed": 1}).result(10)["ok"]
        assert lab.submit({"do": "stop_all_faults"}).result(10)["ok"]
        assert branch.view()["inputs_until_us"] is not None
        until = branch.files.recorder.bounded_at_seq
        with pytest.raises(BranchError, match="nothing can be forked behind"):
            lab.fork(branch.run_id, seq=until + 1).result(10)
        branch.ask(fill).result(10)
        assert branch.view()["recorded_until_us"] is not None
        made = lab.submit({"do": "create_topic", "topic": "after", "partitions": 1, "replication_factor": 1}).result(10)
        assert made["ok"], made
        assert lab.snapshot().result(10)[0] >= made["seq"]
    finally:
        lab.stop()
    assert '"broken"' in (tmp_path / "runs" / "0001" / "run.json").read_text()


def test_a_journal_that_ends_in_the_middle_of_a_line_can_be_read(tmp_path):
    files = RunDirectory(tmp_path / "run")
    (files.path / JOURNAL).write_bytes(b'[1,5,"a","x",0,{}]\n[2,6,"a","x')
    rows, whole = read_rows(files, 0, None)
    assert ([row[0] for row in rows], whole) == ([1], True)
