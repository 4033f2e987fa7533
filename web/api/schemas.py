"""What goes in and out, as the description (OpenAPI) shows it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from ninja import Schema
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from lab.scenarios.reading import read
from web.api.answers import BranchFacts
from web.api.answers_bytes import Closed, Coded
from web.api.answers_runs import Obeyed, RunListed, ScenarioFacts

FIGURES = ("acked", "read", "lost", "duplicated", "reordered")
Seq = Annotated[int, Field(ge=0, le=(1 << 62))]
PageLimit = Annotated[int, Field(ge=1, le=500)]
Offset = Annotated[int, Field(ge=0, le=1 << 62)]
HintCount = Annotated[int, Field(ge=0, le=100)]
Seed = Annotated[int, Field(ge=0, le=(1 << 62))]


class Expected(Schema):
    """What would be taken at a place: type and limits of JSON Schema, several of them (`any_of`), or the known keys."""

    model_config = ConfigDict(extra="allow")
    type: str | None = None
    enum: list[Any] | None = None
    keys: list[str] | None = None
    any_of: list[dict[str, Any]] | None = None


class InvalidValue(Schema):
    """One value that the description does not allow."""

    place: str
    code: Literal["missing", "unknown-key", "wrong-type", "out-of-range", "wrong-length", "not-one-of", "not-valid"]
    detail: str
    expected: Expected | None = None


class Problem(Schema):
    """RFC 9457. `code`: what is wrong with the value at `place`, or Kafka's name of what the cluster refuses with.
    `problem`: `detail` as a code with parameters."""

    model_config = ConfigDict(extra="allow")
    type: str
    title: str
    status: int
    detail: str | None = None
    place: str | None = None
    code: str | None = None
    problem: Coded | None = None
    errors: list[InvalidValue] | None = None


class Thing(Schema):
    """An object whose further keys the text of the operation describes."""

    model_config = ConfigDict(extra="allow")


class Command(BaseModel):
    """One command of the vocabulary: `do`, and what that command needs. `GET /api/commands` lists them."""

    model_config = ConfigDict(extra="allow", json_schema_extra={"examples": [{"do": "kill", "leader_of": "orders-0"}]})
    do: str


def _one_or_many(value: Any) -> str:
    return "<list>" if isinstance(value, list) else "<one>"


ManyCommands = Annotated[list[Command], Field(min_length=1, max_length=100)]
Commands = Annotated[
    Annotated[Command, Tag("<one>")] | Annotated[ManyCommands, Tag("<list>")], Discriminator(_one_or_many)
]


class Fork(BaseModel):
    """Where a branch begins: behind event `seq`, or at `t_us`; without both, at this moment. `repeat`: what was done in
    the parent from then on is done in the branch, too, each command at its own time of the cluster."""

    model_config = ConfigDict(extra="forbid")
    run: str | None = None
    seq: Seq | None = None
    t_us: Seq | None = None
    commands: Annotated[list[Command], Field(max_length=100)] = []
    repeat: bool = False


class WaitFor(BaseModel):
    """What is waited for: `when` as in a step of a scenario, `{"leader_of": "orders-0", "is": "changed"}`."""

    model_config = ConfigDict(extra="forbid")
    when: dict[str, Any]
    within: str | Annotated[float, Field(ge=0, le=1e9)] = "60s"
    before: Annotated[int, Field(ge=-1, le=1 << 62)] | Annotated[str, Field(max_length=20)] | None = None
    pause: bool = False


class Document(BaseModel):
    """A scenario: as YAML text, or as the same document in JSON."""

    model_config = ConfigDict(extra="forbid")
    yaml: Annotated[str, Field(max_length=1_000_000)] | None = None
    document: dict[str, Any] | None = None


Generation = Literal["zookeeper", "kraft"]


class CheckDocument(Document):
    """A scenario to be checked; `controller`: as it is in that generation of Kafka."""

    controller: Generation | None = None

    def cluster(self) -> dict[str, Any]:
        """What takes the place of keys of the scenario's cluster."""
        return {"controller": self.controller} if self.controller else {}


class Attempt(BaseModel):
    """What is tried: levers of the exercise with their values, and steps as in a scenario. `hints`: how many were
    taken; their price goes off."""

    model_config = ConfigDict(extra="forbid")
    set: dict[str, str | int | bool] = {}
    steps: Annotated[list[dict[str, Any]], Field(max_length=20)] | Annotated[str, Field(max_length=10_000)] = []
    hints: HintCount = 0

    def plain(self) -> dict[str, Any]:
        """As `lab.exercises.levers` takes it. Raises ScenarioError where steps in YAML are none."""
        steps = read(as_items(self.steps), "steps")[1] if isinstance(self.steps, str) else list(self.steps)
        return {"set": dict(self.set), "steps": steps}


