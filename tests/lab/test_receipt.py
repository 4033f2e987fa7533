"""The receipt on histories made by hand, one anomaly at a time."""

from __future__ import annotations

from typing import Any

import pytest

from lab.checkers.receipt import Receipt, make_receipt
from tests.lab.receipt_histories import HISTORIES, PLACES


def _sent(
    kind: str, first: int, count: int, offset: int = -1, label: str = "producer-a", **more: Any
) -> dict[str, Any]:
    row = {"kind": kind, "op": "send", "process": label, "label": label, "topic": "t", "partition": 0,
           "values": [[first, count]], **more}
    return {**row, "offset": offset} if kind == "ok" else row


def _polled(*runs: list[Any], partition: int = 0) -> dict[str, Any]:
    return {"kind": "ok", "op": "poll", "process": "checker", "topic": "t", "partition": partition, "runs": list(runs)}


def _figures(receipt: Receipt) -> tuple[int | None, ...]:
    told = receipt.total.to_dict()
    return tuple(told[name] for name in ("acked", "read", "lost", "unread", "duplicated", "reordered"))


def test_what_was_acked_and_read_once_is_in_order() -> None:
    receipt = make_receipt([_sent("ok", 0, 3, 0), _sent("ok", 3, 2, 3), _polled([0, "producer-a", 0, 5])])
    assert _figures(receipt) == (5, 5, 0, 0, 0, 0)
    assert receipt.inconsistent == receipt.unknown == receipt.failed_read == 0


def test_of_a_history_alone_what_readers_have_passed_is_lost_and_what_lies_above_is_unread() -> None:
    read = _polled([0, "producer-a", 0, 2], [2, "producer-b", 0, 1])
    receipt = make_receipt([_sent("ok", 0, 4, 0), _sent("ok", 0, 1, 2, "producer-b"), read])
    assert _figures(receipt) == (5, 3, 1, 1, 0, 0)
    assert [(p["number"], p["offset"], p["test"]) for p in receipt.places["lost"]] == [(2, 2, "passed")]
    told = receipt.to_dict()["producers"]
    assert {name: (one["lost"], one["unread"]) for name, one in told.items()} == {"producer-a": (1, 1), "producer-b": (0, 0)}


def test_another_value_at_the_offset_of_an_acked_one_is_inconsistent() -> None:
    receipt = make_receipt([_sent("ok", 0, 1, 0), _sent("ok", 0, 1, 0, "producer-b"), _polled([0, "producer-b", 0, 1])])
    assert receipt.inconsistent == 1 and receipt.total.lost == 1


def test_one_value_at_two_offsets_is_a_duplicate_and_not_a_reordering() -> None:
    receipt = make_receipt([_sent("ok", 0, 2, 0), _polled([0, "producer-a", 0, 2], [2, "producer-a", 0, 2])])
    assert _figures(receipt) == (2, 2, 0, 0, 2, 0)


def test_a_value_behind_a_later_one_of_the_same_producer_is_reordered() -> None:
    receipt = make_receipt([_sent("ok", 1, 1, 0), _sent("ok", 0, 1, 1),
                            _polled([0, "producer-a", 1, 1], [1, "producer-a", 0, 1])])
    assert _figures(receipt) == (2, 2, 0, 0, 0, 1)
    assert receipt.places["reordered"][0]["behind"] == 1


def test_the_order_between_partitions_and_producers_does_not_matter() -> None:
    rows = [_polled([0, "producer-a", 5, 1], [1, "producer-b", 0, 1]), _polled([0, "producer-a", 4, 1], partition=1)]
    assert make_receipt(rows).total.reordered == 0


def test_reading_twice_the_same_offset_is_no_duplicate() -> None:
    receipt = make_receipt([_sent("ok", 0, 1, 0), _polled([0, "producer-a", 0, 1]), _polled([0, "producer-a", 0, 1])])
    assert _figures(receipt) == (1, 1, 0, 0, 0, 0)


def test_a_failed_write_that_is_read_and_an_unknown_one_are_told_apart() -> None:
    receipt = make_receipt([_sent("fail", 0, 1), _sent("info", 1, 2), _polled([0, "producer-a", 0, 2])])
    assert (receipt.failed_read, receipt.unknown, receipt.unknown_read, receipt.total.lost) == (1, 2, 1, 0)


def test_with_acks_0_the_producers_word_counts_though_it_knows_no_offset() -> None:
    receipt = make_receipt([_sent("ok", 0, 3, -1, acks=0), _polled([0, "producer-a", 0, 1])])
    assert _figures(receipt) == (3, 1, 0, 2, 0, 0)


def test_a_producer_that_was_started_again_is_still_the_same_producer() -> None:
    rows = [_sent("ok", 0, 1, 0), _sent("ok", 0, 1, 1, "producer-a~2"), _polled([0, "producer-a", 0, 1])]
    assert make_receipt(rows).producers["producer-a"].to_dict() == {
        "acked": 2, "read": 1, "lost": 0, "unread": 1, "at_risk": None, "duplicated": 0, "reordered": 0, "removed": 0}


def test_the_same_text_by_hand_twice_is_two_records() -> None:
    by_hand = {"kind": "ok", "op": "send", "process": "operator", "topic": "t", "partition": 0, "values": []}
    rows = [{**by_hand, "texts": ["hello"], "offset": 0}, {**by_hand, "texts": ["hello"], "offset": 1}]
    both = make_receipt([*rows, _polled([0, None, "hello", 1], [1, None, "hello", 1])])
    assert _figures(both) == (2, 2, 0, 0, 0, 0)
    assert make_receipt([*rows, _polled([0, None, "hello", 1])]).total.unread == 1


@pytest.mark.parametrize("name", HISTORIES)
def test_the_figures_of_a_small_history(name: str) -> None:
    rows, wanted = HISTORIES[name]
    told = make_receipt(rows).to_dict()
    assert {figure: n for figure, n in told.items() if isinstance(n, int) and n} == wanted


@pytest.mark.parametrize("name", PLACES)
def test_the_places_of_a_small_history(name: str) -> None:
    kind, wanted = PLACES[name]
    found = make_receipt(HISTORIES[name][0]).places[kind]
    assert [{key: place[key] for key in row} for place, row in zip(found, wanted, strict=True)] == wanted
