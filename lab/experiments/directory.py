"""What a run leaves behind.

| file | holds |
|---|---|
| run.json | spec, seed, kind of run, versions, and at the end receipt and verdict |
| journal.jsonl | every recorded event, one a line |
| operations.jsonl | the history: invoke / ok / fail / info of sends, polls, commits |
| inputs.bin | commands and what outside clients sent, with their place in the order |
| start/NODE | the disks as the run found them, when they were not empty |
| broker-N, zookeeper-1 | the disks as a simulated run left them |

Spec, start and inputs are enough to execute the run again: its journal comes out byte for byte. They are large, so
when the runs of a lab take more than `RUNS_LIMIT`, the oldest give them up (`shed`): they can still be looked at.
A live lab may be left alone for weeks: its journal and its operations end at `FILE_LIMIT` bytes each.
"""

from __future__ import annotations

import contextlib
import platform
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from broker_core.drivers.recording import Recorder
from broker_core.kernel.storage_memory import MemoryFile, MemoryStorage
from broker_core.kernel.world import World

RUN, JOURNAL, OPERATIONS, INPUTS, START = "run.json", "journal.jsonl", "operations.jsonl", "inputs.bin", "start"
FORMAT = 1
START_LIMIT = 1024 * 1024 * 1024
RUNS_LIMIT = FILE_LIMIT = 4 * START_LIMIT
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_INDENT_2


class DirectoryError(Exception):
    """A directory that cannot be written, or is not that of a run."""


def next_run(parent: Path) -> Path:
    """The directory of the next run: 0001, 0002, ..."""
    taken = [int(path.name) for path in parent.glob("[0-9]*") if path.name.isdigit()] if parent.is_dir() else []
    return parent / f"{max(taken, default=0) + 1:04d}"


def shed(parent: Path, limit: int = RUNS_LIMIT) -> list[Path]:
    """Remove start and inputs of the oldest ended live runs until all runs take at most `limit` bytes."""
    runs = sorted(path for path in parent.glob("[0-9]*") if (path / RUN).is_file())
    sizes = {path: _size(path) for path in runs}
    total, found = sum(sizes.values()), []
    for path in runs:
        if total <= limit:
            break
        try:
            facts = read_facts(path)
        except DirectoryError:
            continue
        if facts.get("kind") != "live" or facts.get("start") is False:
            continue
        _write_facts(path, {**facts, "start": False})
        shutil.rmtree(path / START, ignore_errors=True)
        (path / INPUTS).unlink(missing_ok=True)
        total -= sizes[path] - _size(path)
        found.append(path)
    return found


