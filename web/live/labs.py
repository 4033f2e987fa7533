"""The labs that a server holds beside its own: each a world on a thread, brokers on ports, a directory.

`./brokerlab up --labs 8` leaves room for eight. Places are numbered from 1; the place says the ports:

    place   brokers listen on       with --kafka-port 9092 and three brokers
    own     PORT, PORT + 1, ...     9092 to 9094
    1       PORT + 200, ...         9292 to 9294
    2       PORT + 400, ...         9492 to 9494

(With KRaft controllers listen 100 behind their brokers: `ClusterSpec.controller_ports`.)

Which labs there are stands in the database (`web.api.models.LabRecord`), so a server that starts anew knows them; such
a lab rests, with its disks in `labs/NAME`, until somebody who may change things starts it; to look
at it does not. A server begins one lab at a time: several that start at once would only take each other's processor.
The time of a lab that starts is hurried, for somebody waits for it.

These worlds are in this process, on threads. Each has a page, a socket and all of REST at its own address
(`web.addresses`). One that nobody watches, asks or feeds for a while sleeps (`lab.sleeping`) until somebody does.

| a lab | its brokers | page, REST | a Kafka client |
|---|---|---|---|
| runs | work | answered | served |
| sleeps | stand; ports are open | wake it | wakes it |
| rests (of an earlier life of the server) | are stopped | its page starts it, REST says that it rests | is refused |
"""

from __future__ import annotations

import asyncio
import logging
import shutil
import time
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from django.conf import settings

from broker_core.kernel.errors import Refusal
from broker_core.kernel.problems import problem
from lab.clusters.brokers import ClusterSpec
from lab.clusters.checks import mapping
from lab.clusters.spec import RunSpec, run_from_dict
from lab.limits import UNLIMITED, Limits
from lab.live import HURRY, LiveLab
from lab.open_runs import LabError
from lab.sleeping import Bed
from web.live.described import Described
from web.live.hosts import Hosts
from web.live.hub import LabHub, hub

APART = 200
LOOK_S = 2.0
_log = logging.getLogger("brokerlab.labs")
GIVEN = [one.name for one in fields(ClusterSpec) if one.name not in ("host", "port")]


class NoRoom(Refusal):
    """The server is not open for one more lab."""


