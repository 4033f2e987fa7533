"""What looking closely answers, as the description (OpenAPI) shows it: inspect, history, message, comparison, runs.

Objects are closed: a key that is not here does not come. The code that makes them stands in `lab.clusters.inspect`,
`lab.branch`, `lab.checkers`; tests hold real answers against these shapes.
"""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field

Row = list[Any]


class Closed(Schema):
    """An object with these keys and no others."""

    model_config = ConfigDict(extra="forbid")


# -- inspect: a partition -------------------------------------------------------------------
class Truth(Closed):
    """What the coordination tree says of a partition."""

    leader: int
    leader_epoch: int
    isr: list[int]
    replicas: list[int]


class ReplicaView(Closed):
    """One replica: what it has itself, and what the leader knows of it. Without a log (its broker is down) only
    that."""

    broker: int
    in_isr: bool
    leads: bool
    running: bool
    role: str | None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    leo: int | None = None
    hw: int | None = None
    start: int | None = None
    flushed: int | None = None
    size: int | None = None
    segments: int | None = None
    epochs: list[list[int]] | None = None
    hash: str | None = None
    known_leo: int | None
    caught_up_ms: int | None


class Belief(Closed):
    """Who believes what of a partition; `differs`: where that is not the truth."""

    who: Literal["tree", "controller", "cache", "replica"]
    broker: int | None
    leader: int | None
    leader_epoch: int | None
    isr: list[int] | None
    differs: list[str]


class PartitionView(Closed):
    """of=partition."""

    name: str
    truth: Truth
    lag_time_max_ms: int | None
    replicas: list[ReplicaView]
    beliefs: list[Belief]


# -- inspect: settings, a broker, a group ---------------------------------------------------
class SettingView(Closed):
    """One setting: its value, where it comes from, and what it means in both languages."""

    name: str
    value: str | None
    default: str | None
    source: str
    changed: bool
    read_only: bool
    type: str
    doc: str
    ko: str


class ConfigView(Closed):
    """of=config."""

    name: str
    entries: list[SettingView]


class HostedReplica(Closed):
    """A replica on a broker."""

    name: str
    role: str | None
    leo: int
    hw: int
    size: int
    directory: str


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


class MemberView(Closed):
    """A member of a group; `assignment`: topic -> partitions."""

    id: str
    client_id: str | None
    instance: str | None
    host: str | None
    assignment: dict[str, list[int]]
    leads: bool
    session_timeout_ms: int | None
    session_left_ms: int | None
    instance_id: str | None
    waits: Literal["join", "sync"] | None


class GroupView(Closed):
    """of=group; `offsets`: topic -> partition -> committed offset."""

    name: str
    state: str
    generation: int
    coordinator: int
    partition: int
    protocol_type: str | None
    protocol: str | None
    leader: str | None
    members: list[MemberView]
    offsets: dict[str, dict[str, int]]


# -- inspect: files and bytes ---------------------------------------------------------------
class SegmentView(Closed):
    """A segment; `files`: [name, size, flushed]; `index`: [relative offset, position], the last 200."""

    base: int
    next: int
    active: bool
    max_timestamp: int
    files: list[tuple[str, int, int]]
    index: list[list[int]]
    entries: int
    time_entries: int


class FilesView(Closed):
    """of=files."""

    name: str
    broker: int
    directory: str
    size: int
    recovery_point: int
    segment_bytes: int
    index_interval_bytes: int
    segments: list[SegmentView]


class SegmentOfBatch(Closed):
    """The segment that holds the batch."""

    file: str
    directory: str
    base_offset: int
    position: int
    size: int
    active: bool
    segments: list[int]
    flushed_to: int


class IndexEntry(Closed):
    """An entry of the offset index."""

    slot: int
    offset: int
    position: int
    byte: int


class SearchStep(IndexEntry):
    """One comparison of the binary search between slots `low` and `high`."""

    low: int
    high: int
    is_: str = Field(alias="is")


class Search(Closed):
    """How the index was searched."""

    file: str
    entries: int
    entry_size: int
    section: str
    steps: list[SearchStep]
    found: IndexEntry | None
    around: list[IndexEntry]
    position: int


