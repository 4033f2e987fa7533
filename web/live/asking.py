"""Questions of a viewer that are not commands: the past, other runs, what two runs differ in.

| what | with | answer |
|---|---|---|
| history | seq, after | `snap` at a keyframe at or before `seq`, `ev`: the rows behind it (behind `after`), \
`progress` rows among them for what clients had done by then, \
`last`: seq of the last one, `whole`: false when rows up to the next keyframe are left |
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

from broker_core.kernel.errors import CommandError
from lab.branch import BranchError
from lab.checkers.flights import NoMessage, look, wanted_of
from lab.experiments.directory import DirectoryError, read_facts
from lab.recall import recall
from web.api.problems import told
from web.live.hub import Hub
from web.live.outline import outline
from web.live.sharing import NotShared, exported

Tell = Callable[[float], Awaitable[None]]
TELL_SECONDS = 0.15
COMMANDS = 100
T = TypeVar("T")


class Refused(Exception):
    """What was asked for makes no sense; the text says why."""


async def answer(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """The acknowledgement of a question, as text."""
    number = json.dumps(message.get("id"))
    try:
        if hasattr(main.lab, "question"):  # another process hosts the lab, and answers
            work = _Progress(1)
            return await work.follow(main.lab.question(looked_at.lab.run_id, message, work.reached), tell)
        ask = KINDS.get(str(message.get("what")))
        if ask is None:
            raise Refused(f"unknown question {message.get('what')!r}, expected one of {', '.join(KINDS)}")
        found = await ask(main, looked_at, message, tell)
    except (BranchError, CommandError, DirectoryError, NoMessage, Refused) as error:
        return json.dumps({"k": "ack", "id": message.get("id"), "ok": False, **in_words(str(error))})
    except NotShared as error:
        refusal = {"ok": False, "error": str(error), "code": error.code, "place": error.place}
        return json.dumps({"k": "ack", "id": message.get("id"), **refusal})
    return f'{{"k":"ack","id":{number},"ok":true,{found[1:]}'


def in_words(error: str) -> dict[str, str]:
    """A refusal as it is sent: in English, and in Korean where that is known; each viewer reads his own language."""
    korean = told(error, "ko")
    return {"error": error} if korean == error else {"error": error, "ko": korean}


def _hosted(main: Hub) -> Any:
    if not hasattr(main.lab, "fork"):
        raise Refused("this lab keeps no branches")
    return main.lab


def _branch(main: Hub, looked_at: Hub) -> Any:
    """The branch that is looked at."""
    return _hosted(main).branch(looked_at.lab.run_id)


async def history(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Texts are put together, not read and written again: they can be long."""
    after = _whole(message, "after") if "after" in message else 0
    found = await asyncio.wrap_future(_branch(main, looked_at).history(_whole(message, "seq"), after))
    facts = json.dumps({key: found[key] for key in ("seq", "t", "last", "whole")})
    return f'{facts[:-1]},"snap":{found["snap"]},"ev":{found["ev"]}}}'


def _whole(message: dict[str, Any], key: str) -> int:
    value = message.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise Refused(f"{key}: expected a number from 0 on")
    return value


async def fork(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Refused commands are told, the branch is there all the same."""
    lab, parent = _hosted(main), _branch(main, looked_at)
    commands = message.get("commands") or []
    if not isinstance(commands, list) or len(commands) > COMMANDS or not all(isinstance(one, dict) for one in commands):
        raise Refused(f"commands: expected a list of at most {COMMANDS} commands")
    seq = _whole(message, "seq")
    work = _Progress(max(1, message.get("t") or parent.clock()["t"]))
    name = await work.follow(lab.fork(parent.run_id, seq=seq, progress=work.reached), tell)
    branch, refused = lab.branch(name), []
    for command in commands:
        result = await asyncio.wrap_future(branch.submit(command))
        if not result.get("ok"):
            refused.append({"command": command, **in_words(result.get("error", "refused"))})
    return json.dumps({**branch.view(), "refused": refused})


async def open_run(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """A name, not a path: what is read lies in the lab's directory."""
    lab, name = _hosted(main), str(message.get("name"))
    if name not in lab.branches:
        if "/" in name or name.startswith("."):
            raise Refused(f"there is no run {name}")
        facts = await asyncio.to_thread(read_facts, lab.data / "runs" / name)
        work = _Progress(max(1, facts.get("end_us", 1)))
        name = await work.follow(lab.open_run(name, progress=work.reached), tell)
    return json.dumps(lab.branch(name).view())


async def close(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    await asyncio.wrap_future(_hosted(main).close_branch(str(message.get("name"))))
    return json.dumps({"run": message.get("name")})


async def outlines(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Both runs are asked between two of their events."""
    names = message.get("names")
    if not isinstance(names, list) or not 1 <= len(names) <= 4:
        raise Refused("names: expected one to four runs")
    found = {}
    for name in names:
        branch = _hosted(main).branch(str(name))
        found[branch.run_id] = {**branch.view(), **await asyncio.wrap_future(branch.ask(outline, branch.world))}
    return json.dumps({"runs": found})


async def inspect(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Of the run that is looked at, as it is now."""
    if not hasattr(looked_at.lab, "inspect"):
        raise Refused("this lab cannot be inspected")
    question = looked_at.lab.inspect(str(message.get("of")), str(message.get("name", "")))
    return orjson.dumps(await asyncio.wrap_future(question), option=orjson.OPT_NON_STR_KEYS).decode()


async def one_message(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Under way now, or found by executing the run again beside the lab's own thread."""
    branch, wanted = _branch(main, looked_at), wanted_of(message)
    found = await asyncio.wrap_future(branch.ask(look, branch.world, wanted))
    if found is None:
        await asyncio.wrap_future(branch.ask(branch.files.flush, branch.world))
        work = _Progress(max(1, message.get("t") or branch.clock()["t"]))
        found = await work.follow(asyncio.to_thread(recall, branch.files.path, wanted, work.reached), tell)
    return orjson.dumps(found).decode()


async def share(main: Hub, looked_at: Hub, message: dict[str, Any], tell: Tell) -> str:
    """Of an open run as far as it has come."""
    lab, name = _hosted(main), str(message.get("name"))
    branch = lab.branches.get(name)
    if branch is not None and not branch.ended:
        await asyncio.wrap_future(branch.ask(branch.files.flush, branch.world))
    elif "/" in name or name.startswith("."):
        raise Refused(f"there is no run {name}")
    return await exported(lab.data / "runs" / name)


class _Progress:
    """How far a re-execution has come, from the world's thread to one viewer, a few times a second."""

    def __init__(self, end_us: int) -> None:
        self.end_us = end_us
        self.now_us: float = 0

    def reached(self, now_us: float) -> None:
        self.now_us = now_us

    async def follow(self, work: Future[T] | Coroutine[Any, Any, T], tell: Tell) -> T:
        """The result; its progress is told meanwhile."""
        wrapped = asyncio.wrap_future(work) if isinstance(work, Future) else asyncio.ensure_future(work)
        while True:
            done, _ = await asyncio.wait([wrapped], timeout=TELL_SECONDS)
            if done:
                return wrapped.result()
            await tell(min(1.0, self.now_us / self.end_us))


KINDS: dict[str, Callable[[Hub, Hub, dict[str, Any], Tell], Awaitable[str]]] = {
    "history": history, "fork": fork, "open": open_run, "close": close, "outline": outlines,
    "inspect": inspect, "export": share, "message": one_message,
}  # fmt: skip
