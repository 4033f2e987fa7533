"""Whoever saw a crash, rewinds to it or opens the recorded run has the stopped broker's logs as its disks hold them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.branch import Branch
from lab.clusters.spec import run_from_dict
from lab.experiments.run import run_scenario
from lab.experiments.verify import verify
from lab.feed import Batch
from lab.live import LiveLab
from lab.scenarios import grammar
from tests.conftest import PATIENCE_S, free_ports

SOURCE = """
cluster: {brokers: 3, preset: teaching}
topics: [{name: orders, partitions: 1, replication_factor: 3}]
clients: [{name: producer-orders, kind: producer, topic: orders, rate: 100}]
steps:
  - {at: 8s, do: kill, broker: 2}
  - {at: 12s, do: restart, broker: 2}
duration: 16s
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[LiveLab]:
    found = LiveLab(run_from_dict({"cluster": {"preset": "teaching", "port": free_ports(3)}, "seed": 3}), tmp_path / "data")
    found.start()
    yield found
    found.stop()


def told(rows: list[list[Any]]) -> list[tuple[list[Any], list[Any]]]:
    """(the row of the disks, the row behind it)."""
    return [(row, rows[index + 1]) for index, row in enumerate(rows) if row[2] == "stopped_logs"]


def shown(branch: Branch, broker: str) -> dict[str, list[int]]:
    """The logs of a broker in a snapshot of now: what a page opened later has."""
    topics = json.loads(branch.snapshot().result(PATIENCE_S)[1])["state"]["topics"]
    return {
        f"{topic}-{number}": [log["leo"], log["hw"], log["start"]]
        for topic, found in topics.items() for number, partition in found["partitions"].items()
        for name, log in partition["logs"].items() if name == broker
    }  # fmt: skip


def test_a_live_page_its_past_and_one_opened_later_have_the_same_logs(lab: LiveLab) -> None:
    main = lab.main
    batches: list[Batch] = []
    main.subscribe(batches.append)
    for command in ({"do": "create_topic", "topic": "orders", "partitions": 1, "replication_factor": 3}, {"do": "produce", "topic": "orders", "value": "one"}):
        assert main.submit(command).result(PATIENCE_S)["ok"]
    before = main.clock()["seq"]
    assert main.submit({"do": "kill", "broker": 2}).result(PATIENCE_S)["ok"]
    later = shown(main, "2")
    live = told([row for batch in batches for row in json.loads(batch.text)])
    past = told(json.loads(main.history(before).result(PATIENCE_S)["ev"]))
    since = told(json.loads(main.events_since(before).result(PATIENCE_S) or ""))
    for (row, end), in (live, past, since):
        assert (row[3], row[5]["logs"]) == ("broker-2", later) and later["orders-0"][0] == 1
        assert (end[2], end[3], end[0]) == ("process_ended", "broker-2", row[0])


def test_an_opened_run_has_them_at_the_crash_and_its_journal_is_the_same(lab: LiveLab) -> None:
    path = lab.data / "runs" / "0900"
    run_scenario(grammar.parse(SOURCE, "stops.yaml"), out=path)
    journal = (path / "journal.jsonl").read_text()
    recorded = [json.loads(line) for line in journal.splitlines()]
    [crash] = [row for row in recorded if row[3] == "process_ended" and row[2] == "broker-2"]
    [loaded] = [row for row in recorded if row[3] == "log_loaded" and row[2] == "broker-2" and row[5]["topic"] == "orders"]
    opened = lab.branch(lab.open_run("0900").result(60))
    [(row, end)] = told(json.loads(opened.history(crash[0], crash[0] - 1).result(PATIENCE_S)["ev"]))
    leo, hw, start = row[5]["logs"]["orders-0"]
    assert (end[0], end[2], start) == (crash[0], "process_ended", 0) and 0 < hw < leo
    assert loaded[5]["end"] == leo
    assert "stopped_logs" not in journal and verify(path).same
