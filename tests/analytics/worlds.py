"""Runs written by hand, a dozen rows each: what each question has to answer can be counted on one's fingers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from broker_core.records import encode_batch

PLACE = {"topic": "orders", "partition": 0}
Rows = list[tuple[Any, ...]]


def write(home: Path, name: str, end_s: float | None, events: Rows = (), operations: Rows = ()) -> Path:
    """A run: events as (seconds, node, code, params[, cause, seq]), operations as (seconds, process, kind, op, fields); an
    operation happens in the last event before it."""
    run = home / name
    run.mkdir()
    (run / "run.json").write_bytes(orjson.dumps({"format": 1, "name": name, "kind": "simulated", "seed": 1}
                                       | ({} if end_s is None else {"end_us": round(end_s * 1e6)})))
    lines = [[event[5] if len(event) > 5 else seq, round(event[0] * 1e6), event[1], event[2], event[4] if len(event) > 4 else 0, event[3]]
             for seq, event in enumerate(events, 1)]
    (run / "journal.jsonl").write_bytes(b"".join(orjson.dumps(line) + b"\n" for line in lines))
    rows = [{"t": round(seconds * 1e6), "seq": max((line[0] for line in lines if line[1] <= round(seconds * 1e6)), default=0), "process": process,
             "kind": kind, "op": op, **fields} for seconds, process, kind, op, fields in operations]
    (run / "operations.jsonl").write_bytes(b"".join(orjson.dumps(row) + b"\n" for row in rows))
    return run


def sent(seconds: float, kind: str, label: str, values: list[list[int]], offset: int | None = None, texts: tuple[str, ...] = ()) -> tuple[Any, ...]:
    fields = {**PLACE, "id": "1", "acks": 1, "label": label, "values": values}
    return seconds, label, kind, "send", fields | ({"texts": list(texts)} if texts else {}) | ({} if offset is None else {"offset": offset})


def inside(seconds: float, who: str, number: int, offset: int) -> tuple[Any, ...]:
    """A record of a transaction that was committed."""
    row = sent(seconds, "ok", who, [[number, 1]], offset)
    return *row[:-1], {**row[-1], "transaction": f"{who}/1"}


def read(seconds: float, process: str, *runs: list[Any]) -> tuple[Any, ...]:
    return seconds, process, "ok", "poll", {**PLACE, "runs": list(runs)}


def failover(home: Path) -> Path:
    """Broker 1 leads and dies at 10 s; broker 2 takes over at 13.5 s without its last two records, and is paused at 30 s."""
    led = {**PLACE, "leader_epoch": 0}
    events = [
        (1, "broker-3", "controller_elected", {"broker": 3, "epoch": 1}),
        (2, "broker-3", "leader_elected", {**led, "leader": 1, "previous": -1, "isr": [1, 2, 3], "reason": "new"}),
        (2.1, "broker-1", "became_leader", {**led, "leo": 0}),
        (2.1, "broker-2", "became_follower", {**led, "leader": 1, "leo": 0}),
        (10, "broker-1", "process_ended", {"how": "crash"}),
        (13, "zookeeper-1", "session_expired", {"session": "0x1", "owner": "broker-1"}),
        (13.2, "broker-3", "leader_elected", {**PLACE, "leader": 2, "previous": 1, "leader_epoch": 1, "isr": [2, 3], "reason": "broker gone"}),
        (13.2, "broker-3", "isr_shrunk", {**PLACE, "isr": [2, 3], "removed": [1], "reason": "broker gone", "leader_epoch": 1}),
        (13.5, "broker-2", "became_leader", {**PLACE, "leader_epoch": 1, "leo": 8}),
        (20, "broker-2", "isr_expanded", {**PLACE, "isr": [2, 3, 1], "added": [1], "leader_epoch": 1}),
        (30, "broker-2", "process_paused", {}),
        (31, "broker-2", "process_resumed", {}),
        (35, "broker-2", "replica_stopped", {"topic": "gone", "partition": 0, "deleted": True}),
    ]
    operations = [
        sent(9, "invoke", "p", [[0, 10]]), sent(9.9, "ok", "p", [[0, 10]], 0),
        sent(14, "ok", "p", [[10, 3]], 8), sent(14.1, "ok", "operator", [], 11, ("hello",)),
        sent(15, "info", "p", [[13, 1]]), sent(15, "fail", "p", [[14, 1]]),
        sent(16, "ok", "q", [[1, 1]], 15), sent(16, "ok", "q", [[0, 1]], 16), sent(16, "ok", "q", [[2, 1]], 20),
        read(17, "c", [0, "p", 0, 4]), read(18, "c", [2, "p", 2, 3]), read(19, "c", [8, "p", 10, 1]),
        read(39, "checker", [0, "p", 0, 8], [8, "p", 10, 3], [11, None, "hello", 1], [12, "p", 11, 1], [13, "p", 13, 2],
             [15, "q", 1, 1], [16, "q", 0, 1]),
        (20, "c", "ok", "commit", {"id": "c1", "group": "billing", "offsets": [["orders", 0, 9]]}),
    ]
    return write(home, "failover", 40, events, operations)


def blocked(home: Path) -> Path:
    """Two must be in the ISR. Both followers fall silent and are removed, one comes back; for two seconds three must be."""
    elected = {**PLACE, "leader": 1, "previous": -1, "leader_epoch": 0, "isr": [1, 2, 3], "replicas": [1, 2, 3], "reason": "new"}
    wanted = {"resource": "topic", "name": "orders", "key": "min.insync.replicas"}
    return write(home, "blocked", 30, [
        (1, "broker-1", "topic_created", {"topic": "orders", "partitions": 1, "configs": {"min.insync.replicas": "2"}}),
        (2, "broker-1", "leader_elected", elected), (2.1, "broker-1", "became_leader", {**PLACE, "leader_epoch": 0, "leo": 0}),
        (8, "broker-1", "isr_shrunk", {**PLACE, "isr": [1], "removed": [2, 3], "reason": "no fetch", "lag_ms": {"2": 3000, "3": 3500}, "leader_epoch": 0}),
        (11, "broker-1", "isr_expanded", {**PLACE, "isr": [1, 2], "added": [2], "leader_epoch": 0}),
        (20, "broker-1", "config_changed", {**wanted, "value": "3"}), (22, "broker-1", "config_changed", {**wanted, "value": None}),
        (25, "broker-2", "process_ended", {"how": "crash"}),
        (27, "broker-1", "isr_shrunk", {**PLACE, "isr": [1], "removed": [2], "reason": "broker gone", "lag_ms": {}, "leader_epoch": 0}),
    ])


def returned(home: Path) -> Path:
    """A leader that is paused, dies and leads again in the same epoch, without a word from the controller; then two elections."""
    def elected(seconds: float, leader: int, epoch: int, reason: str) -> tuple[Any, ...]:
        return seconds, "broker-3", "leader_elected", {**PLACE, "leader": leader, "previous": -1, "leader_epoch": epoch, "isr": [1, 2], "reason": reason}

    def led(seconds: float, broker: int, epoch: int) -> tuple[Any, ...]:
        return seconds, f"broker-{broker}", "became_leader", {**PLACE, "leader_epoch": epoch, "leo": 0}

    def offline(seconds: float, epoch: int) -> tuple[Any, ...]:
        return seconds, "broker-3", "partition_offline", {**PLACE, "isr": [2], "leader_epoch": epoch}

    return write(home, "returned", None, [
        elected(2, 1, 0, "new"), led(2.1, 1, 0), (5, "broker-1", "process_paused", {}), (6, "broker-1", "process_resumed", {}),
        (10, "broker-1", "process_ended", {"how": "power_loss"}), led(14, 1, 0), (18, "broker-1", "process_ended", {"how": "crash"}),
        offline(20, 1), elected(20.004, 2, 2, "broker gone"), led(20.01, 2, 2), (24, "broker-2", "process_ended", {"how": "crash"}),
        offline(25, 3), (27, "broker-3", "broker_registered", {"broker": 2}), elected(27.1, 2, 4, "broker gone"), led(27.2, 2, 4),
        (30, "broker-1", "process_started", {"incarnation": 2}),
    ], [sent(3, "invoke", "p", [[0, 1]]), sent(3.5, "ok", "p", [[0, 1]], 0), sent(15, "ok", "p", [[1, 1]], 1)])


def rebalances(home: Path) -> Path:
    """Two rebalances of a group of the classic protocol; one of KIP-848 in which a member gives something back to another."""
    def state(seconds: float, before: str, after: str, generation: int, group: str = "billing") -> tuple[Any, ...]:
        return seconds, "broker-1", "group_state", {"group": group, "before": before, "after": after, "generation": generation, "reason": "x"}

    def joins(seconds: float, member: str) -> tuple[Any, ...]:
        return seconds, "broker-2", "member_joined", {"group": "audit", "member": member, "client_id": f"client-{member}", "instance": None}

    def step(seconds: float, member: str, epoch: int, after: str, has: list[int], gives: list[int]) -> tuple[Any, ...]:
        return seconds, "broker-2", "member_reconciled", {
            "group": "audit", "member": member, "epoch": epoch, "state": after, "assigned": {"orders": has}, "revoking": {"orders": gives} if gives else {}}

    return write(home, "rebalances", 12, [
        state(1, "Empty", "PreparingRebalance", 0), state(3, "PreparingRebalance", "CompletingRebalance", 1),
        state(3.5, "CompletingRebalance", "Stable", 1), state(10, "Stable", "PreparingRebalance", 1),
        state(10.4, "PreparingRebalance", "CompletingRebalance", 2), state(10.5, "CompletingRebalance", "Stable", 2),
        joins(1, "a"), state(1, "Empty", "Assigning", 1, "audit"), state(1, "Assigning", "Reconciling", 1, "audit"),
        step(1.1, "a", 1, "STABLE", [0, 1], []), state(1.2, "Reconciling", "Stable", 1, "audit"),
        joins(5, "b"), state(5, "Stable", "Reconciling", 2, "audit"), step(5.1, "a", 1, "UNREVOKED_PARTITIONS", [0], [1]),
        step(5.2, "b", 2, "UNRELEASED_PARTITIONS", [], []), step(5.4, "a", 2, "STABLE", [0], []), step(5.5, "b", 2, "STABLE", [1], []),
        state(5.5, "Reconciling", "Stable", 2, "audit"), (9, "broker-2", "member_left", {"group": "audit", "member": "b", "reason": "left"}),
        joins(9.5, "b")])


def transactions(home: Path) -> Path:
    """Two transactions overlap, one is aborted and one never ends; a queue in which a lock runs out and a leader changes. And
    of two that were committed the batches lie between one another."""
    def state(seconds: float, name: str, after: str, producer_id: int) -> tuple[Any, ...]:
        return seconds, "broker-3", "transaction_state", {"transactional_id": name, "before": "x", "after": after, "producer_id": producer_id, "epoch": 0}

    def begins(seconds: float, producer_id: int, offset: int) -> tuple[Any, ...]:
        return seconds, "broker-1", "transaction_begins", {**PLACE, "producer_id": producer_id, "offset": offset}

    def ends(seconds: float, producer_id: int, first: int, offset: int, outcome: str) -> tuple[Any, ...]:
        return seconds, "broker-2", "transaction_ends", {**PLACE, "producer_id": producer_id, "first_offset": first, "offset": offset, "outcome": outcome}

    def share(seconds: float, code: str, first: int, last: int, **more: Any) -> tuple[Any, ...]:
        return seconds, "broker-1", code, {"group": "mill", "topic": "jobs", "partition": 0, "first": first, "last": last, **more}

    return write(home, "transactions", 20, [
        state(1, "a", "Ongoing", 7), begins(1, 7, 0), state(2, "b", "Ongoing", 8), begins(2, 8, 3),
        state(3, "a", "PrepareCommit", 7), ends(3, 7, 0, 5, "commit"), state(5, "b", "PrepareAbort", 8), ends(5, 8, 3, 6, "abort"),
        state(10, "a", "Ongoing", 7), begins(10, 7, 7), state(11, "a", "PrepareCommit", 7), ends(11, 7, 7, 9, "commit"),
        begins(18, 8, 10), (19, "broker-3", "transaction_timed_out", {"transactional_id": "b", "producer_id": 8, "timeout_ms": 1}),
        share(1, "share_acquired", 0, 1, client="w", count=1, lock_ms=2000), share(2, "share_settled", 0, 0, state="acknowledged", count=1),
        share(3, "share_locks_expired", 1, 1, state="available"), share(3, "share_settled", 1, 1, state="available", count=1),
        share(4, "share_acquired", 1, 1, client="v", count=2, lock_ms=2000), share(5, "share_acquired", 1, 1, client="v", count=2, lock_ms=2000)],
        [*((1, who, "invoke", "transaction", {"id": f"{who}/1"}) for who in "pq"),
         *(inside(2, who, number, offset) for who, number, offset in (("p", 0, 0), ("q", 0, 1), ("p", 1, 2))),
         *((3, who, "ok", "transaction", {"id": f"{who}/1"}) for who in "pq"),
         (4, "r", "fail", "send", {**inside(4, "r", 0, 3)[-1], "error": "ABORTED"}), read(5, "c", [3, "r", 0, 1]), read(6, "checker", [3, "r", 0, 1])])


def requests(home: Path) -> Path:
    """A Produce that waits for followers, a Fetch that waits in vain, and one of the final read-back, which is nobody's."""
    produce, fetch, last = {"api": "Produce", "correlation": 5}, {"api": "Fetch", "correlation": 6}, {"api": "Fetch", "correlation": 7}
    stages = {"queue_us": 10, "local_us": 90, "remote_us": 400, "response_us": 5}
    return write(home, "requests", 1, [
        (0.0010, "p", "request_sent", {**produce, "to": "broker-1", "version": 9, "connection": "data"}),
        (0.0015, "broker-1", "request_received", {**produce, "source": "p", "version": 9, "client_id": "p"}, 1),
        (0.0021, "broker-1", "request_stages", {**produce, **stages}),
        (0.0021, "broker-1", "response_sent", {**produce, "to": "p", "error": "NONE"}),
        (0.1000, "c", "request_sent", {**fetch, "to": "broker-1", "version": 12, "connection": "data"}),
        (0.1005, "broker-1", "request_received", {**fetch, "source": "c", "version": 12, "client_id": "c"}, 5),
        (0.6005, "broker-1", "request_stages", {**fetch, **stages, "remote_us": 500000}, 6, 7),
        (0.6005, "broker-1", "response_sent", {**fetch, "to": "c", "error": "NONE"}, 6, 7),
        (0.6005, "broker-1", "purgatory_expired", {"operation": "Fetch", "keys": ["orders-0"], "waited_us": 500000}, 6, 7),
        (0.7000, "checker", "request_sent", {**last, "to": "broker-1", "version": 12, "connection": "data"}),
        (0.7100, "broker-1", "request_received", {**last, "source": "checker", "version": 12, "client_id": "checker"}, 10),
        (0.7900, "broker-1", "response_sent", {**last, "to": "checker", "error": "NONE"}),
    ])


