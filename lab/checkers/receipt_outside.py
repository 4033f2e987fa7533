"""The part of the receipt that outside clients have: as far as the brokers see them.

An attached client keeps to itself what its application was told; what can be seen is that a Produce request
came over a connection, which batches it appended, and whether the answer that left said NONE. So the unit is
the batch, and "acked" means: the broker sent a good answer (it may not have arrived; with acks=0 there is
none, and nothing is counted). Lost means: the last leader's log does not hold the batch any more.

| figure | from the journal |
|---|---|
| batches, records | `log_appended` as leader, caused by a request of a connection |
| acked | its `response_sent` said NONE |
| lost | acked, and not in the log of the partition's last leader |
| acked_records, lost_records | the records of these batches |

Whose copy is in a log is followed append by append: a follower's append takes what its leader has at these
offsets, `truncated` takes away. A journal that was summed up, or recorded without messages, cannot tell: then
`complete` is false.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

NOTE = "as far as the brokers see: batches that produce requests appended and whose answers left without an error"
Partition = tuple[str, int]


@dataclass(slots=True)
class _Batch:
    """One append of an outside client; `number` is its identity."""

    number: int
    partition: Partition
    base: int
    last: int
    acked: bool = False


@dataclass(slots=True)
class _State:
    """The journal read so far."""

    batches: list[_Batch] = field(default_factory=list)
    logs: dict[tuple[str, Partition], dict[int, int]] = field(default_factory=dict)
    follows: dict[tuple[str, Partition], str] = field(default_factory=dict)
    leaders: dict[Partition, str] = field(default_factory=dict)
    requests: dict[tuple[str, str, int], list[_Batch]] = field(default_factory=dict)
    served: dict[str, tuple[int, tuple[str, str, int]]] = field(default_factory=dict)
    complete: bool = True

    def log(self, node: str, partition: Partition) -> dict[int, int]:
        return self.logs.setdefault((node, partition), {})


def outside(rows: Iterable[Any]) -> dict[str, Any]:
    """The figures above, with "places", "complete" and "note", from the rows of a journal."""
    state = _State()
    for row in rows:
        read = _READ.get(row[3])
        if read is not None:
            read(state, row)
    acked = [batch for batch in state.batches if batch.acked]
    lost = [batch for batch in acked if not _is_there(state, batch)]
    return {
        "batches": len(state.batches), "records": _records(state.batches),
        "acked": len(acked), "acked_records": _records(acked), "lost": len(lost), "lost_records": _records(lost),
        "places": [{"topic": one.partition[0], "partition": one.partition[1], "offset": one.base, "last": one.last}
                   for one in lost[:1000]],
        "complete": state.complete, "note": NOTE,
    }  # fmt: skip


def _records(batches: Iterable[_Batch]) -> int:
    return sum(one.last - one.base + 1 for one in batches)


def _is_there(state: _State, batch: _Batch) -> bool:
    leader = state.leaders.get(batch.partition)
    return leader is not None and state.log(leader, batch.partition).get(batch.base) == batch.number


def _received(state: _State, row: Any) -> None:
    """Appends that follow in the same call of this node belong to the request. A connection's name is its number."""
    source = str(row[5]["source"])
    if row[5]["api"] == "Produce" and source.isdigit():
        state.served[row[2]] = (row[0], (row[2], source, row[5]["correlation"]))


def _appended(state: _State, row: Any) -> None:
    node, params = row[2], row[5]
    partition = (params["topic"], params["partition"])
    log = state.log(node, partition)
    base, last = params["base_offset"], params["last_offset"]
    if params["role"] == "leader":
        state.leaders[partition] = node
        seq, request = state.served.get(node, (-1, None))
        if request is not None and seq == row[0]:
            batch = _Batch(row[0] * 1000 + len(state.batches) % 1000, partition, base, last)
            state.batches.append(batch)
            state.requests.setdefault(request, []).append(batch)
            log[base] = batch.number
        return
    leader = state.follows.get((node, partition), "")
    held = state.log(leader, partition)
    for offset in range(base, last + 1):
        if offset in held:
            log[offset] = held[offset]


def _answered(state: _State, row: Any) -> None:
    if row[5]["api"] == "Produce":
        for batch in state.requests.pop((row[2], str(row[5]["to"]), row[5]["correlation"]), []):
            batch.acked = row[5]["error"] == "NONE"


def _truncated(state: _State, row: Any) -> None:
    partition, after = (row[5]["topic"], row[5]["partition"]), row[5]["after"]
    log = state.log(row[2], partition)
    for offset in [one for one in log if one >= after]:
        del log[offset]


def _loaded(state: _State, row: Any) -> None:
    """What a broker finds at its start; the rest was not on its disks."""
    partition, end = (row[5]["topic"], row[5]["partition"]), row[5]["end"]
    log = state.log(row[2], partition)
    for offset in [one for one in log if one >= end]:
        del log[offset]


def _led(state: _State, row: Any) -> None:
    state.leaders[(row[5]["topic"], row[5]["partition"])] = row[2]


def _followed(state: _State, row: Any) -> None:
    state.follows[(row[2], (row[5]["topic"], row[5]["partition"]))] = f"broker-{row[5]['leader']}"


def _deleted(state: _State, row: Any) -> None:
    """What goes with its topic is not lost."""
    state.batches = [one for one in state.batches if one.partition[0] != row[5]["topic"]]
    for key in [one for one in state.logs if one[1][0] == row[5]["topic"]]:
        del state.logs[key]


def _summed(state: _State, row: Any) -> None:
    if any(code in row[5]["counts"] for code in ("request_received", "response_sent", "log_appended")):
        state.complete = False


_READ = {
    "request_received": _received, "log_appended": _appended, "response_sent": _answered, "truncated": _truncated,
    "log_loaded": _loaded, "became_leader": _led, "became_follower": _followed, "topic_deleted": _deleted,
    "summed_up": _summed,
}  # fmt: skip
