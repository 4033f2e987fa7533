"""Built-in clients from before record batches: what they write and read, and what a broker does for them."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from broker_core.clients.old_clients import FALLBACK, RELEASES
from broker_core.clients.settings import ConsumerSettings, ProducerSettings, SettingsError, parse
from lab.experiments.directory import JOURNAL, OPERATIONS
from lab.experiments.findings import read_rows
from lab.experiments.run import RunResult, run_scenario
from lab.scenarios.grammar import from_dict

BOTH = {"en": "x", "ko": "x"}


def run(out: Path, controller: str, write: str, read: str, codec: str = "none") -> RunResult:
    settings = {"acks": "all", "linger.ms": "50", "compression.type": codec}
    producer = {"name": "producer-a", "kind": "producer", "topic": "orders", "rate": 100, "count": 60, "settings": settings | {FALLBACK: write}}
    reader = {"name": "reader", "kind": "consumer", "topic": "orders", "settings": {"auto.offset.reset": "earliest", FALLBACK: read}}
    cluster = {"brokers": 1, "preset": "teaching", "controller": controller}
    document = {
        "scenario": "old-clients", "title": BOTH, "cluster": cluster, "seed": 1, "duration": "3s", "settle": "20s",
        "topics": [{"name": "orders", "partitions": 1, "replication_factor": 1}], "clients": [producer, reader],
    }  # fmt: skip
    return run_scenario(from_dict(document), out=out)


def figures(result: RunResult) -> tuple[int, int, int]:
    """Acked, lost, and got by no reader."""
    told = result.receipt.to_dict()
    return told["acked"], told["lost"], told["unread"]


@pytest.mark.parametrize("codec", ["none", "gzip"])
@pytest.mark.parametrize("old", list(RELEASES))
def test_what_an_old_producer_has_written_an_old_and_a_new_reader_get(old: str, codec: str, tmp_path: Path) -> None:
    result = run(tmp_path / "run", "zookeeper", old, old, codec)
    assert figures(result) == (60, 0, 0)
    told = [row[5] for row in read_rows(tmp_path / "run" / JOURNAL) if row[3] == "records_converted"]
    for api, formats in (("Produce", (RELEASES[old].magic, 2)), ("Fetch", (2, RELEASES[old].magic))):
        found = [one for one in told if one["api"] == api]
        assert sum(one["records"] for one in found) == 60
        assert {(one["magic_from"], one["magic_to"]) for one in found} == {formats}


def test_clients_of_today_get_what_is_stored(tmp_path: Path) -> None:
    run(tmp_path / "run", "zookeeper", "", "")
    assert not [row for row in read_rows(tmp_path / "run" / JOURNAL) if row[3] == "records_converted"]


def test_brokers_of_today_refuse_who_is_so_old(tmp_path: Path) -> None:
    assert figures(run(tmp_path / "writes", "kraft", "0.10.2", "")) == (0, 0, 0)
    assert figures(run(tmp_path / "reads", "kraft", "", "0.10.2")) == (60, 0, 0)  # the final read-back has read them
    done = [orjson.loads(line) for line in (tmp_path / "reads" / OPERATIONS).read_bytes().splitlines()]
    assert {one["process"] for one in done if one["op"] == "poll" and one["kind"] == "ok" and one["runs"]} == {"checker"}


def test_an_old_client_has_neither_idempotence_nor_transactions() -> None:
    assert not parse(ProducerSettings, {FALLBACK: "0.10.2"}).enable_idempotence
    for name, value in (("enable.idempotence", "true"), ("transactional.id", "a")):
        with pytest.raises(SettingsError):
            parse(ProducerSettings, {FALLBACK: "0.10.2", name: value})
    with pytest.raises(SettingsError):
        parse(ConsumerSettings, {FALLBACK: "0.10.2", "isolation.level": "read_committed"})
    with pytest.raises(SettingsError):
        parse(ConsumerSettings, {FALLBACK: "0.7"})
