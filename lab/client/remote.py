"""`Lab`: a lab behind REST, its live run or a branch of it.

```
lab = Lab("http://127.0.0.1:8000")
lab.create_topic("orders", 3)
lab.kill(leader_of="orders-0")
lab.wait(leader_of="orders-0")                  until another broker leads; the number of it
other = lab.fork(at=12.5)                       a branch, paused 12.5 s after the beginning
other.events("leader_elected")                  a data frame where pandas is there
lab.picture()                                   an SVG, shown by the notebook
lab.run("acks-1", seed=7).result().receipt()
```
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote

from lab.client.calls import Caller
from lab.client.errors import NotMet
from lab.client.frames import Row, event, framed, record
from lab.client.levers import Levers
from lab.client.pictures import Picture, picture
from lab.client.work import Job, Run, Sweep

WAIT_S = 30.0
PAGE = 10_000


class Lab(Levers):
    """`address`: of the page, also the link with a token; `lab`: one beside the server's own. `frames`: tables as data
    frames; None: if pandas is there."""

    def __init__(
        self, address: str = "http://127.0.0.1:8000/", *, token: str = "", lab: str = "", branch: str | None = None,
        frames: bool | None = None, language: str = "en", caller: Caller | None = None,
    ) -> None:  # fmt: skip
        """Raises Unreachable, NotAllowed. `language`: of what is told, en or ko."""
        self._caller = caller or Caller(address, token, language)
        self._frames = frames
        own = str(self._caller.get("labs")["items"][0]["id"])
        self.name = lab or own
        if self.name != own:
            self._caller = self._caller.of(self.name)
        self.branch = branch
        """The name of the branch; None: the live run."""

    def _get(self, path: str, **query: Any) -> Any:
        return self._caller.get(f"labs/{self.name}/{path}", run=self.branch, **query)

    def _post(self, path: str, body: Any, **query: Any) -> Any:
        return self._caller.post(f"labs/{self.name}/{path}", body, run=self.branch, **query)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Lab {self._caller.base}{self.name}{f' {self.branch}' if self.branch else ''}>"

    # -- commands and time ------------------------------------------------------------------
    def command(self, command: dict[str, Any]) -> dict[str, Any]:
        """As a step of a scenario has it. Raises Refused."""
        found: dict[str, Any] = self._post("commands", command)
        return {key: value for key, value in found.items() if key != "ok"}

    def time(self, speed: float | str) -> dict[str, Any]:
        """0.1, "pause", "play", "step_event", "step_state"."""
        return self.do("time", speed=speed)

    # -- looking ----------------------------------------------------------------------------
    @property
    def about(self) -> dict[str, Any]:
        """Run, clock, seed, bootstrap addresses."""
        found: dict[str, Any] = self._caller.get(f"labs/{self.name}")
        return found

    @property
    def bootstrap(self) -> str:
        """What Kafka's clients are given."""
        return str(self.about["bootstrap"])

    @property
    def state(self) -> dict[str, Any]:
        """Everything, between two events."""
        found: dict[str, Any] = self._get("snapshot")["state"]
        return found

    def picture(self) -> Picture:
        """Brokers, partitions and replicas of this moment."""
        return picture(self.state)

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def partitions(self) -> Any:
        """A table: topic, partition, leader, epoch, ISR, log end offset, high watermark."""
        topics = self.state["topics"]
        rows = [_partition(topic, *one) for topic in topics for one in topics[topic]["partitions"].items()]
        return framed(rows, self._frames)

    def inspect(self, of: str, name: str = "") -> dict[str, Any]:
        """One thing looked at closely: `inspect("broker", "2")`, `inspect("group", "billing")` (docs/rest.md)."""
        found: dict[str, Any] = self._get("inspect", of=of, name=name)
        return found

    def records(self, topic: str, partition: int = 0, offset: int | None = None, limit: int = 100, **more: Any) -> Any:
        """Records of a partition; `replica`: as that broker has them."""
        path = f"topics/{quote(topic, safe='')}/records"
        page = self._get(path, partition=partition, offset=offset, limit=limit, **more)
        return framed(map(record, page["records"]), self._frames)

    def receipt(self) -> dict[str, Any]:
        """What was acknowledged, read, lost up to now."""
        return Run(self._caller, self.branch or str(self.about["run"])).receipt()

    # -- events and waiting -----------------------------------------------------------------
    def events(self, *codes: str, since: int = 0, limit: int = PAGE, **of: Any) -> Any:
        """At most `limit` events behind number `since`; of a `topic`, `partition`, `node` where these are named."""
        rows: list[list[Any]] = []
        more = True
        while more and len(rows) < limit:
            page = self._get("events", since=since, codes=",".join(codes), limit=min(PAGE, limit - len(rows)), **of)
            rows += page["items"]
            since, more = page["next"], page["more"]
        return framed(map(event, rows), self._frames)

    def follow(self, *codes: str, since: int | None = None, patience: float | None = None, **of: Any) -> Iterator[Row]:
        """Events as they happen, from now on or behind `since`, until `patience` seconds (of yours) brought none."""
        behind = int(self.about["seq"]) if since is None else since
        heard = time.monotonic()
        while patience is None or (left := heard + patience - time.monotonic()) > 0:
            wait = WAIT_S if patience is None else min(WAIT_S, left)
            page = self._get("events", since=behind, codes=",".join(codes), wait=wait, **of)
            behind = page["next"]
            for row in page["items"]:
                yield event(row)
                heard = time.monotonic()

    def value(self, **subject: Any) -> Any:
        """What a condition's subject is now: `value(isr_of="orders-0")`. Raises Refused."""
        return self._post("waits", {"when": {**subject, "is": "changed"}, "within": "0ms"}, wait=0)["value"]

    def wait(
        self, *, is_: Any = "changed", within: float = 60, patience: float = 120, before: Any = None,
        pause: bool = False, **subject: Any,
    ) -> Any:  # fmt: skip
        """Until something is so (docs/scenarios.md); its value then.

        `is_`: 3, ">= 3", "running", or "changed": another value than `before`, or than that of now. `within`: seconds
        of the cluster's time, `patience`: of yours. `pause`: stop the clock at that moment. Raises NotMet, Refused.
        """
        when = {**subject, "is": is_}
        left_us, deadline = int(within * 1e6), time.monotonic() + patience
        while True:
            body = {"when": when, "within": f"{left_us // 1000}ms", "before": before, "pause": pause}
            found = self._post("waits", body, wait=max(0.0, min(WAIT_S, deadline - time.monotonic())))
            if found["met"]:
                return found["value"]
            left_us, before = max(0, left_us - found["waited_us"]), found["before"]
            if found["gave_up"] != "wait" or time.monotonic() >= deadline:
                raise NotMet(_phrase(when), found["gave_up"], found["value"], int(within * 1e6) - left_us)

    # -- branches ---------------------------------------------------------------------------
    def fork(
        self, *, seq: int | None = None, at: float | None = None, commands: list[dict[str, Any]] | None = None,
        repeat: bool = False, play: bool = False,
    ) -> Lab:  # fmt: skip
        """A branch that begins behind event `seq`, `at` so many seconds, or now; paused, unless it is to `play`.

        `commands` are carried out at its beginning; `repeat`: what was done here since then is done there again.
        """
        asked = {"run": self.branch, "seq": seq, "t_us": None if at is None else int(at * 1e6),
                 "commands": commands or [], "repeat": repeat}  # fmt: skip
        found = self._begun(self._caller.post(f"labs/{self.name}/forks", asked))
        if play:
            found.time("play")
        return found

    def open(self, run: Run | str) -> Lab:
        """A finished run as a branch: executed again to its end, and paused there."""
        name = run.name if isinstance(run, Run) else run
        return self._begun(self._caller.post(f"labs/{self.name}/runs/{name}/open", None))

    def _begun(self, answer: dict[str, Any]) -> Lab:
        """At once, or as a job."""
        name = answer["run"] if "epoch" in answer else Job(self._caller, answer).result().name
        return Lab(lab=self.name, branch=str(name), frames=self._frames, caller=self._caller)

    def close(self) -> None:
        """Close the branch; its directory stays. The live run goes on."""
        if self.branch is not None:
            self._caller.delete(f"labs/{self.name}/runs/{self.branch}")

    def compare(self, *others: Lab) -> dict[str, Any]:
        """This run beside branches of it: leaders, epochs, ISR, marks, a hash of the records."""
        names = [one.branch or str(one.about["run"]) for one in (self, *others)]
        found: dict[str, Any] = self._caller.get(f"labs/{self.name}/compare", runs=names)
        return found

    # -- scenarios and runs -----------------------------------------------------------------
    def scenarios(self) -> Any:
        """A table of the lessons."""
        return framed(self._caller.get("scenarios")["items"], self._frames)

    def run(self, scenario: str | Mapping[str, Any], seed: int | None = None, **options: Any) -> Job:
        """A lesson by its name, or a scenario of one's own (YAML text or a document). `variant`, `controller`, ..."""
        asked: dict[str, Any] = {"seed": seed, **options}
        if isinstance(scenario, str) and "\n" not in scenario:
            return Job(self._caller, self._caller.post(f"scenarios/{scenario}/run", asked), self._frames)
        own = {"yaml": scenario} if isinstance(scenario, str) else {"document": scenario}
        return Job(self._caller, self._caller.post("scenarios/run", asked | own), self._frames)

    def sweep(self, scenario: str, grid: Mapping[str, list[Any]], seeds: str = "1..10") -> Sweep:
        """A lesson, or a YAML text, over a grid of settings and seeds."""
        what = {"yaml": scenario} if "\n" in scenario else {"scenario": scenario}
        written = {key: [str(value) for value in values] for key, values in grid.items()}
        found = self._caller.post("sweeps", {**what, "grid": written, "seeds": seeds})
        return Sweep(self._caller, self._caller.get(f"sweeps/{found['id']}"), self._frames)

    def runs(self) -> Any:
        """A table of the runs on disk, the newest first."""
        return framed(self._caller.get("runs", limit=200)["items"], self._frames)

    def of(self, run: str) -> Run:
        """A run by its name."""
        return Run(self._caller, run, self._frames)


def _partition(topic: str, number: str, one: dict[str, Any]) -> Row:
    marks = one["logs"].get(str(one["leader"]), {})
    return {"topic": topic, "partition": int(number), "leader": one["leader"], "leader_epoch": one["leader_epoch"],
            "isr": one["isr"], "replicas": one["replicas"], "leo": marks.get("leo"), "hw": marks.get("hw")}  # fmt: skip


def _phrase(when: dict[str, Any]) -> str:
    return ", ".join(f"{key}: {value}" for key, value in when.items())
