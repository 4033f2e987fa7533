"""What a run leaves behind.

| file | holds |
|---|---|
| run.json | spec, seed, kind of run, versions, and at the end receipt and verdict; `seal`: a hash of the rest |
| journal.jsonl | every recorded event, one a line |
| operations.jsonl | the history: invoke / ok / fail / info of sends, polls, commits |
| inputs.bin | commands and what outside clients sent, with their place in the order |
| start/NODE | the disks as the run found them, when they were not empty; links, with start/sizes.json |
| broker-N, zookeeper-1 | the disks as a simulated run left them |
| snapshots/ | no part of it: what forks begin at, while it is open (`lab.snapshots`); its end (`lab.endings`) |
| manifest.json | of a run that came as a pack: the hash of each file (`packing`) |
| copying | while a fork's files still lack what it has in common with its parent (`past`) |

Spec, start and inputs are enough to execute the run again: its journal comes out byte for byte. The disks are kept by
link (`start_disks`). When the runs of a lab take more than `RUNS_LIMIT`, the oldest give start and inputs up (`shed`):
they can still be looked at. Of more than `RUNS_MOST` starts the oldest runs go altogether, with their branches.
A live lab may be left alone for weeks: its journal, its operations and its inputs end at `FILE_LIMIT` bytes each.
What came from outside behind that cannot be executed again, and so nothing is forked there.
"""

from __future__ import annotations

import contextlib
import hashlib
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from broker_core.drivers.recording import LIMIT, Recorder, reopened
from broker_core.kernel.storage_memory import MemoryStorage
from broker_core.kernel.world import World
from lab.experiments.past import Past
from lab.experiments.start_disks import START, START_LIMIT, keep_start

RUN, JOURNAL, OPERATIONS, INPUTS = "run.json", "journal.jsonl", "operations.jsonl", "inputs.bin"
SEAL = "seal"
FORMAT = 1
JUDGED = ("unmet", "notes")
RUNS_LIMIT = FILE_LIMIT = 4 * START_LIMIT
RUNS_MOST = 200
_OPTIONS = orjson.OPT_NON_STR_KEYS | orjson.OPT_INDENT_2


class DirectoryError(Refusal):
    """A directory that cannot be written, or is not that of a run."""


def next_run(parent: Path) -> Path:
    """The directory of the next run: 0001, 0002, ..."""
    taken = [int(path.name) for path in parent.glob("[0-9]*") if path.name.isdigit()] if parent.is_dir() else []
    return parent / f"{max(taken, default=0) + 1:04d}"


def tidy(parent: Path) -> Iterator[str]:
    """Before another run: the oldest ones make room for it. Lines for the terminal."""
    for path in forget_oldest(parent):
        yield f"{path} is removed: a lab keeps its last {RUNS_MOST} runs"
    for path in shed(parent):
        yield f"{path} can be looked at, but not be executed again: made room for new runs"


def shed(parent: Path, limit: int = RUNS_LIMIT) -> list[Path]:
    """Remove start and inputs of the oldest ended live runs until all runs take at most `limit` bytes."""
    runs = sorted(path for path in parent.glob("[0-9]*") if (path / RUN).is_file())
    sizes = _sizes_once(runs)
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
        total -= max(0, sizes[path] - _size(path))
        found.append(path)
    return found


def forget_oldest(parent: Path, most: int = RUNS_MOST) -> list[Path]:
    """Remove the oldest runs, with their branches, so that with the next one there are at most `most`."""
    starts = sorted(path for path in parent.glob("[0-9]*") if path.name.isdigit() and (path / RUN).is_file())
    gone = starts[: max(0, len(starts) + 1 - most)]
    for path in gone:
        for each in [path, *parent.glob(f"{path.name}-*")]:
            shutil.rmtree(each, ignore_errors=True)
    return gone


def _size(directory: Path) -> int:
    return _sizes_once([directory])[directory]


def _sizes_once(directories: Iterable[Path]) -> dict[Path, int]:
    """Bytes of each directory; a file with several names counts for the last directory that has it."""
    sizes: dict[Path, int] = {}
    owner: dict[int, Path] = {}
    for directory in directories:
        sizes[directory] = 0
        for file in directory.rglob("*"):
            if not file.is_file():
                continue
            facts = file.stat()
            if facts.st_ino in owner:
                sizes[owner[facts.st_ino]] -= facts.st_size
            sizes[directory] += facts.st_size
            if facts.st_nlink > 1:
                owner[facts.st_ino] = directory
    return sizes


def _write_facts(path: Path, facts: dict[str, Any]) -> None:
    temporary = path / (RUN + ".tmp")
    plain = orjson.loads(orjson.dumps(facts, option=_OPTIONS))
    temporary.write_bytes(orjson.dumps({**plain, SEAL: seal_of(plain)}, option=_OPTIONS))
    temporary.replace(path / RUN)


def seal_of(facts: dict[str, Any]) -> str:
    """SHA-256 of run.json as canonical JSON without its seal: who changes a word by hand has to change this, too."""
    rest = {key: value for key, value in facts.items() if key != SEAL}
    return hashlib.sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS)).hexdigest()


