"""The two state machines of the controller, as tables of legal transitions.

A partition:

    NonExistent --created--> New --first leader--> Online <--elected-- Offline --deleted--> NonExistent
                              |                      |                    ^
                              '------ no replica alive, leader gone ------'

A replica of a partition on one broker:

    NonExistent -> New -> Online <-> Offline -> DeletionStarted -> DeletionSuccessful -> NonExistent
                                        ^              |
                                        |              v failed
                                        '--- DeletionIneligible (until its broker is back)

A step that the table does not list is refused and shows in the journal as nothing: the state stays.
Source: `PartitionStateMachine`, `ReplicaStateMachine`.
"""

from __future__ import annotations

from enum import Enum


class PartitionState(Enum):
    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaState(Enum):
    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


P, R = PartitionState, ReplicaState

PARTITION_PREVIOUS: dict[PartitionState, tuple[PartitionState, ...]] = {
    P.NEW: (P.NON_EXISTENT,),
    P.ONLINE: (P.NEW, P.ONLINE, P.OFFLINE),
    P.OFFLINE: (P.NEW, P.ONLINE, P.OFFLINE),
    P.NON_EXISTENT: (P.OFFLINE,),
}
"""target -> states from which it may be reached."""

REPLICA_PREVIOUS: dict[ReplicaState, tuple[ReplicaState, ...]] = {
    R.NEW: (R.NON_EXISTENT,),
    R.ONLINE: (R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE),
    R.OFFLINE: (R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_INELIGIBLE),
    R.DELETION_STARTED: (R.OFFLINE,),
    R.DELETION_SUCCESSFUL: (R.DELETION_STARTED,),
    R.DELETION_INELIGIBLE: (R.OFFLINE, R.DELETION_STARTED),
    R.NON_EXISTENT: (R.DELETION_SUCCESSFUL,),
}


def partition_may(before: PartitionState, after: PartitionState) -> bool:
    """Whether the table allows this step of a partition."""
    return before in PARTITION_PREVIOUS[after]


def replica_may(before: ReplicaState, after: ReplicaState) -> bool:
    """Whether the table allows this step of a replica."""
    return before in REPLICA_PREVIOUS[after]
