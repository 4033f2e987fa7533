"""Small histories, one anomaly each, with the figures of the receipt that are not zero. Both engines judge them."""

from __future__ import annotations

from typing import Any

Row = dict[str, Any]


def sent(kind: str, first: int, count: int, offset: int = -1, who: str = "producer-a", texts: tuple[str, ...] = ()) -> Row:
    """The fate of a batch of `who`; with `texts` instead of numbers, of what somebody wrote by hand."""
    row = {"kind": kind, "op": "send", "process": who.split("~")[0], "label": who, "topic": "t", "partition": 0,
           "values": [] if texts else [[first, count]]} | ({"texts": list(texts)} if texts else {})
    return {**row, "offset": offset} if kind == "ok" else row


def wrote(kind: str, text: str, offset: int = -1) -> Row:
    """The fate of a text."""
    return sent(kind, 0, 0, offset, "operator", (text,))


def polled(*runs: list[Any], who: str = "checker", partition: int = 0) -> Row:
    """What one poll returned of one partition."""
    return {"kind": "ok", "op": "poll", "process": who, "topic": "t", "partition": partition, "runs": list(runs)}


def begun(rows: list[Row]) -> list[Row]:
    """The history with the first attempts of those producers whose values are read in it, and nothing else is told."""
    known = {row["label"] for row in rows if row["op"] == "send"}
    read = {run[1]: None for row in rows if row["op"] == "poll" for run in row["runs"] if run[1] is not None}
    return [*(sent("invoke", 0, 1, who=label) for label in read if label not in known), *rows]


def assigned(who: str) -> Row:
    """A rebalance gave `who` its partition."""
    return {"kind": "info", "op": "assign", "process": who, "partitions": [["t", 0]]}


def transaction(kind: str, who: str) -> Row:
    """It begins (invoke), or has ended."""
    return {"kind": kind, "op": "transaction", "process": who, "id": f"{who}/1"}


def inside(who: str, first: int, offset: int, partition: int = 0) -> Row:
    """A record that was committed with a transaction of `who`."""
    return {**sent("ok", first, 1, offset, who), "partition": partition, "transaction": f"{who}/1"}


def transformed(who: str, *runs: list[Any]) -> Row:
    """What a processor makes of records of the first partition."""
    return {"kind": "info", "op": "transform", "process": who, "topic": "t", "partition": 0, "runs": list(runs)}


A, B, P = "producer-a", "producer-b", "processor-p"
OPEN = [transaction("invoke", who) for who in (A, B, P)]
OVER = [transaction("ok", who) for who in (A, B, P)]


def a(offset: int, number: int, count: int = 1) -> list[Any]:
    """Values of producer-a that were read."""
    return [offset, "producer-a", number, count]


def b(offset: int, number: int, count: int = 1) -> list[Any]:
    """Values of producer-b that were read."""
    return [offset, "producer-b", number, count]


