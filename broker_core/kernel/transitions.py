"""A state machine as a table: which states may follow on a state.

```
STATES = Transitions("node", {STOPPED: (RUNNING,), RUNNING: (PAUSED, STOPPED), PAUSED: (RUNNING, STOPPED)})
self.state = STATES.step(self.state, PAUSED)
```
Whatever the table does not name is a defect of the machine, never of what it was sent: it raises. A state that names
itself may be entered again. The states of a group, of partitions and replicas of a controller, and of a quorum have
tables of their own (`groups.states`, `controller.state_machines`, `raft.states`).
"""

from __future__ import annotations

from collections.abc import Mapping


class IllegalTransition(AssertionError):
    """A step that the table does not have."""


class Transitions:
    """The table of one kind of machine: state -> states that may follow."""

    __slots__ = ("what", "next")

    def __init__(self, what: str, following: Mapping[str, tuple[str, ...]]) -> None:
        self.what = what
        self.next = following

    def step(self, before: str, after: str) -> str:
        """`after`, if it may follow; raises IllegalTransition."""
        if after not in self.next[before]:
            raise IllegalTransition(f"{self.what}: {before} -> {after}")
        return after
