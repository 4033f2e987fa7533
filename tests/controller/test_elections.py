"""Elections and state tables, against what Kafka's controller does."""

from __future__ import annotations

import pytest

from broker_core.controller.elections import Situation, Strategy, elect
from broker_core.controller.state_machines import (
    PARTITION_PREVIOUS,
    REPLICA_PREVIOUS,
    PartitionState,
    ReplicaState,
    partition_may,
    replica_may,
)
from broker_core.metadata.partition import LeaderAndIsr

OFF, UNC, PRE = Strategy.OFFLINE, Strategy.UNCLEAN, Strategy.PREFERRED
REA, CON = Strategy.REASSIGNMENT, Strategy.CONTROLLED_SHUTDOWN


# strategy, assignment, isr, online, extra -> new leader (None: nobody), new ISR
CASES = [
    (OFF, [1, 2, 3], [1, 2, 3], [2, 3], {}, 2, [2, 3]),
    (OFF, [1, 2, 3], [3, 1], [2, 3], {}, 3, [3]),
    (OFF, [1, 2, 3], [1], [2, 3], {}, None, None),
    (OFF, [1, 2, 3], [1], [2, 3], {"unclean_allowed": True}, 2, [2]),
    (OFF, [1, 2, 3], [2], [], {"unclean_allowed": True}, None, None),
    (OFF, [3, 2, 1], [1, 2], [1, 2, 3], {"unclean_allowed": True}, 2, [1, 2]),
    (UNC, [1, 2, 3], [1], [3, 2], {}, 2, [2]),
    (UNC, [1, 2, 3], [3], [2, 3], {}, 3, [3]),
    (PRE, [1, 2, 3], [2, 1], [1, 2, 3], {}, 1, [2, 1]),
    (PRE, [1, 2, 3], [2, 3], [1, 2, 3], {}, None, None),
    (PRE, [1, 2, 3], [1, 2], [2, 3], {}, None, None),
    (REA, [3, 4, 1], [1, 4, 3], [1, 3, 4], {"target": [4, 3]}, 4, [1, 4, 3]),
    (REA, [3, 4, 1], [1], [1, 3, 4], {"target": [3, 4]}, None, None),
    (CON, [1, 2, 3], [1, 2, 3], [2, 3], {"reachable": [1, 2, 3], "shutting_down": [1]}, 2, [2, 3]),
    (CON, [1, 2, 3], [1], [2, 3], {"reachable": [1, 2, 3], "shutting_down": [1]}, None, None),
    (CON, [1, 2, 3], [1, 2, 3], [3], {"reachable": [1, 2, 3], "shutting_down": [1, 2]}, 3, [3]),
]  # fmt: skip


@pytest.mark.parametrize(("strategy", "assignment", "isr", "online", "extra", "leader", "new_isr"), CASES)
def test_an_election_picks_whom_kafka_picks(
    strategy: Strategy, assignment: list[int], isr: list[int], online: list[int], extra: dict[str, list[int]],
    leader: int | None, new_isr: list[int] | None,
) -> None:  # fmt: skip
    state = LeaderAndIsr(1, isr, leader_epoch=7, partition_epoch=3)
    situation = Situation(state, assignment, online, extra.get("reachable", online))
    for name, value in extra.items():
        setattr(situation, name, value)
    outcome = elect(strategy, situation)
    if leader is None:
        assert outcome.state is None
    else:
        assert outcome.state == LeaderAndIsr(leader, new_isr or [], leader_epoch=8, partition_epoch=3)
        assert outcome.unclean == (leader not in isr)


def test_every_state_can_be_left_and_reached() -> None:
    for state in PartitionState:
        assert any(state in previous for previous in PARTITION_PREVIOUS.values())
        assert PARTITION_PREVIOUS[state]
    for replica_state in ReplicaState:
        assert any(replica_state in previous for previous in REPLICA_PREVIOUS.values())
        assert REPLICA_PREVIOUS[replica_state]


def test_the_tables_refuse_what_kafka_refuses() -> None:
    assert not partition_may(PartitionState.NON_EXISTENT, PartitionState.ONLINE)
    assert not partition_may(PartitionState.ONLINE, PartitionState.NON_EXISTENT)
    assert partition_may(PartitionState.ONLINE, PartitionState.ONLINE)
    assert not replica_may(ReplicaState.ONLINE, ReplicaState.DELETION_STARTED)
    assert not replica_may(ReplicaState.NON_EXISTENT, ReplicaState.ONLINE)
    assert replica_may(ReplicaState.DELETION_INELIGIBLE, ReplicaState.OFFLINE)
