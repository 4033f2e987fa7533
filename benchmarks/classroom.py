"""`class`: a class of forty on one server, each with a lab of three brokers, an open page and a load.

They come one after another, as fast as the server takes them: begin a lab, load its page, say hello on its socket, get
the first snapshot. Each has a producer of `RATE` records a second from then on, so the last ones come to a full server.
Then everybody posts the same lesson at once. At the end all pages are closed, the labs fall asleep, and one after
another is looked at again.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
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
JOIN_S = 2.0


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

    async def join(self, name: str) -> float:
        """Seconds until a student who comes has a picture of a lab of his own."""
        began = time.perf_counter()
        status, said = await self.call("POST", "/api/labs", {"name": name, "cluster": CLUSTER})
        if status != 201:
            raise RuntimeError(f"{name}: {said.get('detail')}")
        await self.look(name)
        took = time.perf_counter() - began
        topic = {"do": "create_topic", "topic": "orders", "partitions": 3, "replication_factor": 3}
        await self.call("POST", f"/api/labs/{name}/commands", [topic, LOAD])
        return took

    async def leave(self) -> None:
        """All pages are closed."""
        for page in self.pages:
            await page.close()
        for reader in self.readers:
            reader.cancel()


async def lessons(server: Server, count: int) -> dict[str, float]:
    """Everybody posts the same lesson at once: refused, out of order, with progress that was seen, seconds until all
    have ended."""
    began = time.perf_counter()
    posts = [await server.call("POST", f"/api/scenarios/{LESSON}/run", {"seed": seed}) for seed in range(1, count + 1)]
    jobs = [said["id"] for status, said in posts if status == 202]
    shown: set[str] = set()
    early = 0
    while True:
        found = {one["id"]: one for one in (await server.call("GET", f"/api/jobs?limit={count + 10}"))[1]["items"]}
        states = [found[job]["state"] for job in jobs]
        begun = [state != "queued" for state in states]
        early += any(later and not before for before, later in zip(begun, begun[1:], strict=False))
        shown |= {job for job in jobs if 0 < found[job]["progress"] < 1}
        if all(state not in ("queued", "running") for state in states):
            break
        await asyncio.sleep(0.2)
    return {"refused": count - len(jobs), "early": early, "shown": len(shown), "seconds": time.perf_counter() - began,
            "failed": sum(state != "done" for state in states)}  # fmt: skip


async def asleep(server: Server, count: int) -> None:
    """Until all labs sleep."""
    deadline = time.perf_counter() + PATIENCE_S
    while time.perf_counter() < deadline:
        items = (await server.call("GET", "/api/labs"))[1]["items"]
        if sum(bool(one["asleep"]) for one in items) == count:
            return
        await asyncio.sleep(1)
    raise RuntimeError("the labs do not fall asleep")


async def measured(side: Ours, count: int, seconds: float) -> dict[str, Any]:
    """The whole day of a class."""
    server, found = Server(side.page_port), {}
    before = resident_mib(side.processes())
    found["joins"] = [await server.join(f"student-{number}") for number in range(1, count + 1)]
    used, began, messages = processor_s(side), time.perf_counter(), server.messages
    await asyncio.sleep(seconds)
    took = time.perf_counter() - began
    found["busy"], found["messages"] = (processor_s(side) - used) / took, (server.messages - messages) / took / count
    found["awake"] = (resident_mib(side.processes()) - before) / count
    rows = [(await server.call("GET", f"/api/labs/student-{number}"))[1]["t"] for number in (1, count)]
    await asyncio.sleep(2)
    later = [(await server.call("GET", f"/api/labs/student-{number}"))[1]["t"] for number in (1, count)]
    found["pace"] = min((after - now) / 2e6 for now, after in zip(rows, later, strict=True))
    found["lessons"] = await lessons(server, count)
    await server.leave()
    await asleep(server, count)
    used, began = processor_s(side), time.perf_counter()
    await asyncio.sleep(min(10.0, seconds))
    found["resting"] = (processor_s(side) - used) / (time.perf_counter() - began)
    found["asleep"] = (resident_mib(side.processes()) - before) / count
    found["wakes"] = []
    for number in range(1, count + 1):
        began = time.perf_counter()
        await server.look(f"student-{number}")
        found["wakes"].append(time.perf_counter() - began)
    await server.leave()
    return found


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
    yield Result("class", "join to first picture, median", "s", statistics.median(joins), None, False, JOIN_S)
    yield Result("class", "join to first picture, longest", "s", max(joins), None, False, JOIN_S)
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
    yield Result("class", "a page that wakes a lab: median", "s", statistics.median(wakes), None, False, 1.0)
    yield Result("class", "a page that wakes a lab: longest", "s", max(wakes), None, False, 1.0)
