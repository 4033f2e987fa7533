"""Runs keep the disks that they began with by link; what the lab does to its files afterwards leaves that as it was."""

from __future__ import annotations

from pathlib import Path

import pytest

from broker_core.drivers.files import DiskStorage
from lab.experiments.directory import RUN, RunDirectory, forget_oldest, shed
from lab.experiments.start_disks import keep_start, start_storage

LOG, SMALL = "data/orders-0/00000000000000000000.log", "data/meta.properties"


def lab(tmp_path: Path) -> DiskStorage:
    disks = DiskStorage(tmp_path / "broker-1")
    disks.open(LOG).append([b"0123456789"])
    disks.write_text(SMALL, "version=0")
    disks.close()
    return DiskStorage(tmp_path / "broker-1")


def kept(run: Path) -> dict[str, bytes]:
    storage = start_storage(run, "broker-1")
    return {name: bytes(file.read(0, file.size)) for name, file in storage.files.items()}


@pytest.mark.parametrize("change", ["append", "truncate", "overwrite", "delete", "rename", "write", "append and cut"])
def test_what_happens_to_a_file_does_not_reach_the_run(tmp_path: Path, change: str) -> None:
    storage, run = lab(tmp_path), tmp_path / "runs" / "0001"
    assert keep_start(run, [tmp_path / "broker-1"]) is True
    file = storage.open(LOG)
    expected = b"0123456789"
    if change == "append":
        file.append([b"abc"])
        expected += b"abc"
    elif change == "truncate":
        file.truncate(4)
        expected = expected[:4]
    elif change == "overwrite":
        file.overwrite(2, b"XY")
        expected = b"01XY456789"
    elif change == "append and cut":
        file.append([b"abc"])
        file.truncate(5)
        file.append([b"z"])
        expected = b"01234z"
    elif change == "delete":
        storage.delete("data/orders-0")
    elif change == "rename":
        storage.rename("data/orders-0", "data/orders-0.x-delete")
    else:
        storage.write_text(SMALL, "version=7")
    if change not in ("delete", "rename"):
        storage.close()
        again = DiskStorage(tmp_path / "broker-1").open(LOG)
        assert bytes(again.read(0, again.size)) == expected == bytes(file.read(0, file.size))
    assert kept(run) == {LOG: b"0123456789", SMALL: b"version=0"}


def test_a_branch_begins_with_what_its_run_began_with(tmp_path: Path) -> None:
    storage, run, branch = lab(tmp_path), tmp_path / "runs" / "0001", tmp_path / "runs" / "0001-1"
    keep_start(run, [tmp_path / "broker-1"])
    storage.open(LOG).append([b"abc"])
    assert keep_start(branch, [run / "start" / "broker-1"]) is True
    assert kept(branch)[LOG] == b"0123456789"


def test_a_start_takes_no_room_and_no_time_for_what_is_there(tmp_path: Path) -> None:
    lab(tmp_path)
    for number in range(5):
        keep_start(tmp_path / "runs" / f"{number:04d}", [tmp_path / "broker-1"])
    names = list(tmp_path.rglob("*.log"))
    assert len(names) == 6 and len({path.stat().st_ino for path in names}) == 1
    assert keep_start(tmp_path / "runs" / "9999", [tmp_path / "broker-2"]) is None


def run_of(parent: Path, name: str, inputs: int) -> None:
    files = RunDirectory(parent / name)
    files.describe(kind="live", start=None)
    (parent / name / "inputs.bin").write_bytes(b"x" * inputs)


def test_the_oldest_runs_make_room(tmp_path: Path) -> None:
    for name in ("0001", "0001-1", "0002", "0003", "0004"):
        run_of(tmp_path, name, 1000)
    assert forget_oldest(tmp_path, 3) == [tmp_path / "0001", tmp_path / "0002"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["0003", "0004"]
    assert shed(tmp_path, 1500) == [tmp_path / "0003"]
    assert (tmp_path / "0003" / RUN).exists() and not (tmp_path / "0003" / "inputs.bin").exists()
