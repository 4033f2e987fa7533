"""The offsets that a group has committed, and those that are on their way into the log.

A committed offset is the *next* offset to read: whoever has processed record 41 commits 42.

    commit 42   -> pending[orders-0] = 42, one record appended to __consumer_offsets
    replicated  -> replay: committed[orders-0] = 42, pending is empty, the member gets its answer
    failed      -> pending is dropped, committed stays what it was

Between the two steps OffsetFetch still answers the old offset, or UNSTABLE_OFFSET_COMMIT when the
reader asked for stable offsets (KIP-447).
"""

from __future__ import annotations

from typing import NamedTuple

TopicPartition = tuple[str, int]

NO_OFFSET = -1
NO_LEADER_EPOCH = -1


class CommittedOffset(NamedTuple):
    """One committed position; times in ms since 1970; `expire_timestamp` only where an old client asked for it."""

    offset: int
    leader_epoch: int = NO_LEADER_EPOCH
    metadata: str = ""
    commit_timestamp: int = -1
    expire_timestamp: int | None = None


class GroupOffsets:
    """Committed and pending offsets of one group, by (topic, partition)."""

    __slots__ = ("committed", "pending")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        self.pending: dict[TopicPartition, CommittedOffset] = {}

    def __bool__(self) -> bool:
        """Whether the group has any offset, so that it must not be forgotten."""
        return bool(self.committed or self.pending)

    def prepare(self, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These are being written. A later commit of the same partition takes the earlier one's place."""
        self.pending.update(offsets)

    def replay(self, key: TopicPartition, offset: CommittedOffset | None) -> None:
        """What a record in the log says: an offset, or None for a tombstone."""
        if offset is None:
            self.committed.pop(key, None)
        else:
            self.committed[key] = offset

    def written(self, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These are in the log now. A partition that was deleted meanwhile is not brought back."""
        for key, offset in offsets.items():
            staged = self.pending.get(key)
            if staged is None:
                continue
            self.replay(key, offset)
            if staged == offset:
                del self.pending[key]

    def failed(self, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These will not be in the log."""
        for key, offset in offsets.items():
            if self.pending.get(key) == offset:
                del self.pending[key]

    def remove(self, keys: list[TopicPartition]) -> list[TopicPartition]:
        """Deletes offsets and says which of them existed: those need a tombstone."""
        removed = []
        for key in keys:
            self.pending.pop(key, None)
            if self.committed.pop(key, None) is not None:
                removed.append(key)
        return removed
