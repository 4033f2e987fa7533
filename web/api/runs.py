"""What runs have left on disk: facts, receipt, journal, history of operations, verification."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from ninja import Router
from pydantic import Field

from broker_core.kernel.problems import problem, told
from lab.branch import Branch
from lab.beginnings import OPENED
from lab.experiments.comparison import compared
from lab.experiments.directory import JOURNAL, OPERATIONS, RUN, DirectoryError, read_facts
from lab.experiments.forks import fork_of
from lab.experiments.journal_file import place_behind
from lab.experiments.packing import MANIFEST
from lab.scenarios.export import export
from web.api import answers, answers_beside, answers_runs, schemas
from web.api.asking import answer, flushed, kept_receipt, raw, run_directory, runs_directory
from web.api.journal_file import whole_lines
from web.api.models import DONE, ENDED, FAILED, Job
from web.api.problems import Problem
from web.api.work import WorkFailed, jobs
from web.language import language_of
from web.live.hub import chosen

router = Router(tags=["runs"])
RECEIPT_S = 60.0
BESIDE_S = 120.0
NDJSON, YAML = "application/x-ndjson", "application/yaml"
SHORT = ("kind", "name", "variant", "seed", "parent", "forked_at_us", "end_us", "events", "operations", "passed")
Wait = Annotated[float, Field(ge=0, le=30)]
Problems = schemas.Problem


def listed(home: Path, limit: int, offset: int) -> tuple[list[dict[str, Any]], int]:
    """One page of the runs in a directory, newest first."""
    paths = [path.parent for path in home.glob(f"*/{RUN}")]
    paths.sort(key=lambda path: [int(part) if part.isdigit() else -1 for part in path.name.split("-")], reverse=True)
    return [_short(path) for path in paths[offset : offset + limit]], len(paths)


def _short(path: Path) -> dict[str, Any]:
    try:
        facts = read_facts(path)
    except DirectoryError as error:
        return {"run": path.name, "error": error.reason.replace(str(path), path.name)}
    found = {"run": path.name, "finished": "end_us" in facts} | {name: facts[name] for name in SHORT if name in facts}
    if facts.get("variant"):
        found["variant_title"] = variant_title(facts)
    if "receipt" in facts:
        found["receipt"] = {name: facts["receipt"][name] for name in schemas.FIGURES}
    return found


def variant_title(facts: dict[str, Any]) -> dict[str, str]:
    """What the variant of a scenario's run is called, in each language."""
    own = (facts.get("scenario") or {}).get("variants") or {}
    return (own.get(facts.get("variant")) or {}).get("title") or {}


@router.get(
    "/runs", response={200: answers_runs.RunsPage, **dict.fromkeys((422, 501, 503), Problems)},
    summary="Runs on disk",
)
async def runs(
    request: HttpRequest, limit: schemas.PageLimit = 50, offset: schemas.Offset = 0
) -> HttpResponse:
    """Newest first: live runs, branches, scenarios."""
    rows, total = await asyncio.to_thread(listed, runs_directory(), limit, offset)
    return answer({"items": rows, "total": total})


@router.get(
    "/runs/{run}", response={200: answers.RunFacts, **dict.fromkeys((404, 409, 501, 503), Problems)}, summary="A run"
)
async def run(request: HttpRequest, run: str) -> HttpResponse:
    """Its description: spec, seed, kind, parent; of a scenario's run also document, receipt and verdict."""
    facts = await asyncio.to_thread(read_facts, run_directory(run))
    return answer({"run": run, "finished": "end_us" in facts, **facts})


