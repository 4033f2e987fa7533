"""A lab of this process over REST.

Operations that say `run` mean an open run: the live one when it is left out, a branch by its name.
"""

from __future__ import annotations

import asyncio
import json
import time
from concurrent.futures import Future
from typing import Annotated, Any

from django.http import HttpRequest, HttpResponse
from ninja import Body, Router
from pydantic import Field

from broker_core.kernel.errors import KernelError
from broker_core.kernel.events import REGISTRY
from broker_core.kernel.problems import problem
from lab.clusters.checks import Place, shown
from lab.clusters.vocabulary import check_command
from lab.branch import Branch
from lab.experiments.directory import JOURNAL
from lab.repeating import later_commands
from web.api import answers, answers_runs, journal_file, records, schemas
from web.api.asking import answer, asked, branch_of, flushed, hosted, hosted_run, lab_named, raw, run_directory
from web.api.journal_file import Page, Wanted
from web.api.problems import Problem
from web.api.runs import listed
from web.api.work import Way, jobs
from web.language import language_of
from web.live.lab import OpenRun

router = Router(tags=["labs"])
PROMPT_S = 2.0
LOOK_EVERY_S = 0.05
OBEYS_S = 30.0

Limit = Annotated[int, Field(ge=1, le=10_000)]
Partition = Annotated[int, Field(ge=0, lt=1 << 31)]
Number = Annotated[int, Field(ge=0, le=1 << 31)]
Wait = Annotated[float, Field(ge=0, le=30)]
Problems = schemas.Problem


# -- looking --------------------------------------------------------------------------------
@router.get(
    "/labs/{lab}/snapshot",
    response={200: schemas.Snapshot, 404: Problems, 503: Problems, 504: Problems},
    summary="The whole state",
)
async def snapshot(request: HttpRequest, lab: str, run: str | None = None) -> HttpResponse:
    """Brokers, topics with leader, ISR and log marks, groups, clients, znodes, links: between two events."""
    seq, text = await asked(branch_of(await lab_named(lab), run).snapshot())
    return raw(f'{{"seq":{seq},{text[1:]}')


@router.get(
    "/labs/{lab}/events",
    response={200: schemas.Events, 404: Problems, 410: Problems, 422: Problems, 503: Problems, 504: Problems},
    summary="What happened behind an event",
)
async def events(
    request: HttpRequest, lab: str, since: schemas.Seq = 0, limit: Limit = 1000, codes: str = "",
    topic: str | None = None, partition: Partition | None = None, node: str | None = None, wait: Wait = 0,
    run: str | None = None,
) -> HttpResponse:  # fmt: skip
    """At most `limit` events behind `since`, of these `codes` only (separated by commas), of this `topic`, `partition`
    and `node` (broker-2). Events of one number come together, even when there are more than `limit` of them. `wait`:
    when there is none, up to so many seconds for the first."""
    branch = branch_of(await lab_named(lab), run)
    wanted = Wanted(frozenset(filter(None, codes.split(","))), topic, partition, node)
    if unknown := sorted(wanted.codes - REGISTRY.keys()):
        raise Problem(422, problem("no_event_code", names=unknown), "codes")
    deadline = time.monotonic() + wait
    while True:
        page = await _page(branch, since, limit, wanted)
        if page.rows or page.more or time.monotonic() >= deadline:
            return answer({"items": page.rows, "next": page.next, "more": page.more})
        since = max(since, page.next)
        await _moved(branch, since, deadline)


async def _moved(branch: OpenRun, since: int, deadline: float) -> None:
    """Until something has happened behind `since`: the number is read without asking the world."""
    await asyncio.sleep(LOOK_EVERY_S)
    while branch.clock()["seq"] <= since and time.monotonic() < deadline:
        await asyncio.sleep(LOOK_EVERY_S)


async def _page(branch: OpenRun, since: int, limit: int, wanted: Wanted) -> Page:
    """From the journal's file where there is one, else from what is in memory."""
    if isinstance(branch, Branch):
        await flushed(branch.run_id)
        path = branch.files.path / JOURNAL
        return await asyncio.to_thread(journal_file.read_page, path, since, limit, wanted)
    text = await asked(branch.events_since(since))
    if text is None:
        raise Problem(410, problem("events_gone"), "since")
    return journal_file.page_of(json.loads(text), since, limit, wanted)


