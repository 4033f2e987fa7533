"""Questions of a viewer that are not commands: the past, other runs, what two runs differ in.

| what | with | answer |
|---|---|---|
| history | seq, after | `snap` at a keyframe at or before `seq`, `ev`: the rows behind it (behind `after`), \
`progress` rows among them for what clients had done by then, \
`last`: seq of the last one, `whole`: false when rows up to the next keyframe are left |
| story | seq | `ev`: the newest state transitions of each kind up to `seq`, for what is no longer loaded |
| fork | seq, commands | `run`: a new branch, paused right behind event `seq` of this run |
| open | name | `run`: a run of the lab's directory, executed again |
| close | name | |
| export | name | `yaml` and `link`: what was done in a run of the lab's directory |
| inspect | of, name | `t`, `found`: one object looked at closely (`lab.clusters.inspect`) |
| message | seq, from, to, api, version, correlation, answer | one message as bytes with its fields (`lab.recall`) |
| outline | names | `runs`: for each name its partitions with marks and a hash of their contents |

A fork and an opened run take a while: `progress` says which share of the run has been executed again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

import orjson

from broker_core.kernel.errors import CommandError, Refusal
from broker_core.kernel.problems import problem
from lab.branch import Branch, BranchError
from lab.checkers.flights import NoMessage, look, wanted_of
from lab.experiments.directory import DirectoryError, read_facts
from lab.live import LiveLab
from lab.recall import recall
from web.live.hub import Hub, LabHub
from web.live.outline import outline
from web.live.remote import RemoteLab
from web.live.sharing import NotShared, exported

Tell = Callable[[float], Awaitable[None]]
TELL_SECONDS = 0.15
COMMANDS = 100
T = TypeVar("T")


class Refused(Refusal):
    """What was asked for makes no sense."""


async def answer(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """The acknowledgement of a question, as text."""
    number = json.dumps(message.get("id"))
    try:
        if isinstance(main.lab, RemoteLab):  # another process hosts the lab, and answers
            work = _Progress(1)
            return await work.follow(main.lab.question(looked_at.run.run_id, message, work.reached), tell)
        ask = KINDS.get(str(message.get("what")))
        if ask is None:
            raise Refused(problem("unknown_question", given=str(message.get("what")), known=list(KINDS)))
        found = await ask(main, looked_at, message, tell)
    except (BranchError, CommandError, DirectoryError, NoMessage, Refused) as error:
        return json.dumps({"k": "ack", "id": message.get("id"), "ok": False, "problem": error.problem})
    except NotShared as error:
        refusal = {"ok": False, "problem": error.problem, "code": error.code, "place": error.place}
        return json.dumps({"k": "ack", "id": message.get("id"), **refusal})
    return f'{{"k":"ack","id":{number},"ok":true,{found[1:]}'


def _hosted(main: LabHub) -> LiveLab:
    if not isinstance(main.lab, LiveLab):
        raise Refused(problem("no_branches"))
    return main.lab


def _branch(main: LabHub, looked_at: Hub) -> Branch:
    """The branch that is looked at."""
    return _hosted(main).branch(looked_at.run.run_id)


async def history(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Texts are put together, not read and written again: they can be long."""
    after = _whole(message, "after") if "after" in message else 0
    found = await asyncio.wrap_future(_branch(main, looked_at).history(_whole(message, "seq"), after))
    facts = json.dumps({key: found[key] for key in ("seq", "t", "last", "whole")})
    return f'{facts[:-1]},"snap":{found["snap"]},"ev":{found["ev"]}}}'