@router.get(
    "/runs/{run}/receipt",
    response={200: answers_runs.Receipt, **dict.fromkeys((404, 409, 429, 501, 503, 504), Problems)},
    summary="What was acknowledged, read, lost, is unread, at risk, duplicated, reordered",
)
async def receipt(request: HttpRequest, run: str) -> HttpResponse:
    """Judged from the recorded operations of built-in clients and of records produced by hand, the journal and the
    disks. Of a scenario it is the verdict at its end, of any other run that of now. `lost`: acked, and gone from the
    log of the last leader. `unread`: there, and nobody has read it yet. `at_risk`: on fewer disks than promised (null:
    the disks are not known). `removed`: deleted by a rule before anybody read it. `outside`: what attached clients were
    told, as far as the brokers see it."""
    path = run_directory(run)
    is_open = await flushed(run, disks=True)
    facts = await asyncio.to_thread(read_facts, path)
    source = await asyncio.to_thread(_as_it_was, run, path, facts)
    if source is not None:
        is_open, facts = False, source
    found: dict[str, Any] | None = facts.get("receipt")
    if found is None and is_open:
        found = await kept_receipt(run)
    if found is None or "unread" not in found:  # of a run that goes on, or of one that an older version has judged
        try:
            now: dict[str, Any] = await jobs.result({"do": "receipt", "path": str(path)}, RECEIPT_S)
            found = now
        except WorkFailed as error:
            raise Problem(409, error.problem) from None
    finished = "end_us" in facts and not is_open
    more = {name: facts[name] for name in ("name", "variant", "passed") if name in facts}
    language = language_of(request)
    judged = {name: [told(one, language) for one in facts[name]] for name in ("unmet", "notes") if name in facts}
    return answer({"run": run, "finished": finished, **found, **more, **judged})


def _as_it_was(run: str, path: Path, facts: dict[str, Any]) -> dict[str, Any] | None:
    """Of a run that was opened and has not gone on since: what is known of the one that it is."""
    if facts.get("kind") != OPENED:
        return None
    if (path / MANIFEST).exists():  # its parent is another lab's
        return None
    branch = chosen().lab.branches.get(run)
    end = facts.get("events")
    if isinstance(branch, Branch) and not branch.ended:
        end = branch.world.journal.count
    try:
        source = read_facts(path.parent / str(facts.get("parent")))
    except DirectoryError:
        return None
    return source if "receipt" in source and source.get("events") == end else None


@router.post(
    "/runs/{run}/fork",
    response={202: answers_runs.JobView, **dict.fromkeys((403, 404, 409, 422, 429, 501, 503), Problems)},
    summary="The other course of a scenario's run",
)
async def fork(request: HttpRequest, run: str) -> HttpResponse:
    """From the moment that the scenario's `fork` names its steps go on, with the run's own seed and variant. A new
    run with a receipt of its own; `parent`, `forked_at_seq` and `forked_at_us` say where the two part."""
    path = run_directory(run)
    found = await asyncio.to_thread(fork_of, path)
    facts = await asyncio.to_thread(read_facts, path)
    if "receipt" not in facts:
        raise Problem(409, problem("not_ended", run=run), "run")
    asked_for = {"do": "scenario", "parent": str(path)}
    job = await jobs.start(asked_for, runs_directory(), name=found.name[:200], seed=found.spec.seed)
    response = answer(job.view(), 202)
    response["Location"] = f"/api/jobs/{job.id}"
    return response


@router.get(
    "/runs/{run}/comparison",
    response={200: schemas.Comparison, **dict.fromkeys((404, 422, 501, 503, 504), Problems)},
    summary="Where two runs part, and the longest outage of each",
)
async def comparison(request: HttpRequest, run: str, other: str) -> HttpResponse:
    """`parting`: the last event that both have (`seq`, `t_us`), how many they share, and in `rows` the next event of
    each, as in `labs/lab/events`. `outage`: the longest time in which records waited in a partition and none was
    acknowledged. Open runs up to now."""
    paths = [run_directory(name) for name in (run, other)]
    for name in (run, other):
        await flushed(name)
    return answer(await asyncio.to_thread(compared, *paths))


@router.get(
    "/runs/{run}/beside",
    response={200: answers_beside.Beside, **dict.fromkeys((404, 409, 422, 429, 501, 503, 504), Problems)},
    summary="One scenario in both generations of Kafka, on one clock",
)
async def beside(request: HttpRequest, run: str, other: str) -> HttpResponse:
    """Two runs that a scenario has left, one with ZooKeeper and one with KRaft, each executed again and looked at. All
    times are microseconds from the beginning of the clients. `controller` and `leader`: who was it from when to when
    (null: nobody who runs). `beliefs`: who believes what of `partition`, at each moment at which that changed.
    `figures`: null where the generation has no such thing, or the run's record level does not keep it; `only` names the
    events that one generation alone has."""
    paths = {"path": str(run_directory(run)), "other": str(run_directory(other))}
    try:
        found: dict[str, Any] = await jobs.result({"do": "beside", **paths}, BESIDE_S)
    except WorkFailed as error:
        raise Problem(409, error.problem) from None
    return answer(found)


