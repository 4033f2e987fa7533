"""The offsets that a group has committed, and those that are on their way into the log.

A committed offset is the *next* offset to read: whoever has processed record 41 commits 42.

    commit 42   -> pending[orders-0] = 42, one record appended to __consumer_offsets
    replicated  -> replay: committed[orders-0] = 42, pending is empty, the member gets its answer
    failed      -> pending is dropped, committed stays what it was

Between the two steps OffsetFetch still answers the old offset, or UNSTABLE_OFFSET_COMMIT when the
reader asked for stable offsets (KIP-447).

Offsets of a transaction (TxnOffsetCommit) are in the log, too, but count only when its marker is:

    producer 7 commits 42 -> transactional[7][orders-0] = 42      unstable
    COMMIT marker of 7    -> committed[orders-0] = 42             ABORT: forgotten

A plain commit that was written after the transaction's stays: what stands later in the log counts.
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
    """Committed and pending offsets of one group, by (topic, partition).

    - `transactional[producer id]`: offsets of its open transaction, each with its place in the order of the log;
      place 0: not in the log yet.
    - `places[key]`: the place of `committed[key]`.
    """

    __slots__ = ("committed", "pending", "transactional", "places", "place")

    def __init__(self) -> None:
        self.committed: dict[TopicPartition, CommittedOffset] = {}
        self.pending: dict[TopicPartition, CommittedOffset] = {}
        self.transactional: dict[int, dict[TopicPartition, tuple[CommittedOffset, int]]] = {}
        self.places: dict[TopicPartition, int] = {}
        self.place = 0

    def __bool__(self) -> bool:
        """Whether the group has any offset, so that it must not be forgotten."""
        return bool(self.committed or self.pending or self.transactional)

    def unstable(self, key: TopicPartition) -> bool:
        """Whether another offset of the partition is on its way: into the log, or waiting for its marker."""
        return key in self.pending or any(key in offsets for offsets in self.transactional.values())

    def prepare(self, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These are being written. A later commit of the same partition takes the earlier one's place."""
        self.pending.update(offsets)

    def replay(self, key: TopicPartition, offset: CommittedOffset | None) -> None:
        """What a record in the log says: an offset, or None for a tombstone."""
        self.place += 1
        if offset is None:
            self.committed.pop(key, None)
            self.places.pop(key, None)
        else:
            self.committed[key] = offset
            self.places[key] = self.place

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

    # --- of a transaction ---------------------------------------------------------------------------

    def prepare_transactional(self, producer_id: int, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These are being written as part of the producer's transaction."""
        mine = self.transactional.setdefault(producer_id, {})
        for key, offset in offsets.items():
            mine[key] = offset, 0

    def replay_transactional(self, producer_id: int, key: TopicPartition, offset: CommittedOffset) -> None:
        """What a record of a transaction says; it counts when the marker comes."""
        self.place += 1
        self.transactional.setdefault(producer_id, {})[key] = offset, self.place

    def written_transactional(self, producer_id: int, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These are in the log now. What was deleted, or ended by a marker, meanwhile is not brought back."""
        for key, offset in offsets.items():
            if key in self.transactional.get(producer_id, ()):
                self.replay_transactional(producer_id, key, offset)

    def failed_transactional(self, producer_id: int, offsets: dict[TopicPartition, CommittedOffset]) -> None:
        """These will not be in the log."""
        mine = self.transactional.get(producer_id, {})
        for key, offset in offsets.items():
            if mine.get(key) == (offset, 0):
                del mine[key]
        if not mine:
            self.transactional.pop(producer_id, None)

    def end_transaction(self, producer_id: int, commit: bool) -> dict[TopicPartition, CommittedOffset]:
        """The producer's marker is in the log: which offsets are committed by it."""
        counted = {}
        for key, (offset, place) in self.transactional.pop(producer_id, {}).items():
            if commit and place > self.places.get(key, 0):
                self.committed[key], self.places[key] = offset, place
                counted[key] = offset
        return counted

    def remove(self, keys: list[TopicPartition]) -> list[TopicPartition]:
        """Deletes offsets and says which of them existed: those need a tombstone."""
        removed = []
        for key in keys:
            self.pending.pop(key, None)
            self.places.pop(key, None)
            for producer_id, offsets in list(self.transactional.items()):
                offsets.pop(key, None)
                if not offsets:
                    del self.transactional[producer_id]
            if self.committed.pop(key, None) is not None:
                removed.append(key)
        return removed
