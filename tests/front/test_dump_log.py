"""`dump-log`: bytes with their fields, and checks of indexes, over files of a real directory."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from broker_core.kernel.storage_memory import MemoryStorage
from cli.parser import main
from tests.log.logs import NOW, batch, open_log

STEM = "0" * 20


@pytest.fixture
def segment(tmp_path: Path) -> Path:
    """A `.log` of four batches with both indexes; each batch but the first is indexed."""
    storage = MemoryStorage()
    log = open_log(storage, index_interval_bytes=0)
    for number in range(4):
        log.append_as_leader(batch(timestamp=NOW + number), 0, NOW)
    log.close()
    for suffix in (".log", ".index", ".timeindex"):
        file = storage.open(f"data/orders-0/{STEM}{suffix}")
        (tmp_path / (STEM + suffix)).write_bytes(bytes(file.read(0, file.size)))
    return tmp_path / f"{STEM}.log"


def dump(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, list[str]]:
    code = main(["dump-log", *map(str, arguments)])
    return code, capsys.readouterr().out.splitlines()


def change(path: Path, position: int, data: bytes) -> None:
    content = bytearray(path.read_bytes())
    content[position : position + len(data)] = data
    path.write_bytes(content)


def test_hex_names_the_field_of_each_byte(segment, capsys):
    code, lines = dump(capsys, "--hex", segment)
    assert code == 0
    assert lines[0] == "batch at byte 0, offsets 0..0"
    assert lines[1].split("  ")[-1].strip() == "baseOffset: 0"
    code, lines = dump(capsys, "--hex", "--json", segment)
    fields = [json.loads(line) for line in lines]
    assert (code, b"".join(bytes.fromhex(field["bytes"]) for field in fields)) == (0, segment.read_bytes())
    assert [field["value"] for field in fields if field["field"] == "baseOffset"] == [0, 1, 2, 3]
    assert {"position", "bytes", "field", "value"} == set(fields[0])


def test_hex_shows_damage_and_goes_on(segment, capsys):
    size = segment.stat().st_size // 4
    change(segment, size + 61, b"\xff\xff\xff\xff\xff\xff")
    segment.write_bytes(segment.read_bytes()[:-5])
    code, lines = dump(capsys, "--hex", "--json", segment)
    found = [json.loads(line) for line in lines]
    damaged = next(field for field in found if field.get("field") == "damaged batch")
    assert (code, damaged["position"], len(damaged["bytes"])) == (0, size, 2 * size)
    assert [field["position"] for field in found if field.get("field") == "baseOffset"] == [0, 2 * size]
    assert found[-1] == {"note": f"Found {size - 5} invalid bytes at the end of {STEM}.log"}
    change(segment, 2 * size + 16, b"\x09")
    _, lines = dump(capsys, "--hex", segment)
    assert f"{segment} byte {2 * size}: " in lines[-2]


def test_indexes_that_are_true_pass(segment, capsys):
    index = segment.with_suffix(".index")
    assert dump(capsys, "--verify-index-only", segment, index) == (
        0, [f"{segment}: every entry is true", f"{index}: every entry is true"])
    times = segment.with_suffix(".timeindex")
    assert dump(capsys, "--index-sanity-check", index, times) == (
        0, [f"{index}: passed sanity check", f"{times}: passed sanity check"])
    assert dump(capsys, "--verify-index", "--json", segment) == (0, [json.dumps({"file": str(segment), "faults": []})])


def test_the_zeros_behind_the_entries_of_a_running_kafka_are_no_entries(segment, capsys):
    for suffix in (".index", ".timeindex"):
        with segment.with_suffix(suffix).open("ab") as file:
            file.write(bytes(24 * 5))
    assert dump(capsys, "--verify-index-only", segment)[0] == 0


def test_an_entry_that_lies_passes_the_sanity_check_and_not_the_comparison(segment, capsys):
    index, times = segment.with_suffix(".index"), segment.with_suffix(".timeindex")
    change(index, 7, b"\x09")
    change(times, 12 + 7, b"\x09")
    assert dump(capsys, "--index-sanity-check", index, times)[0] == 0
    code, lines = dump(capsys, "--verify-index-only", segment)
    assert (code, len(lines)) == (1, 2)
    assert lines[0].startswith(f"{index}: offset 1 is said to be at byte ")
    assert lines[1].startswith(f"{times}: ")
    code, lines = dump(capsys, "--verify-index-only", "--json", times, index)
    assert (code, [len(json.loads(line)["faults"]) for line in lines]) == (1, [1, 1])


def test_half_an_entry_and_a_damaged_log_are_faults(segment, capsys):
    index = segment.with_suffix(".index")
    index.write_bytes(index.read_bytes()[:-1])
    for option in ("--index-sanity-check", "--verify-index-only"):
        code, lines = dump(capsys, option, index)
        assert (code, "is not a multiple of 8" in lines[0]) == (1, True)
    change(segment, 16, b"\x09")
    code, lines = dump(capsys, "--verify-index-only", segment.with_suffix(".timeindex"))
    assert (code, f"{segment} byte 0" in lines[0]) == (1, True)


@pytest.mark.parametrize(("option", "suffix", "words"), [
    ("--hex", ".index", "--hex takes .log files"),
    ("--index-sanity-check", ".log", "--index-sanity-check takes .index, .timeindex files"),
    ("--verify-index-only", ".snapshot", "--verify-index-only takes .log, .index, .timeindex files"),
])
def test_a_file_of_another_kind_is_refused(segment, capsys, option, suffix, words):
    path = segment.with_suffix(suffix)
    path.touch()
    assert main(["dump-log", option, str(path)]) == 2
    assert words in capsys.readouterr().err


def test_an_index_without_its_log_is_named(segment, capsys):
    segment.unlink()
    assert main(["dump-log", "--verify-index-only", str(segment.with_suffix(".index"))]) == 2
    assert f"{segment}: No such file" in capsys.readouterr().err


def test_two_ways_to_look_exclude_each_other(segment, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["dump-log", "--hex", "--deep", str(segment)])
    assert (ended.value.code, "not allowed with" in capsys.readouterr().err) == (2, True)
