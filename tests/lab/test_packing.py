"""Files that are handed in as packs by somebody whom nobody trusts."""

from __future__ import annotations

import gzip
import io
import tarfile
import tracemalloc

from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from broker_core.kernel.errors import Refusal
from lab.experiments.directory import DirectoryError, RunDirectory
from lab.experiments.packing import LARGEST, Pack, sealed, unpack

SHA_OF_NOTHING = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
NOTHING = {"size": 0, "sha256": SHA_OF_NOTHING}


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("packed") / "run"
    RunDirectory(path).describe(kind="live", seed=1, end_us=1)
    log = path / "broker-1" / "data" / "orders-0" / f"{0:020d}.log"
    log.parent.mkdir(parents=True)
    log.write_bytes(bytes(range(256)) * 20)
    return b"".join(Pack.of(path).pieces())


def code(archive: bytes, target: Path, limit: int = LARGEST) -> str:
    """Of the problem; nothing of the archive is left."""
    with pytest.raises(Refusal) as found:
        unpack(io.BytesIO(archive), target, limit)
    assert not target.exists() and not (target.parent / "escaped").exists()
    return found.value.problem["code"]


def archive(manifest: dict[str, Any], *entries: tuple[tarfile.TarInfo, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz", format=tarfile.GNU_FORMAT) as tar:
        text = orjson.dumps(manifest)
        for info, content in ((named("manifest.json", len(text)), text), *entries):
            tar.addfile(info, io.BytesIO(content))
    return out.getvalue()


def named(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info


def of_files(**files: Any) -> dict[str, Any]:
    return sealed({"format": 1, "run": "0001", "files": {"run.json": NOTHING, **files}})


@pytest.mark.parametrize("name", [
    "../escaped", "/tmp/escaped", "broker-1/../../escaped", "broker-1//a", "broker-1/./a", "broker-1", "broker-1/",
    "snapshots/0001", "copying", "manifest.json", "broker-1/a\\b", "broker-1/a\0b", "broker-1/a\nb", "",
    "start/../escaped", f"broker-1/{'a/' * 600}b", "broker-1/é", "start/broker-1", "elsewhere-1/a",
])  # fmt: skip
def test_a_name_that_is_no_file_of_a_run_is_refused(name: str, tmp_path: Path) -> None:
    given = archive(of_files(**{name: NOTHING}), (named("run/run.json"), b""), (named(f"run/{name}"), b""))
    assert code(given, tmp_path / "run") == "pack_name"


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_devices_and_the_like_are_refused(kind: bytes, tmp_path: Path) -> None:
    given = archive(of_files(), (named("run/run.json", kind=kind, link="/etc/passwd"), b""))
    assert code(given, tmp_path / "run") == "pack_unlike"


@pytest.mark.parametrize("files", [
    {"broker-1/a": {"size": -1, "sha256": SHA_OF_NOTHING}}, {"broker-1/a": {"size": True, "sha256": SHA_OF_NOTHING}},
    {"broker-1/a": {"size": 1e3, "sha256": SHA_OF_NOTHING}}, {"broker-1/a": {"size": 0, "sha256": "x"}},
    {"broker-1/a": []}, {"broker-1/a": NOTHING, "broker-1/a/b": NOTHING},
])  # fmt: skip
def test_manifests_that_cannot_be_are_refused(files: dict[str, Any], tmp_path: Path) -> None:
    entries = [(named(f"run/{name}"), b"") for name in ("run.json", *files)]
    assert code(archive(of_files(**files), *entries), tmp_path / "run") in ("pack_unlike", "not_writable")


def test_a_manifest_whose_hash_does_not_fit_is_refused(tmp_path: Path) -> None:
    assert code(archive({**of_files(), "run": "0002"}), tmp_path / "run") == "pack_hash"
    assert code(archive([]), tmp_path / "run") == "no_pack"  # type: ignore[arg-type]


def test_bombs_are_refused_before_they_go_off(tmp_path: Path) -> None:
    """50 MB of zeros where nothing was announced, behind the end, as the manifest, as a header's name."""
    zeros = bytes(50 * 1024 * 1024)
    bomb = gzip.compress(zeros, 1)
    header = named("manifest.json", len(zeros)).tobuf(tarfile.GNU_FORMAT)
    many = of_files(**{f"broker-1/{number}": NOTHING for number in range(50_001)})
    large = of_files(**{"broker-1/a": {"size": LARGEST, "sha256": SHA_OF_NOTHING}})
    long_name = named("././@LongLink", 2**33, b"L").tobuf(tarfile.GNU_FORMAT)
    cases = [bomb, gzip.compress(header) + bomb, gzip.compress(long_name) + bomb, archive(of_files(), (named("run/run.json"), b"")) + bomb,
             archive(many), archive(large)]  # fmt: skip
    del zeros
    for number, one in enumerate(cases):
        tracemalloc.start()
        assert code(one, tmp_path / str(number)) in ("no_pack", "pack_unlike", "pack_too_large", "pack_too_many")
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < (120_000_000 if number == 4 else 8_000_000)


def test_what_is_flipped_or_cut_anywhere_is_refused(pack: bytes, tmp_path: Path) -> None:
    plain, rng = bytearray(gzip.decompress(pack)), Random("hostile")
    for number in range(60):
        forged = bytearray(plain)
        forged[rng.randrange(len(forged))] ^= 1 << rng.randrange(8)
        assert code(gzip.compress(forged, 1), tmp_path / f"f{number}") in ("no_pack", "pack_unlike", "pack_hash", "pack_name", "pack_too_large", "not_writable")
    for end in [0, 1, 10, *(rng.randrange(len(pack)) for _ in range(20))]:
        assert code(pack[:end], tmp_path / f"c{end}") == "no_pack"
    for number in range(20):
        forged = bytearray(pack)
        forged[rng.randrange(10, len(forged))] ^= 0x55
        assert code(bytes(forged), tmp_path / f"g{number}")


def test_packing_and_opening_hold_a_piece_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "run"
    RunDirectory(path).describe(kind="live", seed=1, end_us=1)
    with open(path / "journal.jsonl", "wb") as file:
        for _ in range(32):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    Pack.of(path).write(tmp_path / "pack")
    with open(tmp_path / "pack", "rb") as file:
        unpack(file, tmp_path / "opened")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 8 * (1 << 20)


def test_what_has_not_ended_is_not_packed_and_nothing_is_opened_over_something(pack: bytes, tmp_path: Path) -> None:
    RunDirectory(tmp_path / "run").describe(kind="live", seed=1)
    with pytest.raises(DirectoryError, match="has not ended"):
        Pack.of(tmp_path / "run")
    with pytest.raises(DirectoryError, match="is not empty"):
        unpack(io.BytesIO(pack), tmp_path / "run")
    assert (tmp_path / "run" / "run.json").exists()
    assert code(pack, tmp_path / "small", limit=1000) == "pack_too_large"
