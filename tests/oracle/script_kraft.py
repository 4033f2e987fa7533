"""What only Apache Kafka with KRaft answers: feature levels, topics by id and by page, the quorum and its controllers.

Asked of a cluster with one broker and one dedicated controller.
"""

from __future__ import annotations

import re
import uuid
from typing import Any

from broker_core.wire import messages as m
from broker_core.wire.apis import ApiKey
from tests.oracle.asking import Script
from tests.oracle.requests import batch, create, make_topic, topic
from tests.oracle.script_admin import software

METADATA_TOPIC = "__cluster_metadata"
NOBODY = uuid.UUID(int=77)
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def levels(k: Script) -> None:
    """Feature levels in ApiVersions; the epoch is an offset and moves on."""
    for version in range(5):
        answer = k.ask(ApiKey.API_VERSIONS, version, software("asker", "1"))
        assert (answer.finalized_features_epoch >= 0) == (version >= 3)
        k.answers[f"levels v{version}"] = {
            "supported": sorted([one.name, one.min_version, one.max_version] for one in answer.supported_features),
            "finalized": sorted([one.name, one.min_version_level, one.max_version_level] for one in answer.finalized_features),
        }


def described_cluster(k: Script) -> None:
    """DescribeCluster of brokers and of controllers; DescribeQuorum."""
    for version, kind, fenced in ((0, 1, False), (1, 1, False), (1, 2, False), (1, 9, False), (2, 1, True), (2, 2, True)):
        k(f"endpoint {kind}", ApiKey.DESCRIBE_CLUSTER, version, m.DescribeClusterRequest(
            endpoint_type=kind, include_fenced_brokers=fenced, include_cluster_authorized_operations=True))
    quorum = m.DescribeQuorumRequest
    for version in range(3):
        for title, name, numbers in (("known", METADATA_TOPIC, [0]), ("wrong partition", METADATA_TOPIC, [1]),
                                     ("wrong topic", "orders", [0]), ("two", METADATA_TOPIC, [0, 1])):  # fmt: skip
            asked = quorum.TopicData(topic_name=name, partitions=[quorum.PartitionData(partition_index=one) for one in numbers])
            answer = k.ask(ApiKey.DESCRIBE_QUORUM, version, quorum(topics=[asked]))
            k.note(f"quorum: {title} v{version}", _without_progress(answer))


def _without_progress(answer: Any) -> Any:
    """Offsets, times and epochs go on; that they do is looked at."""
    for one in answer.topics[0].partitions if answer.topics else ():
        if not one.error_code:
            assert one.high_watermark > 0 and one.leader_epoch > 0
            one.high_watermark, one.leader_epoch = 0, 0
        for replica in (*one.current_voters, *one.observers):
            assert replica.log_end_offset > 0
            replica.log_end_offset = replica.last_fetch_timestamp = replica.last_caught_up_timestamp = 0
    return answer


