"""The history of what clients did: what checkers judge, as rows of the world's operation log.

One row stands for one batch. Values of the built-in producers are running numbers (`producer-1:17` is the
18th record of `producer-1`), so a batch names its values as runs [first, count]:

```
{"kind": "invoke", "op": "send", "id": "1-5", "topic": "orders", "partition": 0, "acks": -1, "values": [[17, 3]], ...}
{"kind": "ok",     "op": "send", "id": "1-5", ..., "offset": 1200, "broker": "broker-1"}      17 at 1200, 18 at 1201
{"kind": "ok",     "op": "poll", "topic": "orders", "partition": 0, "runs": [[1200, "producer-1", 17, 3]]}
```
`fail`: certainly not written. `info`: nobody knows. With acks=0 the producer's word "ok" is given when
the request has left, and has no offset (-1). Values that people wrote by hand stand in `texts`, in
polls as [offset, null, text, 1].

In a transaction a record is promised when the transaction is committed, not before: its `ok` comes then, with the
offset that the leader told. Of one that is aborted it is a `fail` with the error ABORTED, and `info` when the producer
never heard whether it was committed. `transaction` names it in these rows, and in those of the transaction itself:

```
{"kind": "invoke", "op": "transaction", "id": "producer-1/1-7", "transactional_id": "billing"}
{"kind": "ok",     "op": "transaction", "id": "producer-1/1-7", ...}      fail: aborted; info: nobody knows
```
The last also when its process has died in it: then nothing is told of its records.

A processor writes a record for each that it reads. Which one for which is said before it does, in runs as in polls:

```
{"kind": "info", "op": "transform", "topic": "orders", "partition": 0, "runs": [[1200, "processor-1", 17, 3]]}
```
"The record at orders-0 1200 becomes processor-1:17." What becomes of processor-1:17 is told by its `send`.
"""

from __future__ import annotations

from typing import Any

from broker_core.clients.accumulator import Batch
from broker_core.kernel.node import Node

ABORTED = "ABORTED"
WRITERS = (b"producer", b"processor")  # so the values of the lab's own clients begin
Run = list[Any]  # [first offset, producer or None, first number or text, count]


def label(node: Node) -> str:
    """The producer's name in its values: another one in each life of the process and of the world, for numbers
    start again, and what was written before may still be read."""
    life, incarnation = node.world.life, node.incarnation
    if life > 1:
        return f"{node.name}~{life}.{incarnation}"
    return node.name if incarnation == 1 else f"{node.name}~{incarnation}"


def producer_of(value_label: str) -> str:
    """The process behind a name in a value."""
    return value_label.split("~", 1)[0]


def sent(node: Node, batch: Batch, acks: int) -> None:
    """The first request with this batch leaves."""
    row = _row(node, "invoke", batch, acks)
    row["created_us"] = batch.created_us
    node.operations.record(row)


def settled(
    node: Node, kind: str, batch: Batch, acks: int, offset: int = -1, error: str = "", broker: str = ""
) -> None:
    """The batch's fate as the producer knows it: ok, fail or info; `broker`: whose answer said ok."""
    row = _row(node, kind, batch, acks)
    if kind == "ok":
        row["offset"], row["broker"] = offset, broker
    else:
        row["error"] = error
    node.operations.record(row)


def _row(node: Node, kind: str, batch: Batch, acks: int) -> dict[str, Any]:
    """What `Node.operation` would make of it, without a detour: two for each batch."""
    world, queue = node.world, batch.queue
    row: dict[str, Any] = {
        "t": world.now_us, "seq": world.seq, "process": node.name, "kind": kind, "op": "send",
        "id": batch.operation, "topic": queue.topic, "partition": queue.partition, "acks": acks,
        "label": node.name if node.incarnation == 1 == world.life else label(node), "values": batch.numbers,
    }  # fmt: skip
    if batch.transaction:
        row["transaction"] = batch.transaction
    if batch.texts:
        row["texts"] = batch.texts
    return row


def runs_of(values: list[tuple[int, bytes | None]]) -> list[Run]:
    """(offset, value) of consecutive records as runs in which offsets and numbers grow together."""
    runs: list[Run] = []
    name, next_offset, next_number = "", -1, -1
    for offset, value in values:
        producer, number = parse(value)
        if producer is None:
            runs.append([offset, None, number, 1])
            name = ""
            continue
        if offset == next_offset and number == next_number and producer == name:
            runs[-1][3] += 1
        else:
            runs.append([offset, producer, number, 1])
        name, next_offset, next_number = producer, offset + 1, int(number) + 1
    return runs


def parse(value: bytes | None) -> tuple[str | None, Any]:
    """(producer, number) of a built-in value; (None, text) of any other."""
    if value is None:
        return None, None
    head, colon, tail = bytes(value).partition(b":")
    number = tail.rstrip(b".")
    if colon and number.isdigit() and head.startswith(WRITERS):
        return head.decode(), int(number)
    return None, bytes(value).decode(errors="replace")[:200]


def value_of(value_label: str, number: int, size: int) -> bytes:
    """The built-in value, padded with dots to `size` bytes."""
    return f"{value_label}:{number}".encode().ljust(size, b".")
