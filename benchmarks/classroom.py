"""`class`: a class of forty on one server, each with a lab of three brokers, an open page and a load.

They come one after another, as fast as the server takes them: through the door of a class (a code, a name), begin a
lab of their own, load its page, say hello on its socket, get the first snapshot. Each has a producer of `RATE` records
a second from then on, so the last ones come to a full server. Then everybody posts the same lesson at once. At the end
all pages are closed, the labs fall asleep, and one after another is looked at again. How far it is stands on stderr.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import statistics
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.cookiejar import CookieJar
from typing import Any

from websockets.asyncio.client import ClientConnection, connect

from benchmarks.results import Result
from benchmarks.sides import Ours, processor_s, running
from benchmarks.weight import resident_mib

RATE, LESSON = 20, "acks-1"
STUDENTS, FEW = 40, 8
ASLEEP_S = 15
PATIENCE_S = 600.0
CLUSTER = {"preset": "teaching", "brokers": 3, "controller": "kraft"}
LOAD = {"do": "start_client", "name": "producer", "kind": "producer", "topic": "orders", "rate": RATE}
JOIN_S, WAKE_S = 2.0, 1.0
PROGRESS_S = 15.0
TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Progress:
    """How far the class is, for whoever waits."""

    def __init__(self) -> None:
        self.began = time.perf_counter()
        self.said = -PROGRESS_S

    def say(self, text: str, seldom: bool = False) -> None:
        """`seldom`: not more often than every `PROGRESS_S` seconds."""
        now = time.perf_counter() - self.began
        if not seldom or now - self.said >= PROGRESS_S:
            self.said = now
            print(f"class: {now:5.0f} s: {text}", file=sys.stderr, flush=True)


class Server:
    """A server with room for a class, over HTTP and sockets."""

    def __init__(self, port: int) -> None:
        self.url, self.origin = f"127.0.0.1:{port}", f"http://127.0.0.1:{port}"
        self.pages: list[ClientConnection] = []
        self.readers: list[asyncio.Task[None]] = []
        self.messages = 0

    async def call(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and answer."""
        return await asyncio.to_thread(self._call, method, path, body)

    def _call(self, method: str, path: str, body: Any) -> tuple[int, Any]:
        data = None if body is None else json.dumps(body).encode()
        asked = urllib.request.Request(self.origin + path, data, {"Content-Type": "application/json"}, method=method)
        try:
            with urllib.request.urlopen(asked, timeout=PATIENCE_S) as answer:
                content = answer.read()
                return answer.status, json.loads(content) if "json" in answer.headers["Content-Type"] else content
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    async def look(self, name: str) -> None:
        """Open the page of a lab: the document, the socket, the first snapshot."""
        await self.call("GET", f"/labs/{name}/")
        origin: Any = self.origin
        page = await connect(f"ws://{self.url}/labs/{name}/live/", origin=origin, max_size=None)
        await page.send(json.dumps({"k": "hello", "run": "", "epoch": 0, "last": 0}))
        await page.recv()
        self.pages.append(page)
        self.readers.append(asyncio.create_task(self._read(page)))

    async def _read(self, page: ClientConnection) -> None:
        async for _ in page:
            self.messages += 1

    async def join(self, code: str, student: str) -> tuple[str, float]:
        """A student who comes: his lab, and the seconds until he has a picture of it."""
        began = time.perf_counter()
        name = await asyncio.to_thread(self._come_in, code, student)
        await self.look(name)
        took = time.perf_counter() - began
        topic = {"do": "create_topic", "topic": "orders", "partitions": 3, "replication_factor": 3}
        await self.call("POST", f"/api/labs/{name}/commands", [topic, LOAD])
        return name, took

    def _come_in(self, code: str, student: str) -> str:
        """With cookies of his own, as a browser does it: the door, his page, a lab."""
        browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        door = browser.open(f"{self.origin}/join/{code}/", timeout=PATIENCE_S).read().decode()
        token = TOKEN.search(door)
        assert token is not None
        form = {"csrfmiddlewaretoken": token[1], "code": code, "name": student}
        browser.open(f"{self.origin}/join/", urllib.parse.urlencode(form).encode(), timeout=PATIENCE_S).close()
        wanted = json.dumps({"cluster": CLUSTER}).encode()
        kind = {"Content-Type": "application/json"}
        asked = urllib.request.Request(f"{self.origin}/api/me/lab", wanted, kind)
        try:
            name: str = json.loads(browser.open(asked, timeout=PATIENCE_S).read())["id"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(f"{student}: {json.loads(error.read()).get('detail')}") from None
        return name

    async def leave(self) -> None:
        """All pages are closed."""
        for page in self.pages:
            await page.close()
        for reader in self.readers:
            reader.cancel()


async def lessons(server: Server, count: int, progress: Progress) -> dict[str, float]:
    """Everybody posts the same lesson at once: refused, out of order, with progress that was seen, seconds until all
    have ended. The order is that in which the server has taken them, which `GET jobs` tells, newest first."""
    began = time.perf_counter()
    path = f"/api/scenarios/{LESSON}/run"
    posts = await asyncio.gather(*(server.call("POST", path, {"seed": seed}) for seed in range(1, count + 1)))
    jobs = {said["id"] for status, said in posts if status == 202}
    progress.say(f"{len(jobs)} of {count} runs of {LESSON} taken")
    shown: set[str] = set()
    early = 0
    while True:
        items = (await server.call("GET", f"/api/jobs?limit={count + 10}"))[1]["items"]
        found = [one for one in reversed(items) if one["id"] in jobs]
        begun = [one["state"] != "queued" for one in found]
        early += any(later and not before for before, later in zip(begun, begun[1:], strict=False))
        shown |= {one["id"] for one in found if 0 < one["progress"] < 1}
        ended = sum(one["state"] not in ("queued", "running") for one in found)
        if ended == len(jobs):
            break
        progress.say(f"{ended} of {len(jobs)} runs have ended", seldom=True)
        await asyncio.sleep(0.2)
    return {"refused": count - len(jobs), "early": early, "shown": len(shown), "seconds": time.perf_counter() - began,
            "failed": sum(one["state"] != "done" for one in found)}  # fmt: skip


async def asleep(server: Server, names: set[str], progress: Progress) -> None:
    """Until all labs sleep."""
    deadline = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < deadline:
        items = (await server.call("GET", "/api/labs"))[1]["items"]
        sleep = sum(bool(one["asleep"]) for one in items if one["id"] in names)
        if sleep == len(names):
            return
        progress.say(f"{sleep} of {len(names)} labs sleep", seldom=True)
        await asyncio.sleep(1)
    raise RuntimeError("the labs do not fall asleep")


async def measured(side: Ours, count: int, seconds: float) -> dict[str, Any]:
    """The whole day of a class."""
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(count))  # all of them at once
    server, progress = Server(side.page_port), Progress()
    code = (await server.call("POST", "/api/classes", {"title": "Bench"}))[1]["code"]
    before = resident_mib(side.processes())
    names: list[str] = []
    joins: list[float] = []
    for number in range(1, count + 1):
        name, took = await server.join(code, f"student {number}")
        names.append(name)
        joins.append(took)
        progress.say(f"{number} of {count} have come, the last one in {took:.1f} s", seldom=number < count)
    found: dict[str, Any] = {"joins": joins, **await _loaded(server, side, names, before, seconds)}
    progress.say(f"with their load {found['busy']:.2f} cores, {found['awake']:.0f} MiB a lab")
    found["lessons"] = await lessons(server, count, progress)
    await server.leave()
    await asleep(server, set(names), progress)
    used, began = processor_s(side), time.perf_counter()
    await asyncio.sleep(min(10.0, seconds))
    found["resting"] = (processor_s(side) - used) / (time.perf_counter() - began)
    found["asleep"] = (resident_mib(side.processes()) - before) / count
    progress.say(f"asleep {found['resting']:.2f} cores, {found['asleep']:.0f} MiB a lab; each is looked at again")
    found["wakes"] = []
    for name in names:
        began = time.perf_counter()
        await server.look(name)
        found["wakes"].append(time.perf_counter() - began)
    await server.leave()
    return found