class Scanned(Closed):
    """A header that was read on the way."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class FieldOfBatch(Closed):
    """A field with its bytes and what it means in both languages."""

    name: str
    offset: int
    size: int
    value: Any
    en: str
    ko: str


class BatchBytes(Closed):
    """The batch, byte by byte; `cut`: there are more."""

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    compression: str
    crc_valid: bool
    hex: str
    cut: bool
    fields: list[FieldOfBatch]


class RecordOfBatch(Closed):
    """A record of the batch."""

    offset: int
    timestamp: int
    key: str | None
    value: str | None
    headers: list[Any]


class BytesView(Closed):
    """of=bytes."""

    topic: str
    partition: int
    broker: int
    offset: int
    log_start_offset: int
    high_watermark: int
    log_end_offset: int
    segment: SegmentOfBatch
    search: Search
    scan: list[Scanned]
    batch: BatchBytes
    records: list[RecordOfBatch]


# -- inspect: the rest ----------------------------------------------------------------------
class TrialView(Closed):
    """of=trial: the command, which would be taken."""

    command: dict[str, Any]


class MetricMeaning(Closed):
    """What a metric says; `normal`: the value that it should have."""

    name: str
    kind: str
    unit: str
    en: str
    ko: str
    normal: float | None


class MetricsView(Closed):
    """of=metrics: Kafka's name -> broker -> value; `meaning` with name=meaning."""

    values: dict[str, dict[str, float]]
    meaning: dict[str, MetricMeaning] | None


class Flight(Closed):
    """A message under way."""

    from_: str = Field(alias="from")
    to: str
    at: int
    sent: int
    kind: Literal["request", "response", "closed", "other"]
    api: str | None = None
    version: int | None = None
    correlation: int | None = None


class FlightsView(Closed):
    """of=flights, the first to arrive first."""

    flights: list[Flight]


class Light(Closed):
    """What an invariant says."""

    en: str
    ko: str


Found = (
    PartitionView | BrokerView | GroupView | FilesView | BytesView | ConfigView | TrialView | MetricsView
    | FlightsView | dict[str, Light]
)  # fmt: skip


class Inspected(Closed):
    """One object at time `t` (microseconds). Which shape `found` has, `of` says; of=lights: name -> texts."""

    t: int
    found: Found


# -- the past, a message --------------------------------------------------------------------
class PastState(Closed):
    """The state at a keyframe, in the shape of a snapshot."""

    run: str
    epoch: int
    t: int
    state: dict[str, Any]


class Past(Closed):
    """A keyframe at event `seq` and the rows behind it, as `events` has them."""

    seq: int
    t: int
    last: int
    whole: bool
    snap: PastState | None
    ev: list[Row]


class FieldOfMessage(FieldOfBatch):
    """A field of a message; `type` in the words of the protocol guide."""

    type: str


class MessageView(Closed):
    """A message between two nodes. `how`: encoded (under way now), or recalled by executing the run again."""

    from_: str = Field(alias="from")
    to: str
    api: str
    version: int
    correlation: int
    answer: bool
    how: str
    size: int
    hex: str
    cut: bool
    fields: list[FieldOfMessage]


# -- runs -----------------------------------------------------------------------------------
class BranchFacts(Closed):
    """An open run: its clock, and where it comes from."""

    run: str
    epoch: int
    parent: str | None
    forked_at_us: int
    live: bool
    ended: bool
    seed: int
    directory: str
    seq: int
    t: int
    speed: float
    paused: bool
    events: int
    recorded_until_us: int | None


class OutlinedPartition(Closed):
    """A partition as its leader has it; `hash` of the leader's records, null when they are too many."""

    leader: int
    leader_epoch: int
    isr: list[int]
    leo: int | None
    hw: int | None
    hash: str | None


class Outlined(BranchFacts):
    """An open run with its partitions."""

    controller: int | None
    controller_epoch: int | None
    partitions: dict[str, OutlinedPartition]


class Outlines(Closed):
    """Name -> run."""

    runs: dict[str, Outlined]


class RunFacts(Schema):
    """What a run's directory says of it (run.json); of a scenario's run also document, receipt and verdict."""

    model_config = ConfigDict(extra="allow")
    run: str
    finished: bool
    format: int
    kind: str
    seed: int
    spec: dict[str, Any]
    parent: str | None = None
    events: int | None = None
    operations: int | None = None
    end_us: int | None = None
    scenario: dict[str, Any] | None = None
    variant: str | None = None
    receipt: dict[str, Any] | None = None
    passed: bool | None = None