def replication(home: Path) -> Path:
    """Two appends; follower 2 takes 4 and 6 ms, follower 3 gets only the first, after 10 ms."""
    def append(seconds: float, broker: int, last: int, role: str, size: int = 150, topic: str = "orders") -> tuple[Any, ...]:
        return seconds, f"broker-{broker}", "log_appended", {"topic": topic, "partition": 0, "base_offset": last - 9, "last_offset": last,
                                                             "bytes": size, "role": role}

    return write(home, "replication", 1, [
        append(0.1, 1, 9, "leader"), append(0.104, 2, 9, "follower"), append(0.110, 3, 9, "follower"),
        append(0.2, 1, 19, "leader"), append(0.206, 2, 19, "follower"), append(0.3, 2, 9, "leader", 100, "other")])


def disks(home: Path) -> Path:
    """Broker 1 has deleted a segment of 3,000 bytes; four of six keys are `a`; one index is missing, one cut; a topic is empty."""
    run = write(home, "disks", 1, [(0.5, "broker-1", "segment_deleted", {**PLACE, "base_offset": 0, "reason": "retention size", "bytes": 3000}),
                                   (0.6, "broker-1", "segment_deleted", {**PLACE, "base_offset": 0, "reason": "topic deleted", "bytes": 9})])
    for partition, keys in ((0, (b"a", b"b", b"a", b"a", b"b", b"a")), (1, (None, None))):
        directory = run / "broker-1" / "data" / f"orders-{partition}"
        directory.mkdir(parents=True)
        name = directory / f"{0:020d}"
        name.with_suffix(".log").write_bytes(encode_batch([(1000, key, b"v", ()) for key in keys], 0))
        name.with_suffix(".timeindex").write_bytes(bytes(24))
        if partition:
            name.with_suffix(".index").write_bytes(bytes(13))
    empty = run / "broker-1" / "data" / "quiet-0"
    empty.mkdir()
    for suffix in (".log", ".index", ".timeindex"):
        (empty / f"{0:020d}{suffix}").write_bytes(b"")
    return run