def pages(k: Script) -> None:
    """DescribeTopicPartitions."""
    make_topic(k, "pages", 3)
    make_topic(k, "paper")
    kind = m.DescribeTopicPartitionsRequest

    def ask(title: str, names: tuple[str, ...], limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
        at = None if cursor is None else kind.Cursor(topic_name=cursor[0], partition_index=cursor[1])
        topics = [kind.TopicRequest(name=name) for name in names]
        k(title, ApiKey.DESCRIBE_TOPIC_PARTITIONS, 0, kind(topics=topics, response_partition_limit=limit, cursor=at))

    both = ("pages", "paper")
    for limit in (-1, 0, 1, 2, 3, 4, 9):
        ask(f"limit {limit}", both, limit)
    for number in (0, 1, 2, 3, 9):
        ask(f"from {number}", both, 2, ("pages", number))
    ask("the other first", ("paper", "pages"), 1)
    ask("from the second", both, 1, ("paper", 0))
    ask("unknown", ("nowhere", "pages", "a b"), 2)
    ask("twice", ("paper", "paper"))
    ask("a cursor elsewhere", both, 2, ("other", 0))
    ask("a cursor below", both, 2, ("pages", -1))
    ask("all from behind the last", (), 2, ("zzz", 0))


def by_id(k: Script) -> None:
    """Produce 13, OffsetCommit 10, OffsetFetch 10."""
    known = make_topic(k, "by-id", 2)
    p, c, f = m.ProduceRequest, m.OffsetCommitRequest, m.OffsetFetchRequest

    def produce(title: str, *ids: uuid.UUID, acks: int = 1) -> None:
        parts = [p.PartitionProduceData(index=index, records=batch(b"x")) for index in (0, 9)]
        data = [p.TopicProduceData(topic_id=one, partition_data=parts) for one in ids]
        k(title, ApiKey.PRODUCE, 13, p(acks=acks, timeout=3000, transactional_id=None, topic_data=data))

    produce("known", known)
    produce("unknown", NOBODY)
    produce("both", known, NOBODY)
    produce("wrong acks", known, acks=7)
    k.until(ApiKey.FIND_COORDINATOR, 4, m.FindCoordinatorRequest(key_type=0, coordinator_keys=["by-id"]),
            lambda answer: not answer.coordinators[0].error_code)  # fmt: skip

    def commit(*ids: uuid.UUID) -> Any:
        parts = [c.OffsetCommitRequestPartition(partition_index=index, committed_offset=5, committed_metadata="") for index in (0, 9)]
        topics = [c.OffsetCommitRequestTopic(topic_id=one, partitions=parts) for one in ids]
        return c(group_id="by-id", generation_id_or_member_epoch=-1, member_id="", group_instance_id=None, topics=topics)

    k.until(ApiKey.OFFSET_COMMIT, 10, commit(known), lambda answer: not min(
        part.error_code for part in answer.topics[0].partitions))  # fmt: skip
    for title, ids in (("known", [known]), ("unknown", [NOBODY]), ("both", [known, NOBODY])):
        k(f"commit: {title}", ApiKey.OFFSET_COMMIT, 10, commit(*ids))
        topics = [f.OffsetFetchRequestTopics(topic_id=one, partition_indexes=[0, 1]) for one in ids]
        k(f"committed: {title}", ApiKey.OFFSET_FETCH, 10, f(groups=[f.OffsetFetchRequestGroup(group_id="by-id", topics=topics)]))
    k("committed: all", ApiKey.OFFSET_FETCH, 10, f(groups=[f.OffsetFetchRequestGroup(group_id="by-id", topics=None)]))


def refusals(k: Script) -> None:
    """What the controller refuses, in an envelope of the broker or directly."""
    feature = m.UpdateFeaturesRequest.FeatureUpdateKey
    for name, level, how in (
        ("metadata.version", 99, UPGRADE), ("metadata.version", 7, SAFE), ("metadata.version", 7, UNSAFE), ("metadata.version", 29, UPGRADE),
        ("nonsense", 1, UPGRADE), ("group.version", 2, UPGRADE), ("group.version", -1, SAFE), ("transaction.version", 1, UPGRADE),
        ("share.version", 1, 9), ("kraft.version", 2, UPGRADE),
    ):  # fmt: skip
        k(f"{name} to {level}, {how}", ApiKey.UPDATE_FEATURES, 2, m.UpdateFeaturesRequest(timeout=5000, validate_only=True, feature_updates=[
            feature(feature=name, max_version_level=level, upgrade_type=how)]))
    k("none", ApiKey.UPDATE_FEATURES, 2, m.UpdateFeaturesRequest(timeout=5000))
    k("unregister a stranger", ApiKey.UNREGISTER_BROKER, 0, m.UnregisterBrokerRequest(broker_id=99))
    place = m.AddRaftVoterRequest.Listener(name="CONTROLLER", host="127.0.0.1", port=9)
    for version in (0, 1):
        k("add a voter", ApiKey.ADD_RAFT_VOTER, version, m.AddRaftVoterRequest(
            cluster_id=None, timeout=1000, voter_id=104, voter_directory_id=NOBODY, listeners=[place]))
    answer = k.ask(ApiKey.ADD_RAFT_VOTER, 0, m.AddRaftVoterRequest(
        cluster_id="other", timeout=1000, voter_id=104, voter_directory_id=NOBODY, listeners=[place]))
    answer.error_message = re.sub(r'cluster id "[^"]+"', "cluster id HERE", answer.error_message)
    k.note("add a voter of another cluster", answer)
    k("remove a voter", ApiKey.REMOVE_RAFT_VOTER, 0, m.RemoveRaftVoterRequest(
        cluster_id=None, voter_id=101, voter_directory_id=NOBODY))  # fmt: skip
    k("create", ApiKey.CREATE_TOPICS, 7, create(topic("a b"), topic("too-many-copies", 1, 9), only=True))
    wanted = m.CreatePartitionsRequest.CreatePartitionsTopic(name="nowhere", count=2, assignments=None)
    k("grow", ApiKey.CREATE_PARTITIONS, 3, m.CreatePartitionsRequest(topics=[wanted], timeout=1000))
    state = m.DeleteTopicsRequest.DeleteTopicState
    k("delete", ApiKey.DELETE_TOPICS, 6, m.DeleteTopicsRequest(timeout=1000, topics=[
        state(name="nowhere"), state(name=None, topic_id=NOBODY), state(name="x", topic_id=NOBODY), state(name=None)]))
    change = m.IncrementalAlterConfigsRequest
    config = change.AlterableConfig(name="retention.ms", config_operation=0, value="soon")
    resource = change.AlterConfigsResource(resource_type=2, resource_name="nowhere", configs=[config])
    k("change", ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, change(resources=[resource]))
    move = m.AlterPartitionReassignmentsRequest
    part = move.ReassignablePartition(partition_index=0, replicas=[1])
    moved = move.ReassignableTopic(name="nowhere", partitions=[part])
    for version in (0, 1):
        k("move", ApiKey.ALTER_PARTITION_REASSIGNMENTS, version, move(timeout=1000, topics=[moved]))
    elect = m.ElectLeadersRequest
    k("elect", ApiKey.ELECT_LEADERS, 2, elect(election_type=0, timeout=1000, topic_partitions=[
        elect.TopicPartitions(topic="nowhere", partitions=[0])]))


OF_BROKERS = {"levels": levels, "described cluster": described_cluster, "pages": pages, "by id": by_id, "refusals": refusals}
OF_CONTROLLERS = {"levels": levels, "described cluster": described_cluster, "refusals": refusals}
