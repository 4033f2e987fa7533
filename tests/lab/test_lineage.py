"""Which offsets are in the log that counts, by the state transitions of a journal; and the words that come of it."""

from __future__ import annotations

from typing import Any

import pytest

from lab.checkers.copies import Copies
from lab.checkers.lineage import Lineage
from lab.checkers.receipt import make_receipt
from lab.checkers.receipt_fates import Evidence

TP: dict[str, Any] = {"topic": "t", "partition": 0}
P = ("t", 0)


def row(seq: int, broker: int, code: str, **params: Any) -> list[Any]:
    return [seq, seq * 1000, f"broker-{broker}", code, 0, {**TP, **params}]


def leads(seq: int, broker: int, epoch: int, leo: int) -> list[Any]:
    return row(seq, broker, "became_leader", leader_epoch=epoch, leo=leo)


def follows(seq: int, broker: int, leader: int, epoch: int, leo: int) -> list[Any]:
    return row(seq, broker, "became_follower", leader=leader, leader_epoch=epoch, leo=leo)


def loaded(seq: int, broker: int, end: int, start: int = 0) -> list[Any]:
    return row(seq, broker, "log_loaded", start=start, end=end, clean=False)


def cut(seq: int, broker: int, before: int, after: int) -> list[Any]:
    return row(seq, broker, "truncated", before=before, after=after, reason="leader epoch")


