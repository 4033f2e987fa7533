"""Transactions are settled, judged and forgotten while others are open, and nothing is told otherwise than at the end."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import pytest

from lab.analytics.owed import owed
from lab.checkers.dependencies import Dependencies

Row = dict[str, Any]


def history(seed: int, steps: int) -> Iterator[Row]:
    """Processes that write to two partitions in transactions, one between the other's, read what stands anywhere, and die."""
    random = Random(seed)
    ends, counts, numbers = [0, 0], dict.fromkeys("abcd", 0), dict.fromkeys("abcd", 0)
    busy: dict[str, list[Row]] = {}
    for _ in range(steps):
        process = random.choice("abcd")
        if process not in busy:
            if len(busy) < random.choice((1, 2, 4)):
                busy[process] = []
                counts[process] += 1
                yield {"op": "transaction", "kind": "invoke", "process": process, "id": f"{process}/{counts[process]}"}
        elif random.random() < 0.6:
            partition, count = random.randrange(2), random.randint(1, 3)
            row = {"op": "send", "kind": "ok", "process": process, "transaction": f"{process}/{counts[process]}", "topic": "orders",
                   "partition": partition, "offset": ends[partition], "values": [[numbers[process], count]]}  # fmt: skip
            source = random.randrange(2)
            if ends[source] and random.random() < 0.3:
                runs = [[random.randrange(ends[source]), process, numbers[process], 1]]
                yield {"op": "transform", "kind": "info", "process": process, "topic": "orders", "partition": source, "runs": runs}
            ends[partition] += count + random.randrange(2)
            numbers[process] += count
            busy[process].append(row)
        else:
            outcome = random.choice(("ok", "ok", "ok", "fail", "info"))
            for row in busy.pop(process):
                yield {**row, "kind": outcome}
            yield {"op": "transaction", "kind": outcome, "process": process, "id": f"{process}/{counts[process]}"}


def told(rows: list[Row]) -> list[tuple[Any, ...]]:
    """In the other way of finding them."""
    found = owed((row["process"], row["kind"], row["op"], row) for row in rows)
    return sorted((one.kind, one.transaction, one.topic, one.partition, one.offset, one.cycle or "") for one in found)


@pytest.mark.parametrize("seed", range(60))
def test_what_is_settled_early_is_what_all_at_once_would_tell(seed: int) -> None:
    rows, dependencies = list(history(seed, 200)), Dependencies(step=1)
    for number, row in enumerate(rows):
        dependencies.take(row)
        if number % 50 == 0 or number == len(rows) - 1:
            found = dependencies.found().listed
            assert sorted((one.kind, one.transaction, *one.partition, one.offset, one.cycle) for one in found) == told(rows[: number + 1])


def committed(process: str, number: int, offset: int) -> list[Row]:
    head = {"process": process, "op": "transaction", "id": f"{process}/{number}"}
    send = {"op": "send", "kind": "ok", "process": process, "transaction": head["id"], "topic": "orders", "partition": 0,
            "offset": offset, "values": [[number, 1]]}  # fmt: skip
    return [{**head, "kind": "invoke"}, send, {**head, "kind": "ok"}]


def test_what_is_kept_is_what_is_open_and_not_what_has_been() -> None:
    """One of two is always open, for an hour; and one has died in its transaction."""
    dependencies, most = Dependencies(), 0
    dependencies.take({"process": "dead", "op": "transaction", "kind": "invoke", "id": "dead/1"})
    dependencies.take({"process": "dead", "op": "transaction", "kind": "info", "id": "dead/1"})
    before: list[Row] = []
    for number in range(40_000):
        begin, *rest = committed("ab"[number % 2], number, 2 * number)
        for row in [begin, *before]:
            dependencies.take(row)
        before = rest
        most = max(most, dependencies.size)
    assert 0 < most < 3_000
    assert dependencies.found().counts == {"write_cycle": 0, "read_cycle": 0, "precommitted_read": 0}
