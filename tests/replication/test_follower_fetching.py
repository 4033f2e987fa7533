"""Reading from the nearest replica (KIP-392): whom a leader sends where, and what a follower answers."""

from __future__ import annotations

from typing import Any

import pytest

from broker_core.metadata.configs import BrokerConfig, ConfigError
from broker_core.metadata.configs_replication import LEADER_SELECTOR, RACK_AWARE_SELECTOR
from broker_core.replication.replica_selector import replica_selector
from broker_core.wire import messages as m
from broker_core.wire.errors import ErrorCode
from tests.replication.harness import Answers, Cluster


class Racks:
    """What the brokers know of racks: 1 in a, 2 and 3 in b."""

    def __init__(self) -> None:
        self.of: dict[int, str | None] = {1: "a", 2: "b", 3: "b"}

    def __call__(self, topic: str, partition: int) -> dict[int, str | None]:
        return self.of


def select(cluster: Cluster, class_name: str | None = RACK_AWARE_SELECTOR) -> Racks:
    racks = Racks()
    for broker in (1, 2, 3):
        cluster.broker(broker).replicas.reader.selector = replica_selector(class_name, racks)
    return racks


@pytest.fixture
def cluster() -> Cluster:
    """Broker 1 leads in epoch 3; 0..4 are committed and everywhere."""
    cluster = Cluster()
    cluster.assign(1, 3)
    for number in range(5):
        cluster.produce(1, str(number))
    cluster.run(1000)
    return cluster


@pytest.fixture
def racks(cluster: Cluster) -> Racks:
    return select(cluster)


def test_a_consumer_is_sent_to_its_rack_at_once_without_records(cluster, racks):
    answer = cluster.fetch(1, 2, rack="b", max_wait=30_000)
    assert (answer.data.preferred_read_replica, answer.values) == (3, [])
    assert (answer.data.error_code, answer.data.high_watermark, answer.data.log_start_offset) == (0, 5, 0)


def test_a_consumer_at_the_end_is_sent_there_too(cluster, racks):
    assert cluster.fetch(1, 5, rack="b", max_wait=30_000).data.preferred_read_replica == 3


@pytest.mark.parametrize(("rack", "version"), [("a", 12), ("c", 12), ("", 12), ("b", 10)])
def test_the_leader_serves_its_own_rack_unknown_racks_and_old_consumers(cluster, racks, rack, version):
    answer = cluster.fetch(1, 2, rack=rack, version=version)
    assert (answer.data.preferred_read_replica, answer.values) == (-1, ["2", "3", "4"])


@pytest.mark.parametrize("class_name", [None, LEADER_SELECTOR])
def test_without_a_selector_or_with_the_leaders_own_nobody_is_sent_away(cluster, class_name):
    select(cluster, class_name)
    assert cluster.fetch(1, 2, rack="b").values == ["2", "3", "4"]


def test_the_leader_stays_the_choice_when_a_follower_shares_its_rack(cluster, racks):
    racks.of[1] = "b"
    assert cluster.fetch(1, 2, rack="b").values == ["2", "3", "4"]


def test_the_most_caught_up_replica_of_the_rack_wins(cluster, racks):
    cluster.world.pause("broker-3")
    cluster.produce(1, "5", acks=1)
    cluster.run(10)
    assert cluster.fetch(1, 2, rack="b").data.preferred_read_replica == 2


def test_of_two_at_the_same_offset_the_one_that_was_there_last_wins(cluster, racks):
    cluster.produce(1, "5", acks=1)
    cluster.world.pause("broker-3")
    cluster.run(2000)
    leader = cluster.partition(1)
    assert leader.remote[2].log_end_offset == leader.remote[3].log_end_offset
    assert cluster.fetch(1, 2, rack="b").data.preferred_read_replica == 2


def test_a_replica_that_is_not_alive_is_nowhere(cluster, racks):
    del racks.of[3]
    assert cluster.fetch(1, 2, rack="b").data.preferred_read_replica == 2
    del racks.of[2]
    assert cluster.fetch(1, 2, rack="b").values == ["2", "3", "4"]


def test_a_replica_outside_the_isr_is_no_candidate(cluster, racks):
    cluster.controller_answers = False  # the leader has proposed them, and is not told that they are in
    cluster.assign(1, 4, isr=[1])
    cluster.run(2000)
    assert cluster.partition(1).isr.maximal != cluster.partition(1).isr.committed == [1]
    assert cluster.partition(1).remote[2].log_end_offset == 5
    assert cluster.fetch(1, 2, rack="b").values == ["2", "3", "4"]


def test_a_replica_that_has_not_got_there_or_begins_behind_is_no_candidate(cluster, racks):
    cluster.world.pause("broker-2")
    cluster.world.pause("broker-3")
    cluster.produce(1, "5", acks=1)
    assert cluster.fetch(1, 6, rack="b").data.preferred_read_replica == -1
    assert cluster.fetch(1, 5, rack="b").data.preferred_read_replica == 3
    for replica in cluster.partition(1).remote.values():
        replica.log_start_offset = 4
    assert cluster.fetch(1, 3, rack="b").values == ["3", "4"]