class Labs:
    """
    Invariants
        * names and places of `known` are unique; those of before stay when there are more than `most` of them
        * each of `running` is known
    """

    def __init__(self) -> None:
        self.most = 0
        self.idle_s = 0.0
        self.limits = UNLIMITED
        self.hosts: Hosts | None = None
        self.known: dict[str, Described] = {}
        self.running: dict[str, LabHub] = {}
        self._turn = asyncio.Lock()

    def open(
        self, most: int, home: Path, host: str, first_port: int, known: list[Described], idle_s: float = 0.0,
        hosts: int = 0, limits: Limits = UNLIMITED,
    ) -> None:  # fmt: skip
        """Hold up to `most` labs from now on; those of before are known by their descriptions. `idle_s`: after how long
        a lab that nobody needs sleeps; 0 for never. `hosts`: at most so many processes hold them; 0: this one does.
        `limits`: of each lab that is new, which may have narrower ones of its own."""
        order = {"most": most, "home": str(home), "host": host, "first_port": first_port, "idle_s": idle_s}
        self.hosts = Hosts(hosts, order, self._again) if hosts else None
        self.idle_s, self.limits = idle_s, limits
        self.most, self.home, self.host, self.first_port = most, home, host, first_port
        self.known = {one.name: one for one in known}
        self._turn = asyncio.Lock()

    async def awake(self, name: str) -> LabHub | None:
        """As `hub`; a lab that sleeps is awake then. Raises as `start` when it has to start anew for that."""
        found = self.hub(name)
        if found is not None and found is not hub and isinstance(found.lab, LiveLab):
            found.touched = time.monotonic()
            try:
                await asyncio.wrap_future(_own(found).wake())
            except LabError as error:
                return await self._anew(found, error)
        return found

    async def _anew(self, found: LabHub, error: LabError) -> LabHub | None:
        """What a lab has kept while it slept cannot be read: it starts on its disks, as after a crash."""
        async with self._turn:
            if self.running.get(found.name) is found:
                _log.warning("lab %s does not wake, and starts anew: %s", found.name, error)
                del self.running[found.name]
                await asyncio.to_thread(_end, found)
        return await self.start(found.name)

    async def tend(self) -> None:
        """Let labs sleep that nobody needs; goes on until the server ends."""
        while True:
            await asyncio.sleep(min(LOOK_S, self.idle_s or LOOK_S))
            for found in list(self.running.values()):
                if self.idle_s and isinstance(found.lab, LiveLab) and not found.lab.asleep:
                    await self._unless_needed(found)

    async def _unless_needed(self, found: LabHub) -> None:
        lab, now = _own(found), time.monotonic()
        if found.watched or lab.fed:
            found.touched = now
        elif now - max(found.touched, lab.woken) > self.idle_s:
            found.close_others()
            try:
                await asyncio.wrap_future(lab.sleep())
            except (LabError, OSError) as error:
                found.touched = now
                _log.warning("lab %s cannot sleep: %s", found.name, error)

    def hub(self, name: str) -> LabHub | None:
        """Of a lab that runs; the server's own without a name. None when there is none, or when it rests."""
        return hub if name in ("", settings.LAB_NAME) else self.running.get(name)

    def owner(self, name: str) -> str:
        """Whose lab it is; "" for the server's own, and for one that nobody has begun for somebody."""
        found = self.known.get(name)
        return found.owner if found is not None else ""

    @property
    def room(self) -> int:
        """How many more can be begun."""
        return max(0, self.most - len(self.known))

    def resting(self) -> list[str]:
        """Names of labs that `start` begins."""
        return [name for name in self.known if name not in self.running]

    def described(
        self, name: str, cluster: dict[str, Any], seed: int, owner: str = "", limits: dict[str, int] | None = None
    ) -> Described:
        """A new lab at a free place, not begun: the place is taken. Of today's generation unless `cluster` says
        otherwise. Raises NoRoom, SpecError."""
        if not self.room:
            raise NoRoom(problem("labs_no_room", most=self.most))
        places = {one.place for one in self.known.values()}
        free = next(place for place in range(1, self.most + 1) if place not in places)
        named = {"controller", "era", "ensemble"} & {*cluster}
        given = cluster if named else {**cluster, "controller": "kraft"}
        allowed = Limits(**limits or {}).within(self.limits)
        found = Described(name, free, given, seed, owner, asdict(allowed))
        allowed.check(self._spec(found))
        self.known[name] = found
        return found

    def _spec(self, described: Described) -> RunSpec:
        """With port 0 the system chooses ports. Raises SpecError."""
        port = self.first_port + APART * described.place if self.first_port else 0
        cluster = {**mapping(described.cluster, ("cluster",), GIVEN), "host": self.host, "port": port}
        return run_from_dict({"cluster": cluster, "seed": described.seed, "epoch_ms": time.time_ns() // 1_000_000})

    async def begin(self, described: Described) -> LabHub:
        """The lab of this description, running. Raises LabError; TimeoutError when its brokers do not come up."""
        async with self._turn:
            return await self._begun(described)

    async def _begun(self, described: Described) -> LabHub:
        found = self.running.get(described.name)
        if found is not None:
            return found
        if self.hosts is not None:
            return await self._begun_elsewhere(self.hosts, described)
        lab = LiveLab(self._spec(described), self.home / described.name, self.host, speed=HURRY, sole=False,
                      limits=Limits(**described.limits))  # fmt: skip
        try:
            await asyncio.to_thread(lab.start)
            await asyncio.wrap_future(lab.submit({"do": "time", "speed": 1.0}))
        except BaseException:
            await asyncio.to_thread(lab.stop)
            raise
        made = self.running[described.name] = LabHub(described.name)
        made.serve(lab)
        return made

    @property
    def awake_here(self) -> int:
        """How many of the labs of this process do not sleep."""
        return sum(_own(found).asleep is None for found in self.running.values())

    async def beds(self) -> list[tuple[Described, Bed]]:
        """Of the labs of this process that sleep: no client wakes them any more, unless they are to `stay`."""
        running = list(self.running.values())
        found = [(self.known[one.name], await asyncio.wrap_future(_own(one).bed())) for one in running]
        return [(described, bed) for described, bed in found if bed is not None]

    async def stay(self) -> None:
        """They wake here after all."""
        for found in list(self.running.values()):
            await asyncio.wrap_future(_own(found).stay())

    async def take_over(self, described: Described, bed: Bed) -> LabHub:
        """A lab that has slept in the process that this one was (`anew`)."""
        self.known[described.name] = described
        made = self.running[described.name] = LabHub(described.name)
        made.serve(await asyncio.to_thread(LiveLab.of, bed))
        return made

    async def _begun_elsewhere(self, hosts: Hosts, described: Described) -> LabHub:
        made = LabHub(described.name)
        lab = await hosts.begin(described)
        lab.of(made)
        made.serve(lab)
        self.running[described.name] = made
        return made

    async def _again(self, name: str) -> None:
        """The process that held a lab has died."""
        described, found = self.known.get(name), self.running.get(name)
        if described is None or found is None or self.hosts is None:
            return
        try:
            lab = await self.hosts.begin(described)
        except (LabError, TimeoutError) as error:
            _log.warning("lab %s does not come back: %s", name, error)
            self.running.pop(name, None)
            return
        lab.of(found)
        found.replace(lab)

    async def start(self, name: str) -> LabHub | None:
        """The lab of this name, running; None when there is none, or none any more. Raises NoRoom, and as `begin`."""
        async with self._turn:
            described = self.known.get(name)
            if described is None:
                return None
            if name not in self.running and len(self.running) >= self.most:
                raise NoRoom(problem("labs_no_room", most=self.most))
            return await self._begun(described)

    async def remove(self, name: str) -> None:
        """End a lab, and delete what it has written."""
        async with self._turn:
            self.known.pop(name, None)
            found = self.running.pop(name, None)
            if found is not None and self.hosts is not None:
                found.detach()
                await self.hosts.remove(name)
            elif found is not None:
                await asyncio.to_thread(_end, found)
            await asyncio.to_thread(shutil.rmtree, self.home / name, True)

    def end(self) -> None:
        """All of them, as their brokers stop; they are known to the next start."""
        while self.running:
            found = self.running.popitem()[1]
            if isinstance(found.lab, LiveLab):
                _end(found)

    async def end_hosts(self) -> None:
        """The processes that hold labs for this one."""
        if self.hosts is not None:
            await self.hosts.end()
            self.hosts = None


def _end(found: LabHub) -> None:
    lab = _own(found)
    found.detach()
    lab.stop()


def _own(found: LabHub) -> LiveLab:
    """The lab of a hub, whose world is in this process."""
    lab = found.lab
    assert isinstance(lab, LiveLab)
    return lab


labs = Labs()
