"""What runs and records answer, as the description (OpenAPI) shows it: records, receipts, jobs, lists of things.

Objects are closed: a key that is not here does not come; null or missing where it says so. The code that makes them
stands in `web.api.records`, `lab.checkers.receipt`, `lab.experiments.run`; tests hold real answers against these.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from web.api.answers_bytes import Closed, Coded
from web.api.answers_exercises import GradeView, Titles


class Told(Coded):
    """A problem and its sentence in the language of the request."""

    text: str


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
    error: Told | None = None


class RecordsPage(Closed):
    """Records from an offset on; the next page begins at `next`. Of a broker that is down the marks are null.
    `last_stable_offset`: read_committed consumers read below it (open transactions begin there)."""

    topic: str
    partition: int
    replica: int
    leader: int
    running: bool
    log_start_offset: int
    log_end_offset: int | None
    high_watermark: int | None
    last_stable_offset: int | None
    batches: list[BatchView]
    records: list[RecordView]
    next: int
    more: bool


# -- receipts -------------------------------------------------------------------------------
class Figures(Closed):
    """What a list of runs tells of a receipt."""

    acked: int
    read: int
    lost: int
    duplicated: int
    reordered: int


class ProducerFigures(Figures):
    """The figures of a receipt that each producer has, too."""

    unread: int
    at_risk: int | None
    removed: int


class PlaceOfValue(Closed):
    """Where something was found. A value is `producer` and `number`, or the `text` of a record by hand."""

    producer: str | None = None
    number: int | None = None
    text: str | None = None
    topic: str
    partition: int
    offset: int | None
    test: str | None = None
    copies: int | None = None
    behind: int | None = None
    reader: str | None = None
    last_read: int | None = None
    step: int | None = None
    process: str | None = None
    last_acked: int | None = None
    t_us: int | None = None
    transaction: str | None = None
    cycle: str | None = None


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
    unread_records: int
    at_risk_records: int | None
    duplicated_records: int
    removed_records: int
    places: list[PlaceOutside]
    complete: bool
    note: str


class Receipt(ProducerFigures):
    """All figures (docs/scenarios.md says what each counts), per producer, and where. `outside` unless a scenario has
    left the run; of a scenario also the verdict."""

    run: str
    finished: bool
    inconsistent: int
    failed_read: int
    aborted: int
    aborted_read: int
    write_cycle: int
    read_cycle: int
    precommitted_read: int
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


class Difference(Told):
    """What is not as it should be: file, place, what was expected there; `text` says it."""


class Verdict(Closed):
    """Whether all of a run came out as it is recorded: journal, operations, disks, receipt, run.json."""

    same: bool
    events: int
    differences: list[Difference]


class Unpacked(Closed):
    """A run that was taken in. `packed_as`: its name where it was packed; `sha256`: over everything."""

    run: str
    packed_as: str
    sha256: str


class MomentOfRun(Closed):
    """The moment that the scenario points at."""

    seq: int
    t_us: int


class StopOfRun(MomentOfRun):
    """An event at which the playing of the run stands still; `say`: its caption, {language: text}."""

    event: str
    say: dict[str, str] | None = None


class ScenarioResult(Closed):
    """How a scenario has ended. `prediction`: the index of the choice that was right; `answer`: the number, or the
    broker, that it asked for instead; `dir`: the run's name."""

    scenario: str
    seed: int
    passed: bool
    receipt: ProducerFigures
    dir: str
    unmet: list[str]
    notes: list[str]
    variant: str
    prediction: int | None
    answer: int | None
    moment: MomentOfRun | None
    stops: list[StopOfRun]
    violations: dict[str, int]
    virtual_s: float
    wall_s: float


class Begun(Closed):
    """The branch that a fork, or opening a run, has led to; `repeats`: so many commands of its parent."""

    run: str
    forked_at_us: int
    results: list[Obeyed] | None = None
    repeats: int | None = None


class JobError(Closed):
    """Why a job has failed; `place` in the scenario, if it is one."""

    title: str
    place: str | None
    problem: Coded | None = None


class JobView(Closed):
    """Background work. `result`: how a scenario ended, a verdict (verify), the new branch (fork, open)."""

    id: str
    kind: Literal["scenario", "verify", "fork", "open", "attempt"]
    name: str
    lab: str
    seed: int | None
    live: bool
    run: str | None
    state: Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]
    phase: str
    progress: float
    result: ScenarioResult | Verdict | Begun | GradeView | None
    error: JobError | None
    created: str
    changed: str


class JobsPage(Closed):
    """Newest first."""

    items: list[JobView]
    total: int


# -- scenarios, commands --------------------------------------------------------------------
class ScenarioFacts(Closed):
    """A scenario in short. `generation`: that of its document; `generations`: in which it holds, each with the text
    that says why something is different there; empty when it does not say."""

    name: str
    title: Titles
    text: Titles
    teaches: list[str]
    subject: str
    minutes: int | None
    level: int | None
    seed: int
    steps: int
    duration_us: int
    expect: dict[str, str]
    variant: str
    variants: dict[str, Titles]
    generation: str
    generations: dict[str, Titles]


class Subject(Closed):
    """Names of the scenarios of one subject, in the order of the way; `text`: what its track is about. `subject` is
    empty and `text` null for those that name none."""

    subject: str
    title: Titles
    text: Titles | None
    scenarios: list[str]


class Scenarios(Closed):
    """All that come with the lab, in the order of the subjects."""

    items: list[ScenarioFacts]
    total: int
    subjects: list[Subject]


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