def strangers(home: Path) -> Path:
    """A client from outside appends two batches of two records; the next leader has only the first."""
    def produced(seconds: float, seq: int, offset: int) -> list[tuple[Any, ...]]:
        asked = {"api": "Produce", "correlation": seq}
        return [(seconds, "broker-1", "request_received", {**asked, "source": "17"}, 0, seq),
                (seconds, "broker-1", "log_appended", {**PLACE, "base_offset": offset, "last_offset": offset + 1, "role": "leader"}, 0, seq),
                (seconds + 0.1, "broker-1", "response_sent", {**asked, "to": "17", "error": "NONE"}, 0, seq + 1)]

    return write(home, "strangers", 9, [
        (1, "broker-1", "became_leader", {**PLACE, "leader_epoch": 0, "leo": 0}, 0, 1), (1, "broker-2", "became_follower", {**PLACE, "leader": 1, "leader_epoch": 0, "leo": 0}, 0, 1),
        *produced(2, 10, 0), (3, "broker-2", "log_appended", {**PLACE, "base_offset": 0, "last_offset": 1, "role": "follower"}, 0, 12),
        *produced(4, 20, 2), (5, "broker-2", "became_leader", {**PLACE, "leader_epoch": 1, "leo": 2}, 0, 30)])


def quorum(home: Path) -> Path:
    """Voter 101 leads and dies at 10 s; 102 asks for votes at 12 s and leads at 12.5 s; broker 1 is fenced and comes back."""
    def state(seconds: float, node: int, after: str, epoch: int, leader: int | None) -> tuple[Any, ...]:
        return seconds, f"controller-{node}", "quorum_state", {"before": "follower", "after": after, "epoch": epoch, "leader": leader, "reason": "x"}

    def written(seconds: float, role: str, first: int, last: int) -> tuple[Any, ...]:
        return seconds, "controller-101", "metadata_appended", {"base_offset": first, "last_offset": last, "bytes": 1, "role": role, "epoch": 1}

    return write(home, "quorum", 30, [
        state(1, 101, "candidate", 1, None), (1.1, "controller-102", "quorum_vote", {"candidate": 101, "epoch": 1}),
        state(1.2, 101, "leader", 1, 101), written(1.25, "leader", 0, 4), written(1.26, "follower", 0, 4),
        (1.3, "controller-101", "controller_elected", {"broker": 101, "epoch": 1}), (2, "broker-1", "process_started", {"incarnation": 1}),
        (3, "controller-101", "broker_registered", {"broker": 1, "broker_epoch": 7}),
        (10, "controller-101", "process_ended", {"how": "crash"}),
        state(12, 102, "prospective", 1, 101), state(12.1, 103, "candidate", 2, None), state(12.2, 102, "candidate", 3, None),
        (12.3, "controller-103", "quorum_vote", {"candidate": 102, "epoch": 3}), state(12.5, 102, "leader", 3, 102),
        (12.6, "controller-102", "controller_elected", {"broker": 102, "epoch": 3}),
        (20, "controller-102", "broker_gone", {"broker": 1, "reason": "silent"}),
        (24, "controller-102", "broker_registered", {"broker": 1, "broker_epoch": 7}),
    ])