def test_a_replica_may_have_what_the_leader_has_deleted(cluster, racks):
    cluster.log(1).delete_records_before(3)
    assert cluster.fetch(1, 1, rack="b").data.preferred_read_replica == 3
    assert cluster.fetch(3, 1, rack="b").values == ["1", "2", "3", "4"]


def test_only_the_leader_chooses(cluster, racks):
    assert cluster.fetch(2, 2, rack="a").values == ["2", "3", "4"]


@pytest.mark.parametrize(
    ("epoch", "error"), [(2, "FENCED_LEADER_EPOCH"), (3, "NONE"), (4, "UNKNOWN_LEADER_EPOCH"), (-1, "NONE")]
)
@pytest.mark.parametrize("broker", [1, 3])
def test_leader_and_follower_compare_the_epoch(cluster, racks, broker, epoch, error):
    assert cluster.fetch(broker, 2, rack="b", leader_epoch=epoch).data.error_code == ErrorCode[error]


def test_a_follower_answers_by_its_own_marks(cluster, racks):
    cluster.world.pause("broker-2")
    cluster.produce(1, "5", acks=1)
    cluster.run(10)
    marks = cluster.log(3)
    assert (marks.high_watermark, marks.log_end_offset, cluster.log(1).high_watermark) == (5, 6, 5)
    assert cluster.fetch(3, 4, rack="b").values == ["4"]
    assert (cluster.fetch(3, 6, rack="b").values, cluster.fetch(3, 6, rack="b").data.error_code) == ([], 0)
    assert cluster.fetch(3, 7, rack="b").data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_replica_that_is_stopped_is_neither_leader_nor_follower(cluster, racks):
    parked = cluster.fetch(3, 5, rack="b", max_wait=30_000)
    cluster.partition(3).go_offline()
    cluster.run(0)
    assert parked.data.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_fetch_that_waits_at_a_follower_is_answered_when_its_high_watermark_moves(cluster, racks):
    parked = cluster.fetch(3, 5, rack="b", max_wait=30_000)
    cluster.produce(1, "5")
    assert cluster.log(1).high_watermark == 6 and cluster.log(3).high_watermark == 5 and parked.waiting
    cluster.run(501)
    assert cluster.log(3).high_watermark == 6 and parked.values == ["5"]


def test_a_new_epoch_ends_a_fetch_that_waits_at_a_follower(cluster, racks):
    parked = cluster.fetch(3, 5, rack="b", max_wait=30_000, leader_epoch=3)
    cluster.assign(2, 4)
    assert parked.data.error_code == ErrorCode.FENCED_LEADER_EPOCH


def session_fetch(cluster: Cluster, broker: int, session: int, epoch: int, positions: dict[int, int]) -> Any:
    asked = [
        m.FetchRequest.FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1 << 20)
        for index, offset in positions.items()
    ]
    topics = [m.FetchRequest.FetchTopic(topic="orders", partitions=asked)] if asked else []
    request = m.FetchRequest(
        replica_id=-1, max_wait=0, min_bytes=1, session_id=session, session_epoch=epoch, rack_id="b", topics=topics
    )
    answers = Answers()
    cluster.broker(broker).replicas.fetch(request, 12, answers.take, None)
    cluster.run(0)
    return answers.all[0]


def test_in_a_session_a_replica_that_has_come_near_is_told_though_nothing_has_moved(cluster, racks):
    near = {2: racks.of.pop(2), 3: racks.of.pop(3)}
    first = session_fetch(cluster, 1, 0, 0, {0: 5})
    assert first.responses[0].partitions[0].preferred_read_replica == -1
    assert session_fetch(cluster, 1, first.session_id, 1, {}).responses == []
    assert session_fetch(cluster, 1, first.session_id, 2, {}).responses == []
    racks.of.update(near)
    (topic,) = session_fetch(cluster, 1, first.session_id, 3, {}).responses
    assert topic.partitions[0].preferred_read_replica == 3


def test_in_a_session_a_follower_tells_that_its_log_starts_later(cluster, racks):
    first = session_fetch(cluster, 3, 0, 0, {0: 5})
    assert session_fetch(cluster, 3, first.session_id, 1, {}).responses == []
    cluster.log(1).delete_records_before(3)
    cluster.partition(1).log_start_moved()
    cluster.run(1000)
    (topic,) = session_fetch(cluster, 3, first.session_id, 2, {}).responses
    assert topic.partitions[0].log_start_offset == 3


def test_another_class_is_refused_by_the_settings_name():
    with pytest.raises(ConfigError, match=r"replica\.selector\.class.*RackAwareReplicaSelector"):
        BrokerConfig({"replica.selector.class": "com.example.MySelector"})
    assert BrokerConfig({"replica.selector.class": RACK_AWARE_SELECTOR})["replica.selector.class"] == RACK_AWARE_SELECTOR
