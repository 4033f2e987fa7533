"""Figures of expectations that are found in the journal's numbers and in the history of polls."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from lab.experiments.findings import Findings, delays_ms, read_rows, standstills_ms
from lab.experiments.run import run_scenario
from lab.scenarios.grammar import ScenarioError, parse

SCENARIO = """\
cluster: {brokers: 1, preset: teaching, link_delay_ms: 5}
seed: 3
record_level: details
topics: [{name: orders, partitions: 1, replication_factor: 1}]
clients:
  - {name: producer-a, kind: producer, topic: orders, rate: 20, size: 100}
  - {name: reader, kind: consumer, topic: orders, settings: {auto.offset.reset: earliest}}
duration: 3s
expect:
  sum.request_stages.request_bytes[api=Produce]: ">= 1"
  most.request_stages.remote_us[api=Fetch]: ">= 1"
  read_delay.reader: ">= 10ms"
  ack_delay.producer-a: ">= 10ms"
"""


def _stages(t_us: int, api: str, size: int) -> list[Any]:
    return [1, t_us, "broker-1", "request_stages", 0, {"api": api, "request_bytes": size}]


def test_a_parameter_of_events_is_added_up_and_its_largest_value_is_found() -> None:
    found = Findings(rows=[_stages(1, "Fetch", 50), _stages(2, "Produce", 900), _stages(3, "Fetch", 70)])
    assert found.value("sum.request_stages.request_bytes[api=Fetch]") == 120
    assert found.value("most.request_stages.request_bytes[api=Fetch]") == 70
    assert found.value("sum.request_stages.request_bytes") == 1020
    assert found.value("sum.request_stages.request_bytes[api=Metadata]") is None


def test_what_the_journal_has_summed_up_cannot_be_added_up(tmp_path: Path) -> None:
    early = [2, 1_100_000, "world", "summed_up", 0, {"counts": {"request_stages": 9}, "second": 0}]
    late = [3, 3_100_000, "world", "summed_up", 0, {"counts": {"request_stages": 9}, "second": 2}]
    key = "sum.request_stages.request_bytes"
    for rows, total in (([early], 50), ([early, late], None)):
        journal = tmp_path / "journal.jsonl"
        journal.write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in [*rows, _stages(1_200_000, "Fetch", 50)]))
        assert Findings(rows=read_rows(journal, 1_000_000)).value(key) == total


def test_the_delay_of_a_client_is_the_median_from_the_making_of_a_record_to_its_poll_or_acknowledgement() -> None:
    def send(value: int, created_us: int) -> dict[str, Any]:
        return {"op": "send", "kind": "invoke", "label": "p", "values": [[value, 1]], "created_us": created_us, "t": created_us}

    def poll(value: int, t_us: int, process: str = "near") -> dict[str, Any]:
        return {"op": "poll", "kind": "ok", "process": process, "t": t_us, "runs": [[value, "p", value, 1]]}

    rows = [send(0, 500), send(1, 1_000), send(2, 2_000), send(3, 3_000), poll(0, 90_000), poll(1, 6_000), poll(2, 12_000),
            poll(3, 5_000), poll(3, 23_000, "far"), poll(3, 99_000, "late")]  # fmt: skip
    acked = [{**row, "kind": "ok", "process": "p", "t": row["t"] + 7_000} for row in rows[1:4]]
    assert delays_ms([*rows, *acked], 1_000, 90_000) == {"near": (5, 10), "far": (20, 20), "p": (7, 7)}


def test_the_sizes_of_requests_are_those_of_the_wire_and_a_run_tells_all_of_it(tmp_path: Path) -> None:
    result = run_scenario(parse(SCENARIO, "x.yaml"), out=tmp_path / "run")
    assert result.passed, result.unmet
    rows = [row for row in read_rows(result.directory / "journal.jsonl") if row[3] == "request_stages"]
    produced = [row[5] for row in rows if row[5]["api"] == "Produce"]
    assert produced and all(200 < one["request_bytes"] < 1000 and 0 < one["response_bytes"] < 100 for one in produced)
    fetched = [row[5]["response_bytes"] for row in rows if row[5]["api"] == "Fetch" and row[5]["response_bytes"] > 100]
    appended = sum(row[5]["bytes"] for row in read_rows(result.directory / "journal.jsonl") if row[3] == "log_appended")
    assert fetched and sum(fetched) > appended


@pytest.mark.parametrize(("old", "new", "message"), [
    ("request_bytes[api", "request_byte[api", "x.yaml:10: expect.sum.request_stages.request_byte[api=Produce]: 'request_byte'"),
    ("sum.request_stages", "sum.request_stage", "x.yaml:10: expect.sum.request_stage.request_bytes[api=Produce]: 'request_stage'"),
    ("[api=Fetch]", "[apy=Fetch]", "x.yaml:11: expect.most.request_stages.remote_us[apy=Fetch]: 'apy'"),
    ("read_delay.reader", "read_delay.producer-a", "x.yaml:12: expect.read_delay.producer-a: 'producer-a'"),
    ("ack_delay.producer-a", "ack_delay.reader", "x.yaml:13: expect.ack_delay.reader: 'reader'"),
    ('">= 10ms"', '">= ten"', "x.yaml:12: expect.read_delay.reader: 'ten': expected a time"),
])  # fmt: skip
def test_a_figure_that_there_is_not_is_told_with_its_line(old: str, new: str, message: str) -> None:
    with pytest.raises(ScenarioError) as error:
        parse(SCENARIO.replace(old, new, 1), "x.yaml")
    assert str(error.value).startswith(message)


def test_a_standstill_is_the_longest_time_between_two_polls_of_a_reader_or_of_its_group() -> None:
    polls = [("a", 1_000_000), ("a", 2_000_000), ("b", 3_500_000), ("a", 5_000_000), ("lone", 6_000_000), ("b", 9_900_000)]
    rows = [{"op": "poll", "kind": "ok", "process": name, "t": t} for name, t in polls]
    found = standstills_ms(rows, {"a": "g", "b": "g", "lone": ""}, 0, 8_000_000)
    assert found == {"a": 3000, "b": 4500, "g": 3000, "lone": 2000}
