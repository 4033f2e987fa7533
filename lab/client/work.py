"""What takes a while: jobs, sweeps; and what they leave: runs.

```
for state in lab.run("acks-1", seed=7): print(state["progress"])      or: lab.run("acks-1").result()
```
Whoever walks over a job gets its states as they change, and is at its end when it has ended.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from lab.client.calls import Caller
from lab.client.errors import Refused
from lab.client.frames import event, framed

ENDED = ("done", "failed", "cancelled", "interrupted")
LOOK_S = 0.5
State = dict[str, Any]


class Work:
    """Something that a server works on. `state`: what it said last."""

    def __init__(self, caller: Caller, path: str, state: State, frames: bool | None) -> None:
        self._caller = caller
        self._path = path
        self._frames = frames
        self.state = state

    @property
    def ended(self) -> bool:
        return self.state["state"] in ENDED

    def __iter__(self) -> Iterator[State]:
        """Its state whenever that has changed, the last one at its end."""
        yield self.state
        while not self.ended:
            before = self.state
            self.state = self._next()
            if self.state != before:
                yield self.state

    def _next(self) -> State:
        """What it says a little later."""
        time.sleep(LOOK_S)
        found: State = self._caller.get(self._path)
        return found

    def wait(self) -> State:
        """To its end. Raises Refused when that is not `done`."""
        for _ in self:
            pass
        if self.state["state"] != "done":
            error = self.state.get("error") or {}
            what = error.get("problem") or {"code": self.state["state"], "params": {}}
            detail: str = error.get("detail") or self.state["state"]
            raise Refused(detail, what["code"], what["params"])
        return self.state

    def cancel(self) -> None:
        """It is not wanted any more."""
        self._caller.delete(self._path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.state['id']}: {self.state['state']}>"


class Job(Work):
    """A run of a scenario, a long fork."""

    def __init__(self, caller: Caller, state: State, frames: bool | None = None) -> None:
        super().__init__(caller, f"jobs/{state['id']}", state, frames)

    def _next(self) -> State:
        found: State = self._caller.get(self._path, wait=LOOK_S)
        return found

    def result(self) -> Run:
        """The run that it has made, when it has. Raises Refused."""
        self.wait()
        return Run(self._caller, str((self.state["result"] or {}).get("run") or self.state["run"]), self._frames)


class Sweep(Work):
    """A grid of settings times seeds, on Spark."""

    def __init__(self, caller: Caller, state: State, frames: bool | None = None) -> None:
        super().__init__(caller, f"sweeps/{state['id']}", state, frames)

    @property
    def cells(self) -> Any:
        """The table so far."""
        return framed(self.state["cells"], self._frames)

    def result(self) -> Any:
        """The whole table."""
        self.wait()
        return self.cells

    def runs(self, cell: str | None = None) -> Any:
        """Runs with their receipts, those that lost most first."""
        return framed(self._caller.get(f"{self._path}/runs", cell=cell)["items"], self._frames)


class Run:
    """What a run has left."""

    def __init__(self, caller: Caller, name: str, frames: bool | None = None) -> None:
        self._caller = caller
        self._frames = frames
        self.name = name

    @property
    def facts(self) -> State:
        """Spec, seed, kind, and of a scenario's run its verdict."""
        found: State = self._caller.get(f"runs/{self.name}")
        return found

    @property
    def passed(self) -> bool | None:
        """Whether a scenario's expectations were met."""
        return self.facts.get("passed")

    def receipt(self) -> State:
        """What was acknowledged, read, lost."""
        found: State = self._caller.get(f"runs/{self.name}/receipt")
        return found

    def verify(self) -> State:
        """Executed again: `same`, and what differs."""
        while True:
            found: State = self._caller.get(f"runs/{self.name}/verify")
            if "same" in found:
                return found

    def events(self, *codes: str) -> Any:
        """The journal, of some codes only where they are named."""
        lines = self._caller.lines(f"runs/{self.name}/journal")
        rows = ([seq, t_us, code, node, cause, params] for seq, t_us, node, code, cause, params in lines)
        return framed((event(row) for row in rows if not codes or row[2] in codes), self._frames)

    def operations(self) -> Any:
        """What clients did and were told."""
        return framed(self._caller.lines(f"runs/{self.name}/operations"), self._frames)

    def comparison(self, other: Run | str) -> State:
        """Where two runs part."""
        name = other.name if isinstance(other, Run) else other
        found: State = self._caller.get(f"runs/{self.name}/comparison", other=name)
        return found

    def pack(self, path: str) -> None:
        """As one file, with a hash over everything."""
        content = self._caller.bytes(f"runs/{self.name}/pack")
        with open(path, "wb") as file:
            file.write(content)

    def __repr__(self) -> str:
        return f"<Run {self.name}>"
