"""The truth of a cluster: what has been decided, wherever a generation keeps it.

| question | ZooKeeper answers from | KRaft from |
|---|---|---|
| who is controller, in which epoch | /controller, /controller_epoch | who leads the metadata quorum |
| who is registered | /brokers/ids | registrations in the metadata log, not fenced |
| who is fenced | nobody: a broker is registered or not | registrations in it that are |
| who leads, is in sync, holds a partition | /brokers/topics/T, .../partitions/N/state | partitions in it |
| what is set | /config | settings in it |
| who believes to be controller, and what it remembers | the controller in that process | the same |

Checkers, conditions, the operator, tables and the screen ask here, never a tree or a log themselves. The truth is
looked at from outside between two events: it costs no message and leaves no trace in the journal.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from broker_core.kernel.journal import Row
from broker_core.metadata.config_entities import Entity
from broker_core.metadata.partition import LeaderAndIsr

EXISTS = "exists"
"""The type of a change that says whether there is a topic: ("exists", "orders")."""

State = dict[str, Any]  # leader (-1: none), leader_epoch, isr, replicas


@dataclass(slots=True)
class ControllerFigures:
    """What the controller in a process counts; all but its elections are 0 while it is not active. None: with this
    generation controllers count no such thing."""

    active: bool = False
    offline_partitions: int = 0
    preferred_imbalance: int = 0
    topics: int = 0
    partitions: int = 0
    leader_elections: int | None = None
    unclean_leader_elections: int = 0
    active_brokers: int | None = None
    fenced_brokers: int | None = None


class Truth(Protocol):
    """Of one world. `who`: the name of the place that it is read from, among those who believe something."""

    who: str

    # -- the cluster --------------------------------------------------------------------------
    def controller_id(self) -> int | None: ...

    def controller_node(self) -> str | None:
        """The node on which it runs."""
        ...

    def controller_epoch(self) -> int:
        """Of the last controller election, 0 before the first."""
        ...

    def keepers(self) -> list[str]:
        """Nodes that keep the truth, running or not."""
        ...

    def registered(self) -> list[int]:
        """Brokers that the cluster counts on, sorted."""
        ...

    def fenced(self) -> list[int]:
        """Brokers that it knows and does not count on, sorted."""
        ...

    def still(self) -> AbstractContextManager[None]:
        """While it lasts nothing happens: what is asked many times may be found once."""
        ...

    def version(self) -> Any:
        """Another one whenever an answer about brokers or topics may be; None where nobody keeps count."""
        ...

    # -- topics -------------------------------------------------------------------------------
    def topics(self) -> dict[str, dict[int, State]]:
        """Topic -> partition -> state, sorted by name and number."""
        ...

    def partition_state(self, topic: str, partition: int) -> State | None:
        """None when there is no such partition."""
        ...

    def leader_and_isr(self, topic: str, partition: int) -> LeaderAndIsr | None:
        """The same with all epochs, for those who look at every event: what was last known where nobody can say now."""
        ...

    def reassignment(self, topic: str, partition: int) -> dict[str, list[int]] | None:
        """Replicas that a move adds and removes; None when none is under way (KIP-455)."""
        ...

    def topic_configs(self, topic: str) -> dict[str, str] | None:
        """What a topic has of its own; None when there is no such topic."""
        ...

    def heard(self, row: Row) -> None:
        """Of each state transition, as it happens."""
        ...

    def setting_changed(self, row: Row) -> tuple[Entity, dict[str, str] | None] | None:
        """What an event of the journal, which has just happened, has changed in topics (`EXISTS`) and settings."""
        ...

    # -- processes ----------------------------------------------------------------------------
    def reign(self, machine: Any) -> int | None:
        """The epoch in which a process believes itself to be the controller; None when it does not."""
        ...

    def obeyed(self, machine: Any) -> int | None:
        """The newest controller epoch that a process has heard of; None where it is told nothing by controllers."""
        ...

    def controller_figures(self, machine: Any) -> ControllerFigures: ...

    def remembered(self, machine: Any, topic: str, partition: int) -> LeaderAndIsr | None:
        """What a controller has in its memory."""
        ...

    def behind(self, machine: Any) -> int | None:
        """Records of the metadata log that a process has not read yet; None where there is no such log."""
        ...

    # -- what a generation alone has ------------------------------------------------------------
    def snapshot(self) -> dict[str, Any]:
        """Its part of the snapshot that viewers get."""
        ...

    def expire_session(self, node: str) -> str | None:
        """End the session of a process as if it had been silent; its name, None when there is none."""
        ...
