"""What runs and records answer, as the description (OpenAPI) shows it: records, receipts, jobs, lists of things.

Objects are closed: a key that is not here does not come; null or missing where it says so. The code that makes them
stands in `web.api.records`, `lab.checkers.receipt`, `lab.experiments.run`; tests hold real answers against these
shapes.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from web.api.answers_bytes import Closed

Titles = dict[str, str]


# -- records --------------------------------------------------------------------------------
class Shown(Closed):
    """Bytes: `text` when they are UTF-8, else `base64`; `size` is that of the whole, `cut`: more than is shown."""

    text: str | None = None
    base64: str | None = None
    size: int
    cut: bool | None = None


class HeaderOfRecord(Closed):
    """A header of a record."""

    name: str
    value: Shown | None


class RecordView(Closed):
    """A record; `batch`: the base offset of its batch. `committed` is null when nobody knows the high watermark."""

    offset: int
    timestamp: int
    key: Shown | None
    value: Shown | None
    headers: list[HeaderOfRecord]
    batch: int
    committed: bool | None


class SpanOfBatch(Closed):
    """The bytes `start` to `end` (exclusive) of a batch and what they say."""

    start: int
    end: int
    name: str
    value: int | str


class BatchView(Closed):
    """A batch: its header, and its bytes in hex. `fields` when they were asked for; `error`: why its records cannot be
    decoded."""

    base_offset: int
    last_offset: int
    count: int
    size: int
    magic: int
    crc: int
    valid: bool
    compression: str
    timestamp_type: Literal["CreateTime", "LogAppendTime"]
    base_timestamp: int
    max_timestamp: int
    leader_epoch: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    transactional: bool
    control: bool
    hex: str
    hex_complete: bool
    fields: list[SpanOfBatch] | None = None
    error: str | None = None


class RecordsPage(Closed):
    """Records from an offset on; the next page begins at `next`. Of a broker that is down the marks are null."""

    topic: str
    partition: int
    replica: int
    leader: int
    running: bool
    log_start_offset: int
    log_end_offset: int | None
    high_watermark: int | None
    batches: list[BatchView]
    records: list[RecordView]
    next: int
    more: bool


# -- receipts -------------------------------------------------------------------------------
class Figures(Closed):
    """The five figures of a receipt."""

    acked: int
    read: int
    lost: int
    duplicated: int
    reordered: int


class ProducerFigures(Figures):
    """Those of one producer; `unseen`: so many of `lost` may still be read."""

    unseen: int


class PlaceOfValue(Closed):
    """Where something was found. A value is `producer` and `number`, or the `text` of a record by hand."""

    producer: str | None = None
    number: int | None = None
    text: str | None = None
    topic: str
    partition: int
    offset: int
    test: str | None = None
    behind: int | None = None
    reader: str | None = None
    last_read: int | None = None
    step: int | None = None
    process: str | None = None
    last_acked: int | None = None
    t_us: int | None = None


class PlaceOutside(Closed):
    """A lost batch of an attached client."""

    topic: str
    partition: int
    offset: int
    last: int


class OutsideView(Closed):
    """What brokers saw of attached clients. `complete`: the journal has every message."""

    batches: int
    records: int
    acked: int
    acked_records: int
    lost: int
    lost_records: int
    places: list[PlaceOutside]
    complete: bool
    note: str


class Receipt(Figures):
    """All figures (docs/scenarios.md says what each counts), per producer, and where. `outside` unless a scenario has
    left the run; of a scenario also the verdict."""

    run: str
    finished: bool
    lost_writes: int
    unseen: int
    inconsistent: int
    failed_read: int
    unknown: int
    unknown_read: int
    stale: int
    poll_skip: int
    nonmonotonic_poll: int
    int_poll_skip: int
    int_nonmonotonic_poll: int
    nonmonotonic_send: int
    producers: dict[str, ProducerFigures]
    places: dict[str, list[PlaceOfValue]]
    outside: OutsideView | None = None
    name: str | None = None
    variant: str | None = None
    passed: bool | None = None
    unmet: list[str] | None = None
    notes: list[str] | None = None


# -- lists of runs, jobs --------------------------------------------------------------------
class RunListed(Closed):
    """A run in a list; of one whose run.json cannot be read only `error`."""

    run: str
    error: str | None = None
    finished: bool | None = None
    kind: str | None = None
    name: str | None = None
    variant: str | None = None
    variant_title: Titles | None = None
    seed: int | None = None
    parent: str | None = None
    forked_at_us: int | None = None
    end_us: int | None = None
    events: int | None = None
    operations: int | None = None
    passed: bool | None = None
    receipt: Figures | None = None


class RunsPage(Closed):
    """One page of the runs on disk."""

    items: list[RunListed]
    total: int


class Verdict(Closed):
    """Whether a run's journal came out byte for byte."""

    same: bool
    events: int
    reason: str
    line: int
    recorded: str
    executed: str


