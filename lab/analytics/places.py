"""What lies where: runs below given directories, and the partition directories of a run's disks.

```
DIR/run.json, journal.jsonl, broker-1/data/orders-0/*.log     a run: its name is DIR's
DATA/runs/0001/run.json, DATA/broker-1/data/orders-0/*.log    a live lab: the disks belong to its last run
DIR/broker-1/data/orders-0/*.log                              the disks of any Kafka: a run without a journal
RUNS/*/run.json                                               many runs
```
A partition directory is called TOPIC-PARTITION, as Kafka calls it. Those on their way out or in
(`.HASH-delete`, `-future`, `-stray`) do not belong to the log any more, or not yet, and are left out, and
so is `start/`: the disks as a run found them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from broker_core.kernel.problems import problem
from lab.analytics.errors import AnalyticsError

T = TypeVar("T")
RUN, JOURNAL, OPERATIONS = "run.json", "journal.jsonl", "operations.jsonl"
_PARTITION = re.compile(r"^(?P<topic>.+)-(?P<partition>\d+)$")
_SEGMENT = re.compile(r"^\d{20}\.log$")
_BROKER = re.compile(r"^broker-?(\d+)$")
NOTE = "meta.properties"
_NOTED = re.compile(r"^(?:broker|node)\.id=(\d{1,9})\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class RunPlace:
    """One run: its name, the directory of its journal (None: none), the directory above its disks (None: none)."""

    name: str
    journal: Path | None
    disks: Path | None


@dataclass(frozen=True, slots=True)
class SegmentPlace:
    """One segment file, whose it is and how many bytes it has now."""

    run: str
    broker: int
    topic: str
    partition: int
    path: str
    size: int

    @property
    def name(self) -> str:
        return os.path.basename(self.path)


def joined_paths(paths: Sequence[str | Path]) -> str:
    """Directories as the one option `path` that Spark hands to a source; their names may hold commas."""
    return json.dumps([str(Path(path).resolve()) for path in paths])


def given_paths(option: str) -> list[str]:
    """The directories of an option `path`: a JSON list, or names separated by commas."""
    if option.startswith("["):
        try:
            return [str(path) for path in json.loads(option)]
        except ValueError:
            pass  # a name that begins so
    return [path.strip() for path in option.split(",") if path.strip()]


def wanted_paths(options: Mapping[str, str]) -> list[str]:
    """The directories that a read asks for; raises ValueError when it names none."""
    paths = given_paths(options.get("path", ""))
    if not paths:
        raise ValueError("no directory is given: load(DIR), or the option path")
    return paths


def whole(options: Mapping[str, str], name: str, default: T, least: int = 1) -> int | T:
    """An option that is a whole number; raises ValueError."""
    given = options.get(name)
    if given is None:
        return default
    try:
        number = int(given)
    except ValueError:
        number = least - 1
    if number < least:
        raise ValueError(f"{name} {given}: expected a whole number, at least {least}")
    return number


def find_runs(paths: Sequence[str | Path]) -> list[RunPlace]:
    """The runs below these directories, in order; raises AnalyticsError when one holds none."""
    found: list[RunPlace] = []
    for given in paths:
        path = Path(given)
        if not path.is_dir():
            raise AnalyticsError(problem("not_directory" if path.exists() else "no_directory", path=str(path)))
        below = _runs_of(path.resolve())
        if not below:
            raise AnalyticsError(problem("holds_no_run", path=str(path)))
        found += below
    return _named_apart(list(dict.fromkeys(found)))


def found_by_now(paths: Sequence[str | Path]) -> list[RunPlace]:
    """The runs that are there; of a directory that is still empty, or not made yet, none."""
    found = [run for path in paths if Path(path).is_dir() for run in _runs_of(Path(path).resolve())]
    return _named_apart(list(dict.fromkeys(found)))


def _runs_of(path: Path) -> list[RunPlace]:
    if (path / RUN).is_file():
        if path.parent.name == "runs" and any(path.parent.parent.glob("broker-*")):
            return [place for place in _live_runs(path.parent.parent) if place.journal == path]
        return [RunPlace(path.name, path, path)]
    if (path / "runs").is_dir() and (live := _live_runs(path)):
        return live
    many = [RunPlace(one.parent.name, one.parent, one.parent) for one in sorted(path.glob(f"*/{RUN}"))]
    if many or next(segments_below(path), None) is None:
        return many
    return [RunPlace(path.name, None, path)]


def _live_runs(data: Path) -> list[RunPlace]:
    """Runs of a live lab. Those of scenarios have disks of their own; the lab's count for its last run."""
    runs = sorted(one.parent for one in (data / "runs").glob(f"*/{RUN}"))
    disks = {run: run for run in runs if any(run.glob("broker-*"))}
    main = [run for run in runs if "-" not in run.name and run not in disks]
    disks |= dict.fromkeys(main[-1:], data)
    return [RunPlace(run.name, run, disks.get(run)) for run in runs]


