"""What goes in and out of replays, sweeps and rolling figures, as the description (OpenAPI) shows it."""

from __future__ import annotations

from typing import Annotated, Any

from ninja import Schema
from pydantic import BaseModel, ConfigDict, Field

from web.api.schemas import Seed, Thing

Key = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,80}$")]
Text = Annotated[str, Field(pattern=r"^[^,=\s]{1,80}$")]
Value = Text | Annotated[int, Field(ge=-(1 << 62), le=1 << 62)] | float
Axis = Annotated[list[Value], Field(min_length=1, max_length=12)]


class WorkView(Schema):
    """`state`: queued, running, done, failed or cancelled. `restarts`: how often the worker has died under it, `died`:
    of what. `stages`: tasks of what Spark computes. `error` and `died` are problems: a code and parameters."""

    id: str
    state: str
    error: Thing | None
    session_s: float | None
    stages: list[Thing]
    restarts: int
    died: Thing | None


class ReplayRequest(BaseModel):
    """Which questions Spark answers; all of them without `query`."""

    model_config = ConfigDict(extra="forbid")
    query: Annotated[list[str], Field(max_length=50)] = []


class ReplayView(WorkView):
    """A replay: `answers` are tables with a title, a sentence of reading and the plot that fits them."""

    run: str
    progress: float
    step: str
    answers: list[Thing]
    report: str | None


class Replays(Schema):
    """Those of this process, the newest first, without their answers."""

    items: list[Thing]
    total: int


class ClassReportView(WorkView):
    """What Spark says of a class: `answers` are tables with a title, a sentence of reading and the plot that fits."""

    code: str
    progress: float
    answers: list[Thing]
    report: str | None


class SweepRequest(BaseModel):
    """A scenario of the lab by its name (`scenario`) or one's own as text (`yaml`), values for each key of the grid,
    and seeds: `1..20`, `3,7,9` or both."""

    model_config = ConfigDict(extra="forbid")
    scenario: str | None = None
    yaml: Annotated[str, Field(max_length=1_000_000)] | None = None
    grid: Annotated[dict[Key, Axis], Field(max_length=4)] = {}
    seeds: Annotated[str, Field(pattern=r"^[0-9.,]{1,200}$")] = "1..10"


class SweepView(WorkView):
    """A sweep: `keys` are the axes, `cells` the table so far; `own`: of a scenario that came as text."""

    scenario: str
    own: bool
    keys: dict[str, list[str]]
    seeds: int
    seeds_written: str
    done: int
    bad: int
    total: int
    runs_a_minute: float
    cells: list[Thing]
    report: str | None


class Sweeps(Schema):
    """Those of this process, the newest first."""

    items: list[SweepView]
    total: int


class SweepRuns(Schema):
    """Runs of a sweep: those that lost most first."""

    items: list[Thing]
    total: int


class SweepRun(BaseModel):
    """One run of a sweep, by its cell and its seed."""

    model_config = ConfigDict(extra="forbid")
    cell: Annotated[str, Field(max_length=400)]
    seed: Seed


class RollingView(WorkView):
    """Rolling figures of an open run. `behind_s`: how far Spark was behind the run's clock when the last ones came."""

    run: str
    figures: dict[str, Any] | None
    history: list[Thing]
    behind_s: float | None
    age_s: float | None


class SparkView(Schema):
    """Whether Spark can work here, and if not, why and what to do."""

    installed: bool
    missing: str | None
    pid: int | None
    can_install: bool
    install: Thing | None
    questions: list[Thing]
