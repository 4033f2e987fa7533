"""The journal holds what the record level and the budget allow, and never loses a state transition."""

from __future__ import annotations

import json

from broker_core.kernel import events
from broker_core.kernel.events import REGISTRY
from broker_core.kernel.journal import Journal, encode_row, encode_rows


def lines(journal: Journal) -> list[list[object]]:
    collected: list[bytes] = []
    journal.sink = collected.append
    return [json.loads(line) for line in b"".join(collected).splitlines()]


def test_above_the_budget_messages_are_counted_and_transitions_kept() -> None:
    journal = Journal("messages", budget=2)
    for number in range(5):
        journal.record(number, 10, "broker-1", events.HIGH_WATERMARK, 0, {"after": number})
    journal.record(6, 20, "broker-1", events.ISR_SHRUNK, 0, {})
    journal.record(7, 1_000_001, "broker-1", events.HIGH_WATERMARK, 0, {"after": 9})
    codes = [row[3] for row in journal.tail]
    assert codes == ["high_watermark", "high_watermark", "isr_shrunk", "summed_up", "high_watermark"]
    assert journal.tail[3][5] == {"counts": {"high_watermark": 3}, "second": 0}


def test_the_sink_gets_every_row_as_one_line_of_json() -> None:
    journal = Journal("details")
    collected: list[bytes] = []
    journal.sink = collected.append
    for number in range(1000):
        journal.record(number, number, "world", events.COMMAND, 0, {"command": {"do": "kill", "broker": number}})
    journal.flush()
    rows = [json.loads(line) for line in b"".join(collected).splitlines()]
    assert len(rows) == 1000
    assert rows[7] == [7, 7, "world", "command", 0, {"command": {"do": "kill", "broker": 7}}]


def test_every_code_renders_with_its_documented_parameters() -> None:
    for code in REGISTRY.values():
        assert "?" not in code.line({name: "value" for name in code.params}), code.name


def test_a_batch_of_rows_has_the_same_bytes_as_its_rows_one_by_one() -> None:
    plain = (1, 2, "broker-1", "log_appended", 0, {"topic": "orders"})
    tricky = (2, 2, "broker-1", "command", 0, {"text": "}],[", "list": [[{"a": 1}], [2]]})
    for rows in ([plain], [plain, plain], [plain, tricky, plain], [tricky]):
        assert encode_rows(rows) == b"".join(encode_row(row) + b"\n" for row in rows)
