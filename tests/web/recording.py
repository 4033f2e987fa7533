"""Events of an evening with a cluster, written by hand: traffic, the death of a leader, its return."""

from __future__ import annotations

from typing import Any

from tests.web.recorded_lab import RecordedLab, Row

MS = 1000
TOPIC = "orders"


def request(t: int, source: str, to: str, api: str, correlation: int, version: int = 17) -> list[Row]:
    """A request that arrives half a millisecond later."""
    params = {"api": api, "version": version, "correlation": correlation}
    return [
        (t, source, "request_sent", 0, {**params, "to": to, "connection": "main"}),
        (t + 500, to, "request_received", -1, {**params, "source": source, "client_id": source}),
    ]


def answer(t: int, source: str, to: str, api: str, correlation: int, error: str = "NONE") -> list[Row]:
    return [(t, source, "response_sent", -1, {"api": api, "correlation": correlation, "to": to, "error": error})]


def appended(t: int, broker: int, partition: int, offset: int, role: str, records: int = 1) -> Row:
    crc = (offset * 2654435761 + partition * 40503) & 0xFFFFFFFF
    params = {
        "topic": TOPIC,
        "partition": partition,
        "base_offset": offset,
        "last_offset": offset + records - 1,
        "bytes": 71 + 12 * records,
        "role": role,
        "crc": crc,
    }
    return (t, f"broker-{broker}", "log_appended", -1, params)


def watermark(t: int, broker: int, partition: int, before: int, after: int) -> Row:
    return (
        t,
        f"broker-{broker}",
        "high_watermark",
        -1,
        {"topic": TOPIC, "partition": partition, "before": before, "after": after},
    )


def produced(
    t: int, partition: int, offset: int, leader: int, followers: list[int], correlation: int, commit: bool = True
) -> list[Row]:
    """One record with acks=all: append, fetches of the followers, high watermark, answer."""
    name = f"broker-{leader}"
    rows = request(t, "producer-orders", name, "Produce", correlation, 11)
    rows.append(appended(t + 600, leader, partition, offset, "leader"))
    for number, follower in enumerate(followers):
        start = t + 3000 + number * 1500
        rows += request(start, f"broker-{follower}", name, "Fetch", correlation + 1)
        rows += answer(start + 700, name, f"broker-{follower}", "Fetch", correlation + 1)
        rows.append(appended(start + 900, follower, partition, offset, "follower"))
    if commit:
        rows.append(watermark(t + 9000, leader, partition, offset, offset + 1))
        rows += answer(t + 9100, name, "producer-orders", "Produce", correlation)
        committed = {"group": "billing", "topic": TOPIC, "partition": partition, "offset": offset}
        rows.append((t + 9200, "broker-3", "offsets_committed", -1, committed))
        rows += [
            watermark(t + 9500 + number, follower, partition, offset, offset + 1)
            for number, follower in enumerate(followers)
        ]
    return rows


def traffic(
    start: int,
    seconds: float,
    leaders: dict[int, int],
    offsets: dict[int, int],
    every: int = 120 * MS,
    alive: tuple[int, ...] = (1, 2, 3),
) -> list[Row]:
    """Records to each partition in turn; `offsets` is moved on."""
    rows: list[Row] = []
    t, turn = start, 0
    while t < start + seconds * 1_000_000:
        partition = turn % len(leaders)
        leader = leaders[partition]
        rows += produced(t, partition, offsets[partition], leader, [i for i in alive if i != leader], 100 + turn * 2)
        offsets[partition] += 1
        turn += 1
        t += every
    return rows


