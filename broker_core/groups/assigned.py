"""What all groups have in common whose assignment the broker makes: consumer groups of KIP-848, share groups.

    group epoch       grows when members, their wishes or their topics change
    assignment epoch  the group epoch for which the targets were computed

Both, the targets and a hash of the topics are records in `__consumer_offsets`, under numbers of their own for each
kind of group; `replay` alone changes a group, when it is read from the log and when a decision's records are in it.
Source: ModernGroup, GroupMetadataManager.replay.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from broker_core.groups.consumer.member import NO_PARTITIONS, Target, flattened

EMPTY, STABLE, DEAD = "Empty", "Stable", "Dead"
FIRST_EPOCH = 1
"""Of a group of which no epoch is written yet; 0 is what a member says to join."""


Member = TypeVar("Member")


class AssignedGroup(Generic[Member]):
    """A group as its coordinator sees it; `told`: the state that the journal was told last.

    Invariants
        - assignment_epoch <= epoch
    """

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.assigned_at_ms = 0
        self.members: dict[str, Member] = {}
        self.targets: dict[str, Target] = {}
        self.gone = False
        self.told = EMPTY

    @property
    def state(self) -> str:
        """Of members that are at their target at once; others are on their way for a while."""
        return DEAD if self.gone else STABLE if self.members else EMPTY

    def target(self, member_id: str) -> Target:
        return self.targets.get(member_id, NO_PARTITIONS)

    # --- replay ---------------------------------------------------------------------------------

    def _group(self, subject: str, value: Any) -> None:
        self.epoch = FIRST_EPOCH if value is None else value.epoch
        self.metadata_hash = 0 if value is None else value.metadata_hash

    def _target_epoch(self, subject: str, value: Any) -> None:
        self.assignment_epoch = FIRST_EPOCH if value is None else value.assignment_epoch
        self.assigned_at_ms = 0 if value is None else value.assignment_timestamp

    def _target(self, member_id: str, value: Any) -> None:
        self.targets.pop(member_id, None)
        if value is not None:
            self.targets[member_id] = frozenset(flattened(value.topic_partitions))
