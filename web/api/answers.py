"""What looking closely answers, as the description (OpenAPI) shows it: inspect, history, comparison, runs.

Objects are closed: a key that is not here does not come. The code that makes them stands in `lab.clusters.inspect`,
`lab.branch`, `lab.checkers`; tests hold real answers against these shapes.
"""

from __future__ import annotations

from typing import Any, Literal

from ninja import Schema
from pydantic import ConfigDict, Field

from web.api.answers_bytes import BytesView, Closed, DumpView, FilesView
from web.api.answers_broker import BalanceView, BrokerView, SettingView
from web.api.answers_metadata import MetadataRecordView, MetadataView
from web.api.answers_znode import ZnodeView

Row = list[Any]


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
    lso: int | None = None
    start: int | None = None
    flushed: int | None = None
    size: int | None = None
    segments: int | None = None
    epochs: list[list[int]] | None = None
    hash: str | None = None
    known_leo: int | None
    caught_up_ms: int | None


class Belief(Closed):
    """Who believes what of a partition; `differs`: where that is not the truth; `client`: its name; `behind`: records
    of the metadata log that it has not read yet, null where there is no log or nobody knows; `standing`: of a broker
    that the cluster does not count on."""

    who: Literal["tree", "log", "controller", "standby", "cache", "replica", "client"]
    broker: int | None
    client: str | None
    leader: int | None
    leader_epoch: int | None
    isr: list[int] | None
    behind: int | None
    standing: Literal["fenced", "unregistered"] | None
    differs: list[str]


class Move(Closed):
    """Replicas that a reassignment under way adds and removes."""

    adding: list[int]
    removing: list[int]


class PartitionView(Closed):
    """of=partition; `moving`: null when no reassignment is under way."""

    name: str
    truth: Truth
    moving: Move | None
    lag_time_max_ms: int | None
    replicas: list[ReplicaView]
    beliefs: list[Belief]


# -- inspect: settings, a broker, a group ---------------------------------------------------
class ConfigView(Closed):
    """of=config."""

    name: str
    entries: list[SettingView]


class MemberView(Closed):
    """A member of a group; `assignment`: topic -> partitions. Of a next-generation group (KIP-848) also its epoch, what
    it has been told to give back (`revoking`), and what it should have (`target`)."""

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
    epoch: int | None = None
    revoking: dict[str, list[int]] | None = None
    target: dict[str, list[int]] | None = None


class ConsumerPosition(Closed):
    """Where a built-in consumer stands: `offset` is the next record that it reads, committed or not."""

    client_id: str
    topic: str
    partition: int
    offset: int


class GroupView(Closed):
    """of=group; `offsets`: topic -> partition -> committed offset; `positions` of the built-in consumers beside it."""

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
    positions: list[ConsumerPosition]
    type: Literal["consumer"] | None = None
    assignment_epoch: int | None = None


# -- inspect: the rest ----------------------------------------------------------------------
class TrialView(Closed):
    """of=trial: the command, which would be taken."""

    command: dict[str, Any]


class MetricMeaning(Closed):
    """What a metric says; `normal`: the value that it should have; `only`: whose it is, "" of both generations."""

    name: str
    kind: str
    unit: str
    en: str
    ko: str
    normal: float | None
    only: Literal["", "zookeeper", "kraft"]


class MetricsView(Closed):
    """of=metrics: Kafka's name -> broker -> value; `meaning` with name=meaning."""

    values: dict[str, dict[str, float]]
    meaning: dict[str, MetricMeaning] | None


class Brought(Closed):
    """Where the log of a follower ends when it has taken an answer."""

    topic: str
    partition: int
    until: int


class Flight(Closed):
    """A message under way; `brings`: of an answer to a follower."""

    from_: str = Field(alias="from")
    to: str
    at: int
    sent: int
    kind: Literal["request", "response", "closed", "other"]
    api: str | None = None
    version: int | None = None
    correlation: int | None = None
    brings: list[Brought] | None = None


class FlightsView(Closed):
    """of=flights, the first to arrive first."""

    flights: list[Flight]


class Light(Closed):
    """What an invariant says; `only`: the generation of Kafka that alone has what it looks at."""

    en: str
    ko: str
    only: str | None = None


Found = (
    PartitionView | BrokerView | GroupView | ZnodeView | FilesView | BytesView | ConfigView | TrialView
    | MetricsView | FlightsView | DumpView | BalanceView
    | MetadataView | MetadataRecordView | dict[str, Light]
)  # fmt: skip


class Inspected(Closed):
    """One object at time `t` (microseconds). Which shape `found` has, `of` says; of=lights: name -> texts."""

    t: int
    found: Found


# -- the past -------------------------------------------------------------------------------
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


class StoryTold(Closed):
    """State transitions, as `events` has them."""

    ev: list[Row]


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
    over: list[str] = []
    events: int
    recorded_until_us: int | None
    inputs_until_us: int | None
    disk_full: list[str]
    room_again: bool


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
