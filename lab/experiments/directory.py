"""What a run leaves on disk, live or simulated.

    run.json            spec, seed, kind, versions, how far it went
    journal.jsonl       one event a line: [seq, t_us, node, code, cause, {params}]
    operations.jsonl    one operation a line: what clients asked for and what came of it
    inputs.bin          recorded inputs (drivers.recording)
    start/              the disks as they were at the start, when they were not empty and not too large

With spec, inputs and start the run can be executed again.
"""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, BinaryIO

from broker_core.drivers.recording import Recorder
from broker_core.kernel.journal import Journal
from broker_core.kernel.world import World

START_LIMIT = 64 * 1024 * 1024


class RunDirectory:
    """The files of one run that is under way."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir(parents=True, exist_ok=True)
        self._journal: BinaryIO = open(path / "journal.jsonl", "wb", buffering=1 << 18)
        self._operations: BinaryIO = open(path / "operations.jsonl", "wb", buffering=1 << 18)
        self.recorder = Recorder(path / "inputs.bin")
        self.facts: dict[str, Any] = {}

    def attach(self, world: World) -> None:
        """From now on the world's journal and operations are written here."""
        world.journal.sink = self._journal.write
        world.operations.sink = self._operations.write

    def describe(self, **facts: Any) -> None:
        """Write run.json; later facts are added to earlier ones."""
        self.facts = {"python": platform.python_version(), **self.facts, **facts}
        target = self.path / "run.json"
        temporary = target.with_suffix(".tmp")
        temporary.write_text(json.dumps(self.facts, indent=1, sort_keys=True) + "\n")
        temporary.replace(target)

    def keep_start(self, nodes: Sequence[Path]) -> str:
        """Copy the disks as they are now: `empty`, `copied`, or `too large` to be kept."""
        present = [node for node in nodes if node.exists() and any(file.is_file() for file in node.rglob("*"))]
        if not present:
            return "empty"
        size = sum(file.stat().st_size for node in present for file in node.rglob("*") if file.is_file())
        if size > START_LIMIT:
            return "too large"
        for node in present:
            shutil.copytree(node, self.path / "start" / node.name)
        return "copied"

    def flush(self, journal: Journal) -> None:
        """Everything so far is on its way to the disk."""
        journal.flush()
        for file in (self._journal, self._operations):
            file.flush()
        self.recorder.flush()

    def close(self, world: World) -> None:
        """The run is over."""
        self.recorder.end(world)
        self.flush(world.journal)
        world.journal.sink = None
        world.operations.sink = None
        self._journal.close()
        self._operations.close()
        self.describe(ended_us=world.now_us, events=world.journal.count, bounded_at_us=self.recorder.bounded_at_us)


def next_run(root: Path) -> Path:
    """Directory of the next run below `root`: 0001, 0002, ..."""
    taken = [int(entry.name) for entry in root.iterdir() if entry.name.isdigit()] if root.exists() else []
    return root / f"{max(taken, default=0) + 1:04d}"


