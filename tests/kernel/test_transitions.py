"""Machines whose states are tables: each step is in the table, and each row of the table is of use."""

from __future__ import annotations

import pytest

from broker_core.clients import group_member, positions
from broker_core.kernel import node
from broker_core.kernel.transitions import IllegalTransition, Transitions
from broker_core.replication import partition
from broker_core.wire import messages as m
from broker_core.zookeeper import client

BEGINNINGS = [
    (group_member.STATES, group_member.UNJOINED), (positions.STATES, positions.COMMITTED), (node.STATES, node.STOPPED),
    (partition.ROLES, partition.OFFLINE), (client.STATES, client.CLOSED),
]  # fmt: skip

@pytest.mark.parametrize(("table", "begin"), BEGINNINGS, ids=[table.what for table, _ in BEGINNINGS])
def test_a_table_names_each_of_its_states_and_each_can_be_reached(table: Transitions, begin: str) -> None:
    seen, due = {begin}, [begin]
    while due:
        following = [state for state in table.next[due.pop()] if state not in seen]
        seen.update(following)
        due += following
    assert seen == set(table.next)


def test_a_step_that_no_table_has_raises() -> None:
    assert node.STATES.step(node.RUNNING, node.PAUSED) == node.PAUSED
    with pytest.raises(IllegalTransition, match="node: stopped -> paused"):
        node.STATES.step(node.STOPPED, node.PAUSED)
    with pytest.raises(IllegalTransition, match="position: reset -> validating"):
        positions.Position(positions.RESET).become(positions.VALIDATING)


def test_an_answer_to_a_member_that_has_left_changes_nothing() -> None:
    """Stopped while it joins: the coordinator's answer comes to nobody."""
    member = object.__new__(group_member.GroupMember)
    member.state = group_member.UNJOINED
    answer = m.JoinGroupResponse(error_code=0, generation_id=3, member_id="late", leader="late", members=[])
    member._joined(None, answer)
    member._synced(None, m.SyncGroupResponse(error_code=0, assignment=b""))
    member._join()
    assert member.state == group_member.UNJOINED
