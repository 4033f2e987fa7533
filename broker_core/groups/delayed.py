"""The waits of a rebalance, as operations in the purgatory "Rebalance".

| operation        | watches        | complete when                         | when it expires                   |
|------------------|----------------|---------------------------------------|-----------------------------------|
| InitialDelayedJoin | join-GROUP   | never early                           | waits once more, or as DelayedJoin |
| DelayedJoin      | join-GROUP     | all members have joined               | goes on without those missing     |
| DelayedSync      | sync-GROUP     | all members have synced, or no longer | those missing are removed         |

All of them are complete at once when the group is Dead: then nothing happens any more.
"""

from __future__ import annotations

from typing import Protocol

from broker_core.groups.group import Group
from broker_core.groups.states import GroupState
from broker_core.purgatory.operations import DelayedOperation


class RebalanceSteps(Protocol):
    """What the operations call when their wait is over (`groups.rebalance`)."""

    def initial_delay_over(self, group: Group, delay_ms: int, remaining_ms: int) -> None: ...

    def complete_join(self, group: Group) -> None: ...

    def sync_overdue(self, group: Group) -> None: ...


def join_key(group: Group) -> str:
    """What joins of a group watch."""
    return f"join-{group.group_id}"


def sync_key(group: Group) -> str:
    """What syncs of a group watch."""
    return f"sync-{group.group_id}"


class DelayedJoin(DelayedOperation):
    """Waits for all members to join."""

    __slots__ = ("steps", "group")

    def __init__(self, steps: RebalanceSteps, group: Group) -> None:
        super().__init__()
        self.steps = steps
        self.group = group

    def try_complete(self) -> bool:
        """All are there, or the group is not here any more."""
        if self.group.state is GroupState.DEAD or self.group.all_joined():
            return self.force_complete()
        return False

    def on_complete(self) -> None:
        """The next generation begins."""
        if self.group.state is not GroupState.DEAD:
            self.steps.complete_join(self.group)


class InitialDelayedJoin(DelayedOperation):
    """Waits for the first members of an empty group: `delay_ms` now, `remaining_ms` more at most."""

    __slots__ = ("steps", "group", "delay_ms", "remaining_ms")

    def __init__(self, steps: RebalanceSteps, group: Group, delay_ms: int, remaining_ms: int) -> None:
        super().__init__()
        self.steps = steps
        self.group = group
        self.delay_ms = delay_ms
        self.remaining_ms = remaining_ms

    def try_complete(self) -> bool:
        """Never early: who knows how many will come."""
        return self.group.state is GroupState.DEAD and self.force_complete()

    def on_complete(self) -> None:
        """The delay is over."""
        if self.group.state is not GroupState.DEAD:
            self.steps.initial_delay_over(self.group, self.delay_ms, self.remaining_ms)


class DelayedSync(DelayedOperation):
    """Waits for all members of one generation to sync."""

    __slots__ = ("steps", "group", "generation")

    def __init__(self, steps: RebalanceSteps, group: Group) -> None:
        super().__init__()
        self.steps = steps
        self.group = group
        self.generation = group.generation

    def is_over(self) -> bool:
        """Whether this generation's syncs are no longer waited for."""
        syncing = self.group.state in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE)
        return self.generation != self.group.generation or not syncing or not self.group.pending_sync

    def try_complete(self) -> bool:
        """All have synced, or another rebalance has begun."""
        return self.is_over() and self.force_complete()

    def on_complete(self) -> None:
        """Nothing: each sync is answered by itself."""

    def on_expiration(self) -> None:
        """Some have not synced in time."""
        if not self.is_over():
            self.steps.sync_overdue(self.group)
