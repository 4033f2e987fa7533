"""How the metadata log travels: fetches, observers, snapshots, and what DescribeQuorum knows of it."""

from __future__ import annotations

from broker_core.raft.snapshots import SnapshotId
from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from broker_core.wire.errors import ErrorCode
from tests.raft.quorums import Quorum, described

TOPIC = "__cluster_metadata"


def describe(quorum: Quorum, replica: int) -> m.DescribeQuorumResponse.PartitionData:
    kind = m.DescribeQuorumRequest
    body = kind(topics=[kind.TopicData(topic_name=TOPIC, partitions=[kind.PartitionData(partition_index=0)])])
    return quorum.ask(replica, ApiKey.DESCRIBE_QUORUM, 2, body).topics[0].partitions[0]


def take_snapshot(quorum: Quorum, replica: int, values: list[bytes]) -> SnapshotId:
    server = quorum[replica]
    snapshot_id = SnapshotId(server.next_offset, server.last_epoch)
    writer = server.raft.create_snapshot(snapshot_id, server.node.wall_ms())
    assert writer is not None
    writer.append(values)
    writer.freeze()
    server.raft.snapshot_written(writer)
    return snapshot_id


def test_an_observer_follows_without_a_vote():
    quorum = Quorum([1, 2, 3, 9], voters=[1, 2, 3])
    quorum.wait_for_leader()
    quorum.append(b"x")
    quorum.run(1)
    assert quorum[9].values == [b"x"]
    assert quorum[9].raft.quorum.state.name == "follower"
    assert not [row for node, row in quorum.events("quorum_vote") if node == quorum.node(9)]


def test_who_may_have_a_vote_flushes_what_it_copies_and_a_broker_leaves_that_to_its_system():
    quorum = Quorum(ids=(1, 2, 3, 8, 9), voters=(1, 2, 3))
    broker = quorum[9].raft
    broker.own = broker.own._replace(listeners=())  # 8 is a controller that has no vote yet
    quorum.wait_for_leader()
    offset = quorum.append(b"a")
    quorum.run(1)
    flushed = {one: quorum[one].raft.log.log.recovery_point for one in quorum.ids}
    assert all(flushed[one] > offset for one in (1, 2, 3, 8))
    assert flushed[9] <= offset < broker.log.end_offset
    quorum.world.power_loss(quorum.node(9))
    quorum.world.start_node(quorum.node(9))
    quorum.run(2)
    assert quorum[9].values == [b"a"], "what it lost it has from the leader again"


def test_an_observer_finds_a_new_leader():
    quorum = Quorum([1, 2, 3, 9], voters=[1, 2, 3])
    first = quorum.wait_for_leader()
    quorum.run(1)
    quorum.world.crash(quorum.node(first))
    second = quorum.wait_for_leader()
    quorum.append(b"x")
    quorum.run(5)
    assert quorum[9].raft.quorum.leader_id == second
    assert quorum[9].values == [b"x"]


def test_records_wait_25_ms_for_others_and_share_a_batch():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    quorum.run(1)
    end = quorum[leader].raft.log.end_offset
    quorum.append(b"1")
    quorum.run(0.01)
    quorum.append(b"2", b"3")
    assert quorum[leader].raft.log.end_offset == end
    quorum.run(0.02)
    assert quorum[leader].raft.log.end_offset == end + 3
    assert [batch.header.base_offset for batch in quorum[leader].raft.log.batches(end, end + 3)] == [end]


def test_followers_hear_of_the_high_watermark_without_waiting_for_the_next_record():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    quorum.run(1)
    quorum.append(b"x")
    quorum.run(0.1)
    assert [quorum[one].values for one in quorum.ids] == [[b"x"]] * 3, "KIP-1166: not only after 500 ms"
    assert quorum[leader].raft.high_watermark == quorum[leader].raft.log.end_offset