def death(t: int, broker: int, leaders: dict[int, int], offsets: dict[int, int], how: str = "crash") -> list[Row]:
    """The process ends, its session runs out, the controller elects, the ISR shrinks. Changes `leaders`."""
    gone = t + 2_000_000
    rows: list[Row] = [
        (t, f"broker-{broker}", "process_ended", -1, {"how": how}),
        (gone, "zookeeper-1", "session_expired", 0, {"session": f"0x10{broker}", "owner": f"broker-{broker}"}),
        (gone, "zookeeper-1", "znode_deleted", -1, {"path": f"/brokers/ids/{broker}"}),
        (
            gone + 400,
            "zookeeper-1",
            "watch_fired",
            -1,
            {"path": "/brokers/ids", "owner": "broker-2", "kind": "NodeChildrenChanged"},
        ),
        (gone + 900, "broker-2", "broker_gone", -1, {"broker": broker, "reason": "session expired"}),
    ]
    alive = [i for i in (1, 2, 3) if i != broker]
    cause = len(rows) - 1  # the row `broker_gone`
    for partition, leader in leaders.items():
        if leader == broker:
            leaders[partition] = alive[partition % 2]
            params: dict[str, Any] = {
                "topic": TOPIC,
                "partition": partition,
                "leader": leaders[partition],
                "previous": broker,
                "leader_epoch": 6,
                "isr": alive,
                "reason": "broker gone",
            }
            rows.append((gone + 1500, "broker-2", "leader_elected", cause - len(rows), params))
            became = {
                "topic": TOPIC,
                "partition": partition,
                "leader_epoch": 6,
                "leo": offsets[partition],
                "isr": alive,
            }
            rows.append((gone + 2500, f"broker-{leaders[partition]}", "became_leader", -1, became))
        else:
            shrunk = {
                "topic": TOPIC,
                "partition": partition,
                "isr": alive,
                "removed": [broker],
                "reason": "broker gone",
                "leader_epoch": 5,
            }
            rows.append((gone + 1900, "broker-2", "isr_shrunk", cause - len(rows), shrunk))
    return rows


def comeback(t: int, broker: int, offsets: dict[int, int]) -> list[Row]:
    """The process starts, registers, catches up and is in the ISR again."""
    rows: list[Row] = [
        (t, f"broker-{broker}", "process_started", -1, {"incarnation": 2}),
        (
            t + 30_000,
            "zookeeper-1",
            "session_opened",
            -1,
            {"session": f"0x20{broker}", "owner": f"broker-{broker}", "timeout_ms": 18000},
        ),
        (
            t + 31_000,
            "zookeeper-1",
            "znode_created",
            -1,
            {"path": f"/brokers/ids/{broker}", "ephemeral": f"broker-{broker}"},
        ),
        (t + 32_000, "broker-2", "broker_registered", -1, {"broker": broker, "broker_epoch": 77}),
    ]
    for partition, offset in offsets.items():
        rows.append(
            (
                t + 60_000,
                f"broker-{broker}",
                "log_recovered",
                0,
                {"topic": TOPIC, "partition": partition, "bytes_cut": 0, "reason": "scan", "end": offset},
            )
        )
        back = {"topic": TOPIC, "partition": partition, "isr": [1, 2, 3], "added": [broker], "leader_epoch": 6}
        rows.append((t + 400_000, "broker-2", "isr_expanded", 0, back))
        rows.append(watermark(t + 400_500, broker, partition, 0, offset))
    return rows


class Evening:
    """A recorded lab whose kills and restarts are answered by the rows above."""

    def __init__(self, partitions: int = 6, leo: int = 40) -> None:
        from tests.web.recorded_lab import start_state, topic_state

        state = start_state({TOPIC: topic_state(partitions, leo)})
        state["clients"] = {
            "producer-orders": {
                "kind": "producer",
                "state": "running",
                "settings": {"acks": "all"},
                "acked": 0,
                "failed": 0,
                "read": 0,
            }
        }
        state["groups"] = {
            "billing": {
                "state": "Stable",
                "generation": 3,
                "coordinator": 3,
                "offsets": {TOPIC: {str(n): leo for n in range(partitions)}},
                "members": [{"id": "c-1", "client_id": "billing-1", "assignment": {TOPIC: list(range(partitions))}}],
            }
        }
        self.offsets = {n: leo + n for n in range(partitions)}
        self.leaders = {n: n % 3 + 1 for n in range(partitions)}
        self.lab = RecordedLab(state, self.react)

    def react(self, lab: RecordedLab, command: dict[str, Any]) -> None:
        """What the cluster would do."""
        broker = command.get("broker")
        if command["do"] == "kill":
            lab.play(*death(lab.t + 1000, broker, self.leaders, self.offsets))
        elif command["do"] == "restart":
            lab.play(*comeback(lab.t + 1000, broker, self.offsets))
        elif command["do"] in ("pause", "resume"):
            lab.play((lab.t + 1000, f"broker-{broker}", f"process_{command['do']}d", -1, {}))

    def traffic(self, seconds: float, alive: tuple[int, ...] = (1, 2, 3), every: int = 120 * MS) -> None:
        self.lab.play(
            *sorted(
                traffic(self.lab.t + 1000, seconds, self.leaders, self.offsets, every, alive), key=lambda row: row[0]
            )
        )
