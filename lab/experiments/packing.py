"""A run as one file, to be handed in and opened elsewhere: a tar archive, compressed with gzip, led by its manifest.

```
manifest.json      {"format": 1, "run": "0007", "files": {"journal.jsonl": {"size": 1834, "sha256": "9c1f..."}, ...},
                    "sha256": "77ab..."}                 over all of the above, as canonical JSON
run/run.json       then each file of the manifest, in its order
run/journal.jsonl
```
The same run gives the same bytes, and any `tar xzf` can read them. Opening is strict where tar is not: after the
manifest it takes nothing but the very headers that packing writes for the names and sizes in there. So an archive has
no links, no devices, no other names, and never more bytes than it said in the beginning; what it says is bounded, and
each file has to have its hash. The manifest stays beside the run, and `verify` looks at it.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import re
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import orjson

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import Problem, problem
from lab.experiments.directory import INPUTS, JOURNAL, OPERATIONS, RUN, DirectoryError, read_facts
from lab.experiments.past import MARK
from lab.experiments.start_disks import START, start_sizes

MANIFEST, HOME = "manifest.json", "run"
ENDING = ".tar.gz"
FORMAT = 1
LARGEST = 4 * 1024 * 1024 * 1024
LARGEST_MANIFEST = 8 * 1024 * 1024
MOST_FILES = 50_000
PIECE = 1 << 20
_OWN = (RUN, JOURNAL, OPERATIONS, INPUTS)
_DISK = re.compile(r"(?:start/)?(?:broker|zookeeper|controller)-[0-9]{1,9}")
_PART = re.compile(r"[A-Za-z0-9._-]{1,255}")
_SHA = re.compile(r"[0-9a-f]{64}")
_END = bytes(2 * tarfile.BLOCKSIZE)


class PackError(Refusal):
    """A file that is no pack, or is not whole."""


class Source(Protocol):
    """Where a pack is read from."""

    def read(self, size: int, /) -> bytes: ...


@dataclass(slots=True)
class Pack:
    """A run that can be sent: its manifest, and its bytes piece by piece. Raises DirectoryError when it is made."""

    path: Path
    manifest: dict[str, Any]

    @classmethod
    def of(cls, path: Path) -> Pack:
        """Of a run that has ended; reads all of it once."""
        facts = read_facts(path)
        if "end_us" not in facts:
            raise DirectoryError(problem("not_ended_run", path=str(path)))
        if (path / MARK).exists():
            raise DirectoryError(problem("not_copied", path=str(path)))
        files = {name: {"size": size, "sha256": _sha(path / name, size)} for name, size in _files(path).items()}
        return cls(path, sealed({"format": FORMAT, "run": _name(path), "files": files}))

    def pieces(self) -> Iterator[bytes]:
        """The archive, compressed."""
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        for piece in self._plain():
            yield packer.compress(piece)
        yield packer.flush()

    def write(self, target: Path) -> int:
        """As a file; how many bytes it has."""
        with open(target, "wb") as file:
            for piece in self.pieces():
                file.write(piece)
            return file.tell()

    def _plain(self) -> Iterator[bytes]:
        text = orjson.dumps(self.manifest)
        yield _header(MANIFEST, len(text)) + text + _padding(len(text))
        for name, facts in self.manifest["files"].items():
            yield _header(f"{HOME}/{name}", facts["size"])
            left, digest = facts["size"], hashlib.sha256()
            with open(self.path / name, "rb") as file:
                while left and (piece := file.read(min(left, PIECE))):
                    left -= len(piece)
                    digest.update(piece)
                    yield piece
            if left or digest.hexdigest() != facts["sha256"]:
                raise DirectoryError(problem("changed_meanwhile", path=name))
            yield _padding(facts["size"])
        yield _END


def _name(path: Path) -> str:
    """What the run was called where it was packed first: packed again, it is the same pack."""
    try:
        return str(orjson.loads((path / MANIFEST).read_bytes())["run"])
    except (OSError, ValueError, LookupError, TypeError):
        return path.name


def sealed(manifest: dict[str, Any]) -> dict[str, Any]:
    """With the hash over everything."""
    text = orjson.dumps({key: one for key, one in manifest.items() if key != "sha256"}, option=orjson.OPT_SORT_KEYS)
    return {**manifest, "sha256": hashlib.sha256(text).hexdigest()}


def _files(path: Path) -> dict[str, int]:
    """Name -> bytes of all that belongs to a run; of the disks that it began with as much as they had then."""
    found = {name: (path / name).stat().st_size for name in _OWN if (path / name).is_file()}
    found |= start_sizes(path)
    for disk in sorted(path.iterdir()):
        if _DISK.fullmatch(disk.name) and disk.is_dir():
            for file in sorted(disk.rglob("*")):
                if file.is_file() and not file.is_symlink():
                    found[file.relative_to(path).as_posix()] = file.stat().st_size
    return found


def _sha(path: Path, size: int) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while size and (piece := file.read(min(size, PIECE))):
            size -= len(piece)
            digest.update(piece)
    return digest.hexdigest()


def _header(name: str, size: int) -> bytes:
    entry = tarfile.TarInfo(name)
    entry.size, entry.mode = size, 0o644
    return entry.tobuf(tarfile.GNU_FORMAT, "ascii")


def _padding(size: int) -> bytes:
    return bytes(-size % tarfile.BLOCKSIZE)


# -- opening --------------------------------------------------------------------------------
def unpack(source: Source, target: Path, limit: int = LARGEST) -> dict[str, Any]:
    """Open a pack into a directory that is empty or not there yet; its manifest. Raises PackError, DirectoryError.

    `limit`: bytes that all files together may have. What is refused leaves nothing.
    """
    try:
        target.mkdir(parents=True, exist_ok=True)
        if any(target.iterdir()):
            raise DirectoryError(problem("not_empty", path=str(target)))
    except OSError as error:
        raise DirectoryError(problem("not_writable", path=str(target), why=error.strerror)) from None
    try:
        return _Opening(source).into(target, limit)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        shutil.rmtree(target)
        raise PackError(problem("no_pack")) from None
    except OSError as error:
        shutil.rmtree(target)
        raise DirectoryError(problem("not_writable", path=str(target), why=error.strerror)) from None
    except Refusal:
        shutil.rmtree(target)
        raise


class _Opening:
    def __init__(self, source: Source) -> None:
        self._file = gzip.GzipFile(fileobj=source, mode="rb")  # type: ignore[call-overload]

    def into(self, target: Path, limit: int) -> dict[str, Any]:
        manifest = self._manifest()
        check_manifest(manifest, limit)
        if sum(one["size"] for one in manifest["files"].values()) > shutil.disk_usage(target).free:
            raise PackError(problem("pack_no_room"))
        for name, facts in manifest["files"].items():
            self._exactly(_header(f"{HOME}/{name}", facts["size"]), name)
            place = target / name
            place.parent.mkdir(parents=True, exist_ok=True)
            with open(place, "xb") as file:
                self._copy(file, name, facts)
            self._exactly(_padding(facts["size"]), name)
        self._exactly(_END, MANIFEST)
        if self._file.read(1):
            raise PackError(problem("pack_unlike", path=MANIFEST))
        (target / MANIFEST).write_bytes(orjson.dumps(manifest))
        return manifest

    def _manifest(self) -> dict[str, Any]:
        try:
            entry = tarfile.TarInfo.frombuf(self._read(tarfile.BLOCKSIZE), "ascii", "strict")
        except (tarfile.HeaderError, UnicodeError):
            raise PackError(problem("no_pack")) from None
        if entry.name != MANIFEST or not entry.isreg() or not 0 < entry.size <= LARGEST_MANIFEST:
            raise PackError(problem("no_pack"))
        text = self._read(entry.size)
        self._exactly(_padding(entry.size), MANIFEST)
        try:
            found = orjson.loads(text)
        except ValueError:
            raise PackError(problem("no_pack")) from None
        if not isinstance(found, dict):
            raise PackError(problem("no_pack"))
        return found

    def _copy(self, file: BinaryIO, name: str, facts: dict[str, Any]) -> None:
        left, digest = facts["size"], hashlib.sha256()
        while left:
            piece = self._read(min(left, PIECE))
            left -= len(piece)
            digest.update(piece)
            file.write(piece)
        if digest.hexdigest() != facts["sha256"]:
            raise PackError(problem("pack_hash", path=name, expected=facts["sha256"], given=digest.hexdigest()))

    def _exactly(self, expected: bytes, name: str) -> None:
        if self._read(len(expected)) != expected:
            raise PackError(problem("pack_unlike", path=name))

    def _read(self, size: int) -> bytes:
        found = io.BytesIO()
        while size and (piece := self._file.read(size)):
            size -= len(piece)
            found.write(piece)
        if size:
            raise EOFError
        return found.getvalue()


def check_manifest(manifest: dict[str, Any], limit: int) -> None:
    """Shape, names, bounds, and the hash over everything; raises PackError."""
    files = manifest.get("files")
    if manifest.get("format") != FORMAT or not isinstance(files, dict) or RUN not in files:
        raise PackError(problem("no_pack"))
    if len(files) > MOST_FILES:
        raise PackError(problem("pack_too_many", most=MOST_FILES))
    total = 0
    for name, facts in files.items():
        if not _is_ours(name):
            raise PackError(problem("pack_name", name=name[:200]))
        size, sha = (facts.get("size"), facts.get("sha256")) if isinstance(facts, dict) else (None, None)
        if type(size) is not int or size < 0 or not isinstance(sha, str) or not _SHA.fullmatch(sha):
            raise PackError(problem("pack_unlike", path=name))
        total += size
    if total > limit:
        raise PackError(problem("pack_too_large", most=limit))
    expected = sealed(manifest)["sha256"]
    if manifest.get("sha256") != expected:
        given = str(manifest.get("sha256"))[:64]
        raise PackError(problem("pack_hash", path=MANIFEST, expected=expected, given=given))


def _is_ours(name: str) -> bool:
    """A file of a run: one of its own, or one of a disk, without a step upwards."""
    if name in (*_OWN, f"{START}/sizes.json"):
        return True
    parts = name.split("/")
    disk = _DISK.match(name)
    own = disk is not None and name[disk.end() : disk.end() + 1] == "/" and len(name) <= 1000
    return own and all(_PART.fullmatch(part) and part not in (".", "..") for part in parts)


def unlike_manifest(path: Path) -> Iterator[Problem]:
    """Of a run that came as a pack: what is not as it was packed."""
    if not (path / MANIFEST).is_file():
        return
    try:
        manifest = orjson.loads((path / MANIFEST).read_bytes())
        check_manifest(manifest if isinstance(manifest, dict) else {}, LARGEST)
    except ValueError:
        yield problem("no_pack")
        return
    except PackError as error:
        yield error.problem
        return
    there = _files(path)
    for name, facts in manifest["files"].items():
        if name not in there:
            yield problem("missing_file", path=name, expected=facts["size"])
        elif (given := _sha(path / name, there[name])) != facts["sha256"]:
            yield problem("pack_hash", path=name, expected=facts["sha256"], given=given)
    for name in sorted(set(there) - set(manifest["files"])):
        yield problem("extra_file", path=name)