class LastingFile:
    """A file that is given up at the first error, or before it holds more than `limit` bytes: a run that cannot be
    recorded any more goes on unrecorded."""

    def __init__(self, path: Path, limit: int | None = None, start: int = 0) -> None:
        self._file: BinaryIO | None = open(path, "wb", buffering=1 << 18)
        if start:  # what stands before is copied by somebody else
            self._file.truncate(start)
            self._file.seek(start)
        self.size = start
        self.limit = limit
        self.broken: str | None = None

    def __getstate__(self) -> dict[str, Any]:
        """What was written stands in the file, which is open in one process at a time."""
        self.flush()
        return {**self.__dict__, "_file": None if self._file is None else self._file.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_file"] is not None:
            self._file = reopened(state["_file"], self.size)

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

    * `limit`: bytes of the journal, of the operations and of the inputs; None for a run that ends by itself
    * `past`: what it has in common with the run that it goes on from
    """

    def __init__(self, path: Path, limit: int | None = None, past: Past | None = None) -> None:
        self.path = path
        self.past = past
        self.readers: list[Callable[[bytes], None]] = []
        """Who is given the lines of the journal as they are written."""
        self.facts: dict[str, Any] = {}
        begin = past.sizes if past is not None else dict.fromkeys((INPUTS, JOURNAL, OPERATIONS), 0)
        try:
            path.mkdir(parents=True, exist_ok=True)
            if (path / RUN).exists():
                raise DirectoryError(problem("holds_run", path=str(path)))
            self.recorder = Recorder(path / INPUTS, limit or LIMIT, start=begin[INPUTS])
            self._journal = LastingFile(path / JOURNAL, limit, begin[JOURNAL])
            self._operations = LastingFile(path / OPERATIONS, limit, begin[OPERATIONS])
            if past is not None:
                past.begin(path)
        except OSError as error:
            raise DirectoryError(problem("not_writable", path=str(path), why=error.strerror)) from error

    def keep_start(self, disks: Iterable[Path]) -> bool | None:
        """Keep the disks that the run begins with. None: all are empty; False: too large, or there is no room."""
        try:
            return keep_start(self.path, disks)
        except OSError:
            shutil.rmtree(self.path / START, ignore_errors=True)
            return False

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
        broken = self._journal.broken or self._operations.broken or self.recorder.broken
        return broken or (self.past.broken if self.past is not None else None)

    def journal_lines(self, start: int) -> Iterator[bytes]:
        """The journal's file from a place on, as far as it is flushed; the past from where it stands by now."""
        past = self.past
        if past is not None and not past.in_place and start < past.sizes[JOURNAL]:
            for line in past.lines(start):
                if start >= past.sizes[JOURNAL]:
                    break
                start += len(line)
                yield line
        with open(self.path / JOURNAL, "rb") as file:
            file.seek(start)
            yield from file

    def wait(self) -> None:
        """Until all of the past is in the files; for who reads them, never on the world's thread."""
        if self.past is not None:
            self.past.wait()

    def _write_journal(self, lines: bytes) -> None:
        self._journal.write(lines)
        for reader in self.readers:
            reader(lines)

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

    def let_go(self) -> None:
        """Close the files; the run goes on in another place, or later."""
        for file in (self._journal, self._operations):
            file.close()
        self.recorder.let_go()

    def close(self, world: World) -> None:
        """The run is over."""
        self.flush(world)
        self.recorder.end(world)
        world.journal.sink = world.operations.sink = None
        self._journal.close()
        self._operations.close()
        self.describe(end_us=world.now_us, events=world.journal.count, operations=world.operations.count)


def write_disks(world: World, target: Path) -> None:
    """Memory storages as real files, so that any reader of Kafka's files can look at them."""
    for node in world.nodes.values():
        if isinstance(node.storage, MemoryStorage):
            for name, file in sorted(node.storage.files.items()):
                path = target / node.name / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(file.read(0, file.size))


class FormatError(DirectoryError):
    """A run of another version of this program."""


def read_facts(path: Path) -> dict[str, Any]:
    """run.json of a run; raises DirectoryError when this is none.

    An older program wrote what was `JUDGED` as sentences: they come as problems of that name, and are told as they are.
    """
    try:
        facts: dict[str, Any] = orjson.loads((path / RUN).read_bytes())
    except OSError:
        raise DirectoryError(problem("no_run_directory", path=str(path), name=RUN)) from None
    except ValueError:
        raise DirectoryError(problem("damaged", path=str(path / RUN))) from None
    if not isinstance(facts, dict):
        raise DirectoryError(problem("damaged", path=str(path / RUN)))
    if facts.get("format") != FORMAT:
        given = str(facts.get("format"))
        raise FormatError(problem("other_format", path=str(path / RUN), given=given, expected=FORMAT))
    for name in JUDGED:
        if name in facts:
            facts[name] = [one if isinstance(one, dict) else {"code": str(one), "params": {}} for one in facts[name]]
    return facts


def read_operations(path: Path) -> list[dict[str, Any]]:
    """The history of a run."""
    with open(path / OPERATIONS, "rb") as file:
        return [orjson.loads(line) for line in file]