BEGIN = [leads(1, 1, 0, 0), follows(1, 2, 1, 0, 0)]
FAILED_OVER = [*BEGIN, leads(20, 2, 1, 40)]
CASES: dict[str, tuple[list[list[Any]], list[tuple[int, int, int, str]]]] = {
    "what the next leader has is there, the rest is cut": (FAILED_OVER, [(10, 1, 39, "there"), (10, 1, 40, "cut"), (30, 2, 40, "there")]),
    "what a zombie acknowledges after its successor began is cut": (FAILED_OVER, [(30, 1, 41, "cut"), (30, 1, 12, "there")]),
    "an old batch that the new leader acknowledges once more was written by the old one": (FAILED_OVER, [(30, 2, 39, "there")]),
    "an old leader that comes back uncut and leads brings its own records back": (
        [*FAILED_OVER, loaded(30, 1, 60), leads(31, 1, 2, 60)], [(10, 1, 50, "there"), (25, 2, 45, "cut"), (40, 1, 60, "there")]),
    "one that was cut before it leads again does not": (
        [*FAILED_OVER, loaded(30, 1, 60), follows(31, 1, 2, 1, 60), cut(32, 1, 60, 40), leads(50, 1, 2, 55)],
        [(10, 1, 50, "cut"), (25, 2, 45, "there"), (25, 2, 55, "cut"), (60, 1, 55, "there")]),
    "what the power takes from the last leader is cut when it has loaded its disk": ([*BEGIN, loaded(20, 1, 30)], [(10, 1, 29, "there"), (10, 1, 30, "cut")]),
    "what one that leads on in the same epoch writes after a power loss is not what it lost": (
        [*BEGIN, loaded(20, 1, 30), leads(21, 1, 0, 30)], [(10, 1, 29, "there"), (10, 1, 30, "cut"), (40, 1, 30, "there")]),
    "who is told once more to lead goes on": ([*BEGIN, leads(21, 1, 0, 30)], [(10, 1, 45, "there"), (40, 1, 45, "there")]),
    "until then nobody knows better": (BEGIN, [(10, 1, 30, "there")]),
    "below the log start it was removed": ([*BEGIN, row(9, 1, "log_start_moved", offset=20, reason="retention")], [(5, 1, 19, "removed"), (5, 1, 20, "there")]),
    "what the topic had is removed with it, and the next topic of its name begins anew": (
        [*BEGIN, [30, 0, "broker-1", "topic_deleted", 0, {"topic": "t"}], leads(40, 1, 0, 0)], [(10, 1, 5, "removed"), (50, 1, 5, "there")]),
    "what lay on the disks before is there": ([loaded(1, 1, 100), loaded(1, 2, 100), leads(2, 1, 7, 100), leads(9, 2, 8, 90)], [(5, 1, 89, "there"), (5, 1, 95, "cut")]),
    "a damaged row says nothing": ([*BEGIN, [7, 0, "broker-2", "became_leader", 0, dict(TP)]], [(10, 1, 60, "there")]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_place_stands_or_not(name: str) -> None:
    rows, wanted = CASES[name]
    lineage = Lineage()
    for one in rows:
        lineage.take(one)
    for seq, broker, offset, stand in wanted:
        written = lineage.written(P, offset, seq, f"broker-{broker}")
        assert written is not None and lineage.stand(P, offset, written) == stand, (seq, broker, offset)


def test_of_a_partition_that_nobody_has_led_nothing_is_known() -> None:
    assert Lineage().written(P, 0, 1) is None


# -- the words --------------------------------------------------------------------------------
def sent(seq: int, broker: int, first: int, count: int, offset: int, **more: Any) -> dict[str, Any]:
    return {"kind": "ok", "op": "send", "process": "producer-a", "label": "producer-a", **TP, "seq": seq, "broker": f"broker-{broker}",
            "values": [[first, count]], "offset": offset, **more}  # fmt: skip


def polled(seq: int, offset: int, number: int, count: int) -> dict[str, Any]:
    return {"kind": "ok", "op": "poll", "process": "c", **TP, "seq": seq, "runs": [[offset, "producer-a", number, count]]}


def told(rows: list[list[Any]], operations: list[dict[str, Any]], **known: Any) -> dict[str, Any]:
    evidence = Evidence(Lineage(), **known)
    for one in rows:
        evidence.lineage.take(one)
    receipt = make_receipt(operations, evidence).to_dict()
    return {name: receipt[name] for name in ("lost", "unread", "at_risk", "duplicated", "removed")}


ACKED = sent(10, 1, 0, 60, 0)


def copies(*ends: int, damaged: list[list[int]] | None = None) -> Copies:
    """Of brokers 1, 2, ... in epoch 0; the first one's are damaged."""
    brokers = {str(broker): {"start": 0, "end": end, "epochs": [[0, 0]], "damaged": (damaged or []) if broker == 1 else []}
               for broker, end in enumerate(ends, 1)}  # fmt: skip
    return Copies([{**TP, "promised": len(ends), "brokers": brokers}])


def test_a_reader_that_begins_behind_records_leaves_them_unread_not_lost() -> None:
    assert told(BEGIN, [ACKED, polled(12, 50, 50, 10)]) == {"lost": 0, "unread": 50, "at_risk": None, "duplicated": 0, "removed": 0}


def test_what_was_read_and_then_cut_off_is_lost() -> None:
    found = told(FAILED_OVER, [ACKED, polled(12, 0, 0, 60)])
    assert (found["lost"], found["unread"]) == (20, 0)
    late = told(FAILED_OVER, [ACKED, polled(25, 0, 0, 60)])  # from the old leader, which did not know yet that it was one
    assert (late["lost"], late["unread"]) == (20, 0)


def test_a_value_with_another_place_that_is_there_is_not_lost() -> None:
    again = [ACKED, sent(30, 2, 100, 1, 40), polled(31, 41, 55, 1)]
    found = told(FAILED_OVER, again)
    assert (found["lost"], found["duplicated"]) == (19, 1)


def test_what_a_rule_has_taken_away_unread_is_removed_and_what_was_read_before_is_read() -> None:
    rows = [*BEGIN, row(30, 1, "log_start_moved", offset=20, reason="retention")]
    assert told(rows, [ACKED, polled(12, 0, 0, 5)]) == {"lost": 0, "unread": 40, "at_risk": None, "duplicated": 0, "removed": 15}


def test_a_record_on_fewer_disks_than_the_topic_has_replicas_is_at_risk() -> None:
    assert told(BEGIN, [ACKED], copies=copies(60, 60, 45))["at_risk"] == 15
    assert told(BEGIN, [ACKED], copies=copies(60, 60, 60))["at_risk"] == 0
    assert told(BEGIN, [ACKED], copies=copies(60, 60, 60, damaged=[[20, 22]]))["at_risk"] == 2


def test_a_bit_that_is_flipped_on_one_disk_loses_nothing_and_on_the_only_one_it_does() -> None:
    read = [ACKED, polled(40, 0, 0, 20), polled(41, 21, 21, 39)]
    three = told(BEGIN, read, copies=copies(60, 60, 60, damaged=[[20, 21]]), read_back=True)
    assert (three["lost"], three["unread"], three["at_risk"]) == (0, 1, 1)
    one = told(BEGIN, read, copies=copies(60, damaged=[[20, 21]]), read_back=True)
    assert (one["lost"], one["unread"], one["at_risk"]) == (1, 0, 0)


def test_what_is_not_in_a_log_that_was_read_to_its_end_is_lost_whatever_the_journal_says() -> None:
    assert told(BEGIN, [ACKED, polled(40, 0, 0, 59)], read_back=True)["lost"] == 1


def test_with_acks_0_a_record_is_lost_when_a_later_one_of_its_producer_was_read() -> None:
    rows = [{**sent(10, 1, 0, 10, -1), "acks": 0}, polled(20, 0, 0, 3), polled(21, 3, 5, 1)]
    assert (told(BEGIN, rows)["lost"], told(BEGIN, rows)["unread"]) == (2, 4)
    assert told(BEGIN, rows, read_back=True)["lost"] == 6