async def _loaded(server: Server, side: Ours, names: list[str], before: float, seconds: float) -> dict[str, float]:
    """What all of them cost while nothing else happens, and whether their clocks keep up."""
    used, began, messages = processor_s(side), time.perf_counter(), server.messages
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    found = {"busy": (processor_s(side) - used) / took, "messages": (server.messages - messages) / took / len(names)}
    found["awake"] = (resident_mib(side.processes()) - before) / len(names)
    looked = [(await _clock(server, name), time.perf_counter()) for name in (names[0], names[-1])]
    await asyncio.sleep(2)
    again = [(await _clock(server, name), time.perf_counter()) for name in (names[0], names[-1])]
    pairs = zip(looked, again, strict=True)
    return found | {"pace": min((later[0] - first[0]) / 1e6 / (later[1] - first[1]) for first, later in pairs)}


async def _clock(server: Server, name: str) -> int:
    """Of a lab, in microseconds."""
    t: int = (await server.call("GET", f"/api/labs/{name}"))[1]["t"]
    return t


def class_(quick: bool) -> Iterator[Result]:
    """Forty of them, with as many processes as there are cores; `--quick`: eight, and fewer seconds."""
    count, hosts = FEW if quick else STUDENTS, os.cpu_count() or 2
    more = ("--controller", "kraft", "--preset", "teaching", "--labs", str(count), "--hosts", str(hosts),
            "--sleep-after", str(ASLEEP_S))  # fmt: skip
    with running(Ours(web=True, more=more)) as side:
        assert isinstance(side, Ours)
        time.sleep(5)  # the page comes behind the brokers, and the first process for labs behind the page
        found = asyncio.run(measured(side, count, 10 if quick else 30))
    case = f"{count} labs of 3 brokers, {RATE} records/s each, a page each"
    joins, wakes, lesson = found["joins"], found["wakes"], found["lessons"]
    yield from _waits("join to first picture", joins, JOIN_S)
    yield Result("class", f"{case}: processor", "cores", found["busy"], None, False)
    yield Result("class", "the same: the clock of the slowest of two, by the wall's", "s/s", found["pace"], None, True)
    yield Result("class", "the same: memory above the server's own", "MiB a lab", found["awake"], None, False)
    yield Result("class", "the same: messages a page", "1/s", found["messages"], None, True)
    lost = lesson["refused"] + lesson["failed"]
    yield Result("class", f"{count} runs of {LESSON} at once: refused or failed", "", lost, None, False, 0)
    yield Result("class", "the same: begun before an earlier one, looks", "", lesson["early"], None, False, 0)
    yield Result("class", "the same: whose progress was seen", "", lesson["shown"], None, True)
    yield Result("class", "the same: until all have ended", "s", lesson["seconds"], None, False)
    yield Result("class", "all asleep: processor", "cores", found["resting"], None, False)
    yield Result("class", "all asleep: memory above the server's own", "MiB a lab", found["asleep"], None, False)
    yield from _waits("a page that wakes a lab", wakes, WAKE_S)


def _waits(what: str, seconds: list[float], goal: float) -> Iterator[Result]:
    yield Result("class", f"{what}: median", "s", statistics.median(seconds), None, False, goal)
    yield Result("class", f"{what}: of nine in ten", "s", statistics.quantiles(seconds, n=10)[-1], None, False, goal)
    yield Result("class", f"{what}: longest", "s", max(seconds), None, False, goal)