class MomentOfRun(Closed):
    """The moment that the scenario points at."""

    seq: int
    t_us: int


class ScenarioResult(Closed):
    """How a scenario has ended. `prediction`: the index of the choice that was right; `dir`: the run's name."""

    scenario: str
    seed: int
    passed: bool
    receipt: Figures
    dir: str
    unmet: list[str]
    notes: list[str]
    variant: str
    prediction: int | None
    moment: MomentOfRun | None
    violations: dict[str, int]
    virtual_s: float
    wall_s: float


class JobError(Closed):
    """Why a job has failed; `place` in the scenario, if it is one."""

    title: str
    place: str | None


class JobView(Closed):
    """Background work. `result` is a scenario's when `kind` is scenario, a verdict when it is verify."""

    id: str
    kind: Literal["scenario", "verify"]
    name: str
    lab: str
    seed: int | None
    live: bool
    run: str | None
    state: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    phase: str
    progress: float
    result: ScenarioResult | Verdict | None
    error: JobError | None
    created: str
    changed: str


class JobsPage(Closed):
    """Newest first."""

    jobs: list[JobView]
    total: int


# -- scenarios, commands --------------------------------------------------------------------
class ScenarioFacts(Closed):
    """A scenario in short."""

    name: str
    title: Titles
    text: Titles
    teaches: list[str]
    subject: str
    seed: int
    steps: int
    duration_us: int
    expect: dict[str, str]
    variant: str
    variants: dict[str, Titles]


class Subject(Closed):
    """Names of the scenarios of one subject; `subject` is empty for those that name none."""

    subject: str
    title: Titles
    scenarios: list[str]


class Scenarios(Closed):
    """All that come with the lab, in the order of the subjects."""

    subjects: list[Subject]
    scenarios: list[ScenarioFacts]


class Obeyed(Closed):
    """What the world says to a command: beside `seq` what its kind of command tells. `pending`: topics, settings and
    records by hand are on their way, and the cluster has not answered yet; `nothing_for_us`: how far a step went that
    found nothing; a list of commands has `results`."""

    ok: Literal[True]
    seq: int | None = None
    id: int | None = None
    pending: bool | None = None
    partition: int | None = None
    offset: int | None = None
    node: str | None = None
    halves: list[list[str]] | None = None
    session: str | None = None
    file: str | None = None
    position: int | None = None
    from_: str | None = Field(None, alias="from")
    to: str | None = None
    kind: str | None = None
    early_us: int | None = None
    speed: float | None = None
    paused: bool | None = None
    nothing_for_us: int | None = None
    results: list[Obeyed] | None = None


# -- reference ------------------------------------------------------------------------------
class SettingMeant(Closed):
    """A setting of brokers or topics: `default` of 3.9, `default_4` of 4.x; `changes` of a broker's, `broker_settings`
    (those that it stands in for) of a topic's."""

    name: str
    of: Literal["broker", "topic"]
    type: str
    default: str | None
    default_4: str | None
    accepts: list[str]
    only_in: str | None
    doc: str
    ko: str
    changes: str | None = None
    broker_settings: list[str] | None = None


class SettingsPage(Closed):
    """One page of settings."""

    items: list[SettingMeant]
    total: int


class EventMeant(Closed):
    """A code of the journal; `params`: name -> meaning."""

    code: str
    level: str
    render: str
    params: dict[str, str]


class EventsRegistry(Closed):
    """All codes."""

    items: list[EventMeant]
    total: int


class CommandMeant(Closed):
    """A command of the vocabulary; exactly one of `one_of` must be there."""

    do: str
    keys: list[str]
    required: list[str]
    one_of: list[str]


class CommandsPage(Closed):
    """All commands."""

    items: list[CommandMeant]
    total: int
