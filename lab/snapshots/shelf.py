"""The snapshots of one run in a directory: put there by its maker, taken by its lab.

```
snapshots/000000000052311.bulk      what logs hold and no earlier snapshot has
snapshots/000000000052311.world     signature, length of the head, head (JSON), the course (zstd)
```
The head says where the run stood: event, time, and how far journal, operations and inputs had come in their files.

Who holds no key, or runs another version of this program, finds an empty shelf.
"""

from __future__ import annotations

import hashlib
import hmac
import platform
import struct
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path

import cramjam
import orjson

from lab.places import ROOT
from lab.snapshots.bulk import Bulk, path_of
from lab.snapshots.course import Course, Courses

LIMIT = 1024 * 1024 * 1024
LEAST = 2
_LENGTH = struct.Struct(">I")
_SIGNED = 32


@dataclass(slots=True, frozen=True)
class Head:
    """Where a run stood when a snapshot was made. `journal`, `operations`, `inputs`: bytes of these files by then.

    * `events_a_second`: how fast its maker executes this run, in seconds of the processor
    * `needs`: the snapshots whose pieces it refers to
    """

    seq: int
    t_us: int
    journal: int
    operations: int
    inputs: int
    version: str
    size: int
    events_a_second: int = 0
    needs: tuple[int, ...] = ()


@cache
def version() -> str:
    """A hash of the program as this process has it: what may decide how a world goes on."""
    digest = hashlib.blake2b(platform.python_version().encode(), digest_size=16)
    for package in ("broker_core", "lab"):
        for path in sorted((ROOT / package).rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()


class Shelf:
    """Snapshots by event number. `limit`: bytes of all their files."""

    def __init__(self, directory: Path, key: bytes, limit: int = LIMIT) -> None:
        self.directory = directory
        self.key = key
        self.limit = limit
        self.full = False

    def numbers(self) -> list[int]:
        """The events behind which there are snapshots, oldest first."""
        return sorted(int(path.stem) for path in self.directory.glob("*.world"))

    def head(self, number: int) -> Head | None:
        """None when it is gone, or none of ours."""
        found = self._read(number)
        return found[0] if found is not None else None

    def last(self) -> Head | None:
        """The latest."""
        return next(filter(None, map(self.head, reversed(self.numbers()))), None)

    def before(self, seq: int | None, t_us: int | None) -> Head | None:
        """The last one from which event `seq`, or time `t_us`, can be reached by going on; without both the last."""
        for number in reversed(self.numbers()):
            if seq is not None and number >= seq:
                continue
            head = self.head(number)
            if head is not None and (t_us is None or head.t_us <= t_us):
                return head
        return None

    def put(self, course: Course, courses: Courses, head: Head) -> Head:
        """Keep a course under its event number; older ones give way when the limit is reached."""
        data, needs = courses.write(course, head.seq)
        packed = bytes(cramjam.zstd.compress(data, level=1))
        head = replace(head, size=len(data), needs=tuple(needs))
        encoded = orjson.dumps(asdict(head))
        signed = _LENGTH.pack(len(encoded)) + encoded + packed
        temporary = self._path(head.seq).with_suffix(".tmp")
        temporary.write_bytes(self._signature(signed) + signed)
        temporary.replace(self._path(head.seq))
        self._make_room()
        return head

    def take(self, head: Head) -> tuple[Course, Courses] | None:
        """The course of a snapshot, and what writes the next ones of this run; None when it is gone."""
        found = self._read(head.seq)
        if found is None:
            return None
        courses = Courses(Bulk(self.directory))
        data = cramjam.zstd.decompress(found[1], output_len=found[0].size)
        try:
            return courses.read(bytes(data)), courses
        except FileNotFoundError:  # given back in this moment
            return None

    # -- files ------------------------------------------------------------------------------
    def _path(self, number: int) -> Path:
        return self.directory / f"{number:015d}.world"

    def _signature(self, data: bytes | memoryview) -> bytes:
        return hashlib.blake2b(data, digest_size=_SIGNED, key=self.key).digest()

    def _read(self, number: int) -> tuple[Head, memoryview] | None:
        """Head and packed course."""
        try:
            data = self._path(number).read_bytes()
        except OSError:
            return None
        signed = memoryview(data)[_SIGNED:]
        if not hmac.compare_digest(self._signature(signed), data[:_SIGNED]):
            return None
        length = _LENGTH.unpack_from(signed)[0]
        facts = orjson.loads(signed[_LENGTH.size : _LENGTH.size + length])
        head = Head(**{**facts, "needs": tuple(facts["needs"])})
        return (head, signed[_LENGTH.size + length :]) if head.version == version() else None

    # -- room -------------------------------------------------------------------------------
    def size(self) -> int:
        """Bytes of all files."""
        return sum(path.stat().st_size for path in self.directory.iterdir())

    def _make_room(self) -> None:
        """Of the older half every second one goes, as often as it takes; and the pieces that nobody needs any more.

        When only a few are left it is the newest: the run has become too large for this limit, and there is no next.
        """
        while self.size() > self.limit:
            numbers = self.numbers()
            self.full = len(numbers) <= LEAST
            for number in numbers[-1:] if self.full else numbers[: len(numbers) // 2 + 1 : 2]:
                self._path(number).unlink()
            self._sweep()
            if self.full:
                return

    def _sweep(self) -> None:
        kept = {number: self.head(number) for number in self.numbers()}
        needed = {piece for head in kept.values() if head is not None for piece in head.needs}
        for path in self.directory.glob("*.bulk"):
            if int(path.stem) not in needed:
                path_of(self.directory, int(path.stem)).unlink()