async def story(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """What happened before the events that a viewer has loaded."""
    rows: str = await asyncio.wrap_future(_branch(main, looked_at).story(_whole(message, "seq")))
    return f'{{"ev":{rows}}}'


def _whole(message: dict[str, Any], key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused(problem("key_from_zero", key=key))
    return value


async def fork(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Refused commands are told, the branch is there all the same."""
    lab, parent = _hosted(main), _branch(main, looked_at)
    commands = message.get("commands") or []
    if not isinstance(commands, list) or len(commands) > COMMANDS or not all(isinstance(one, dict) for one in commands):
        raise Refused(problem("commands_list", most=COMMANDS))
    seq = _whole(message, "seq")
    work = _Progress(1)
    name = await work.follow(lab.fork(parent.run_id, seq=seq, progress=work.reached), tell)
    branch, refused = lab.branch(name), []
    for command in commands:
        result = await asyncio.wrap_future(branch.submit(command))
        if not result.get("ok"):
            refused.append({"command": command, "problem": result["problem"], "place": result.get("place")})
    return json.dumps({**branch.view(), "refused": refused})


async def open_run(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """A name, not a path: what is read lies in the lab's directory."""
    lab, name = _hosted(main), str(message.get("name"))
    if name not in lab.branches:
        if "/" in name or name.startswith("."):
            raise Refused(problem("no_run", run=name))
        await asyncio.to_thread(read_facts, lab.data / "runs" / name)
        work = _Progress(1)
        name = await work.follow(lab.open_run(name, progress=work.reached), tell)
    return json.dumps(lab.branch(name).view())


async def close(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    await asyncio.wrap_future(_hosted(main).close_branch(str(message.get("name"))))
    return json.dumps({"run": message.get("name")})


async def outlines(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Both runs are asked between two of their events."""
    names = message.get("names")
    if not isinstance(names, list) or not 1 <= len(names) <= 4:
        raise Refused(problem("four_runs"))
    found = {}
    for name in names:
        branch = _hosted(main).branch(str(name))
        found[branch.run_id] = {**branch.view(), **await asyncio.wrap_future(branch.ask(outline, branch.world))}
    return json.dumps({"runs": found})


async def inspect(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Of the run that is looked at, as it is now."""
    question = looked_at.run.inspect(str(message.get("of")), str(message.get("name", "")))
    return orjson.dumps(await asyncio.wrap_future(question), option=orjson.OPT_NON_STR_KEYS).decode()


async def one_message(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Under way now, or found by executing the run again beside the lab's own thread."""
    branch, wanted = _branch(main, looked_at), wanted_of(message)
    found = await asyncio.wrap_future(branch.ask(look, branch.world, wanted))
    if found is None:
        await _flushed(branch)
        work = _Progress(max(1, message.get("t") or branch.clock()["t"]))
        searched = asyncio.to_thread(recall, branch.files.path, wanted, work.reached, branch.keeper)
        found = await work.follow(searched, tell)
    return orjson.dumps(found).decode()


async def share(main: LabHub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Of an open run as far as it has come."""
    lab, name = _hosted(main), str(message.get("name"))
    branch = lab.branches.get(name)
    if branch is not None and not branch.ended:
        await _flushed(branch)
    elif "/" in name or name.startswith("."):
        raise Refused(problem("no_run", run=name))
    return await exported(lab.data / "runs" / name)


async def _flushed(branch: Branch) -> None:
    """What has happened stands in the files, also what a fork has in common with its parent."""
    await asyncio.wrap_future(branch.ask(branch.files.flush, branch.world))
    await asyncio.to_thread(branch.files.wait)


class _Progress:
    """How far a re-execution has come of `whole`, from the world's thread to one viewer, a few times a second."""

    def __init__(self, whole: int) -> None:
        self.whole = whole
        self.come: float = 0

    def reached(self, come: float) -> None:
        self.come = come

    async def follow(self, work: Future[T] | Coroutine[Any, Any, T], tell: Tell) -> T:
        """The result; its progress is told meanwhile. When nobody listens any more, it is given up."""
        wrapped = asyncio.wrap_future(work) if isinstance(work, Future) else asyncio.ensure_future(work)
        try:
            while True:
                done, _ = await asyncio.wait([wrapped], timeout=TELL_SECONDS)
                if done:
                    return wrapped.result()
                await tell(min(1.0, self.come / self.whole))
        except BaseException:
            wrapped.cancel()
            raise


KINDS: dict[str, Callable[[LabHub, Hub, dict[str, Any], Tell], Awaitable[str]]] = {
    "history": history, "story": story, "fork": fork, "open": open_run, "close": close, "outline": outlines,
    "inspect": inspect, "export": share, "message": one_message,
}  # fmt: skip
