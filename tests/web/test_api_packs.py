"""Runs as files over REST: packed, handed in, opened under another number, verified."""

from __future__ import annotations

import hashlib
from pathlib import Path

import orjson
from tests.web.live_rest import Rest, refused, rest

from lab.experiments.directory import RUN
from lab.experiments.packing import Pack
from lab.experiments.run import run_scenario
from lab.scenarios import grammar

__all__ = ["rest"]
TINY = "scenario: tiny\ncluster: {brokers: 1, preset: teaching}\nduration: 1s\nexpect: {receipt.lost: 0}\n"
GZIP = {"Content_Type": "application/gzip"}


def test_a_run_is_packed_taken_in_under_another_number_and_vouched_for(rest: Rest) -> None:
    runs = rest.lab.data / "runs"
    run_scenario(grammar.parse(TINY, "tiny.yaml"), out=runs / "0900")
    packed = rest.get("runs/0900/pack")
    assert (packed.status, packed.media) == (200, "application/gzip")
    assert packed.headers["Content-Disposition"] == 'attachment; filename="brokerlab-0900.tar.gz"'
    taken = rest.post("runs", packed.body, **GZIP)
    assert taken.status == 201 and taken.headers["Location"] == f"/api/runs/{taken.json['run']}", taken
    assert taken.json == {"run": "0901", "packed_as": "0900", "sha256": packed.headers["ETag"].strip('"')}
    assert rest.get("runs/0901/verify").json["same"] is True
    assert rest.get("runs/0901/pack").body == packed.body
    opened = rest.post("labs/lab/runs/0901/open?wait=30").json
    assert rest.delete(f"labs/lab/runs/{opened['run']}").status == 204

    journal = runs / "0901" / "journal.jsonl"
    journal.write_bytes(journal.read_bytes()[:-1])
    found = rest.get("runs/0901/verify", Accept_Language="ko").json
    assert not found["same"] and [one["code"] for one in found["differences"]] == ["cut_file", "pack_hash"]
    assert "끝납니다" in found["differences"][0]["text"]
    refused(rest.get(f"runs/{rest.lab.run_id}/pack"), 409, "run", "is open")


def test_what_is_no_pack_is_refused_and_leaves_nothing(rest: Rest, tmp_path: Path) -> None:
    before = sorted(path.name for path in (rest.lab.data / "runs").iterdir())
    refused(rest.post("runs", b"no pack", **GZIP), 422, "body", "no run that was packed")
    refused(rest.post("runs", b"", **GZIP), 422, "body", "no run that was packed")
    refused(rest.post("runs", {}), 415, "Content-Type", "application/gzip")
    refused(rest.post("labs/lab/commands", b"{}", **GZIP), 415, "Content-Type", "application/gzip")
    assert sorted(path.name for path in (rest.lab.data / "runs").iterdir()) == before


def test_a_pack_of_many_megabytes_is_taken_in(rest: Rest, tmp_path: Path) -> None:
    """More than any other body may have, and than is ever held."""
    path = tmp_path / "run"
    path.mkdir()
    (path / RUN).write_bytes(orjson.dumps({"format": 1, "kind": "live", "seed": 1, "spec": {}, "end_us": 1}))
    noise = b"".join(hashlib.sha256(number.to_bytes(8, "big")).digest() for number in range(1 << 18))
    (path / "journal.jsonl").write_bytes(noise)
    content = b"".join(Pack.of(path).pieces())
    assert len(content) > 8_000_000
    taken = rest.post("runs", content, **GZIP)
    assert taken.status == 201, taken
    assert (rest.lab.data / "runs" / taken.json["run"] / "journal.jsonl").read_bytes() == noise