ALL = sent("ok", 0, 10, 0)
_TOLD: dict[str, tuple[list[Row], dict[str, int]]] = {
    "a value behind which another one was read is lost, at the end it is unread": (
        [sent("ok", 0, 4, 0), sent("ok", 0, 1, 2, "producer-b"), polled(a(0, 0, 2), b(2, 0))],
        {"acked": 5, "read": 3, "lost": 1, "unread": 1, "inconsistent": 1}),
    "the bound is the first index of what was read, not that of its second copy": (
        [sent("ok", 0, 2, 0), sent("ok", 0, 1, 2, "producer-b"), polled(a(0, 0, 2), a(3, 1))],
        {"acked": 3, "read": 2, "unread": 1, "duplicated": 1, "stale": 1, "int_poll_skip": 1}),
    "a copy in the middle does not lower the bound that a later value sets": (
        [sent("ok", 0, 2, 0), sent("ok", 0, 1, 2, "producer-b"), sent("ok", 2, 1, 4), polled(a(0, 0, 2), a(3, 1), a(4, 2))],
        {"acked": 4, "read": 3, "lost": 1, "duplicated": 1, "stale": 1, "int_poll_skip": 1}),
    "an acknowledgement at a lower offset lowers the first index of a value": (
        [sent("ok", 0, 1, 0), sent("ok", 0, 1, 3, "producer-b"), polled(a(5, 0))],
        {"acked": 2, "read": 1, "unread": 1, "duplicated": 1}),
    "a value acknowledged at one offset and read at another one is a duplicate": (
        [sent("ok", 0, 1, 0), polled(a(5, 0))], {"acked": 1, "read": 1, "duplicated": 1}),
    "a value acknowledged twice, and never read, is judged by its last index": (
        [sent("ok", 0, 1, 0), sent("ok", 0, 1, 3), sent("ok", 0, 1, 2, "producer-b"), polled(b(2, 0))],
        {"acked": 2, "read": 1, "unread": 1, "duplicated": 1}),
    "of three copies two are too many, in whatever partition": (
        [polled(a(0, 0), a(3, 0)), polled(a(1, 0), partition=1)], {"read": 1, "duplicated": 2}),
    "two reads of one offset that disagree are inconsistent, and both values were read": (
        [sent("ok", 0, 1, 0), sent("ok", 0, 1, 0, "producer-b"), polled(a(0, 0)), polled(b(0, 0), who="other")],
        {"acked": 2, "read": 2, "inconsistent": 1}),
    "the same disagreement seen three times counts once": (
        [polled(a(0, 0)), polled(b(0, 0), who="c1"), polled(b(0, 0), who="c2"), polled(a(0, 0), who="c3")],
        {"read": 2, "inconsistent": 1}),
    "one offset acknowledged for two values is inconsistent though nobody read it": (
        [sent("ok", 0, 1, 7), sent("ok", 0, 1, 7, "producer-b")], {"acked": 2, "unread": 2, "inconsistent": 1}),
    "another text where one was acknowledged is inconsistent": (
        [wrote("ok", "hello", 0), wrote("info", "good bye"), polled([0, None, "good bye", 1])],
        {"acked": 1, "read": 1, "lost": 1, "inconsistent": 1, "unknown": 1, "unknown_read": 1}),
    "of a text sent twice the copy that was acknowledged is the one that was read": (
        [wrote("info", "hello"), wrote("ok", "hello", 0), polled([0, None, "hello", 1])],
        {"acked": 1, "read": 1, "unknown": 1}),
    "a long text is as long as polls tell it": (
        [wrote("ok", "x" * 300, 0), polled([0, None, "x" * 200, 1])], {"acked": 1, "read": 1}),
    "a poll that begins further on skips": (
        [ALL, polled(a(0, 0, 3)), polled(a(5, 5, 5)), polled(a(0, 0, 10), who="other")],
        {"acked": 10, "read": 10, "stale": 1, "poll_skip": 1}),
    "a poll that begins where the last one ended, or before, goes back": (
        [ALL, polled(a(0, 0, 3)), polled(a(2, 2, 1)), polled(a(0, 0, 10))],
        {"acked": 10, "read": 10, "stale": 2, "nonmonotonic_poll": 2}),
    "steps inside one poll have names of their own": (
        [ALL, polled(a(0, 0, 3), a(5, 5), a(4, 4)), polled(a(5, 5, 5)), polled(a(0, 0, 10), who="other")],
        {"acked": 10, "read": 10, "stale": 2, "int_poll_skip": 1, "int_nonmonotonic_poll": 1}),
    "a gap that nobody knows a value of is no skip": (
        [polled(a(0, 0, 3)), polled(a(5, 3, 2), a(9, 5))], {"read": 6}),
    "a gap in which an acknowledged value should stand is a skip": (
        [sent("ok", 9, 1, 4), polled(a(0, 0, 3)), polled(a(5, 3, 2))],
        {"acked": 1, "read": 5, "lost": 1, "stale": 1, "poll_skip": 1}),
    "an index that only another consumer read counts": (
        [polled(a(0, 0), a(3, 1)), polled(b(1, 0), who="other")], {"read": 3, "stale": 1, "int_poll_skip": 1}),
    "over a rebalance there is no step": (
        [ALL, polled(a(0, 0, 5), who="c"), assigned("c"), polled(a(2, 2, 3), who="c"), polled(a(0, 0, 10))],
        {"acked": 10, "read": 10}),
    "the rebalance of another consumer does not matter, nor another consumer's place": (
        [ALL, polled(a(0, 0, 5), who="c"), assigned("d"), polled(a(0, 0, 10), who="d"), polled(a(2, 2, 3), who="c")],
        {"acked": 10, "read": 10, "stale": 1, "nonmonotonic_poll": 1}),
    "an acknowledgement below the one before goes down, for the same producer only": (
        [sent("ok", 0, 2, 4), sent("ok", 0, 1, 1, "producer-b"), sent("ok", 2, 1, 3), sent("ok", 3, 2, 4),
         polled(b(1, 0), a(3, 2, 3))],
        {"acked": 6, "read": 4, "lost": 2, "inconsistent": 2, "nonmonotonic_send": 1}),
    "the same offset once more does not go down": (
        [sent("ok", 0, 1, 4), sent("ok", 1, 1, 4), polled(a(4, 1))],
        {"acked": 2, "read": 1, "lost": 1, "inconsistent": 1}),
    "a producer that was started again goes on where it was": (
        [sent("ok", 0, 1, 4), sent("ok", 0, 1, 2, "producer-a~2"), polled([2, "producer-a~2", 0, 1], a(4, 0))],
        {"acked": 2, "read": 2, "nonmonotonic_send": 1}),
    "an answer that came late and a retry that was overtaken are no fall, but a wrong order": (
        [sent("ok", 1, 1, 0), sent("ok", 0, 1, 1), polled(a(0, 1), a(1, 0))], {"acked": 2, "read": 2, "reordered": 1}),
    "a value of a failed write was read by two, at two places": (
        [polled(a(0, 0), a(1, 1), a(2, 0)), polled(a(0, 0), who="other"), sent("fail", 0, 1), sent("ok", 1, 1, 1)],
        {"acked": 1, "read": 2, "duplicated": 1, "failed_read": 1}),
    "what was aborted with its transaction was promised to nobody, whoever has read it": (
        [polled(a(0, 0), who="c"), {**sent("fail", 0, 2), "transaction": "t/1", "error": "ABORTED"},
         {**sent("ok", 2, 2, 3), "transaction": "t/2"}, {**sent("fail", 4, 1), "transaction": "t/3", "error": "TIMEOUT"}],
        {"acked": 2, "read": 1, "unread": 2, "aborted": 2, "aborted_read": 1}),
    "a value of a transaction's failed write names the transaction": (
        [polled(a(0, 0), who="c"), {**sent("fail", 0, 1), "transaction": "t/3", "error": "TIMEOUT"}], {"read": 1, "failed_read": 1}),
    "who reads only what was committed jumps over what was aborted, and that is no step": (
        [polled(a(0, 0), a(1, 1), a(2, 2), a(4, 3), who="c"), polled(a(0, 0), a(4, 3), who="committed"),
         polled(a(4, 3), a(6, 5), who="other"), sent("ok", 0, 1, 0), sent("ok", 3, 1, 4), sent("ok", 4, 2, 5),
         {**sent("fail", 1, 2), "transaction": "t/1", "error": "ABORTED"}],
        {"acked": 4, "read": 5, "lost": 1, "aborted": 2, "aborted_read": 2, "stale": 1, "int_poll_skip": 1}),
    "what the final read-back alone has found of what was aborted, no reader got": (
        [{**sent("invoke", 0, 5), "transaction": "t/1"}, polled(a(0, 0), who="c"), polled(a(0, 0, 5)), polled(a(3, 3), who="late"),
         {**sent("fail", 0, 5), "transaction": "t/1", "error": "ABORTED"}, polled(a(4, 4), who="last"), polled(a(4, 4))],
        {"aborted": 5, "aborted_read": 3, "read": 5}),
    "who reads only what was committed jumps over what nobody told the end of, and that is no step": (
        [sent("ok", 0, 1, 0), {**sent("invoke", 1, 2), "transaction": "t/1"}, {**sent("invoke", 3, 1), "transaction": "t/2"},
         polled(a(0, 0), a(1, 1), a(2, 2), a(4, 3)), polled(a(0, 0), a(4, 3), who="committed"),
         {**sent("ok", 3, 1, 4), "transaction": "t/2"}],
        {"acked": 2, "read": 4}),
    "an unknown write that was read belongs to the version order": (
        [sent("info", 3, 2), sent("ok", 0, 3, 0), polled(a(0, 0, 3)), polled(a(4, 4)), polled(a(3, 3), who="other")],
        {"acked": 3, "read": 5, "unknown": 2, "unknown_read": 2, "stale": 1, "poll_skip": 1}),
}  # fmt: skip
_TOLD |= {
    "two transactions that stand in one partition one way, in another the other way, are a cycle of writes": (
        [*OPEN, inside(A, 0, 0), inside(A, 1, 1, 1), inside(B, 0, 1), inside(B, 1, 0, 1), inside(P, 0, 2), *OVER],
        {"acked": 5, "unread": 5, "write_cycle": 2}),
    "a third one may close the circle": (
        [*OPEN, inside(A, 0, 0), inside(B, 0, 1), inside(B, 1, 0, 1), inside(P, 0, 1, 1), inside(P, 1, 0, 2), inside(A, 1, 1, 2), *OVER],
        {"acked": 6, "unread": 6, "write_cycle": 3}),
    "what came of a read stands before the rest of what was read": (
        [*OPEN, inside(A, 0, 0), inside(A, 1, 1, 1), transformed(P, [0, P, 0, 1]), inside(P, 0, 0, 1), inside(B, 0, 1), *OVER],
        {"acked": 4, "unread": 4, "read_cycle": 2}),
    "a transaction reads what it wrote itself": (
        [*OPEN, transformed(P, [0, P, 0, 1], [2, P, 1, 1]), inside(P, 0, 2), inside(P, 1, 3), inside(B, 0, 0), *OVER],
        {"acked": 3, "unread": 3, "precommitted_read": 1}),
    "batches of two transactions that lie between one another are a cycle of writes": (
        [*OPEN, inside(A, 0, 0), inside(B, 0, 1), inside(A, 1, 2), *OVER], {"acked": 3, "unread": 3, "write_cycle": 2}),
    "what was over before is in no cycle with what came later, though offsets were given again": (
        [transaction("invoke", A), inside(A, 0, 1), inside(A, 1, 0, 1), transaction("ok", A),
         transaction("invoke", B), inside(B, 0, 0), inside(B, 1, 1, 1), transaction("ok", B)],
        {"acked": 4, "unread": 4}),
    "what is told of no transaction owes nothing": (
        [*OPEN, inside(A, 0, 0), inside(A, 1, 1, 1), sent("ok", 0, 1, 1, B), {**sent("ok", 1, 1, 0, B), "partition": 1}, *OVER],
        {"acked": 4, "unread": 4}),
    "what was written before this run, and by others, can be read, but is none of its values": (
        [sent("ok", 0, 2, 8), wrote("ok", "mine", 10), polled(a(8, 0, 2), [10, None, "mine", 1]),
         polled([0, "producer-old", 0, 3], [3, "producer-old", 0, 3], [6, None, "theirs", 1], [7, None, "theirs", 1], who="other")],
        {"acked": 3, "read": 3}),
    "what a producer of the same name wrote in an earlier life of the lab is no value of this run": (
        [sent("ok", 0, 2, 2, "producer-a~2.1"), polled(a(0, 0, 2), [2, "producer-a~2.1", 0, 2])], {"acked": 2, "read": 2}),
}
HISTORIES = {name: (rows if "this run" in name else begun(rows), wanted) for name, (rows, wanted) in _TOLD.items()}

