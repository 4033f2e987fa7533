"""The machine's disk is full: the lab goes on, says who waits, and when there is room again."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import subprocess
import time
import urllib.request
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from broker_core.drivers import files
from broker_core.drivers.files import DiskStorage
from broker_core.kernel.node import RUNNING
from lab.clusters.build import build_world
from lab.clusters.spec import run_from_dict
from cli.page_home import page_home
from cli.words import Words
from lab.disk_room import DiskRoom
from tests.worlds import do, run


def disks(root: Path, name: str) -> DiskStorage:
    return DiskStorage(root / name)


def no_room(*arguments: Any) -> int:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_broker_on_a_full_disk_waits_for_a_start_and_the_lab_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = build_world(run_from_dict({"cluster": {"brokers": 1, "preset": "teaching"}}), partial(disks, tmp_path))
    loop = asyncio.new_event_loop()
    room = DiskRoom(world, tmp_path, loop)
    run(world, 1)
    do(world, do="create_topic", topic="orders", partitions=1, replication_factor=1)
    run(world, 1)
    assert room.view() == {"disk_full": [], "room_again": False}
    do(world, do="disk_full", broker=1, directory="elsewhere")
    with monkeypatch.context() as full:
        full.setattr(files.os, "pwrite", no_room)
        do(world, do="produce", topic="orders", value="x")
        run(world, 2)
    assert room.view() == {"disk_full": [], "room_again": False}, "a fault that was asked for is none of the machine"
    do(world, do="repair_disk", broker=1)
    do(world, do="restart", broker=1)
    run(world, 6)
    with monkeypatch.context() as full:
        full.setattr(files.os, "pwrite", no_room)
        do(world, do="produce", topic="orders", value="x")
        run(world, 2)
    assert "broker-1" in room.view()["disk_full"] and world.nodes["broker-1"].how_stopped == "halted"
    room.look()
    assert room.view()["room_again"] and "broker-1" in caplog.text
    for node in list(room.waiting):
        do(world, do="restart", node=node)
    run(world, 8)
    assert world.nodes["broker-1"].state == RUNNING and room.view() == {"disk_full": [], "room_again": False}
    loop.close()


def test_the_page_keeps_its_files_elsewhere_while_they_do_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "secret_key").write_text("kept")
    assert page_home(tmp_path, Words("en")) == tmp_path
    monkeypatch.setattr(os, "posix_fallocate", no_room)
    home = page_home(tmp_path, Words("ko"))
    assert home != tmp_path and (home / "web" / "secret_key").read_text() == "kept"
    told = capsys.readouterr().err
    assert "No space left" in told and f"{home}에 두며" in told


@pytest.mark.slow
def test_a_disk_that_is_full_in_the_first_second_leaves_the_page(tmp_path: Path, run_lab: Any) -> None:
    kafka = pytest.importorskip("confluent_kafka.admin")
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", small], capture_output=True).returncode:
        pytest.skip("a small disk cannot be mounted: only root may")
    try:
        lab = run_lab("--preset", "teaching", data=small / "lab", web=True)
        with pytest.raises(OSError), open(small / "ballast", "wb", buffering=0) as ballast:
            while ballast.write(bytes(4096)):
                pass
        admin = kafka.AdminClient({"bootstrap.servers": lab.bootstrap})
        admin.create_topics([kafka.NewTopic("orders", 1, 1)])
        deadline = time.monotonic() + 60
        view: dict[str, Any] = {}
        while not view.get("disk_full") and time.monotonic() < deadline:
            with urllib.request.urlopen(f"{lab.page}api/labs/lab/runs", timeout=30) as answer:
                view = next(one for one in json.loads(answer.read())["open"] if one["live"])
            time.sleep(0.2)
        assert view["disk_full"] and not view["room_again"]
        assert lab.stop() == 0
    finally:
        subprocess.run(["umount", "-l", small], capture_output=True)
