"""A broker, and how evenly all of them are burdened; made by `lab.clusters.inspect_node` and `inspect_balance`."""

from __future__ import annotations

from typing import Literal

from web.api.answers_bytes import Closed


class ThenAndNow(Closed):
    """What a setting was and is: a value for each era, the release and the KIP (or issue) that changed it, and its
    meaning."""

    values: dict[str, str]
    since: str
    by: str
    why: dict[str, str]


class SettingView(Closed):
    """One setting: its value, where it comes from, and what it means in both languages. `eras`: where they differ."""

    name: str
    value: str | None
    default: str | None
    source: str
    changed: bool
    read_only: bool
    type: str
    doc: str
    ko: str
    eras: ThenAndNow | None


class MovingReplica(Closed):
    """A copy that grows in another log directory: its log end, and that of the replica."""

    directory: str
    reached: int
    end: int


class HostedReplica(Closed):
    """A replica on a broker; `moving`: to another log directory of it."""

    name: str
    role: str | None
    leo: int
    hw: int
    size: int
    directory: str
    moving: MovingReplica | None


class Disk(Closed):
    """A log directory."""

    directory: str
    online: bool
    logs: int
    size: int
    segments: int


class DiskRule(Closed):
    """A fault of the disks that was set."""

    kind: str
    directory: str


class ConnectionView(Closed):
    """A connection to a broker; `negotiated`: API -> version."""

    number: int
    source: str
    name: str
    peer: str
    client_id: str | None
    software: str
    processor: int
    muted: bool
    waiting: int
    negotiated: dict[str, int]


class PipelineView(Closed):
    """Where a broker's requests are now."""

    connections: int
    network: int
    reading: int
    queue: int
    queue_max: int
    busy: int
    handlers: int
    produce: int
    fetch: int
    other: int
    responses: int
    done: int


class SentView(Closed):
    """What outside clients got."""

    bytes: int
    zero_copied: int


class SessionView(Closed):
    """An incremental fetch session; `dirty`: partitions about which there may be something to say."""

    id: int
    epoch: int
    follower: bool
    partitions: int
    dirty: int
    idle_ms: int


class SessionsView(Closed):
    """The cache of fetch sessions of a broker; the list has the hundred used last."""

    slots: int
    used: int
    evictions: int
    list: list[SessionView]


class BrokerView(Closed):
    """of=broker; the keys from `config` on only while it runs."""

    broker: int
    state: str
    incarnation: int
    faults: list[DiskRule]
    clock_skew_ms: int
    config: list[SettingView] | None = None
    partitions: list[HostedReplica] | None = None
    disks: list[Disk] | None = None
    connections: list[ConnectionView] | None = None
    pipeline: PipelineView | None = None
    epoch: int | None = None
    controller: bool | None = None
    cache_version: int | None = None
    sent: SentView | None = None
    sessions: SessionsView | None = None


class BurdenView(Closed):
    """What a broker carries; `preferred`: of how many it is the preferred leader, `astray`: of how many of these
    another one leads, or nobody. `bytes` is null while it does not run."""

    broker: int
    leads: int
    preferred: int
    astray: int
    replicas: int
    bytes: int | None


class MoveView(Closed):
    """A reassignment under way."""

    adding: list[int]
    removing: list[int]


class ThrottleView(Closed):
    """A quota of replication of one broker: bytes a second that are allowed (null: no limit), that count just now, and
    the partitions whose replica there counts (null: all of the topic)."""

    broker: int
    quota: Literal["LeaderReplication", "FollowerReplication", "AlterLogDirsReplication"]
    bound: int | None
    rate: int
    topics: dict[str, list[int] | None]


class BalanceView(Closed):
    """of=balance: each broker, the partitions that are being reassigned, and throttles of replication. `forgotten`:
    they stand, and nothing moves any more."""

    brokers: list[BurdenView]
    moving: dict[str, MoveView]
    throttles: list[ThrottleView]
    forgotten: bool