def as_items(text: str) -> str:
    """Steps as they are typed, one a line: `at: 6s, do: kill, broker: 1` stands for the item `- {at: 6s, ...}`."""
    return "\n".join(f"- {{{line}}}" if line[:1].isalpha() else line for line in text.splitlines())


class OwnAttempt(Document):
    """An exercise of one's own and an attempt at it, or which of the two that stand in it."""

    attempt: Attempt | Literal["solution", "wrong"] = "solution"


class MakeLink(Document):
    """A scenario that is to become a link; `variant`: one of its settings."""

    variant: Annotated[str, Field(max_length=200)] | None = None


class GivenLink(BaseModel):
    """The packed text, or a whole address that ends with it."""

    model_config = ConfigDict(extra="forbid")
    link: Annotated[str, Field(max_length=200_000)]


class Link(Schema):
    """`link`: the packed text; `address`: the page that opens with it."""

    link: str
    address: str
    scenario: str
    variant: str


class RunOptions(BaseModel):
    """How a scenario is run. `seed`: instead of the file's; `live`: in step with the wall clock; `variant`: with
    another of its settings, `fork` or `VARIANT/fork`: on its other course; `controller`, `controllers`: in another
    generation of Kafka than the file says, with so many dedicated controllers (KRaft only); `combined`: with so many
    brokers that are controllers, too (KRaft only, without dedicated ones); `ensemble`: with so many coordination
    servers (ZooKeeper only); `quorum`: with voters that are static or dynamic (KRaft only); `era`: with the defaults of
    that Kafka, its controller among them."""

    model_config = ConfigDict(extra="forbid")
    seed: Seed | None = None
    variant: Annotated[str, Field(max_length=200)] | None = None
    live: bool = False
    controller: Generation | None = None
    era: Literal["2.x", "3.9", "4.3"] | None = None
    controllers: Annotated[int, Field(ge=0, le=5)] | None = None
    combined: Annotated[int, Field(ge=0, le=5)] | None = None
    ensemble: Annotated[int, Field(ge=1, le=5)] | None = None
    quorum: Literal["static", "dynamic"] | None = None

    def cluster(self) -> dict[str, Any]:
        """What takes the place of keys of the scenario's cluster."""
        given = {"controller": self.controller, "controllers": self.controllers, "ensemble": self.ensemble,
                 "combined": self.combined, "quorum": self.quorum, "era": self.era}
        return {name: value for name, value in given.items() if value is not None}


class RunDocument(Document, RunOptions):
    """A scenario of one's own and how it is run."""


class Snapshot(Schema):
    """The state between two events, in the shape that the page's reducers keep."""

    seq: int
    run: str
    epoch: int
    t: int
    state: dict[str, Any]


class Events(Schema):
    """Rows `[seq, t_us, code, node, cause, {params}]`; the next page begins behind `next`."""

    items: list[list[Any]]
    next: int
    more: bool


class Outage(Schema):
    """Records waited from `from_us` to `until_us`; `over`: then one was acknowledged."""

    partition: str
    from_us: int
    until_us: int
    over: bool


class RunOutage(Schema):
    """A run and its longest outage; null when no record ever waited."""

    run: str
    outage: Outage | None


class Parting(Schema):
    """The last common event, how many are common, and the next one of each run (null: it has no more)."""

    seq: int
    t_us: int
    events: int
    rows: list[list[Any] | None]


class Comparison(Schema):
    """Two runs side by side."""

    runs: list[RunOutage]
    parting: Parting


class LabView(Closed):
    """A lab in short: its clock, and which of its `limits` it is `over`; of one with a world of its own also where its
    brokers listen, its open runs, and whether it sleeps until somebody needs it."""

    id: str
    owner: str | None = None
    run: str
    epoch: int
    seq: int
    t: int
    speed: float | None = None
    paused: bool | None = None
    over: list[str] | None = None
    seed: int | None = None
    preset: str | None = None
    era: str | None = None
    controller: str | None = None
    bootstrap: str | None = None
    open: list[str] | None = None
    asleep: bool | None = None
    limits: dict[str, int] | None = None


class Labs(Closed):
    """The labs that run in this process, its own first; `resting`: names of those that start when they are asked for;
    `room`: how many more can be begun."""

    items: list[LabView]
    total: int
    resting: list[str]
    room: int


class Branch(BranchFacts):
    """An open run; of a fork also what its commands have answered, and how many of its parent's it `repeats`."""

    results: list[Obeyed] | None = None
    repeats: int | None = None


class Runs(Closed):
    """Open branches, and one page of all runs on disk, newest first."""

    items: list[RunListed]
    total: int
    open: list[BranchFacts]


class ScenarioView(ScenarioFacts):
    """A scenario with its document and its text."""

    document: dict[str, Any]
    yaml: str


class Valid(ScenarioFacts):
    """What a checked scenario is."""

    valid: Literal[True]
    scenario: str
    document: dict[str, Any]
