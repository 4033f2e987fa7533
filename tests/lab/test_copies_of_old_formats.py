"""What is told of copies whose messages have no leader epochs."""

from __future__ import annotations

from lab.checkers.copies import Copies


def test_messages_without_an_epoch_are_whole_where_they_are_and_later_batches_where_their_epoch_is() -> None:
    told = {"topic": "orders", "partition": 0, "promised": 3, "brokers": {
        "1": {"start": 0, "end": 20, "epochs": [[3, 10]], "damaged": []},
        "2": {"start": 0, "end": 20, "epochs": [[4, 10]], "damaged": [[0, 3]]},
        "3": {"start": 0, "end": 5, "epochs": [], "damaged": []},
    }}  # fmt: skip
    copies = Copies([told])
    assert [copies.whole(("orders", 0), offset, 3) for offset in (1, 4, 6, 12)] == [2, 3, 2, 1]