def test_the_leader_describes_voters_and_observers():
    quorum = Quorum([1, 2, 3, 9], voters=[1, 2, 3])
    leader = quorum.wait_for_leader()
    quorum.append(b"x")
    quorum.run(1)
    found = describe(quorum, leader)
    end = quorum[leader].raft.log.end_offset
    assert (found.error_code, found.leader_id, found.high_watermark) == (0, leader, end)
    assert [(one.replica_id, one.log_end_offset) for one in found.current_voters] == [(1, end), (2, end), (3, end)]
    assert [(one.replica_id, one.replica_directory_id) for one in found.observers] == [(9, described(9).key.directory)]
    follower = next(one for one in (1, 2, 3) if one != leader)
    assert describe(quorum, follower).error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_replica_that_was_away_for_long_begins_with_a_snapshot():
    quorum = Quorum(max_retention_bytes=1, segment_bytes=1000)
    leader = quorum.wait_for_leader()
    away = next(one for one in quorum.ids if one != leader)
    quorum.append(b"first")
    quorum.run(1)
    quorum.world.crash(quorum.node(away))
    for number in range(40):
        quorum.append(b"%040d" % number)
        quorum.run(0.2)
        if number in (20, 30):
            take_snapshot(quorum, leader, [b"all up to %d" % number])
    quorum.run(70)
    log = quorum[leader].raft.log
    assert log.start_offset > 10 and len(log.snapshots) == 1
    quorum.world.start_node(quorum.node(away))
    quorum.run(5)
    expected = [b"all up to 30", *(b"%040d" % number for number in range(31, 40))]
    assert (quorum[away].snapshots, quorum[away].values) == (1, expected)
    assert quorum[away].raft.log.start_offset == log.start_offset
    quorum.append(b"last")
    quorum.run(1)
    assert quorum[away].values[-1] == b"last"
    quorum.world.crash(quorum.node(away))
    quorum.world.start_node(quorum.node(away))
    quorum.run(3)
    assert quorum[away].values == [*expected, b"last"]


def test_a_snapshot_is_read_back_as_it_was_written():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    quorum.append(b"x")
    quorum.run(1)
    written = take_snapshot(quorum, leader, [b"%d" % number for number in range(1000)])
    reader = quorum[leader].raft.log.open_snapshot(written)
    assert reader is not None
    assert list(reader.values()) == [b"%d" % number for number in range(1000)]
    assert [kind for kind, _ in reader.controls()] == [3, 4]
    assert quorum[leader].raft.create_snapshot(written, 0) is None, "there is one already"
    assert quorum[leader].raft.create_snapshot(SnapshotId(10**6, 1), 0) is None, "not committed"


def test_a_message_of_another_cluster_is_refused():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    vote = m.VoteRequest(cluster_id="other", voter_id=leader, topics=[])
    assert quorum.ask(leader, ApiKey.VOTE, 2, vote).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID
    begin = m.BeginQuorumEpochRequest(cluster_id="other", voter_id=leader, topics=[])
    assert quorum.ask(leader, ApiKey.BEGIN_QUORUM_EPOCH, 1, begin).error_code == ErrorCode.INCONSISTENT_CLUSTER_ID


def test_a_vote_for_a_machine_that_has_another_disk_now_is_refused():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    epoch = quorum[leader].raft.quorum.epoch
    kind = m.VoteRequest
    partition = kind.PartitionData(
        partition_index=0, replica_epoch=epoch, replica_id=2, voter_directory_id=described(77).key.directory,
        last_offset_epoch=epoch, last_offset=1, pre_vote=True,
    )
    body = kind(voter_id=leader, topics=[kind.TopicData(topic_name=TOPIC, partitions=[partition])])
    answer = quorum.ask(leader, ApiKey.VOTE, 2, body).topics[0].partitions[0]
    assert (answer.error_code, answer.vote_granted) == (ErrorCode.INVALID_VOTER_KEY, False)


def test_requests_that_contradict_what_is_known_are_refused_and_change_nothing():
    quorum = Quorum()
    leader = quorum.wait_for_leader()
    epoch = quorum[leader].raft.quorum.epoch
    liar = next(one for one in quorum.ids if one != leader)
    kind = m.BeginQuorumEpochRequest
    for target in quorum.ids:
        partition = kind.PartitionData(partition_index=0, leader_id=liar, leader_epoch=epoch)
        body = kind(topics=[kind.TopicData(topic_name=TOPIC, partitions=[partition])])
        answer = quorum.ask(target, ApiKey.BEGIN_QUORUM_EPOCH, 1, body).topics[0].partitions[0]
        assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert (quorum.leader, quorum[leader].raft.quorum.epoch) == (leader, epoch)