@router.get(
    "/runs/{run}/journal",
    response={200: schemas.Thing, **dict.fromkeys((404, 422, 501, 503, 504), Problems)},
    summary="The journal, one event a line",
)
async def journal(
    request: HttpRequest, run: str, since: Annotated[int, Field(ge=0, le=1 << 62)] = 0
) -> StreamingHttpResponse:
    """The bytes of the file: `[seq, t_us, node, code, cause, {params}]`. Of an open run up to now."""
    path = run_directory(run) / JOURNAL
    await flushed(run)
    return _stream(path, since)


@router.get(
    "/runs/{run}/operations",
    response={200: schemas.Thing, **dict.fromkeys((404, 501, 503, 504), Problems)},
    summary="The history that the receipt is computed from, one operation a line",
)
async def operations(request: HttpRequest, run: str) -> StreamingHttpResponse:
    """invoke, ok, fail or info of each send, poll and commit."""
    path = run_directory(run) / OPERATIONS
    await flushed(run)
    return _stream(path, None)


def _stream(path: Path, since: int | None) -> StreamingHttpResponse:
    response = StreamingHttpResponse(_pieces(path, since), content_type=NDJSON)
    response["X-Accel-Buffering"] = "no"
    return response


async def _pieces(path: Path, since: int | None) -> AsyncIterator[bytes]:
    """A file piece by piece, each read in a worker thread."""
    with await asyncio.to_thread(open, path, "rb") as file:
        if since:
            file.seek(await asyncio.to_thread(place_behind, file, since))
        pieces = whole_lines(file)
        while piece := await asyncio.to_thread(next, pieces, b""):
            yield piece


@router.get(
    "/runs/{run}/scenario",
    response={200: schemas.Thing, **dict.fromkeys((404, 409, 422, 501, 503, 504), Problems)},
    summary="What was done in a run, as a scenario",
)
async def scenario(request: HttpRequest, run: str) -> HttpResponse:
    """YAML that `./brokerlab run` and `POST scenarios/run` take: cluster, seed, and each command at its time."""
    path = run_directory(run)
    await flushed(run)
    return raw(await asyncio.to_thread(export, path), YAML)


@router.get(
    "/runs/{run}/verify",
    response={200: answers_runs.Verdict, 202: answers_runs.JobView,
              **dict.fromkeys((404, 409, 422, 429, 501, 503, 504), Problems)},
    summary="Execute a run again and hold all that it has left against what comes out",
)  # fmt: skip
async def verify(request: HttpRequest, run: str, wait: Wait = 30) -> HttpResponse:
    """Journal, operations, disks, the receipt and all else in run.json: `differences` names file, place and what was
    expected there. In a process of its own. 202 and the job when it takes longer than `wait` seconds; asking again is
    asking for the same job."""
    path = run_directory(run)
    if await flushed(run):
        raise Problem(409, problem("run_goes_on", run=run), "run")
    job = await jobs.of(run, "verify")
    if job is None or (job.state in ENDED and not await asyncio.to_thread(_still_so, job, path)):
        job = await jobs.start({"do": "verify", "path": str(path)}, path.parent, name=run, run=run)
    job = await jobs.wait(job, wait)
    if job.state == FAILED:
        raise Problem(409, (job.error or {}).get("problem") or problem("not_run_again"))
    if job.state != DONE:
        return answer(job.view(), 202)
    language = language_of(request)
    verdict: dict[str, Any] = job.result or {}
    found = [{**one, "text": told(one, language)} for one in verdict["differences"]]
    return answer({**verdict, "differences": found})


def _still_so(job: Job, path: Path) -> bool:
    """Whether a verdict is there, and nothing in the run has been changed since it was asked for."""
    changed = max(one.stat().st_mtime for one in path.rglob("*") if one.is_file())
    return job.state == DONE and changed < job.created.timestamp()
