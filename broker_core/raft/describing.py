"""DescribeQuorum: how far each voter and observer is, as only the leader knows it (KIP-595, KIP-836).

`kafka-metadata-quorum describe --replication` shows these figures: LogEndOffset, Lag = the leader's end minus it,
LastFetchTimestamp, LastCaughtUpTimestamp (ms; of the leader itself always now).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_core.raft.leader import ReplicaProgress
from broker_core.raft.metadata_log import PARTITION, TOPIC
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode

if TYPE_CHECKING:
    from broker_core.raft.client import RaftClient


def describe_quorum(client: RaftClient, body: Any) -> Any:
    """The answer to a DescribeQuorum."""
    kind = m.DescribeQuorumResponse
    asked = [(topic.topic_name, one.partition_index) for topic in body.topics for one in topic.partitions]
    if asked != [(TOPIC, PARTITION)]:
        unknown, why = int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.message
        return kind(topics=[
            kind.TopicData(topic_name=topic.topic_name, partitions=[
                kind.PartitionData(partition_index=one.partition_index, error_code=unknown, error_message=why)
                for one in topic.partitions
            ]) for topic in body.topics
        ])  # fmt: skip
    leader = client.quorum.leader
    if leader is None:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER
        partition = kind.PartitionData(partition_index=PARTITION, error_code=int(error), error_message=error.message)
        return kind(topics=[kind.TopicData(topic_name=TOPIC, partitions=[partition])])
    now_ms = client.node.wall_ms()
    partition = kind.PartitionData(
        partition_index=PARTITION, leader_id=client.own.key.id, leader_epoch=leader.epoch,
        high_watermark=-1 if leader.high_watermark is None else leader.high_watermark,
        current_voters=[_described(one, leader.own.id, now_ms) for one in leader.voters.values()],
        observers=[_described(one, leader.own.id, now_ms) for one in leader.live_observers(now_ms)],
    )  # fmt: skip
    nodes = [
        kind.Node(
            node_id=node.key.id,
            listeners=[kind.Listener(name=one.name, host=one.host, port=one.port) for one in node.listeners],
        )
        for node in client.history.last_voters
    ]
    return kind(topics=[kind.TopicData(topic_name=TOPIC, partitions=[partition])], nodes=nodes)


def _described(progress: ReplicaProgress, leader_id: int, now_ms: int) -> Any:
    own = progress.key.id == leader_id
    return m.DescribeQuorumResponse.ReplicaState(
        replica_id=progress.key.id, replica_directory_id=progress.key.directory, log_end_offset=progress.end_offset,
        last_fetch_timestamp=now_ms if own else progress.last_fetch_ms,
        last_caught_up_timestamp=now_ms if own else progress.last_caught_up_ms,
    )  # fmt: skip
