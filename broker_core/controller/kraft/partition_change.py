"""What becomes of a partition when its brokers, its ISR or its replicas change: one record, or none.

Every decision about a partition that exists goes through here, so that an election, a finished reassignment and
the eligible leader replicas always follow from it in the same way:

    1. a reassignment whose new replicas are all in the ISR is complete: what was to go, goes
    2. ISR below `min.insync.replicas`: who leaves it stays *eligible* (ELR), unless it has lost its disk (KIP-966)
    3. the leader is no candidate any more: elect another one
    4. replicas have gone: a new leader epoch tells the others
    5. write what differs; each record raises the partition epoch

| election | asked when | new leader: the first of the replicas that is |
|---|---|---|
| ONLINE | always | acceptable, and in the ISR (in the ELR when the ISR is empty) |
| PREFERRED | somebody asks, or it is out of balance | the first replica if it fits, else nobody new |
| UNCLEAN | allowed, and nobody else fits | acceptable at all: the ISR is the new leader alone, and RECOVERING |

With the ELR the ISR may be empty. Who led last is remembered, and is taken when it returns and no ELR is left.
Source: PartitionChangeBuilder of 4.3 (KIP-455, KIP-841, KIP-966).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Any

from broker_core.metadata import records as r
from broker_core.metadata.registration import PartitionRegistration
from broker_core.metadata.replaying import UNASSIGNED


class Election(Enum):
    """How a leader may be found."""

    ONLINE = "online"
    PREFERRED = "preferred"
    UNCLEAN = "unclean"


class PartitionChange:
    """The state that is wanted of a partition: set what is to change, then `build` the record.

    `acceptable`: whether a broker may lead (active and not asked to leave). `directory_of`: where a broker that is new
    to the partition will put it.
    """

    def __init__(
        self, partition: PartitionRegistration, topic_id: uuid.UUID, number: int, acceptable: Callable[[int], bool],
        min_isr: int, elr_enabled: bool = True,
    ) -> None:  # fmt: skip
        self.partition = partition
        self.topic_id = topic_id
        self.number = number
        self.acceptable = acceptable
        self.min_isr = min_isr
        self.elr_enabled = elr_enabled
        self.isr = list(partition.isr)
        self.replicas = list(partition.replicas)
        self.removing = list(partition.removing_replicas)
        self.adding = list(partition.adding_replicas)
        self.elr = list(partition.elr)
        self.last_known = list(partition.last_known_elr)
        self.recovery_state = partition.leader_recovery_state
        self.unclean_shutdown: Sequence[int] = ()
        self.election = Election.ONLINE
        self.directories = dict(zip(partition.replicas, partition.directories, strict=False))
        self.directory_of: Callable[[int], uuid.UUID] = _unassigned

    def build(self) -> Any | None:
        """A PartitionChangeRecord; None when nothing changes."""
        record = r.PartitionChangeRecord(partition_id=self.number, topic_id=self.topic_id)
        self._complete_reassignment()
        self._fill_elr()
        self._elect(record)
        if record.leader == r.LEADER_UNCHANGED and not _within(self.partition.replicas, self.replicas):
            record.leader = self.partition.leader
        self._write_elr(record)
        isr_differs = self.isr != list(self.partition.isr)
        if record.isr is None and (self.isr or self.elr_enabled) and isr_differs:
            record.isr = list(self.isr)
        self._write_last_known(record)
        self._write_assignment(record)
        if self.recovery_state != self.partition.leader_recovery_state:
            record.leader_recovery_state = self.recovery_state
        return None if self._is_nothing(record) else record

    @staticmethod
    def _is_nothing(record: Any) -> bool:
        fresh = r.PartitionChangeRecord(partition_id=record.partition_id, topic_id=record.topic_id)
        return bool(record == fresh)

    # -- 1. reassignment --------------------------------------------------------------------------
    def _complete_reassignment(self) -> None:
        """Once all that are being added are in the ISR, those being removed leave; somebody must stay. Where more go
        than come, all that stay have to be in the ISR: else it could shrink below `min.insync.replicas` by that
        (KAFKA-15665, PartitionReassignmentReplicas)."""
        if not self.adding and not self.removing:
            return
        isr = [one for one in self.isr if one not in self.removing]
        replicas = [one for one in self.replicas if one not in self.removing]
        if not isr or not replicas or not _within(self.adding, isr):
            return
        if len(self.adding) < len(self.removing) and not _within(replicas, isr):
            return
        self.isr, self.replicas, self.adding, self.removing = isr, replicas, [], []

    # -- 2. eligible leader replicas --------------------------------------------------------------
    def _fill_elr(self) -> None:
        if not self.elr_enabled:
            return
        if len(self.isr) >= self.min_isr:
            self.elr, self.last_known = [], []
            return
        candidates = sorted(dict.fromkeys([*self.elr, *self.partition.isr]))
        self.elr = [one for one in candidates if one not in self.isr and one not in self.unclean_shutdown]
        self.last_known = [
            one for one in dict.fromkeys([*candidates, *self.last_known]) if one not in self.isr and one not in self.elr
        ]

    # -- 3. election ------------------------------------------------------------------------------
    def _elect(self, record: Any) -> None:
        leader, unclean = self._preferred() if self.election is Election.PREFERRED else self._any()
        if leader == self.partition.leader:
            return
        if leader in self.elr:
            self.isr = [leader]
            self.elr = [one for one in self.elr if one != leader]
        record.leader = leader
        if unclean:
            record.isr = self.isr = [leader]
            if self.partition.leader_recovery_state != r.RECOVERING:
                self.recovery_state = r.RECOVERING

    def _preferred(self) -> tuple[int, bool]:
        if self._fits(self.replicas[0]):
            return self.replicas[0], False
        return self._any()

    def _any(self) -> tuple[int, bool]:
        """(leader or -1, whether committed records may be lost with it)."""
        for candidate in (self.partition.leader, *self.replicas):
            if self._fits(candidate):
                return candidate, False
        if self._last_leader_is_back():
            return self.partition.last_known_elr[0], True
        alive = [one for one in self.replicas if self.acceptable(one)]
        if self.election is Election.UNCLEAN and alive:
            return alive[0], True
        return r.NO_LEADER, False

    def _fits(self, replica: int) -> bool:
        has_all = replica in self.isr or (not self.isr and replica in self.elr)
        return has_all and self.acceptable(replica)

    def _last_leader_is_back(self) -> bool:
        last = self.partition.last_known_elr
        return self.elr_enabled and not self.elr and not self.isr and len(last) == 1 and self.acceptable(last[0])

    # -- 5. what differs --------------------------------------------------------------------------
    def _write_elr(self, record: Any) -> None:
        if record.isr is not None or not self.elr_enabled:  # unclean: nobody is eligible beside the new leader
            self.elr = []
        if self.elr != list(self.partition.elr):
            record.eligible_leader_replicas = list(self.elr)

    def _write_last_known(self, record: Any) -> None:
        """Who led last is written when nobody does any more, whatever the ISR is, and goes with the next leader."""
        if not self.elr_enabled:
            return
        if record.leader == r.NO_LEADER and not self.partition.last_known_elr:
            record.last_known_elr = [self.partition.leader]
        elif record.leader >= 0 and self.partition.last_known_elr:
            record.last_known_elr = []

    def _write_assignment(self, record: Any) -> None:
        directories = [self.directories.get(one) or self.directory_of(one) for one in self.replicas]
        if directories != list(self.partition.directories):
            record.directories = directories
        for name, now, before in (
            ("replicas", self.replicas, self.partition.replicas),
            ("removing_replicas", self.removing, self.partition.removing_replicas),
            ("adding_replicas", self.adding, self.partition.adding_replicas),
        ):
            if now != list(before):
                setattr(record, name, list(now))


def _within(some: Sequence[int], others: Sequence[int]) -> bool:
    return all(one in others for one in some)


def _unassigned(_: int) -> uuid.UUID:
    return UNASSIGNED