@router.get(
    "/labs/{lab}/inspect",
    response={200: answers.Inspected, **dict.fromkeys((404, 422, 501, 503, 504), Problems)},
    summary="One object looked at closely", by_alias=True,
)
async def inspect(request: HttpRequest, lab: str, of: str, name: str = "", run: str | None = None) -> HttpResponse:
    """`of` and `name`: partition orders-0, broker 2, group billing, znode /controller, files orders-0@2,
    bytes orders-0@2:41, dump orders-0@2:00000000000000000000.log (and :BYTE for a later page), balance (leaders and
    replicas of each broker), config topic:orders or broker:2, metrics (Kafka's names), lights (what each invariant
    says)."""
    branch = branch_of(await lab_named(lab), run)
    return answer(await asked(branch.inspect(of, name)))


# -- commanding -----------------------------------------------------------------------------
@router.post(
    "/labs/{lab}/commands",
    response={200: answers_runs.Obeyed, **dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 503, 504), Problems)},
    summary="Do one command, or a list of them in order", by_alias=True,
)
async def commands(
    request: HttpRequest, lab: str, command: Annotated[schemas.Commands, Body(...)], run: str | None = None,
) -> HttpResponse:  # fmt: skip
    """The same object as in a scenario or a click: `{"do": "kill", "leader_of": "orders-0"}`. A list is
    checked as a whole before the first is carried out; it ends at the first that the world refuses, and
    the problem's `place` (`[1].broker`) and `done` say how far it came."""
    branch = branch_of(await lab_named(lab), run)
    if not isinstance(command, list):
        return answer(await _obey(branch, _checked(command, ()), ()))
    return answer(await obey_all(branch, command))


def _checked(command: schemas.Command, place: Place) -> dict[str, Any]:
    """The plain command; what it lacks is told before the world sees it. Time is the pump's, not the world's."""
    found = command.model_dump()
    if found["do"] != "time":
        check_command(found, place)
    return found


async def obey_all(branch: Any, given: list[schemas.Command], at: Place = ()) -> dict[str, Any]:
    """Check all, then carry them out one after another. `at`: where in the body the list stands."""
    checked = [_checked(one, (*at, index)) for index, one in enumerate(given)]
    results: list[dict[str, Any]] = []
    for index, one in enumerate(checked):
        results.append(await _obey(branch, one, (*at, index)))
    return {"ok": True, "seq": results[-1].get("seq") if results else None, "results": results}


async def _obey(branch: Any, command: dict[str, Any], at: Place) -> dict[str, Any]:
    """What is asked twice would be done twice: a world that is busy is waited for."""
    result: dict[str, Any] = await asked(branch.submit(command), OBEYS_S)
    if result.get("ok"):
        return result
    more = {"code": result["code"]} if "code" in result else {}
    if at:
        more["done"] = at[-1]  # so many were carried out before it
    raise Problem(422, result["problem"], shown((*at, str(result.get("place") or "do"))), **more)


# -- runs of the lab ------------------------------------------------------------------------
@router.get(
    "/labs/{lab}/runs",
    response={200: schemas.Runs, **dict.fromkeys((404, 422, 501, 503), Problems)},
    summary="Open branches, and all runs on disk",
)
async def runs(
    request: HttpRequest, lab: str, limit: schemas.PageLimit = 50, offset: schemas.Offset = 0
) -> HttpResponse:
    """Newest first. A run on disk can be opened; it is executed again for that."""
    found = hosted(await lab_named(lab))
    opened = [branch.view() for branch in list(found.branches.values())]
    rows, total = await asyncio.to_thread(listed, found.data / "runs", limit, offset)
    return answer({"items": rows, "total": total, "open": opened})


@router.post(
    "/labs/{lab}/forks",
    response={201: schemas.Branch, 202: answers_runs.JobView,
              **dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 501, 503, 504), Problems)},
    summary="Go on from any moment with other settings", by_alias=True,
)
async def fork(request: HttpRequest, lab: str, fork: schemas.Fork, wait: Wait = PROMPT_S) -> HttpResponse:
    """A new branch, paused right behind event `seq` (or at `t_us`) of an open run; the old one stays. The
    `commands` are carried out in it at that moment; `{"do": "time", "speed": "play"}` lets it go on. When one of
    them is refused the branch is closed again. With `repeat` what was done in the parent from that moment until now is
    done in the branch, too, each command at its own time of the cluster (`repeats` says how many; what clients from
    outside have sent is not repeated). What takes longer than `wait` seconds is a job with its progress; a job that is
    cancelled leaves no branch."""
    found = hosted(await lab_named(lab))
    if fork.seq is not None and fork.t_us is not None:
        raise Problem(422, problem("seq_and_time"), "t_us")
    parent = branch_of(found, fork.run)
    if fork.t_us is not None and fork.t_us > parent.clock()["t"]:
        raise Problem(422, problem("come_to_time", run=parent.run_id, t_us=parent.clock()["t"]), "t_us")
    if fork.seq is not None and fork.seq > parent.clock()["seq"]:
        raise Problem(422, problem("come_to_event", run=parent.run_id, seq=parent.clock()["seq"]), "seq")
    for index, one in enumerate(fork.commands):
        _checked(one, ("commands", index))
    seq = parent.clock()["seq"] if fork.seq is None and fork.t_us is None else fork.seq
    way = Way()
    made = found.fork(parent.run_id, seq=seq, t_us=fork.t_us, progress=way.come)
    return await _begun(found, made, way, wait, fork, kind="fork", name=parent.run_id, seed=found.spec.seed)


