"""Whatever is forged in a run is named; an honest run is the same wherever it was packed and opened."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import orjson
import pytest

from lab.experiments.directory import RUN, SEAL, seal_of
from lab.experiments.packing import MANIFEST, Pack, unpack
from lab.experiments.run import run_scenario
from lab.experiments.verify import NOT_EXECUTED, verify
from lab.faults.swarm import run_swarm
from lab.scenarios import grammar

TINY = """\
scenario: tiny
title: {en: Tiny}
cluster: {brokers: 2, preset: teaching, settings: {offsets.topic.num.partitions: 1}}
seed: 3
topics: [{name: orders, partitions: 1, replication_factor: 2}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 50, settings: {acks: all}}
steps: [{at: 500ms, do: kill, leader_of: orders-0}]
duration: 2s
expect: {receipt.lost: 0}
"""


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_scenario(grammar.parse(TINY, "tiny.yaml"), out=tmp_path_factory.mktemp("run") / "tiny").directory


def named(path: Path) -> dict[str, str]:
    """File -> code of what is told of it."""
    return {str(one["params"].get("path")): one["code"] for one in verify(path).differences}


def forge(file: Path, how: str, rng: Random) -> None:
    data = bytearray(file.read_bytes())
    at = rng.randrange(len(data)) if data else 0
    if how == "flipped" and data:
        data[at] ^= 1 << rng.randrange(8)
    elif how == "cut" and data:
        del data[at:]
    elif how == "gone":
        file.unlink()
        return
    else:
        data += b"x"
    file.write_bytes(data)


@pytest.mark.parametrize("seed", range(2))
def test_every_file_of_a_run_that_is_forged_is_named(seed: int, tiny: Path, tmp_path: Path) -> None:
    run, rng = tmp_path / "run", Random(f"forged/{seed}")
    shutil.copytree(tiny, run)
    files = [path for path in sorted(run.rglob("*")) if path.is_file() and path.name != RUN]
    assert len(files) >= 16
    for file in files:
        forge(file, rng.choice(["flipped", "cut", "longer", "gone"]), rng)
    (run / "broker-1" / "data" / "orders-0" / "00000000000000000777.log").write_bytes(b"never written")
    found = named(run)
    missed = [name for file in files if (name := file.relative_to(run).as_posix()) not in found]
    assert missed == [] and found["broker-1/data/orders-0/00000000000000000777.log"] == "extra_file"


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(its name, what holds it, where in there) of all that is no object and no list."""
    if isinstance(value, (dict, list)):
        for at, one in value.items() if isinstance(value, dict) else enumerate(value):
            inner = f"{key}[{at}]" if isinstance(value, list) else f"{key}.{at}" if key else str(at)
            yield from leaves(one, inner) if isinstance(one, (dict, list)) else [(inner, value, at)]


def test_each_figure_of_run_json_that_is_forged_is_named_although_the_seal_was_made_anew(tiny: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny, run)
    facts = orjson.loads((run / RUN).read_bytes())
    forged = [one for one in leaves(facts) if not one[0].startswith(("scenario.", "format", "name", *NOT_EXECUTED)) and one[0] != "steps_by"]
    for _, holder, at in forged:
        holder[at] = 77 if holder[at] != 77 else 78
    (run / RUN).write_bytes(orjson.dumps({**facts, SEAL: seal_of(facts)}))
    names = {str(one["params"]["key"]) for one in verify(run).differences if one["code"] == "differs_fact"}
    assert {"receipt.acked", "receipt.lost", "passed", "steps[0].seq", "invariants.violations", "spec.seed"} <= names
    assert {key for key, *_ in forged} - names == set()


def test_a_word_that_is_forged_breaks_the_seal_and_a_forged_scenario_leads_elsewhere(tiny: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(tiny, run)
    facts = orjson.loads((tiny / RUN).read_bytes())
    facts["scenario"]["title"]["en"] = "Great"
    (run / RUN).write_bytes(orjson.dumps(facts))
    assert named(run) == {RUN: "seal_broken"}
    facts["scenario"]["clients"][0]["rate"] = 60
    (run / RUN).write_bytes(orjson.dumps({**facts, SEAL: seal_of(facts)}))
    assert {"journal.jsonl", "operations.jsonl", RUN} <= named(run).keys()


def test_a_swarm_run_is_held_by_its_inputs_and_its_receipt_and_disks_are_made_anew(tmp_path: Path) -> None:
    run = run_swarm(77, tmp_path / "run").directory
    assert verify(run).same
    facts = orjson.loads((run / RUN).read_bytes())
    facts["receipt"]["acked"] += 1
    (run / RUN).write_bytes(orjson.dumps({**facts, SEAL: seal_of(facts)}))
    log = max((run / "broker-1").rglob("*.log"), key=lambda path: path.stat().st_size)
    log.write_bytes(log.read_bytes()[:-1])
    assert named(run) == {RUN: "differs_fact", log.relative_to(run).as_posix(): "cut_file"}


def test_a_run_that_was_packed_and_opened_elsewhere_is_the_same_and_packs_into_the_same_bytes(tiny: Path, tmp_path: Path) -> None:
    pack = Pack.of(tiny)
    pack.write(tmp_path / "one.tar.gz")
    with open(tmp_path / "one.tar.gz", "rb") as file:
        assert unpack(file, tmp_path / "elsewhere") == pack.manifest
    assert verify(tmp_path / "elsewhere").same
    Pack.of(tmp_path / "elsewhere").write(tmp_path / "two.tar.gz")
    assert (tmp_path / "two.tar.gz").read_bytes() == (tmp_path / "one.tar.gz").read_bytes()
    (tmp_path / "elsewhere" / RUN).write_bytes((tmp_path / "elsewhere" / RUN).read_bytes() + b"\n")
    assert named(tmp_path / "elsewhere") == {RUN: "pack_hash"}
    (tmp_path / "elsewhere" / MANIFEST).write_bytes(b"[" * 100_000)
    assert named(tmp_path / "elsewhere") == {"None": "no_pack"}
