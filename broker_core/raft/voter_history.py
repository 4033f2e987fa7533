"""Which voters and which kraft.version hold at which offset of the log.

Voters count from the moment their record is *written*: waiting for its commit would need a majority of the very
voters that are being changed. A record that is truncated takes its voters back with it.

| offset | record | voters that decide |
|---|---|---|
| - | none, `controller.quorum.voters` says 1, 2, 3 | 1, 2, 3 |
| 17 | KRAFT_VOTERS 1, 2, 3, 4 | 1, 2, 3, 4 from 17 on, committed or not |
| truncated to 17 | | 1, 2, 3 |

Source: KRaftControlRecordStateMachine, VoterSetHistory (KIP-853).
"""

from __future__ import annotations

from typing import Any

from broker_core.raft.control_records import voters_of
from broker_core.records.control import Control
from broker_core.raft.voters import VoterSet
from broker_core.records.control import KRAFT_VERSION, KRAFT_VOTERS

BEFORE_THE_LOG = -1


class VoterHistory:
    """`voters` and `versions` hold (offset, value) with strictly ascending offsets."""

    def __init__(self, static: VoterSet) -> None:
        self.static = static
        self.voters: list[tuple[int, VoterSet]] = []
        self.versions: list[tuple[int, int]] = []

    @property
    def last_voters(self) -> VoterSet:
        """The voters that decide now."""
        return self.voters[-1][1] if self.voters else self.static

    @property
    def last_voters_offset(self) -> int | None:
        """Where the record of `last_voters` stands; None for static voters."""
        return self.voters[-1][0] if self.voters else None

    @property
    def last_version(self) -> int:
        """kraft.version: 0 until a record says otherwise."""
        return self.versions[-1][1] if self.versions else 0

    def voters_at(self, offset: int) -> VoterSet | None:
        """Voters as of the record at `offset`; None when no record up to there names any."""
        found = [voters for at, voters in self.voters if at <= offset]
        return found[-1] if found else None

    def version_at(self, offset: int) -> int:
        found = [version for at, version in self.versions if at <= offset]
        return found[-1] if found else 0

    def take(self, offset: int, control: Control) -> bool:
        """Look at a control record of the log or (offset -1) of a snapshot. Whether the voters are others now."""
        kind, message = control
        if kind == KRAFT_VERSION:
            self._put(self.versions, offset, message.k_raft_version)
        elif kind == KRAFT_VOTERS:
            before = self.last_voters
            self._put(self.voters, offset, voters_of(message))
            return before != self.last_voters
        return False

    @staticmethod
    def _put(entries: list[tuple[int, Any]], offset: int, value: Any) -> None:
        while entries and entries[-1][0] >= offset:
            entries.pop()
        entries.append((offset, value))

    def truncate_from(self, end_offset: int) -> bool:
        """The log now ends at `end_offset`. Whether the voters are others now."""
        before = self.last_voters
        self.voters = [entry for entry in self.voters if entry[0] < end_offset]
        self.versions = [entry for entry in self.versions if entry[0] < end_offset]
        return before != self.last_voters

    def forget_before(self, start_offset: int) -> None:
        """A snapshot holds what was below `start_offset`: only the newest entry of that part is kept."""
        for entries in (self.voters, self.versions):
            old = [entry for entry in entries if entry[0] < start_offset]
            del entries[: max(0, len(old) - 1)]

    def clear(self) -> None:
        """Everything is read anew, from a snapshot."""
        self.voters.clear()
        self.versions.clear()
