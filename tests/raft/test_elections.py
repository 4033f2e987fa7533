"""Elections of the metadata quorum: one leader in an epoch, a majority behind it, no epoch raised for nothing."""

from __future__ import annotations

import json
from random import Random

import pytest

from broker_core.kernel.storage_faults import WRITE_ERROR, DiskFault, DiskFaults
from broker_core.raft import QuorumSettings, ReplicaKey, VoterNode, VoterSet
from broker_core.raft.client import NotLeader
from broker_core.raft.leader import Leader
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.raft.quorums import Quorum


@pytest.mark.parametrize("count", [1, 3, 5])
def test_a_quorum_elects_one_leader_and_everybody_knows_it(count):
    quorum = Quorum(range(1, count + 1))
    leader = quorum.wait_for_leader()
    quorum.run(1)
    assert {quorum[one].raft.leader_and_epoch for one in quorum.ids} == {(leader, quorum[leader].raft.quorum.epoch)}
    assert {quorum[one].leaders[-1].leader_id for one in quorum.ids} == {leader}


def test_what_is_appended_is_told_to_every_listener_in_order():
    quorum = Quorum()
    quorum.wait_for_leader()
    for number in range(20):
        quorum.append(b"%d" % number, b"and %d" % number)
        quorum.run(0.03)
    quorum.run(1)
    expected = [value for number in range(20) for value in (b"%d" % number, b"and %d" % number)]
    assert [quorum[one].values for one in quorum.ids] == [expected] * 3


def test_only_the_leader_of_the_epoch_may_append():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    follower = next(one for one in quorum.ids if one != leader)
    with pytest.raises(NotLeader):
        quorum[follower].raft.append(quorum[follower].raft.quorum.epoch, [b"x"])
    with pytest.raises(NotLeader):
        quorum[leader].raft.append(quorum[leader].raft.quorum.epoch - 1, [b"x"])


def test_a_leader_that_dies_is_followed_by_another_in_a_newer_epoch_and_nothing_committed_is_lost():
    quorum = Quorum()
    first = quorum.wait_for_leader()
    epoch = quorum[first].raft.quorum.epoch
    quorum.append(b"kept")
    quorum.run(1)
    quorum.world.crash(quorum.node(first))
    second = quorum.wait_for_leader()
    assert second != first
    assert quorum[second].raft.quorum.epoch > epoch
    quorum.append(b"new")
    quorum.run(1)
    quorum.world.start_node(quorum.node(first))
    quorum.run(5)
    assert [quorum[one].values for one in quorum.ids] == [[b"kept", b"new"]] * 3


def test_a_follower_takes_the_fetch_timeout_to_notice_that_its_leader_has_died():
    quorum = Quorum(seed=3)
    first = quorum.wait_for_leader()
    quorum.run(3)
    died = quorum.world.now_us
    quorum.world.pause(quorum.node(first))
    quorum.wait_for_leader()
    asked = [row for row in quorum.world.journal.tail if row[3] == "quorum_state" and row[5]["after"] == "prospective" and row[1] > died]
    assert 1_490_000 <= asked[0][1] - died <= 2_010_000, "fetch timeout 2 s after the last answer, which waits up to 0.5 s"


def test_a_leader_calls_those_only_that_do_not_fetch():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    silent, other = (one for one in quorum.ids if one != leader)
    quorum.run(5)
    assert sorted(_called(quorum)) == sorted(map(quorum.node, (silent, other))), "each once, before its first Fetch"
    quorum.world.pause(quorum.node(silent))
    quorum.run(5)
    quorum.world.resume(quorum.node(silent))
    quorum.run(2.5)
    again = _called(quorum)[2:]
    assert set(again) == {quorum.node(silent)}, "a new one each second, but for requests that are not answered yet"
    assert quorum.leader == leader


def _called(quorum: Quorum) -> list[str]:
    """Who was sent BeginQuorumEpoch, in order."""
    return [params["to"] for _, params in quorum.events("request_sent") if params["api"] == "BeginQuorumEpoch"]


def test_without_a_majority_there_is_no_leader_and_nothing_is_committed():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    others = [one for one in quorum.ids if one != leader]
    for one in others:
        quorum.world.crash(quorum.node(one))
    quorum.append(b"lost")
    quorum.run(10)
    assert quorum.leader is None, "it resigns when no majority has fetched for 3 s"
    assert quorum.events("quorum_state")[-1][1]["after"] != "leader"
    assert b"lost" not in quorum[leader].values
    for one in others:
        quorum.world.start_node(quorum.node(one))
    quorum.wait_for_leader()


def test_a_replica_that_was_cut_off_does_not_raise_the_epoch_of_those_that_go_on():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    epoch = quorum[leader].raft.quorum.epoch
    lonely = next(one for one in quorum.ids if one != leader)
    quorum.isolate(lonely)
    quorum.run(60)
    assert quorum[lonely].raft.quorum.epoch == epoch, "nobody grants its pre-votes (KIP-996)"
    quorum.isolate(lonely, False)
    quorum.run(10)
    assert (quorum.leader, quorum[leader].raft.quorum.epoch) == (leader, epoch)