def _size(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


def _write_facts(path: Path, facts: dict[str, Any]) -> None:
    temporary = path / (RUN + ".tmp")
    temporary.write_bytes(orjson.dumps(facts, option=_OPTIONS))
    temporary.replace(path / RUN)


class LastingFile:
    """A file that is given up at the first error, or before it holds more than `limit` bytes: a run that cannot be
    recorded any more goes on unrecorded."""

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self._file: BinaryIO | None = open(path, "wb", buffering=1 << 18)
        self.size = 0
        self.limit = limit
        self.broken: str | None = None

    def write(self, data: bytes) -> None:
        if self.limit is not None and self.size + len(data) > self.limit:
            self.give_up(f"the limit of {self.limit:,} bytes is reached")
        if self._file is not None:
            try:
                self._file.write(data)
                self.size += len(data)
            except OSError as error:
                self.give_up(error)

    def flush(self) -> None:
        if self._file is not None:
            try:
                self._file.flush()
            except OSError as error:
                self.give_up(error)

    def give_up(self, reason: OSError | str) -> None:
        """Nothing more is written."""
        if self.broken is None:
            self.broken = reason if isinstance(reason, str) else reason.strerror or str(reason)
        self.close()

    def close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(OSError):
                file.close()


class RunDirectory:
    """Writes a run. `attach` before the world does anything, `close` when it has ended.

    * `limit`: bytes of the journal, and of the operations; None for a run that ends by itself
    """

    def __init__(self, path: Path, limit: int | None = None) -> None:
        self.path = path
        self.facts: dict[str, Any] = {}
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / RUN).exists():
                raise DirectoryError(f"{path} holds a run already")
            self.recorder = Recorder(path / INPUTS)
            self._journal = LastingFile(path / JOURNAL, limit)
            self._operations = LastingFile(path / OPERATIONS, limit)
        except OSError as error:
            raise DirectoryError(f"{path} cannot be written: {error.strerror}") from error

    def keep_start(self, disks: Iterable[Path]) -> bool | None:
        """Copy the disks that the run begins with. None: all are empty; False: too large to keep."""
        filled = [disk for disk in disks if disk.is_dir() and any(disk.iterdir())]
        if not filled:
            return None
        if sum(map(_size, filled)) > START_LIMIT:
            return False
        for disk in filled:
            shutil.copytree(disk, self.path / START / disk.name)
        return True

    def attach(self, world: World) -> None:
        """From now on journal and operations go to this directory."""
        world.journal.sink = self._write_journal
        world.operations.sink = self._write_operation

    def journal_size(self) -> int:
        """Bytes of journal written so far."""
        return self._journal.size

    @property
    def broken(self) -> str | None:
        """Why nothing more is recorded: the disk is full or gone. The world goes on all the same."""
        return self._journal.broken or self._operations.broken or self.recorder.broken

    def _write_journal(self, lines: bytes) -> None:
        self._journal.write(lines)

    def _write_operation(self, line: bytes) -> None:
        self._operations.write(line)

    def describe(self, **facts: Any) -> None:
        """Put facts into run.json; later ones join or replace earlier ones."""
        base = {"format": FORMAT, "python": ".".join(platform.python_version_tuple()[:2])}
        self.facts = {**base, **self.facts, **facts}
        if self.broken is not None:
            self.facts["broken"] = self.broken
        try:
            _write_facts(self.path, self.facts)
        except OSError as error:
            self._journal.give_up(error)

    def flush(self, world: World) -> None:
        """What is known so far is in the files."""
        world.journal.flush()
        self._journal.flush()
        self._operations.flush()
        self.recorder.flush()

    def close(self, world: World) -> None:
        """The run is over."""
        self.flush(world)
        self.recorder.end(world)
        world.journal.sink = world.operations.sink = None
        self._journal.close()
        self._operations.close()
        self.describe(end_us=world.now_us, events=world.journal.count, operations=world.operations.count)

    def write_disks(self, world: World) -> None:
        """Memory storages as real files, so that any reader of Kafka's files can look at them."""
        for node in world.nodes.values():
            if isinstance(node.storage, MemoryStorage):
                for name, file in sorted(node.storage.files.items()):
                    path = self.path / node.name / name
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(file.read(0, file.size))


class FormatError(DirectoryError):
    """A run of another version of this program."""


def read_facts(path: Path) -> dict[str, Any]:
    """run.json of a run; raises DirectoryError when this is none."""
    try:
        facts: dict[str, Any] = orjson.loads((path / RUN).read_bytes())
    except OSError:
        raise DirectoryError(f"{path} is not the directory of a run: there is no {RUN}") from None
    except ValueError:
        raise DirectoryError(f"{path / RUN} is damaged") from None
    if not isinstance(facts, dict):
        raise DirectoryError(f"{path / RUN} is damaged")
    if facts.get("format") != FORMAT:
        raise FormatError(f"{path / RUN} has format {facts.get('format')!r}, expected {FORMAT}")
    return facts


def start_storage(path: Path, node: str) -> MemoryStorage:
    """A node's disks as the run found them, in memory."""
    storage = MemoryStorage()
    root = path / START / node
    if root.is_dir():
        for file in sorted(root.rglob("*")):
            if file.is_file():
                name = file.relative_to(root).as_posix()
                storage.put(MemoryFile(name, file.read_bytes()))
    return storage


def read_operations(path: Path) -> list[dict[str, Any]]:
    """The history of a run."""
    with open(path / OPERATIONS, "rb") as file:
        return [orjson.loads(line) for line in file]
