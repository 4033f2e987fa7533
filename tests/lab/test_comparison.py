"""Two runs side by side: the event where they part, and the longest time without an acknowledgement."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from tests.shared_runs import run_once

from lab.experiments.comparison import Outage, compared, longest_outage, parting
from lab.experiments.directory import JOURNAL, OPERATIONS

PAST = [[1, 0, "world", "process_started", 0, {}], [2, 10, "broker-1", "log_appended", 0, {}], [2, 10, "broker-1", "hw", 0, {}]]


def run_of(path: Path, rows: list[Any], operations: list[dict[str, Any]] = []) -> Path:  # noqa: B006 (not changed)
    path.mkdir()
    (path / JOURNAL).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    (path / OPERATIONS).write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in operations))
    return path


def send(t: int, kind: str, number: int, partition: int = 0, acks: int = -1, created: int = 0) -> dict[str, Any]:
    return {"created_us": created or t, "t": t, "process": "producer", "kind": kind, "op": "send", "id": f"1-{number}", "topic": "orders",
            "partition": partition, "acks": acks}  # fmt: skip


def test_runs_part_behind_their_last_common_event_and_the_next_of_each_is_told(tmp_path: Path) -> None:
    one, other = [3, 20, "broker-1", "killed", 0, {}], [4, 30, "broker-2", "paused", 0, {}]
    found = parting(run_of(tmp_path / "a", [*PAST, one]), run_of(tmp_path / "b", [*PAST, other]))
    assert (found.seq, found.t_us, found.events, found.rows) == (2, 10, 3, (one, other))


def test_rows_of_one_number_are_one_event(tmp_path: Path) -> None:
    """Behind event 2 they differ in the middle of it: what both have ends before."""
    found = parting(run_of(tmp_path / "a", PAST), run_of(tmp_path / "b", [*PAST[:2], [2, 10, "broker-1", "other", 0, {}]]))
    assert found.seq == 1
    assert found.events == 2


def test_a_run_that_is_shorter_has_not_parted(tmp_path: Path) -> None:
    more = [3, 20, "broker-1", "killed", 0, {}]
    found = parting(run_of(tmp_path / "a", PAST), run_of(tmp_path / "b", [*PAST, more]))
    assert (found.seq, found.rows) == (2, (None, more))
    same = parting(tmp_path / "a", tmp_path / "a")
    assert (same.seq, same.events, same.rows) == (2, 3, (None, None))


def test_a_line_that_is_still_being_written_is_not_read(tmp_path: Path) -> None:
    left, right = run_of(tmp_path / "a", PAST), run_of(tmp_path / "b", PAST)
    with open(right / JOURNAL, "ab") as file:
        file.write(b'[3,20,"bro')
    assert parting(left, right).rows == (None, None)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], None),
        ([send(5, "invoke", 1, acks=0), send(5, "ok", 1, acks=0)], None),
        ([send(5, "invoke", 1), send(9, "ok", 1)], Outage("orders-0", 5, 9, True)),
        ([send(5, "invoke", 1), send(6, "invoke", 2), send(9, "ok", 1), send(20, "ok", 2)], Outage("orders-0", 9, 20, True)),
        ([send(5, "invoke", 1), send(9, "ok", 1), send(500, "invoke", 2), send(503, "ok", 2)], Outage("orders-0", 5, 9, True)),
        ([send(5, "invoke", 1), send(9, "fail", 1), send(10, "invoke", 2), send(15, "ok", 2)], Outage("orders-0", 5, 15, True)),
        ([send(5, "invoke", 1), send(9, "fail", 1)], Outage("orders-0", 5, 9, False)),
        ([send(5, "invoke", 1), send(9, "ok", 1), send(90, "invoke", 2, created=20), send(91, "ok", 2)], Outage("orders-0", 20, 91, True)),
        ([send(5, "invoke", 1), send(9, "ok", 1), send(90, "invoke", 2, created=6), send(91, "ok", 2)], Outage("orders-0", 9, 91, True)),
        ([send(5, "invoke", 1, 3), send(8, "invoke", 2), send(40, "ok", 2)], Outage("orders-3", 5, 40, False)),
    ],
    ids=["nothing sent", "acks=0", "one", "since the last ack", "nothing waits between", "refused and sent again", "refused",
         "held back", "created before the last ack", "never answered"],
)  # fmt: skip
def test_an_outage_is_the_time_in_which_records_wait_and_none_is_acknowledged(
    rows: list[dict[str, Any]], expected: Outage | None
) -> None:
    assert longest_outage(rows) == expected


def test_what_a_producer_had_sent_when_it_crashed_waits_no_longer_once_it_is_back() -> None:
    rows = [send(5, "invoke", 1), send(7, "ok", 1), send(8, "invoke", 2), send(20, "invoke", 3), send(24, "ok", 3), send(90, "invoke", 4), send(93, "ok", 4)]
    for row, name in zip(rows, ("1-1", "1-1", "1-2", "2-1", "2-1", "2-2", "2-2"), strict=True):
        row["id"] = name
    assert longest_outage(rows) == Outage("orders-0", 20, 24, True)
    for row in rows:
        row["id"] = row["id"].replace("2-", "1-1")
    assert longest_outage(rows) == Outage("orders-0", 24, 93, True), "as long as it lives it asks again"


def test_that_a_producer_is_dead_for_good_is_no_outage_of_what_it_wrote_to() -> None:
    rows = [send(5, "invoke", 1), send(9, "ok", 1), send(20, "invoke", 2), send(22, "invoke", 3, partition=3), send(400, "ok", 3, partition=3)]
    for row, process in zip(rows, ("a", "a", "a", "b", "b"), strict=True):
        row["process"] = process
    assert longest_outage(rows[:3], [(31, "a")]) == Outage("orders-0", 20, 31, False), "up to its death it waited"
    assert longest_outage(rows, [(31, "a")]) == Outage("orders-3", 22, 400, True)
    assert longest_outage(rows, [(31, "broker-1"), (410, "a")]) == Outage("orders-0", 20, 410, False), "while it lives it waits"
    assert longest_outage(rows, [(3, "a"), (20, "b")]) == Outage("orders-0", 20, 400, False), "an end before its sends is another life's"


def test_a_lesson_and_its_other_course_part_where_the_fork_begins() -> None:
    one, other = run_once("session-expiry"), run_once("session-expiry", "fork")
    assert one.passed and other.passed
    found = compared(one.directory, other.directory)
    rows = found["parting"]["rows"]
    assert [row[2] for row in rows] == ["command", "command"]
    assert [row[5]["command"]["do"] for row in rows] == ["pause", "kill"]
    assert [2_000_000 < run["outage"]["until_us"] - run["outage"]["from_us"] < 5_500_000 for run in found["runs"]] == [True, True]