def test_a_leader_that_is_cut_off_resigns_and_its_uncommitted_records_are_cut():
    quorum = Quorum()
    first = quorum.wait_for_leader()
    quorum.isolate(first)
    quorum.append(b"never committed")
    quorum.run(8)
    second = quorum.leader
    assert second is not None and second != first
    quorum.append(b"committed")
    quorum.isolate(first, False)
    quorum.run(10)
    assert [quorum[one].values for one in quorum.ids] == [[b"committed"]] * 3
    assert [node for node, _ in quorum.events("truncated")] == [quorum.node(first)]


def test_a_leader_that_ends_in_order_hands_over_before_any_timeout():
    quorum = Quorum()
    first = quorum.wait_for_leader()
    quorum.append(b"x")
    quorum.run(2)
    begun = quorum.world.now_us
    quorum.world.stop(quorum.node(first))
    second = quorum.wait_for_leader(1.5)
    assert second != first
    assert quorum.world.now_us - begun < 1_000_000
    assert quorum.world.nodes[quorum.node(first)].how_stopped == "shutdown"


def test_a_replica_whose_disk_fails_as_it_ends_in_order_ends_all_the_same():
    quorum = Quorum()
    node = quorum.world.nodes[quorum.node(next(one for one in quorum.ids if one != quorum.wait_for_leader()))]
    quorum.run(1)
    node.storage.set_faults(faults := DiskFaults(Random(1)))
    faults.rules.append(DiskFault(WRITE_ERROR))
    quorum.world.stop(node.name)
    quorum.run(5)
    assert node.how_stopped == "shutdown" and not quorum.events("call_failed")


def test_a_vote_is_on_disk_before_it_is_given():
    quorum = Quorum()
    quorum.wait_for_leader()
    quorum.run(1)
    for one in quorum.ids:
        stored = json.loads(quorum[one].node.storage.read_text("metadata/__cluster_metadata-0/quorum-state"))
        raft = quorum[one].raft
        assert (stored["leaderId"], stored["leaderEpoch"]) == raft.leader_and_epoch
        assert stored["currentVoters"] == [{"voterId": 1}, {"voterId": 2}, {"voterId": 3}]
        assert stored["votedId"] == (-1 if raft.quorum.state.voted is None else raft.quorum.state.voted.id)


def test_a_leader_that_starts_again_takes_no_part_in_its_old_epoch():
    quorum = Quorum([1])
    quorum.wait_for_leader()
    epoch = quorum[1].raft.quorum.epoch
    quorum.append(b"x")
    quorum.run(1)
    quorum.world.crash(quorum.node(1))
    quorum.world.start_node(quorum.node(1))
    quorum.wait_for_leader()
    assert quorum[1].raft.quorum.epoch > epoch
    assert quorum[1].values == [b"x"]


def test_the_leader_is_told_that_it_leads_when_it_has_seen_all_that_came_before():
    quorum = Quorum()
    first = quorum.wait_for_leader()
    for number in range(5):
        quorum.append(b"%d" % number)
    quorum.run(1)
    quorum.world.crash(quorum.node(first))
    second = quorum.wait_for_leader()
    quorum.run(1)
    assert quorum[second].leaders[-1].leader_id == second
    assert quorum[second].values == [b"%d" % number for number in range(5)]


def test_the_same_seed_gives_the_same_journal():
    def journal(seed: int) -> list[object]:
        quorum = Quorum(seed=seed)
        leader = quorum.wait_for_leader()
        quorum.append(b"x")
        quorum.run(1)
        quorum.world.crash(quorum.node(leader))
        quorum.run(10)
        return list(quorum.world.journal.tail)

    assert journal(7) == journal(7)
    assert journal(7) != journal(8)


def vote(quorum: Quorum, voter: int, candidate: int, epoch: int) -> bool:
    kind = m.VoteRequest
    partition = kind.PartitionData(
        partition_index=0, replica_epoch=epoch, replica_id=candidate, last_offset_epoch=epoch - 1, last_offset=10**6
    )
    body = kind(voter_id=voter, topics=[kind.TopicData(topic_name="__cluster_metadata", partitions=[partition])])
    return quorum.ask(voter, ApiKey.VOTE, 2, body).topics[0].partitions[0].vote_granted


def test_a_voter_that_starts_again_remembers_for_whom_it_has_voted():
    quorum = Quorum()
    quorum.wait_for_leader()
    assert vote(quorum, 1, candidate=2, epoch=50)
    assert not vote(quorum, 1, candidate=3, epoch=50)
    quorum.world.power_loss(quorum.node(1))
    quorum.world.start_node(quorum.node(1))
    quorum.run(0.1)
    assert not vote(quorum, 1, candidate=3, epoch=50)
    assert vote(quorum, 1, candidate=2, epoch=50), "the same candidate may ask twice"


def test_records_of_older_epochs_count_only_with_one_of_the_leader_s_own():
    voters = VoterSet.of_ids([1, 2, 3])
    leader = Leader(5, VoterNode(ReplicaKey(1)), None, 100, voters, [1, 2], QuorumSettings(), 0)
    leader.update_local(101, voters)
    assert not leader.update_replica(ReplicaKey(2), 0, 1, 100), "on a majority, but of epoch 4 (Raft, 5.4.2)"
    assert leader.high_watermark is None
    assert leader.update_replica(ReplicaKey(2), 0, 2, 101)
    assert leader.high_watermark == 101