@router.post(
    "/labs/{lab}/runs/{run}/open",
    response={201: schemas.Branch, 202: answers_runs.JobView,
              **dict.fromkeys((400, 403, 404, 409, 413, 415, 422, 501, 503, 504), Problems)},
    summary="Open a finished run", by_alias=True,
)
async def open_run(request: HttpRequest, lab: str, run: str, wait: Wait = PROMPT_S) -> HttpResponse:
    """It is executed again to its end and paused there; from then on it is a branch that can be forked. What takes
    longer than `wait` seconds is a job with its progress."""
    found = hosted(await lab_named(lab))
    run_directory(run)
    way = Way()
    return await _begun(found, found.open_run(run, way.come), way, wait, None, kind="open", name=run)


async def _begun(
    lab: Any, made: Future[str], way: Way, wait: float, asked_for: schemas.Fork | None, **facts: Any
) -> HttpResponse:
    """The branch, or the job that it will come from."""
    work = asyncio.create_task(_made(lab, made, asked_for))
    done, _ = await asyncio.wait([work], timeout=wait)
    if done:
        name, more = work.result()
        return answer({**lab.branch(name).view(), **more}, 201)
    job = await jobs.follow(_as_result(lab, work), way, **facts)
    response = answer(job.view(), 202)
    response["Location"] = f"/api/jobs/{job.id}"
    return response


async def _made(lab: Any, made: Future[str], asked_for: schemas.Fork | None) -> tuple[str, dict[str, Any]]:
    """The branch's name, and what its commands answer; when one is refused it is closed again."""
    name = await asyncio.wrap_future(made)
    more: dict[str, Any] = {}
    if asked_for is None:
        return name, more
    branch = lab.branch(name)
    try:
        if asked_for.repeat:
            more["repeats"] = await _repeated(branch)
        obeyed = await obey_all(branch, asked_for.commands, ("commands",)) if asked_for.commands else {"results": []}
    except Problem:
        await asked(lab.close_branch(name))
        raise
    return name, {"results": obeyed["results"], **more}


async def _repeated(branch: Branch) -> int:
    """How many commands of its parent's a fork will carry out."""
    if branch.rest is None:
        return 0
    await flushed(str(branch.parent))
    try:
        later = await asyncio.to_thread(later_commands, *branch.rest)
    except KernelError as error:
        raise Problem(409, error.problem, "repeat") from None
    await asked(branch.repeat(later))
    return len(later)


async def _as_result(lab: Any, work: asyncio.Task[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    name, more = await work
    return {"run": name, "forked_at_us": lab.branch(name).forked_at_us, **more}


@router.delete(
    "/labs/{lab}/runs/{run}",
    response={204: None, **dict.fromkeys((403, 404, 409, 501, 503, 504), Problems)},
    summary="Close a branch",
)
async def close(request: HttpRequest, lab: str, run: str) -> HttpResponse:
    """Its directory stays; the live run cannot be closed."""
    found = hosted(await lab_named(lab))
    branch_of(found, run)
    await asked(found.close_branch(run))
    return HttpResponse(status=204)


# -- records --------------------------------------------------------------------------------
@router.get(
    "/labs/{lab}/topics/{topic}/records",
    response={200: answers_runs.RecordsPage, **dict.fromkeys((404, 409, 416, 422, 501, 503, 504), Problems)},
    summary="Records of a partition, as any replica has them",
)
async def topic_records(
    request: HttpRequest, lab: str, topic: str, partition: Number = 0, offset: schemas.Offset | None = None,
    limit: schemas.PageLimit = 100, replica: Number | None = None, fields: bool = False, run: str | None = None,
) -> HttpResponse:  # fmt: skip
    """Whole batches from the one that holds `offset` on, with their facts and bytes in hex (`fields`: and
    which bytes mean what), and their records decoded. `replica`: a broker's id, the leader without one;
    also of a broker that is down. `committed`: below that replica's high watermark."""
    branch = hosted_run(await lab_named(lab), run)
    found = await asked(
        branch.ask(records.read_bytes, branch.world, branch.spec, topic, partition, offset, replica)
    )
    shown = await asyncio.to_thread(records.decode, found, offset, limit, fields, language_of(request))
    return answer({"topic": topic, "partition": partition, **shown})
