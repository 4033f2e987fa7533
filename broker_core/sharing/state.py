"""What the share coordinator knows of one share-partition.

| number          | grows when                                | who is behind it is told |
|-----------------|-------------------------------------------|--------------------------|
| snapshot epoch  | a snapshot is written                     |                          |
| state epoch     | the group initializes it again            | FENCED_STATE_EPOCH       |
| leader epoch    | a new leader of the partition reads it    | FENCED_LEADER_EPOCH      |

Source: ShareGroupOffset, ShareCoordinatorShard.replay.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from broker_core.coordinators import stored
from broker_core.sharing.batches import UNKNOWN_COUNT, StateBatch, batches_of, combined
from broker_core.sharing.records import SNAPSHOT, UPDATE, Record, ShareKey, listed

NO_CHANGE = -1
"""A start offset or an epoch of an update that says nothing."""


@dataclass(frozen=True, slots=True)
class ShareState:
    """Never changed: another one takes its place.

    - `start` -1: the leader has not chosen it yet.
    - `completed`: offsets from `start` on that are done (KIP-1226); -1: nobody has counted.
    - `newest_leader`, `newest_state`: the highest epochs ever seen; older writers are fenced.
    - `updates`: records since the last snapshot.

    Invariants
        - `batches` are sorted and do not overlap; none ends before `start`
    """

    snapshot_epoch: int = 0
    state_epoch: int = 0
    leader_epoch: int = 0
    start: int = -1
    completed: int = UNKNOWN_COUNT
    batches: tuple[StateBatch, ...] = ()
    created_ms: int = 0
    written_ms: int = 0
    newest_leader: int = 0
    newest_state: int = 0
    updates: int = 0


class ShareStates:
    """The share-partitions of one partition of `__share_group_state`. `limit`: updates between two snapshots.

    - `places`: where the last snapshot of each stands; `needed`: nothing before it is needed, 0 before anything
      is known. It is the smallest place, so one share-partition that stands still holds up all others:

            a: snapshot 1    b: snapshots 2, 4, 6    c: snapshots 3, 5    needed: 1, until a has another one

    Source: ShareCoordinatorOffsetsManager.
    """

    __slots__ = ("states", "limit", "places", "needed")

    def __init__(self, limit: int) -> None:
        self.states: dict[ShareKey, ShareState] = {}
        self.limit = limit
        self.places: dict[ShareKey, int] = {}
        self.needed = 0

    def replay(self, record: Record, offset: int) -> None:
        """What a record says that stands at an offset, or behind it in one batch."""
        if record.kind == UPDATE:
            self._update(record.key, record.value)
            return
        self.places[record.key] = offset
        self.needed = min(self.places.values())
        if record.value is None:
            self.states.pop(record.key, None)
            del self.places[record.key]
        else:
            self._snapshot(record.key, record.value)

    def _snapshot(self, key: ShareKey, value: Any) -> None:
        before = self.states.get(key)
        updates = 0 if before is None or before.updates >= self.limit else before.updates
        self.states[key] = ShareState(
            value.snapshot_epoch, value.state_epoch, value.leader_epoch, value.start_offset,
            value.delivery_complete_count, batches_of(value.state_batches), value.create_timestamp,
            value.write_timestamp,
            newest_leader=value.leader_epoch if before is None else max(before.newest_leader, value.leader_epoch),
            newest_state=value.state_epoch if before is None else max(before.newest_state, value.state_epoch),
            updates=updates,
        )  # fmt: skip

    def _update(self, key: ShareKey, value: Any) -> None:
        """An update of a share-partition whose snapshot is gone begins it anew."""
        before = self.states.get(key) or ShareState(value.snapshot_epoch)
        start = before.start if value.start_offset == NO_CHANGE else value.start_offset
        leader = before.leader_epoch if value.leader_epoch == NO_CHANGE else value.leader_epoch
        self.states[key] = replace(
            before, start=start, leader_epoch=leader, completed=value.delivery_complete_count,
            batches=combined(before.batches, batches_of(value.state_batches), start),
            newest_leader=max(before.newest_leader, leader), updates=before.updates + 1,
        )  # fmt: skip


def snapshot_record(key: ShareKey, state: ShareState) -> Record:
    """All of it."""
    kind = stored.ShareSnapshotValue
    value = kind(
        snapshot_epoch=state.snapshot_epoch, state_epoch=state.state_epoch, leader_epoch=state.leader_epoch,
        start_offset=state.start, delivery_complete_count=state.completed, create_timestamp=state.created_ms,
        write_timestamp=state.written_ms, state_batches=listed(kind.StateBatch, state.batches),
    )  # fmt: skip
    return Record(SNAPSHOT, key, value)


def update_record(
    key: ShareKey, before: ShareState, leader_epoch: int, start: int, completed: int, batches: tuple[StateBatch, ...]
) -> Record:
    """What has changed since."""
    kind = stored.ShareUpdateValue
    value = kind(
        snapshot_epoch=before.snapshot_epoch, leader_epoch=leader_epoch, start_offset=start,
        delivery_complete_count=completed, state_batches=listed(kind.StateBatch, batches),
    )  # fmt: skip
    return Record(UPDATE, key, value)


def tombstone(key: ShareKey) -> Record:
    """It is gone."""
    return Record(SNAPSHOT, key, None)