def _named_apart(runs: list[RunPlace]) -> list[RunPlace]:
    """Runs of one name get more of their path into it."""
    names = [run.name for run in runs]
    out = []
    for run in runs:
        home = run.journal or run.disks
        twice = names.count(run.name) > 1 and home is not None
        name = "~".join(home.parts[1:]) if twice and home is not None else run.name
        out.append(RunPlace(name, run.journal, run.disks))
    return out


def size_of(runs: Sequence[RunPlace]) -> int:
    """Bytes of everything that would be read."""
    files = [run.journal / name for run in runs if run.journal is not None for name in (JOURNAL, OPERATIONS)]
    written = sum(file.stat().st_size for file in files if file.is_file())
    return written + sum(place.size for run in runs for place in segments_of(run))


def segments_of(run: RunPlace) -> list[SegmentPlace]:
    """Every segment file on the disks of a run."""
    return [] if run.disks is None else list(segments_below(run.disks, run.name))


def segments_below(root: Path, run: str = "") -> Iterator[SegmentPlace]:
    """Segment files below a directory, in the order of their paths."""
    seen: set[str] = set()
    for directory, names, files in os.walk(root, onerror=_refused, followlinks=True):
        real = os.path.realpath(directory)
        names[:] = sorted(name for name in names if name not in ("start", "runs") and real not in seen)
        if real in seen:
            continue  # links may lead here twice, or in a circle
        seen.add(real)
        if _PARTITION.match(os.path.basename(directory)) is None:
            continue
        for name in sorted(files):
            if _SEGMENT.match(name):
                path = Path(directory) / name
                try:
                    size = path.stat().st_size
                except FileNotFoundError:
                    continue  # retention has just deleted it
                yield segment_place(path, root, run, size)


def _refused(error: OSError) -> None:
    """A directory that may not be read is no empty one; one that has just been deleted is."""
    if not isinstance(error, FileNotFoundError):
        raise AnalyticsError(problem("not_readable_file", path=error.filename, why=error.strerror)) from None


def segment_place(path: Path, root: Path, run: str, size: int = 0) -> SegmentPlace:
    """The place of a segment file below a directory of disks."""
    match = _PARTITION.match(path.parent.name)
    topic, partition = (match["topic"], int(match["partition"])) if match else ("", -1)
    return SegmentPlace(run, _broker_of(path, root), topic, partition, str(path), size)


def _broker_of(path: Path, root: Path) -> int:
    """The broker's number from the directories between, else from its own note; -1 when none says."""
    parts = [*path.relative_to(root).parts, root.name, root.parent.name]
    named = next((int(match[1]) for part in parts if (match := _BROKER.match(part))), None)
    return _noted_broker(path.parent.parent / NOTE) if named is None else named


def _noted_broker(note: Path) -> int:
    try:
        match = _NOTED.search(note.read_text(errors="replace"))
    except OSError:
        return -1
    return int(match[1]) if match else -1
