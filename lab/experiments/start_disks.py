"""The disks that a run begins with, kept so that it can be executed again: by link, not by copy.

A lab that has gone through many starts would otherwise hold its segments many times over, and each start would take as
long as copying them. So each file gets a second name below `start/`, and `start/sizes.json` notes how long it was:

| what the lab does to the file | what the run still has |
|---|---|
| appends | its own part: the first so many bytes |
| replaces it (checkpoints), deletes it, renames it | the file as it was, under its second name |
| cuts it, writes over it (recovery, truncation, a flipped bit) | the same: the lab copies it first (`drivers.files`) |

A file system without hard links gets copies.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import orjson

from broker_core.kernel.storage_memory import MemoryFile, MemoryStorage

START, SIZES = "start", "sizes.json"
START_LIMIT = 1024 * 1024 * 1024


def keep_start(run: Path, disks: Iterable[Path]) -> bool | None:
    """Keep the disks that a run begins with. None: all are empty; False: too large to be executed again in memory.

    Disks that are those of another run's start are taken with the sizes noted there.
    """
    found = {disk: sizes for disk in disks if disk.is_dir() and (sizes := _sizes(disk))}
    if not found:
        return None
    if sum(size for sizes in found.values() for size in sizes.values()) > START_LIMIT:
        return False
    noted: dict[str, int] = {}
    for disk, sizes in found.items():
        for name, size in sizes.items():
            target = run / START / disk.name / name
            target.parent.mkdir(parents=True, exist_ok=True)
            _link(disk / name, target)
            noted[f"{disk.name}/{name}"] = size
    (run / START / SIZES).write_bytes(orjson.dumps(noted))
    return True


def start_sizes(run: Path) -> dict[str, int]:
    """Files of a run below `start/`, and how many bytes of each are its own."""
    root = run / START
    found = {f"{START}/{SIZES}": (root / SIZES).stat().st_size} if (root / SIZES).is_file() else {}
    for disk in sorted(path for path in root.glob("*") if path.is_dir()):
        found |= {f"{START}/{disk.name}/{name}": size for name, size in _sizes(disk).items()}
    return found


def start_storage(run: Path, node: str) -> MemoryStorage:
    """A node's disks as the run found them, in memory."""
    storage = MemoryStorage()
    root = run / START / node
    for name, size in sorted(_sizes(root).items()):
        with open(root / name, "rb") as file:
            storage.put(MemoryFile(name, file.read(size)))
    return storage


def _sizes(disk: Path) -> dict[str, int]:
    """Name of each file -> its bytes, as noted where this is a disk of a run's start."""
    names = [path.relative_to(disk).as_posix() for path in sorted(disk.rglob("*")) if path.is_file()]
    noted: dict[str, int] = {}
    if (disk.parent / SIZES).is_file():
        noted = orjson.loads((disk.parent / SIZES).read_bytes())
    return {name: noted.get(f"{disk.name}/{name}", (disk / name).stat().st_size) for name in names}


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
