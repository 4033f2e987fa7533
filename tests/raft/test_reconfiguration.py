"""Voters that come and go while the quorum works (KIP-853)."""

from __future__ import annotations

from typing import Any

from broker_core.raft.voters import Listener
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from tests.raft.quorums import Quorum, described, directory_of


def add(quorum: Quorum, leader: int, replica: int, seconds: float = 1) -> Any:
    kind = m.AddRaftVoterRequest
    node = described(replica)
    body = kind(
        cluster_id=None, timeout=10_000, voter_id=replica, voter_directory_id=node.key.directory,
        listeners=[kind.Listener(name=one.name, host=one.host, port=one.port) for one in node.listeners],
    )
    return quorum.ask(leader, ApiKey.ADD_RAFT_VOTER, 1, body, seconds)


def remove(quorum: Quorum, leader: int, replica: int, seconds: float = 1) -> Any:
    body = m.RemoveRaftVoterRequest(cluster_id=None, voter_id=replica, voter_directory_id=directory_of(replica))
    return quorum.ask(leader, ApiKey.REMOVE_RAFT_VOTER, 0, body, seconds)


def voters(quorum: Quorum) -> list[list[int]]:
    return [quorum[one].raft.history.last_voters.ids for one in quorum.alive]


def test_voters_from_the_bootstrap_snapshot_elect_a_leader():
    quorum = Quorum([1, 2, 3], dynamic=True)
    quorum.wait_for_leader()
    quorum.run(1)
    assert voters(quorum) == [[1, 2, 3]] * 3
    assert {quorum[one].raft.history.last_version for one in quorum.ids} == {1}


def test_an_observer_becomes_a_voter_and_then_counts():
    quorum = Quorum([1, 2, 3, 4], voters=[1, 2, 3], dynamic=True)
    leader = quorum.wait_for_leader()
    quorum.run(1)
    assert add(quorum, leader, 4).error_code == ErrorCode.NONE
    assert voters(quorum) == [[1, 2, 3, 4]] * 4
    for one in [one for one in (1, 2, 3) if one != leader]:
        quorum.world.crash(quorum.node(one))
    quorum.run(5)
    assert quorum.leader is None, "two of four are no majority"


def test_a_voter_is_removed_while_the_quorum_works():
    quorum = Quorum([1, 2, 3], dynamic=True)
    leader = quorum.wait_for_leader()
    gone = next(one for one in quorum.ids if one != leader)
    quorum.run(1)
    assert remove(quorum, leader, gone).error_code == ErrorCode.NONE
    assert quorum[gone].raft.quorum.state.name in ("follower", "unattached")
    quorum.append(b"x")
    quorum.run(1)
    assert [quorum[one].values for one in quorum.ids] == [[b"x"]] * 3


def test_a_leader_that_is_removed_resigns_when_that_is_committed():
    quorum = Quorum([1, 2, 3], dynamic=True)
    leader = quorum.wait_for_leader()
    quorum.run(1)
    assert remove(quorum, leader, leader).error_code == ErrorCode.NONE
    quorum.run(5)
    successor = quorum.leader
    assert successor not in (None, leader)
    assert leader not in quorum[successor].raft.history.last_voters
    assert quorum[leader].raft.quorum.leader is None


def test_what_may_not_change_is_refused_with_kafka_s_errors():
    quorum = Quorum([1, 2, 3, 4], voters=[1, 2, 3], dynamic=True)
    leader = quorum.wait_for_leader()
    quorum.run(1)
    assert add(quorum, leader, 2).error_code == ErrorCode.DUPLICATE_VOTER
    assert remove(quorum, leader, 4).error_code == ErrorCode.VOTER_NOT_FOUND
    follower = next(one for one in (1, 2, 3) if one != leader)
    assert add(quorum, follower, 4).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    quorum.world.crash(quorum.node(4))
    assert add(quorum, leader, 4, 5).error_code == ErrorCode.REQUEST_TIMED_OUT


def test_static_voters_cannot_be_changed():
    quorum = Quorum([1, 2, 3, 4], voters=[1, 2, 3])
    leader = quorum.wait_for_leader()
    quorum.run(1)
    assert add(quorum, leader, 4).error_code == ErrorCode.UNSUPPORTED_VERSION
    assert remove(quorum, leader, 2).error_code == ErrorCode.UNSUPPORTED_VERSION


def test_static_voters_say_who_they_are_a_fetch_timeout_after_the_election():
    quorum = Quorum([1, 2, 3])
    leader = quorum.wait_for_leader()
    knows = quorum[leader].raft.leading().described
    others = [one for one in quorum.ids if one != leader]
    quorum.run(1.7)
    assert not [one for one in others if one in knows], "not at once"
    quorum.run(1)
    assert [knows[one].listeners for one in others] == [described(one).listeners for one in others]


def test_a_voter_with_another_address_has_it_written_within_a_fetch_timeout_and_only_then():
    quorum = Quorum([1, 2, 3], dynamic=True)
    leader = quorum.wait_for_leader()
    moved = next(one for one in quorum.ids if one != leader)
    quorum.run(10)
    before = quorum[leader].raft.history.last_voters_offset
    raft = quorum[moved].raft
    raft.own = raft.own._replace(listeners=(Listener("CONTROLLER", "127.0.0.1", 9999),))
    quorum.run(2.7)
    known = [quorum[one].raft.history.last_voters.nodes[moved].listeners[0].port for one in quorum.ids]
    written = quorum[leader].raft.history.last_voters_offset
    assert (known, written > before) == ([9999] * 3, True)
    quorum.run(10)
    assert quorum[leader].raft.history.last_voters_offset == written, "who is described rightly asks no more"


def test_the_last_voter_cannot_be_removed():
    quorum = Quorum([1], dynamic=True)
    quorum.wait_for_leader()
    assert remove(quorum, 1, 1).error_code == ErrorCode.VOTER_NOT_FOUND


def test_voters_are_the_same_after_a_restart():
    quorum = Quorum([1, 2, 3, 4], voters=[1, 2, 3], dynamic=True)
    leader = quorum.wait_for_leader()
    quorum.run(1)
    add(quorum, leader, 4)
    for one in quorum.ids:
        quorum.world.crash(quorum.node(one))
    for one in quorum.ids:
        quorum.world.start_node(quorum.node(one))
    quorum.wait_for_leader()
    assert voters(quorum) == [[1, 2, 3, 4]] * 4