PLACES: dict[str, tuple[str, list[dict[str, Any]]]] = {
    "two transactions that stand in one partition one way, in another the other way, are a cycle of writes": ("write_cycle", [
        {"offset": 0, "transaction": "producer-a/1", "cycle": "producer-a/1"}, {"offset": 1, "transaction": "producer-b/1", "cycle": "producer-a/1"}]),
    "a transaction reads what it wrote itself": ("precommitted_read", [{"offset": 2, "transaction": "processor-p/1"}]),
    "steps inside one poll have names of their own": ("stale", [
        {"offset": 5, "reader": "checker", "last_read": 2, "step": 3, "test": "int-poll-skip"},
        {"offset": 4, "reader": "checker", "last_read": 5, "step": -1, "test": "int-nonmonotonic-poll"}]),
    "an acknowledgement below the one before goes down, for the same producer only": ("nonmonotonic_send", [
        {"offset": 3, "process": "producer-a", "last_acked": 5}]),
    "a value of a failed write was read by two, at two places": ("failed_read", [
        {"offset": 0, "reader": "checker"}, {"offset": 0, "reader": "other"}, {"offset": 2, "reader": "checker"}]),
    "a value of a transaction's failed write names the transaction": ("failed_read", [{"offset": 0, "reader": "c", "transaction": "t/3"}]),
    "what was aborted with its transaction was promised to nobody, whoever has read it": ("aborted_read", [{"offset": 0, "transaction": "t/1"}]),
}  # fmt: skip
